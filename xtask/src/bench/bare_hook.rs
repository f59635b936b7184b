//! The least that a hook can be: standard input to a unix socket, its answer to standard output.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

fn main() -> std::io::Result<()> {
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let mut stream = UnixStream::connect(std::env::args().nth(1).unwrap_or_default())?;
    stream.write_all(&input)?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    std::io::stdout().write_all(&answer)
}

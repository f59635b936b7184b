//! One kept connection to a daemon: requests without the cost of connecting.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result};

#[derive(Debug)]
pub struct Connection {
    stream: BufReader<UnixStream>,
}

impl Connection {
    pub fn open(socket: &Path) -> Result<Connection> {
        let stream = UnixStream::connect(socket).context("the daemon does not listen")?;
        Ok(Connection { stream: BufReader::new(stream) })
    }

    /// The answer's body, whatever its status.
    pub fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: perennial\r\n\r\n");
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut length = None;
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = Some(value.trim().parse()?);
            }
        }
        let mut body = vec![0; length.context("an answer without a length")?];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }
}

//! What a hook costs at the least: a program that does nothing, and one that asks a server that
//! knows nothing.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::workshop::Workshop;

/// Both programs, and the address of the server, which lives as long as this process.
#[derive(Debug)]
pub struct BareHook {
    pub nothing: PathBuf,
    pub program: PathBuf,
    pub socket: PathBuf,
}

impl BareHook {
    pub fn start(workshop: &Workshop, name: &str) -> Result<BareHook> {
        let room = workshop.room(name)?;
        let place = |name: &str| room.join(name);
        let bare = BareHook {
            nothing: place("nothing"),
            program: place("bare-hook"),
            socket: place("socket"),
        };
        fs::write(place("nothing.c"), "int main(void) { return 0; }\n")?;
        let mut cc = Command::new("cc");
        compile(cc.args(["-O2", "-static", "-o"]).args([&bare.nothing, &place("nothing.c")]))?;
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/bare_hook.rs");
        let mut rustc = Command::new("rustc");
        let options = ["--edition", "2024", "-O", "-C", "strip=symbols", "-o"];
        compile(rustc.args(options).args([&bare.program, &source]))?;
        let listener = UnixListener::bind(&bare.socket)?;
        std::thread::spawn(move || serve(&listener));
        Ok(bare)
    }
}

fn compile(command: &mut Command) -> Result<()> {
    ensure!(command.status()?.success(), "{command:?} failed");
    Ok(())
}

fn serve(listener: &UnixListener) {
    for mut stream in listener.incoming().flatten() {
        let mut input = Vec::new();
        // A caller that is gone misses an answer that says nothing.
        let _ = stream.read_to_end(&mut input).and_then(|_| stream.write_all(b"{}\n"));
    }
}

//! Where benchmarks work: a temporary directory, a sealed environment, the child they supervise,
//! and the pipe on which that child tells its first instruction.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// The product's program, and a directory that is removed at the end.
#[derive(Debug)]
pub struct Workshop {
    pub perennial: PathBuf,
    pub child: PathBuf,
    /// Writes transcripts and counts their tokens, by the engine's library.
    pub corpus: PathBuf,
    dir: tempfile::TempDir,
}

impl Workshop {
    /// Compiles the child; the others are expected beside this program, where cargo put them, unless
    /// another version of the product is to be measured.
    pub fn open(perennial: Option<PathBuf>) -> Result<Workshop> {
        let own = std::env::current_exe()?;
        let release = own.parent().and_then(Path::parent).context("no target directory")?;
        let perennial = perennial.unwrap_or_else(|| release.join("perennial"));
        let corpus = release.join("examples/corpus");
        for program in [&perennial, &corpus] {
            ensure!(program.is_file(), "{} is not built", program.display());
        }
        let dir = tempfile::Builder::new().prefix("perennial-bench-").tempdir()?;
        let child = dir.path().join("child");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bench/child.c");
        let compiled = Command::new("cc").arg("-O2").arg("-o").args([&child, &source]).status()?;
        ensure!(compiled.success(), "the child can't be compiled");
        Ok(Workshop { perennial, child, corpus, dir })
    }

    /// A new directory for one peer.
    pub fn room(&self, name: &str) -> Result<PathBuf> {
        let room = self.dir.path().join(name);
        std::fs::create_dir(&room).with_context(|| format!("{} is in use", room.display()))?;
        Ok(room)
    }

    pub fn pipe(&self, name: &str) -> Result<Starts> {
        let path = self.dir.path().join(name);
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // Open for writing too, so that it never ends between two children.
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok(Starts { path, file, rest: Vec::new() })
    }
}

/// A program in the same few variables for everyone.
pub fn command(program: impl AsRef<std::ffi::OsStr>, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("LANG", "C.UTF-8").env("TERM", "xterm-256color");
    command
        .env("SHELL", "/bin/sh")
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    command.current_dir(home).stdin(Stdio::null());
    command
}

/// Runs it to its end; what it printed. A refusal is an error with its own words.
pub fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output.stdout)
}

/// What children tell: `TAG PID NANOSECONDS`, a line each.
#[derive(Debug)]
pub struct Starts {
    pub path: PathBuf,
    file: File,
    rest: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    pub tag: String,
    pub pid: i32,
    pub at_ns: u64,
}

impl Starts {
    /// The next one; an error if none comes in time.
    pub fn next(&mut self, limit: Duration) -> Result<Start> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return read(&String::from_utf8_lossy(&line)).context("a child tells nonsense");
            }
            let mut one = [PollFd::new(&self.file, PollFlags::IN)];
            let limit = Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: 0 };
            ensure!(poll(&mut one, Some(&limit))? > 0, "no child has started in time");
            let mut bytes = [0; 4096];
            let count = self.file.read(&mut bytes)?;
            self.rest.extend_from_slice(&bytes[..count]);
        }
    }
}

fn read(line: &str) -> Option<Start> {
    let mut words = line.split_whitespace();
    let tag = words.next()?.to_owned();
    Some(Start { tag, pid: words.next()?.parse().ok()?, at_ns: words.next()?.parse().ok()? })
}

//! Runs other programs in the repository's root: by a list of arguments, never by a shell string.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::failure::Failure;
use crate::repository;

/// Runs a program with our own terminal; its success is ours.
pub fn run(argv: &[&str]) -> Result<(), Failure> {
    let status = command(argv).status().map_err(|source| not_run(argv, source))?;
    if status.success() { Ok(()) } else { Err(Failure::Refused { program: argv.join(" ") }) }
}

/// Runs a program and returns what it printed; what it complained of goes to our terminal.
pub fn output(argv: &[&str]) -> Result<Vec<u8>, Failure> {
    let output =
        command(argv).stderr(Stdio::inherit()).output().map_err(|source| not_run(argv, source))?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(Failure::Refused { program: argv.join(" ") })
    }
}

/// Whether the program runs and says yes; it prints nothing.
pub fn succeeds(argv: &[&str]) -> bool {
    command(argv)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Where a program of this name is found, if it is.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

fn command(argv: &[&str]) -> Command {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).current_dir(repository::root());
    command
}

fn not_run(argv: &[&str], source: std::io::Error) -> Failure {
    Failure::NotRun { program: argv[0].into(), source }
}

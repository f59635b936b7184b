//! What is measured: our fleet, and the programs that people use instead.
//!
//! Each stops by pid, when dropped, all that it started.

mod bare_hook;
mod ccusage;
mod dtach;
mod fleet;
mod runit;
mod tmux;

pub use bare_hook::BareHook;
pub use ccusage::{Ccusage, VERSION as CCUSAGE};
pub use dtach::Dtach;
pub use fleet::Fleet;
pub use runit::Runit;
pub use tmux::Tmux;

use std::process::{Command, Stdio};

/// A peer's program and the Debian package that brings it.
const PROGRAMS: [(&str, &str); 3] = [("runsvdir", "runit"), ("dtach", "dtach"), ("tmux", "tmux")];

/// What every supervised sleeper is.
pub const SLEEPER: [&str; 2] = ["/bin/sleep", "infinity"];

/// Installs the peers that are missing, as root or by sudo; without them their column stays empty.
pub fn install_missing() {
    let missing: Vec<&str> = PROGRAMS
        .iter()
        .filter(|(program, _)| !is_installed(program))
        .map(|(_, package)| *package)
        .collect();
    if missing.is_empty() {
        return;
    }
    eprintln!("installing: {}", missing.join(" "));
    let root = rustix::process::getuid().is_root();
    let prefix: &[&str] = if root { &["apt-get"] } else { &["sudo", "-n", "apt-get"] };
    let install = ["install", "--yes", "--no-install-recommends"];
    for words in [vec!["update", "--quiet"], [&install[..], &missing].concat()] {
        let mut command = Command::new(prefix[0]);
        let ran = command.args(&prefix[1..]).args(words).stdout(Stdio::null()).status();
        if !ran.is_ok_and(|status| status.success()) {
            eprintln!("could not install: {}", missing.join(" "));
            return;
        }
    }
}

pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

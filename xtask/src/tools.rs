//! What the tests need from the machine, in one table, and how it gets there.
//!
//! Installed by name from the machine's own package source; never downloaded from anywhere else.

use crate::failure::Failure;
use crate::program;

struct Tool {
    program: &'static str,
    /// The Debian package that brings it.
    package: &'static str,
    why: &'static str,
}

/// A later need is one more line.
const TOOLS: &[Tool] = &[
    Tool { program: "cc", package: "gcc", why: "links Rust and compiles SQLite" },
    Tool { program: "ar", package: "binutils", why: "archives SQLite's objects" },
    Tool { program: "git", package: "git", why: "says which files belong to the repository" },
];

/// Installs what is missing, or says what a person has to install.
pub fn install_missing() -> Result<(), Failure> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    println!("installing: {}", packages.join(" "));
    if let Some(prefix) = administrator() {
        let install = ["apt-get", "install", "--yes", "--no-install-recommends"];
        // A fresh machine has no package lists yet; a failure here shows in the next step.
        let _ = program::run(&[prefix, &["apt-get", "update", "--quiet"]].concat());
        let _ = program::run(&[prefix, &install, &packages].concat());
    }
    require()
}

/// Fails with what to install if something is missing.
pub fn require() -> Result<(), Failure> {
    let tools: Vec<String> = missing()
        .iter()
        .map(|tool| format!("{} (package {}): {}", tool.program, tool.package, tool.why))
        .collect();
    if tools.is_empty() { Ok(()) } else { Err(Failure::Missing { tools }) }
}

fn missing() -> Vec<&'static Tool> {
    TOOLS.iter().filter(|tool| program::find(tool.program).is_none()).collect()
}

/// What to put before a command so that it may install, if anything helps.
fn administrator() -> Option<&'static [&'static str]> {
    program::find("apt-get")?;
    let uid = program::output(&["id", "-u"]).ok()?;
    if uid.trim_ascii() == b"0" {
        return Some(&[]);
    }
    program::succeeds(&["sudo", "-n", "true"]).then_some(&["sudo", "-n"])
}

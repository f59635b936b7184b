//! Tests of what an ordinary user can't do: who runs them as root runs them again as one.
//!
//! Root may trace, read and own everything, so such a test could not fail as root.

use std::os::unix::fs::chown;
use std::process::{Command, Stdio};

use crate::sealed::ended;

/// Nobody's uid: no process of this machine's services is the test's own.
pub const UID: u32 = 64_017;

/// A command that an ordinary user runs, without groups, rights and environment.
pub fn runs(program: &std::path::Path) -> Command {
    let mut command = Command::new("setpriv");
    let user = [format!("--reuid={UID}"), format!("--regid={UID}")];
    command.args(user).args(["--clear-groups", "--inh-caps=-all", "--no-new-privs"]).arg(program);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command
}

/// `true` if this process is an ordinary user's. Root runs the test `name` again as one, and fails with it.
#[track_caller]
pub fn inside(name: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let temporary = tempfile::TempDir::with_prefix("perennial-").expect("a temporary directory");
    chown(temporary.path(), Some(UID), Some(UID)).expect("root gives it away");
    let mut command = runs(&std::env::current_exe().expect("this program"));
    command.args(["--exact", name, "--nocapture", "--test-threads", "1"]);
    command.env("TMPDIR", temporary.path()).env("HOME", temporary.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("this test needs the program setpriv (util-linux)");
    let ran = ended(child, "the test as an ordinary user");
    println!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, 0, "it failed, or an ordinary user can't reach the test program");
    assert!(ran.stdout.contains("1 passed"), "no test is called {name}");
    false
}

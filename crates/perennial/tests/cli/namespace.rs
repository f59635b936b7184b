//! Tests that need a file system or mounts of their own run themselves again in a mount namespace.
//!
//! With a user namespace for whoever is not root; a machine that allows neither fails the test and
//! says what it needs.

use std::process::{Command, Stdio};

use crate::sealed::ended;

const MARK: &str = "PERENNIAL_TEST_IN_NAMESPACE";

/// `true` inside. Outside it runs the test `name` again, inside, and fails with it.
#[track_caller]
pub fn inside(name: &str) -> bool {
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let mut command = Command::new("unshare");
    command.arg("--mount").args(["--propagation", "private"]);
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.arg(std::env::current_exe().expect("this program"));
    command.args(["--exact", name, "--nocapture", "--test-threads", "1"]).env(MARK, "1");
    // What is mounted there can be removed only from outside, when the namespace is gone.
    let temporary = tempfile::TempDir::with_prefix("perennial-").expect("a temporary directory");
    command.env("TMPDIR", temporary.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("this test needs the program unshare (util-linux)");
    let ran = ended(child, "the test in its namespace");
    println!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(
        ran.code, 0,
        "it failed, or mount namespaces are not allowed here (root, or unprivileged user namespaces)"
    );
    assert!(ran.stdout.contains("1 passed"), "no test is called {name}");
    false
}

/// Covers the cgroups of this machine, so that a daemon finds none that it can use.
#[track_caller]
pub fn cover_cgroups() {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    for line in mounts.lines().filter(|line| line.contains(" - cgroup2 ")) {
        let at = line.split(' ').nth(4).expect("a mount point");
        mount_tmpfs(std::path::Path::new(at), "size=64k");
    }
}

/// Mounts a small file system in memory; it goes with the namespace.
#[track_caller]
pub fn mount_tmpfs(at: &std::path::Path, options: &str) {
    let status = Command::new("mount")
        .args(["-t", "tmpfs", "-o", options, "tmpfs"])
        .arg(at)
        .status()
        .expect("this test needs the program mount (util-linux)");
    assert!(status.success(), "a tmpfs can't be mounted here");
}

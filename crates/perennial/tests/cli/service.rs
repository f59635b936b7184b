//! `service`: the unit is sound, a unit of somebody else is left alone, and without systemd a problem says so.
//!
//! No systemd is asked: `systemctl` is a script that notes how it was called.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::sealed::{PROGRAM, Ran, Sealed, finish};

/// Runs a verb with a `systemctl` that succeeds and notes its arguments.
fn with_systemctl(sealed: &Sealed, args: &[&str]) -> Ran {
    let script = sealed.dir.join("bin/systemctl");
    std::fs::create_dir_all(sealed.dir.join("bin")).expect("a directory");
    let text = "#!/bin/sh\necho \"$*\" >> \"$HOME/called\"\n";
    std::fs::write(&script, text).expect("written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let mut command = sealed.command(args);
    command.env("PATH", format!("{}:/usr/bin:/bin", sealed.dir.join("bin").display()));
    finish(command)
}

fn unit(sealed: &Sealed) -> PathBuf {
    sealed.dir.join(".config/systemd/user/perennial.service")
}

#[test]
fn the_unit_is_installed_shown_and_uninstalled() {
    let sealed = Sealed::new();
    let installed = with_systemctl(&sealed, &["service", "install"]);
    assert!(installed.code == 0 && installed.stdout.contains("enable-linger"), "{installed:?}");
    let text = std::fs::read_to_string(unit(&sealed)).expect("the unit");
    assert!(text.contains(&format!("ExecStart=\"{PROGRAM}\" up --foreground\n")), "{text}");
    assert!(text.contains("KillMode=process\n"), "{text}");
    assert!(text.contains(&format!("PERENNIAL_HOME={}", sealed.root.display())), "{text}");
    assert_eq!(sealed.ok(["service", "install", "--print"]), text);
    let status = with_systemctl(&sealed, &["service", "status"]);
    assert!(status.stdout.contains("installed\n"), "{status:?}");
    let uninstalled = with_systemctl(&sealed, &["service", "uninstall"]);
    assert!(uninstalled.code == 0 && !unit(&sealed).exists(), "{uninstalled:?}");
    let called = std::fs::read_to_string(sealed.dir.join("called")).expect("calls");
    for call in ["daemon-reload", "enable perennial.service", "start perennial.service", "disable"]
    {
        assert!(called.contains(&format!("--user {call}")), "{called}");
    }
    assert!(!called.contains("stop"), "{called}");
    assert_eq!(with_systemctl(&sealed, &["service", "uninstall"]).code, 4);
}

#[test]
fn a_unit_of_somebody_else_is_left_alone() {
    let sealed = Sealed::new();
    std::fs::create_dir_all(unit(&sealed).parent().expect("a directory")).expect("made");
    std::fs::write(unit(&sealed), "[Service]\nExecStart=/bin/true\n").expect("written");
    for verb in ["install", "uninstall", "status"] {
        let ran = with_systemctl(&sealed, &["service", verb]);
        assert!(ran.code == 3 && ran.stderr.contains("not written by perennial"), "{ran:?}");
    }
    let text = std::fs::read_to_string(unit(&sealed)).expect("the unit");
    assert_eq!(text, "[Service]\nExecStart=/bin/true\n");
}

#[test]
fn without_systemd_nothing_is_written() {
    let sealed = Sealed::new();
    let mut command = sealed.command(["service", "install"]);
    command.env("PATH", sealed.dir.join("nothing"));
    let ran = finish(command);
    assert!(ran.code == 1 && ran.stderr.contains("no systemd user manager answers"), "{ran:?}");
    assert!(!unit(&sealed).exists());
}

/// Only where systemd's own checker is installed.
#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let sealed = Sealed::new();
    let path = sealed.dir.join("perennial.service");
    std::fs::write(&path, sealed.ok(["service", "install", "--print"])).expect("written");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--user"]).arg(&path).env("XDG_RUNTIME_DIR", &sealed.dir);
    let Ok(verified) = verify.output() else { return };
    let said = String::from_utf8_lossy(&verified.stderr);
    assert!(!said.contains("perennial.service:"), "{said}");
}

//! A full disk: a clear error, no corruption, sessions keep running, and it recovers by itself.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use perennial_api::answer::Health;
use serde_json::json;
use tempfile::TempDir;

use crate::namespace;
use crate::processes::{is_alive, kill, running, wait_end};
use crate::sealed::{Sealed, pid};

const SIZE_MIB: usize = 4;

/// A home on a small file system of its own.
fn small() -> Sealed {
    let temporary = TempDir::with_prefix("perennial-").expect("a temporary directory");
    let root = temporary.path().join("h");
    std::fs::create_dir(&root).expect("a directory");
    namespace::mount_tmpfs(&root, &format!("size={SIZE_MIB}m"));
    Sealed::at(root, temporary)
}

/// Takes all the space there is; the file that has it.
fn fill(sealed: &Sealed) -> PathBuf {
    let path = sealed.root.join("ballast");
    let mut file = File::create(&path).expect("a file");
    for size in [64 << 10, 4 << 10, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    path
}

/// Renames until the journal, which has some space of its own, is full too.
fn first_refusal(sealed: &Sealed) -> perennial_api::Problem {
    let id = sealed.show("ada").id;
    for n in 0..5000 {
        let body = perennial_api::request::Rename { name: format!("ada-{n}") };
        if let Err(error) = sealed.client().post(&format!("/v1/agents/{id}/rename"), &body) {
            return error.problem();
        }
    }
    panic!("the journal still takes events after 5,000 on a full disk");
}

#[test]
fn a_full_disk_is_told_and_lost_nothing_when_space_is_back() {
    if !namespace::inside("disk_full::a_full_disk_is_told_and_lost_nothing_when_space_is_back") {
        return;
    }
    let sealed = small();
    sealed.start_daemon();
    let ada = sealed.spawn("ada", "read x");
    let bob = sealed.spawn_with(
        &["bob", "--restart", "never"],
        &["/bin/sh", "-c", "trap 'exit 5' USR1; while :; do sleep 0.1; done"],
    );
    let ballast = fill(&sealed);

    let problem = first_refusal(&sealed);
    assert_eq!(
        (problem.kind.as_str(), problem.exit_code),
        ("not-recorded", Some(1)),
        "{problem:?}"
    );
    assert!(problem.detail.contains("full"), "{problem:?}");
    for args in
        [&["spawn", "eve", "--", "sleep", "1000"][..], &["stop", "bob"], &["rename", "bob", "rob"]]
    {
        let problem = sealed.refused(1, args);
        assert_eq!(problem.kind, "not-recorded", "{args:?}");
    }
    assert_eq!(sealed.ls().len(), 2, "nobody was half born");
    let listed = sealed.ok(["ls"]);
    assert!(listed.ends_with("out of date: perennial doctor\n"), "{listed}");
    let doctor = sealed.run(["doctor"]);
    assert!(doctor.code == 1 && doctor.stdout.contains("read-only"), "{doctor:?}");
    let (first, second) = (running(pid(&ada)), running(pid(&bob)));
    assert!(is_alive(first) && is_alive(second), "sessions keep running");

    // An end that nobody can write down now.
    assert!(crate::processes::signal(second, rustix::process::Signal::USR1));
    assert!(wait_end(second, std::time::Duration::from_secs(10)));
    std::fs::remove_file(ballast).expect("space again");
    let (_, exit) = sealed.watch().ended("bob", 1);
    assert_eq!(exit, json!({"code": 5}));
    assert!(is_alive(first));
    sealed.spawn("eve", "read x");
    let health = sealed.health();
    assert!(health.store.ok && health.store.read_only.is_none(), "{health:?}");
    assert!(!sealed.ok(["ls"]).contains("read-only"));
    sealed.kill_daemon();
    sealed.start_daemon();
    check_journal(&sealed, &sealed.health());
    assert_eq!(pid(&sealed.show(&ada.id)), pid(&ada));
    sealed.assert_nobody_doubled();
}

#[test]
fn a_daemon_killed_on_a_full_disk_comes_back_with_the_space() {
    if !namespace::inside("disk_full::a_daemon_killed_on_a_full_disk_comes_back_with_the_space") {
        return;
    }
    let sealed = small();
    sealed.start_daemon();
    let ada = sealed.spawn("ada", "read x");
    let bob =
        sealed.spawn_with(&["bob", "--restart", "never"], &["/bin/sh", "-c", "read x; exit 6"]);
    let ballast = fill(&sealed);
    first_refusal(&sealed);
    sealed.kill_daemon();
    // Its exit can't be written by the shim either, and its daemon is gone.
    kill(running(pid(&bob)));
    let up = sealed.run(["up"]);
    assert!(up.code == 0 || (up.code == 1 && up.stderr.contains("why: ")), "{up:?}");
    std::fs::remove_file(ballast).expect("space again");
    sealed.start_daemon();
    let (_, exit) = sealed.watch().ended("bob", 1);
    assert_eq!(exit, json!({"signal": 9}));
    assert_eq!(pid(&sealed.show(&ada.id)), pid(&ada));
    check_journal(&sealed, &sealed.health());
    sealed.assert_nobody_doubled();
}

fn check_journal(sealed: &Sealed, health: &Health) {
    assert!(health.store.ok && health.store.unreadable.is_empty(), "{health:?}");
    assert!(health.findings.is_empty(), "{health:?}");
    let journal = rusqlite::Connection::open(sealed.home.journal()).expect("a database");
    let sound: String =
        journal.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a check");
    assert_eq!(sound, "ok");
    sealed.ok(["doctor"]);
}

//! `up`: starts the daemon, or says that it is already running. Races are in `daemon_races`.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use perennial_api::answer::Health;
use rustix::process::Signal;

use crate::processes::signal;
use crate::sealed::{PROGRAM, Sealed, ended, finish, pid};

#[test]
fn a_running_daemon_is_left_alone() {
    let sealed = Sealed::new();
    let first = sealed.ok(["up"]);
    assert!(first.starts_with("the daemon is running (pid "), "{first}");
    assert!(first.contains("perennial demo"), "without agents it says what to try: {first}");
    let pid = sealed.health().pid;
    sealed.spawn("bob", "read x");
    let second = sealed.ok(["up"]);
    assert!(second.starts_with("the daemon is already running"), "{second}");
    assert!(second.contains("1 living"), "{second}");
    assert_eq!(sealed.health().pid, pid);
}

#[test]
fn a_home_that_can_not_be_created_is_named() {
    let sealed = Sealed::new();
    std::fs::write(&sealed.root, "in the way").expect("a file");
    let ran = sealed.run(["up"]);
    let root = sealed.root.display().to_string();
    assert!(ran.code == 1 && ran.stderr.contains("why: "), "{ran:?}");
    assert!(ran.stderr.contains(&root), "{ran:?}");
    std::fs::remove_file(&sealed.root).expect("a file");
}

/// N4: right after `down; up`, everybody was `unknown` for a moment.
#[test]
fn up_returns_when_every_session_is_adopted() {
    let sealed = Sealed::up();
    let agents = ["ada", "bob", "eve"].map(|name| sealed.spawn(name, "exec sleep 1000000"));
    sealed.ok(["down"]);
    // A shim that does not run can't be adopted: `up` waits, although the daemon answers already.
    let shim = sealed.shim(&agents[1]);
    assert!(signal(shim, Signal::STOP));
    let mut up = sealed.command(["up"]);
    let mut up = up.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
    let left = || {
        let health = sealed.client().get("/v1/health").and_then(|answer| answer.read::<Health>());
        health.is_ok_and(|health| health.agents.unadopted == 1)
    };
    sealed.until("all but one are adopted", left);
    let waits = up.try_wait().expect("a child").is_none();
    assert!(signal(shim, Signal::CONT));
    let up = ended(up, "up");
    assert!(waits, "up returned too early: {up:?}");
    assert!(up.code == 0 && !up.stdout.contains("not answer"), "{up:?}");
    let states = agents.map(|agent| sealed.show(&agent.id).state);
    assert_eq!(states, ["working"; 3]);
}

#[test]
fn up_is_bounded_and_says_who_does_not_answer() {
    let sealed = Sealed::up();
    let bob = sealed.spawn("bob", "exec sleep 1000000");
    sealed.ok(["down"]);
    let shim = sealed.shim(&bob);
    assert!(signal(shim, Signal::STOP));
    let up = sealed.run(["up"]);
    assert!(signal(shim, Signal::CONT));
    assert_eq!(up.code, 0, "{up:?}");
    assert!(up.stdout.contains("1 session does not answer yet: perennial ls"), "{up:?}");
}

/// The built binary, changed only in its build id: another build of the same version.
pub fn another_build(sealed: &Sealed) -> PathBuf {
    let mut bytes = std::fs::read(PROGRAM).expect("the binary");
    let head = [&4u32.to_ne_bytes()[..], &20u32.to_ne_bytes(), &3u32.to_ne_bytes(), b"GNU\0"];
    let head = head.concat();
    let at = bytes.windows(head.len()).position(|bytes| bytes == head).expect("a build id");
    bytes[at + head.len()] ^= 0xff;
    let other = sealed.dir.join("another-build");
    std::fs::write(&other, bytes).expect("written");
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).expect("a program");
    other
}

#[test]
fn an_upgrade_swaps_the_daemon_and_no_caller_fails_meanwhile() {
    let sealed = Sealed::new();
    let other = another_build(&sealed);
    let mut up = Command::new(&other);
    up.arg("up").env_clear().env("PERENNIAL_HOME", &sealed.root).env("HOME", &sealed.dir);
    assert_eq!(finish(up).code, 0);
    let bob = sealed.spawn("bob", "exec sleep 1000000");
    let before = sealed.health();

    let told = sealed.ok(["up"]);
    assert!(told.contains("perennial up --upgrade"), "{told}");
    assert_eq!(sealed.health().pid, before.pid, "without the option it is left alone");

    let (is_over, failed) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let seen = sealed.client().get("/v1/agents/bob");
                failed.fetch_or(seen.is_err(), Ordering::Relaxed);
            }
        });
        let upgraded = sealed.ok(["up", "--upgrade"]);
        is_over.store(true, Ordering::Relaxed);
        assert!(upgraded.starts_with("the daemon was upgraded"), "{upgraded}");
        assert!(!upgraded.contains("--upgrade"), "{upgraded}");
    });
    assert!(!failed.load(Ordering::Relaxed), "a caller failed");
    let after = sealed.health();
    assert!(after.build != before.build && after.epoch == before.epoch + 1, "{after:?}");
    assert_eq!(pid(&sealed.show("bob")), pid(&bob));
    assert!(!sealed.home.swap_socket().exists());
    assert!(sealed.ok(["up", "--upgrade"]).starts_with("the daemon is already running"));
}

#[test]
fn a_journal_of_a_newer_form_keeps_its_daemon() {
    let sealed = Sealed::new();
    let other = another_build(&sealed);
    let mut up = Command::new(&other);
    up.arg("up").env_clear().env("PERENNIAL_HOME", &sealed.root).env("HOME", &sealed.dir);
    assert_eq!(finish(up).code, 0);
    let pid = sealed.health().pid;
    let database = rusqlite::Connection::open(sealed.home.journal()).expect("the journal");
    let form: u32 =
        database.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a form");
    database.pragma_update(None, "user_version", 99).expect("a newer form");
    let problem = sealed.refused(3, &["up", "--upgrade"]);
    assert!(problem.kind == "store-newer" && problem.detail.contains("99"), "{problem:?}");
    assert_eq!(sealed.health().pid, pid);
    database.pragma_update(None, "user_version", form).expect("as it was");
}

/// As many records as the daemon can't read are no reason to go ahead: they have to be the same ones.
#[test]
fn a_record_that_only_the_new_build_cannot_read_keeps_the_daemon() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "exec sleep 1000000");
    sealed.kill_daemon();
    let database = rusqlite::Connection::open(sealed.home.journal()).expect("the journal");
    let newest = "SELECT max(seq) FROM event WHERE kind = 'moved'";
    let newest: i64 = database.query_row(newest, [], |row| row.get(0)).expect("a record");
    let set = |seq: i64, kind: &str| {
        let changed = database.execute("UPDATE event SET kind = ?1 WHERE seq = ?2", (kind, seq));
        assert_eq!(changed.expect("sql"), 1);
    };
    let first: String = database
        .query_row("SELECT kind FROM event WHERE seq = 1", [], |row| row.get(0))
        .expect("a record");
    set(newest, "from-the-future");
    let mut up = Command::new(another_build(&sealed));
    up.arg("up").env_clear().env("PERENNIAL_HOME", &sealed.root).env("HOME", &sealed.dir);
    assert_eq!(finish(up).code, 0);
    let pid = sealed.health().pid;
    assert_eq!(sealed.health().store.unreadable_seqs, Some(vec![newest.cast_unsigned()]));
    set(newest, "moved");
    set(1, "from-the-future");
    assert_eq!(sealed.refused(3, &["up", "--upgrade"]).kind, "store-newer");
    assert_eq!(sealed.health().pid, pid);
    // Those that neither of them can read are none.
    set(1, &first);
    set(newest, "from-the-future");
    assert!(sealed.ok(["up", "--upgrade"]).starts_with("the daemon was upgraded"));
}

/// As in a container: the leader of the caller's kernel session has no pid in there.
#[test]
fn in_a_pid_namespace_of_its_own_a_home_works_as_anywhere() {
    let sealed = Sealed::new();
    let mut inside = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        inside.args(["--user", "--map-root-user"]);
    }
    inside.args(["--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-ec"]);
    inside.args(["$0 up; $0 spawn bob -- sleep 1000; $0 ls; $0 stop bob; $0 down", PROGRAM]);
    inside.env_clear().env("PATH", "/usr/bin:/bin");
    inside.env("PERENNIAL_HOME", &sealed.root).env("HOME", &sealed.dir);
    let ran = finish(inside);
    assert!(ran.code == 0 && ran.stdout.contains("bob is sleeping"), "{ran:?}");
}

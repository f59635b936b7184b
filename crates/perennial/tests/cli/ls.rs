//! `ls`: who needs you first; rosters, states, projects, and who is stale.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use perennial_api::Agent;
use rustix::process::Signal;

use crate::processes::{self, running, signal};
use crate::sealed::{Sealed, pid};
use crate::terminal::Terminal;
use crate::watch::{PATIENCE, time};

fn names(agents: &[Agent]) -> Vec<&str> {
    agents.iter().map(|agent| agent.name.as_str()).collect()
}

#[test]
fn who_needs_you_comes_first_and_filters_filter() {
    let sealed = Sealed::up();
    let tree = |name: &str| {
        let dir = sealed.dir.join(name);
        std::fs::create_dir_all(dir.join("src")).expect("a directory");
        dir.display().to_string()
    };
    let (one, two) = (tree("one"), tree("two"));
    sealed.spawn_with(&["zoe", "--dir", &one], &["/bin/sh", "-c", "read x"]);
    sealed.spawn_with(&["Ann", "--dir", &two], &["/bin/sh", "-c", "read x"]);
    sealed.spawn("asleep", "read x");
    sealed.spawn("buried", "read x");
    sealed.spawn_with(&["needy", "--restart", "never"], &["/bin/sh", "-c", "exit 9"]);
    sealed.watch().ended("needy", 1);
    sealed.ok(["stop", "asleep"]);
    sealed.ok(["bury", "buried", "--summary", "done"]);
    let listed: Vec<Agent> = sealed.json(&["ls"]);
    assert_eq!(names(&listed), ["needy", "Ann", "zoe", "asleep"]);
    let all: Vec<Agent> = sealed.json(&["ls", "--all"]);
    assert_eq!(names(&all), ["needy", "Ann", "zoe", "asleep", "buried"]);
    assert_eq!(
        all.iter().map(|agent| agent.needs_you).collect::<Vec<_>>(),
        [true, false, false, false, false]
    );
    for (args, expected) in [
        (&["--roster", "living"][..], &["Ann", "zoe"][..]),
        (&["--roster", "freezer"], &["needy", "asleep"]),
        (&["--roster", "cemetery"], &["buried"]),
        (&["--state", "sleeping"], &["needy", "asleep"]),
        (&["--state", "frozen"], &[]),
        (&["--project", &one], &["zoe"]),
        (&["--project", "two"], &["Ann"]),
        (&["--project", "nowhere"], &[]),
        (&["--roster", "living", "--project", &two], &["Ann"]),
    ] {
        let listed: Vec<Agent> = sealed.json(&[&["ls"], args].concat());
        assert_eq!(names(&listed), expected, "{args:?}");
    }
    for args in [["--roster", "underworld"], ["--state", "bored"]] {
        assert_eq!(sealed.run(["ls"].iter().chain(&args)).code, 2);
    }
    let meant = sealed.refused(2, &["ls", "--state", "Workng"]);
    assert_eq!(meant.detail, "did you mean working?");
    let of_seed = sealed.refused(2, &["ls", "--state", "alive"]);
    assert!(of_seed.next.starts_with("add `--vocabulary "), "{of_seed:?}");
    let table = sealed.ok(["ls"]);
    let places: Vec<_> =
        ["needy", "Ann", "zoe", "asleep"].iter().map(|name| table.find(name)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{table}");
}

/// Each roster is listed, narrowed down and counted, also after a daemon that has everybody in its memory.
// covers: H-01
#[test]
fn the_three_rosters_are_listed_filtered_and_counted() {
    let sealed = Sealed::up();
    for (name, role) in [("ann", "architect"), ("bob", "worker"), ("cid", "worker")] {
        sealed.spawn_with(&[name, "--role", role], &["/bin/sh", "-c", "read x"]);
    }
    for (name, role) in [("dan", "worker"), ("eve", "architect"), ("fay", "architect")] {
        sealed.spawn_with(&[name, "--role", role], &["/bin/sh", "-c", "read x"]);
    }
    sealed.ok(["stop", "dan"]);
    sealed.ok(["bury", "eve", "--summary", "done"]);
    sealed.ok(["bury", "fay", "--summary", "done"]);
    let count = |args: &[&str]| -> [u64; 3] {
        let counts: serde_json::Value = sealed.json(&[&["ls", "--count"], args].concat());
        ["living", "freezer", "cemetery"].map(|roster| counts[roster].as_u64().expect("a number"))
    };
    for round in 0..2 {
        for (roster, expected) in [
            ("living", &["ann", "bob", "cid"][..]),
            ("freezer", &["dan"]),
            ("cemetery", &["eve", "fay"]),
        ] {
            let listed: Vec<Agent> = sealed.json(&["ls", "--roster", roster]);
            assert!(listed.iter().all(|agent| agent.roster == roster));
            let mut found = names(&listed);
            found.sort_unstable();
            assert_eq!(found, expected, "{round}");
        }
        for (args, expected) in [
            (&["--roster", "living", "--role", "worker"][..], &["bob", "cid"][..]),
            (&["--roster", "freezer", "--role", "Worker"], &["dan"]),
            (&["--roster", "cemetery", "--role", "architect"], &["eve", "fay"]),
            (&["--roster", "cemetery", "--role", "worker"], &[]),
            (&["--all", "--role", "architect"], &["ann", "eve", "fay"]),
            (&["--role", "architect"], &["ann"]),
        ] {
            let listed: Vec<Agent> = sealed.json(&[&["ls"], args].concat());
            let mut found = names(&listed);
            found.sort_unstable();
            assert_eq!(found, expected, "{args:?} {round}");
        }
        assert_eq!(count(&[]), [3, 1, 2]);
        assert_eq!(count(&["--all"]), [3, 1, 2]);
        assert_eq!(count(&["--roster", "cemetery"]), [0, 0, 2]);
        assert_eq!(count(&["--role", "worker", "--all"]), [2, 1, 0]);
        assert_eq!(sealed.ok(["ls", "--count"]), "living    3\nfreezer   1\ncemetery  2\n");
        // The next daemon finds the dead in the store.
        sealed.ok(["down"]);
        sealed.start_daemon();
        sealed.until("it sees the living", || {
            let listed: Vec<Agent> = sealed.json(&["ls", "--state", "working"]);
            listed.len() == 3
        });
    }
}

// covers: S-02, J-04
#[test]
fn who_is_not_confirmed_is_unknown_and_stale_and_an_idle_one_never() {
    let sealed = Sealed::up();
    let idle = sealed.spawn("idle", "read x");
    let mute = sealed.spawn("mute", "read x");
    let gone = sealed.spawn("gone", "read x");
    assert!(sealed.json::<Vec<Agent>>(&["ls", "--stale=0"]).is_empty());
    // Holders that live and do not answer, and a daemon that knows nothing of them but its journal.
    let (shim, doomed) = (sealed.shim(&mute), sealed.shim(&gone));
    assert!(signal(shim, Signal::STOP) && signal(doomed, Signal::STOP));
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.until("the idle one is confirmed", || sealed.show("idle").state == "working");
    for name in ["mute", "gone"] {
        let agent = sealed.show(name);
        assert_eq!(agent.state, "unknown", "{agent:?}");
        assert!(
            ["daemon-started", "holder-unreachable"].contains(&agent.reason.as_str()),
            "{agent:?}"
        );
    }
    let stale: Vec<Agent> = sealed.json(&["ls", "--stale=0"]);
    assert_eq!(names(&stale), ["gone", "mute"]);
    assert!(sealed.json::<Vec<Agent>>(&["ls", "--stale"]).is_empty(), "300 s are not over");
    sealed.until("doctor warns", || {
        let doctor = sealed.run(["doctor"]);
        doctor.stdout.contains("mute does not answer")
    });
    assert_eq!(sealed.show("mute").reason, "holder-unreachable");

    // Confirmed again: it is what it was, and was never restarted.
    assert!(signal(shim, Signal::CONT));
    sealed.until("it is confirmed", || sealed.show("mute").state == "working");
    let now = sealed.show("mute");
    assert_eq!((pid(&now), now.respawn_count), (pid(&mute), 0));
    assert!(time(now.last_seen.as_ref().expect("seen")) > time(&mute.created_at));
    // Confirmation lost and the process gone: a crash.
    processes::kill(doomed);
    let mut watch = sealed.watch();
    let (_, exit) = watch.ended("gone", 1);
    assert_eq!(exit, serde_json::json!({"unknown": "holder-died"}));
    watch.running("gone", 2);
    assert!(sealed.json::<Vec<Agent>>(&["ls", "--stale=0"]).is_empty());
    assert_eq!(pid(&sealed.show("idle")), pid(&idle));
    assert!(processes::is_alive(running(pid(&idle))));
    sealed.assert_nobody_doubled();
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sealed = Sealed::up();
    for n in 0..30 {
        sealed.spawn_with(&[&format!("a{n}"), "--restart", "never"], &["true"]);
    }
    let mut child = sealed
        .command(["ls", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("runs");
    drop(child.stdout.take());
    let ran = crate::sealed::ended(child, "ls");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn the_dead_are_counted_and_those_of_one_name_are_told_apart() {
    let sealed = Sealed::up();
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(sealed.spawn("bob", "read x").id);
        sealed.ok(["bury", "bob", "--summary", "done"]);
    }
    assert!(sealed.ok(["ls"]).starts_with("2 in the cemetery: perennial ls --roster cemetery\n"));
    ids.push(sealed.spawn("bob", "read x").id);
    let listed = sealed.ok(["ls"]);
    assert!(!listed.contains("dead"), "{listed}");
    assert!(listed.ends_with("\n2 in the cemetery: perennial ls --roster cemetery\n"), "{listed}");
    for daemon in ["the one that buried them", "one that never had them in memory"] {
        let all: Vec<Agent> = sealed.json(&["ls", "--all"]);
        let targets: Vec<_> = all.iter().map(|agent| (agent.target.as_str(), &agent.id)).collect();
        assert_eq!(targets, [("bob", &ids[2]), ("bob~1", &ids[1]), ("bob~2", &ids[0])], "{daemon}");
        for agent in &all {
            assert_eq!(sealed.show(&agent.target).id, agent.id, "{daemon}");
        }
        let table = sealed.ok(["ls", "--roster", "cemetery"]);
        assert!(table.contains("\nbob~1  dead") && table.contains("\nbob~2  dead"), "{table}");
        assert!(sealed.ok(["why", &ids[0]]).starts_with("bob~2 died"));
        sealed.kill_daemon();
        sealed.start_daemon();
    }
}

#[test]
fn what_people_type_for_it_works_too() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    for alias in ["ps", "status"] {
        assert_eq!(names(&sealed.json::<Vec<Agent>>(&[alias])), ["bob"]);
    }
    assert!(sealed.ok(["kill", "bob"]).starts_with("bob is sleeping"));
    assert!(sealed.ok(["rm", "bob", "--summary", "done"]).starts_with("bob is dead"));
}

#[test]
fn a_list_that_is_watched_follows_every_change_and_gives_the_terminal_back() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    let mut terminal = Terminal::run(sealed.command(["ls", "--watch"]));
    terminal.wait("\x1b[?1049h");
    terminal.wait("bob");
    sealed.spawn("carol", "read x");
    terminal.wait("carol");
    sealed.kill_daemon();
    terminal.wait("the daemon is gone; waiting for it to come back");
    sealed.start_daemon();
    terminal.wait("reconnected");
    sealed.ok(["bury", "bob", "--summary", "done"]);
    terminal.wait("1 in the cemetery");
    terminal.type_keys("q");
    let ran = terminal.end();
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.ends_with("\x1b[?7h\x1b[?25h\x1b[?1049l"), "{ran:?}");
    let mut command = sealed.command(["ls", "-w"]);
    command.env("NO_COLOR", "1");
    let mut terminal = Terminal::run(command);
    let before = terminal.wait("q quits");
    assert!(!before.contains("\x1b[1m") && !before.contains("\x1b[2m"), "{before:?}");
    terminal.type_keys("\x03");
    assert_eq!(terminal.end().code, 0);
    let refused = sealed.run(["ls", "--watch"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("needs a terminal"), "{refused:?}");
}

#[test]
fn a_list_that_is_watched_as_json_has_a_line_for_each_change() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    let mut child = sealed
        .command(["ls", "--watch", "--json", "--state", "working"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let (sender, lines) = std::sync::mpsc::channel();
    let output = BufReader::new(child.stdout.take().expect("an output"));
    std::thread::spawn(move || output.lines().try_for_each(|line| sender.send(line)));
    let next = |name: &str, state: &str| {
        loop {
            let line = lines.recv_timeout(PATIENCE).expect("a line").expect("text");
            let agent: Agent = serde_json::from_str(&line).expect("an agent");
            if (agent.name.as_str(), agent.state.as_str()) == (name, state) {
                return;
            }
        }
    };
    next("bob", "working");
    sealed.spawn("carol", "read x");
    next("carol", "working");
    sealed.kill_daemon();
    sealed.start_daemon();
    // The next daemon does not know how bob is before it has asked his holder; once the list has dave in it,
    // it has been asked for from this daemon, and bob is in it again.
    sealed.until("bob is known to work", || sealed.show("bob").state == "working");
    sealed.spawn("dave", "read x");
    next("dave", "working");
    sealed.ok(["stop", "bob"]);
    next("bob", "sleeping");
    child.kill().expect("it runs until then");
    child.wait().expect("a child");
}

//! A journal that has lost what it once knew: whoever still runs is listed, held, and never started a second
//! time; the way out is told.

use perennial_api::answer::Why;
use perennial_api::snapshot::SnapshotTaken;

use crate::processes;
use crate::sealed::{Sealed, pid};
use crate::snapshot::{Project, git};

/// The journal's files, as they are now.
struct Backup(Vec<(std::path::PathBuf, Vec<u8>)>);

fn files(sealed: &Sealed) -> impl Iterator<Item = std::path::PathBuf> {
    let journal = sealed.home.journal();
    ["", "-wal", "-shm"].into_iter().map(move |end| format!("{}{end}", journal.display()).into())
}

fn backup(sealed: &Sealed) -> Backup {
    let read = |path: std::path::PathBuf| Some((path.clone(), std::fs::read(path).ok()?));
    Backup(files(sealed).filter_map(read).collect())
}

fn remove_journal(sealed: &Sealed) {
    for path in files(sealed) {
        let _absent = std::fs::remove_file(path);
    }
}

fn restore(sealed: &Sealed, Backup(kept): &Backup) {
    remove_journal(sealed);
    for (path, bytes) in kept {
        std::fs::write(path, bytes).expect("a file");
    }
}

#[track_caller]
fn assert_held(sealed: &Sealed, name: &str, expected: u32) {
    let agent = sealed.show(name);
    assert_eq!((&*agent.state, &*agent.reason), ("unknown", "record-lost"), "{agent:?}");
    assert!(agent.needs_you, "{agent:?}");
    assert_eq!(pid(&agent), expected);
}

#[test]
fn a_session_that_the_journal_does_not_know_is_listed_held_and_ended_by_stop() {
    let sealed = Sealed::up();
    let ada = sealed.spawn_with(&["ada", "--restart", "always"], &["/bin/sh", "-c", "read x"]);
    sealed.ok(["rename", "ada", "eve"]);
    sealed.kill_daemon();
    remove_journal(&sealed);
    sealed.start_daemon();
    assert_held(&sealed, "eve", pid(&ada));
    assert_eq!(sealed.show("eve").id, ada.id);
    assert!(sealed.ok(["ls"]).contains("eve"));
    assert!(sealed.ok(["why", "eve"]).contains("was found running"));
    let why: Why = sealed.json(&["why", "eve"]);
    assert!(why.story.iter().any(|chapter| chapter.kind == "session-found"), "{why:#?}");
    // It is so for the next daemon, too.
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_held(&sealed, "eve", pid(&ada));
    sealed.assert_nobody_doubled();
    sealed.ok(["stop", "eve"]);
    assert!(sealed.marked(&ada).is_empty());
    sealed.ok(["wake", "eve"]);
    sealed.until("it runs again", || sealed.show("eve").state == "working");
    assert_eq!(sealed.show("eve").session.expect("one").number, 2);
    sealed.assert_nobody_doubled();
}

#[test]
fn a_found_agent_has_the_settings_that_it_had_last() {
    let sealed = Sealed::up();
    sealed.spawn_with(&["ada", "--restart", "always"], &["/bin/sh", "-c", "read x"]);
    sealed.ok(["set", "ada", "--restart", "never", "--dir", "/"]);
    sealed.kill_daemon();
    remove_journal(&sealed);
    sealed.start_daemon();
    let ada = sealed.show("ada");
    assert_eq!((&*ada.reason, &*ada.restart, &*ada.dir), ("record-lost", "never", "/"));
}

#[test]
fn a_found_session_is_taken_up_by_wake_and_watched_from_then_on() {
    let sealed = Sealed::up();
    let ada = sealed.spawn_with(&["ada", "--restart", "always"], &["/bin/sh", "-c", "read x"]);
    sealed.kill_daemon();
    remove_journal(&sealed);
    sealed.start_daemon();
    sealed.ok(["wake", "ada"]);
    sealed.until("it is confirmed", || sealed.show("ada").state == "working");
    assert_eq!(pid(&sealed.show("ada")), pid(&ada));
    processes::kill(processes::running(pid(&ada)));
    sealed.watch().running("ada", 2);
    sealed.assert_nobody_doubled();
}

#[test]
fn what_lies_beside_a_holder_is_a_claim_and_gives_nobody_a_right() {
    let sealed = Sealed::up();
    let lead = sealed.spawn("lead", "read x");
    let ada = sealed.spawn_with(&["ada", "--parent", "lead"], &["/bin/sh", "-c", "read x"]);
    let bob = sealed.spawn("bob", "read x");
    let eve = sealed.spawn("eve", "read x");
    sealed.kill_daemon();
    remove_journal(&sealed);
    let claim = |agent: &perennial_api::Agent| sealed.holder(agent).join("agent.json");
    // The same name twice, and what makes no sense at all.
    std::fs::copy(claim(&ada), claim(&bob)).expect("a copy");
    std::fs::write(claim(&eve), "{\"form\":3,\"hatched\":{\"name\":\"../x\"}}").expect("a file");
    sealed.start_daemon();
    let listed = sealed.ls();
    let of = |agent: &perennial_api::Agent| listed.iter().find(|one| one.id == agent.id).cloned();
    for agent in [&lead, &ada, &bob, &eve] {
        let found = of(agent).unwrap_or_else(|| panic!("{} is not listed", agent.name));
        assert_eq!((pid(&found), &*found.reason), (pid(agent), "record-lost"));
        assert_eq!(found.parent, None, "a parent may stop it: that is not to be claimed");
    }
    let mut names = [&ada, &bob, &eve].map(|agent| of(agent).expect("listed").name);
    names.sort();
    assert_eq!(names, ["ada", "ada-2", "found"]);
    sealed.ok(["stop", "--all"]);
    assert!(sealed.processes().iter().all(|one| one.session.is_none()));
    // Nothing is known that a session of it could run.
    assert_eq!(sealed.refused(3, &["wake", "found"]).kind, "not-started");
}

#[test]
fn an_agent_whose_birth_was_altered_keeps_its_name_and_its_session() {
    let sealed = Sealed::up();
    let ada = sealed.spawn("ada", "read x");
    sealed.kill_daemon();
    let journal = rusqlite::Connection::open(sealed.home.journal()).expect("a database");
    let spoilt = "UPDATE event SET payload = payload || ' ' WHERE kind = 'hatched'";
    assert_eq!(journal.execute(spoilt, []).expect("sql"), 1);
    drop(journal);
    for _ in 0..2 {
        sealed.start_daemon();
        let found = sealed.show("ada");
        assert_eq!((&found.id, pid(&found), &*found.state), (&ada.id, pid(&ada), "unknown"));
        assert!(sealed.run(["doctor"]).stdout.contains("can't be read"));
        sealed.kill_daemon();
    }
    sealed.start_daemon();
    sealed.ok(["stop", "ada"]);
    assert!(sealed.marked(&ada).is_empty());
    sealed.ok(["wake", "ada"]);
    sealed.until("it runs again", || sealed.show("ada").state == "working");
    sealed.assert_nobody_doubled();
}

/// Shims refuse a daemon that is older than the one they obeyed.
#[test]
fn a_restored_journal_adopts_those_that_it_knows_and_lists_the_others() {
    let sealed = Sealed::up();
    let ada = sealed.spawn("ada", "read x");
    sealed.ok(["down"]);
    let older = backup(&sealed);
    for _ in 0..3 {
        sealed.start_daemon();
        sealed.kill_daemon();
    }
    sealed.start_daemon();
    let bob = sealed.spawn("bob", "read x");
    sealed.kill_daemon();
    restore(&sealed, &older);
    sealed.start_daemon();
    sealed.until("she is confirmed", || sealed.show("ada").state == "working");
    assert_eq!(pid(&sealed.show("ada")), pid(&ada));
    assert_held(&sealed, "bob", pid(&bob));
    sealed.assert_nobody_doubled();
    sealed.ok(["stop", "bob"]);
    assert!(sealed.marked(&bob).is_empty());
}

/// Nobody can reach the holder, and nobody takes its session for ended.
#[test]
fn without_the_state_directory_there_is_no_second_daemon_and_no_second_session() {
    let sealed = Sealed::up();
    let ada = sealed.spawn_with(&["ada", "--restart", "always"], &["/bin/sh", "-c", "read x"]);
    let daemon = sealed.daemon();
    // In one step: the daemon makes its own files in it again.
    let aside = sealed.home.state.with_extension("aside");
    std::fs::rename(&sealed.home.state, &aside).expect("a directory");
    std::fs::remove_dir_all(&aside).expect("a directory");
    let second = sealed.run(["daemon"]);
    assert!(second.code == 3 && second.stderr.contains("another daemon"), "{second:?}");
    processes::kill(daemon);
    sealed.start_daemon();
    sealed.until("it is told", || sealed.show("ada").reason == "holder-unreachable");
    assert_eq!(pid(&sealed.show("ada")), pid(&ada));
    assert!(sealed.run(["doctor"]).stdout.contains("still runs"));
    sealed.assert_nobody_doubled();
    sealed.ok(["stop", "ada"]);
    assert!(sealed.marked(&ada).is_empty());
    assert_eq!(sealed.show("ada").state, "sleeping");
    sealed.ok(["wake", "ada"]);
    sealed.until("it runs again", || sealed.show("ada").state == "working");
    sealed.assert_nobody_doubled();
}

/// What was acknowledged and is gone is told, by everything that tells of a start; what may have been in it is
/// held.
#[test]
fn a_lost_end_of_the_journal_is_told_and_who_may_be_affected_is_held() {
    let sealed = Sealed::up();
    sealed.spawn_with(&["ada", "--restart", "always"], &["/bin/sh", "-c", "read x"]);
    let bob = sealed.spawn("bob", "read x");
    let older = backup(&sealed);
    sealed.ok(["stop", "ada"]);
    sealed.kill_daemon();
    restore(&sealed, &older);
    let before = sealed.run(["doctor"]);
    assert!(before.stdout.contains("missing from the journal"), "{before:?}");
    assert!(sealed.ok(["up"]).contains("missing from the journal: perennial doctor"));
    assert!(sealed.log().contains("missing from the journal"));
    let doctor = sealed.ok(["doctor"]);
    assert!(doctor.contains("missing from the journal") && !doctor.contains("ok    store"));
    assert!(sealed.ok(["events"]).contains("missing from the journal"));
    // Her end was in what is gone: nothing starts her again but a person.
    let ada = sealed.show("ada");
    assert_eq!((&*ada.state, &*ada.reason, ada.needs_you), ("unknown", "record-lost", true));
    assert!(sealed.ok(["why", "ada"]).contains("the newest records of the journal are missing"));
    sealed.until("he is confirmed", || sealed.show("bob").state == "working");
    assert_eq!(pid(&sealed.show("bob")), pid(&bob));
    sealed.assert_nobody_doubled();
    // Told once: the next start has lost nothing.
    sealed.ok(["down"]);
    assert!(!sealed.ok(["up"]).contains("missing"));
    assert_eq!(sealed.show("ada").reason, "record-lost");
    sealed.ok(["wake", "ada"]);
    sealed.until("it runs again", || sealed.show("ada").state == "working");
    sealed.assert_nobody_doubled();
}

/// An older journal was put back, and snapshots that it does not know are what is left of somebody's work. Neither the daemon
/// that finds it out removes them nor the next one, and another snapshot that is dropped does not take them along.
#[test]
fn snapshots_that_a_lost_record_told_of_stay() {
    let project = Project::new();
    let sealed = &project.sealed;
    let dir = project.dir.to_str().expect("text");
    sealed.ok(["spawn", "bob", "--dir", dir, "--", "/bin/sh", "-c", "read x"]);
    let take = |text: &str| -> SnapshotTaken {
        project.write("new.txt", text);
        sealed.json(&["snapshot", "take", "bob"])
    };
    let known = take("known\n").snapshot;
    let older = backup(sealed);
    let lost = take("its record is lost\n").snapshot;
    sealed.kill_daemon();
    restore(sealed, &older);
    let refs = || git(known.repository.as_ref(), "for-each-ref --format=%(objectname)");
    for is_told in [true, false] {
        assert_eq!(sealed.ok(["up"]).contains("missing from the journal"), is_told);
        // One that is taken now stands behind all that the start ordered, and after it all is as before.
        let number = take(&format!("later {is_told}\n")).snapshot.number;
        sealed.ok(["snapshot", "show", "bob", &number.to_string()]);
        assert!(refs().contains(&lost.commit), "{}", refs());
        sealed.kill_daemon();
    }
}

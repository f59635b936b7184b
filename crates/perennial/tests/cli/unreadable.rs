//! A record that can't be read: its agent is `unknown` and held, it is told, and the operator can
//! wake it. Nothing else is disturbed.

use perennial_api::answer::{Message, Why};

use crate::processes;
use crate::sealed::{Sealed, pid};
use crate::vocabulary::is_told;

/// Changes the newest record of a kind of an agent in the file, while no daemon has it.
fn spoil(sealed: &Sealed, id: &str, kind: &str, change: &str) {
    let agent: perennial_core::id::AgentId = id.parse().expect("an id");
    let journal = rusqlite::Connection::open(sealed.home.journal()).expect("a database");
    let newest_first = "SELECT seq, stream FROM event WHERE kind = ?1 ORDER BY seq DESC";
    let mut rows = journal.prepare(newest_first).expect("sql");
    let found = rows
        .query_map([kind], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
        .expect("rows")
        .flatten()
        .find(|(_, stream)| stream.ends_with(&agent.0.to_be_bytes()));
    let (seq, _) = found.expect("a record of it");
    let changed = journal.execute(&format!("UPDATE event SET {change} WHERE seq = ?1"), [seq]);
    assert_eq!(changed.expect("sql"), 1);
}

// covers: J-12
#[test]
fn an_unreadable_record_makes_its_agent_unknown_until_the_operator_wakes_it() {
    for (kind, change) in [
        ("moved", "payload = '{\"half'"),
        ("moved", "kind = 'from-the-future'"),
        ("session-ended", "form = 99"),
        ("session-ended", "payload = replace(payload, '2', '9')"),
    ] {
        let sealed = Sealed::up();
        let bad = sealed.spawn("bad", "read x");
        let good = sealed.spawn("good", "read x");
        sealed.ok(["stop", "bad"]);
        sealed.kill_daemon();
        assert!(sealed.run(["doctor"]).stdout.contains("records are intact"), "{change}");
        spoil(&sealed, &bad.id, kind, change);
        let doctor = sealed.run(["doctor"]);
        assert_eq!(doctor.code, 5, "{change}: {doctor:?}");
        assert!(doctor.stdout.contains("the first: "), "{change}: {doctor:?}");
        sealed.start_daemon();
        let agent = sealed.show("bad");
        assert_eq!(
            (agent.state.as_str(), agent.reason.as_str()),
            ("unknown", "record-unreadable"),
            "{change}: {agent:?}"
        );
        assert!(agent.needs_you, "{change}");
        is_told(&sealed, "bad", "unknown", Some("waiting"));
        let why: Why = sealed.json(&["why", "bad"]);
        assert!(why.story.iter().any(|chapter| chapter.kind == "unreadable"), "{change}: {why:#?}");
        assert!(sealed.ok(["why", "bad"]).contains("can't be read"), "{change}");
        let doctor = sealed.run(["doctor"]);
        assert!(doctor.stdout.contains("can't be read"), "{change}: {doctor:?}");
        assert!(sealed.ok(["events"]).contains("can't be read"), "{change}");
        // Held: nothing starts it but the operator, also not the next daemon.
        sealed.kill_daemon();
        sealed.start_daemon();
        assert_eq!(sealed.show("bad").state, "unknown", "{change}");
        assert!(sealed.marked(&bad).is_empty(), "{change}");
        sealed.until("the other one is confirmed", || sealed.show("good").state == "working");
        assert_eq!(pid(&sealed.show("good")), pid(&good), "{change}");
        sealed.ok(["wake", "bad"]);
        sealed.kill_daemon();
        sealed.start_daemon();
        sealed.until("it is known again", || sealed.show("bad").state == "working");
        sealed.assert_nobody_doubled();
    }
}

#[test]
fn a_running_session_with_an_unreadable_record_is_left_alone_and_taken_up_by_wake() {
    for kind in ["moved", "session-running", "session-starting"] {
        let sealed = Sealed::up();
        let bad = sealed.spawn("bad", "read x");
        sealed.kill_daemon();
        spoil(&sealed, &bad.id, kind, "payload = '{}'");
        sealed.start_daemon();
        assert_eq!(sealed.show("bad").reason, "record-unreadable", "{kind}");
        let process = processes::running(pid(&bad));
        sealed.ok(["wake", "bad"]);
        sealed.until("it is confirmed", || sealed.show("bad").state == "working");
        let now = sealed.show("bad");
        assert_eq!((pid(&now), now.respawn_count), (pid(&bad), 0), "{kind}");
        // Watched again: its end is seen, and followed.
        processes::kill(process);
        let (_, exit) = sealed.watch().ended("bad", 1);
        assert_eq!(exit, serde_json::json!({"signal": 9}), "{kind}");
        sealed.watch().running("bad", 2);
        sealed.assert_nobody_doubled();
    }
}

#[test]
fn a_journal_that_is_no_journal_is_refused_and_left_alone() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("ada", "read x");
    sealed.kill_daemon();
    let journal = sealed.home.journal();
    let kept = sealed.dir.join("kept.db");
    for suffix in ["", "-wal", "-shm"] {
        let of = |path: &std::path::Path| format!("{}{suffix}", path.display());
        let _absent = std::fs::rename(of(&journal), of(&kept));
    }
    std::fs::write(&journal, b"this is a text, and somebody may want it back").expect("a file");
    let ran = sealed.run(["up"]);
    assert!(ran.code == 1 && ran.stderr.contains("journal"), "{ran:?}");
    assert_eq!(std::fs::read(&journal).expect("it is there").len(), 45);
    std::fs::remove_file(&journal).expect("a file");
    for suffix in ["", "-wal", "-shm"] {
        let of = |path: &std::path::Path| format!("{}{suffix}", path.display());
        let _absent = std::fs::rename(of(&kept), of(&journal));
    }
    sealed.start_daemon();
    sealed.until("she is confirmed", || sealed.show("ada").state == "working");
    assert_eq!(pid(&sealed.show("ada")), pid(&agent));
    assert!(processes::is_alive(processes::running(pid(&agent))));
}

/// Changes the journal's file while no daemon has it.
fn edit(sealed: &Sealed, sql: &str) {
    let journal = rusqlite::Connection::open(sealed.home.journal()).expect("a database");
    journal.execute_batch(sql).expect("sql");
}

/// Writes each line that it reads to a file.
const WITNESS: &str = "while read -r line; do echo \"$line\" >> heard; done";

fn heard(sealed: &Sealed) -> Vec<String> {
    let text = std::fs::read_to_string(sealed.dir.join("heard")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn sent(sealed: &Sealed, name: &str) -> Vec<Message> {
    sealed.json(&["sent", name])
}

/// A text that was typed is not typed again because the record of it is altered or gone.
#[test]
fn a_text_with_an_unreadable_record_is_held_until_it_is_taken_back() {
    for sql in [
        "UPDATE event SET payload = payload || ' ' WHERE kind = 'message-entered'",
        "DELETE FROM event WHERE kind = 'message-entered'",
        "UPDATE event SET payload = '{' WHERE kind IN ('message-offered', 'message-entered')",
        "UPDATE event SET payload = '{' WHERE kind IN ('message-recorded', 'message-entered')",
    ] {
        let sealed = Sealed::up();
        sealed.spawn("bob", WITNESS);
        sealed.ok(["send", "bob", "--wait", "once"]);
        sealed.until("it is read", || heard(&sealed) == ["once"]);
        sealed.ok(["down"]);
        edit(&sealed, sql);
        sealed.start_daemon();
        let held = sent(&sealed, "bob").remove(0);
        assert_eq!(held.state, "waiting", "{sql}");
        assert!(held.why.is_some_and(|why| why.contains("can't be read")), "{sql}");
        let why: Why = sealed.json(&["why", "bob"]);
        assert_eq!(why.texts.len(), 1, "{sql}: {why:#?}");
        let doctor = sealed.run(["doctor"]).stdout;
        assert!(doctor.contains("perennial unsend"), "{sql}: {doctor}");
        // Those behind it keep their order until a person has decided about it.
        sealed.ok(["send", "bob", "second"]);
        sealed.ok(["unsend", &held.id]);
        sealed.until("the next one is read", || heard(&sealed).len() > 1);
        assert_eq!(heard(&sealed), ["once", "second"], "{sql}");
        assert_eq!(sent(&sealed, "bob")[1].state, "withdrawn", "{sql}");
    }
}

#[test]
fn a_text_that_was_taken_back_is_not_typed_because_the_record_of_that_is_damaged() {
    for sql in [
        "UPDATE event SET payload = payload || ' ' WHERE kind = 'message-withdrawn'",
        "DELETE FROM event WHERE kind = 'message-withdrawn'",
    ] {
        let sealed = Sealed::up();
        sealed.spawn("bob", WITNESS);
        sealed.ok(["stop", "bob"]);
        let taken: Message = sealed.json(&["send", "bob", "taken back"]);
        sealed.ok(["unsend", &taken.id]);
        sealed.ok(["down"]);
        edit(&sealed, sql);
        sealed.start_daemon();
        sealed.ok(["wake", "bob"]);
        let held = sent(&sealed, "bob").remove(0);
        assert!(held.why.is_some_and(|why| why.contains("can't be read")), "{sql}");
        sealed.ok(["unsend", &taken.id]);
        sealed.ok(["send", "bob", "the next"]);
        sealed.until("the next one is read", || !heard(&sealed).is_empty());
        assert_eq!(heard(&sealed), ["the next"], "{sql}");
    }
}

/// The list of messages is derived: what is damaged in it stops nobody.
#[test]
fn a_damaged_list_of_messages_fails_no_verb() {
    for sql in ["UPDATE message SET step = 'flown'", "UPDATE message SET message = x'00'"] {
        let sealed = Sealed::up();
        sealed.spawn("bob", WITNESS);
        sealed.ok(["stop", "bob"]);
        sealed.ok(["send", "bob", "a text"]);
        sealed.ok(["down"]);
        edit(&sealed, sql);
        sealed.start_daemon();
        let listed = sent(&sealed, "bob");
        // Until the daemon has held the table against the records, and made it again.
        let states: Vec<&str> = listed.iter().map(|one| one.state.as_str()).collect();
        let is_told = |state: &&str| ["unreadable", "waiting"].contains(state);
        assert!(!states.is_empty() && states.iter().all(is_told), "{sql}: {states:?}");
        sealed.ok(["why", "bob"]);
        sealed.ok(["wake", "bob"]);
        sealed.ok(["stop", "bob"]);
        sealed.ok(["bury", "bob", "--summary", "done"]);
    }
}

#[test]
fn a_place_behind_the_journals_end_damages_nothing() {
    let sealed = Sealed::up();
    for since in ["18446744073709551615", "9223372036854775807", "100000"] {
        assert_eq!(sealed.ok(["events", "--since", since]), "", "{since}");
    }
    let doctor = sealed.run(["doctor"]);
    assert!(!doctor.stdout.contains("can't be read"), "{doctor:?}");
}

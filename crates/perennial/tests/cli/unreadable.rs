//! A record that can't be read: its agent is `unknown` and held, it is told, and the operator can
//! wake it. Nothing else is disturbed.

use perennial_api::answer::Why;

use crate::processes;
use crate::sealed::{Sealed, pid};

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
        assert!(sealed.run(["doctor"]).stdout.contains("records are whole"), "{change}");
        spoil(&sealed, &bad.id, kind, change);
        let doctor = sealed.run(["doctor"]);
        assert_eq!(doctor.code, 5, "{change}: {doctor:?}");
        assert!(doctor.stdout.contains("faults, the first"), "{change}: {doctor:?}");
        sealed.start_daemon();
        let agent = sealed.show("bad");
        assert_eq!(
            (agent.state.as_str(), agent.reason.as_str()),
            ("unknown", "record-unreadable"),
            "{change}: {agent:?}"
        );
        assert!(agent.needs_you, "{change}");
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

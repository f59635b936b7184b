//! `clean`: what takes up room of the dead goes, by a person's word; the record stays.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use perennial_api::Agent;
use perennial_api::answer::Pruned;
use perennial_api::cleaning::Cleaned;
use perennial_api::graph::GraphSession;
use serde_json::Value;

use crate::authority::Fleet;
use crate::callers::{Who, ask_one};
use crate::sealed::{Ran, Sealed, finish};
use crate::terminal::Terminal;

const CONVERSATION: &str = "0f3c2a1e-1b2c-4d3e-8f4a-5b6c7d8e9f00";

/// A program that stands for Claude Code, and a conversation of the user's.
fn stage() -> Sealed {
    let sealed = Sealed::up();
    let claude = sealed.dir.join("claude");
    std::fs::write(&claude, "#!/bin/sh\necho hello; read x\n").expect("written");
    std::fs::set_permissions(&claude, PermissionsExt::from_mode(0o755)).expect("a mode");
    let theirs = theirs(&sealed);
    std::fs::create_dir_all(theirs.parent().expect("a directory")).expect("made");
    let said = r#""uuid":"a","message":{"role":"user","content":"hello"}"#;
    let line = format!("{{\"type\":\"user\",\"sessionId\":\"{CONVERSATION}\",{said}}}\n");
    std::fs::write(theirs, line).expect("written");
    sealed
}

/// The vendor's own file.
fn theirs(sealed: &Sealed) -> PathBuf {
    sealed.dir.join(format!(".claude/projects/-w/{CONVERSATION}.jsonl"))
}

fn copy(sealed: &Sealed) -> PathBuf {
    sealed.home.conversations().join(format!("claude/{CONVERSATION}.jsonl"))
}

/// As if a copy had been left behind.
fn write_copy(sealed: &Sealed) {
    let copy = copy(sealed);
    std::fs::create_dir_all(copy.parent().expect("a directory")).expect("made");
    std::fs::write(copy, "said\n").expect("written");
}

#[track_caller]
fn adopt(sealed: &Sealed, name: &str) -> Agent {
    let mut command =
        sealed.command(["adopt", name, "--conversation", CONVERSATION, "--json", "--role", "x"]);
    command.env("PATH", format!("{}:/usr/bin:/bin", sealed.dir.display()));
    let ran = finish(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    let agent: Agent = serde_json::from_str(&ran.stdout).expect("an agent");
    let file = recording(sealed, &agent);
    sealed.until("it printed", || std::fs::read(&file).is_ok_and(|bytes| bytes.len() > 4));
    let whole = std::fs::read(theirs(sealed)).expect("the vendor's");
    sealed.until("it is copied", || std::fs::read(copy(sealed)).is_ok_and(|bytes| bytes == whole));
    agent
}

fn recording(sealed: &Sealed, agent: &Agent) -> PathBuf {
    sealed.holder(agent).join("s1/rec.0")
}

#[track_caller]
fn bury(sealed: &Sealed, name: &str) {
    sealed.ok(["bury", name, "--summary", "the parser is done"]);
    sealed.until("it is over", || sealed.show(name).session.is_some_and(|it| it.exit.is_some()));
}

/// When it printed last is known without what it printed.
#[test]
fn a_cleaned_agent_was_active_when_it_was() {
    let sealed = Sealed::up();
    let pipe = sealed.dir.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it runs");
    assert!(made.success());
    let bob = sealed.spawn("bob", "cat pipe; sleep 1000000");
    // Not in the moment that it began.
    let began = bob.session.as_ref().and_then(|session| session.started_at.clone());
    sealed.until("a later moment", || sealed.show("bob").last_seen > began);
    // Opened only when the session reads it.
    std::fs::write(&pipe, "late\n").expect("written");
    sealed.until("it printed", || {
        std::fs::read(recording(&sealed, &bob)).is_ok_and(|it| !it.is_empty())
    });
    bury(&sealed, "bob");
    let before = sealed.show("bob").last_activity.expect("it printed");
    assert_ne!(Some(&before), began.as_ref());
    sealed.ok(["clean", "bob", "--yes"]);
    assert!(!recording(&sealed, &bob).exists());
    assert_eq!(sealed.show("bob").last_activity, Some(before.clone()));
    // Removed twice it is known all the same.
    sealed.ok(["clean", "bob", "--yes"]);
    assert_eq!(sealed.show("bob").last_activity, Some(before));
}

#[test]
fn what_takes_up_room_goes_and_the_record_stays() {
    let sealed = stage();
    let bob = adopt(&sealed, "bob");
    // Only the dead are cleaned.
    let problem = sealed.refused(3, &["clean", "bob", "--yes"]);
    assert_eq!(
        (problem.kind.as_str(), problem.title.as_str()),
        ("wrong-state", "bob can't be cleaned")
    );
    assert_eq!(sealed.refused(4, &["clean", "nobody", "--yes"]).kind, "no-such-agent");
    bury(&sealed, "bob");
    let graph = |()| sealed.ok(["graph", "export"]);
    let (shown, before) = (sealed.show("bob"), graph(()));
    assert_eq!(shown.cleaned, None);
    let would: Cleaned = sealed.json(&["clean", "bob", "--dry-run"]);
    assert!(would.is_dry_run && copy(&sealed).exists() && recording(&sealed, &bob).exists());
    assert_eq!((would.recordings.len(), would.conversations.len(), would.kept.len()), (1, 1, 0));
    // A person is asked on a terminal, or says so beforehand.
    assert_eq!(sealed.refused(2, &["clean", "bob"]).kind, "no-terminal");
    assert_eq!(sealed.run(["clean", "bob"]).code, 2);
    assert!(copy(&sealed).exists() && recording(&sealed, &bob).exists());

    let told = sealed.ok(["clean", "bob", "--yes"]);
    assert!(told.starts_with("removed 1 recording and 1 copy of a conversation ("), "{told}");
    assert!(!copy(&sealed).exists() && !recording(&sealed, &bob).exists());
    assert!(theirs(&sealed).exists(), "the vendor's own file is not ours");
    let after = sealed.show("bob");
    let cleaned = after.cleaned.clone().expect("it says so");
    assert_eq!((cleaned.recordings, cleaned.conversations), (1, 1));
    // Its last activity was told by the recording.
    let last_activity = shown.last_activity.clone();
    let after = Agent { cleaned: None, last_activity, ..after };
    assert_eq!(after, shown, "nothing else of it changed");
    let card = sealed.ok(["show", "bob"]);
    assert!(card.contains("removed 1 recording and 1 copy of a conversation"), "{card}");
    assert!(card.contains("the parser is done"), "{card}");
    assert_eq!(graph(()), before);
    let found: Vec<GraphSession> = sealed.json(&["graph", "query", "--role", "x"]);
    assert_eq!(found.len(), 1);
    let problem = sealed.refused(4, &["logs", "bob", "--terminal"]);
    assert!(problem.detail.contains("removed"), "{problem:?}");
    let events = sealed.ok(["events"]);
    assert!(events.contains("cleaned by the operator: 1 copy of a conversation"), "{events}");
    assert_eq!(sealed.ok(["clean", "bob", "--yes"]), "nothing to remove of bob\n");
    assert!(sealed.ok(["ls", "--all"]).contains("bob"));
}

/// Neither clean nor prune takes what an agent outside the cemetery may resume, or what is another's record.
#[test]
fn a_copy_that_others_need_is_kept_until_nobody_does() {
    let sealed = stage();
    adopt(&sealed, "bob");
    bury(&sealed, "bob");
    adopt(&sealed, "eve");
    let told = sealed.ok(["clean", "bob", "--yes"]);
    assert!(
        told.contains(&format!("kept: copy of conversation {CONVERSATION}: eve may resume it"))
    );
    assert!(told.starts_with("removed 1 recording ("), "{told}");
    let prune = ["prune", "--older-than", "2999-01-01"];
    for state in ["working", "sleeping"] {
        sealed.ok(prune);
        assert!(copy(&sealed).exists(), "eve is {state}");
        sealed.ok(["stop", "eve"]);
    }
    bury(&sealed, "eve");
    sealed.ok(prune);
    assert!(copy(&sealed).exists(), "it is part of eve's record");
    let again: Cleaned = sealed.json(&["clean", "bob", "--yes"]);
    assert_eq!(again.kept[0].why, "record");
    assert_eq!(again.kept[0].agent.as_deref(), Some("eve"));
    sealed.ok(["clean", "eve", "--yes"]);
    assert!(!copy(&sealed).exists());
    // What comes to lie there again is nobody's: prune takes it by its age.
    write_copy(&sealed);
    assert_eq!(sealed.ok(["prune", "bob"]), "nothing to remove\n", "it is young");
    let would: Pruned = sealed.json(&[&prune[..], &["--dry-run"]].concat());
    assert_eq!((would.recordings, would.conversations > 0), (0, true));
    assert!(copy(&sealed).exists());
    let told = sealed.ok(prune);
    assert!(told.contains("copied conversation"), "{told}");
    assert!(!copy(&sealed).exists());
}

/// A daemon that died between the record and the removal leaves the rest to the next one, which looks again.
#[test]
fn a_clean_that_was_cut_off_is_completed_by_the_next_daemon() {
    let sealed = stage();
    let bob = adopt(&sealed, "bob");
    bury(&sealed, "bob");
    let bytes = std::fs::read(recording(&sealed, &bob)).expect("a recording");
    sealed.ok(["clean", "bob", "--yes"]);
    sealed.kill_daemon();
    write_copy(&sealed);
    std::fs::write(recording(&sealed, &bob), bytes).expect("put back");
    sealed.start_daemon();
    sealed.until("all is gone", || !copy(&sealed).exists() && !recording(&sealed, &bob).exists());
    // Somebody took the conversation up since.
    let eve = adopt(&sealed, "eve");
    sealed.kill_daemon();
    let file = recording(&sealed, &bob);
    std::fs::write(&file, "x").expect("written");
    sealed.start_daemon();
    // The recording goes after what was recorded before it.
    sealed.until("the next daemon has looked", || !file.exists());
    sealed.ok(["prune", "--older-than", "0d"]);
    assert!(copy(&sealed).exists(), "eve may resume it");
    assert_eq!(sealed.show("eve").id, eve.id);
    // What is there now is of eve's time, also when she is dead.
    bury(&sealed, "eve");
    sealed.kill_daemon();
    std::fs::write(&file, "x").expect("written");
    sealed.start_daemon();
    sealed.until("the next daemon has looked", || !file.exists());
    assert!(copy(&sealed).exists(), "it is part of eve's record");
}

#[test]
fn only_a_person_may_clean() {
    let fleet = Fleet::new();
    fleet.sealed.spawn("bob", "echo hello; read x");
    bury(&fleet.sealed, "bob");
    let refused = |ran: Ran, who: &str| {
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains(&format!("{who} may not use `clean`")), "{ran:?}");
    };
    for args in [&["clean", "bob", "--yes"][..], &["clean", "bob"], &["clean", "bob", "--dry-run"]]
    {
        refused(fleet.call(&[], args), "an agent");
        refused(finish(Who::Viewer.runs(fleet.sealed.command(args))), "a viewer");
    }
    let answer = ask_one(&fleet.sealed, Who::Viewer, "post /v1/agents/bob/clean {}");
    assert_eq!((answer.status, answer.body["kind"].as_str()), (403, Some("not-allowed")));
    assert_eq!(fleet.sealed.show("bob").cleaned, None);
    let answer = ask_one(&fleet.sealed, Who::Person, "post /v1/agents/bob/clean {}");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["recordings"].as_array().map(Vec::len), Some(1));
    let shown: Value = fleet.sealed.json(&["show", "bob"]);
    assert_eq!(shown["cleaned"]["recordings"], 1);
}

#[test]
fn a_person_at_a_terminal_is_asked_first() {
    let sealed = Sealed::up();
    let bob = sealed.spawn("bob", "echo hello; read x");
    let file = recording(&sealed, &bob);
    sealed.until("it printed", || std::fs::read(&file).is_ok_and(|bytes| bytes.len() > 4));
    bury(&sealed, "bob");
    for (answer, is_there) in [("n\r", true), ("y\r", false)] {
        let mut terminal = Terminal::run(sealed.command(["clean", "bob"]));
        terminal.wait("remove 1 recording (");
        terminal.wait("[y/N] ");
        terminal.type_keys(answer);
        let ran = terminal.end();
        assert_eq!(ran.code == 0, !is_there, "{ran:?}");
        assert_eq!(file.exists(), is_there);
    }
}

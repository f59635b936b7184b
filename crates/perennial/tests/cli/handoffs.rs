//! `handoffs`: what a successor reads and runs again, with our briefing and without it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use perennial_api::handoffs::Handoffs;
use serde_json::{Value, json};
use understudy::{Repeat, Turn};

use crate::claude::{Stage, bash, state};
use crate::sealed::Sealed;

const FREE: [&str; 3] = ["--permission-mode", "bypassPermissions", "--trust"];

fn read(dir: &Path, file: &str) -> Value {
    json!([{ "name": "Read", "input": { "file_path": dir.join(file) } }])
}

fn write(dir: &Path, file: &str) -> Value {
    json!([{ "name": "Write", "input": { "file_path": dir.join(file), "content": "x" } }])
}

fn told(sealed: &Sealed, more: &[&str]) -> Handoffs {
    let asked = [&["--json", "handoffs"][..], more].concat();
    serde_json::from_str(&sealed.ok(asked)).expect("figures")
}

/// In place of the agent CLI: its first prompt is a bare one where it would be our briefing.
fn keep_briefings_away(stage: &Stage) {
    let bin = stage.sealed.dir.join("bin");
    std::fs::create_dir_all(&bin).expect("made");
    let script = format!(
        "#!/bin/bash\nwords=()\nfor word in \"$@\"; do\n  case $word in *'You are a continuation of session'*) \
         word='Go on with the work.';; esac\n  words+=(\"$word\")\ndone\nexec {} \"${{words[@]}}\"\n",
        Stage::claude().display()
    );
    std::fs::write(bin.join("claude"), script).expect("written");
    std::fs::set_permissions(bin.join("claude"), PermissionsExt::from_mode(0o755)).expect("a mode");
}

/// The first session looks around, builds and writes. The second begins a new conversation. It has the same script in every run: where
/// it is told which file was written last, it goes on; otherwise it looks at everything before it does.
fn succeeded(role: &str, is_briefed: bool) -> (Stage, Handoffs) {
    let stage = Stage::new();
    let dir = stage.sealed.dir.clone();
    if !is_briefed {
        keep_briefings_away(&stage);
    }
    for file in ["a.txt", "b.txt"] {
        std::fs::write(dir.join(file), "words").expect("written");
    }
    let mut watch = stage.sealed.watch();
    let first = [
        read(&dir, "a.txt"),
        read(&dir, "b.txt"),
        bash("sh -c 'echo built'"),
        write(&dir, "c.txt"),
    ];
    let done = |words: &str| std::iter::once(Turn::text(words));
    let first = first.into_iter().map(|tools| turn(&tools)).chain(done("Half of it is done."));
    stage.model.script_everybody(first.collect::<Vec<_>>());
    let options = [&FREE[..], &["--role", role]].concat();
    stage.spawn("ada", &options, "write both files");
    state(&mut watch, "ada", "waiting", "idle");
    let told_of = "c.txt”";
    let knows = [turn(&write(&dir, "d.txt")), Turn::text("All of it is done.")];
    let looks = ["a.txt", "b.txt", "c.txt"].map(|file| read(&dir, file));
    let looks = looks.into_iter().chain([bash("sh -c 'echo built'"), write(&dir, "d.txt")]);
    let looks = looks.map(|tools| turn(&tools)).chain(done("All of it is done."));
    let second = knows.map(|turn| turn.matching(told_of)).into_iter().chain(looks);
    stage.model.script_everybody(second.collect::<Vec<_>>());
    stage.sealed.until("the file is known", || {
        stage.sealed.ok(["briefing", "ada", "--as", "fresh"]).contains(told_of)
    });
    stage.sealed.ok(["restart", "ada", "--fresh"]);
    stage.sealed.until("the successor has written", || dir.join("d.txt").exists());
    stage.sealed.until("its first change is counted", || {
        told(&stage.sealed, &["ada"]).sessions.last().is_some_and(|one| one.has_changed)
    });
    let handoffs = told(&stage.sealed, &["ada"]);
    (stage, handoffs)
}

fn turn(tools: &Value) -> Turn {
    serde_json::from_value(json!({ "tools": tools })).expect("a turn")
}

//
#[test]
fn a_successor_without_our_briefing_looks_at_everything_again() {
    let (lost, without) = succeeded("builder", false);
    let (_kept, with) = succeeded("builder", true);
    let (without, with) = (&without.sessions[0], &with.sessions[0]);
    for one in [without, with] {
        assert_eq!((one.session, one.after.as_str(), one.is_fresh), (2, "restart", true));
    }
    assert_eq!((without.files_read_again, without.commands_run_again), (3, 1));
    assert_eq!((with.files_read_again, with.commands_run_again), (0, 0));
    assert!(without.steps > with.steps && without.tokens > with.tokens, "{without:?} {with:?}");
    let summed = told(&lost.sealed, &[]).roles;
    assert_eq!((summed[0].role.as_deref(), summed[0].files_read_again), (Some("builder"), 3));
    let shown = lost.sealed.ok(["show", "ada"]);
    assert!(
        shown.contains("session 2 after restart: 3 files read again, 1 command run again"),
        "{shown}"
    );
    assert!(lost.sealed.ok(["handoffs"]).contains("builder"));
    assert!(lost.sealed.ok(["handoffs", "ada"]).contains("restart"));
    // The dead count, too, also when they have left memory, and for the role that they had.
    lost.sealed.ok(["bury", "ada", "--summary", "done"]);
    lost.sealed.ok(["down"]);
    lost.sealed.start_daemon();
    assert_eq!(told(&lost.sealed, &[]).roles, summed);
    assert_eq!(told(&lost.sealed, &["ada"]).sessions.len(), 1);
    // What can't be read is named, and is not the same as zero.
    let mut places = vec![lost.sealed.root.clone()];
    while let Some(place) = places.pop() {
        for entry in std::fs::read_dir(place).expect("read").map(|entry| entry.expect("read")) {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            if kind.is_dir() {
                places.push(path);
            } else if path.extension().is_some_and(|it| it == "jsonl") {
                std::fs::remove_file(path).expect("removed");
            }
        }
    }
    let unread = told(&lost.sealed, &[]);
    assert_eq!((unread.sessions.len(), &unread.unread[..]), (0, &["ada".to_owned()][..]));
    assert!(lost.sealed.ok(["handoffs"]).contains("can't be read: ada"));
}

/// A session whose program could not be executed took nothing over: it is not counted, and the one after it is told of the
/// last that ran.
#[test]
fn claude_goes_on_from_the_last_session_that_ran() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let done = Turn { repeat: Repeat::ALWAYS, ..Turn::text("Half of it is done.") };
    stage.model.script_everybody([done]);
    stage.spawn("ada", &[&FREE[..], &["--restart", "never"]].concat(), "write both files");
    state(&mut watch, "ada", "waiting", "idle");
    stage.sealed.until("the turn is read", || {
        stage.sealed.ok(["logs", "ada"]).contains("Half of it is done.")
    });
    stage.sealed.ok(["stop", "ada"]);
    watch.ended("ada", 1);
    let program = stage.sealed.dir.join("bin/claude");
    std::fs::remove_file(&program).expect("it was there");
    let _ = stage.sealed.run(["wake", "ada"]);
    let (_, exit) = watch.ended("ada", 2);
    assert_eq!(exit, json!({ "unknown": "not-started" }));
    let foretold = stage.sealed.ok(["briefing", "ada", "--as", "fresh"]);
    assert!(foretold.starts_with("You are a continuation of session 1 of ada"), "{foretold}");
    std::os::unix::fs::symlink(Stage::claude(), &program).expect("it is back");
    stage.sealed.ok(["wake", "ada", "--fresh"]);
    stage.told("You are a continuation of session 1 of ada");
    state(&mut watch, "ada", "waiting", "idle");
    stage.sealed.until("session 3 alone is counted", || {
        let sessions = told(&stage.sealed, &["ada"]).sessions;
        sessions.iter().map(|one| one.session).eq([3])
    });
}

#[test]
fn nobody_has_succeeded_anybody_yet() {
    let sealed = Sealed::up();
    assert!(sealed.ok(["handoffs"]).starts_with("nothing counted yet"));
    assert_eq!(told(&sealed, &[]), Handoffs::default());
    assert_eq!(sealed.run(["handoffs", "nobody"]).code, 4);
}

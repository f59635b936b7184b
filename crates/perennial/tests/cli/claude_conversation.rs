//! Conversations of real Claude Code sessions: cleared, compacted, adopted, measured.

use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use understudy::Kind;

use crate::claude::{Stage, turns};
use crate::processes::{running, signal};
use crate::sealed::pid;
use crate::watch::{Seen, Watch};

const FREE: [&str; 3] = ["--permission-mode", "bypassPermissions", "--trust"];

fn followed(watch: &mut Watch, how: &str) -> Seen {
    watch.wait(how, |seen| {
        let is = seen.event.kind == "conversation-followed" && seen.event.data["how"] == how;
        is.then(|| seen.clone())
    })
}

fn passed(watch: &Watch) -> Vec<String> {
    let passed = watch.seen.iter().filter(|seen| seen.event.kind == "clock-passed");
    passed.map(|seen| seen.event.data["threshold"].to_string()).collect()
}

/// Waits until this many thresholds have passed in all.
fn passes(watch: &mut Watch, count: usize) {
    let mut left = count;
    watch.wait(&format!("{count} thresholds"), |seen| {
        left -= usize::from(seen.event.kind == "clock-passed");
        (left == 0).then_some(())
    });
}

/// Kills the session in the middle of a turn, and waits until the next one has told its model so.
fn crash_in_a_turn(stage: &Stage, watch: &mut Watch, prompt: &str) {
    let program = json!([{ "text": "Never said.", "gate": "held" }, { "text": "Back." }]);
    stage.sealed.ok(["send", "ada", &format!("{prompt} {}", turns(&program))]);
    stage.model.wait_until_held("held").expect("a turn");
    // The client writes it down a moment after it has sent it.
    let written = || stage.sealed.ok(["logs", "ada"]).contains(prompt);
    stage.sealed.until("the prompt is written", written);
    assert!(signal(running(pid(&stage.sealed.show("ada"))), Signal::KILL));
    watch.running("ada", 2);
    stage.model.release("held");
    stage.told("ended unexpectedly");
}

/// What the model was told when the conversation went on after the crash.
fn resumed(stage: &Stage) -> String {
    let requests = stage.main_requests();
    requests.into_iter().rfind(|one| one.contains("ended unexpectedly")).expect("resumed")
}

#[test]
fn after_a_clear_the_new_conversation_is_the_one_that_a_crash_resumes() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, &turns(&json!([{ "text": "Old-answer." }])));
    watch.moved("ada", "waiting", "idle");
    let old = stage.conversation("ada");
    stage.type_command("ada", "Old-answer.", "/clear");
    followed(&mut watch, "cleared");
    let ada = stage.sealed.show("ada");
    assert_eq!(ada.conversations.len(), 2, "{ada:#?}");
    let new = stage.conversation("ada");
    assert!(new != old && ada.conversations.contains(&old), "{ada:#?}");
    crash_in_a_turn(&stage, &mut watch, "New-prompt.");
    let resumed = resumed(&stage);
    assert!(resumed.contains("New-prompt.") && !resumed.contains("Old-answer."), "{resumed}");
    assert_eq!(stage.conversation("ada"), new);
}

// covers: H-03
#[test]
fn a_compaction_begins_a_window_and_the_conversation_stays() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let full = |text: &str, tokens: u64| {
        turns(&json!([{ "text": text, "usage": { "input": tokens, "output": 5 } }]))
    };
    stage.spawn("ada", &FREE, &full("First.", 940_000));
    let idle = watch.moved("ada", "waiting", "idle");
    passes(&mut watch, 3);
    stage.sealed.ok(["send", "ada", &full("Second.", 941_000)]);
    watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    let conversation = stage.conversation("ada");
    stage.type_command("ada", "Second.", "/compact");
    let compacted = watch
        .wait("a new window", |seen| (seen.event.kind == "window-began").then(|| seen.clone()));
    stage.asked("a summary", |record| record.request.kind == Kind::Compaction);
    // What was measured before says nothing of the window that has begun.
    let context = stage.sealed.show("ada").context;
    assert!(context.as_ref().is_none_or(|context| context.percent < 50), "{context:?}");
    stage.sealed.until("it listens", || stage.sealed.show("ada").reason == "idle");
    stage.sealed.ok(["send", "ada", &full("Third.", 600_000)]);
    passes(&mut watch, 4);
    let idle = watch.moved_after(compacted.event.seq, "ada", "waiting", "idle");
    assert_eq!(passed(&watch).len(), 4, "{:?}", passed(&watch));
    stage.sealed.ok(["send", "ada", &full("Fourth.", 940_000)]);
    passes(&mut watch, 6);
    let idle = watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    let names = passed(&watch);
    assert_eq!((names.len(), &names[..3]), (6, &names[3..]), "{names:?}");
    crash_in_a_turn(&stage, &mut watch, "New-prompt.");
    watch.moved_after(idle.event.seq, "ada", "waiting", "idle");
    let resumed = resumed(&stage);
    assert!(resumed.contains("understudy's summary") && resumed.contains("Fourth."), "{resumed}");
    // The newest words before it are kept beside the summary.
    assert!(!resumed.contains("First."), "{resumed}");
    assert_eq!(stage.sealed.show("ada").conversations, [conversation]);
    assert_eq!(passed(&watch).len(), 6, "{:?}", passed(&watch));
}

#[test]
fn a_conversation_of_the_users_own_is_adopted_with_all_that_was_said_in_it() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let id = "5e0a9a43-7d0c-4e3b-9d51-0b8a5d7c1f22";
    // With the environment that its agent will have, outside of Perennial.
    let template = stage.command(&[]);
    let mut claude = Command::new(Stage::claude());
    claude.current_dir(&stage.sealed.dir).env_clear();
    claude.envs(template.get_envs().filter_map(|(key, value)| Some((key, value?))));
    claude.args(["-p", "--session-id", id, "--permission-mode", "manual"]);
    claude.arg(turns(&json!([{ "text": "Early-answer." }])));
    let output = claude.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let adopt = ["adopt", "ada", "--conversation", id, "--permission-mode", "manual"];
    let refused = stage.command(&[&adopt[..], &["--prompt", "hello"]].concat()).output();
    assert_eq!(refused.expect("it runs").status.code(), Some(2));
    let calls = stage.main_requests().len();
    let adopted = stage.command(&adopt).output().expect("it runs");
    assert!(adopted.status.success(), "{adopted:?}");
    followed(&mut watch, "resumed");
    assert_eq!(stage.conversation("ada"), id);
    watch.moved("ada", "waiting", "idle");
    assert_eq!(stage.main_requests().len(), calls, "a model was called for nothing");
    stage.sealed.ok(["send", "ada", "Later-prompt."]);
    stage.asked("what was said before", |record| {
        let is_told = |words| record.request.contains(words);
        record.request.kind == Kind::Main && is_told("Early-answer.") && is_told("Later-prompt.")
    });
}

/// C14: a conversation has one writer, by the vendor's own list.
#[test]
fn a_conversation_that_a_program_outside_has_open_is_not_resumed() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, &turns(&json!([{ "text": "Hello." }])));
    watch.moved("ada", "waiting", "idle");
    let id = stage.conversation("ada");
    stage.sealed.ok(["stop", "ada"]);
    let template = stage.command(&[]);
    let mut claude = Command::new(Stage::claude());
    claude.current_dir(&stage.sealed.dir).env_clear();
    claude.envs(template.get_envs().filter_map(|(key, value)| Some((key, value?))));
    claude.args(["-p", "--resume", &id, "--permission-mode", "manual"]);
    claude.arg(turns(&json!([{ "silent": true }]))).stdout(Stdio::null()).stderr(Stdio::null());
    let mut outside = claude.spawn().expect("it runs");
    let listed = stage.sealed.dir.join(format!(".claude/sessions/{}.json", outside.id()));
    stage.sealed.until("it is listed", || {
        std::fs::read_to_string(&listed).is_ok_and(|entry| entry.contains(&id))
    });
    stage.sealed.run(["wake", "ada"]);
    let why = || stage.sealed.ok(["why", "ada"]);
    stage.sealed.until("it is told", || why().contains("is open in another program"));
    assert!(stage.sealed.show("ada").session.is_none_or(|session| session.pid.is_none()));
    outside.kill().expect("it runs");
    outside.wait().expect("it ends");
    stage.sealed.run(["wake", "ada"]);
    followed(&mut watch, "resumed");
}

// covers: H-05
#[test]
fn the_clock_has_the_vendors_own_figure_and_the_owners_status_line_is_drawn() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let settings = stage.sealed.dir.join(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().expect("a directory")).expect("made");
    // Whole lines only, appended: the last one is the newest.
    let command = "cat > line.$$; echo >> line.$$; cat line.$$ >> lines; echo the-owners-line";
    let own = json!({ "statusLine": { "type": "command", "command": command } });
    std::fs::write(&settings, own.to_string()).expect("written");
    let usage =
        json!({ "input": 1_234, "cache_read": 334_000, "cache_creation": 321, "output": 9 });
    stage.spawn("ada", &FREE, &turns(&json!([{ "text": "Done.", "usage": usage }])));
    watch.moved("ada", "waiting", "idle");
    let theirs = || -> Option<Value> {
        let lines = std::fs::read_to_string(stage.sealed.dir.join("lines")).ok()?;
        let read = lines.lines().rev().filter_map(|line| serde_json::from_str(line).ok());
        read.map(|line: Value| line["context_window"].clone())
            .find(|window| window["used_percentage"].is_u64())
    };
    stage.sealed.until("the owner's command was called", || theirs().is_some());
    let theirs = theirs().expect("a window");
    stage.sealed.until("it is measured", || stage.sealed.show("ada").context.is_some());
    let ours = stage.sealed.show("ada").context.expect("measured");
    assert_eq!(theirs["used_percentage"], ours.percent, "{theirs} {ours:?}");
    assert_eq!(theirs["context_window_size"], ours.window, "{theirs} {ours:?}");
    assert_eq!((ours.tokens, ours.source.as_str()), (335_555, "status-line"));
    let shown = || stage.sealed.ok(["logs", "ada", "--terminal"]).contains("the-owners-line");
    stage.sealed.until("the owner's line is drawn", shown);
}

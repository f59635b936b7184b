//! What Codex leaves to its owner: their own notify program, their word on hooks, a sandbox, forks of their
//! own; and what comes of that.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use perennial_engine::harness::{Preset, conversation};
use rustix::process::Signal;
use serde_json::json;

use crate::claude::{kind, state, turns};
use crate::codex::{Stage, exec};
use crate::processes::{running, signal};
use crate::sealed::{PROGRAM, pid};
use crate::terminal::Terminal;

/// Runs Codex as its owner does, outside of Perennial.
fn alone(stage: &Stage, arguments: &[&str]) {
    let template = stage.command(&[]);
    let mut codex = Command::new(Stage::codex());
    codex.current_dir(&stage.sealed.dir).env_clear().stdin(Stdio::null());
    codex.envs(template.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = codex.args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
}

/// The rollout files, by their conversations, the oldest first.
fn rollouts(stage: &Stage) -> Vec<(String, PathBuf)> {
    let preset = Preset::load(std::path::Path::new("/proc/none"), "codex").expect("built in");
    let mut files: Vec<_> = conversation::all(&preset, &stage.codex_home())
        .into_iter()
        .map(|file| (file.conversation, file.path))
        .collect();
    files.sort();
    files
}

/// A fork of the program's own has none of its original's lines: our copy is no use without that.
#[test]
fn a_fork_of_the_owners_goes_on_though_the_program_lost_its_file_and_the_originals() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let says =
        |text: &str| turns(&json!([{ "text": text, "usage": { "input": 10, "output": 3 } }]));
    alone(&stage, &["exec", "--skip-git-repo-check", &says("First-answer.")]);
    let original = rollouts(&stage)[0].0.clone();
    let fork = ["exec", "--skip-git-repo-check", "fork", &original, &says("Second-answer.")];
    alone(&stage, &fork);
    let files = rollouts(&stage);
    assert_eq!(files.len(), 2, "{files:?}");
    let forked = files.iter().find(|(id, _)| *id != original).expect("a fork").0.clone();
    let adopt = ["adopt", "ada", "--harness", "codex", "--conversation", &forked];
    let adopted = stage.command(&adopt).output().expect("it runs");
    assert!(adopted.status.success(), "{adopted:?}");
    state(&mut watch, "ada", "waiting", "idle");
    let copies = stage.sealed.home.conversations().join("codex");
    stage.sealed.until("both are copied", || {
        [&original, &forked].iter().all(|id| copies.join(format!("{id}.jsonl")).is_file())
    });
    for (_, path) in &files {
        std::fs::remove_file(path).expect("lost");
    }
    assert!(signal(running(pid(&stage.sealed.show("ada"))), Signal::KILL));
    watch.running("ada", 2);
    stage.sealed.ok(["send", "ada", &says("Third-answer.")]);
    stage.told("Third-answer.");
    let last = stage.main_requests().pop().expect("a request");
    for words in ["First-answer.", "Second-answer."] {
        assert!(last.contains(words), "the model has forgotten {words}: {last}");
    }
    assert_eq!(stage.conversation("ada"), forked);
}

/// Ours stands in the place of the owner's own program, and calls it.
#[test]
fn the_owners_own_notify_program_is_called_at_the_end_of_a_turn() {
    let stage = Stage::new();
    let (program, called) = (stage.sealed.dir.join("theirs"), stage.sealed.dir.join("called"));
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" >> {}\n", called.display());
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a mode");
    stage.configure("");
    let config = stage.codex_home().join("config.toml");
    let theirs = std::fs::read_to_string(&config).expect("read");
    let theirs = format!("notify = [{:?}, \"own-word\"]\n{theirs}", program.display().to_string());
    std::fs::write(config, theirs).expect("written");
    stage.spawn("ada", &[], &turns(&json!([{ "text": "All done." }])));
    stage.sealed.until("it is called", || {
        let said = std::fs::read_to_string(&called).unwrap_or_default();
        said.contains("own-word") && said.contains("agent-turn-complete")
    });
}

/// A limit of the preset: in the sandbox no connection is allowed, whatever the agent may write.
#[test]
fn in_its_sandbox_the_perennial_command_reaches_nobody_and_its_tools_do() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([
        { "tools": exec(&format!("PERENNIAL_HOME={} {PROGRAM} ls; echo code=$?", stage.sealed.root.display())) },
        { "tools": [{ "name": "mcp__perennial.roster", "input": {} }] },
        { "text": "All done." },
    ]);
    stage.spawn("ada", &["--permission-mode", "auto-never-ask"], &turns(&program));
    state(&mut watch, "ada", "waiting", "idle");
    stage.sealed.until("the steps", || stage.sealed.ok(["logs", "ada"]).contains("All done."));
    let logs = stage.sealed.ok(["logs", "ada"]);
    assert!(!logs.contains("code=0"), "the sandbox allows it by now: remove the limit\n{logs}");
    assert!(logs.contains("code=") && logs.contains("not permitted"), "{logs}");
    assert!(logs.contains("in-turn"), "the tools do not reach us either: {logs}");
}

/// A limit of the preset: what is typed while the model answers cuts the answer off.
#[test]
fn a_text_in_the_middle_of_an_answer_has_it_asked_for_again() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let long = "These words are said, and then the model pauses for long. ".repeat(3);
    let program = json!([
        { "text": long, "gate": "held", "gate_at": "middle" }, { "text": "Said anew." },
    ]);
    stage.spawn("ada", &[], &turns(&program));
    state(&mut watch, "ada", "working", "in-turn");
    stage.model.wait_until_held("held").expect("a turn");
    stage.sealed.until("half of it", || stage.sealed.ok(["screen", "ada"]).contains("These words"));
    stage.sealed.ok(["send", "ada", "second-text"]);
    stage.told("second-text");
    let last = stage.main_requests().pop().expect("a request");
    let is_kept = last.contains("\"role\":\"assistant\"");
    assert!(!is_kept, "the answer is kept by now: remove the limit");
    stage.model.release("held");
}

#[test]
fn an_overloaded_service_is_told_and_the_next_text_is_answered() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &[], &turns(&json!([{ "status": 503 }, { "text": "Never." }])));
    state(&mut watch, "ada", "waiting", "service-failed");
    assert_eq!(stage.sealed.show("ada").respawn_count, 0);
    stage.sealed.ok(["send", "ada", &turns(&json!([{ "text": "Better." }]))]);
    stage.told("Better.");
    state(&mut watch, "ada", "waiting", "idle");
}

/// The owner's word on hooks is given in the program's own dialog, at the terminal.
#[test]
fn once_their_owner_trusts_the_hooks_in_the_dialog_notices_reach_the_conversation() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let fixed = ["spawn", "ada", "--harness", "codex", "--", "--enable", "hooks"];
    let spawned = stage.command(&fixed).output().expect("it runs");
    assert!(spawned.status.success(), "{spawned:?}");
    // The program draws its dialog once its terminal has said what it is, which the holder does for nobody.
    stage.sealed.until("the dialog", || stage.sealed.ok(["screen", "ada"]).contains("Trust all"));
    let mut terminal = Terminal::run(stage.command(&["attach", "ada"]));
    terminal.wait("Trust all");
    choose_trust_all(&stage, &mut terminal);
    state(&mut watch, "ada", "waiting", "idle");
    terminal.detach();
    let config = std::fs::read_to_string(stage.codex_home().join("config.toml")).expect("read");
    assert!(config.contains("trusted_hash"), "{config}");
    let full =
        |text: &str| turns(&json!([{ "text": text, "usage": { "input": 140_000, "output": 5 } }]));
    stage.sealed.ok(["send", "ada", &full("Half.")]);
    kind(&mut watch, "ada", "clock-passed", 1);
    state(&mut watch, "ada", "waiting", "idle");
    stage.sealed.ok(["send", "ada", &full("Noted.")]);
    stage.told("Perennial clock: 50 %");
    kind(&mut watch, "ada", "clock-told", 1);
}

/// Moves to the second choice, as often as it takes: the dialog drops keys that come too soon.
fn choose_trust_all(stage: &Stage, terminal: &mut Terminal) {
    let is_chosen = || {
        let screen = stage.sealed.ok(["screen", "ada"]);
        screen.lines().any(|line| line.contains("Trust all") && line.contains('›'))
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_chosen() {
        assert!(Instant::now() < deadline, "the dialog takes no keys");
        terminal.type_keys("\x1b[B");
        let again = Instant::now() + Duration::from_secs(3);
        while !is_chosen() && Instant::now() < again {}
    }
    terminal.type_keys("\r");
}

/// What a refused adoption says.
fn refused(stage: &Stage, arguments: &[&str]) -> String {
    let output = stage.command(arguments).output().expect("it runs");
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A plain Codex leaves its conversations to a server that all of its terminals share. Here another process
/// holds the lock as that does, with the argument by which it is known.
#[test]
fn a_refused_adoption_says_who_has_the_conversation() {
    let stage = Stage::new();
    alone(&stage, &["exec", "--skip-git-repo-check", &turns(&json!([{ "text": "Said." }]))]);
    let id = rollouts(&stage)[0].0.clone();
    // The harness that is meant where none is named has to be there, too.
    let usual = stage.sealed.dir.join("bin/claude");
    std::os::unix::fs::symlink(crate::claude::Stage::claude(), usual).expect("linked");
    let unnamed = refused(&stage, &["adopt", "ada", "--conversation", &id]);
    assert!(unnamed.contains("codex has one") && unnamed.contains("--harness codex"), "{unnamed}");
    let locks = stage.codex_home().join("thread-writer-locks");
    std::fs::create_dir_all(&locks).expect("made");
    let lock = locks.join(format!("{id}.lock"));
    let adopt = ["adopt", "ada", "--harness", "codex", "--conversation", &id];
    for (name, words) in
        [("app-server", "codex's background server"), ("tui", "open in another program")]
    {
        let mut holder = Command::new("flock");
        holder.arg(&lock).args(["sh", "-c", "echo held; read line", name]);
        let mut holder =
            holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let mut said = [0; 5];
        let output = holder.stdout.as_mut().expect("piped");
        std::io::Read::read_exact(output, &mut said).expect("held");
        let told = refused(&stage, &adopt);
        assert!(told.contains(words) && told.contains("--fork"), "{told}");
        drop(holder.stdin.take());
        holder.wait().expect("ended");
    }
    let adopted = stage.command(&adopt).output().expect("it runs");
    assert!(adopted.status.success(), "{adopted:?}");
}

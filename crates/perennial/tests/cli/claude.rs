//! Real Claude Code sessions as agents, against the understudy: no network, no account.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use perennial_api::Agent;
use rustix::process::Signal;
use serde_json::{Value, json};
use understudy::{Kind, Record, Repeat, Script, Turn, Understudy};

use crate::processes::{is_alive, running, signal};
use crate::sealed::{Sealed, pid};
use crate::terminal::Terminal;
use crate::watch::Watch;

const PROGRAM: &str = ".cache/perennial-test-tools/node_modules/@anthropic-ai/claude-code/bin";
const PATIENCE: Duration = Duration::from_secs(60);

/// A home with its daemon, a model server, and a Claude Code that has seen all its dialogs.
pub struct Stage {
    pub sealed: Sealed,
    pub model: Understudy,
}

impl Stage {
    /// A person types a command of the program's own, which is no text for the model, once the
    /// terminal shows this.
    pub fn type_command(&self, name: &str, shown: &str, command: &str) {
        let mut terminal = Terminal::run(self.command(&["attach", name]));
        terminal.wait("detach:");
        terminal.wait(shown);
        terminal.type_keys(command);
        terminal.wait(command);
        terminal.type_keys("\r");
        terminal.type_keys("\x1c\x1c");
        assert_eq!(terminal.end().code, 0);
    }

    /// Waits until the newest text to an agent waits for this.
    pub fn until_it_waits(&self, name: &str, why: &str) {
        self.sealed
            .until(why, || self.sealed.ok(["sent", name, "-n", "1", "--json"]).contains(why));
    }

    pub fn new() -> Stage {
        Stage::with_config("")
    }

    /// A stage whose operator wrote this into their configuration.
    pub fn with_config(config: &str) -> Stage {
        let sealed = Sealed::new();
        std::fs::create_dir_all(&sealed.home.config).expect("made");
        std::fs::write(sealed.home.config.join("config.toml"), config).expect("written");
        sealed.start_daemon();
        let project = sealed.dir.to_string_lossy().into_owned();
        let seen = json!({
            "hasCompletedOnboarding": true, "lastOnboardingVersion": "2.1.325", "theme": "dark",
            "hasSeenAutoDefaultNotice": true, "lastReleaseNotesSeen": "2.1.325",
            "officialMarketplaceAutoInstallAttempted": true,
            "officialMarketplaceAutoInstalled": true,
            "customApiKeyResponses": { "approved": ["test-key"], "rejected": [] },
            "projects": { project: {
                "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true } },
        });
        std::fs::write(sealed.dir.join(".claude.json"), seen.to_string()).expect("written");
        std::fs::create_dir_all(sealed.dir.join("tmp")).expect("made");
        Stage { sealed, model: Understudy::start(Script::default()).expect("a model") }
    }

    /// A stage whose model says this; then, to whom it is told "once more", that it is better.
    pub fn saying(turns: impl IntoIterator<Item = Turn>) -> Stage {
        // Prompts without an answer between them come as one: the newer words are looked for first.
        let better = Turn::text("Better.").matching("once more").repeat(Repeat::ALWAYS);
        let script = Script::new(Vec::from_iter(std::iter::once(better).chain(turns)));
        Stage { model: Understudy::start(script).expect("a model"), ..Stage::new() }
    }

    /// Where the client is; the tests' own tool installs it.
    pub fn claude() -> PathBuf {
        let dir = std::env::home_dir().unwrap_or_default().join(PROGRAM);
        assert!(dir.join("claude.exe").exists(), "no Claude Code below {}", dir.display());
        dir.join("claude.exe")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let bin = self.sealed.dir.join("bin");
        std::fs::create_dir_all(&bin).expect("made");
        let _ = std::os::unix::fs::symlink(Stage::claude(), bin.join("claude"));
        let mut command = self.sealed.command(arguments);
        command
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("TERM", "xterm-256color")
            .env("TMPDIR", self.sealed.dir.join("tmp"))
            .env("ANTHROPIC_BASE_URL", self.model.url())
            .env("ANTHROPIC_API_KEY", "test-key")
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("IS_SANDBOX", "1");
        command
    }

    pub fn spawn(&self, name: &str, options: &[&str], prompt: &str) -> Agent {
        let fixed = ["--json", "spawn", name, "--harness", "claude", "--prompt", prompt];
        let output = self.command(&[&fixed, options].concat()).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("an agent")
    }

    pub fn conversation(&self, name: &str) -> String {
        self.sealed.show(name).conversations.first().expect("a conversation").clone()
    }

    /// Main requests that the model got, as JSON text.
    pub fn main_requests(&self) -> Vec<String> {
        let all = self.model.requests();
        let main = all.iter().filter(|record| record.request.kind == Kind::Main);
        main.map(|record| serde_json::to_string(&**record).expect("JSON")).collect()
    }

    pub fn asked(&self, what: &str, accept: impl Fn(&Record) -> bool + Send + Sync) {
        self.model.wait_for(accept, PATIENCE).unwrap_or_else(|late| {
            let shown = self.sealed.run(["logs", "ada", "--terminal"]);
            panic!("{what}: {late}; the terminal: {shown:?}")
        });
    }

    /// Waits until the model was told these words, by anybody.
    pub fn told(&self, words: &str) {
        let is_told =
            |record: &Record| record.request.kind == Kind::Main && record.request.contains(words);
        self.asked(words, is_told);
    }
}

pub fn turns(program: &Value) -> String {
    format!("go UNDERSTUDY: {program}")
}

pub fn bash(command: &str) -> Value {
    json!([{ "name": "Bash", "input": { "command": command, "description": "x" } }])
}

pub fn state(watch: &mut Watch, name: &str, to: &str, reason: &str) {
    watch.wait(&format!("{name} {to}: {reason}"), |seen| {
        let data = &seen.event.data;
        let moved = seen.event.agent.as_deref() == Some(name) && seen.event.kind == "moved";
        (moved && data["to"] == to && data["reason"] == reason).then_some(())
    });
}

pub fn kind(watch: &mut Watch, name: &str, kind: &str, count: usize) {
    let mut left = count;
    watch.wait(&format!("{kind} of {name}"), |seen| {
        if seen.event.agent.as_deref() == Some(name) && seen.event.kind == kind {
            left -= 1;
        }
        (left == 0).then_some(())
    });
}

// covers: H-04, H-05, T-11
#[test]
fn a_turn_is_seen_from_its_prompt_to_its_end_and_the_clock_is_the_vendors() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([
        { "tools": bash("echo hello-42"), "usage": { "input": 400_000, "output": 5 } },
        { "text": "All done.", "usage": { "input": 950_000, "output": 5 } },
    ]);
    stage.spawn("ada", &["--permission-mode", "bypassPermissions", "--trust"], &turns(&program));
    state(&mut watch, "ada", "working", "in-turn");
    state(&mut watch, "ada", "waiting", "idle");
    // The jump from 40 to 95 passes each threshold once, in order.
    kind(&mut watch, "ada", "clock-passed", 3);
    let passed: Vec<Value> = watch
        .seen
        .iter()
        .filter(|seen| seen.event.kind == "clock-passed")
        .map(|seen| seen.event.data["threshold"].clone())
        .collect();
    assert_eq!(passed.len(), 3, "{passed:?}");
    let ada = stage.sealed.show("ada");
    let context = ada.context.expect("measured");
    assert_eq!((context.tokens, context.percent, context.window), (950_000, 95, 1_000_000));
    assert_eq!((context.source.as_str(), context.passed), ("status-line", Some(90)));
    assert!(stage.main_requests()[0].contains("You are the agent ada"), "no briefing");
    // Waiting agents can be prodded; the notice reaches the model with the prompt, once.
    let second = turns(&json!([{ "text": "Noted." }]));
    stage.sealed.ok(["send", "ada", &second]);
    stage.asked("the notice", |record| {
        let text = serde_json::to_string(record).unwrap_or_default();
        record.request.kind == Kind::Main && text.contains("Perennial clock: 90 %")
    });
    kind(&mut watch, "ada", "clock-told", 1);
    let usage = stage.sealed.show("ada").usage.expect("read from the transcript");
    assert!(usage.input >= 1_350_000, "{usage:?}");
}

#[test]
fn killed_in_a_tool_call_the_same_conversation_goes_on_and_the_tool_is_gone() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    // The tool says who it is by a pipe, which is waited for.
    let pipe = stage.sealed.dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    // Killed before the client wrote the call down, it is called again, and has nothing to do then.
    let tool = "sh -c 'test -e done && exit; touch done; echo $$ > pipe; exec sleep 300'";
    let program = json!([{ "tools": bash(tool) }, { "text": "Back again." }]);
    let ada = stage.spawn(
        "ada",
        &["--permission-mode", "bypassPermissions", "--trust"],
        &turns(&program),
    );
    kind(&mut watch, "ada", "conversation-followed", 1);
    let said = std::fs::read_to_string(&pipe).expect("the tool's pid");
    let tool = running(said.trim().parse().expect("a pid"));
    // Killed before the client wrote the prompt down, it would begin anew with it.
    let deadline = Instant::now() + PATIENCE;
    while !stage.sealed.run(["logs", "ada"]).stdout.contains("UNDERSTUDY") {
        assert!(Instant::now() < deadline, "the prompt was never written");
    }
    let conversation = stage.conversation("ada");
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    assert!(!is_alive(tool), "the tool outlived its session");
    // The model sees what was said before.
    stage.asked("the resumed turn", |record| {
        let text = serde_json::to_string(record).unwrap_or_default();
        record.request.kind == Kind::Main
            && text.contains("ended unexpectedly")
            && text.contains("UNDERSTUDY")
    });
    state(&mut watch, "ada", "waiting", "idle");
    assert_eq!(stage.conversation("ada"), conversation);
}

#[test]
fn killed_while_idle_it_is_resumed_without_a_model_call_also_when_the_vendor_lost_its_file() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let ada = stage.spawn("ada", &[], &turns(&json!([{ "text": "Hello." }])));
    state(&mut watch, "ada", "waiting", "idle");
    let conversation = stage.conversation("ada");
    // Figures come after the copy that they were read beside.
    let deadline = Instant::now() + PATIENCE;
    while stage.sealed.show("ada").usage.is_none_or(|usage| usage.output == 0) {
        assert!(Instant::now() < deadline, "the transcript was never read");
    }
    let calls = stage.main_requests().len();
    let projects = stage.sealed.dir.join(".claude/projects");
    let theirs = std::fs::read_dir(projects).expect("projects").flatten();
    let theirs = theirs.map(|dir| dir.path().join(format!("{conversation}.jsonl")));
    theirs.filter(|file| file.exists()).for_each(|file| std::fs::remove_file(file).expect("gone"));
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    watch.wait("resumed", |seen| {
        let is = seen.event.kind == "conversation-followed" && seen.event.data["number"] == 2;
        is.then_some(())
    });
    assert_eq!(stage.conversation("ada"), conversation);
    assert_eq!(stage.main_requests().len(), calls, "a model was called for nothing");
    // A conversation has one writer.
    let adopt = ["--json", "adopt", "bob", "--conversation", &conversation];
    let refused = stage.command(&adopt).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("conversation-taken"), "{refused:?}");
}

#[test]
fn a_permission_dialog_is_seen_and_its_person_called() {
    let pipes = tempfile::tempdir().expect("a directory");
    let pipe = pipes.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let notify = json!(["/bin/sh", "-c", "echo \"$2 $3\" > \"$1\"", "notify", pipe]);
    let stage = Stage::with_config(&format!("notify = {notify}\n"));
    let mut watch = stage.sealed.watch();
    let program = json!([
        { "tools": [{ "name": "Write", "input": { "file_path": "note.txt", "content": "x" } }] },
        { "text": "Written." },
    ]);
    stage.spawn("ada", &["--permission-mode", "manual"], &turns(&program));
    state(&mut watch, "ada", "waiting", "needs-permission");
    assert!(stage.sealed.ls()[0].needs_you);
    let called = std::fs::read_to_string(&pipe).expect("the operator is called");
    assert_eq!(called.trim(), "ada needs-permission");
}

#[test]
fn a_dialog_that_nobody_answered_is_told_after_twenty_seconds() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    // Without --trust the warning before this mode stands in the way.
    stage.spawn("ada", &["--permission-mode", "bypassPermissions"], "hello");
    state(&mut watch, "ada", "waiting", "first-run-dialog");
    assert!(stage.sealed.ls()[0].needs_you);
}

#[test]
fn an_agent_reports_about_itself_by_its_own_tools() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let report = json!([{ "name": "mcp__perennial__report",
        "input": { "phase": "testing", "summary": "counting sheep" } }]);
    let program = json!([{ "tools": report }, { "text": "Said." }]);
    stage.spawn("ada", &["--permission-mode", "manual"], &turns(&program));
    kind(&mut watch, "ada", "phase-reported", 1);
    state(&mut watch, "ada", "waiting", "idle");
    let ada = stage.sealed.show("ada");
    assert_eq!(ada.work_phase.as_deref(), Some("testing"));
    assert_eq!(ada.summary.as_deref(), Some("counting sheep"));
}

//! Real Gemini CLI sessions as agents, against the understudy: no network, no account.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use perennial_api::Agent;
use perennial_api::step::Step;
use rustix::process::Signal;
use serde_json::{Value, json};
use understudy::{Kind, Record, Script, Understudy};

use crate::claude::{kind, state, turns};
use crate::processes::{is_alive, running, signal};
use crate::sealed::{Sealed, pid};

const PROGRAM: &str =
    ".cache/perennial-test-tools/node_modules/@google/gemini-cli/bundle/gemini.js";
const PATIENCE: Duration = Duration::from_secs(60);
const MODEL: &str = "gemini-3.1-pro-preview";
const FREE: [&str; 3] = ["--permission-mode", "yolo", "--trust"];

/// A home with its daemon, a model server, and a Gemini CLI that has seen all its dialogs.
struct Stage {
    sealed: Sealed,
    model: Understudy,
}

impl Stage {
    fn new() -> Stage {
        let sealed = Sealed::new();
        sealed.start_daemon();
        let settings = json!({
            "security": { "auth": { "selectedType": "gemini-api-key" } },
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
            "privacy": { "usageStatisticsEnabled": false },
            "telemetry": { "enabled": false },
        });
        let directory = sealed.dir.join(".gemini");
        for made in [&directory, &sealed.dir.join("tmp"), &sealed.dir.join("work")] {
            std::fs::create_dir_all(made).expect("made");
        }
        std::fs::write(directory.join("settings.json"), settings.to_string()).expect("written");
        Stage { sealed, model: Understudy::start(Script::default()).expect("a model") }
    }

    /// Where the client is; the tests' own tool installs it.
    fn program() -> PathBuf {
        let program = std::env::home_dir().unwrap_or_default().join(PROGRAM);
        assert!(program.exists(), "no Gemini CLI at {}", program.display());
        program
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let bin = self.sealed.dir.join("bin");
        std::fs::create_dir_all(&bin).expect("made");
        let _ = std::os::unix::fs::symlink(Stage::program(), bin.join("gemini"));
        let mut command = self.sealed.command(arguments);
        command
            .current_dir(self.sealed.dir.join("work"))
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("TERM", "xterm-256color")
            .env("TMPDIR", self.sealed.dir.join("tmp"))
            .env("GOOGLE_GEMINI_BASE_URL", self.model.url())
            .env("GEMINI_API_KEY", "test-key");
        command
    }

    fn spawn(&self, name: &str, options: &[&str], program: &Value) -> Agent {
        let prompt = turns(program);
        let fixed = ["--json", "spawn", name, "--harness", "gemini", "--model", MODEL];
        let prompt = ["--prompt", &prompt];
        let output = self.command(&[&fixed, options, &prompt].concat()).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("an agent")
    }

    fn conversation(&self, name: &str) -> String {
        self.sealed.show(name).conversations.first().expect("a conversation").clone()
    }

    /// Main requests that the model got, as JSON text.
    fn main_requests(&self) -> Vec<String> {
        let all = self.model.requests();
        let main = all.iter().filter(|record| record.request.kind == Kind::Main);
        main.map(|record| serde_json::to_string(&**record).expect("JSON")).collect()
    }

    /// Waits until the model was told all of these words in one request.
    fn told(&self, words: &[&str]) {
        let is_told = |record: &Record| {
            let text = serde_json::to_string(record).unwrap_or_default();
            record.request.kind == Kind::Main && words.iter().all(|word| text.contains(word))
        };
        self.model.wait_for(is_told, PATIENCE).unwrap_or_else(|late| {
            let shown = self.sealed.run(["logs", "ada", "--terminal"]);
            panic!("{words:?}: {late}; the terminal: {shown:?}")
        });
    }

    fn chats(&self) -> PathBuf {
        self.sealed.dir.join(".gemini/tmp/work/chats")
    }

    /// What `logs` shows.
    fn steps(&self) -> Vec<Step> {
        let text = self.sealed.ok(["--json", "logs", "ada"]);
        text.lines().map(|line| serde_json::from_str(line).expect("a step a line")).collect()
    }
}

fn shell(command: &str) -> Value {
    json!([{ "name": "run_shell_command", "input": { "command": command, "description": "x" } }])
}

#[test]
fn a_turn_is_seen_with_its_tool_call_its_tokens_and_its_clock_and_a_text_reaches_the_idle_agent() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([
        { "tools": shell("echo hello-42"), "usage": { "input": 10_000, "output": 5 } },
        { "text": "All done.", "usage": { "input": 400_000, "output": 7, "cache_read": 1000 } },
    ]);
    stage.spawn("ada", &FREE, &program);
    state(&mut watch, "ada", "working", "in-turn");
    state(&mut watch, "ada", "waiting", "idle");
    kind(&mut watch, "ada", "clock-passed", 2);
    let ada = stage.sealed.show("ada");
    let context = ada.context.expect("measured");
    assert_eq!((context.tokens, context.window), (401_000, 1_048_576));
    assert_eq!((context.source.as_str(), context.passed), ("model-table", Some(75)));
    let usage = ada.usage.expect("read from the transcript");
    assert_eq!((usage.input, usage.output, usage.cache_read), (410_000, 12, 1000));
    let first = &stage.main_requests()[0];
    assert!(first.contains("You are the agent ada"), "no briefing: {first}");
    let steps = stage.steps();
    let kinds: Vec<&str> = steps.iter().map(|step| step.kind.as_str()).collect();
    assert_eq!(kinds, ["prompt", "tool-call", "tool-result", "text"]);
    // The notice reaches the model with the prompt, once.
    let second = turns(&json!([{ "text": "Noted." }]));
    stage.sealed.ok(["send", "ada", "--wait", &second]);
    stage.told(&["Perennial clock: 75 %"]);
    kind(&mut watch, "ada", "clock-told", 1);
    let shown = stage.sealed.ok(["show", "ada"]);
    assert!(shown.contains("not with gemini: the cost of its tokens"), "{shown}");
    let briefed = stage.main_requests().last().expect("one").matches("You are the agent").count();
    assert_eq!(briefed, 1);
}

#[test]
fn killed_in_a_tool_call_the_same_conversation_goes_on_and_the_tool_is_gone() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    // The tool says who it is by a pipe, which is waited for.
    let pipe = stage.sealed.dir.join("work/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let tool = "test -e done && exit; touch done; echo $$ > pipe; exec sleep 300";
    let program = json!([{ "tools": shell(tool) }, { "text": "Back again." }]);
    let ada = stage.spawn("ada", &FREE, &program);
    kind(&mut watch, "ada", "conversation-followed", 1);
    let said = std::fs::read_to_string(&pipe).expect("the tool's pid");
    let tool = running(said.trim().parse().expect("a pid"));
    let conversation = stage.conversation("ada");
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    assert!(!is_alive(tool), "the tool outlived its session");
    stage.told(&["ended unexpectedly", "UNDERSTUDY"]);
    state(&mut watch, "ada", "waiting", "idle");
    assert_eq!(stage.conversation("ada"), conversation);
    let last = stage.main_requests().pop().expect("a request");
    assert_eq!(
        (last.matches("go UNDERSTUDY").count(), last.matches("ended unexpectedly").count()),
        (1, 1)
    );
    // What a resume in another minute leaves besides its file is put out of the way.
    stage.sealed.until("one file is left", || {
        let files = std::fs::read_dir(stage.chats()).expect("chats").flatten();
        files.filter(|file| file.path().extension().is_some_and(|end| end == "jsonl")).count() == 1
    });
}

#[test]
fn killed_while_idle_it_is_resumed_without_a_model_call_also_when_its_file_is_lost() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let ada = stage.spawn("ada", &FREE, &json!([{ "text": "Hello." }]));
    state(&mut watch, "ada", "waiting", "idle");
    let conversation = stage.conversation("ada");
    // Figures come after the copy that they were read beside.
    stage.sealed.until("the transcript is read", || {
        stage.sealed.show("ada").usage.is_some_and(|usage| usage.output > 0)
    });
    let calls = stage.main_requests().len();
    let files = std::fs::read_dir(stage.chats()).expect("chats").flatten();
    files.for_each(|file| std::fs::remove_file(file.path()).expect("gone"));
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    watch.wait("resumed", |seen| {
        let is = seen.event.kind == "conversation-followed" && seen.event.data["number"] == 2;
        is.then_some(())
    });
    assert_eq!(stage.conversation("ada"), conversation);
    assert_eq!(stage.main_requests().len(), calls, "a model was called for nothing");
    // The text is typed into the resumed session, whose model knows what was said before.
    let next = turns(&json!([{ "text": "Again." }]));
    stage.sealed.ok(["send", "ada", "--wait", &next]);
    stage.told(&["Hello.", "Again."]);
    let adopt = ["--json", "adopt", "bob", "--harness", "gemini", "--conversation", &conversation];
    let refused = stage.command(&adopt).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("conversation-taken"), "{refused:?}");
}

#[test]
fn a_permission_dialog_is_seen_and_nothing_is_typed_into_it_until_the_session_is_stopped() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([{ "tools": shell("touch made") }, { "text": "Made." }]);
    let ada = stage.spawn("ada", &["--permission-mode", "default", "--trust"], &program);
    let client = running(pid(&ada));
    state(&mut watch, "ada", "waiting", "needs-permission");
    assert!(stage.sealed.ls()[0].needs_you);
    stage.sealed.ok(["send", "ada", "not-a-choice"]);
    stage.sealed.until("the text waits", || {
        stage.sealed.ok(["sent", "ada", "-n", "1", "--json"]).contains("dialog")
    });
    stage.sealed.ok(["stop", "ada"]);
    state(&mut watch, "ada", "sleeping", "stopped");
    assert!(!is_alive(client), "the client outlived its session");
    assert!(!stage.sealed.dir.join("work/made").exists(), "the dialog was answered");
}

/// The client tries a refused request once, and drops its prompt.
#[test]
fn a_call_that_fails_is_told_and_the_next_text_is_answered() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    stage.spawn("ada", &FREE, &json!([{ "status": 400 }]));
    state(&mut watch, "ada", "waiting", "service-failed");
    let report = json!([{ "name": "mcp_perennial_report",
        "input": { "phase": "testing", "summary": "counting sheep" } }]);
    let next = turns(&json!([{ "tools": report }, { "text": "Said." }]));
    stage.sealed.ok(["send", "ada", "--wait", &next]);
    kind(&mut watch, "ada", "phase-reported", 1);
    state(&mut watch, "ada", "waiting", "idle");
    assert_eq!(stage.sealed.show("ada").work_phase.as_deref(), Some("testing"));
}

/// The first prompt is answered behind the trust dialog, which no hook and no title tells of; Enter in it
/// would trust the directory and end the client.
#[test]
fn nothing_is_typed_into_the_dialog_of_a_directory_that_is_not_trusted() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let ada = stage.spawn("ada", &["--permission-mode", "default"], &json!([{ "text": "Hello." }]));
    let client = running(pid(&ada));
    state(&mut watch, "ada", "waiting", "idle");
    stage.sealed.ok(["send", "ada", "not-a-choice"]);
    stage.sealed.until("the text waits", || {
        stage.sealed.ok(["sent", "ada", "-n", "1", "--json"]).contains("\"state\":\"waiting\"")
    });
    assert!(is_alive(client), "the dialog was answered");
}

/// What is typed in a turn is only in the client's memory until the turn is over.
#[test]
fn texts_sent_at_once_in_a_tool_call_survive_the_clients_death_each_once_and_in_order() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let tool = "test -e begun && exit; touch begun; sleep 30";
    let ada = stage.spawn("ada", &FREE, &json!([{ "tools": shell(tool) }, { "text": "Slept." }]));
    state(&mut watch, "ada", "working", "in-turn");
    let begun = stage.sealed.dir.join("work/begun");
    stage.sealed.until("it is in the tool call", || begun.exists());
    stage.sealed.ok(["send", "ada", "first-of-two"]);
    stage.sealed.ok(["send", "ada", "second-of-two"]);
    stage.sealed.until("the first one is typed", || {
        stage.sealed.ok(["sent", "ada", "--json"]).contains("\"state\":\"offered\"")
    });
    assert!(signal(running(pid(&ada)), Signal::KILL));
    stage.told(&["first-of-two", "second-of-two"]);
    let last = stage.main_requests().pop().expect("a request");
    let count = |text: &str| last.matches(text).count();
    assert_eq!((count("first-of-two"), count("second-of-two")), (1, 1), "{last}");
    assert!(last.find("first-of-two") < last.find("second-of-two"));
    assert!(!last.contains("first-of-twosecond"));
}

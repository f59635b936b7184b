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
use crate::terminal::Terminal;

const PROGRAM: &str =
    ".cache/perennial-test-tools/node_modules/@google/gemini-cli/bundle/gemini.js";
const PATIENCE: Duration = Duration::from_secs(90);
const MODEL: &str = "gemini-3.1-pro-preview";
pub const FREE: [&str; 3] = ["--permission-mode", "yolo", "--trust"];

/// A home with its daemon, a model server, and a Gemini CLI that has seen all its dialogs.
pub struct Stage {
    pub sealed: Sealed,
    model: Understudy,
}

impl Stage {
    pub fn new() -> Stage {
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
    pub fn program() -> PathBuf {
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

    pub fn spawn(&self, name: &str, options: &[&str], program: &Value) -> Agent {
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

    /// What `logs` shows, without what Perennial told.
    fn steps(&self) -> Vec<Step> {
        let text = self.sealed.ok(["--json", "logs", "ada"]);
        let steps = text.lines().map(|line| serde_json::from_str(line).expect("a step a line"));
        steps.filter(|step: &Step| step.kind != "told").collect()
    }
}

pub fn shell(command: &str) -> Value {
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
    // A limit of the preset: nobody is called for it.
    assert!(!stage.sealed.ls()[0].needs_you, "it is seen by now: remove the limit");
}

/// A limit of the preset: the client leaves prompts out that begin so when it takes a conversation up again.
#[test]
fn a_text_that_begins_with_a_slash_or_a_question_mark_is_refused_and_would_be_forgotten() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let ada = stage.spawn("ada", &FREE, &json!([{ "text": "Hello." }]));
    state(&mut watch, "ada", "waiting", "idle");
    for text in ["/x is a path", "?what is that"] {
        let problem = stage.sealed.run(["send", "ada", text, "--json"]);
        assert_ne!(problem.code, 0, "{text}: {problem:?}");
    }
    let why = stage.sealed.run(["send", "ada", "/quit"]).stderr;
    assert!(why.contains("would run one of the program's own commands"), "{why}");
    for (prompt, why) in [
        ("/help me", "would run one of the program's own commands"),
        ("? what", "the program leaves such prompts out when it resumes the conversation"),
    ] {
        let spawn = ["spawn", "bob", "--harness", "gemini", "--prompt", prompt];
        let refused = stage.command(&spawn).output().expect("it runs");
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && told.contains(why), "{prompt}: {told}");
    }
    // A person pastes it all the same.
    let mut terminal = Terminal::run(stage.command(&["attach", "ada"]));
    terminal.wait("Hello.");
    terminal.type_keys("\x1b[200~?what-is-that\x1b[201~");
    terminal.wait("?what-is-that");
    stage.sealed.until("it is sent", || {
        stage.sealed.ok(["send", "ada", "--key", "Enter"]);
        stage.main_requests().iter().any(|request| request.contains("?what-is-that"))
    });
    terminal.detach();
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    stage.sealed.until("it listens", || stage.sealed.show("ada").reason == "idle");
    stage.sealed.ok(["send", "ada", &turns(&json!([{ "text": "Later." }]))]);
    stage.told(&["Later.", "Hello."]);
    let last = stage.main_requests().pop().expect("a request");
    assert!(!last.contains("?what-is-that"), "it is kept by now: remove the limit");
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

/// The client's file is named after the minute in which a session began it.
#[test]
fn a_conversation_that_a_later_session_begins_in_another_minute_is_read_there() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let fixed = ["--json", "spawn", "ada", "--harness", "gemini", "--model", MODEL];
    let output = stage.command(&[&fixed[..], &FREE].concat()).output().expect("it runs");
    let ada: Agent = serde_json::from_slice(&output.stdout).expect("an agent");
    state(&mut watch, "ada", "waiting", "idle");
    let names = || -> Vec<String> {
        let files = std::fs::read_dir(stage.chats()).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".jsonl")).collect()
    };
    stage.sealed.until("a file is begun", || names().len() == 1);
    let first = names().remove(0);
    let minute = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.expect("later").as_secs() / 60
    };
    let begun = minute();
    // Twice, as a minute is longer than the patience with programs.
    for _ in 0..2 {
        let since = std::time::SystemTime::now();
        stage.sealed.until("the minute is over, or half of one is", || {
            minute() > begun || since.elapsed().is_ok_and(|so_far| so_far.as_secs() > 30)
        });
    }
    assert!(minute() > begun);
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    for text in ["First.", "Second."] {
        stage.sealed.ok(["send", "ada", "--wait", &turns(&json!([{ "text": text }]))]);
    }
    let calls = stage.main_requests().len();
    assert_eq!(calls, 2, "each text is typed once");
    assert!(!names().contains(&first), "{first} was to be put aside");
}

/// The client drops a prompt that was cancelled: nothing is left to resume.
#[test]
fn killed_after_its_first_turn_was_cancelled_it_begins_anew_and_what_was_said_is_still_shown() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let ada = stage.spawn("ada", &FREE, &json!([{ "text": "too late", "delay_ms": 20_000 }]));
    state(&mut watch, "ada", "working", "in-turn");
    stage.told(&["go UNDERSTUDY"]);
    stage.sealed.until("it is cancelled", || {
        stage.sealed.ok(["send", "ada", "--key", "Escape"]);
        stage.steps().iter().any(|step| step.kind == "interrupted")
    });
    state(&mut watch, "ada", "waiting", "idle");
    let conversation = stage.conversation("ada");
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    stage.sealed.ok(["send", "ada", "--wait", &turns(&json!([{ "text": "Anew." }]))]);
    assert_eq!(stage.conversation("ada"), conversation);
    stage.sealed.until("its answer is read", || stage.steps().len() >= 4);
    let kinds: Vec<String> = stage.steps().into_iter().map(|step| step.kind).collect();
    assert_eq!(kinds, ["prompt", "interrupted", "prompt", "text"]);
    let why = stage.sealed.ok(["why", "ada", "--all"]);
    assert!(why.contains("begun anew: the last one was not resumed"), "{why}");
    assert!(!why.contains("exit code 42"), "{why}");
}

/// The client locks nothing: what it was started with is all that there is to see.
#[test]
fn a_conversation_that_a_persons_own_client_has_open_is_not_adopted() {
    let stage = Stage::new();
    let id = "7c7c7c7c-1111-4222-8333-444444444444";
    // A command of a person's, in a terminal.
    let mut command = stage.command(&[]);
    let mut own = Command::new(stage.sealed.dir.join("bin/gemini"));
    own.args(["--session-id", id, "--prompt-interactive=hello there", "--skip-trust"]);
    own.env_clear().current_dir(stage.sealed.dir.join("work"));
    command.env("GEMINI_CLI_NO_RELAUNCH", "true");
    own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let terminal = Terminal::run(own);
    stage.told(&["hello there"]);
    let adopt = ["adopt", "bob", "--harness", "gemini", "--conversation", id];
    let refused = stage.command(&adopt).output().expect("it runs");
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("is open in another program"), "{told}");
    let client = running(terminal.pid());
    assert!(signal(client, Signal::TERM));
    terminal.end();
}

/// A limit of the preset: the dialog about a quota is on the screen only, and looks like work.
#[test]
fn the_dialog_about_a_quota_looks_like_work() {
    let stage = Stage::new();
    let limited = json!([{ "status": 429, "headers": { "retry-after": "3600" } }]);
    stage.spawn("ada", &FREE, &limited);
    stage
        .sealed
        .until("the dialog", || stage.sealed.ok(["screen", "ada"]).contains("Usage limit reached"));
    let ada = stage.sealed.show("ada");
    assert_eq!((ada.state.as_str(), ada.needs_you), ("working", false), "remove the limit");
}

/// A limit of the preset: a session has a copy of its owner's settings, which come into force with the next one.
#[test]
fn settings_that_are_changed_meanwhile_come_into_force_with_the_next_session() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let ada = stage.spawn("ada", &FREE, &json!([{ "text": "Hello." }]));
    state(&mut watch, "ada", "waiting", "idle");
    // Where the client looks for its owner's settings, by its own environment.
    let settings = |pid: u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).expect("its environment");
        let mut variables = environment.split(|byte| *byte == 0);
        let home = variables.find_map(|one| one.strip_prefix(b"GEMINI_CLI_HOME=".as_slice()));
        let home = String::from_utf8(home.expect("a home of its own").to_vec()).expect("a path");
        let path = PathBuf::from(home).join(".gemini/settings.json");
        std::fs::read_to_string(path).expect("its settings")
    };
    let own = stage.sealed.dir.join(".gemini/settings.json");
    let before = std::fs::read_to_string(&own).expect("read");
    std::fs::write(&own, before.replacen('{', r#"{"ui":{"theme":"GitHub"},"#, 1)).expect("written");
    assert!(!settings(pid(&ada)).contains("GitHub"), "remove the limit");
    stage.sealed.ok(["restart", "ada"]);
    watch.running("ada", 2);
    assert!(settings(pid(&stage.sealed.show("ada"))).contains("GitHub"));
}

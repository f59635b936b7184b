//! Real Codex sessions as agents, against the understudy: no network, no account.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use perennial_api::Agent;
use rustix::process::Signal;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use understudy::{Kind, Record, Script, Understudy};

use crate::claude::{kind, state, turns};
use crate::processes::{is_alive, running, signal};
use crate::sealed::{PROGRAM, Sealed, pid};
use crate::watch::Watch;

const PATIENCE: Duration = Duration::from_secs(90);

/// A home with its daemon, a model server, and a Codex that asks nothing at its start.
pub struct Stage {
    pub sealed: Sealed,
    pub model: Understudy,
}

impl Stage {
    pub fn new() -> Stage {
        let sealed = Sealed::new();
        sealed.start_daemon();
        let model = Understudy::start(Script::default()).expect("a model");
        let stage = Stage { sealed, model };
        stage.configure("");
        std::fs::create_dir_all(stage.sealed.dir.join("tmp")).expect("made");
        stage
    }

    /// Writes the owner's configuration, with these lines at its end.
    pub fn configure(&self, more: &str) {
        let url = self.model.url();
        let project = self.sealed.dir.display();
        let config = format!(
            r#"model = "gpt-5.5"
model_provider = "understudy"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.understudy]
name = "understudy"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "UNDERSTUDY_KEY"
request_max_retries = 0
stream_max_retries = 0
[features]
plugins = false
apps = false
[analytics]
enabled = false
[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
[projects."{project}"]
trust_level = "trusted"
{more}
"#
        );
        std::fs::create_dir_all(self.codex_home()).expect("made");
        std::fs::write(self.codex_home().join("config.toml"), config).expect("written");
    }

    pub fn codex_home(&self) -> PathBuf {
        self.sealed.dir.join(".codex")
    }

    /// The program itself, not the script that npm puts before it; the tests' own tool installs it.
    pub fn codex() -> PathBuf {
        let (package, target) = match std::env::consts::ARCH {
            "aarch64" => ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
            _ => ("codex-linux-x64", "x86_64-unknown-linux-musl"),
        };
        let tools = ".cache/perennial-test-tools/node_modules/@openai";
        let below = format!("{tools}/{package}/vendor/{target}/bin/codex");
        let found = std::env::home_dir().unwrap_or_default().join(below);
        assert!(found.exists(), "no Codex at {}", found.display());
        found
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let bin = self.sealed.dir.join("bin");
        std::fs::create_dir_all(&bin).expect("made");
        let _ = std::os::unix::fs::symlink(Stage::codex(), bin.join("codex"));
        let mut command = self.sealed.command(arguments);
        command
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("TERM", "xterm-256color")
            .env("TMPDIR", self.sealed.dir.join("tmp"))
            .env("CODEX_HOME", self.codex_home())
            .env("UNDERSTUDY_KEY", "test-key");
        command
    }

    pub fn spawn(&self, name: &str, options: &[&str], prompt: &str) -> Agent {
        let fixed = ["--json", "spawn", name, "--harness", "codex", "--prompt", prompt];
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

    /// Waits until the model was told these words, by anybody.
    pub fn told(&self, words: &str) {
        let accept =
            |record: &Record| record.request.kind == Kind::Main && record.request.contains(words);
        self.model.wait_for(accept, PATIENCE).unwrap_or_else(|late| {
            let shown = self.sealed.run(["logs", "ada", "--terminal"]);
            panic!("{words}: {late}; the terminal: {shown:?}")
        });
    }

    /// Waits until what the agent has used comes to this.
    fn until_used(&self, name: &str, input: u64, output: u64) {
        self.sealed.until("the usage", || {
            let usage = self.sealed.show(name).usage;
            usage.is_some_and(|usage| (usage.input, usage.output) == (input, output))
        });
    }
}

pub fn exec(command: &str) -> Value {
    json!([{ "name": "exec_command", "input": { "cmd": command, "yield_time_ms": 60_000 } }])
}

/// The vendor's file of a conversation.
fn rollout(stage: &Stage, conversation: &str) -> PathBuf {
    let mut level = vec![stage.codex_home().join("sessions")];
    for _ in 0..4 {
        let entries = level.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten();
        level = entries.flatten().map(|entry| entry.path()).collect();
    }
    let is_of = |path: &PathBuf| path.to_string_lossy().contains(conversation);
    level.into_iter().find(is_of).expect("a rollout file")
}

fn used(watch: &mut Watch, name: &str) {
    kind(watch, name, "conversation-followed", 1);
}

#[test]
fn a_turn_is_seen_from_its_prompt_to_its_end_without_hooks_to_the_token() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([
        { "tools": exec("echo hello-42"), "usage": { "input": 1_000, "output": 5, "cache_read": 99_000 } },
        { "text": "All done.", "usage": { "input": 140_000, "output": 7 } },
    ]);
    stage.spawn("ada", &[], &turns(&program));
    state(&mut watch, "ada", "working", "in-turn");
    used(&mut watch, "ada");
    state(&mut watch, "ada", "waiting", "idle");
    kind(&mut watch, "ada", "clock-passed", 1);
    stage.until_used("ada", 141_000, 12);
    let ada = stage.sealed.show("ada");
    let context = ada.context.expect("measured");
    assert_eq!((context.tokens, context.window), (140_007, 258_400));
    assert_eq!((context.source.as_str(), context.passed), ("transcript", Some(50)));
    let logs = stage.sealed.ok(["logs", "ada"]);
    for words in ["exec_command", "hello-42", "All done."] {
        assert!(logs.contains(words), "{words}: {logs}");
    }
    let shown = stage.sealed.ok(["show", "ada"]);
    assert!(shown.contains("not with codex: notices of the clock"), "{shown}");
    // A text is typed where the line is free, and is known again in the conversation.
    stage.sealed.ok(["send", "ada", &turns(&json!([{ "text": "Noted." }]))]);
    stage.sealed.until("the text is seen", || {
        stage.sealed.ok(["sent", "ada", "-n", "1", "--json"]).contains("\"seen\"")
    });
    state(&mut watch, "ada", "waiting", "idle");
    stage.sealed.until("the model is asked once more", || stage.main_requests().len() == 3);
    // It stops, and its exit is the verb's.
    stage.sealed.ok(["stop", "ada"]);
    assert_eq!(stage.sealed.show("ada").state, "sleeping");
}

#[test]
fn killed_in_a_tool_call_the_same_conversation_goes_on_and_no_prompt_comes_twice() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let pipe = stage.sealed.dir.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let tool = "test -e done && exit; touch done; echo $$ > pipe; exec sleep 300";
    let program = json!([{ "tools": exec(tool) }, { "text": "Back again." }]);
    let ada = stage.spawn("ada", &[], &turns(&program));
    used(&mut watch, "ada");
    let said = std::fs::read_to_string(&pipe).expect("the tool's pid");
    let tool = running(said.trim().parse().expect("a pid"));
    let conversation = stage.conversation("ada");
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    assert!(!is_alive(tool), "the tool outlived its session");
    stage.told("ended unexpectedly");
    state(&mut watch, "ada", "waiting", "idle");
    assert_eq!(stage.conversation("ada"), conversation);
    let last = stage.main_requests().pop().expect("a request");
    assert_eq!(last.matches("UNDERSTUDY").count(), 1, "the prompt came twice: {last}");
}

#[test]
fn killed_while_idle_it_is_resumed_without_a_model_call_also_when_the_vendor_lost_its_file() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let program = json!([{ "text": "Hello.", "usage": { "input": 10, "output": 3 } }]);
    let ada = stage.spawn("ada", &[], &turns(&program));
    used(&mut watch, "ada");
    state(&mut watch, "ada", "waiting", "idle");
    stage.until_used("ada", 10, 3);
    let conversation = stage.conversation("ada");
    let theirs = rollout(&stage, &conversation);
    std::fs::remove_file(&theirs).expect("lost");
    assert!(signal(running(pid(&ada)), Signal::KILL));
    watch.running("ada", 2);
    state(&mut watch, "ada", "waiting", "idle");
    assert!(theirs.is_file(), "our copy is not in its place");
    assert_eq!(stage.main_requests().len(), 1, "tokens were spent");
    stage.sealed.ok(["send", "ada", &turns(&json!([{ "text": "Still here." }]))]);
    stage.told("Still here.");
    let last = stage.main_requests().pop().expect("a request");
    assert!(last.contains("Hello."), "the model has forgotten: {last}");
    assert_eq!(stage.conversation("ada"), conversation);
}

/// Without hooks, the server of our tools tells a session who it is.
#[test]
fn its_tools_are_ours_too_and_bring_the_briefing() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let program = json!([
        { "tools": [{ "name": "mcp__perennial.roster", "input": {} }] },
        { "tools": exec(&format!("echo '{ask}' | {PROGRAM} mcp --briefing")) },
        { "text": "All done." },
    ]);
    stage.spawn("ada", &[], &turns(&program));
    state(&mut watch, "ada", "waiting", "idle");
    let last = stage.main_requests().pop().expect("a request");
    assert!(last.contains("You are the agent ada"), "no briefing: {last}");
    stage.sealed.until("the steps", || stage.sealed.ok(["logs", "ada"]).contains("All done."));
    let logs = stage.sealed.ok(["logs", "ada"]);
    assert!(logs.contains("mcp__perennial__roster") && logs.contains("in-turn"), "{logs}");
}

/// What the program writes into its owner's configuration once they have trusted our hooks in its dialog.
pub fn trusted() -> String {
    let question = Some("request_user_input");
    let hooks = [
        ("SessionStart", "session_start", None, 5),
        ("UserPromptSubmit", "user_prompt_submit", None, 5),
        ("PreToolUse", "pre_tool_use", question, 5),
        ("PermissionRequest", "permission_request", None, 5),
        ("PostToolUse", "post_tool_use", None, 5),
        ("PreCompact", "pre_compact", None, 5),
        ("PostCompact", "post_compact", None, 5),
        ("Stop", "stop", None, 5),
        ("Interrupt", "interrupt", None, 3),
    ];
    let entry = |(event, name, matcher, timeout): (&str, &str, Option<&str>, u32)| {
        let command = format!("'{PROGRAM}' hook {event}");
        let hook =
            json!({ "type": "command", "command": command, "timeout": timeout, "async": false });
        let mut form = json!({ "event_name": name, "hooks": [hook] });
        if let Some(matcher) = matcher {
            form["matcher"] = json!(matcher);
        }
        let digest = Sha256::digest(form.to_string());
        let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "[hooks.state.\"/<session-flags>/config.toml:{name}:0:0\"]\ntrusted_hash = \"sha256:{hash}\"\n"
        )
    };
    hooks.map(entry).concat()
}

#[test]
fn hooks_run_once_their_owner_has_trusted_them_and_carry_briefing_and_notices() {
    let stage = Stage::new();
    stage.configure(&trusted());
    let mut watch = stage.sealed.watch();
    let program = json!([
        { "tools": exec("true"), "usage": { "input": 140_000, "output": 5 } },
        { "text": "All done.", "usage": { "input": 141_000, "output": 5 } },
    ]);
    stage.spawn("ada", &[], &turns(&program));
    kind(&mut watch, "ada", "clock-passed", 1);
    state(&mut watch, "ada", "waiting", "idle");
    stage.sealed.ok(["send", "ada", &turns(&json!([{ "text": "Noted." }]))]);
    stage.told("Perennial clock: 50 %");
    kind(&mut watch, "ada", "clock-told", 1);
    state(&mut watch, "ada", "waiting", "idle");
    let last = stage.main_requests().pop().expect("a request");
    assert_eq!(last.matches("You are the agent ada").count(), 1, "{last}");
    assert_eq!(last.matches("Perennial clock: 50 %").count(), 1, "{last}");
}

#[test]
fn a_dialog_is_seen_and_no_text_is_typed_into_it() {
    let stage = Stage::new();
    let mut watch = stage.sealed.watch();
    let asked = stage.sealed.dir.join("asked");
    let call = json!([{ "name": "exec_command", "input": {
        "cmd": format!("touch {}", asked.display()),
        "sandbox_permissions": "require_escalated", "justification": "x" } }]);
    let program = json!([{ "tools": call }, { "text": "Done." }]);
    stage.spawn("ada", &["--permission-mode", "read-only"], &turns(&program));
    state(&mut watch, "ada", "waiting", "needs-permission");
    stage.sealed.ok(["send", "ada", "and then?"]);
    stage.sealed.until("it waits", || {
        stage.sealed.ok(["sent", "ada", "-n", "1", "--json"]).contains("dialog")
    });
    assert!(!asked.exists(), "the dialog was answered");
}

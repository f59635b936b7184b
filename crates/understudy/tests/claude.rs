//! The real Claude Code against the understudy: a prompt, a tool call, an
//! error in between, and a second process that resumes the conversation; and the two hook replies
//! that we build on, as `docs/design/0010-hook-replies.md` says.
//!
//! `UNDERSTUDY_CLAUDE` names the program, or `cargo xtask test` put it under
//! `~/.cache/perennial-test-tools`. Without it the test fails and says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use understudy::{Answer, End, Kind, MARK, PATIENCE, Part, Role, Script, Turn, Understudy};

const INSTALLED: &str =
    ".cache/perennial-test-tools/node_modules/@anthropic-ai/claude-code/bin/claude.exe";

fn claude() -> PathBuf {
    let named = std::env::var_os("UNDERSTUDY_CLAUDE").map(PathBuf::from);
    let installed = || std::env::home_dir().unwrap_or_default().join(INSTALLED);
    let found = named.unwrap_or_else(installed);
    assert!(found.exists(), "no Claude Code at {}: cargo xtask test installs it", found.display());
    found
}

/// Runs it headless in an environment of its own, and returns what it printed at the end.
fn run(claude: &Path, root: &Path, url: &str, arguments: &[&str]) -> Value {
    for name in ["home", "work", "tmp"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    // A client that retries for good must not hold the tests.
    let output = Command::new("timeout")
        .args(["--kill-after=5", "120"])
        .arg(claude)
        .args(["-p", "--output-format", "json", "--permission-mode", "bypassPermissions"])
        .args(arguments)
        .current_dir(root.join("work"))
        .stdin(Stdio::null())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", root.join("home"))
        .env("TMPDIR", root.join("tmp"))
        .env("LANG", "C.UTF-8")
        .env("ANTHROPIC_BASE_URL", url)
        .env("ANTHROPIC_API_KEY", "test-key")
        .env("DISABLE_TELEMETRY", "1")
        .env("DISABLE_AUTOUPDATER", "1")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        // Lets it skip permissions as root, which is what a container's tests run as.
        .env("IS_SANDBOX", "1")
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&printed).unwrap()
}

#[test]
fn it_answers_calls_a_tool_and_resumes() {
    let claude = claude();
    let root = tempfile::tempdir().unwrap();
    let server = Understudy::start(Script::default()).unwrap();
    let program = r#"[
        {"tools":[{"name":"Bash","input":{"command":"echo 4${EMPTY}2 > file; cat file","description":"x"}}]},
        {"status":529},
        {"text":"There it is.","usage":{"input":5,"cache_read":123456}}]"#;
    let id = "0a0a0a0a-0001-4111-8111-111111111111";
    let prompt = format!("write it {MARK}{program}");
    let result = run(&claude, root.path(), &server.url_of("smoke"), &[&prompt, "--session-id", id]);
    assert_eq!(result["result"], "There it is.");
    assert_eq!(std::fs::read_to_string(root.path().join("work/file")).unwrap().trim(), "42");
    // The tool's result came back to the model, in the session that the client named.
    let seen = server.requests();
    let has_result = |part: &Part| matches!(part, Part::Result { text, .. } if text.contains("42"));
    let last = seen.last().unwrap();
    assert!(last.request.messages.iter().any(|message| message.parts.iter().any(has_result)));
    assert_eq!(last.request.session.as_deref(), Some(id));
    assert_eq!(last.name.as_deref(), Some("smoke"));
    let turns: Vec<usize> = seen
        .iter()
        .filter(|record| record.request.kind == Kind::Main)
        .map(|record| match record.answer {
            Answer::Prompt { turn, .. } => turn,
            Answer::Script { .. } | Answer::Itself | Answer::Fixed => panic!("{record:?}"),
        })
        .collect();
    assert_eq!(turns, [0, 1, 2]);

    // A second process, with a script of the session: the model sees the earlier turns.
    server.script("resumed", [Turn::text("I remember.")]);
    let arguments = ["and now?", "--resume", id];
    let result = run(&claude, root.path(), &server.url_of("resumed"), &arguments);
    assert_eq!((&result["result"], &result["session_id"]), (&"I remember.".into(), &id.into()));
    let resumed = server.wait_for(|record| record.request.contains("and now?"), PATIENCE).unwrap();
    assert!(resumed.request.contains("write it") && resumed.request.contains("There it is."));
    let ended =
        |record: &understudy::Record| record.number == resumed.number && record.end.is_some();
    assert_eq!(server.wait_for(ended, PATIENCE).unwrap().end, Some(End::Whole));
}

/// Replies with a context once, and is quiet afterwards.
fn hook(root: &Path, event: &str, context: &str) -> Value {
    let reply = root.join(event);
    let output = json!({ "hookEventName": event, "additionalContext": context });
    std::fs::write(&reply, json!({ "hookSpecificOutput": output }).to_string()).unwrap();
    let reply = reply.display();
    // The client runs it by a shell; taking the file away first makes it once.
    let command = format!("mv {reply} {reply}.used 2>&- && cat {reply}.used || true");
    json!([{ "hooks": [{ "type": "command", "command": command }] }])
}

#[test]
fn hook_replies_reach_the_model_within_the_turn() {
    let claude = claude();
    let root = tempfile::tempdir().unwrap();
    let server = Understudy::start(Script::default()).unwrap();
    let call = json!({ "command": "echo done", "description": "x" });
    let name = "hooks";
    server.script(
        name,
        [Turn::tool("Bash", call), Turn::text("I am done."), Turn::text("Now I am.")],
    );
    let hooks = json!({ "hooks": {
        "PostToolBatch": hook(root.path(), "PostToolBatch", "mail-for-you"),
        "Stop": hook(root.path(), "Stop", "checkpoint-first"),
    } });
    let settings = root.path().join("settings.json");
    std::fs::write(&settings, hooks.to_string()).unwrap();
    let settings = settings.to_str().unwrap();
    let result = run(&claude, root.path(), &server.url_of(name), &["go", "--settings", settings]);
    assert_eq!(result["result"], "Now I am.");

    let seen = server.requests();
    assert_eq!(seen.len(), 3);
    let heard = |number: usize, words: &str| -> Option<Role> {
        let mut messages = seen[number].request.messages.iter();
        messages.find(|message| message.text().contains(words)).map(|message| message.role)
    };
    assert_eq!(heard(0, "mail-for-you"), None);
    assert_eq!(heard(1, "PostToolBatch hook additional context: mail-for-you"), Some(Role::System));
    assert_eq!(heard(1, "checkpoint-first"), None);
    assert_eq!(heard(2, "Stop hook additional context: checkpoint-first"), Some(Role::User));
}

//! The real Codex against the understudy: a prompt, tool calls, an error in between, a second
//! process that resumes the conversation, and the requests that it makes beside its main loop.
//!
//! `UNDERSTUDY_CODEX` names the program, or `cargo xtask test` put it under
//! `~/.cache/perennial-test-tools`. Without it the test fails and says so.

mod agent_cli;

use std::path::{Path, PathBuf};

use agent_cli::{found, kinds, lines, results, turns};
use serde_json::{Value, json};
use understudy::{Kind, MARK, PATIENCE, Script, Turn, Understudy, Usage};

/// The program itself, not the script that npm puts before it.
fn codex() -> PathBuf {
    let (package, target) = match std::env::consts::ARCH {
        "aarch64" => ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
        _ => ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    };
    found("UNDERSTUDY_CODEX", &format!("@openai/{package}/vendor/{target}/bin/codex"))
}

/// Runs `codex exec` in an environment of its own; `settings` are lines of its configuration.
fn run(root: &Path, url: &str, settings: &str, arguments: &[&str]) -> Vec<Value> {
    let home = root.join("home/.codex");
    std::fs::create_dir_all(&home).unwrap();
    // Features that would look for servers of the vendor are off.
    let config = format!(
        r#"model_provider = "understudy"
check_for_update_on_startup = false
{settings}
[model_providers.understudy]
name = "understudy"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "UNDERSTUDY_KEY"
supports_websockets = true
[features]
plugins = false
apps = false
daemon_auto_start = false
[analytics]
enabled = false
"#
    );
    std::fs::write(home.join("config.toml"), config).unwrap();
    let arguments = [&["exec", "--json", "--skip-git-repo-check"], arguments].concat();
    let own = [("CODEX_HOME", home.to_str().unwrap()), ("UNDERSTUDY_KEY", "test-key")];
    lines(root, &[&codex()], &arguments, &own)
}

const FREE: &str = r#"model = "gpt-5.5"
approval_policy = "never"
sandbox_mode = "danger-full-access""#;

fn last_words(lines: &[Value]) -> &str {
    let items = lines.iter().map(|line| &line["item"]);
    let mut said = items.filter(|item| item["type"] == "agent_message");
    said.next_back().unwrap()["text"].as_str().unwrap()
}

#[test]
fn it_answers_calls_tools_and_resumes() {
    let root = tempfile::tempdir().unwrap();
    let server = Understudy::start(Script::default()).unwrap();
    let patch = "*** Begin Patch\n*** Add File: patched\n+words\n*** End Patch\n";
    let program = json!([
        { "thinking": "Hm.", "text": "First the file.", "tools": [
            { "name": "exec_command", "input": { "cmd": "echo 4${EMPTY}2 > file; cat file" } },
            { "name": "apply_patch", "input": patch },
        ] },
        { "status": 429, "headers": { "retry-after": "1" } },
        { "text": "There it is.",
            "usage": { "input": 5, "output": 9, "cache_read": 123_456, "thinking": 3 } },
    ]);
    let prompt = format!("write it {MARK}{program}");
    let printed = run(root.path(), &server.url_of("smoke"), FREE, &[&prompt]);
    assert_eq!(last_words(&printed), "There it is.");
    let work = root.path().join("work");
    assert_eq!(std::fs::read_to_string(work.join("file")).unwrap().trim(), "42");
    assert_eq!(std::fs::read_to_string(work.join("patched")).unwrap(), "words\n");
    assert_eq!((turns(&server), kinds(&server)), (vec![0, 1, 2], vec![Kind::Main; 3]));
    // Both results came back to the model, in the session that the client names.
    let [first, second] = results(&server).try_into().unwrap();
    assert!(first.contains("42") && second.contains("A patched"), "{first}\n{second}");
    let id = printed[0]["thread_id"].as_str().unwrap();
    let last = server.requests().pop().unwrap();
    assert_eq!(last.request.session.as_deref(), Some(id));
    // To the token: the first turn's 100 and 10, and the last one's.
    let usage = json!({ "input_tokens": 100 + 5 + 123_456, "cached_input_tokens": 123_456,
        "cache_write_input_tokens": 0, "output_tokens": 19, "reasoning_output_tokens": 3 });
    assert_eq!(printed.last().unwrap()["usage"], usage);

    // A second process, with a script of the name: the model sees the earlier turns.
    server.script("resumed", [Turn::text("I remember.")]);
    let arguments = ["resume", id, "and now?"];
    let printed = run(root.path(), &server.url_of("resumed"), FREE, &arguments);
    assert_eq!(last_words(&printed), "I remember.");
    let resumed = server.wait_for(|record| record.request.contains("and now?"), PATIENCE).unwrap();
    assert!(resumed.request.contains("write it") && resumed.request.contains("There it is."));
    assert_eq!(resumed.request.session.as_deref(), Some(id));
}

#[test]
fn a_compaction_takes_no_turn() {
    let root = tempfile::tempdir().unwrap();
    let server = Understudy::start(Script::default()).unwrap();
    let full = Usage { input: 30_000, ..Usage::default() };
    let call = Turn::tool("exec_command", json!({ "cmd": "echo one" })).usage(full);
    server.script("full", [call, Turn::text("After it.")]);
    let settings = format!("{FREE}\nmodel_auto_compact_token_limit = 20000");
    let printed = run(root.path(), &server.url_of("full"), &settings, &["fill it"]);
    assert_eq!(last_words(&printed), "After it.");
    assert_eq!(kinds(&server), [Kind::Main, Kind::Compaction, Kind::Main]);
    assert_eq!(turns(&server), [0, 1]);
    assert!(server.requests()[2].request.contains("The understudy's summary"));
}

#[test]
fn a_review_takes_no_turn_and_can_be_scripted() {
    let root = tempfile::tempdir().unwrap();
    let server = Understudy::start(Script::default()).unwrap();
    let settings = r#"model = "gpt-5.5"
approval_policy = "on-request"
approvals_reviewer = "auto_review"
sandbox_mode = "read-only""#;
    let call = json!({ "cmd": "touch allowed", "sandbox_permissions": "require_escalated",
        "justification": "it has to be there" });
    let turns_of = |call: &Value| [Turn::tool("exec_command", call.clone()), Turn::text("Asked.")];
    server.script("allowed", turns_of(&call));
    run(root.path(), &server.url_of("allowed"), settings, &["touch it"]);
    assert_eq!(kinds(&server), [Kind::Main, Kind::Review, Kind::Main]);
    assert!(root.path().join("work/allowed").exists());

    let denied = json!({ "cmd": "touch denied", "sandbox_permissions": "require_escalated",
        "justification": "it has to be there" });
    let answer = Turn::text(r#"{"outcome":"deny","rationale":"not today"}"#).to(Kind::Review);
    let [first, second] = turns_of(&denied);
    server.script("denied", [answer, first, second]);
    run(root.path(), &server.url_of("denied"), settings, &["touch it"]);
    assert!(results(&server)[0].contains("not today"), "{:?}", results(&server));
    assert!(!root.path().join("work/denied").exists());
}

#[test]
fn code_mode_and_a_subagent() {
    let root = tempfile::tempdir().unwrap();
    let server = Understudy::start(Script::default()).unwrap();
    let code = "const r = await tools.exec_command({cmd: \"echo 4${EMPTY}2\"}); text(r.output);";
    let task = format!(r#"{MARK} [{{"text":"From below."}}]"#);
    let program = json!([
        { "tools": [{ "name": "exec", "input": code }] },
        { "tools": [{ "name": "collaboration.spawn_agent",
            "input": { "task_name": "below", "message": task } }] },
        { "tools": [{ "name": "collaboration.wait_agent", "input": {} }] },
        { "text": "All done." },
    ]);
    let settings = FREE.replace("gpt-5.5", "gpt-6-sol");
    let prompt = format!("compute it {MARK}{program}");
    let printed = run(root.path(), &server.url_of("code"), &settings, &[&prompt]);
    assert_eq!(last_words(&printed), "All done.");
    assert!(results(&server)[0].contains("42"), "{:?}", results(&server));
    // The subagent is of the main loop; it has a program of its own, and not its parent's.
    let seen = server.requests();
    let below = seen.iter().find(|record| record.request.inherited > 0).unwrap();
    let parent = below.request.headers["x-codex-parent-thread-id"].as_str();
    assert_eq!(Some(parent), printed[0]["thread_id"].as_str());
    assert_eq!(kinds(&server), [Kind::Main; 5]);
}

//! The real Gemini CLI against the understudy: a prompt, tool calls, an error in between, a second
//! process that resumes the conversation, and the requests that it makes beside its main loop.
//!
//! `UNDERSTUDY_GEMINI` names the program, or `cargo xtask test` put it under
//! `~/.cache/perennial-test-tools`. Without it the test fails and says so.

mod agent_cli;

use std::path::Path;

use agent_cli::{found, kinds, lines, results, turns};
use serde_json::{Value, json};
use understudy::{Kind, MARK, PATIENCE, Script, Turn, Understudy};

const MODEL: &str = "gemini-3.1-pro-preview";

/// Runs `gemini -p` in an environment of its own.
fn run(root: &Path, url: &str, arguments: &[&str]) -> Vec<Value> {
    let program = found("UNDERSTUDY_GEMINI", "@google/gemini-cli/bundle/gemini.js");
    let home = root.join("home/.gemini");
    std::fs::create_dir_all(&home).unwrap();
    let settings = json!({
        "security": {
            "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false },
        },
        "general": {
            "enableAutoUpdate": false, "enableAutoUpdateNotification": false,
            "sessionRetention": { "enabled": false },
        },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    });
    std::fs::write(home.join("settings.json"), settings.to_string()).unwrap();
    let arguments = [&["--yolo", "--output-format", "stream-json"], arguments].concat();
    let own = [
        ("GEMINI_API_KEY", "test-key"),
        ("GOOGLE_GEMINI_BASE_URL", url),
        // Otherwise it starts itself a second time.
        ("GEMINI_CLI_NO_RELAUNCH", "true"),
    ];
    lines(root, &[Path::new("node"), &program], &arguments, &own)
}

/// What it said after the last tool.
fn last_words(lines: &[Value]) -> String {
    let from = lines.iter().rposition(|line| line["type"] == "tool_result").unwrap_or(0);
    let said = lines[from..].iter().filter(|line| line["role"] == "assistant");
    said.map(|line| line["content"].as_str().unwrap()).collect()
}

#[test]
fn it_answers_calls_tools_and_resumes() {
    let root = tempfile::tempdir().unwrap();
    let server = Understudy::start(Script::default()).unwrap();
    let command = json!({ "command": "echo 4${EMPTY}2 > file; cat file", "description": "x" });
    let program = json!([
        { "thinking": "Hm.", "text": "First the file.", "tools": [
            { "name": "run_shell_command", "input": command },
            { "name": "list_directory", "input": { "dir_path": "." } },
        ] },
        { "status": 429, "headers": { "retry-after": "1" } },
        { "text": "There it is.",
            "usage": { "input": 5, "output": 9, "cache_read": 123_456, "thinking": 3 } },
    ]);
    let id = "0b0b0b0b-0001-4111-8111-111111111111";
    let prompt = format!("write it {MARK}{program}");
    let arguments = ["-p", &prompt, "--session-id", id, "-m", MODEL];
    let printed = run(root.path(), &server.url_of("smoke"), &arguments);
    assert_eq!(last_words(&printed), "There it is.");
    assert_eq!(std::fs::read_to_string(root.path().join("work/file")).unwrap().trim(), "42");
    assert_eq!((turns(&server), kinds(&server)), (vec![0, 1, 2], vec![Kind::Main; 3]));
    // Both results came back to the model; the calls run side by side, so the file may not be listed yet.
    let [first, second] = results(&server).try_into().unwrap();
    assert!(first.contains("42") && second.contains("Directory"), "{first}\n{second}");
    // To the token: the first turn's 100 and 10, and the last one's.
    let stats = &printed.last().unwrap()["stats"];
    let input = 100 + 5 + 123_456;
    assert_eq!((&stats["input_tokens"], &stats["cached"]), (&input.into(), &123_456.into()));
    // The client leaves thinking out of its output, and has it in the total.
    assert_eq!(stats["output_tokens"], 10 + 9 - 3);
    assert_eq!(stats["total_tokens"], input + 10 + 9);

    // A second process, with a script of the name: the model sees the earlier turns. The client sends
    // no id, so that only at the same name the program is known to be over.
    server.script("smoke", [Turn::text("I remember.")]);
    let arguments = ["-p", "and now?", "--resume", id, "-m", MODEL];
    let printed = run(root.path(), &server.url_of("smoke"), &arguments);
    assert_eq!(last_words(&printed), "I remember.");
    let resumed = server.wait_for(|record| record.request.contains("and now?"), PATIENCE).unwrap();
    assert!(resumed.request.contains("write it") && resumed.request.contains("There it is."));
}

#[test]
fn choosing_a_model_and_searching_take_no_turn() {
    let root = tempfile::tempdir().unwrap();
    let server = Understudy::start(Script::default()).unwrap();
    let search = Turn::tool("google_web_search", json!({ "query": "perennials" }));
    let found = Turn::text("They come again.").to(Kind::Probe);
    server.script("search", [found, search, Turn::text("Every year.")]);
    let printed = run(root.path(), &server.url_of("search"), &["-p", "look it up"]);
    assert_eq!(last_words(&printed), "Every year.");
    let kinds = kinds(&server);
    assert_eq!(kinds[..3], [Kind::Routing, Kind::Main, Kind::Probe], "{kinds:?}");
    assert_eq!(turns(&server), [1, 2]);
    assert!(results(&server)[0].contains("They come again."), "{:?}", results(&server));
}

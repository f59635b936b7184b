//! A model that never answers, and a harness that tells no window: what is left are files and the
//! kernel.

use serde_json::json;

use crate::claude::{Stage, state, turns};
use understudy::Kind;

const BUILT_IN: &str = include_str!("../../../perennial-engine/src/harness/presets/claude.toml");

#[test]
fn a_stream_that_is_silent_for_good_is_ended_and_its_conversation_goes_on() {
    let stage = Stage::with_config("silent_after_s = 2\n");
    let mut watch = stage.sealed.watch();
    let program = json!([{ "silent": true }, { "text": "Better." }]);
    stage.spawn("ada", &["--permission-mode", "manual"], &turns(&program));
    state(&mut watch, "ada", "unknown", "silent");
    watch.running("ada", 2);
    stage.asked("the turn again", |record| {
        let text = serde_json::to_string(record).unwrap_or_default();
        record.request.kind == Kind::Main && text.contains("ended unexpectedly")
    });
}

/// A model that thinks for long still sends something; a tool may take as long as it likes.
#[test]
fn one_that_is_slow_is_left_alone() {
    let stage = Stage::with_config("silent_after_s = 1\n");
    let mut watch = stage.sealed.watch();
    let tool = json!([{ "name": "Bash", "input": {
        "command": "python3 -c 'import time; time.sleep(4)'", "description": "x" } }]);
    let slow = "ten words that come one after another, very slowly indeed";
    let program = json!([
        { "tools": tool },
        { "text": slow, "chunk_chars": 6, "chunk_delay_ms": 400 },
    ]);
    stage.spawn("ada", &["--permission-mode", "bypassPermissions", "--trust"], &turns(&program));
    state(&mut watch, "ada", "waiting", "idle");
    assert_eq!(stage.sealed.show("ada").respawn_count, 0);
}

/// The owner's own preset, without our status line: tokens from the transcript, the window from its
/// table.
#[test]
fn without_a_status_line_the_clock_goes_by_the_table_of_models() {
    let stage = Stage::new();
    let own = stage.sealed.home.config.join("harness/claude.toml");
    std::fs::create_dir_all(own.parent().expect("a directory")).expect("made");
    let preset = BUILT_IN
        .replace("window_source = \"status-line\"", "window_source = \"model-table\"")
        .replace("window_tokens = 1000000", "window_tokens = 500000");
    std::fs::write(own, preset).expect("written");
    let mut watch = stage.sealed.watch();
    let program = json!([{ "text": "Read.", "usage": { "input": 300_000, "output": 5 } }]);
    stage.spawn("ada", &["--permission-mode", "manual"], &turns(&program));
    watch.wait("half of the window", |seen| (seen.event.kind == "clock-passed").then_some(()));
    let context = stage.sealed.show("ada").context.expect("measured");
    assert_eq!((context.tokens, context.window), (300_000, 500_000));
    assert_eq!((context.source.as_str(), context.passed), ("model-table", Some(50)));
}

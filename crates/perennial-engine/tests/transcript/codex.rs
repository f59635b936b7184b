//! Rollout files of Codex, recorded with 0.166.0 and given other paths: steps, figures, damage.

use std::path::{Path, PathBuf};

use perennial_core::time::Time;
use perennial_engine::harness::codex::Codex;
use perennial_engine::harness::{Dialect, Preset, conversation};
use perennial_engine::transcript::account::Account;
use perennial_engine::transcript::codex::Reader;
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::line_reader::{ContextUse, LineReader};
use perennial_engine::transcript::page::{self, Place, Source};
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::{Content, ErrorKind, Step, Tokens};
use perennial_engine::transcript::survey::Survey;
use perennial_engine::transcript::tail::Buffer;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::fixture::{Random, vendor_home};

/// Tools, an interruption and two turns that failed.
const TURNS: &str = "2026/11/17/rollout-2026-11-17T07-46-20-01a1e878-9954-7d60-9069-a3efa15dc214";
const COMPACTED: &str =
    "2026/11/17/rollout-2026-11-15T19-37-30-01a1e0b6-fa24-77f0-ad93-445293e21a8d";

fn path(name: &str) -> PathBuf {
    vendor_home().join(format!("sessions/{name}.jsonl"))
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).expect("a sample")
}

fn read(lines: &str) -> (Reader, Vec<Step>) {
    let (mut reader, mut steps) = (Reader::default(), Vec::new());
    lines.lines().for_each(|line| reader.read(line.as_bytes(), &mut |step| steps.push(step)));
    (reader, steps)
}

fn shown(step: &Step) -> String {
    match &step.content {
        Content::Prompt(prompt) => format!("prompt: {}", prompt.text),
        Content::Text(said) => format!("text: {}", said.text),
        Content::Added(added) => format!("added: {}", added.text),
        Content::Thinking => "thinking".to_owned(),
        Content::ToolCall { tool, arguments, .. } => format!("calls {tool}: {}", arguments.text),
        Content::ToolResult { is_error, text, .. } => {
            let last = text.text.lines().last().unwrap_or_default();
            format!("{}: {last}", if *is_error { "failed" } else { "done" })
        }
        Content::Usage(usage) => format!("usage: {} of {}", usage.tokens.output, usage.model),
        Content::Compaction(_) => "compaction".to_owned(),
        Content::Error { kind, .. } => format!("error: {kind:?}"),
        Content::RateLimit { until, .. } => format!("rate limit: {until:?}"),
        Content::LimitReached { until, .. } => format!("limit reached: {until:?}"),
        Content::Interrupted => "interrupted".to_owned(),
        Content::PromptBlocked { .. } | Content::ConversationChanged { .. } => {
            panic!("{:?}", step.content)
        }
    }
}

#[test]
fn a_conversation_is_told_in_steps() {
    let (reader, steps) = read(&text(TURNS));
    let told: Vec<String> = steps.iter().map(shown).collect();
    let expected = [
        "prompt: first prompt",
        "thinking",
        "text: Running.",
        r#"calls exec_command: {"cmd": "echo hi"}"#,
        "usage: 30 of gpt-5.5",
        "done: hi",
        r#"calls apply_patch: "*** Begin Patch\n*** Add File: cx.txt\n+hi\n*** End Patch""#,
        "usage: 20 of gpt-5.5",
        "done: A cx.txt",
        "text: done one",
        "usage: 20 of gpt-5.5",
        "prompt: second prompt",
        r#"calls exec_command: {"cmd": "sleep 5", "yield_time_ms": 9000}"#,
        "usage: 20 of gpt-5.5",
        "done: aborted by user",
        "interrupted",
        "prompt: third prompt",
        "limit reached: None",
        "prompt: fourth prompt",
        "error: Server",
    ];
    assert_eq!(told, expected);
    let notes = reader.notes();
    assert_eq!((notes.lines, notes.unknown, notes.damaged), (52, 0, 0));
    assert_eq!(reader.context(), ContextUse::Measured { tokens: 1_020 });
    assert_eq!(reader.window(), Some(258_400));
    assert_eq!(steps[0].time, Some(Time(1_794_901_581_433_000)));
}

/// Every conversation numbers its lines from 0: what was said after `/new` is no repetition.
#[test]
fn two_conversations_of_an_agent_are_both_told() {
    let dir = tempfile::tempdir().expect("a directory");
    let line = |at: &str, ordinal: u64, text: &str| {
        let payload =
            json!({ "type": "message", "role": "assistant", "content": [{ "text": text }] });
        json!({ "timestamp": at, "ordinal": ordinal, "type": "response_item", "payload": payload })
            .to_string()
            + "\n"
    };
    let sources = ["one", "two"].map(|name| {
        let path = dir.path().join(name);
        let lines = [
            line("2026-11-17T07:00:00.000Z", 0, &format!("first of {name}")),
            line("2026-11-17T07:00:01.000Z", 1, &format!("second of {name}")),
        ];
        std::fs::write(&path, lines.concat()).expect("written");
        Source { path, name: name.to_owned(), is_subagent: false }
    });
    let told = page::read(&Codex, &sources, &Place::default(), |_| true).steps;
    let told: Vec<String> = told.iter().map(|(_, step)| shown(step)).collect();
    let expected = ["first of one", "first of two", "second of one", "second of two"];
    assert_eq!(told, expected.map(|text| format!("text: {text}")));
}

#[test]
fn what_was_cached_is_no_input_and_each_answer_counts_once() {
    let (_, steps) = read(&text(TURNS));
    let usages = steps.iter().filter_map(|step| match &step.content {
        Content::Usage(usage) => Some(usage.tokens),
        _ => None,
    });
    let first = Tokens { input: 1_000, output: 30, cache_read: 10_000, ..Tokens::default() };
    assert_eq!(usages.collect::<Vec<_>>().first(), Some(&first));
    let account = Account::new(Prices::built_in());
    let mut conversation = Conversation::new(&Codex, path(TURNS), account, 0);
    conversation.update(&mut Buffer::default(), |_| {}).expect("read");
    let figures = conversation.account().total();
    // As the vendor sums it up in its last record: 14,000 in, 10,000 of them cached, 90 out.
    assert_eq!((figures.tokens.context(), figures.tokens.output), (14_000, 90));
    assert_eq!((figures.messages, figures.unpriced_messages), (4, 4), "no prices are known");
    // Very many files at once come to the same.
    let preset = Preset::load(Path::new("/proc/none"), "codex").expect("built in");
    let mut survey = Survey::new(Prices::built_in());
    for file in conversation::all(&preset, &vendor_home()) {
        survey.add(&Codex, file.path, &file.conversation);
    }
    assert!(survey.update().is_empty());
    let number = survey.conversation("01a1e878-9954-7d60-9069-a3efa15dc214").expect("its id");
    assert_eq!(survey.account().of_conversation(number), figures);
    let models: Vec<&str> = survey.account().by_model().iter().map(|(name, _)| *name).collect();
    assert_eq!(models, ["gpt-5.5"]);
}

#[test]
fn a_compaction_begins_a_window_and_the_summary_is_no_answer() {
    let text = text(COMPACTED);
    let (reader, steps) = read(&text);
    let told: Vec<String> = steps.iter().map(shown).collect();
    assert!(!told.iter().any(|step| step.contains("CX-SUMMARY")), "{told:?}");
    let end = told.iter().position(|step| step == "compaction").expect("told");
    assert_eq!(told[end + 1..], ["text: after compaction", "usage: 10 of gpt-5.5"]);
    assert_eq!(reader.context(), ContextUse::Measured { tokens: 3_010 });
    let lines: Vec<&str> = text.lines().collect();
    let at = |count: usize| read(&lines[..count].join("\n")).0.context();
    assert_eq!(at(28), ContextUse::Compacted { tokens: None });
    assert_eq!(at(32), ContextUse::Compacted { tokens: Some(6_786) });
}

#[test]
fn a_file_that_is_read_again_tells_nothing_twice() {
    let text = text(TURNS);
    let (mut reader, before) = read(&text);
    reader.restart();
    let mut again = Vec::new();
    text.lines().for_each(|line| reader.read(line.as_bytes(), &mut |step| again.push(step)));
    assert_eq!((before.len(), again), (20, Vec::new()));
    assert_eq!(reader.notes().lines, 52);
}

/// R4: the program is killed behind any line. What it has written of a prompt is sent to the model when the
/// conversation is resumed, and must not be typed again.
#[test]
fn a_prompt_is_told_once_with_its_first_line() {
    let message = |turn: &str, kind: &str| {
        let origin = json!({ "turn_id": turn,
            "content_item_metadata": [{ "provenance": { "type": kind, "hook": false } }] });
        json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "go on" }],
            "internal_chat_message_metadata_passthrough": origin })
    };
    let item = |turn: &str| {
        json!({ "type": "item_completed", "turn_id": turn, "item": {
            "type": "UserMessage", "content": [{ "type": "text", "text": "go on" }] } })
    };
    let lines = [
        ("response_item", message("t1", "harness"), 0),
        ("response_item", message("t1", "user"), 1),
        ("event_msg", item("t1"), 1),
        // Said in the same turn; killed before the second line.
        ("response_item", message("t1", "user"), 2),
        ("response_item", message("t2", "user"), 3),
        ("event_msg", item("t2"), 3),
        // An older version names no turn in the first one.
        ("event_msg", item("t3"), 4),
    ];
    let mut written = String::new();
    for (number, (kind, payload, prompts)) in (0..).zip(&lines) {
        written.push_str(&(line(number, kind, payload) + "\n"));
        let (_, steps) = read(&written);
        let told = steps.iter().filter(|step| matches!(step.content, Content::Prompt(_))).count();
        assert_eq!(told, *prompts, "up to line {number}");
    }
}

fn line(ordinal: u64, kind: &str, payload: &Value) -> String {
    let time = "2026-11-17T08:00:00.000Z";
    json!({ "timestamp": time, "ordinal": ordinal, "type": kind, "payload": payload }).to_string()
}

fn ended(limits: &Value, error: &Value) -> Content {
    let info = json!({ "total_token_usage": {}, "last_token_usage": null });
    let counted = json!({ "type": "token_count", "info": info, "rate_limits": limits });
    let complete =
        json!({ "type": "task_complete", "error": { "message": "m", "codex_error_info": error } });
    let lines = [line(0, "event_msg", &counted), line(1, "event_msg", &complete)];
    let (reader, mut steps) = read(&lines.join("\n"));
    assert_eq!(reader.notes().damaged, 0, "{lines:?}");
    steps.remove(0).content
}

#[test]
fn a_limit_lasts_until_the_latest_of_those_that_are_reached_ends() {
    let limits = json!({
        "primary": { "used_percent": 100.0, "window_minutes": 300, "resets_at": 1_794_910_000 },
        "secondary": { "used_percent": 41.5, "window_minutes": 10080, "resets_at": 1_795_000_000 },
    });
    let told = ended(&limits, &json!("usage_limit_exceeded"));
    let Content::LimitReached { until, .. } = told else { panic!("{told:?}") };
    assert_eq!(until, Some(Time(1_794_910_000_000_000)));
    let none = json!({ "primary": null, "secondary": null });
    for (error, expected) in [
        (json!("context_window_exceeded"), ErrorKind::ContextOverflow),
        (json!("unauthorized"), ErrorKind::Authentication),
        (json!("server_overloaded"), ErrorKind::Overloaded),
        (json!({ "http_connection_failed": { "http_status_code": null } }), ErrorKind::Connection),
        (json!({ "response_stream_disconnected": null }), ErrorKind::Connection),
        (json!({ "a_word_to_come": { "http_status_code": 503 } }), ErrorKind::Server),
        (json!("a_word_to_come"), ErrorKind::Unclassified),
        (json!(7), ErrorKind::Unclassified),
    ] {
        let told = ended(&none, &error);
        let Content::Error { kind, .. } = told else { panic!("{error}: {told:?}") };
        assert_eq!(kind, expected, "{error}");
    }
}

#[test]
fn what_a_hook_added_and_what_the_service_searched_are_told() {
    let added = json!({
        "type": "message", "role": "developer",
        "content": [{ "type": "input_text", "text": "noted" }],
        "internal_chat_message_metadata_passthrough": {
            "content_item_metadata": [{ "provenance": { "type": "harness", "hook": true } }] },
    });
    let search = json!({ "type": "web_search_call", "id": "ws_1", "status": "completed",
        "action": { "type": "search", "query": "q" } });
    let mcp = json!({ "type": "function_call", "name": "ping", "namespace": "mcp__x",
        "arguments": "{}", "call_id": "c1" });
    let failed = json!({ "type": "item_completed", "item": { "type": "McpToolCall", "id": "c1",
        "status": "failed" } });
    let result = json!({ "type": "function_call_output", "call_id": "c1",
        "output": [{ "type": "input_text", "text": "no" }] });
    let lines = [
        line(0, "response_item", &added),
        line(1, "response_item", &search),
        line(2, "response_item", &mcp),
        line(3, "event_msg", &failed),
        line(4, "response_item", &result),
    ];
    let (_, steps) = read(&lines.join("\n"));
    let told: Vec<String> = steps.iter().map(shown).collect();
    let expected = [
        "added: noted",
        r#"calls web_search: {"query":"q","type":"search"}"#,
        "done: ",
        "calls mcp__x__ping: {}",
        "failed: no",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_file_without_a_prompt_is_not_begun() {
    let all = text(TURNS);
    let lines: Vec<&str> = all.lines().collect();
    let begun =
        |count: usize| Codex.is_begun(format!("{}\n", lines[..count].join("\n")).as_bytes());
    assert!(!Codex.is_begun(b""));
    assert!(!begun(1) && !begun(7), "settings only");
    assert!(begun(8) && begun(9) && begun(52));
    // The last line is torn.
    assert!(!Codex.is_begun(lines[..8].join("\n").as_bytes()));
    assert!(Codex.is_begun(b"not ours\n") && Codex.is_begun(b"{}\n"));
    let fork = json!({ "id": "b", "forked_from_id": "a" });
    assert!(Codex.is_begun(format!("{}\n", line(0, "session_meta", &fork)).as_bytes()));
}

#[test]
fn no_line_makes_us_panic_and_damage_is_counted() {
    const PIECES: [&[u8]; 8] =
        [b"\xff", b"\"", b"{", b"[[[[[[", b"null", b"\\ud800", b"18446744073709551616", b"-1"];
    let all = text(TURNS) + &text(COMPACTED);
    let samples: Vec<&str> = all.lines().collect();
    let mut random = Random(0xc0de);
    let (mut damaged, mut read) = (0_u64, 0_u64);
    for _ in 0..100_000 {
        let mut line = samples[random.below(samples.len())].as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(line.len());
            let end = (at + random.below(40)).min(line.len());
            let piece = PIECES[random.below(PIECES.len())].to_vec();
            match random.below(4) {
                0 => line.truncate(at),
                1 => drop(line.drain(at..end)),
                2 => drop(line.splice(at..end, piece)),
                _ => drop(line.splice(at..at, piece)),
            }
        }
        let mut reader = Reader::default();
        reader.read(&line, &mut |step| read += u64::from(step.time.is_some()));
        let is_json = serde_json::from_slice::<IgnoredAny>(&line).is_ok();
        assert!(is_json || reader.notes().damaged == 1, "{}", String::from_utf8_lossy(&line));
        damaged += reader.notes().damaged;
        Codex.is_begun(&[&line[..], b"\n"].concat());
        Codex.usages(&line, &mut |usage, _| assert!(usage.tokens.context() < 1 << 34));
    }
    assert!(damaged > 25_000 && read > 2_000, "{damaged} damaged, {read} read");
}

//! Lines into steps.

use perennial_core::time::Time;
use perennial_engine::transcript::line_reader::LineReader;
use perennial_engine::transcript::step::{
    Compaction, CompactionTrigger, Content, ErrorKind, Excerpt, PROMPT_BYTES, Step, StepId,
};

use serde_json::json;

use crate::fixture::{self, read_lines};

fn shown(step: &Step) -> String {
    let text = |excerpt: &Excerpt| excerpt.text.clone();
    let content = match &step.content {
        Content::Prompt(prompt) => format!("prompt: {}", text(prompt)),
        Content::Text(said) => format!("text: {}", text(said)),
        Content::Added(added) => format!("added: {}", text(added)),
        Content::Thinking => "thinking".to_owned(),
        Content::ToolCall { call, tool, arguments } => {
            format!("{call} calls {tool}: {}", text(arguments))
        }
        Content::ToolResult { call, is_error, text } => {
            format!("{call} {}: {:?}", if *is_error { "failed" } else { "done" }, text.text)
        }
        Content::Usage(usage) => {
            format!("usage: {} of {}", usage.tokens.output, usage.message)
        }
        Content::Compaction(compaction) => format!("compaction: {:?}", compaction.trigger),
        Content::Error { kind, .. } => format!("error: {kind:?}"),
        Content::RateLimit { until, .. } => format!("rate limit: {until:?}"),
        Content::LimitReached { until, .. } => format!("limit reached: {until:?}"),
        Content::PromptBlocked { prompt, words } => {
            format!("blocked: {}: {}", prompt.text, words.text)
        }
        Content::Interrupted => "interrupted".to_owned(),
        Content::ConversationChanged { id } => format!("conversation: {id}"),
    };
    if step.is_subagent { format!("| {content}") } else { content }
}

#[test]
fn a_conversation_is_told_in_steps() {
    let (conversation, steps) = fixture::read(fixture::sample(fixture::MAIN));
    let told: Vec<String> = steps.iter().map(shown).collect();
    let expected = [
        "prompt: look around",
        "thinking",
        "usage: 1 of msg_01",
        "text: I will look.",
        "usage: 1 of msg_01",
        r#"toolu_1 calls Bash: {"command":"ls \"a b\"","description":"list"}"#,
        "usage: 90 of msg_01",
        r#"toolu_1 done: "one\ntwo""#,
        "text: Two files.",
        "usage: 20 of msg_02",
        "prompt: no, the other directory",
        r#"toolu_2 calls Agent: {"prompt":"count"}"#,
        "usage: 30 of msg_03",
        r#"toolu_2 failed: "failed: \nno count""#,
        "prompt: and hurry",
        "text: Sorry.",
        "usage: 11 of msg_04",
        "interrupted",
        "compaction: Automatic",
        "text: Where was I?",
        "usage: 6 of msg_05",
        "| prompt: count",
        "| text: one, two",
        "| usage: 9 of msg_20",
        "| text: deep",
        "| usage: 2 of msg_21",
    ];
    assert_eq!(told, expected);
    let notes = conversation.notes();
    assert_eq!((notes.lines, notes.unknown, notes.damaged), (25, 1, 0), "the torn line waits");
}

#[test]
fn a_step_knows_its_place_and_its_time() {
    let (_, steps) = fixture::read(fixture::sample(fixture::MAIN));
    let second = &steps[1];
    assert_eq!(second.id, Some(StepId::of("00000003-0000-4000-8000-000000000000")));
    assert_eq!(second.parent, Some(StepId::of("00000002-0000-4000-8000-000000000000")));
    assert_eq!(second.time, Some(Time(1_794_736_803_500_000)));
    let compaction = steps.iter().find_map(|step| match &step.content {
        Content::Compaction(compaction) => Some(*compaction),
        _ => None,
    });
    let expected = Compaction {
        trigger: CompactionTrigger::Automatic,
        pre_tokens: Some(167_094),
        post_tokens: Some(2_500),
    };
    assert_eq!(compaction, Some(expected));
}

#[test]
fn failures_are_told_apart() {
    let (conversation, steps) = fixture::read(fixture::sample(fixture::FAILURES));
    let told: Vec<String> = steps.iter().map(shown).collect();
    let expected = [
        "prompt: try",
        "rate limit: Some(Time(1794784923000000))",
        "rate limit: None",
        "rate limit: Some(Time(1794790800000000))",
        "rate limit: Some(Time(1794794400000000))",
        "error: Overloaded",
        "error: Overloaded",
        "error: Authentication",
        "error: ContextOverflow",
        "error: Connection",
        "error: Unclassified",
    ];
    assert_eq!(told, expected);
    let retry = steps.iter().find_map(|step| match &step.content {
        Content::Error { kind: ErrorKind::Overloaded, retry_at, text } => {
            Some((*retry_at, text.text.as_str()))
        }
        _ => None,
    });
    assert_eq!(retry, Some((Some(Time(1_794_784_926_588_500)), "529 overloaded")));
    // No model spoke.
    assert_eq!(conversation.account().total().messages, 0);
    assert!(!conversation.account().total().is_partial());
}

#[test]
fn another_id_in_the_same_file_is_told() {
    let line = |id: &str, uuid: &str| {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","sessionId":"{id}","message":{{"content":"x"}}}}"#
        )
    };
    let lines = [line("a", "1"), line("a", "2"), line("b", "3")];
    let (_, steps) = read_lines(lines.iter().map(String::as_str));
    let told: Vec<String> = steps.iter().map(shown).collect();
    assert_eq!(told, ["prompt: x", "prompt: x", "conversation: b", "prompt: x"]);
}

/// As 2.1.325 writes it, for a hook that ends with 2 and for one that says `block`.
#[test]
fn a_prompt_that_a_hook_blocked_is_told_with_the_hooks_words() {
    let line = |content: &str, reason: &str| {
        let ending = json!({ "kind": "blocked_by_hook", "reason": reason });
        let ending = json!({ "ending": ending, "promptKept": false });
        json!({
            "type": "system", "subtype": "informational", "uuid": content, "content": content,
            "promptSubmitEnding": ending,
        })
        .to_string()
    };
    let told = "UserPromptSubmit operation blocked by hook:\n";
    let lines = [
        line(&format!("{told}[echo no >&2; exit 2]: no\n\n\nOriginal prompt: a\nb"), "no"),
        line(&format!("{told}no\n\nOriginal prompt: a\n\nOriginal prompt: b"), "no"),
        line(
            &format!("{told}x\n\nOriginal prompt: y\n\nOriginal prompt: z"),
            "x\n\nOriginal prompt: y",
        ),
        line("of another form", "no"),
    ];
    let (reader, steps) = read_lines(lines.iter().map(String::as_str));
    let told: Vec<String> = steps.iter().map(shown).collect();
    let expected = [
        "blocked: a\nb: no",
        "blocked: a\n\nOriginal prompt: b: no",
        "blocked: z: x\n\nOriginal prompt: y",
    ];
    assert_eq!(told, expected);
    assert_eq!(reader.notes().damaged, 0);
}

#[test]
fn half_a_character_is_no_damage() {
    let line = r#"{"type":"user","uuid":"1","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"cut \ud83d"}]}}"#;
    let (reader, steps) = read_lines([line]);
    assert_eq!(reader.notes().damaged, 0);
    assert!(shown(&steps[0]).starts_with("t done: \"cut \u{fffd}"));
}

#[test]
fn long_texts_are_cut() {
    let long = "é".repeat(PROMPT_BYTES);
    let line = format!(r#"{{"type":"user","uuid":"1","message":{{"content":"{long}"}}}}"#);
    let (_, steps) = read_lines([line.as_str()]);
    let Content::Prompt(prompt) = &steps[0].content else {
        panic!("it is a prompt");
    };
    assert_eq!((prompt.text.len(), prompt.cut_bytes), (PROMPT_BYTES, PROMPT_BYTES));
}

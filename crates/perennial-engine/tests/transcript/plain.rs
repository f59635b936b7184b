//! Conversations in our own form, as a program of no vendor's writes them.

use perennial_engine::transcript::line_reader::{ContextUse, LineReader};
use perennial_engine::transcript::plain::{Reader, is_begun, usages};
use perennial_engine::transcript::step::{CompactionTrigger, Content, Step};

use crate::fixture::Random;

const WHOLE: &str = r#"
{"kind":"prompt","id":"1","at":"2026-11-17T12:00:00Z","text":"do it"}
{"kind":"added","id":"2","text":"You are the agent ada"}
{"kind":"thinking","id":"3"}
{"kind":"tool-call","id":"4","call":"c1","tool":"shell","arguments":{"command":"ls"}}
{"kind":"tool-result","id":"5","call":"c1","text":"no such file","is_error":true}
{"kind":"usage","id":"6","model":"m","input":1000,"output":5,"cache_read":20,"cache_write":3}
{"kind":"text","id":"7","text":"It is \"done\"."}
{"kind":"compaction","id":"8","trigger":"manual","tokens_before":1023,"tokens_after":40}
{"kind":"rate-limit","id":"9","until":"2026-11-17T13:00:00Z"}
{"kind":"error","id":"10","error":"overloaded","text":"later"}
{"kind":"interrupted","id":"11"}
"#;

fn read(reader: &mut Reader, text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.for_each(|line| reader.read(line.as_bytes(), &mut |step| steps.push(step)));
    steps
}

fn word(content: &Content) -> &'static str {
    match content {
        Content::Prompt(_) => "prompt",
        Content::Added(_) => "added",
        Content::Thinking => "thinking",
        Content::ToolCall { .. } => "tool-call",
        Content::ToolResult { .. } => "tool-result",
        Content::Usage(_) => "usage",
        Content::Text(_) => "text",
        Content::Compaction(_) => "compaction",
        Content::RateLimit { .. } | Content::LimitReached { .. } => "rate-limit",
        Content::Error { .. } => "error",
        Content::Interrupted => "interrupted",
        Content::PromptBlocked { .. } | Content::ConversationChanged { .. } => "not of this form",
    }
}

#[test]
fn each_line_is_a_step_once() {
    let mut reader = Reader::default();
    let steps = read(&mut reader, WHOLE);
    let words: Vec<&str> = steps.iter().map(|step| word(&step.content)).collect();
    let kinds = WHOLE.lines().filter_map(|line| line.split('"').nth(3));
    assert_eq!(words, kinds.collect::<Vec<_>>());
    assert!(steps[0].time.is_some() && steps[1].time.is_none());
    let Content::ToolCall { arguments, .. } = &steps[3].content else { panic!("{steps:?}") };
    assert_eq!(arguments.text, r#"{"command":"ls"}"#);
    let Content::Text(text) = &steps[6].content else { panic!("{steps:?}") };
    assert_eq!(text.text, r#"It is "done"."#);
    let Content::Compaction(compaction) = steps[7].content else { panic!("{steps:?}") };
    assert_eq!((compaction.trigger, compaction.post_tokens), (CompactionTrigger::Manual, Some(40)));
    assert_eq!(reader.context(), ContextUse::Compacted { tokens: Some(40) });
    // PL1: read again from its beginning it says nothing new.
    reader.restart();
    assert_eq!(read(&mut reader, WHOLE), []);
    assert_eq!((reader.notes().lines, reader.notes().damaged), (11, 0));
}

#[test]
fn what_can_not_be_read_is_counted_and_is_no_step() {
    let mut reader = Reader::default();
    let damaged = r#"
{"kind":"text","text":"without an id"}
{"kind":"tool-call","id":"1","tool":"belongs to no call"}
{"kind":"usage","id":"2","input":99999999999999}
{"kind":"text","id":"3","text":"cut o
[]"#;
    assert_eq!(read(&mut reader, damaged), []);
    assert_eq!((reader.notes().damaged, reader.notes().unknown), (5, 0));
    assert_eq!(read(&mut reader, r#"{"kind":"weather","id":"4"}"#), []);
    assert_eq!(reader.notes().unknown, 1);
}

#[test]
fn tokens_of_many_lines_are_those_of_their_steps() {
    let mut found = Vec::new();
    let damaged = usages(WHOLE.trim_start().as_bytes(), &mut |usage, _| found.push(usage.tokens));
    assert_eq!(damaged, 0);
    let steps = read(&mut Reader::default(), WHOLE);
    let told = steps.iter().filter_map(|step| match &step.content {
        Content::Usage(usage) => Some(usage.tokens),
        _ => None,
    });
    assert_eq!(found, told.collect::<Vec<_>>());
    assert_eq!((found[0].input, found[0].context()), (1000, 1023));
    assert_eq!(usages(b"{\"kind\":\"usage\"}\n7\n", &mut |_, _| panic!("none")), 2);
    assert!(!is_begun(b"") && !is_begun(b"{\"kind\"") && is_begun(b"{}\n"));
}

#[test]
fn no_line_makes_us_panic() {
    let lines: Vec<&str> = WHOLE.lines().filter(|line| !line.is_empty()).collect();
    let mut random = Random(11);
    let mut reader = Reader::default();
    for _ in 0..100_000 {
        let mut line = lines[random.below(lines.len())].as_bytes().to_vec();
        let at = random.below(line.len());
        match random.below(4) {
            0 => line.truncate(at),
            1 => line[at] ^= 1 << random.below(8),
            2 => drop(line.splice(at..at, b"[{\"\\ud800".iter().copied())),
            _ => drop(line.drain(at..(at + random.below(20)).min(line.len()))),
        }
        reader.read(&line, &mut |_| ());
    }
    assert!(reader.notes().lines == 100_000 && reader.notes().damaged > 50_000, "{reader:?}");
}

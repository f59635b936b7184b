//! Lines as no CLI would write them: broken, enormous, absurd.

use perennial_engine::transcript::account::Account;
use perennial_engine::transcript::claude::{self, Reader};
use perennial_engine::transcript::line_reader::{ContextUse, LineReader};
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::{Content, EXCERPT_BYTES, ID_BYTES, PROMPT_BYTES, Step};

use crate::fixture::{self, Random, read_lines};

const MUTATIONS: usize = 100_000;

fn sample_lines() -> Vec<Vec<u8>> {
    [fixture::MAIN, fixture::FORK, fixture::FAILURES]
        .iter()
        .map(|id| std::fs::read_to_string(fixture::sample(id)).expect("text"))
        .flat_map(|text| text.lines().map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>())
        .collect()
}

fn account() -> Account {
    Account::new(Prices::built_in())
}

/// The first of these bytes after some place.
fn place(random: &mut Random, line: &[u8], of: &[u8]) -> Option<usize> {
    let start = random.below(line.len());
    line[start..].iter().position(|byte| of.contains(byte)).map(|at| start + at)
}

/// Mostly moderate, so that the test stays short.
fn large(random: &mut Random) -> usize {
    let end = if random.below(200) == 0 { 200_000 } else { 500 };
    random.below(end)
}

/// One line, wrong in one of a dozen ways.
fn mutated(random: &mut Random, lines: &[Vec<u8>]) -> Vec<u8> {
    let mut line = lines[random.below(lines.len())].clone();
    let at = random.below(line.len());
    match random.below(12) {
        0 => line.truncate(at),
        1 => line[at] ^= 1 << random.below(8),
        2 => line.drain(at..(at + random.below(40)).min(line.len())).for_each(drop),
        3 => drop(line.splice(at..at, [0xff, 0xc3, 0x28])),
        4 => {
            // A field twice.
            let fields: [&[u8]; 3] = [b"\"type\":\"user\",", b"\"uuid\":1,", b"\"message\":{},"];
            drop(line.splice(1..1, fields[random.below(3)].iter().copied()));
        }
        5 => {
            // Another type where a value begins.
            if let Some(colon) = place(random, &line, b":") {
                let values: [&[u8]; 5] = [b"[],", b"{},", b"null,", b"true,", b"-1.5e3,"];
                let value = values[random.below(5)];
                drop(line.splice(colon + 1..colon + 1, value.iter().copied()));
            }
        }
        6 => {
            let digits = place(random, &line, b"0123456789");
            let huge = "9".repeat(1 + random.below(400));
            if let Some(digit) = digits {
                drop(line.splice(digit..digit, huge.bytes()));
            }
        }
        7 => {
            let depth = large(random);
            let nested = [b"[".repeat(depth), b"]".repeat(depth)].concat();
            if let Some(colon) = place(random, &line, b":") {
                drop(line.splice(colon + 1..colon + 1, nested));
            }
        }
        8 => {
            let other = &lines[random.below(lines.len())];
            line.splice(at.., other[random.below(other.len())..].iter().copied()).for_each(drop);
        }
        9 => line.splice(at..at, *b"\\ud83d\\u0000\\q").for_each(drop),
        10 => line.splice(at..at, vec![b'x'; large(random)]).for_each(drop),
        _ => line = (0..random.below(300)).map(|_| random.number() as u8).collect(),
    }
    line.retain(|byte| *byte != b'\n');
    line
}

fn bounded(step: &Step) -> bool {
    let texts: &[usize] = &match &step.content {
        Content::Prompt(text) => return text.text.len() <= PROMPT_BYTES,
        Content::Text(text) | Content::Added(text) => [text.text.len(), 0, 0],
        Content::ToolCall { call, tool, arguments } => {
            assert!(call.len() <= ID_BYTES && tool.len() <= ID_BYTES);
            [arguments.text.len(), 0, 0]
        }
        Content::ToolResult { call, text, .. } => {
            assert!(call.len() <= ID_BYTES);
            [text.text.len(), 0, 0]
        }
        Content::Error { text, .. }
        | Content::RateLimit { text, .. }
        | Content::LimitReached { text, .. } => [text.text.len(), 0, 0],
        Content::Usage(usage) => [usage.message.len(), usage.request.len(), usage.model.len()],
        Content::ConversationChanged { id } => [id.len(), 0, 0],
        Content::PromptBlocked { prompt, words } => {
            assert!(prompt.text.len() <= PROMPT_BYTES);
            [words.text.len(), 0, 0]
        }
        Content::Thinking | Content::Compaction(_) | Content::Interrupted => [0, 0, 0],
    };
    texts.iter().all(|length| *length <= EXCERPT_BYTES)
}

/// Neither reader panics, what they hand out is bounded, and the account says that it is partial.
#[test]
fn a_hundred_thousand_mutated_lines() {
    let lines = sample_lines();
    let mut random = Random(3);
    // One reader for many lines and their tree; and one for each, to which every id is new.
    let mut lasting = Reader::default();
    let (mut by_steps_damaged, mut damaged) = (0, 0);
    let (mut by_steps, mut quick) = (account(), account());
    for number in 0..MUTATIONS {
        let mut line = mutated(&mut random, &lines);
        if number % 4 == 0 {
            lasting.read(&line, &mut |step| assert!(bounded(&step)));
        }
        let mut fresh = Reader::default();
        fresh.read(&line, &mut |step| {
            assert!(bounded(&step));
            if let Content::Usage(usage) = &step.content {
                by_steps.count(0, usage, step.time);
            }
        });
        by_steps_damaged += fresh.notes().damaged;
        line.push(b'\n');
        damaged += claude::usages(&line, |usage, time| quick.count(0, &usage, time));
        if number % 1_000 == 0 {
            let _: ContextUse = lasting.context();
        }
    }
    assert_eq!(lasting.notes().lines, MUTATIONS as u64 / 4);
    assert!(by_steps_damaged > MUTATIONS as u64 / 2, "{by_steps_damaged}");
    assert!(damaged > MUTATIONS as u64 / 10, "{damaged}");
    by_steps.damaged(0, by_steps_damaged);
    quick.damaged(0, damaged);
    for account in [by_steps, quick] {
        let total = account.total();
        assert!(total.is_partial() && total.is_cost_partial());
        assert!(total.messages > 8, "some mutations only change a name: {total:?}");
        let sum: u64 = account.by_model().iter().map(|(_, figures)| figures.messages).sum();
        assert_eq!(sum, total.messages);
    }
}

/// Each of these would make a figure wrong, and none of them goes unnoticed by either reader.
#[test]
fn what_takes_tokens_away_is_damage() {
    let whole = r#"{"type":"assistant","uuid":"1","requestId":"r","message":{"id":"m","model":"x","usage":{"input_tokens":1,"output_tokens":2}}}"#;
    let spoilt = [
        whole.replace("usage", "usagf"),
        whole.replace("\"input_tokens\":1,", ""),
        whole.replace(":2}", ":-2}"),
        whole.replace(":2}", ":2.5}"),
        whole.replace(":2}", ":\"2\"}"),
        whole.replace(":2}", ":99999999999}"),
        whole.replace(":2}", ":1e400}"),
        whole.replace("\"id\":\"m\",", ""),
        whole.replace("\"model\":\"x\",", ""),
        whole.replace(":2}", ":2,\"output_tokens\":3}"),
        whole.replace("\"m\"", &format!("{:?}", "m".repeat(ID_BYTES + 1))),
        whole[..whole.len() - 1].to_owned(),
        whole[1..].to_owned(),
        format!("\0\0\0\0{whole}"),
    ];
    let (reader, steps) = read_lines([whole]);
    assert_eq!((reader.notes().damaged, steps.len()), (0, 1));
    for line in &spoilt {
        let (reader, steps) = read_lines([line.as_str()]);
        assert_eq!((reader.notes().damaged, steps.len()), (1, 0), "{line}");
        let damaged = claude::usages(format!("{line}\n").as_bytes(), |_, _| panic!("{line}"));
        assert_eq!(damaged, 1, "{line}");
    }
}

/// Lines of kinds to come may have fields of any type under the names that we know.
#[test]
fn unknown_kinds_are_no_damage() {
    let lines = [
        r#"{"type":"hologram","message":"text","usage":{"x":1}}"#,
        r#"{"type":"hologram","message":{"usage":"much"},"error":[1],"attachment":7}"#,
        r#"{"type":"hologram","uuid":7,"timestamp":{},"isSidechain":"maybe"}"#,
        r#"{"type":"system","subtype":"something_new","error":3,"usage":[]}"#,
    ];
    let (reader, steps) = read_lines(lines);
    assert_eq!((reader.notes().damaged, reader.notes().unknown, steps.len()), (0, 3, 0));
    let whole: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(claude::usages(whole.as_bytes(), |_, _| panic!("none has usage")), 0);
}

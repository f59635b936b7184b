//! Chat files of Gemini CLI: each message once, whatever is written anew.

use std::path::PathBuf;

use perennial_engine::harness::gemini::Gemini;
use perennial_engine::harness::{Dialect, Preset, conversation};
use perennial_engine::transcript::account::Account;
use perennial_engine::transcript::gemini::{Reader, is_begun};
use perennial_engine::transcript::line_reader::{ContextUse, LineReader};
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::{Content, EXCERPT_BYTES, ErrorKind, PROMPT_BYTES, Step};

use crate::fixture::Random;

/// Prompts, tools, hooks, Esc, a compression, a kill in a tool call and a resume.
const WHOLE: &str = include_str!("samples/gemini/session-2026-11-17T07-47-bbbbbbbb.jsonl");
/// What the resume left besides.
const DECOY: &str = include_str!("samples/gemini/session-2026-11-17T07-48-bbbbbbbb.jsonl");
/// A call that failed, a permission that was refused, Esc in a tool.
const TROUBLE: &str = include_str!("samples/gemini/session-2026-11-17T07-50-cccccccc.jsonl");

const MUTATIONS: usize = 100_000;

fn told(reader: &mut Reader, text: &str) -> Vec<String> {
    let mut steps = Vec::new();
    for line in text.lines() {
        reader.read(line.as_bytes(), &mut |step| steps.push(word(&step.content)));
    }
    steps
}

/// A step in one line.
fn word(content: &Content) -> String {
    match content {
        Content::Prompt(text) => format!("prompt {}", text.text),
        Content::Text(text) => format!("text {}", text.text),
        Content::Added(text) => format!("added {}", text.text),
        Content::Thinking => "thinking".to_owned(),
        Content::ToolCall { tool, arguments, .. } => format!("call {tool} {}", arguments.text),
        Content::ToolResult { is_error, text, .. } => {
            let first = text.text.lines().find(|line| !line.starts_with('<')).unwrap_or_default();
            format!("result {is_error} {first}")
        }
        Content::Usage(usage) => format!("usage {} {}", usage.tokens.input, usage.tokens.output),
        Content::Compaction(_) => "compaction".to_owned(),
        Content::Error { kind, .. } => format!("error {kind:?}"),
        Content::RateLimit { .. } | Content::LimitReached { .. } => "limit".to_owned(),
        Content::Interrupted => "interrupted".to_owned(),
        Content::PromptBlocked { .. } | Content::ConversationChanged { .. } => "other".to_owned(),
    }
}

#[test]
fn each_message_is_told_once_over_esc_compression_and_resume() {
    let mut reader = Reader::default();
    let expected = [
        "prompt please go",
        "added BRIEF-77 <x>",
        "thinking",
        "text Running.",
        "usage 1000 20",
        r#"call run_shell_command {"command":"echo hi-42","description":"x"}"#,
        "result false Output: hi-42",
        r#"call run_shell_command {"command":"false","description":"x"}"#,
        "result false Output: (empty)",
        "added CLOCK-88",
        "text All done.",
        "usage 17000 9",
        "prompt second prompt\nwith two lines",
        "text second answer",
        "usage 1000 20",
        "prompt third prompt",
        "text ok",
        "usage 1000 20",
        "prompt fourth prompt",
        "interrupted",
        "compaction",
        "prompt fifth prompt",
        "text long tool",
        "usage 1000 20",
        "prompt go on please",
        "text back again",
        "usage 1000 20",
    ];
    assert_eq!(told(&mut reader, WHOLE), expected);
    assert_eq!(reader.context(), ContextUse::Measured { tokens: 1000 });
    let notes = reader.notes();
    assert_eq!((notes.lines, notes.unknown, notes.damaged), (38, 0, 0));
    // Read again from its beginning it says nothing new.
    reader.restart();
    assert_eq!(told(&mut reader, WHOLE), [""; 0]);
}

#[test]
fn after_a_compression_nothing_is_measured_until_the_next_answer() {
    let mut reader = Reader::default();
    let until = WHOLE.find("fifth prompt").and_then(|at| WHOLE[..at].rfind('\n')).expect("there");
    told(&mut reader, &WHOLE[..until]);
    assert_eq!(reader.context(), ContextUse::Compacted { tokens: None });
}

#[test]
fn failures_and_refusals_are_told() {
    let mut reader = Reader::default();
    let steps = told(&mut reader, TROUBLE);
    let expected = [
        "prompt please go",
        "error Unclassified",
        "prompt do it",
        "text asking",
        "usage 1000 20",
        r#"call run_shell_command {"command":"touch xx","description":"x"}"#,
        "result true [Operation Cancelled] Reason: User denied execution.",
        "interrupted",
        "prompt do slow",
        "text slow",
        "usage 1000 20",
        "interrupted",
        r#"call run_shell_command {"command":"sleep 30","description":"x"}"#,
        "result true [Operation Cancelled] Reason: Operation cancelled by user",
        "prompt hello paste me",
        "text pasted fine",
        "usage 1000 20",
    ];
    assert_eq!(steps, expected);
    let busy = r#"{"id":"e1","type":"error","content":"[API Error: {\"error\":{\"code\":429}}]"}"#;
    let down = r#"{"id":"e2","type":"error","content":"{\"status\":\"UNAVAILABLE\"}"}"#;
    let expected = ["limit".to_owned(), format!("error {:?}", ErrorKind::Overloaded)];
    assert_eq!(told(&mut reader, &format!("{busy}\n{down}")), expected);
}

/// A page begins anywhere, with a reader that knows of nothing before it.
#[test]
fn a_reader_that_begins_in_the_middle_repeats_nothing() {
    let lines: Vec<&str> = WHOLE.lines().collect();
    let all = told(&mut Reader::default(), WHOLE);
    for cut in 1..lines.len() {
        let (before, after) = (lines[..cut].join("\n"), lines[cut..].join("\n"));
        let mut steps = told(&mut Reader::default(), &before);
        steps.extend(told(&mut Reader::default(), &after));
        // What only the whole file tells: that its history was replaced.
        let left_out = |step: &&String| *step != "compaction";
        let (steps, all) = (steps.iter().filter(left_out), all.iter().filter(left_out));
        assert_eq!(steps.collect::<Vec<_>>(), all.collect::<Vec<_>>(), "cut before line {cut}");
    }
}

#[test]
fn tokens_are_counted_once_and_to_the_token() {
    let mut account = Account::new(Prices::built_in());
    let mut damaged = 0;
    for _ in 0..2 {
        damaged += Gemini.usages(WHOLE.as_bytes(), &mut |usage, time| {
            assert!(time.is_some());
            account.count(0, &usage, time);
        });
    }
    let total = account.total();
    assert_eq!((total.tokens.input, total.tokens.output, total.messages), (22_000, 109, 6));
    assert_eq!((damaged, total.unpriced_messages), (0, 6), "no price is invented");
    let line = r#"{"id":"a","type":"gemini","model":"m","content":"","tokens":{"input":16200,"output":8,"cached":15000,"thoughts":4,"tool":10,"total":16222}}"#;
    let mut found = None;
    let whole = format!("{line}\n");
    assert_eq!(Gemini.usages(whole.as_bytes(), &mut |usage, _| found = Some(usage.tokens)), 0);
    let tokens = found.expect("a usage");
    assert_eq!((tokens.input, tokens.cache_read, tokens.output), (1210, 15_000, 12));
}

#[test]
fn a_file_with_the_clients_own_words_only_is_no_conversation() {
    assert!(is_begun(WHOLE.as_bytes()) && is_begun(TROUBLE.as_bytes()));
    assert!(!is_begun(DECOY.as_bytes()) && !is_begun(b""));
    let note = r#"{"id":"i","type":"info","content":"MCP issues detected."}"#;
    assert!(!is_begun(format!("{DECOY}{note}\n").as_bytes()));
    assert!(!is_begun(format!("{DECOY}{{\"id\":\"u\",\"type\":\"user\",\"cont").as_bytes()));
    for unknown in ["{}\n", "{\"type\":\"new\"}\n"] {
        assert!(is_begun(unknown.as_bytes()), "{unknown}");
    }
}

/// Two conversations may have the same eight digits, and a resume leaves a second file.
#[test]
fn a_file_is_found_by_what_its_first_line_says() {
    let home = tempfile::tempdir().expect("a directory");
    let chats = home.path().join(".gemini/tmp/work/chats");
    std::fs::create_dir_all(&chats).expect("made");
    let other = WHOLE.replace("bbbbbbbb-2222", "bbbbbbbb-3333");
    for (name, text) in [
        ("session-2026-11-17T07-46-bbbbbbbb.jsonl", other.as_str()),
        ("session-2026-11-17T07-47-bbbbbbbb.jsonl", WHOLE),
        ("session-2026-11-17T07-48-bbbbbbbb.jsonl", DECOY),
    ] {
        std::fs::write(chats.join(name), text).expect("written");
    }
    let preset = Preset::load(home.path(), "gemini").expect("built in");
    let id = "bbbbbbbb-2222-4222-8222-222222222222".parse().expect("an id");
    let found = conversation::find(&preset, home.path(), &id).expect("there");
    assert_eq!(found, chats.join("session-2026-11-17T07-47-bbbbbbbb.jsonl"));
    let files = conversation::all(&preset, home.path());
    let ours = files.iter().filter(|file| file.conversation == id.to_string());
    assert_eq!((ours.count(), files.len()), (2, 3));
    conversation::put_doubles_aside(&preset, home.path(), &id).expect("put aside");
    assert!(!chats.join("session-2026-11-17T07-48-bbbbbbbb.jsonl").exists());
    assert_eq!(conversation::all(&preset, home.path()).len(), 2);
    // Lost, it is put back where it was; a second file of it is not taken for it.
    let copies = home.path().join("copies");
    let copy: PathBuf = conversation::copy("gemini", &copies, &id);
    std::fs::create_dir_all(copy.parent().expect("below")).expect("made");
    conversation::remember_place(&preset, home.path(), &copies, &id, &found).expect("kept");
    std::fs::rename(&found, &copy).expect("moved");
    let restored = conversation::restore(&preset, home.path(), &copies, "/abs/work", &id);
    assert!(restored.expect("written"));
    assert_eq!(conversation::find(&preset, home.path(), &id), Some(found));
}

fn mutated(random: &mut Random, lines: &[&str]) -> Vec<u8> {
    let mut line = lines[random.below(lines.len())].as_bytes().to_vec();
    let at = random.below(line.len());
    let end = (at + random.below(40)).min(line.len());
    match random.below(7) {
        0 => line.truncate(at),
        1 => line[at] ^= 1 << random.below(8),
        2 => drop(line.drain(at..end)),
        3 => drop(line.splice(at..end, *b"\xff\xc3\\ud83d")),
        4 => drop(line.splice(at..at, b"[".repeat(random.below(500)))),
        5 => drop(line.splice(at..at, b"9".repeat(random.below(400)))),
        _ => drop(line.splice(at..end, *b"null,{},[]")),
    }
    line.retain(|byte| *byte != b'\n');
    line
}

fn is_bounded(step: &Step) -> bool {
    match &step.content {
        Content::Prompt(text) => text.text.len() <= PROMPT_BYTES,
        Content::Text(text) | Content::Added(text) => text.text.len() <= EXCERPT_BYTES,
        Content::ToolResult { text, .. } | Content::ToolCall { arguments: text, .. } => {
            text.text.len() <= EXCERPT_BYTES
        }
        _ => true,
    }
}

#[test]
fn a_hundred_thousand_mutated_lines_panic_nowhere_and_what_is_broken_is_counted() {
    let lines: Vec<&str> = WHOLE.lines().chain(TROUBLE.lines()).collect();
    let mut random = Random(7);
    let mut lasting = Reader::default();
    let (mut quick, mut broken) = (0, 0);
    for _ in 0..MUTATIONS {
        let line = mutated(&mut random, &lines);
        let mut fresh = Reader::default();
        for reader in [&mut lasting, &mut fresh] {
            reader.read(&line, &mut |step| assert!(is_bounded(&step)));
        }
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok();
        broken += u64::from(!is_json);
        assert!(is_json || fresh.notes().damaged == 1, "{}", String::from_utf8_lossy(&line));
        let whole = [&line[..], b"\n"].concat();
        quick += Gemini.usages(&whole, &mut |_, _| {});
        is_begun(&whole);
        Gemini.cut_off_at(&whole);
    }
    assert!(broken > 30_000 && lasting.notes().damaged >= broken && quick > 10_000);
}

/// As the client leaves it when it is killed within a second of a resume, in the minute of its start.
#[test]
fn a_resume_that_was_cut_off_is_found_and_one_that_went_on_is_not() {
    let id = "aaaaaaaa-2222-4333-8444-555555555555";
    let header = format!("{{\"sessionId\":\"{id}\",\"projectHash\":\"x\",\"kind\":\"main\"}}\n");
    let context = r#"{"$set":{"messages":[{"id":"c","type":"user","content":[{"text":"<session_context>\nx"}]}]}}"#;
    let said = r#"{"id":"p","type":"user","content":[{"text":"hello"}]}"#;
    let history =
        r#"{"$set":{"messages":[{"id":"p","type":"user","content":[{"text":"hello"}]}]}}"#;
    let first = format!("{header}{context}\n{said}\n");
    let cut = |more: &str| Gemini.cut_off_at(format!("{first}{more}").as_bytes());
    assert_eq!(cut(""), None);
    assert_eq!(cut(&format!("{header}{context}\n")), Some(first.len()));
    assert_eq!(cut(&format!("{header}{context}\n{header}{context}\n")), Some(first.len()));
    assert_eq!(cut(&format!("{header}{context}\n{history}\n")), None);
    assert_eq!(Gemini.cut_off_at(format!("{header}{context}\n").as_bytes()), None, "never begun");
}

/// A history that is written anew takes the place of what was said; the client's own words and commands are
/// nothing that it resumes.
#[test]
fn only_what_the_client_would_resume_makes_a_conversation() {
    let header = r#"{"sessionId":"aaaaaaaa-2222-4333-8444-555555555555","projectHash":"x"}"#;
    let context = r#"{"$set":{"messages":[{"id":"c","type":"user","content":[{"text":"<session_context>x"}]}]}}"#;
    let user =
        |text: &str| format!(r#"{{"id":"p","type":"user","content":[{{"text":"{text}"}}]}}"#);
    let (hello, rewind) = (user("hello"), r#"{"$rewindTo":"p"}"#);
    let begun = |more: &[&str]| {
        let lines = [&[header, context], more].concat().join("\n");
        is_begun(format!("{lines}\n").as_bytes())
    };
    assert!(begun(&[&hello]));
    assert!(!begun(&[]) && !begun(&[&hello, context]) && !begun(&[&hello, rewind]));
    assert!(
        begun(&[&hello, context, &hello]) && begun(&[&hello, r#"{"$set":{"lastUpdated":"x"}}"#])
    );
    for ignored in ["/help", " ?x", "<hook_context>x</hook_context>", " "] {
        assert!(!begun(&[&user(ignored)]), "{ignored}");
    }
    let answer = |more: &str| format!(r#"{{"id":"a","type":"gemini","content":""{more}}}"#);
    assert!(!begun(&[&answer("")]) && !begun(&[&answer(r#","toolCalls":[],"thoughts":[]"#)]));
    assert!(begun(&[&answer(r#","toolCalls":[{}]"#)]) && begun(&[&answer(r#","thoughts":[{}]"#)]));
    assert!(!begun(&[r#"{"id":"i","type":"info","content":"Request cancelled."}"#]));
    // An image, and forms that nobody knows, are not taken for nothing.
    for doubtful in [
        r#"{"id":"p","type":"user","content":[{"inlineData":{}}]}"#,
        r#"{"id":"x","type":"unheard-of"}"#,
        r#"{"more":1}"#,
        "7",
    ] {
        assert!(begun(&[doubtful]), "{doubtful}");
    }
    // The client passes over what is no JSON.
    assert!(!begun(&["{\"id\":\"p\",\"type\":\"us{\"id\":\"q\"}"]));
    // A resume that was cut off is taken back.
    assert!(begun(&[&hello, header, context]) && !begun(&[&hello, context, header, context]));
}

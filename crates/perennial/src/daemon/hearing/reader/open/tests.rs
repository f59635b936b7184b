//! What is read of the conversations of one agent is counted once, wherever its files are.

use super::*;
use perennial_core::id::AgentId;
use perennial_engine::harness::vendors::DIALECTS;

fn step(content: Content) -> Step {
    Step { id: None, parent: None, time: None, is_subagent: false, content }
}

#[test]
fn what_was_said_is_counted_and_a_subagents_words_are_not() {
    let said = said_after(0, &step(Content::Prompt(Excerpt::of(&"x".repeat(400)))));
    assert_eq!(said, 100);
    let (call, tool) = ("a".to_owned(), "Bash".to_owned());
    let called = Content::ToolCall { call, tool, arguments: Excerpt::of("{}") };
    assert!(said_after(said, &step(called)) > said + 99);
    let aside = Step { is_subagent: true, ..step(Content::Text(Excerpt::of("long enough"))) };
    assert_eq!(said_after(said, &aside), said);
}

fn look(number: SessionNumber, conversation: &str, earlier: &[&str]) -> Look {
    let id = |name: &str| name.parse::<ConversationId>().unwrap();
    Look {
        agent: AgentId(1),
        number,
        process: None,
        harness: "claude".to_owned(),
        conversation: id(conversation),
        is_in_turn: false,
        compaction_announced: None,
        role: None,
        began_at: None,
        earlier: earlier.iter().map(|name| id(name)).collect(),
    }
}

fn answer(message: &str, uuid: u32) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{uuid}","timestamp":"2026-11-16T08:00:0{uuid}.000Z","message":{{"id":"{message}","model":"claude-opus-5-5","content":[],"usage":{{"input_tokens":10,"output_tokens":1}}}}}}"#
    ) + "\n"
}

/// Names of files may hold the time at which a session began them.
#[test]
fn a_file_that_is_begun_anew_in_another_place_is_read_there() {
    let dir = tempfile::tempdir().unwrap();
    let files = ["first", "second"].map(|name| dir.path().join(name));
    let find = |_: &ConversationId| {
        let path = files.iter().find(|file| file.exists())?.clone();
        Some(TranscriptFile { dialect: DIALECTS[0], path })
    };
    let mut buffer = Buffer::default();
    for next_number in [SessionNumber::FIRST, SessionNumber(2)] {
        std::fs::write(&files[0], answer("m1", 1)).unwrap();
        let mut open = Open::new(look(SessionNumber::FIRST, "a", &[]), &RuleBook::default());
        open.update(&mut buffer, find);
        assert_eq!(open.path(), Some(&*files[0]));
        std::fs::remove_file(&files[0]).unwrap();
        open.follow(look(next_number, "a", &[]), &RuleBook::default(), Moment::ZERO);
        // Nobody has begun the new one yet.
        open.update(&mut buffer, find);
        std::fs::write(&files[1], answer("m2", 2)).unwrap();
        let facts = open.update(&mut buffer, find);
        let seen: Vec<&Seen> = facts.iter().map(|fact| &fact.seen).collect();
        assert_eq!(seen, [&Seen::Answered, &Seen::CaughtUp], "session {next_number}");
        assert_eq!(open.path(), Some(&*files[1]));
        assert_eq!(open.figures().map(|figures| figures.tokens.input), Some(20));
        std::fs::remove_file(&files[1]).unwrap();
    }
    // The former one may still be there.
    std::fs::write(&files[1], answer("m2", 2)).unwrap();
    let mut open = Open::new(look(SessionNumber::FIRST, "a", &[]), &RuleBook::default());
    open.update(&mut buffer, find);
    std::fs::write(&files[0], answer("m3", 3)).unwrap();
    open.follow(look(SessionNumber(2), "a", &[]), &RuleBook::default(), Moment::ZERO);
    open.update(&mut buffer, find);
    assert_eq!(open.path(), Some(&*files[0]));
}

/// C11: /clear begins another conversation, and a fork repeats what it was forked from.
#[test]
fn what_was_used_is_summed_over_all_conversations_of_an_agent() {
    let dir = tempfile::tempdir().unwrap();
    let id = |name: &str| name.parse::<ConversationId>().unwrap();
    let write = |name: &str, text: String| {
        std::fs::write(dir.path().join(format!("{name}.jsonl")), text).unwrap();
    };
    let find = |id: &ConversationId| {
        let path = dir.path().join(format!("{id}.jsonl"));
        path.exists().then_some(TranscriptFile { dialect: DIALECTS[0], path })
    };
    let look = |conversation, earlier: &[&str]| look(SessionNumber::FIRST, conversation, earlier);
    write("a", answer("m1", 1) + &answer("m2", 2));
    let mut buffer = Buffer::default();
    let mut open = Open::new(look("a", &[]), &RuleBook::default());
    let facts = open.update(&mut buffer, find);
    let seen: Vec<&Seen> = facts.iter().map(|fact| &fact.seen).collect();
    assert_eq!(seen, [&Seen::Answered, &Seen::Answered, &Seen::CaughtUp]);
    assert!(facts[0].is_old && !facts[2].is_old);
    let input = |open: &Open| open.figures().map(|figures| figures.tokens.input);
    assert_eq!(input(&open), Some(20));
    // A fork of it, with an answer of its own.
    write("b", answer("m1", 1) + &answer("m2", 2) + &answer("m3", 3));
    open.follow(look("b", &["a"]), &RuleBook::default(), Moment::ZERO);
    open.update(&mut buffer, find);
    assert_eq!(input(&open), Some(30));
    // What is written late to the one that was left is read and counted too.
    write("a", answer("m1", 1) + &answer("m2", 2) + &answer("m4", 4));
    let facts = open.update(&mut buffer, find);
    let late = |fact: &&Fact| fact.conversation == Some(id("a"));
    let late: Vec<&Fact> = facts.iter().filter(late).collect();
    assert!(matches!(late[..], [fact] if fact.seen == Seen::Answered && !fact.is_old));
    assert_eq!(input(&open), Some(40));
    open.let_go_of_left(false, Moment::ZERO);
    assert!(open.left().is_none());
    write("a", answer("m1", 1) + &answer("m2", 2));
    // The next daemon reads all of them.
    let mut again = Open::new(look("b", &["a"]), &RuleBook::default());
    again.update(&mut buffer, find);
    assert_eq!(input(&again), Some(30));
    // Back to the first: nothing counts twice.
    again.follow(look("a", &["b"]), &RuleBook::default(), Moment::ZERO);
    again.update(&mut buffer, find);
    assert_eq!(input(&again), Some(30));
}

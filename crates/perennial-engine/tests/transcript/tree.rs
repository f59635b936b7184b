//! Branches, and the context of the one that goes on.

use perennial_engine::transcript::line_reader::{ContextUse, LineReader};
use perennial_engine::transcript::step::{Content, StepId};

use crate::fixture::{self, read_lines};

fn user(id: &str, parent: &str) -> String {
    format!(r#"{{"type":"user","uuid":"{id}","parentUuid":{parent},"message":{{"content":"x"}}}}"#)
}

fn answer(id: &str, parent: &str, input: u64, also: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{id}","parentUuid":{parent},{also}"message":{{"id":"m{id}","model":"m","usage":{{"input_tokens":{input},"output_tokens":1,"cache_read_input_tokens":10}}}}}}"#
    )
}

/// The context after each of these lines.
fn contexts(lines: &[String]) -> Vec<ContextUse> {
    let upto = |end: usize| read_lines(lines[..end].iter().map(String::as_str)).0.context();
    (1..=lines.len()).map(upto).collect()
}

fn measured(tokens: u64) -> ContextUse {
    ContextUse::Measured { tokens }
}

#[test]
fn going_back_forgets_what_came_after() {
    let lines = [
        user("1", "null"),
        answer("2", r#""1""#, 100, ""),
        user("3", r#""2""#),
        answer("4", r#""3""#, 500, ""),
        // Back to the first answer, without a word of it in the file.
        user("5", r#""2""#),
        answer("6", r#""5""#, 200, ""),
    ];
    let expected = [
        ContextUse::Unknown,
        measured(110),
        measured(110),
        measured(510),
        measured(110),
        measured(210),
    ];
    assert_eq!(contexts(&lines), expected);
    let (reader, _) = read_lines(lines.iter().map(String::as_str));
    let branch: Vec<StepId> = reader.branch().collect();
    assert_eq!(branch, ["6", "5", "2", "1"].map(StepId::of));
}

#[test]
fn a_compaction_begins_a_new_window() {
    let boundary = |tokens: &str| {
        format!(
            r#"{{"type":"system","subtype":"compact_boundary","uuid":"3","parentUuid":null,"logicalParentUuid":"2","compactMetadata":{{"trigger":"manual"{tokens}}}}}"#
        )
    };
    let lines = [
        user("1", "null"),
        answer("2", r#""1""#, 900, ""),
        boundary(r#","postTokens":70"#),
        user("4", r#""3""#),
        answer("5", r#""4""#, 80, ""),
    ];
    let compacted = ContextUse::Compacted { tokens: Some(70) };
    let expected = [ContextUse::Unknown, measured(910), compacted, compacted, measured(90)];
    assert_eq!(contexts(&lines), expected);
    let unstated = [lines[0].clone(), boundary("")];
    assert_eq!(contexts(&unstated)[1], ContextUse::Compacted { tokens: None });
    let (_, steps) = read_lines(lines.iter().chain(&lines).map(String::as_str));
    let compactions = steps.iter().filter(|step| matches!(step.content, Content::Compaction(_)));
    assert_eq!(compactions.count(), 1, "read twice, told once");
}

#[test]
fn sidechains_and_the_clis_own_words_have_no_context() {
    let lines = [
        answer("1", "null", 100, ""),
        answer("2", r#""1""#, 900, r#""isSidechain":true,"#),
        answer("3", r#""1""#, 0, "").replace(r#""model":"m""#, r#""model":"<synthetic>""#),
        r#"{"type":"progress","uuid":"4","parentUuid":"2"}"#.to_owned(),
        user("5", r#""4""#).replace("user", "attachment"),
    ];
    let (reader, _) = read_lines(lines[..4].iter().map(String::as_str));
    assert_eq!(reader.context(), measured(110));
    // What hangs off progress is still of its branch.
    let (reader, _) = read_lines(lines.iter().map(String::as_str));
    assert_eq!(reader.context(), measured(910));
}

#[test]
fn a_circle_of_parents_ends() {
    let lines = [user("1", r#""2""#), user("2", r#""1""#), user("3", r#""3""#)];
    let (reader, _) = read_lines(lines.iter().map(String::as_str));
    assert_eq!(reader.context(), ContextUse::Unknown);
    assert_eq!(reader.branch().count(), 3, "no further than there are lines");
}

#[test]
fn the_samples_context_is_that_after_its_compaction() {
    let (conversation, _) = fixture::read(fixture::sample(fixture::MAIN));
    assert_eq!(conversation.context(), measured(2_601));
}

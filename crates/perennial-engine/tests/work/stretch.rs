//! Stretches of real work that were labelled by hand, and what is concluded from them. Shared by a test and a bench.

use std::sync::Arc;

use perennial_core::time::Time;
use perennial_core::work::WorkPhase;
use perennial_engine::transcript::step::{Content, Excerpt, Step};
use perennial_engine::work::WorkReader;

/// Those that the rules were written with …
const KNOWN: &str = include_str!("stretches.txt");
/// … and those that they were not.
const HELD_OUT: &str = include_str!("held_out.txt");
/// … and those that were drawn and labelled before the rules were changed after that.
const DRAWN_LATER: &str = include_str!("drawn_later.txt");
/// … and those that were drawn when they had been changed.
const DRAWN_LAST: &str = include_str!("drawn_last.txt");

/// One stretch: where the work stood before it, where it stands at its end, and where it is taken to stand.
#[derive(Debug)]
pub struct Stretch {
    pub name: String,
    pub labelled: WorkPhase,
    pub found: WorkPhase,
}

/// Those that the rules were written with.
pub fn known() -> Vec<Stretch> {
    KNOWN.split("\n= ").skip(1).map(read).collect()
}

/// Those that nobody looked at while the rules were written. Nothing is tuned to them.
pub fn held_out() -> Vec<Stretch> {
    HELD_OUT.split("\n= ").skip(1).map(read).collect()
}

/// Those that were drawn when the kinds of what is missed of the others were known. Nothing is tuned to them.
pub fn drawn_later() -> Vec<Stretch> {
    DRAWN_LATER.split("\n= ").skip(1).map(read).collect()
}

/// Those that nobody had seen when the rules were changed. Nothing is tuned to them.
pub fn drawn_last() -> Vec<Stretch> {
    DRAWN_LAST.split("\n= ").skip(1).map(read).collect()
}

/// Those that were found to be of another phase, one on each line.
pub fn wrong(stretches: &[Stretch]) -> String {
    let wrong = stretches.iter().filter(|it| it.labelled != it.found);
    wrong
        .map(|it| format!("{}: {} for {}\n", it.name, it.found.word(), it.labelled.word()))
        .collect()
}

/// How many stretches of a label (rows) were found to be of each phase (columns).
pub fn table(stretches: &[Stretch]) -> String {
    let mut text = format!("{:<16}", "labelled");
    WorkPhase::ALL.iter().for_each(|phase| text.push_str(&format!("{:>15}", phase.word())));
    for row in WorkPhase::ALL {
        text.push_str(&format!("\n{:<16}", row.word()));
        for column in WorkPhase::ALL {
            let is_it = |it: &&Stretch| it.labelled == row && it.found == column;
            text.push_str(&format!("{:>15}", stretches.iter().filter(is_it).count()));
        }
    }
    text
}

pub fn right(stretches: &[Stretch]) -> usize {
    stretches.iter().filter(|it| it.labelled == it.found).count()
}

fn read(block: &str) -> Stretch {
    let (head, lines) = block.split_once('\n').expect("a head and steps");
    let words: Vec<&str> = head.split_whitespace().collect();
    let [number, source, before, "->", after] = words[..] else { panic!("a head: {head}") };
    let phase = |word: &str| {
        WorkPhase::ALL.into_iter().find(|phase| phase.word() == word).expect("a phase")
    };
    let (mut found, labelled) = (phase(before), phase(after));
    let mut has_edited = found > WorkPhase::Planning;
    let mut reader = WorkReader::new(Arc::default(), None);
    // Work that was complete goes on with something new, which is told or found in a list.
    let anew = if found == WorkPhase::Completion { "prompt go on\n" } else { "" };
    for step in steps(&format!("{anew}{lines}")) {
        for shown in reader.take(&step) {
            found = shown.indicator.leads_from(found, has_edited).unwrap_or(found);
            has_edited |= found == WorkPhase::Implementation;
        }
    }
    Stretch { name: format!("{number} {source}"), labelled, found }
}

/// The steps that the lines stand for; a call without an answer was answered with nothing.
fn steps(lines: &str) -> Vec<Step> {
    let (mut steps, mut open) = (Vec::new(), None);
    for (at, line) in lines.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = rest.replace('⏎', "\n");
        let mut add = |content| {
            let (time, is_subagent) = (Some(Time(at as u64 + 1)), false);
            steps.push(Step { id: None, parent: None, time, is_subagent, content });
        };
        let answer = |call: String, is_error, text: &str| Content::ToolResult {
            call,
            is_error,
            text: Excerpt::of(text),
        };
        if !matches!(word, ">" | "!")
            && let Some(call) = open.take()
        {
            add(answer(call, false, ""));
        }
        match word {
            "say" => add(Content::Text(Excerpt::of(&rest))),
            "prompt" => add(Content::Prompt(Excerpt::of(&rest))),
            ">" | "!" => {
                let call = open.take().expect("a call before its answer");
                add(answer(call, word == "!", &rest));
            }
            tool => {
                let name = match tool {
                    "Bash" => "command",
                    "Task" => "subagent_type",
                    "Glob" | "Grep" => "pattern",
                    _ => "file_path",
                };
                let arguments = Excerpt::of(&serde_json::json!({ name: rest }).to_string());
                let call = at.to_string();
                open = Some(call.clone());
                add(Content::ToolCall { call, tool: tool.to_owned(), arguments });
            }
        }
    }
    if let Some(call) = open {
        let content = Content::ToolResult { call, is_error: false, text: Excerpt::default() };
        let time = Some(Time(u64::MAX / 2));
        steps.push(Step { id: None, parent: None, time, is_subagent: false, content });
    }
    steps
}

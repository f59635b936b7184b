//! Composes a checkpoint from what is known of an agent, without asking anybody.
//!
//! Pure. The sentences are Perennial's; paths, commands, tests and words of others are quoted and cut (CK3, CK5). It
//! claims nothing that was not found.

use std::fmt::Write;

use super::{
    Checkpoint, FORM, Position, SUMMARY_LINE_BYTES_MAX, SaidDraft, TaskMark, WORDS_BYTES_MAX,
};
use crate::agent::Agent;
use crate::fleet::Fleet;
use crate::id::SessionNumber;
use crate::text::{is_hidden, quoted};
use crate::time::Time;
use crate::work::{
    FileChange, Findings, GitFindings, LINE_BYTES_MAX, LastCall, PATHS_MAX, PhaseSpan, TestOutcome,
    TestRun, WorkPhase,
};

/// At most this many files are named in the instructions; the others are counted.
const FILES_NAMED: usize = 8;
/// As much of a path or command as a sentence quotes.
const QUOTED_BYTES: usize = 120;
/// As much of somebody's words.
const WORDS_QUOTED_BYTES: usize = 300;
/// The longest path that is kept.
const PATH_BYTES_MAX: usize = 300;
/// At most this many phases are kept, the newest ones.
const PHASES_MAX: usize = 50;

/// What a checkpoint is composed from besides the record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Material {
    /// The session that it is about, if that is not the newest one.
    pub session: Option<SessionNumber>,
    /// Its last checkpoint: what it had said by then, and what was found of earlier sessions.
    pub last: Option<Box<Checkpoint>>,
    /// What is said now.
    pub said: SaidDraft,
    pub found: Findings,
    pub git: Option<GitFindings>,
    pub position: Option<Position>,
    pub snapshot: Option<u32>,
}

/// Where the work of an agent stands now.
pub fn compose(agent: &Agent, fleet: &Fleet, material: Material, now: Time) -> Checkpoint {
    let Material { session, last, said: draft, found, git, position, snapshot } = material;
    let newest = agent.session.as_ref().map_or(SessionNumber::FIRST, |session| session.number);
    let session = session.unwrap_or(newest);
    let known = last.as_ref().filter(|last| is_still_known(last, session, position.as_ref()));
    let found = known.into_iter().fold(found, |found, last| found.with_earlier(&last.found));
    let kept = last.map(|last| last.said).unwrap_or_default();
    let (phase, phases) = phases(agent, draft.phase, now);
    let mut said = kept.with(&draft, now);
    // What it reports in between counts too.
    said.summary = draft.summary.or_else(|| agent.summary.clone()).or(said.summary);
    said.summary = said.summary.map(|summary| cut(&summary, WORDS_BYTES_MAX));
    let mut content = Checkpoint {
        form: FORM,
        session,
        at: now,
        phase,
        phases,
        said,
        note: draft.note,
        found: bounded(found),
        git: git.map(bounded_git),
        situation: agent.situations.first().map(ToString::to_string),
        task: task(agent, fleet),
        conversation: position,
        snapshot,
        resumption: String::new(),
    };
    content.resumption = resumption(&content);
    content
}

/// Whether what the last checkpoint found is known beside what is found now. What is found of one conversation only grows,
/// so that the rest is of earlier sessions; what a person had the session forget does not come back.
fn is_still_known(last: &Checkpoint, session: SessionNumber, now: Option<&Position>) -> bool {
    let is_same = |then: &Position| now.is_none_or(|now| now.conversation == then.conversation);
    let is_forgotten = || last.conversation.as_ref().is_some_and(|then| !is_same(then));
    last.session < session || (last.session == session && !is_forgotten())
}

/// The phase that the work is in, and those before it.
fn phases(agent: &Agent, said: Option<WorkPhase>, now: Time) -> (WorkPhase, Vec<PhaseSpan>) {
    let known = agent.work.phase;
    let mut spans = agent.work.spans();
    if let Some(phase) = said.filter(|phase| *phase != known) {
        if let Some(last) = spans.last_mut() {
            last.left_at = Some(now);
        }
        spans.push(PhaseSpan { phase, entered_at: now, left_at: None });
    }
    let over = spans.len().saturating_sub(PHASES_MAX);
    spans.drain(..over);
    (said.unwrap_or(known), spans)
}

fn task(agent: &Agent, fleet: &Fleet) -> Option<TaskMark> {
    let task = fleet.tasks().current(agent.id)?;
    let steps = task.brief.steps.len();
    let open_step = task.open_step().map(|(at, step)| (at, steps, step.text.clone()));
    Some(TaskMark { id: task.id, title: task.brief.title.clone(), open_step })
}

fn bounded(found: Findings) -> Findings {
    let Findings { mut edited, tests, committed_at, last_words, last_call } = found;
    // The last one is the newest.
    edited.drain(..edited.len().saturating_sub(PATHS_MAX));
    edited.iter_mut().for_each(|path| *path = cut(path, PATH_BYTES_MAX));
    let line = |text: String| cut(&text, LINE_BYTES_MAX);
    let tests = tests.map(|run| TestRun {
        command: line(run.command),
        failing: run.failing.map(line),
        ..run
    });
    let last_call =
        last_call.map(|call| LastCall { tool: line(call.tool), about: line(call.about), ..call });
    let last_words = last_words.map(|words| cut(&words, crate::work::WORDS_BYTES_MAX));
    Findings { edited, tests, committed_at, last_words, last_call }
}

fn bounded_git(git: GitFindings) -> GitFindings {
    let GitFindings { branch, head, mut changed, changed_count } = git;
    changed.truncate(PATHS_MAX);
    changed.iter_mut().for_each(|change| change.path = cut(&change.path, PATH_BYTES_MAX));
    GitFindings {
        branch: branch.map(|branch| cut(&branch, PATH_BYTES_MAX)),
        head,
        changed,
        changed_count,
    }
}

/// Where the work stands, on one line: the agent's own words, or what was found.
pub fn summary_line(content: &Checkpoint) -> String {
    if let Some(summary) = &content.said.summary {
        return line(summary, SUMMARY_LINE_BYTES_MAX);
    }
    let mut parts: Vec<String> = Vec::new();
    if let Some(task) = &content.task {
        parts.push(format!("on the task {}", quoted(&task.title, 60)));
    }
    if let Some(path) = content.found.edited.last() {
        parts.push(format!("last edited {}", quoted(path, 60)));
    } else if let Some(git) = content.git.as_ref().filter(|git| git.changed_count > 0) {
        parts.push(format!("{} changed", files(git.changed_count)));
    }
    let is_clean = content.git.as_ref().is_some_and(|git| git.changed_count == 0);
    if content.found.committed_at.is_some() && is_clean {
        parts.push("all of it committed".to_owned());
    }
    if let Some(run) = &content.found.tests {
        parts.push(format!("tests {}", run.outcome.word()));
    }
    match parts.is_empty() {
        true => "nothing is known of its work yet".to_owned(),
        false => cut(&parts.join("; "), SUMMARY_LINE_BYTES_MAX),
    }
}

/// How to go on.
fn resumption(content: &Checkpoint) -> String {
    let mut text = format!("Resume from phase: {}.", content.phase.word());
    if let Some(task) = &content.task {
        let title = quoted(&task.title, QUOTED_BYTES);
        match &task.open_step {
            Some((at, of, step)) => {
                let step = quoted(step, WORDS_QUOTED_BYTES);
                let _ = write!(text, " Task {title}, open step {at} of {of}: {step}.");
            }
            None => _ = write!(text, " Task {title}."),
        }
    }
    files_told(content, &mut text);
    if let Some(run) = &content.found.tests {
        tests_told(run, &mut text);
    }
    if let Some(call) = &content.found.last_call {
        let (tool, about) = (quoted(&call.tool, 40), quoted(&call.about, QUOTED_BYTES));
        let open = if call.is_open { ", which had not ended" } else { "" };
        let _ = write!(text, " The last call was {tool} on {about}{open}.");
    }
    if let Some(words) = &content.found.last_words {
        let _ = write!(text, " The last words were {}.", quoted(words, WORDS_QUOTED_BYTES));
    }
    if let Some(instructions) = &content.said.instructions {
        let said = quoted(instructions, WORDS_BYTES_MAX);
        let _ = write!(text, " Its own instructions: {said}.");
    }
    text
}

/// Which files were worked on.
fn files_told(content: &Checkpoint, text: &mut String) {
    let edited = &content.found.edited;
    if let Some(git) = content.git.as_ref().filter(|git| git.changed_count > 0) {
        let paths = git.changed.iter().map(|FileChange { path, .. }| path.as_str());
        let _ = write!(text, " Not committed: {}.", listed(paths, git.changed_count));
        if let Some(last) = edited.last() {
            let _ = write!(text, " Last edited: {}.", quoted(last, QUOTED_BYTES));
        }
    } else if !edited.is_empty() {
        // The newest first: the list may be cut.
        let paths = edited.iter().rev().map(String::as_str);
        let _ =
            write!(text, " Edited, the last one first: {}.", listed(paths, edited.len() as u64));
    }
}

fn tests_told(run: &TestRun, text: &mut String) {
    let command = quoted(&run.command, QUOTED_BYTES);
    let told = match run.outcome {
        TestOutcome::Passed => format!(" The last test run passed: {command}."),
        TestOutcome::Failed => match &run.failing {
            Some(test) => {
                let test = quoted(test, QUOTED_BYTES);
                format!(" The last test run failed: {command}; failing test: {test}.")
            }
            None => format!(" The last test run failed: {command}."),
        },
        TestOutcome::Unfinished => format!(" The last test run had not ended: {command}."),
        TestOutcome::Unclear => {
            format!(" The last test run ended, and its output does not tell how: {command}.")
        }
    };
    text.push_str(&told);
}

fn listed<'a>(paths: impl Iterator<Item = &'a str>, count: u64) -> String {
    let named: Vec<String> =
        paths.take(FILES_NAMED).map(|path| quoted(path, QUOTED_BYTES)).collect();
    match count.saturating_sub(named.len() as u64) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn files(count: u64) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

/// One line, without characters that act on a terminal or hide.
fn line(text: &str, bytes: usize) -> String {
    let acts = |c: char| c.is_control() || is_hidden(c);
    let text: String = text.trim().chars().map(|c| if acts(c) { ' ' } else { c }).collect();
    cut(&text, bytes)
}

/// At most this many bytes, whole characters, with a sign that something is missing.
fn cut(text: &str, bytes: usize) -> String {
    match text.len() > bytes {
        true => {
            let end = text.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()));
            format!("{}…", &text[..end])
        }
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;

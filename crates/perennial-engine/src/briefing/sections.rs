//! The sections of a full briefing, in the order of their use: what has no room is left out from the end.

use std::fmt::Write;

use perennial_core::checkpoint::{Checkpoint, KeyDecision};
use perennial_core::succession::Beginning;
use perennial_core::work::{FileChange, Findings, GitFindings};

use super::quoting::{lines, quoted};
use super::{PROMPT_BYTES, Standing, Utterance, Voice, WORK_BYTES};

/// What each section may take of a first prompt; of a shorter text it takes the same part. The end of the
/// conversation gets what the others leave.
const TASK_BYTES: usize = 700;
const PROMPT_QUOTE_BYTES: usize = 900;
const NOTES_BYTES: usize = 900;
const INSTRUCTIONS_BYTES: usize = 1100;
const FILES_BYTES: usize = 800;
const DECISIONS_BYTES: usize = 900;
const KNOWLEDGE_BYTES: usize = 500;
const QUESTIONS_BYTES: usize = 500;
const TAIL_BYTES: usize = 2400;
/// What one file, decision, question or utterance may take.
const PATH_BYTES: usize = 160;
/// As much of a commit's name as people write.
const SHORT_COMMIT: usize = 12;
const ITEM_BYTES: usize = 240;

/// Appends the sections, so that the text has at most this many bytes.
pub fn write(standing: &Standing<'_>, text: &mut String, limit: usize) {
    let part = |bytes: usize| bytes * limit / PROMPT_BYTES;
    let checkpoint = standing.checkpoint;
    let said = checkpoint.map(|checkpoint| &checkpoint.said);
    let mut sections = vec![
        task(standing, part(TASK_BYTES)),
        notes(standing, part(NOTES_BYTES)),
        asked(standing, part(PROMPT_QUOTE_BYTES)),
        said.and_then(|said| said.instructions.as_deref()).filter(is_said).map(|words| {
            let words = lines(words, part(INSTRUCTIONS_BYTES));
            format!("Resumption instructions, in your own words:\n{words}")
        }),
        checkpoint.and_then(|checkpoint| checkpoint.note.as_deref()).filter(is_said).map(|note| {
            format!(
                "The operator's note beside your last checkpoint: {}\n",
                quoted(note, ITEM_BYTES)
            )
        }),
        Some(phase(standing)),
        files(standing, part(FILES_BYTES)),
        standing.found().and_then(tests),
        said.and_then(|said| decisions(&said.decisions, part(DECISIONS_BYTES))),
        said.and_then(|said| list("What you learnt:", &said.knowledge, part(KNOWLEDGE_BYTES))),
        said.and_then(|said| list("Open questions:", &said.questions, part(QUESTIONS_BYTES))),
    ];
    let mail = standing.unread_mail.map(|mail| format!("{mail}\n"));
    let used: usize = sections.iter().chain([&mail]).flatten().map(String::len).sum();
    let left = limit.saturating_sub(text.len() + used).min(part(TAIL_BYTES));
    sections.push(tail(standing.tail, left));
    sections.push(mail);
    for section in sections.into_iter().flatten() {
        if text.len() + section.len() <= limit {
            text.push_str(&section);
        }
    }
}

fn task(standing: &Standing<'_>, bytes: usize) -> Option<String> {
    let task = standing.task?;
    let mut text = format!("Your task: {} {}.", task.id, quoted(task.title, bytes / 4));
    if let Some((at, of, step)) = task.open_step {
        let _ = write!(text, " Open step {at} of {of}: {}.", quoted(step, bytes / 4));
    }
    if let Some(reason) = task.given_back {
        let _ = write!(text, " It was given back: {}.", quoted(reason, bytes / 4));
    }
    if let Some(note) = task.last_note.filter(is_said) {
        let _ = write!(text, " The last note on it: {}.", quoted(note, bytes / 4));
    }
    text.push_str(" The tool `task` shows it, marks steps and claims it done.\n");
    Some(text)
}

fn is_said(words: &&str) -> bool {
    !words.trim().is_empty()
}

/// After a compaction the vendor's summary has what was asked since.
fn asked(standing: &Standing<'_>, bytes: usize) -> Option<String> {
    let prompt = standing.first_prompt.filter(is_said);
    let prompt = prompt.filter(|_| standing.beginning != Beginning::Compaction)?;
    Some(format!("What you were asked first:\n{}", lines(prompt, bytes)))
}

fn notes(standing: &Standing<'_>, bytes: usize) -> Option<String> {
    let notes = standing.notes?;
    let subject = quoted(notes.subject, bytes / 4);
    if notes.text.trim().is_empty() {
        return Some(format!("Subject of the handoff: {subject}."));
    }
    let words = lines(notes.text, bytes * 3 / 4);
    Some(format!("Notes for you from the handoff, {subject}:\n{words}"))
}

/// BR2
fn phase(standing: &Standing<'_>) -> String {
    let mut text = format!("Resume from phase: {}", standing.phase.word());
    let before: Vec<&str> = standing.checkpoint.map(phases_before).unwrap_or_default();
    if !before.is_empty() {
        let _ = write!(text, " (before it: {})", before.join(", "));
    }
    let told = |words: Option<String>| match words {
        Some(words) => quoted(&words, WORK_BYTES),
        None => "not known".to_owned(),
    };
    let (work, step) = (told(standing.work()), told(standing.step()));
    let _ = write!(text, ".\nLast known work: {work}\nLast incomplete step: {step}\n");
    text
}

/// Each phase once, in the order in which the work was last in it.
fn phases_before(checkpoint: &Checkpoint) -> Vec<&'static str> {
    let mut before: Vec<&str> = Vec::new();
    for span in checkpoint.phases.iter().filter(|span| span.phase != checkpoint.phase) {
        let word = span.phase.word();
        before.retain(|known| *known != word);
        before.push(word);
    }
    before
}

/// What git shows of the work tree, else what the tools edited.
fn files(standing: &Standing<'_>, bytes: usize) -> Option<String> {
    let git = standing.checkpoint.and_then(|checkpoint| checkpoint.git.as_ref());
    let edited = standing.found().map(|found| found.edited.as_slice()).unwrap_or_default();
    let mut text = String::new();
    if let Some(git) = git {
        text.push_str(&from_git(git, bytes / 2));
    }
    if !edited.is_empty() {
        let newest = edited.iter().rev().map(|path| quoted(path, PATH_BYTES));
        let listed = listed(newest, edited.len() as u64, bytes / 2);
        let _ = writeln!(text, "Files that your tools edited, the last one first: {listed}");
    }
    Some(text).filter(|text| !text.is_empty())
}

fn from_git(git: &GitFindings, bytes: usize) -> String {
    let branch = git.branch.as_deref().map(|branch| format!(", branch {}", quoted(branch, 80)));
    let head = git.head.as_deref().map(|head| head.get(..SHORT_COMMIT).unwrap_or(head));
    let head = head.map(|head| format!(", HEAD {}", quoted(head, 80)));
    let place = format!("{}{}", branch.unwrap_or_default(), head.unwrap_or_default());
    if git.changed_count == 0 {
        return format!("Files modified so far and not committed: none{place}\n");
    }
    let one =
        |change: &FileChange| format!("{} {}", change.how.word(), quoted(&change.path, PATH_BYTES));
    let listed = listed(git.changed.iter().map(one), git.changed_count, bytes);
    format!("Files modified so far and not committed{place}: {listed}\n")
}

fn tests(found: &Findings) -> Option<String> {
    let tests = found.tests.as_ref()?;
    let mut text =
        format!("Tests status: {}, {}", tests.outcome.word(), quoted(&tests.command, ITEM_BYTES));
    if let Some(failing) = &tests.failing {
        let _ = write!(text, ", failing: {}", quoted(failing, ITEM_BYTES));
    }
    text.push('\n');
    Some(text)
}

fn decisions(decisions: &[KeyDecision], bytes: usize) -> Option<String> {
    let one = |decision: &KeyDecision| match &decision.why {
        Some(why) => {
            format!("{}, because {}", quoted(&decision.what, ITEM_BYTES), quoted(why, ITEM_BYTES))
        }
        None => quoted(&decision.what, ITEM_BYTES),
    };
    items("Decisions:", decisions.iter().map(one), bytes)
}

fn list(title: &str, of: &[String], bytes: usize) -> Option<String> {
    items(title, of.iter().map(|one| quoted(one, ITEM_BYTES)), bytes)
}

/// A line for each; those that were said last are kept, in their order.
fn items(
    title: &str,
    all: impl DoubleEndedIterator<Item = String>,
    bytes: usize,
) -> Option<String> {
    let mut left = bytes.saturating_sub(title.len() + 1);
    let mut kept = Vec::new();
    for item in all.rev().map(|item| format!("- {item}\n")) {
        let Some(rest) = left.checked_sub(item.len()) else { break };
        left = rest;
        kept.push(item);
    }
    kept.reverse();
    (!kept.is_empty()).then(|| format!("{title}\n{}", kept.concat()))
}

/// As many as fit, and how many there are besides.
fn listed(all: impl Iterator<Item = String>, count: u64, bytes: usize) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for one in all {
        if text.len() + one.len() > bytes && shown > 0 {
            break;
        }
        text.push_str(if shown == 0 { "" } else { ", " });
        text.push_str(&one);
        shown += 1;
    }
    match count.saturating_sub(shown) {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

fn tail(tail: &[Utterance], bytes: usize) -> Option<String> {
    const TITLE: &str = "The end of the last conversation:\n";
    let mut left = bytes.checked_sub(TITLE.len())?;
    let mut kept = Vec::new();
    for Utterance { voice, text } in tail.iter().rev() {
        let who = match voice {
            Voice::Prompt => "prompt",
            Voice::Agent => "you",
            Voice::Call => "you called",
        };
        let line = format!("| {who}: {}\n", quoted(text, ITEM_BYTES));
        let Some(rest) = left.checked_sub(line.len()) else { break };
        left = rest;
        kept.push(line);
    }
    kept.reverse();
    (!kept.is_empty()).then(|| format!("{TITLE}{}", kept.concat()))
}

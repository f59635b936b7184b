//! What a program without a preset shows of its work: by the lines that it prints.
//!
//! Weaker than steps: a line is words on a screen, from whichever program of the session. A bounded part of each line is
//! looked at, and of a flood only what the caller hands over.
//!
//! Invariant
//! - WT1  At most one indicator of each kind comes of one piece of output.

use std::sync::Arc;

use perennial_core::symptom::{self, Speaker, Symptom};
use perennial_core::work::{Indicator, PhaseRules};

use super::outcome::{self, Said};
use super::program::deeds;

/// The rest of a longer line says nothing.
const LINE_MAX: usize = 500;
/// What stands between a prompt and the command that was typed there.
const PROMPTS: [&str; 4] = ["$ ", "# ", "❯ ", "% "];

/// Reads what one session prints.
#[derive(Debug)]
pub struct TerminalWork {
    rules: Arc<PhaseRules>,
    /// A line that has not ended.
    line: Vec<u8>,
    /// A line has a symptom of a context window that is running out, and that was not asked for yet.
    symptom: Option<Symptom>,
}

impl TerminalWork {
    pub fn new(rules: Arc<PhaseRules>) -> TerminalWork {
        TerminalWork { rules, line: Vec::new(), symptom: None }
    }

    /// Takes output in; returns what it shows, in its order. The last line may go on.
    pub fn take(&mut self, output: &[u8]) -> Vec<Indicator> {
        let mut shown = Vec::new();
        for piece in output.split_inclusive(|byte| *byte == b'\n' || *byte == b'\r') {
            let room = LINE_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.ends_with(b"\n") || piece.ends_with(b"\r") {
                let line = std::mem::take(&mut self.line);
                self.read(&line, &mut shown);
            }
        }
        shown
    }

    /// The symptom in what was taken in since this was last asked. It is anybody's words: low at most.
    pub fn symptom(&mut self) -> Option<Symptom> {
        self.symptom.take()
    }

    /// Something came between: what was held of a line does not go on.
    pub fn skipped(&mut self) {
        self.line.clear();
    }

    fn read(&mut self, line: &[u8], shown: &mut Vec<Indicator>) {
        let line = outcome::plain(&String::from_utf8_lossy(line));
        if line.trim().is_empty() {
            return;
        }
        self.symptom = self.symptom.or(symptom::in_words(&line, Speaker::Tool));
        let mut add = |indicator| {
            // WT1: the last one counts, in its place.
            shown.retain(|known| *known != indicator);
            shown.push(indicator);
        };
        let lower = line.to_lowercase();
        let has = |list: &[String]| list.iter().any(|words| lower.contains(words.as_str()));
        if let Some((command, is_sure)) = typed(&line) {
            let found = deeds(command, &self.rules.test_commands);
            if found.edits {
                add(Indicator::FileEdited);
            }
            if found.tests.is_some() {
                add(super::ran(&found));
            }
            // Of another commit git prints a line.
            if found.commits && is_quiet(command) {
                add(Indicator::CommitMade);
            }
            if is_sure || found.edits || found.tests.is_some() {
                return;
            }
        }
        if has(&self.rules.implementation) {
            add(Indicator::FileEdited);
        }
        if has(&self.rules.testing) || is_beginning(&lower) {
            add(Indicator::TestsRun);
        }
        match outcome::said(&line) {
            Some(Said::Passed) => {
                add(Indicator::TestsRun);
                add(Indicator::TestsPassed);
            }
            Some(Said::Failed) => add(Indicator::TestsRun),
            Some(Said::Exited(_) | Said::StillRuns) | None => {}
        }
        if is_commit(&line) {
            add(Indicator::CommitMade);
        }
        super::told(&self.rules, &line).into_iter().for_each(add);
    }
}

/// The command after a shell's prompt, and whether that is surely one: "# " alone also begins a heading.
fn typed(line: &str) -> Option<(&str, bool)> {
    let after = |sign: &&str| line.find(*sign).map(|at| (at, at + sign.len()));
    let (at, end) = PROMPTS.iter().filter_map(after).min_by_key(|(at, _)| *at)?;
    let (before, sign) = (line[..at].trim(), &line[at..end]);
    let is_place = before.contains('@') || before.starts_with(['~', '/']);
    match before.is_empty() {
        true => Some((&line[end..], matches!(sign, "$ " | "❯ "))),
        false => is_place.then_some((&line[end..], true)),
    }
}

/// `running 3 tests`, `collected 12 items`.
fn is_beginning(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let (first, count, what) = (words.next(), words.next(), words.next());
    let is_counted = count.is_some_and(|count| count.parse::<u64>().is_ok());
    is_counted
        && matches!(
            (first, what),
            (Some("running"), Some("test" | "tests")) | (Some("collected"), Some("item" | "items"))
        )
}

/// `-q`, `-qam`, `--quiet`.
fn is_quiet(command: &str) -> bool {
    let is_short = |word: &str| word.strip_prefix('-').is_some_and(|it| !it.starts_with('-'));
    let mut words = command.split_whitespace();
    words.any(|word| word == "--quiet" || is_short(word) && word.contains('q'))
}

/// What git prints of a commit: `[main 1a2b3c4] words`.
fn is_commit(line: &str) -> bool {
    let Some((inside, _)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) else {
        return false;
    };
    let digest = inside.split_whitespace().last().unwrap_or_default();
    inside.contains(' ')
        && (7..=40).contains(&digest.len())
        && digest.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: &str) -> Vec<Indicator> {
        TerminalWork::new(Arc::default()).take(output.as_bytes())
    }

    #[test]
    fn a_commit_counts_once_whether_git_prints_it_or_not() {
        assert_eq!(of("$ git commit -qam quiet\n"), [Indicator::CommitMade]);
        assert_eq!(of("$ git commit --quiet -m x\n"), [Indicator::CommitMade]);
        assert_eq!(of("$ git commit -m 'a query'\n"), [], "its line follows");
        assert_eq!(of("$ git log -q\n"), []);
        assert_eq!(of("$ git commit -am x\n[main 1a2b3c4] x\n"), [Indicator::CommitMade]);
    }

    #[test]
    fn lines_show_what_a_program_does() {
        for (output, shown) in [
            ("Here is my plan:\r\n", vec![Indicator::PlanTold]),
            ("\u{1b}[1mApplied edit to src/a.py\u{1b}[0m\n", vec![Indicator::FileEdited]),
            ("me@host:~/x$ cargo test -p a\r\n", vec![Indicator::TestsRun]),
            ("running 3 tests\n", vec![Indicator::TestsRun]),
            ("=== 3 passed in 0.1s ===\n", vec![Indicator::TestsRun, Indicator::TestsPassed]),
            ("=== 1 failed, 3 passed in 0.1s ===\n", vec![Indicator::TestsRun]),
            ("[main 1a2b3c4] fix the parser\n", vec![Indicator::CommitMade]),
            ("[1/3] building\n[warn 12] x\n", vec![]),
            ("All tests pass.\n", vec![Indicator::CompletionTold]),
            ("once all tests pass, go on\n", vec![]),
            ("Here is my pl", vec![]),
            ("# cargo test\n", vec![Indicator::TestsRun]),
            ("$ echo here is my plan\n", vec![]),
            ("[me@host x]# echo here is my plan\n", vec![]),
            ("# Here is my plan\n", vec![Indicator::PlanTold]),
            ("## Here is my plan\n", vec![Indicator::PlanTold]),
            ("100% done. Here is my plan\n", vec![Indicator::PlanTold]),
        ] {
            assert_eq!(of(output), shown, "{output}");
        }
    }

    #[test]
    fn a_line_may_tell_of_a_context_window() {
        let mut work = TerminalWork::new(Arc::default());
        work.take(b"I'm running out of context\n");
        assert_eq!(work.symptom(), None, "words on a screen are nobody's own");
        work.take(b"warning: near the context ");
        work.take(b"limit\n");
        assert_eq!((work.symptom(), work.symptom()), (Some(Symptom::Words), None));
    }

    #[test]
    fn a_line_may_come_in_pieces_and_a_flood_is_bounded() {
        let mut work = TerminalWork::new(Arc::default());
        assert!(work.take(b"Here is ").is_empty());
        assert_eq!(work.take(b"my plan\n"), [Indicator::PlanTold]);
        assert!(work.take(&[b'x'; 1 << 20]).is_empty());
        assert!(work.line.len() <= LINE_MAX);
        work.skipped();
        let flood = "running 3 tests\nHere is my plan\n".repeat(1000);
        assert_eq!(work.take(flood.as_bytes()), [Indicator::TestsRun, Indicator::PlanTold]);
    }
}

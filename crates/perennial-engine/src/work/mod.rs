//! What the steps of a session show of its work: findings, and indicators of its phase.
//!
//! One fold for each agent's session, step by step; it holds a bounded part of what it was told. It concludes no phase: what
//! an indicator leads to is decided in the core. Steps are what a transcript holds, which anybody may have written: nothing
//! of them is run, and nothing is believed but that it was said.
//!
//! Invariants
//! - WK1  Steps that are dated before the session began are not its work.
//! - WK2  A change or a commit counts when its call has answered without an error; a test run counts when it is called.
//! - WK3  Tests that pass are told when the turn ends with them: while it goes on, a run is one of many.
//! - WK4  A subagent's changes, test runs and commits are its lead's; its words and its last call are not.

mod arguments;
mod command;
mod outcome;
mod program;
mod repetition;
mod terminal;
mod trial;

use std::collections::VecDeque;
use std::sync::Arc;

use perennial_core::time::Time;
use perennial_core::work::{
    Findings, Indicator, LINE_BYTES_MAX, LastCall, PATHS_MAX, PhaseRules, TestOutcome, TestRun,
    ToolDoes, WORDS_BYTES_MAX, WorkPhase,
};

use crate::harness::handoff_texts;
use crate::transcript::step::{Content, Excerpt, Step};
use outcome::{Verdict, verdict, verdict_of_trial};
use program::{Deeds, TestCommand, deeds, patched};
pub use repetition::{Orientation, Repetition};
pub use terminal::TerminalWork;

/// Calls that may be open at a time; the oldest are forgotten first.
const OPEN_CALLS_MAX: usize = 64;
/// This many calls after a prompt that change nothing are looking around.
const LOOKS_AROUND: u32 = 3;
/// Where the tools of the vendors have the file that they change.
const PATH_NAMES: [&str; 5] = ["file_path", "notebook_path", "path", "absolute_path", "filename"];
const COMMAND_NAMES: [&str; 4] = ["command", "cmd", "script", "code"];
/// The vendors' tools that only look.
const LOOK_TOOLS: [&str; 14] = [
    "Read",
    "Grep",
    "Glob",
    "LS",
    "NotebookRead",
    "WebFetch",
    "WebSearch",
    "read_file",
    "read_many_files",
    "list_directory",
    "glob",
    "search_file_content",
    "web_fetch",
    "google_web_search",
];
/// A file whose name begins so is a plan or a list of tasks, and no change of the work itself.
const PLAN_FILES: [&str; 2] = ["plan", "todo"];
/// What else a call may be about.
const ABOUT_NAMES: [&str; 6] = ["pattern", "query", "url", "description", "prompt", "name"];

/// Something that shows where the work stands, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub indicator: Indicator,
    pub at: Option<Time>,
}

/// Folds the steps of one session.
#[derive(Debug, Clone)]
pub struct WorkReader {
    rules: Arc<PhaseRules>,
    /// WK1
    began_at: Option<Time>,
    findings: Findings,
    open: VecDeque<OpenCall>,
    /// Calls since the last prompt or commit that only looked, while none of them changed anything.
    looks: Option<u32>,
    steps: u64,
    /// When the last test run passed, while nothing was changed and no other run began since.
    passed_at: Option<Option<Time>>,
    /// Something was edited or committed.
    has_changed: bool,
    /// It answers our request to hand off.
    is_handing_off: bool,
    /// The date of the last step that showed something, and how much was shown at that date.
    shown_at: (Option<Time>, u64),
}

/// A call that has not answered.
#[derive(Debug, Clone)]
struct OpenCall {
    call: String,
    is_subagent: bool,
    deeds: Deeds,
}

impl WorkReader {
    pub fn new(rules: Arc<PhaseRules>, began_at: Option<Time>) -> WorkReader {
        WorkReader {
            rules,
            began_at,
            findings: Findings::default(),
            open: VecDeque::new(),
            looks: None,
            steps: 0,
            passed_at: None,
            has_changed: false,
            is_handing_off: false,
            shown_at: (None, 0),
        }
    }

    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Whether the session has edited or committed something.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// How many steps of the session were taken in.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Takes a step in; returns what it shows.
    pub fn take(&mut self, step: &Step) -> Vec<Shown> {
        let is_earlier = |at| self.began_at.is_some_and(|began| at < began);
        if step.time.is_some_and(is_earlier) {
            return Vec::new();
        }
        self.steps += 1;
        let shown = match &step.content {
            Content::Prompt(words) if !step.is_subagent => {
                self.looks = Some(0);
                self.is_handing_off = handoff_texts::is_request(&words.text);
                Vec::new()
            }
            Content::Text(words) if !step.is_subagent => self.said(words),
            Content::ToolCall { call, tool, arguments } => {
                self.called(step, call, tool, &arguments.text)
            }
            Content::ToolResult { call, is_error, text } => {
                self.answered(step, call, *is_error, text)
            }
            Content::Prompt(_)
            | Content::Text(_)
            | Content::PromptBlocked { .. }
            | Content::Added(_)
            | Content::Thinking
            | Content::Usage(_)
            | Content::Compaction(_)
            | Content::Error { .. }
            | Content::RateLimit { .. }
            | Content::LimitReached { .. }
            | Content::Interrupted
            | Content::ConversationChanged { .. } => Vec::new(),
        };
        shown.into_iter().map(|indicator| Shown { indicator, at: self.dated(step.time) }).collect()
    }

    /// Steps of one message have the same date; what they show has an order all the same, whenever it is read.
    fn dated(&mut self, at: Option<Time>) -> Option<Time> {
        let (last, count) = self.shown_at;
        self.shown_at = if at == last { (last, count + 1) } else { (at, 0) };
        at.map(|at| Time(at.0.saturating_add(self.shown_at.1)))
    }

    /// The turn is over (WK3).
    pub fn turn_over(&mut self) -> Option<Shown> {
        let passed_at = self.passed_at.take()?;
        Some(Shown { indicator: Indicator::TestsPassed, at: self.dated(passed_at) })
    }

    fn said(&mut self, words: &Excerpt) -> Vec<Indicator> {
        // What answers our own request says nothing about the work.
        if !words.text.trim().is_empty() && !self.is_handing_off {
            self.findings.last_words = Some(one_line(&words.text, WORDS_BYTES_MAX));
        }
        told(&self.rules, &words.text)
    }

    fn called(&mut self, step: &Step, call: &str, tool: &str, arguments: &str) -> Vec<Indicator> {
        let at = step.time.unwrap_or_default();
        let has = |list: &[String]| list.iter().any(|name| name == tool);
        let command = arguments::text(arguments, &COMMAND_NAMES);
        let mut shown = Vec::new();
        let mut found = Deeds::default();
        if has(&self.rules.edit_tools) && is_plan(arguments) {
            shown.push(Indicator::TaskListMade);
        } else if has(&self.rules.edit_tools) {
            found.edits = true;
            found.edited.extend(arguments::text(arguments, &PATH_NAMES));
            found.edited.extend(patched(&command.clone().unwrap_or_default()));
            // A patch is given by itself, or within an object.
            found.edited.extend(patched(&arguments::bare(arguments)));
            let patch = arguments::text(arguments, &["input", "patch"]).unwrap_or_default();
            found.edited.extend(patched(&patch));
        } else if has(&self.rules.shell_tools) {
            found = deeds(command.as_deref().unwrap_or(arguments), &self.rules.test_commands);
        } else if LOOK_TOOLS.contains(&tool) {
            found.looks = true;
        } else if let Some(does) = self.rules.does(tool) {
            found = self.named(does, (tool, command.as_deref()), arguments);
        } else if has(&self.rules.plan_tools) {
            shown.push(Indicator::TaskListMade);
        } else if has(&self.rules.delegate_tools) {
            let names = ["subagent_type", "agent_type", "agent_name", "agent"];
            let subagent = arguments::text(arguments, &names).unwrap_or_default();
            shown.extend(match self.rules.delegated(&subagent) {
                Some(WorkPhase::Testing) => Some(Indicator::TestsDelegated),
                Some(WorkPhase::Implementation) => Some(Indicator::WorkDelegated),
                Some(WorkPhase::Investigation | WorkPhase::Planning | WorkPhase::Completion)
                | None => None,
            });
        }
        if let Some(tests) = &found.tests {
            shown.push(ran(&found));
            self.passed_at = None;
            let command = one_line(&tests.words, LINE_BYTES_MAX);
            let (outcome, failing) = (TestOutcome::Unfinished, None);
            self.findings.tests = Some(TestRun { command, outcome, failing, at });
        }
        if !step.is_subagent {
            shown.extend(self.looked(&found, !shown.is_empty()));
            let path = arguments::text(arguments, &PATH_NAMES);
            let about = command.or(path).or_else(|| arguments::text(arguments, &ABOUT_NAMES));
            let about = one_line(&about.unwrap_or_default(), LINE_BYTES_MAX);
            let tool = one_line(tool, LINE_BYTES_MAX);
            self.findings.last_call = Some(LastCall { tool, about, is_open: true, at });
        }
        if self.open.len() >= OPEN_CALLS_MAX {
            self.open.pop_front();
        }
        self.open.push_back(OpenCall {
            call: call.to_owned(),
            is_subagent: step.is_subagent,
            deeds: found,
        });
        shown
    }

    /// What a call of a tool does of which only the name is known.
    fn named(&self, does: ToolDoes, (tool, command): (&str, Option<&str>), all: &str) -> Deeds {
        let edited = || arguments::text(all, &PATH_NAMES).into_iter().collect();
        let looks = Deeds { looks: true, ..Deeds::default() };
        match does {
            // Editors that are one tool are told what to do.
            ToolDoes::Edits if matches!(command, Some("view" | "undo_edit")) => looks,
            ToolDoes::Edits => Deeds { edits: true, edited: edited(), ..Deeds::default() },
            ToolDoes::RunsCommand => deeds(command.unwrap_or(all), &self.rules.test_commands),
            ToolDoes::RunsTests => {
                let words = command.unwrap_or(tool).to_owned();
                let tests = Some(TestCommand { words, has_own_exit: true });
                Deeds { tests, tests_last: true, ..Deeds::default() }
            }
            ToolDoes::Looks => looks,
        }
    }

    /// Calls that only look, after a prompt or a commit. What says nothing of the work leaves the count as it is.
    fn looked(&mut self, deeds: &Deeds, shows: bool) -> Option<Indicator> {
        let looks = self.looks.as_mut()?;
        if deeds.edits || deeds.commits || deeds.tests.is_some() || shows {
            self.looks = None;
            return None;
        }
        *looks += u32::from(deeds.looks);
        if *looks < LOOKS_AROUND {
            return None;
        }
        self.looks = None;
        Some(Indicator::LookedAround)
    }

    fn answered(
        &mut self,
        step: &Step,
        call: &str,
        is_error: bool,
        text: &Excerpt,
    ) -> Vec<Indicator> {
        let Some(position) = self.open.iter().position(|open| open.call == call) else {
            return Vec::new();
        };
        let Some(OpenCall { deeds, .. }) = self.open.remove(position) else { return Vec::new() };
        if !step.is_subagent
            && let Some(last) = &mut self.findings.last_call
        {
            // Calls of one message answer in any order: it is open while any is.
            last.is_open = self.open.iter().any(|open| !open.is_subagent);
        }
        let mut shown = Vec::new();
        let is_refused = is_error || text.text.starts_with("apply_patch verification failed");
        if deeds.edits && !is_refused {
            deeds.edited.iter().for_each(|path| self.edited(path));
            shown.push(Indicator::FileEdited);
            // What was changed in the same line before was what it tested.
            shown.extend(deeds.tests.as_ref().filter(|_| deeds.tests_last).map(|_| ran(&deeds)));
            (self.passed_at, self.has_changed) = (None, true);
        }
        if deeds.cleans && !is_error {
            shown.push(Indicator::TrialsRemoved);
        }
        if let Some(tests) = &deeds.tests {
            let parts = [text.text.as_str(), text.ending.as_str()];
            let read = if deeds.is_trial { verdict_of_trial } else { verdict };
            let Verdict { outcome, failing } = read(&parts, is_error, tests.has_own_exit);
            let words = one_line(&tests.words, LINE_BYTES_MAX);
            if let Some(run) = self.findings.tests.as_mut().filter(|run| run.command == words) {
                (run.outcome, run.failing) = (outcome, failing);
            }
            self.passed_at = (outcome == TestOutcome::Passed).then_some(step.time);
        }
        let nothing = ["nothing to commit", "nothing added to commit", "no changes added"];
        let is_empty = || nothing.iter().any(|words| text.text.contains(words));
        if deeds.commits && !is_error && !is_empty() {
            self.findings.committed_at = step.time;
            (self.looks, self.has_changed) = (Some(0), true);
            shown.push(Indicator::CommitMade);
        }
        shown
    }

    fn edited(&mut self, path: &str) {
        let path = one_line(path, LINE_BYTES_MAX);
        let files = &mut self.findings.edited;
        files.retain(|known| *known != path);
        if files.len() >= PATHS_MAX {
            files.remove(0);
        }
        files.push(path);
    }
}

/// What a test run shows.
fn ran(deeds: &Deeds) -> Indicator {
    if deeds.is_trial { Indicator::TrialRun } else { Indicator::TestsRun }
}

/// Whether what is edited is a plan.
fn is_plan(arguments: &str) -> bool {
    let path = arguments::text(arguments, &PATH_NAMES).unwrap_or_default().to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_text = name.ends_with(".md") || name.ends_with(".txt");
    let is_named = PLAN_FILES.iter().any(|word| name.starts_with(word));
    // Agent CLIs have theirs in a hidden directory.
    let is_of_vendor = path.split_once("/.").is_some_and(|(_, below)| below.contains("/plans/"));
    is_text && (is_named || is_of_vendor)
}

/// What words of the model's show.
fn told(rules: &PhaseRules, words: &str) -> Vec<Indicator> {
    let words = words.to_lowercase();
    let has = |list: &[String]| list.iter().any(|phrase| words.contains(phrase.as_str()));
    let is_complete = || {
        let mut lines = words.lines();
        lines.any(|line| {
            rules.completion.iter().any(|phrase| {
                line.find(phrase.as_str()).is_some_and(|at| is_statement(&line[..at]))
            })
        })
    };
    let mut shown = Vec::new();
    if has(&rules.planning) {
        shown.push(Indicator::PlanTold);
    }
    if is_complete() {
        shown.push(Indicator::CompletionTold);
    }
    shown
}

/// Whether what stands before a phrase leaves it a statement: "once all tests pass" is none.
fn is_statement(before: &str) -> bool {
    const DOUBTS: [&str; 15] = [
        "once", "until", "if", "when", "ensure", "sure", "verify", "should", "will", "whether",
        "not", "so", "before", "after", "check",
    ];
    let sentence = before.rsplit(['.', '!', '?', ';']).next().unwrap_or(before);
    !sentence.split(|sign: char| !sign.is_alphabetic()).any(|word| DOUBTS.contains(&word))
}

/// A text on one line, without control characters, as much of it as fits.
fn one_line(text: &str, bytes: usize) -> String {
    let text = &text[..text.floor_char_boundary(bytes * 4)];
    let words = text.split(|sign: char| sign.is_whitespace() || sign.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line[..line.floor_char_boundary(bytes)].to_owned()
}

#[cfg(test)]
mod tests;

//! How much of what was known a session finds out again, before it gets on with the work.
//!
//! A fold over the steps of all sessions of an agent, in their order. It remembers what was read and run by digests, a bounded
//! number of them; it keeps no text.
//!
//! Invariants
//! - WR1  Only what a session does until its first change counts: who has changed something reads again for good reasons.
//! - WR2  What an earlier session of the agent read, changed or ran counts as known. Within a session nothing is "again".
//! - WR3  A message of the model counts once, however often its usage is told.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use perennial_core::work::PhaseRules;

use super::program::looked_at;
use super::{COMMAND_NAMES, LOOK_TOOLS, PATH_NAMES, WorkReader, arguments};
use crate::transcript::step::{Content, Step};

/// Of files and of commands; what comes later is taken to be new.
const REMEMBERED_MAX: usize = 20_000;
/// Messages whose usage may still change.
const MESSAGES_MAX: usize = 10_000;

/// What one session did until its first change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Orientation {
    /// Files that it read and an earlier session had read or changed.
    pub files_again: u64,
    /// Commands that it ran and an earlier session had run; those that only look at a file are files.
    pub commands_again: u64,
    /// Calls, words and thoughts of the model.
    pub steps: u64,
    /// Tokens that were written or read for the first time: without those of a cache.
    pub tokens: u64,
    /// It changed something; without that, all of it counts.
    pub has_changed: bool,
}

/// Folds the steps of one agent, session by session.
#[derive(Debug)]
pub struct Repetition {
    known_files: HashSet<u64>,
    known_commands: HashSet<u64>,
    own_files: HashSet<u64>,
    own_commands: HashSet<u64>,
    /// Tokens by message.
    usage: BTreeMap<u64, u64>,
    work: WorkReader,
    rules: Arc<PhaseRules>,
    now: Orientation,
}

impl Repetition {
    pub fn new(rules: Arc<PhaseRules>) -> Repetition {
        Repetition {
            known_files: HashSet::new(),
            known_commands: HashSet::new(),
            own_files: HashSet::new(),
            own_commands: HashSet::new(),
            usage: BTreeMap::new(),
            work: WorkReader::new(Arc::clone(&rules), None),
            rules,
            now: Orientation::default(),
        }
    }

    /// The session is over, and the next one begins: what it did is known from here on.
    pub fn next_session(&mut self) -> Orientation {
        let mut done = std::mem::take(&mut self.now);
        done.tokens = std::mem::take(&mut self.usage).into_values().sum();
        remember(&mut self.known_files, std::mem::take(&mut self.own_files));
        remember(&mut self.known_commands, std::mem::take(&mut self.own_commands));
        self.work = WorkReader::new(Arc::clone(&self.rules), None);
        done
    }

    pub fn take(&mut self, step: &Step) {
        self.work.take(step);
        // WR1: what it changed is known to the next one all the same. One patch may change several files.
        if matches!(step.content, Content::ToolCall { .. } | Content::ToolResult { .. }) {
            self.own_files.extend(self.work.findings().edited.iter().map(|file| digest(file)));
        }
        let is_changed = self.work.has_changed();
        match &step.content {
            Content::ToolCall { tool, arguments, .. } => self.called(tool, &arguments.text),
            Content::Usage(usage) if !self.now.has_changed => {
                let tokens = &usage.tokens;
                let count = tokens.input + tokens.output + tokens.cache_write();
                if self.usage.len() < MESSAGES_MAX {
                    // WR3
                    self.usage.insert(digest(&usage.message), count);
                }
            }
            Content::Text(_) | Content::Thinking if !self.now.has_changed => self.now.steps += 1,
            Content::Text(_)
            | Content::Thinking
            | Content::Usage(_)
            | Content::Prompt(_)
            | Content::PromptBlocked { .. }
            | Content::Added(_)
            | Content::ToolResult { .. }
            | Content::Compaction(_)
            | Content::Error { .. }
            | Content::RateLimit { .. }
            | Content::LimitReached { .. }
            | Content::Interrupted
            | Content::ConversationChanged { .. } => {}
        }
        self.now.has_changed |= is_changed;
    }

    fn called(&mut self, tool: &str, arguments: &str) {
        let is_early = !self.now.has_changed;
        self.now.steps += u64::from(is_early);
        let is_shell = self.rules.shell_tools.iter().any(|name| name == tool);
        let (mut files, mut command) = (Vec::new(), None);
        if LOOK_TOOLS.contains(&tool) {
            files.extend(arguments::text(arguments, &PATH_NAMES));
        } else if is_shell {
            let line = arguments::text(arguments, &COMMAND_NAMES);
            let line = line.unwrap_or_else(|| arguments.to_owned());
            match looked_at(&line) {
                Some(looked_at) => files = looked_at,
                None => command = Some(line.split_whitespace().collect::<Vec<_>>().join(" ")),
            }
        }
        for file in files.iter().map(|file| digest(file)) {
            if self.own_files.insert(file) && is_early && self.known_files.contains(&file) {
                self.now.files_again += 1;
            }
        }
        if let Some(command) = command.map(|command| digest(&command))
            && self.own_commands.insert(command)
            && is_early
            && self.known_commands.contains(&command)
        {
            self.now.commands_again += 1;
        }
    }
}

fn remember(known: &mut HashSet<u64>, own: HashSet<u64>) {
    let room = REMEMBERED_MAX.saturating_sub(known.len());
    known.extend(own.into_iter().take(room));
}

fn digest(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim_start_matches("./").hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use perennial_core::time::Time;

    use super::*;
    use crate::transcript::step::{Excerpt, Tokens, Usage};

    fn step(content: Content) -> Step {
        Step { id: None, parent: None, time: Some(Time(1)), is_subagent: false, content }
    }

    fn call(tool: &str, arguments: &str) -> [Step; 2] {
        let (call, tool) = (arguments.to_owned(), tool.to_owned());
        let text = Excerpt::default();
        [
            step(Content::ToolCall { call: call.clone(), tool, arguments: Excerpt::of(arguments) }),
            step(Content::ToolResult { call, is_error: false, text }),
        ]
    }

    fn used(message: &str, input: u64) -> Step {
        let tokens = Tokens { input, output: 1, cache_read: 500, ..Tokens::default() };
        step(Content::Usage(Usage { message: message.to_owned(), tokens, ..Usage::default() }))
    }

    fn take(repetition: &mut Repetition, steps: impl IntoIterator<Item = Step>) {
        steps.into_iter().for_each(|step| repetition.take(&step));
    }

    #[test]
    fn what_an_earlier_session_knew_counts_until_the_first_change() {
        let mut repetition = Repetition::new(Arc::default());
        let read = |file: &str| call("Read", &format!(r#"{{"file_path":"{file}"}}"#));
        let run = |line: &str| call("Bash", &format!(r#"{{"command":"{line}"}}"#));
        let edit = |file: &str| call("Edit", &format!(r#"{{"file_path":"{file}"}}"#));
        take(
            &mut repetition,
            [read("a"), read("a"), run("cargo build"), edit("b"), read("c")].concat(),
        );
        let first = repetition.next_session();
        assert_eq!((first.files_again, first.commands_again, first.steps), (0, 0, 4), "WR2");
        assert!(first.has_changed);
        // It reads what was read and what was changed, once for each, by a tool or a shell.
        take(&mut repetition, [used("m1", 5), used("m1", 10)]);
        take(
            &mut repetition,
            [read("a"), read("a"), run("cat b"), run("cargo  build"), read("new")].concat(),
        );
        take(&mut repetition, [edit("d"), read("c")].concat());
        take(&mut repetition, [used("m2", 1000)]);
        let second = repetition.next_session();
        assert_eq!((second.files_again, second.commands_again), (2, 1));
        assert_eq!((second.steps, second.tokens), (6, 11), "WR1, WR3");
        assert_eq!(repetition.next_session(), Orientation::default());
    }
}

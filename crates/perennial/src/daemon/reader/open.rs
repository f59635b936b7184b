//! One conversation that is followed: what its steps come to.
//!
//! Reads a file and keeps count; when to look, and what comes of it, is said elsewhere.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use perennial_core::context::Source;
use perennial_core::observation::{Sign, Wait};
use perennial_engine::host::moment::Moment;
use perennial_engine::transcript::claude::Context;
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::step::{Content, ErrorKind, Excerpt, Step};
use perennial_engine::transcript::tail::Buffer;

use super::{InWindow, Look, Read, Seen};

/// Silence that is told in the log, while the model is awaited and while a tool runs.
const MODEL_LATE: Duration = Duration::from_secs(120);
const TOOL_LATE: Duration = Duration::from_secs(600);

/// A conversation that is followed.
pub struct Open {
    pub look: Look,
    /// Once there is a file of it.
    pub conversation: Option<Conversation>,
    /// Tools that were called and have not answered.
    pub calls: HashSet<String>,
    /// Of the last answer.
    model: String,
    /// How much was said, roughly in tokens.
    said: u64,
    /// When it spoke, or its file grew.
    pub heard: Moment,
    /// Its silence was told.
    pub is_warned: bool,
    /// When to look again.
    pub due: Option<Moment>,
}

impl Open {
    pub fn new(look: Look) -> Open {
        let (calls, model, heard) = (HashSet::new(), String::new(), Moment::ZERO);
        let (conversation, is_warned, due) = (None, false, None);
        Open { look, conversation, calls, model, said: 0, heard, is_warned, due }
    }

    /// After how long its silence is worth a word: a tool may take its time.
    pub fn warned_after(&self) -> Duration {
        if self.calls.is_empty() { MODEL_LATE } else { TOOL_LATE }
    }

    /// How many lines were read.
    pub fn lines(&self) -> u64 {
        self.conversation.as_ref().map_or(0, |conversation| conversation.notes().lines)
    }

    /// Reads what is new: what it comes to, and of which file.
    pub fn update(&mut self, buffer: &mut Buffer) -> Option<(PathBuf, Seen)> {
        // What is older than the turn was told by others, in another turn, or in another session.
        let is_first = self.lines() == 0;
        let Open { look, conversation, calls, model, said, .. } = self;
        let conversation = conversation.as_mut()?;
        let mut signs = Vec::new();
        let updated = conversation.update(buffer, |step| {
            let is_news = step.time.map_or(!is_first, |time| time > look.since);
            signs.extend(sign(step).filter(|_| is_news));
            follow_calls(calls, step);
            *said = said_after(*said, step);
            if let (Content::Usage(usage), false) = (&step.content, step.sidechain) {
                model.clone_from(&usage.model);
            }
        });
        if let Err(error) = updated {
            tracing::warn!(agent = %look.agent, %error, "a transcript can't be read");
            return None;
        }
        let context = match conversation.context() {
            Context::Measured { tokens } => {
                Some(InWindow { tokens, model: model.clone(), source: Source::Table })
            }
            Context::Unknown if *said > 0 => {
                Some(InWindow { tokens: *said, model: String::new(), source: Source::Estimated })
            }
            Context::Unknown | Context::Compacted { .. } => None,
        };
        let figures = conversation.account().total();
        let read = Some(Read { figures, conversation: look.conversation.clone(), context });
        let (agent, number) = (look.agent, look.number);
        let seen = Seen { agent, number, signs, read, silence: None };
        Some((conversation.path().to_owned(), seen))
    }
}

/// So much is in the window once this step has been taken, where nobody counts: four bytes a token,
/// and what a tool call costs besides its words.
fn said_after(said: u64, step: &Step) -> u64 {
    const CALL_TOKENS: u64 = 100;
    let tokens = |text: &Excerpt| (text.text.len() + text.cut_bytes) as u64 / 4;
    match &step.content {
        Content::Compaction(_) => 0,
        Content::Prompt(text) | Content::Text(text) if !step.sidechain => said + tokens(text),
        Content::ToolCall { arguments, .. } if !step.sidechain => {
            said + CALL_TOKENS + tokens(arguments)
        }
        Content::ToolResult { text, .. } if !step.sidechain => said + tokens(text),
        Content::Prompt(_)
        | Content::Text(_)
        | Content::Thinking
        | Content::ToolCall { .. }
        | Content::ToolResult { .. }
        | Content::Usage(_)
        | Content::Error { .. }
        | Content::RateLimit { .. }
        | Content::Interrupted
        | Content::ConversationChanged { .. } => said,
    }
}

/// Keeps the tools that have not answered; a new prompt waits for none of them.
fn follow_calls(calls: &mut HashSet<String>, step: &Step) {
    match &step.content {
        Content::ToolCall { call, .. } if !step.sidechain => drop(calls.insert(call.clone())),
        Content::ToolResult { call, .. } => drop(calls.remove(call)),
        Content::Prompt(_) | Content::Interrupted if !step.sidechain => calls.clear(),
        Content::Prompt(_)
        | Content::Interrupted
        | Content::ToolCall { .. }
        | Content::Text(_)
        | Content::Thinking
        | Content::Usage(_)
        | Content::Compaction(_)
        | Content::Error { .. }
        | Content::RateLimit { .. }
        | Content::ConversationChanged { .. } => {}
    }
}

/// What a step says that no hook does.
fn sign(step: &Step) -> Option<Sign> {
    if step.sidechain {
        return None;
    }
    match &step.content {
        Content::RateLimit { until, .. } => Some(Sign::Waits(Wait::RateLimit(*until))),
        Content::Interrupted => Some(Sign::Waits(Wait::Input)),
        Content::Error { kind: ErrorKind::ContextOverflow, .. } => Some(Sign::Waits(Wait::Failure)),
        Content::Compaction(_) => Some(Sign::Compacted),
        Content::Prompt(_)
        | Content::Text(_)
        | Content::Thinking
        | Content::ToolCall { .. }
        | Content::ToolResult { .. }
        | Content::Usage(_)
        | Content::Error { .. }
        | Content::ConversationChanged { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(content: Content) -> Step {
        Step { id: None, parent: None, time: None, sidechain: false, content }
    }

    fn call(call: &str) -> Content {
        let (tool, arguments) = ("Bash".to_owned(), Excerpt::of("{}"));
        Content::ToolCall { call: call.to_owned(), tool, arguments }
    }

    fn result(call: &str) -> Content {
        Content::ToolResult { call: call.to_owned(), is_error: false, text: Excerpt::of("done") }
    }

    #[test]
    fn a_tool_is_open_until_its_own_result_or_the_next_prompt() {
        let mut calls = HashSet::new();
        let mut open_after = |content| {
            follow_calls(&mut calls, &step(content));
            calls.len()
        };
        assert_eq!(
            [call("a"), call("b"), result("a"), result("x")].map(&mut open_after),
            [1, 2, 1, 1]
        );
        assert_eq!(open_after(Content::Prompt(Excerpt::of("go on"))), 0);
    }

    #[test]
    fn what_was_said_is_counted_and_a_subagents_words_are_not() {
        let said = said_after(0, &step(Content::Prompt(Excerpt::of(&"x".repeat(400)))));
        assert_eq!(said, 100);
        assert!(said_after(said, &step(call("a"))) > said + 99);
        let aside = Step { sidechain: true, ..step(Content::Text(Excerpt::of("long enough"))) };
        assert_eq!(said_after(said, &aside), said);
    }
}

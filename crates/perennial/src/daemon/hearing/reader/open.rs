//! The conversations of one agent, read as they grow: facts, figures, and what is in the window.
//!
//! Reads files and keeps count; when to look is said elsewhere, what comes of it in the core.

use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::context::{CALL_TOKENS, Source, estimated_tokens};
use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::hearing::{READ_AGAIN_AFTER, READ_LEFT_FOR};
use perennial_core::id::SessionNumber;
use perennial_engine::harness::Dialect;
use perennial_engine::host::monotonic::Moment;
use perennial_engine::transcript::account::{Account, ConversationNumber, Figures};
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::facts;
use perennial_engine::transcript::line_reader::ContextUse;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::{Content, Excerpt, Step};
use perennial_engine::transcript::tail::Buffer;

use super::Look;
use crate::daemon::driving::harness::Harnesses;

/// A program has opened its conversation by then; afterwards it is looked for with every other look.
const NAME_WITHIN: Duration = Duration::from_secs(60);

/// The conversations of an agent that are followed.
pub struct Open {
    pub look: Look,
    /// The current one, once there is a file of it.
    current: Option<Conversation>,
    /// The session in which that file was looked for last.
    sought_in: Option<SessionNumber>,
    /// The one that was left for it, while what is written late may still come.
    left: Option<Left>,
    /// What was used in those before it, while there is no current one.
    account: Option<Account>,
    /// Those that were counted, in the order of their numbers.
    counted: Vec<ConversationId>,
    /// Of the last answer.
    model: String,
    /// How much was said, roughly in tokens.
    said: u64,
    /// When it spoke, or its file grew.
    pub heard: Moment,
    /// When to look again.
    pub due: Option<Moment>,
    /// Until then it is not said that nothing came.
    pub silent_look: Moment,
    /// Those of the current one and the one that was left of which everything is kept that they refer to.
    pub whole: Vec<ConversationId>,
    /// The session and the conversation that its program was last seen to have open.
    seen_open: Option<(SessionNumber, ConversationId)>,
    /// When somebody first looked for that, in this session.
    sought_since: Option<(SessionNumber, Moment)>,
}

/// A conversation that the session has left; what it counts is counted with the current one.
struct Left {
    id: ConversationId,
    conversation: Conversation,
    until: Moment,
}

/// A transcript, and whose words it is in.
pub struct TranscriptFile {
    pub dialect: &'static dyn Dialect,
    pub path: PathBuf,
}

/// What a transcript tells of the window.
pub struct InWindow {
    pub tokens: u64,
    pub model: Option<String>,
    pub source: Source,
    /// How much it holds, where the transcript says so.
    pub window: Option<u64>,
}

impl Open {
    pub fn new(look: Look) -> Open {
        let (current, account, counted) = (None, None, Vec::new());
        let (model, said, heard, due) = (String::new(), 0, Moment::ZERO, None);
        let (silent_look, seen_open, sought_since) = (Moment::ZERO, None, None);
        Open {
            look,
            current,
            sought_in: None,
            left: None,
            account,
            counted,
            model,
            said,
            heard,
            due,
            silent_look,
            whole: Vec::new(),
            seen_open,
            sought_since,
        }
    }

    /// Follows what the look is at from here on; what was counted stays counted. The conversation
    /// that is left is read on for a while: its harness writes late.
    pub fn follow(&mut self, look: Look, now: Moment) {
        if self.look.conversation != look.conversation {
            if let Some(mut conversation) = self.current.take() {
                let mut account = Account::new(Prices::built_in());
                conversation.exchange_account(&mut account);
                self.account = Some(account);
                let (id, until) = (self.look.conversation.clone(), now + READ_LEFT_FOR);
                self.left = Some(Left { id, conversation, until });
            }
            (self.model, self.said) = (String::new(), 0);
        }
        self.look = look;
    }

    /// When to look again before anything is to be said of silence: in a turn that nobody else tells
    /// of, and while it is not known which conversation a new session is in.
    pub fn next_poll(&mut self, harnesses: &Harnesses, now: Moment) -> Option<Moment> {
        let preset = harnesses.preset(&self.look.harness).ok()?;
        let files = &preset.conversation;
        let number = self.look.number;
        let is_named = self.seen_open.as_ref().is_some_and(|(of, _)| *of == number);
        self.sought_since.take_if(|(of, _)| *of != number);
        let (_, since) = *self.sought_since.get_or_insert((number, now));
        let awaited = files.lock.is_some() && !is_named && now.saturating_sub(since) < NAME_WITHIN;
        let read_every = files.read_every_ms.filter(|_| self.look.is_in_turn);
        let awaited = awaited.then(|| now + READ_AGAIN_AFTER);
        read_every.map(|every| now + Duration::from_millis(every)).into_iter().chain(awaited).min()
    }

    /// Which conversation the session's program has open, where that is seen for the first time.
    pub fn named(&mut self, harnesses: &Harnesses) -> Option<Fact> {
        let Look { agent, number, process, harness, conversation, earlier, .. } = &self.look;
        let process = (*process)?;
        let known = |id: &ConversationId| id == conversation || earlier.contains(id);
        let open = harnesses.open_conversations(*agent, harness, process.pid);
        let has_current = open.contains(conversation);
        // One that is not known yet was begun; several of them are not told apart.
        let mut new = open.into_iter().filter(|id| !known(id));
        let (id, how) = match (new.next(), new.next()) {
            (Some(id), None) if has_current => (id, Followed::Cleared),
            (Some(id), None) => (id, Followed::Started),
            (None, _) if has_current => (conversation.clone(), Followed::Resumed),
            (Some(_) | None, _) => return None,
        };
        let seen = (*number, id.clone());
        if self.seen_open.as_ref() == Some(&seen) {
            return None;
        }
        self.seen_open = Some(seen);
        Some(Fact::new(Origin::Kernel, Seen::SessionBegan(how)).within(Some(id)))
    }

    /// A while has passed: what was left is let go if nothing came late, or for long enough.
    pub fn let_go_of_left(&mut self, has_grown: bool, now: Moment) {
        self.left.take_if(|left| !has_grown || left.until <= now);
    }

    /// How many lines were read of the current conversation, and of the one that was left for it.
    pub fn lines(&self) -> u64 {
        let left = self.left.as_ref().map(|left| &left.conversation);
        let lines = |conversation: &Conversation| conversation.notes().lines;
        self.current.iter().chain(left).map(lines).sum()
    }

    /// The conversation that was left, and its file.
    pub fn left(&self) -> Option<(&ConversationId, &Path)> {
        self.left.as_ref().map(|left| (&left.id, left.conversation.path()))
    }

    pub fn path(&self) -> Option<&Path> {
        self.current.as_ref().map(Conversation::path)
    }

    pub fn figures(&self) -> Option<Figures> {
        self.current.as_ref().map(|conversation| conversation.account().total())
    }

    /// Reads what is new, of earlier conversations once, and says when all of it is told.
    pub fn update(
        &mut self,
        buffer: &mut Buffer,
        find: impl Fn(&ConversationId) -> Option<TranscriptFile>,
    ) -> Vec<Fact> {
        let mut told = Vec::new();
        self.read_left(buffer, &mut told);
        self.leave_former_file(&find);
        if self.current.is_none() {
            self.read_earlier(buffer, &find, &mut told);
            let conversation = self.look.conversation.clone();
            self.current = find(&conversation).map(|found| self.counted(&conversation, found));
            self.sought_in = Some(self.look.number);
        }
        let id = self.look.conversation.clone();
        if let Some(mut conversation) = self.current.take() {
            let Open { model, said, .. } = self;
            read(&id, &mut conversation, buffer, &mut told, |step| {
                *said = said_after(*said, step);
                if let (Content::Usage(usage), false) = (&step.content, step.is_subagent) {
                    model.clone_from(&usage.model);
                }
            });
            self.current = Some(conversation);
        }
        told.push(Fact::new(Origin::Transcript, Seen::CaughtUp).within(Some(id)));
        told
    }

    /// A session may have begun the conversation's file anew in another place: it is looked for once in
    /// each session, and again while it is not where it was. What was counted stays counted.
    fn leave_former_file(&mut self, find: &impl Fn(&ConversationId) -> Option<TranscriptFile>) {
        let Some(current) = &self.current else { return };
        if self.sought_in == Some(self.look.number) && current.path().exists() {
            return;
        }
        self.sought_in = Some(self.look.number);
        let found = find(&self.look.conversation);
        if found.is_none_or(|found| found.path == current.path()) {
            return;
        }
        self.account = self.current.take().map(Conversation::into_account);
        (self.model, self.said) = (String::new(), 0);
    }

    /// What is in the window of the current conversation, where that can be said.
    pub fn window(&self) -> Option<InWindow> {
        let model = Some(self.model.clone()).filter(|model| !model.is_empty());
        let current = self.current.as_ref()?;
        let window = current.window();
        match current.context() {
            ContextUse::Measured { tokens } => {
                let source = if window.is_some() { Source::Transcript } else { Source::Table };
                Some(InWindow { tokens, model, source, window })
            }
            ContextUse::Unknown if self.said > 0 => {
                let (tokens, model, source) = (self.said, None, Source::Estimated);
                Some(InWindow { tokens, model, source, window })
            }
            ContextUse::Unknown | ContextUse::Compacted { .. } => None,
        }
    }

    /// What came late to the conversation that was left.
    fn read_left(&mut self, buffer: &mut Buffer, told: &mut Vec<Fact>) {
        let Some(mut left) = self.left.take() else { return };
        let account = match &mut self.current {
            Some(current) => current.account_mut(),
            None => self.account.get_or_insert_with(|| Account::new(Prices::built_in())),
        };
        left.conversation.exchange_account(account);
        read(&left.id, &mut left.conversation, buffer, told, |_| {});
        left.conversation.exchange_account(account);
        self.left = Some(left);
    }

    fn read_earlier(
        &mut self,
        buffer: &mut Buffer,
        find: &impl Fn(&ConversationId) -> Option<TranscriptFile>,
        told: &mut Vec<Fact>,
    ) {
        for id in self.look.earlier.clone() {
            if self.counted.contains(&id) {
                continue;
            }
            let Some(found) = find(&id) else { continue };
            let mut conversation = self.counted(&id, found);
            read(&id, &mut conversation, buffer, told, |_| {});
            self.account = Some(conversation.into_account());
        }
    }

    /// The conversation in this file, counted together with those before it.
    fn counted(&mut self, id: &ConversationId, found: TranscriptFile) -> Conversation {
        let known = self.counted.iter().position(|counted| counted == id);
        let number = known.unwrap_or_else(|| {
            self.counted.push(id.clone());
            self.counted.len() - 1
        });
        let number = ConversationNumber::try_from(number).unwrap_or(ConversationNumber::MAX);
        let account = self.account.take().unwrap_or_else(|| Account::new(Prices::built_in()));
        Conversation::new(found.dialect, found.path, account, number)
    }
}

/// Reads what is new in one conversation, as facts.
fn read(
    id: &ConversationId,
    conversation: &mut Conversation,
    buffer: &mut Buffer,
    told: &mut Vec<Fact>,
    mut each: impl FnMut(&Step),
) {
    let is_old = conversation.notes().lines == 0;
    let updated = conversation.update(buffer, |step| {
        let fact = facts::fact(step).map(|fact| Fact { is_old, ..fact });
        told.extend(fact.map(|fact| fact.within(Some(id.clone()))));
        each(step);
    });
    if let Err(error) = updated {
        tracing::warn!(conversation = %id, %error, "a transcript can't be read");
    }
}

/// Roughly how many tokens are in the window once this step has been taken, where nobody counts them.
fn said_after(said: u64, step: &Step) -> u64 {
    let tokens = |text: &Excerpt| estimated_tokens((text.text.len() + text.cut_bytes) as u64);
    if step.is_subagent {
        return said;
    }
    match &step.content {
        Content::Compaction(_) => 0,
        Content::Prompt(text) | Content::Text(text) | Content::Added(text) => said + tokens(text),
        Content::ToolCall { arguments, .. } => said + CALL_TOKENS + tokens(arguments),
        Content::ToolResult { text, .. } => said + tokens(text),
        Content::Thinking
        | Content::Usage(_)
        | Content::Error { .. }
        | Content::RateLimit { .. }
        | Content::LimitReached { .. }
        | Content::Interrupted
        | Content::PromptBlocked { .. }
        | Content::ConversationChanged { .. } => said,
    }
}

#[cfg(test)]
mod tests {
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
            let mut open = Open::new(look(SessionNumber::FIRST, "a", &[]));
            open.update(&mut buffer, find);
            assert_eq!(open.path(), Some(&*files[0]));
            std::fs::remove_file(&files[0]).unwrap();
            open.follow(look(next_number, "a", &[]), Moment::ZERO);
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
        let mut open = Open::new(look(SessionNumber::FIRST, "a", &[]));
        open.update(&mut buffer, find);
        std::fs::write(&files[0], answer("m3", 3)).unwrap();
        open.follow(look(SessionNumber(2), "a", &[]), Moment::ZERO);
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
        let look =
            |conversation, earlier: &[&str]| look(SessionNumber::FIRST, conversation, earlier);
        write("a", answer("m1", 1) + &answer("m2", 2));
        let mut buffer = Buffer::default();
        let mut open = Open::new(look("a", &[]));
        let facts = open.update(&mut buffer, find);
        let seen: Vec<&Seen> = facts.iter().map(|fact| &fact.seen).collect();
        assert_eq!(seen, [&Seen::Answered, &Seen::Answered, &Seen::CaughtUp]);
        assert!(facts[0].is_old && !facts[2].is_old);
        let input = |open: &Open| open.figures().map(|figures| figures.tokens.input);
        assert_eq!(input(&open), Some(20));
        // A fork of it, with an answer of its own.
        write("b", answer("m1", 1) + &answer("m2", 2) + &answer("m3", 3));
        open.follow(look("b", &["a"]), Moment::ZERO);
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
        let mut again = Open::new(look("b", &["a"]));
        again.update(&mut buffer, find);
        assert_eq!(input(&again), Some(30));
        // Back to the first: nothing counts twice.
        again.follow(look("a", &["b"]), Moment::ZERO);
        again.update(&mut buffer, find);
        assert_eq!(input(&again), Some(30));
    }
}

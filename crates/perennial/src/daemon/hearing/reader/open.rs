//! The conversations of one agent, read as they grow: facts, figures, and what is in the window.
//!
//! Reads files and keeps count; when to look is said elsewhere, what comes of it in the core.

use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::context::{CALL_TOKENS, Source, estimated_tokens};
use perennial_core::conversation::{ConversationId, Followed};
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::hearing::{READ_AGAIN_AFTER, READ_COMPACTION_FOR, READ_LEFT_FOR};
use perennial_core::id::SessionNumber;
use perennial_core::work::{Findings, RuleBook};
use perennial_engine::harness::Dialect;
use perennial_engine::host::monotonic::Moment;
use perennial_engine::transcript::account::{Account, ConversationNumber, Figures};
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::facts;
use perennial_engine::transcript::line_reader::ContextUse;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::step::{Content, Excerpt, Step};
use perennial_engine::transcript::tail::Buffer;
use perennial_engine::work::{Shown, WorkReader};

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
    /// What the session's steps show of its work, and how many of them were told.
    work: WorkReader,
    told_steps: u64,
    /// Until then a compaction that was announced is looked for.
    compaction_until: Option<Moment>,
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
    pub fn new(look: Look, rules: &RuleBook) -> Open {
        let work = work(&look, rules);
        // Nobody has looked for it yet.
        let look = Look { compaction_announced: None, ..look };
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
            work,
            told_steps: 0,
            compaction_until: None,
        }
    }

    /// Follows what the look is at from here on; what was counted stays counted. The conversation
    /// that is left is read on for a while: its harness writes late.
    pub fn follow(&mut self, look: Look, rules: &RuleBook, now: Moment) {
        // What a person had the session forget is no work of the conversation that it is in now.
        let is_other = self.look.conversation != look.conversation;
        let is_same_session = self.look.number == look.number;
        if !is_same_session || is_other {
            // Of a session that goes on, that nothing is known any more is news.
            let told_steps = if is_same_session { u64::MAX } else { 0 };
            (self.work, self.told_steps) = (work(&look, rules), told_steps);
        }
        if is_other {
            if let Some(mut conversation) = self.current.take() {
                let mut account = Account::new(Prices::built_in());
                conversation.exchange_account(&mut account);
                self.account = Some(account);
                let (id, until) = (self.look.conversation.clone(), now + READ_LEFT_FOR);
                self.left = Some(Left { id, conversation, until });
            }
            (self.model, self.said) = (String::new(), 0);
        }
        if look.compaction_announced != self.look.compaction_announced {
            let is_awaited = look.compaction_announced.is_some();
            self.compaction_until = is_awaited.then_some(now + READ_COMPACTION_FOR);
        }
        self.look = look;
    }

    /// When to look again before anything is to be said of silence: in a turn that nobody else tells
    /// of, while a compaction is awaited, and while it is not known which conversation a new session is in.
    pub fn next_poll(&mut self, harnesses: &Harnesses, now: Moment) -> Option<Moment> {
        let preset = harnesses.preset(&self.look.harness).ok()?;
        let files = &preset.conversation;
        let number = self.look.number;
        let is_named = self.seen_open.as_ref().is_some_and(|(of, _)| *of == number);
        self.sought_since.take_if(|(of, _)| *of != number);
        let (_, since) = *self.sought_since.get_or_insert((number, now));
        let awaited = files.lock.is_some() && !is_named && now.saturating_sub(since) < NAME_WITHIN;
        let read_every = files.read_every_ms.filter(|_| self.look.is_in_turn);
        let awaited = awaited || self.compaction_until.is_some_and(|until| now < until);
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

    /// Whether steps of the session were read since this was last asked.
    pub fn has_worked(&mut self) -> bool {
        let steps = self.work.steps();
        std::mem::replace(&mut self.told_steps, steps) != steps
    }

    pub fn findings(&self) -> &Findings {
        self.work.findings()
    }

    /// How many bytes and steps of the current conversation were read; none before there is a file of it.
    pub fn read_so_far(&self) -> (u64, u64) {
        (self.current.as_ref().map_or(0, Conversation::bytes_read), self.work.steps())
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
            let Open { model, said, work, compaction_until, .. } = self;
            read(&id, (&mut conversation, work), buffer, &mut told, |step| {
                *said = said_after(*said, step);
                let is_compaction = matches!(step.content, Content::Compaction(_));
                compaction_until.take_if(|_| is_compaction && !step.is_subagent);
                if let (Content::Usage(usage), false) = (&step.content, step.is_subagent) {
                    model.clone_from(&usage.model);
                }
            });
            self.current = Some(conversation);
        }
        if !self.look.is_in_turn {
            told.extend(self.work.turn_over().map(|shown| worked(shown, &id)));
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
        read(&left.id, (&mut left.conversation, &mut self.work), buffer, told, |_| {});
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
            read(&id, (&mut conversation, &mut self.work), buffer, told, |_| {});
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

fn worked(shown: Shown, id: &ConversationId) -> Fact {
    let fact = Fact::new(Origin::Transcript, Seen::Worked(shown.indicator));
    fact.at(shown.at).within(Some(id.clone()))
}

/// The fold of a session that begins.
fn work(look: &Look, rules: &RuleBook) -> WorkReader {
    WorkReader::new(rules.rules(look.role.as_deref(), &look.harness), look.began_at)
}

/// Reads what is new in one conversation, as facts.
fn read(
    id: &ConversationId,
    (conversation, work): (&mut Conversation, &mut WorkReader),
    buffer: &mut Buffer,
    told: &mut Vec<Fact>,
    mut each: impl FnMut(&Step),
) {
    let is_old = conversation.notes().lines == 0;
    let updated = conversation.update(buffer, |step| {
        let fact = facts::fact(step).map(|fact| Fact { is_old, ..fact });
        told.extend(fact.map(|fact| fact.within(Some(id.clone()))));
        let symptom = facts::symptom(step).map(|fact| Fact { is_old, ..fact });
        told.extend(symptom.map(|fact| fact.within(Some(id.clone()))));
        let shown = work.take(step).into_iter();
        told.extend(shown.map(|shown| Fact { is_old, ..worked(shown, id) }));
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
mod tests;

//! The contents of an agent's conversations, page by page: from the vendor's files, or from our copies.
//!
//! Paths follow from the vendor's rule and the conversations' ids; a path that a session names is not
//! trusted.

use perennial_store::Store;
use std::io;
use std::path::{Path, PathBuf};

use perennial_core::agent::Agent;
use perennial_core::conversation::{ConversationId, Conversations};
use perennial_core::entity::Entity;
use perennial_core::event::AgentEvent;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::session::Phase;
use perennial_core::time::Time;
use perennial_engine::harness::{Dialect, conversation, session_texts};
use perennial_engine::transcript::page::{self, Place, Source};
use perennial_engine::transcript::step::{Content, Step};
use perennial_store::journal::{ReadError, Version};

use crate::daemon::driving::harness::Harnesses;

/// At most this many conversations of an agent are read, newest first …
const CONVERSATIONS_MAX: usize = 64;
/// … and this many files: a place names each of them, and travels in the head of a request.
const FILES_MAX: usize = 256;
const EVENTS: usize = 1000;
/// At most this many pages are read for what is counted over all of them.
const PAGES_MAX: usize = 1000;

/// Whose conversations, and how the agent was when that was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    agent: AgentId,
    harness: String,
    dir: String,
    /// The newest first.
    conversations: Vec<ConversationId>,
    session: Option<(SessionNumber, Phase)>,
}

impl Subject {
    /// Nothing for a bare command: it has no conversations.
    pub fn of(agent: &Agent) -> Option<Subject> {
        if agent.launch.is_bare() {
            return None;
        }
        let conversations = agent.conversations.iter().flat_map(Conversations::newest_first);
        Some(Subject {
            agent: agent.id,
            harness: agent.launch.harness.clone(),
            dir: agent.launch.dir.clone(),
            conversations: conversations.take(CONVERSATIONS_MAX).cloned().collect(),
            session: agent.session.as_ref().map(|session| (session.number, session.phase)),
        })
    }

    pub fn agent(&self) -> AgentId {
        self.agent
    }

    pub fn newest_session(&self) -> u32 {
        self.session.map_or(0, |(number, _)| number.0)
    }

    /// Where something may be written that a page would have.
    pub fn directories(&self, harnesses: &Harnesses) -> Vec<PathBuf> {
        // Earlier conversations are over.
        let current = self.conversations.first();
        let vendor = harnesses.vendor(self.agent, &self.harness);
        let mut directories = match (current, vendor) {
            (Some(current), Some((preset, home))) => {
                conversation::directories(&preset, &home, &self.dir, current)
            }
            (None, _) | (_, None) => Vec::new(),
        };
        directories.truncate(FILES_MAX);
        directories
    }

    pub fn harness(&self) -> &str {
        &self.harness
    }

    pub fn newest_conversation(&self) -> Option<&ConversationId> {
        self.conversations.first()
    }

    /// Where the newest conversation lies, whatever is left of it.
    pub fn newest(&self, harnesses: &Harnesses) -> Option<(&'static dyn Dialect, PathBuf)> {
        let id = self.conversations.first()?;
        let (preset, vendor_home) = harnesses.vendor(self.agent, &self.harness)?;
        let theirs = conversation::find(&preset, &vendor_home, id);
        Some((preset.dialect, self.longer(harnesses, id, theirs)))
    }

    /// What is shorter than our copy of it was lost, and perhaps begun again.
    fn longer(
        &self,
        harnesses: &Harnesses,
        id: &ConversationId,
        theirs: Option<PathBuf>,
    ) -> PathBuf {
        let ours = harnesses.copy(&self.harness, id);
        theirs.filter(|path| length(path) >= length(&ours)).unwrap_or(ours)
    }

    /// The files that there are, each with whose it is; nothing for a harness without a preset.
    fn files(&self, harnesses: &Harnesses) -> Option<Files> {
        let (preset, vendor_home) = harnesses.vendor(self.agent, &self.harness)?;
        let (mut sources, mut owners) = (Vec::new(), Vec::new());
        let mut room = FILES_MAX - self.conversations.len();
        // What was said before a conversation began anew.
        for id in &self.conversations {
            for path in harnesses.earlier_copies(&self.harness, id).into_iter().take(room) {
                room -= 1;
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                sources.push(Source { path, name, is_subagent: false });
                owners.push((id.clone(), None));
            }
        }
        let mut add = |id: &ConversationId, path: PathBuf, subagent: Option<String>| {
            let name = format!("{id}/{}", subagent.as_deref().unwrap_or_default());
            sources.push(Source { path, name, is_subagent: subagent.is_some() });
            owners.push((id.clone(), subagent));
        };
        let mut subagents = Vec::new();
        for id in &self.conversations {
            let rule = &preset.conversation.transcript;
            let theirs = conversation::find(&preset, &vendor_home, id);
            let theirs = theirs.or_else(|| rule.place(&vendor_home, &self.dir, id));
            let found = theirs.iter().flat_map(|path| preset.dialect.subagents(path));
            subagents.extend(found.map(|path| (id, path)));
            add(id, self.longer(harnesses, id, theirs), None);
        }
        let left_out = subagents.len().saturating_sub(room);
        for (id, path) in subagents.into_iter().take(room) {
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            add(id, path, name);
        }
        Some(Files { dialect: preset.dialect, sources, owners, left_out })
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

#[derive(Debug)]
struct Files {
    dialect: &'static dyn Dialect,
    sources: Vec<Source>,
    /// Of each source the conversation and the subagent.
    owners: Vec<(ConversationId, Option<String>)>,
    left_out: usize,
}

/// A page, each step with the conversation and the subagent that it is of.
#[derive(Debug)]
pub struct StepPage {
    pub steps: Vec<(ConversationId, Option<String>, Step)>,
    pub place: Place,
    pub is_last: bool,
    pub left_out: usize,
}

/// From when to when; nothing for until now.
pub type Span = (Time, Option<Time>);

/// Reads the next page. It reads files: not for the driver's thread, nor the runtime's.
pub fn read(
    harnesses: &Harnesses,
    subject: &Subject,
    place: &Place,
    span: Option<Span>,
) -> StepPage {
    let Some(files) = subject.files(harnesses) else {
        return StepPage { steps: Vec::new(), place: place.clone(), is_last: true, left_out: 0 };
    };
    let Files { dialect, sources, owners, left_out } = files;
    let keep = |step: &Step| is_shown(step) && is_within(step, span);
    let page = page::read(dialect, &sources, place, keep);
    for (path, error) in &page.unread {
        report(path, error);
    }
    let owned = |(index, step): (usize, Step)| {
        let (conversation, subagent) = owners[index].clone();
        (conversation, subagent, step)
    };
    let steps = page.steps.into_iter().map(owned).collect();
    StepPage { steps, place: page.place, is_last: page.is_last, left_out }
}

/// Tells every step of an agent's conversations, in the order of their times; of very long ones the beginning. Returns
/// how many there were; nothing if a part can't be read.
pub fn each_step(
    harnesses: &Harnesses,
    subject: &Subject,
    mut each: impl FnMut(&Step),
) -> Option<usize> {
    let files = subject.files(harnesses)?;
    let (mut place, mut steps) = (Place::default(), 0);
    let mut is_whole = true;
    for _ in 0..PAGES_MAX {
        let page = page::read(files.dialect, &files.sources, &place, |_| true);
        page.unread.iter().for_each(|(path, error)| report(path, error));
        is_whole &= page.unread.is_empty();
        steps += page.steps.len();
        page.steps.iter().for_each(|(_, step)| each(step));
        if page.is_last {
            break;
        }
        place = page.place;
    }
    is_whole.then_some(steps)
}

fn report(path: &Path, error: &io::Error) {
    tracing::warn!(path = %path.display(), %error, "part of a conversation can't be read");
}

/// Usage is told as sums. Of what hooks said our own texts are shown: they explain what the agent does next.
fn is_shown(step: &Step) -> bool {
    match &step.content {
        Content::Added(text) => session_texts::is_ours(&text.text),
        Content::Usage(_) => false,
        Content::Prompt(_)
        | Content::PromptBlocked { .. }
        | Content::Text(_)
        | Content::Thinking
        | Content::ToolCall { .. }
        | Content::ToolResult { .. }
        | Content::Compaction(_)
        | Content::Error { .. }
        | Content::RateLimit { .. }
        | Content::LimitReached { .. }
        | Content::Interrupted
        | Content::ConversationChanged { .. } => true,
    }
}

fn is_within(step: &Step, span: Option<Span>) -> bool {
    span.is_none_or(|(from, to)| {
        step.time.is_some_and(|time| time >= from && to.is_none_or(|to| time <= to))
    })
}

/// When a session began and ended, by the journal; nothing for one that was never started. Read from
/// the newest event back: the sessions that are asked for are mostly the last ones.
pub fn span(
    journal: &dyn Store,
    agent: AgentId,
    session: SessionNumber,
) -> Result<Option<Span>, ReadError> {
    let (mut end, mut before) = (None, Version::END);
    loop {
        let records = journal.read_stream_back(&Entity::Agent(agent), before, EVENTS)?;
        let Some(first) = records.last() else { return Ok(None) };
        before = first.version;
        for record in &records {
            let Ok(event) = &record.event else { continue };
            let Some((_, told)) = event.of_agent() else { continue };
            if matches!(told, AgentEvent::SessionEnded { number, .. } if *number == session) {
                end = Some(record.at);
            }
            if let AgentEvent::SessionStarting { number, .. } = told
                && *number <= session
            {
                return Ok((*number == session).then_some((record.at, end)));
            }
        }
    }
}

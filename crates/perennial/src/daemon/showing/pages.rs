//! What an agent's conversations hold, page by page: the vendor's files, else our copies.
//!
//! Paths are made from the vendor's rule and the conversations' ids; none that a session names is
//! believed.

use perennial_store::Store;
use std::io;
use std::path::{Path, PathBuf};

use perennial_core::agent::Agent;
use perennial_core::conversation::ConversationId;
use perennial_core::entity::Entity;
use perennial_core::event::AgentEvent;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::session::Phase;
use perennial_core::time::Time;
use perennial_engine::transcript::claude;
use perennial_engine::transcript::page::{self, Place, Source};
use perennial_engine::transcript::step::{Content, Step};
use perennial_store::journal::{ReadError, Version};

use crate::daemon::driving::harness::Harnesses;

/// Of an agent so many conversations are read, the newest …
const CONVERSATIONS_MAX: usize = 64;
/// … and so many files: a place names each, and is part of a request's head.
const FILES_MAX: usize = 256;
const EVENTS: usize = 1000;

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
        let known = agent.conversations.iter();
        let conversations = known
            .flat_map(|known| std::iter::once(&known.current).chain(known.earlier.iter().rev()));
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
        let mut directories = Vec::new();
        // Earlier conversations are over.
        let current = &self.conversations[..self.conversations.len().min(1)];
        let found = harnesses.transcripts(self.agent, &self.harness, &self.dir, current);
        for theirs in found.into_iter().flatten() {
            let subagents = theirs.with_extension("").join("subagents");
            directories.extend(theirs.parent().map(Path::to_owned));
            directories.extend(
                std::fs::read_dir(&subagents).into_iter().flatten().flatten().filter_map(|entry| {
                    entry.file_type().is_ok_and(|kind| kind.is_dir()).then(|| entry.path())
                }),
            );
            directories.push(subagents);
        }
        directories.truncate(FILES_MAX);
        directories
    }

    /// The files that there are, each with whose it is.
    fn files(&self, harnesses: &Harnesses) -> Files {
        let ids = &self.conversations;
        let theirs = harnesses.transcripts(self.agent, &self.harness, &self.dir, ids);
        let mut files = Files::default();
        let mut subagents = Vec::new();
        for (id, theirs) in ids.iter().zip(theirs.unwrap_or_default()) {
            subagents.extend(claude::subagents(&theirs).into_iter().map(|path| (id, path)));
            let ours = harnesses.copy(&self.harness, id);
            // What is shorter than our copy of it was lost, and perhaps begun again.
            let path = if length(&theirs) >= length(&ours) { theirs } else { ours };
            files.add(id, path, None);
        }
        let room = FILES_MAX - files.sources.len();
        files.left_out = subagents.len().saturating_sub(room);
        for (id, path) in subagents.into_iter().take(room) {
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            files.add(id, path, name);
        }
        files
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

#[derive(Debug, Default)]
struct Files {
    sources: Vec<Source>,
    /// Of each source the conversation and the subagent.
    owners: Vec<(ConversationId, Option<String>)>,
    left_out: usize,
}

impl Files {
    fn add(&mut self, id: &ConversationId, path: PathBuf, subagent: Option<String>) {
        let name = format!("{id}/{}", subagent.as_deref().unwrap_or_default());
        self.sources.push(Source { path, name, is_subagent: subagent.is_some() });
        self.owners.push((id.clone(), subagent));
    }
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
    let Files { sources, owners, left_out } = subject.files(harnesses);
    let page = page::read(&sources, place, |step| is_shown(step) && is_within(step, span));
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

fn report(path: &Path, error: &io::Error) {
    tracing::warn!(path = %path.display(), %error, "part of a conversation can't be read");
}

/// Usage is told as sums; what hooks said is no part of the talk.
fn is_shown(step: &Step) -> bool {
    !matches!(step.content, Content::Usage(_) | Content::Added(_))
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
            match told {
                AgentEvent::SessionStarting { number, .. } if *number == session => {
                    return Ok(Some((record.at, end)));
                }
                AgentEvent::SessionStarting { number, .. } if *number < session => return Ok(None),
                _ => {}
            }
        }
    }
}

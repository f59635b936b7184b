//! What the steps of one session show of its work, read from its conversation at once.
//!
//! For a checkpoint of a session that the reader's thread has not read: one that ended while no daemon ran, or that
//! ended before the first look at it. Reads one file of bounded length, on whichever thread asks; keeps nothing.

use std::sync::Arc;

use perennial_core::agent::Agent;
use perennial_core::checkpoint::Position;
use perennial_core::entity::Entity;
use perennial_core::event::AgentEvent;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::time::Time;
use perennial_core::work::PhaseRules;
use perennial_engine::transcript::account::Account;
use perennial_engine::transcript::conversation::Conversation;
use perennial_engine::transcript::prices::Prices;
use perennial_engine::transcript::tail::Buffer;
use perennial_engine::work::WorkReader;
use perennial_store::Store;
use perennial_store::journal::{ReadError, Version};

use super::reader::{FoundWork, Reader};
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::showing::pages::Subject;

/// A longer conversation is not read: whoever waits for the checkpoint waits for this, too.
const READ_BYTES_MAX: u64 = 64 << 20;
const PAGE: usize = 200;

/// A session whose steps are to be read.
#[derive(Debug)]
pub struct PastSession {
    agent: AgentId,
    number: SessionNumber,
    subject: Subject,
    rules: Arc<PhaseRules>,
    /// How far our clock is ahead of the one that dates transcripts.
    ahead_micros: u64,
}

impl PastSession {
    /// Nothing for a session that has no conversation, or of which the reader has all there is to know.
    pub fn unread(
        reader: &Reader,
        fleet: &Fleet,
        agent: &Agent,
        number: SessionNumber,
    ) -> Option<PastSession> {
        if reader.found(agent.id).is_some_and(|found| found.number == number) {
            return None;
        }
        Some(PastSession {
            agent: agent.id,
            number,
            subject: Subject::of(agent)?,
            rules: reader.rules().rules(agent.role.as_deref(), &agent.launch.harness),
            ahead_micros: u64::try_from(fleet.behind().as_micros()).unwrap_or(0),
        })
    }

    pub fn read(&self, journal: &dyn Store, harnesses: &Harnesses) -> Option<FoundWork> {
        let (dialect, path) = self.subject.newest(harnesses)?;
        let length = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?.len();
        if length > READ_BYTES_MAX {
            tracing::info!(agent = %self.agent, length, "a conversation is too long to be read for a checkpoint");
            return None;
        }
        // Without its date, all of the conversation counts as its work.
        let began_at = self.began_at(journal).ok().flatten();
        let mut work = WorkReader::new(self.rules.clone(), began_at);
        let account = Account::new(Prices::built_in());
        let mut conversation = Conversation::new(dialect, path, account, 0);
        let read = conversation.update(&mut Buffer::default(), |step| _ = work.take(step));
        if let Err(error) = read {
            tracing::warn!(agent = %self.agent, %error, "a conversation can't be read for a checkpoint");
            return None;
        }
        let position = Position {
            conversation: self.subject.newest_conversation()?.to_string(),
            bytes: conversation.bytes_read(),
            steps: work.steps(),
        };
        let (number, findings) = (self.number, work.findings().clone());
        Some(FoundWork { number, findings, position: Some(position) })
    }

    /// When the session was started, by the clock that dates transcripts.
    fn began_at(&self, journal: &dyn Store) -> Result<Option<Time>, ReadError> {
        let mut before = Version::END;
        loop {
            let page = journal.read_stream_back(&Entity::Agent(self.agent), before, PAGE)?;
            let Some(first) = page.last() else { return Ok(None) };
            before = first.version;
            for event in page.iter().filter_map(|record| record.event.as_ref().ok()) {
                let Some((_, AgentEvent::SessionStarting { number, .. })) = event.of_agent() else {
                    continue;
                };
                if *number <= self.number {
                    let at = (*number == self.number).then_some(event.at);
                    return Ok(at.map(|at| Time(at.0.saturating_sub(self.ahead_micros))));
                }
            }
        }
    }
}

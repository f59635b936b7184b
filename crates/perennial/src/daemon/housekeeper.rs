//! The thread that removes recordings and copies of conversations once the journal says that they are pruned or
//! cleaned, and nothing else; and one that ends by itself, which holds the table of messages against the journal at the
//! daemon's start.
//!
//! If the configuration limits how long recordings are kept, it lists them at the daemon's start and once a day, and
//! tells the driver; what is to go is the core's to say. What an earlier daemon recorded and had no time for is
//! removed at the start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use perennial_api::Home;
use perennial_core::cleaning;
use perennial_core::conversation::ConversationId;
use perennial_core::entity::Entity;
use perennial_core::event::{NodeEvent, What};
use perennial_core::id::{AgentId, NodeId, SessionNumber};
use perennial_core::retention::{Recordings, SessionsKnown};
use perennial_engine::harness::copies;
use perennial_engine::host::recording::removal;
use perennial_store::journal::{ReadError, Seq, Version};
use perennial_store::projection::MessageFault;
use perennial_store::{Store, recall};
use rustix::process::setpriority_process;
use tokio::sync::oneshot;

use crate::daemon::driving::driver::{Closing, DriverHandle, FleetView, Incoming};
use crate::error_chain::chain;

/// How often it is looked for recordings that are older than they are kept.
const LOOK_EVERY: Duration = Duration::from_secs(24 * 3600);
/// Of a thread: the kernel's own measure, from -20 to 19.
const LOWEST_PRIORITY: i32 = 19;
/// Of faults with messages, at most this many are logged one by one.
const FAULTS_LOGGED: usize = 20;
/// Records are read in parts of at most this many.
const PAGE: usize = 500;

/// The way to the thread.
#[derive(Debug, Clone)]
pub struct Housekeeper {
    chores: Sender<Chore>,
    /// What was wrong with messages when the daemon started; empty until it has been looked at.
    message_faults: Arc<OnceLock<Vec<MessageFault>>>,
}

#[derive(Debug)]
enum Chore {
    Remove(AgentId, Vec<SessionNumber>),
    /// Our copies of these conversations of a harness, once nobody writes to them.
    RemoveCopies(String, Vec<ConversationId>, Receiver<()>),
    /// Tell when everything before this is done.
    Settle(oneshot::Sender<()>),
}

impl Housekeeper {
    /// `is_limited`: recordings are not kept for ever.
    pub fn start(
        home: &Home,
        (journal, node): (Arc<dyn Store>, NodeId),
        is_limited: bool,
        driver: DriverHandle,
    ) -> std::io::Result<Housekeeper> {
        let (chores, inbox) = channel();
        let message_faults = Arc::new(OnceLock::new());
        let (checked, found) = (Arc::clone(&journal), Arc::clone(&message_faults));
        std::thread::Builder::new()
            .name("messages".to_owned())
            .spawn(move || check_messages(&*checked, &found))?;
        let (holders, copies) = (home.holders(), home.conversations());
        let worker = Worker { holders, copies, journal, node, is_limited, driver };
        std::thread::Builder::new().name("house".to_owned()).spawn(move || worker.run(&inbox))?;
        Ok(Housekeeper { chores, message_faults })
    }

    /// What this daemon found wrong with messages, in a sentence.
    pub fn message_faults(&self) -> Option<String> {
        let faults = self.message_faults.get()?;
        let count = match faults.len() {
            1 => "1 fault".to_owned(),
            count => format!("{count} faults"),
        };
        faults.first().map(|first| {
            format!(
                "when the daemon started, messages had {count}; the first: {first}. Altered and missing rows were \
                 made again from the journal; what agents were told is not affected"
            )
        })
    }

    /// Removes what the sessions printed. It is on record that it goes.
    pub fn remove(&self, agent: AgentId, sessions: Vec<SessionNumber>) {
        // A thread that is gone leaves it to the next daemon.
        let _ = self.chores.send(Chore::Remove(agent, sessions));
    }

    /// Removes our copies of conversations, but for those that an agent outside the cemetery may resume by then. It
    /// is on record that they go. `unwritten` tells when nothing more is written to them.
    pub fn remove_copies(
        &self,
        harness: String,
        conversations: Vec<ConversationId>,
        unwritten: Receiver<()>,
    ) {
        // A thread that is gone leaves it to the next daemon.
        let _ = self.chores.send(Chore::RemoveCopies(harness, conversations, unwritten));
    }

    /// Waits until all that was to be removed so far has been tried.
    pub async fn settled(&self) -> Result<(), Closing> {
        let (reply, answer) = oneshot::channel();
        self.chores.send(Chore::Settle(reply)).map_err(|_| Closing)?;
        answer.await.map_err(|_| Closing)
    }
}

struct Worker {
    holders: PathBuf,
    copies: PathBuf,
    journal: Arc<dyn Store>,
    node: NodeId,
    is_limited: bool,
    driver: DriverHandle,
}

/// All messages there ever were: nobody waits for it, and everybody else goes first.
fn check_messages(journal: &dyn Store, found: &OnceLock<Vec<MessageFault>>) {
    if let Err(error) = setpriority_process(None, LOWEST_PRIORITY) {
        tracing::warn!(%error, "the check of messages has the priority of others");
    }
    match journal.check_messages() {
        Ok(faults) => {
            for fault in faults.iter().take(FAULTS_LOGGED) {
                tracing::error!(%fault, "a message is not what the journal says");
            }
            let _ = found.set(faults);
        }
        Err(error) => {
            tracing::warn!(error = %chain(&error), "the table of messages can't be checked");
        }
    }
}

impl Worker {
    fn run(&self, inbox: &Receiver<Chore>) {
        if let Err(error) = self.finish() {
            tracing::warn!(error = %chain(&error), "which recordings were pruned can't be read");
        }
        self.look();
        loop {
            match inbox.recv_timeout(LOOK_EVERY) {
                Ok(Chore::Remove(agent, sessions)) => self.remove(agent, &sessions),
                Ok(Chore::RemoveCopies(harness, all, unwritten)) => {
                    // A reader that is gone writes nothing.
                    let _ = unwritten.recv();
                    self.remove_copies(&harness, all);
                }
                Ok(Chore::Settle(reply)) => _ = reply.send(()),
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn remove(&self, agent: AgentId, sessions: &[SessionNumber]) {
        for number in sessions {
            if let Err(error) = removal::remove(&self.holders, agent, *number) {
                tracing::warn!(%agent, %number, %error, "a recording can't be removed");
            }
        }
    }

    fn remove_copies(&self, harness: &str, conversations: Vec<ConversationId>) {
        let Ok(unneeded) = self.unneeded(conversations) else { return };
        for conversation in unneeded {
            if let Err(error) = copies::remove(&self.copies, harness, &conversation) {
                tracing::warn!(%harness, %conversation, %error, "a copy of a conversation can't be removed");
            }
        }
    }

    /// Those that nobody may resume now: an agent may have been born since that was decided.
    fn unneeded(&self, all: Vec<ConversationId>) -> Result<Vec<ConversationId>, Closing> {
        let (reply, answer) = channel();
        self.driver.send(Incoming::Look(Box::new(move |view| {
            let fleet = view.supervisor.fleet();
            let unneeded = all.into_iter().filter(|id| !cleaning::is_needed(fleet, id));
            let _ = reply.send(unneeded.collect());
        })))?;
        answer.recv().map_err(|_| Closing)
    }

    /// What the daemon before this one recorded: it may have died before it was done.
    fn finish(&self) -> Result<(), ReadError> {
        let (mut before, mut starts) = (Version::END, 0);
        // The start of this daemon may be on record already.
        while starts < 2 {
            let page = self.journal.read_stream_back(&Entity::Node(self.node), before, PAGE)?;
            let Some(first) = page.last() else { return Ok(()) };
            before = first.version;
            for record in &page {
                let Ok(event) = &record.event else { continue };
                match &event.what {
                    What::Node(_, NodeEvent::DaemonStarted { .. }) => starts += 1,
                    What::Node(_, NodeEvent::RecordingsPruned { agent, sessions, .. }) => {
                        self.remove(*agent, sessions);
                    }
                    What::Node(_, NodeEvent::AgentCleaned { harness, conversations, .. }) => {
                        self.remove_copies(harness, self.untaken_since(record.seq, conversations)?);
                    }
                    What::Node(
                        _,
                        NodeEvent::DaemonStopped { .. }
                        | NodeEvent::JournalRestored { .. }
                        | NodeEvent::RecordsLost { .. },
                    )
                    | What::Agent(..)
                    | What::Name(..)
                    | What::Conversation(..)
                    | What::Message(..)
                    | What::Post(..)
                    | What::Role(..)
                    | What::Job(..)
                    | What::Signal(..)
                    | What::Escalation(..)
                    | What::Task(..) => {}
                }
            }
        }
        Ok(())
    }

    /// Those that nobody took up after that record: what lies there of the others is of a later time.
    fn untaken_since(
        &self,
        seq: Seq,
        conversations: &[ConversationId],
    ) -> Result<Vec<ConversationId>, ReadError> {
        let mut untaken = Vec::new();
        for id in conversations {
            let stream = Entity::Conversation(id.clone());
            let newest = self.journal.read_stream_back(&stream, Version::END, 1)?;
            if newest.first().is_none_or(|newest| newest.seq < seq) {
                untaken.push(id.clone());
            }
        }
        Ok(untaken)
    }

    fn look(&self) {
        if !self.is_limited {
            return;
        }
        let Ok(in_memory) = self.in_memory() else { return };
        let found = match removal::agents(&self.holders) {
            Ok(agents) => {
                let agents = agents.into_iter().collect();
                recordings(&self.holders, &*self.journal, &agents, &in_memory)
            }
            Err(error) => return tracing::warn!(%error, "the recordings can't be listed"),
        };
        match found {
            // A driver that is gone needs no list.
            Ok(found) => _ = self.driver.send(Incoming::Recordings(found)),
            Err(error) => {
                tracing::warn!(error = %chain(&error), "which sessions have ended can't be read");
            }
        }
    }

    fn in_memory(&self) -> Result<BTreeSet<AgentId>, Closing> {
        let (reply, answer) = channel();
        self.driver.send(Incoming::Look(Box::new(move |view| {
            let _ = reply.send(in_memory(view));
        })))?;
        answer.recv().map_err(|_| Closing)
    }
}

/// Who has not left memory.
pub fn in_memory(view: &FleetView<'_>) -> BTreeSet<AgentId> {
    view.supervisor.fleet().agents().map(|agent| agent.id).collect()
}

/// The recordings of these agents, with what the store knows of those that have left memory.
pub fn recordings(
    holders: &Path,
    journal: &dyn Store,
    agents: &BTreeSet<AgentId>,
    in_memory: &BTreeSet<AgentId>,
) -> Result<Vec<Recordings>, ReadError> {
    let mut all = Vec::new();
    for agent in agents {
        let recordings = match removal::find(holders, *agent) {
            Ok(recordings) if recordings.is_empty() => continue,
            Ok(recordings) => recordings,
            Err(error) => {
                tracing::warn!(%agent, %error, "the recordings of an agent can't be listed");
                continue;
            }
        };
        let recalled = match in_memory.contains(agent) {
            true => None,
            false => recall(journal, *agent)?.as_ref().and_then(SessionsKnown::of),
        };
        all.push(Recordings { agent: *agent, recalled, recordings });
    }
    Ok(all)
}

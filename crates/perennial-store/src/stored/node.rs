//! The stored form of what happens to a node: its daemons, its journal, what was removed from it.

use perennial_core::event::{AgentEvent, NodeEvent, What};
use perennial_core::id::{BootId, Epoch, NodeId, SessionNumber};
use perennial_core::time::Time;
use serde::{Deserialize, Serialize};

use super::part::{self, StoredWitness};
use super::{Encoded, encoded, misplaced, parsed};
use crate::record::Damage;

/// The kinds with the newest form of each.
pub(super) const KINDS: &[(&str, u32)] = &[
    ("daemon-started", 1),
    ("daemon-stopped", 1),
    ("journal-restored", 1),
    ("records-lost", 1),
    ("recordings-pruned", 1),
    ("agent-cleaned", 1),
];

#[derive(Serialize, Deserialize)]
struct Started {
    epoch: u64,
    boot: String,
    version: String,
}

#[derive(Serialize, Deserialize)]
struct Stopped {
    epoch: u64,
}

#[derive(Serialize, Deserialize)]
struct Restored {
    since: u64,
}

#[derive(Serialize, Deserialize)]
struct Lost {
    known: u64,
    found: u64,
}

#[derive(Serialize, Deserialize)]
struct Pruned {
    agent: String,
    sessions: Vec<u32>,
    bytes: u64,
    by: StoredWitness,
}

#[derive(Serialize, Deserialize)]
struct Cleaned {
    agent: String,
    harness: String,
    conversations: Vec<String>,
    bytes: u64,
    by: StoredWitness,
}

pub(super) fn write(event: &NodeEvent) -> Encoded {
    match event {
        NodeEvent::DaemonStarted { epoch, boot, version } => encoded(
            "daemon-started",
            &Started { epoch: epoch.0, boot: boot.0.clone(), version: version.clone() },
        ),
        NodeEvent::DaemonStopped { epoch } => {
            encoded("daemon-stopped", &Stopped { epoch: epoch.0 })
        }
        NodeEvent::JournalRestored { since } => {
            encoded("journal-restored", &Restored { since: since.0 })
        }
        NodeEvent::RecordsLost { known, found } => {
            encoded("records-lost", &Lost { known: *known, found: *found })
        }
        NodeEvent::RecordingsPruned { agent, sessions, bytes, by } => {
            let sessions = sessions.iter().map(|number| number.0).collect();
            let agent = agent.to_string();
            encoded("recordings-pruned", &Pruned { agent, sessions, bytes: *bytes, by: by.into() })
        }
        NodeEvent::AgentCleaned { agent, harness, conversations, bytes, by } => {
            let conversations = conversations.iter().map(ToString::to_string).collect();
            let (agent, harness, by) = (agent.to_string(), harness.clone(), by.into());
            encoded("agent-cleaned", &Cleaned { agent, harness, conversations, bytes: *bytes, by })
        }
    }
}

pub(super) fn read(id: NodeId, kind: &str, payload: &[u8]) -> Result<What, Damage> {
    let event = match kind {
        "daemon-started" => {
            let Started { epoch, boot, version } = parsed(payload)?;
            NodeEvent::DaemonStarted { epoch: Epoch(epoch), boot: BootId(boot), version }
        }
        "daemon-stopped" => {
            NodeEvent::DaemonStopped { epoch: Epoch(parsed::<Stopped>(payload)?.epoch) }
        }
        "journal-restored" => {
            NodeEvent::JournalRestored { since: Time(parsed::<Restored>(payload)?.since) }
        }
        "records-lost" => {
            let Lost { known, found } = parsed(payload)?;
            NodeEvent::RecordsLost { known, found }
        }
        "recordings-pruned" => {
            let Pruned { agent, sessions, bytes, by } = parsed(payload)?;
            let sessions = sessions.into_iter().map(SessionNumber).collect();
            NodeEvent::RecordingsPruned {
                agent: part::agent(&agent)?,
                sessions,
                bytes,
                by: by.try_into()?,
            }
        }
        "agent-cleaned" => {
            let Cleaned { agent, harness, conversations, bytes, by } = parsed(payload)?;
            let conversations = conversations.iter().map(|id| part::conversation(id));
            NodeEvent::AgentCleaned {
                agent: part::agent(&agent)?,
                harness,
                conversations: conversations.collect::<Result<_, Damage>>()?,
                bytes,
                by: by.try_into()?,
            }
        }
        _ => return Err(misplaced()),
    };
    Ok(What::Node(id, event))
}

/// Where an agent's sessions run from here on.
#[derive(Serialize, Deserialize)]
pub(super) struct Rehomed {
    pub node: String,
}

impl Rehomed {
    pub fn read(self) -> Result<AgentEvent, Damage> {
        Ok(AgentEvent::Rehomed { node: part::node(Some(&self.node))? })
    }
}

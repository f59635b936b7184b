//! The stored form of events: what lies on the disk for good, apart from the core's own types.
//!
//! A record has a kind, the number of its form, and a JSON payload with the fields of that kind;
//! stream and moment are the record's. Forms only grow: a payload of an older form is brought up to
//! the newest one step by step (`upcast`), fields that are not known are passed over, and a kind or
//! form that is not known makes the record unreadable, never wrong. `golden/` has one file for each
//! kind and form ever written.

mod checkpoint;
mod escalation;
mod handoff;
mod job;
mod launch;
mod legacy;
mod life;
pub(crate) mod mail;
mod message;
mod node;
mod part;
mod post;
mod rest;
mod role;
mod session;
mod settings;
mod signal;
mod snapshot;
mod task;
mod upcast;
mod word;
mod work;

use std::time::Duration;

use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Birth, ClaimEvent, Move, What};
use perennial_core::id::AgentId;
use perennial_core::time::Time;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::record::{Damage, LONGEST_PAYLOAD_BYTES};
use checkpoint::StoredCheckpoint;
use legacy::{StoredBurial, StoredLegacy};
use node::Rehomed;
use part::{StoredBirth, StoredEvidence, StoredHold, StoredMove};
use rest::{StoredEarned, StoredTakenBack};
use role::{StoredLeaving, StoredRound, StoredTaking};
use session::{
    ClockPassed, ClockTold, ConversationFollowed, Ended, Ending, Found, Numbered, Running,
    Starting, Wanted,
};
use settings::StoredSettings;
pub(crate) use word::Word;
use word::Worded;
use work::{PhaseFound, PhaseReported};

/// One event as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub kind: &'static str,
    pub form: u32,
    pub payload: String,
}

/// The kinds of agents and claims with the newest form of each.
const KINDS: &[(&str, u32)] = &[
    ("hatched", 4),
    ("moved", 1),
    ("rehomed", 1),
    ("held", 1),
    ("hold-lifted", 1),
    ("session-wanted", 3),
    ("session-starting", 2),
    ("session-running", 1),
    ("session-ending", 1),
    ("session-found", 1),
    ("session-ended", 2),
    ("session-progressed", 1),
    ("conversation-followed", 1),
    ("window-began", 1),
    ("clock-passed", 1),
    ("clock-told", 1),
    ("phase-reported", 1),
    ("phase-found", 1),
    ("renamed", 1),
    ("summarised", 1),
    ("legacy-left", 1),
    ("burial-asked", 1),
    ("rest-earned", 1),
    ("rest-taken-back", 1),
    ("took-role", 1),
    ("left-role", 1),
    ("round-passed", 1),
    ("settings-changed", 1),
    ("put-off", 2),
    ("checkpoint-taken", 1),
    ("taken", 1),
    ("left", 1),
];

/// Every kind with the newest form of it.
pub fn kinds() -> impl Iterator<Item = (&'static str, u32)> {
    let lives = [KINDS, node::KINDS, message::KINDS, post::KINDS, job::KINDS, role::KINDS];
    let later = [signal::KINDS, escalation::KINDS, task::KINDS, handoff::KINDS, snapshot::KINDS];
    lives.into_iter().chain(later).flatten().copied()
}

#[derive(Serialize, Deserialize)]
struct Renamed {
    name: String,
}

#[derive(Serialize, Deserialize)]
struct Summarised {
    summary: String,
}

#[derive(Serialize, Deserialize)]
struct PutOff {
    until: Option<u64>,
    unseen_micros: u64,
}

#[derive(Serialize, Deserialize)]
struct HoldLifted {
    evidence: StoredEvidence,
}

#[derive(Serialize, Deserialize)]
struct Claimed {
    by: String,
}

/// What an event is called.
pub fn kind(what: &What) -> &'static str {
    write(what).kind
}

/// The newest form of an event.
pub fn write(what: &What) -> Encoded {
    match what {
        What::Agent(_, event) => write_agent(event),
        What::Name(_, event) | What::Conversation(_, event) => {
            let (kind, by) = match event {
                ClaimEvent::Taken { by } => ("taken", by),
                ClaimEvent::Left { by } => ("left", by),
            };
            encoded(kind, &Claimed { by: by.to_string() })
        }
        What::Message(_, event) => life::encode("message", &message::Stored::from(event)),
        What::Post(_, event) => life::encode("post", &post::Stored::from(event)),
        What::Job(_, event) => life::encode("job", &job::Stored::from(event)),
        What::Role(_, event) => life::encode("role", &role::Stored::from(event)),
        What::Task(_, event) => life::encode("task", &task::Stored::from(event)),
        What::Node(_, event) => node::write(event),
        What::Signal(_, event) => life::encode("signal", &signal::Stored::from(event)),
        What::Escalation(_, event) => life::encode("escalation", &escalation::Stored::from(event)),
    }
}

fn write_agent(event: &AgentEvent) -> Encoded {
    match event {
        AgentEvent::Hatched(birth) => encoded("hatched", &StoredBirth::from(&**birth)),
        AgentEvent::Moved(moved) => encoded("moved", &StoredMove::from(moved)),
        AgentEvent::SessionWanted { number, opening } => {
            encoded("session-wanted", &Wanted::of(*number, opening))
        }
        AgentEvent::Rehomed { node } => encoded("rehomed", &Rehomed { node: node.to_string() }),
        AgentEvent::Held(hold) => encoded("held", &StoredHold::from(hold)),
        AgentEvent::HoldLifted { evidence } => {
            encoded("hold-lifted", &HoldLifted { evidence: evidence.into() })
        }
        AgentEvent::SessionStarting { number, limit } => {
            encoded("session-starting", &Starting::of(*number, *limit))
        }
        AgentEvent::SessionRunning { number, process } => {
            encoded("session-running", &Running::of(*number, process))
        }
        AgentEvent::SessionEnding { number, pace } => {
            encoded("session-ending", &Ending::of(*number, *pace))
        }
        AgentEvent::SessionFound { number, opening, process } => {
            encoded("session-found", &Found::of(*number, opening, process.as_ref()))
        }
        AgentEvent::SessionEnded { number, exit, is_clean, tally, asked } => {
            encoded("session-ended", &Ended::of(*number, (*exit, *is_clean), tally, *asked))
        }
        AgentEvent::SessionProgressed { number } => {
            Numbered::encoded("session-progressed", *number)
        }
        AgentEvent::ConversationFollowed { number, conversation, how } => {
            encoded("conversation-followed", &ConversationFollowed::of(*number, conversation, *how))
        }
        AgentEvent::WindowBegan { number } => Numbered::encoded("window-began", *number),
        AgentEvent::ClockPassed { number, threshold, sample } => {
            encoded("clock-passed", &ClockPassed::of(*number, *threshold, sample))
        }
        AgentEvent::ClockTold { number, threshold } => {
            encoded("clock-told", &ClockTold::of(*number, *threshold))
        }
        AgentEvent::PhaseReported { phase } => {
            encoded("phase-reported", &PhaseReported { phase: Worded(*phase) })
        }
        AgentEvent::Work(event) => work::write(event),
        AgentEvent::Renamed { name } => encoded("renamed", &Renamed { name: name.to_string() }),
        AgentEvent::Summarised { summary } => summarised(summary),
        AgentEvent::LegacyLeft { kind, text } => StoredLegacy::of(*kind, text).encoded(),
        AgentEvent::BurialAsked { evidence } => StoredBurial::of(evidence).encoded(),
        AgentEvent::Rest(event) => rest::write(event),
        AgentEvent::RoleTaken { role, terms, from, evidence } => {
            encoded("took-role", &StoredTaking::of(role, terms, *from, evidence))
        }
        AgentEvent::RoleLeft { to, evidence } => {
            encoded("left-role", &StoredLeaving::of(*to, evidence))
        }
        AgentEvent::RoundPassed { round } => StoredRound { round: *round }.encoded(),
        AgentEvent::SettingsChanged { settings, evidence } => {
            encoded("settings-changed", &StoredSettings::of(settings, evidence))
        }
        AgentEvent::Snapshot(event) => snapshot::write(event),
        AgentEvent::Handoff(event) => handoff::write(event),
        AgentEvent::Checkpoint(event) => checkpoint::write(event),
        AgentEvent::PutOff { until, unseen } => {
            let (until, unseen_micros) = (until.map(|until| until.0), part::micros(*unseen));
            encoded("put-off", &PutOff { until, unseen_micros })
        }
    }
}

fn summarised(summary: &str) -> Encoded {
    encoded("summarised", &Summarised { summary: summary.to_owned() })
}

fn encoded(kind: &'static str, payload: &impl Serialize) -> Encoded {
    let (kind, form) = newest(kind).expect("every kind that is written is in a table of kinds");
    // These types hold strings, numbers and words only: nothing that JSON can't say.
    let payload = serde_json::to_string(payload).expect("stored forms are plain");
    Encoded { kind, form, payload }
}

fn newest(kind: &str) -> Option<(&'static str, u32)> {
    kinds().find(|(known, _)| *known == kind)
}

/// What a payload says, whichever form it has.
pub fn read(stream: &Entity, kind: &str, form: u64, payload: &[u8]) -> Result<What, Damage> {
    if payload.len() > LONGEST_PAYLOAD_BYTES {
        return Err(Damage::Malformed("its payload is longer than a record holds".into()));
    }
    let (_, known) = newest(kind).ok_or(Damage::UnknownKind)?;
    if form > u64::from(known) {
        return Err(Damage::NewerForm { known });
    }
    let raised;
    let payload = if form == u64::from(known) {
        payload
    } else {
        raised = upcast::raise(upcast::STEPS, kind, form, known, payload)?;
        &raised
    };
    match stream {
        Entity::Node(id) => node::read(*id, kind, payload),
        Entity::Agent(id) => read_agent(*id, kind, payload),
        Entity::Name(key) => Ok(What::Name(key.clone(), read_claim(kind, payload)?)),
        Entity::Conversation(id) => Ok(What::Conversation(id.clone(), read_claim(kind, payload)?)),
        Entity::Message(id) => {
            let stored: message::Stored = life::decode("message", kind, payload)?;
            Ok(What::Message(*id, stored.try_into()?))
        }
        Entity::Post(id) => {
            let stored: post::Stored = life::decode("post", kind, payload)?;
            Ok(What::Post(*id, stored.try_into()?))
        }
        Entity::Job(id) => {
            let stored: job::Stored = life::decode("job", kind, payload)?;
            Ok(What::Job(*id, stored.try_into()?))
        }
        Entity::Role(key) => {
            let stored: role::Stored = life::decode("role", kind, payload)?;
            Ok(What::Role(key.clone(), stored.try_into()?))
        }
        Entity::Signal(id) => {
            let stored: signal::Stored = life::decode("signal", kind, payload)?;
            Ok(What::Signal(*id, stored.try_into()?))
        }
        Entity::Escalation(id) => {
            let stored: escalation::Stored = life::decode("escalation", kind, payload)?;
            Ok(What::Escalation(*id, stored.try_into()?))
        }
        Entity::Task(id) => {
            let stored: task::Stored = life::decode("task", kind, payload)?;
            Ok(What::Task(*id, stored.try_into()?))
        }
    }
}

fn read_agent(id: AgentId, kind: &str, payload: &[u8]) -> Result<What, Damage> {
    let event = match kind {
        "hatched" => {
            AgentEvent::Hatched(Box::new(Birth::try_from(parsed::<StoredBirth>(payload)?)?))
        }
        "moved" => AgentEvent::Moved(Move::try_from(parsed::<StoredMove>(payload)?)?),
        "session-wanted" => parsed::<Wanted>(payload)?.read()?,
        "rehomed" => parsed::<Rehomed>(payload)?.read()?,
        "held" => AgentEvent::Held(parsed::<StoredHold>(payload)?.try_into()?),
        "hold-lifted" => {
            AgentEvent::HoldLifted { evidence: parsed::<HoldLifted>(payload)?.evidence.try_into()? }
        }
        "session-starting" => parsed::<Starting>(payload)?.read(),
        "session-running" => parsed::<Running>(payload)?.read(),
        "session-ending" => parsed::<Ending>(payload)?.read(),
        "session-found" => parsed::<Found>(payload)?.read()?,
        "session-ended" => parsed::<Ended>(payload)?.read(),
        "session-progressed" => {
            AgentEvent::SessionProgressed { number: parsed::<Numbered>(payload)?.read() }
        }
        "conversation-followed" => parsed::<ConversationFollowed>(payload)?.read()?,
        "window-began" => AgentEvent::WindowBegan { number: parsed::<Numbered>(payload)?.read() },
        "clock-passed" => parsed::<ClockPassed>(payload)?.read(),
        "clock-told" => parsed::<ClockTold>(payload)?.read(),
        "phase-reported" => {
            AgentEvent::PhaseReported { phase: parsed::<PhaseReported>(payload)?.phase.0 }
        }
        "phase-found" => parsed::<PhaseFound>(payload)?.read(),
        "renamed" => AgentEvent::Renamed { name: part::name(&parsed::<Renamed>(payload)?.name)? },
        "summarised" => AgentEvent::Summarised { summary: parsed::<Summarised>(payload)?.summary },
        "legacy-left" => parsed::<StoredLegacy>(payload)?.read()?,
        "burial-asked" => parsed::<StoredBurial>(payload)?.read()?,
        "rest-earned" => parsed::<StoredEarned>(payload)?.read()?,
        "rest-taken-back" => parsed::<StoredTakenBack>(payload)?.read(),
        "round-passed" => AgentEvent::RoundPassed { round: parsed::<StoredRound>(payload)?.round },
        "took-role" => parsed::<StoredTaking>(payload)?.read()?,
        "left-role" => parsed::<StoredLeaving>(payload)?.read()?,
        "settings-changed" => parsed::<StoredSettings>(payload)?.read()?,
        "checkpoint-taken" => parsed::<StoredCheckpoint>(payload)?.read()?,
        "put-off" => put_off(parsed(payload)?),
        _ if handoff::KINDS.iter().any(|(known, _)| *known == kind) => {
            handoff::read(kind, payload)?
        }
        _ if snapshot::KINDS.iter().any(|(known, _)| *known == kind) => {
            snapshot::read(kind, payload)?
        }
        _ => return Err(misplaced()),
    };
    Ok(What::Agent(id, event))
}

fn read_claim(kind: &str, payload: &[u8]) -> Result<ClaimEvent, Damage> {
    let by = part::agent(&parsed::<Claimed>(payload)?.by)?;
    match kind {
        "taken" => Ok(ClaimEvent::Taken { by }),
        "left" => Ok(ClaimEvent::Left { by }),
        _ => Err(misplaced()),
    }
}

fn misplaced() -> Damage {
    Damage::Malformed("an event in the stream of something that it can't happen to".into())
}

fn put_off(PutOff { until, unseen_micros }: PutOff) -> AgentEvent {
    AgentEvent::PutOff { until: until.map(Time), unseen: Duration::from_micros(unseen_micros) }
}

fn parsed<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Damage> {
    serde_json::from_slice(payload).map_err(|error| malformed(&error))
}

/// What is wrong, bounded: the text may quote what the record holds.
fn malformed(error: &dyn std::error::Error) -> Damage {
    Damage::Malformed(error.to_string().chars().take(200).collect())
}

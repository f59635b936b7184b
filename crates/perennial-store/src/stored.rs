//! The stored form of events: what lies on the disk for good, apart from the core's own types.
//!
//! A record has a kind, the number of its form, and a JSON payload with the fields of that kind;
//! stream and moment are the record's. Forms only grow: a payload of an older form is brought up to
//! the newest one step by step (`upcast`), fields that are not known are passed over, and a kind or
//! form that is not known makes the record unreadable, never wrong. `golden/` has one file for each
//! kind and form ever written.

mod escalation;
mod job;
mod launch;
mod legacy;
mod life;
pub(crate) mod mail;
mod message;
mod node;
mod part;
mod post;
mod role;
mod settings;
mod signal;
mod snapshot;
mod task;
mod upcast;
mod word;

use std::time::Duration;

use perennial_core::context::Threshold;
use perennial_core::conversation::Followed;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Birth, ClaimEvent, Move, What};
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::session::Pace;
use perennial_core::time::Time;
use perennial_core::work::WorkPhase;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::record::{Damage, LONGEST_PAYLOAD_BYTES};
use legacy::{StoredBurial, StoredLegacy};
use part::{
    StoredBirth, StoredEvidence, StoredExit, StoredHistory, StoredHold, StoredMove, StoredOpening,
    StoredProcess, StoredSample,
};
use role::{StoredLeaving, StoredRound, StoredTaking};
use settings::StoredSettings;
use snapshot::{StoredRestore, StoredSnapshot};
pub(crate) use word::Word;
use word::Worded;

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
    ("renamed", 1),
    ("summarised", 1),
    ("legacy-left", 1),
    ("burial-asked", 1),
    ("took-role", 1),
    ("left-role", 1),
    ("round-passed", 1),
    ("settings-changed", 1),
    ("put-off", 2),
    ("snapshot-taken", 1),
    ("restore-begun", 1),
    ("taken", 1),
    ("left", 1),
];

/// Every kind with the newest form of it.
pub fn kinds() -> impl Iterator<Item = (&'static str, u32)> {
    let lives = [KINDS, node::KINDS, message::KINDS, post::KINDS, job::KINDS, role::KINDS];
    let later = [signal::KINDS, escalation::KINDS, task::KINDS];
    lives.into_iter().chain(later).flatten().copied()
}

#[derive(Serialize, Deserialize)]
struct Numbered {
    number: u32,
}

#[derive(Serialize, Deserialize)]
struct Wanted {
    number: u32,
    opening: StoredOpening,
}

#[derive(Serialize, Deserialize)]
struct Starting {
    number: u32,
    limit_micros: u64,
}

#[derive(Serialize, Deserialize)]
struct Running {
    number: u32,
    process: StoredProcess,
}

#[derive(Serialize, Deserialize)]
struct Found {
    number: u32,
    opening: StoredOpening,
    process: Option<StoredProcess>,
}

#[derive(Serialize, Deserialize)]
struct Ending {
    number: u32,
    pace: Worded<Pace>,
}

#[derive(Serialize, Deserialize)]
struct Ended {
    number: u32,
    exit: StoredExit,
    history: Option<StoredHistory>,
    /// All was well though the exit does not say so; otherwise absent.
    #[serde(default, skip_serializing_if = "is_false")]
    well: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[derive(Serialize, Deserialize)]
struct ConversationFollowed {
    number: u32,
    conversation: String,
    how: Worded<Followed>,
}

#[derive(Serialize, Deserialize)]
struct ClockPassed {
    number: u32,
    threshold: Worded<Threshold>,
    sample: StoredSample,
}

#[derive(Serialize, Deserialize)]
struct ClockTold {
    number: u32,
    threshold: Worded<Threshold>,
}

#[derive(Serialize, Deserialize)]
struct PhaseReported {
    phase: Worded<WorkPhase>,
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
struct Rehomed {
    node: String,
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
            encoded("session-wanted", &Wanted { number: number.0, opening: opening.into() })
        }
        AgentEvent::Rehomed { node } => encoded("rehomed", &Rehomed { node: node.to_string() }),
        AgentEvent::Held(hold) => encoded("held", &StoredHold::from(hold)),
        AgentEvent::HoldLifted { evidence } => {
            encoded("hold-lifted", &HoldLifted { evidence: evidence.into() })
        }
        AgentEvent::SessionStarting { number, limit } => {
            let limit_micros = part::micros(*limit);
            encoded("session-starting", &Starting { number: number.0, limit_micros })
        }
        AgentEvent::SessionRunning { number, process } => {
            encoded("session-running", &Running { number: number.0, process: process.into() })
        }
        AgentEvent::SessionEnding { number, pace } => {
            encoded("session-ending", &Ending { number: number.0, pace: Worded(*pace) })
        }
        AgentEvent::SessionFound { number, opening, process } => {
            let (number, process) = (number.0, process.as_ref().map(Into::into));
            encoded("session-found", &Found { number, opening: opening.into(), process })
        }
        AgentEvent::SessionEnded { number, exit, is_clean, tally } => {
            let well = *is_clean && !exit.is_clean();
            let (exit, history) = ((*exit).into(), StoredHistory::of(tally));
            encoded("session-ended", &Ended { number: number.0, exit, history, well })
        }
        AgentEvent::SessionProgressed { number } => numbered("session-progressed", *number),
        AgentEvent::ConversationFollowed { number, conversation, how } => {
            let conversation = conversation.to_string();
            let followed =
                ConversationFollowed { number: number.0, conversation, how: Worded(*how) };
            encoded("conversation-followed", &followed)
        }
        AgentEvent::WindowBegan { number } => numbered("window-began", *number),
        AgentEvent::ClockPassed { number, threshold, sample } => {
            let (threshold, sample) = (Worded(*threshold), sample.into());
            encoded("clock-passed", &ClockPassed { number: number.0, threshold, sample })
        }
        AgentEvent::ClockTold { number, threshold } => {
            encoded("clock-told", &ClockTold { number: number.0, threshold: Worded(*threshold) })
        }
        AgentEvent::PhaseReported { phase } => {
            encoded("phase-reported", &PhaseReported { phase: Worded(*phase) })
        }
        AgentEvent::Renamed { name } => encoded("renamed", &Renamed { name: name.to_string() }),
        AgentEvent::Summarised { summary } => summarised(summary),
        AgentEvent::LegacyLeft { kind, text } => StoredLegacy::of(*kind, text).encoded(),
        AgentEvent::BurialAsked { evidence } => StoredBurial::of(evidence).encoded(),
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
        AgentEvent::PutOff { until, unseen } => {
            let (until, unseen_micros) = (until.map(|until| until.0), part::micros(*unseen));
            encoded("put-off", &PutOff { until, unseen_micros })
        }
    }
}

fn summarised(summary: &str) -> Encoded {
    encoded("summarised", &Summarised { summary: summary.to_owned() })
}

fn numbered(kind: &'static str, number: SessionNumber) -> Encoded {
    encoded(kind, &Numbered { number: number.0 })
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
        "session-wanted" => {
            let Wanted { number, opening } = parsed(payload)?;
            let opening = opening.try_into()?;
            AgentEvent::SessionWanted { number: SessionNumber(number), opening }
        }
        "rehomed" => {
            AgentEvent::Rehomed { node: part::node(Some(&parsed::<Rehomed>(payload)?.node))? }
        }
        "held" => AgentEvent::Held(parsed::<StoredHold>(payload)?.try_into()?),
        "hold-lifted" => {
            AgentEvent::HoldLifted { evidence: parsed::<HoldLifted>(payload)?.evidence.try_into()? }
        }
        "session-starting" => {
            let Starting { number, limit_micros } = parsed(payload)?;
            let limit = Duration::from_micros(limit_micros);
            AgentEvent::SessionStarting { number: SessionNumber(number), limit }
        }
        "session-running" => {
            let Running { number, process } = parsed(payload)?;
            AgentEvent::SessionRunning { number: SessionNumber(number), process: process.into() }
        }
        "session-ending" => {
            let Ending { number, pace } = parsed(payload)?;
            AgentEvent::SessionEnding { number: SessionNumber(number), pace: pace.0 }
        }
        "session-found" => found(payload)?,
        "session-ended" => ended(payload)?,
        "session-progressed" => AgentEvent::SessionProgressed { number: number(payload)? },
        "conversation-followed" => {
            let ConversationFollowed { number, conversation, how } = parsed(payload)?;
            let conversation = part::conversation(&conversation)?;
            let number = SessionNumber(number);
            AgentEvent::ConversationFollowed { number, conversation, how: how.0 }
        }
        "window-began" => AgentEvent::WindowBegan { number: number(payload)? },
        "clock-passed" => {
            let ClockPassed { number, threshold, sample } = parsed(payload)?;
            let (number, threshold) = (SessionNumber(number), threshold.0);
            AgentEvent::ClockPassed { number, threshold, sample: sample.into() }
        }
        "clock-told" => {
            let ClockTold { number, threshold } = parsed(payload)?;
            AgentEvent::ClockTold { number: SessionNumber(number), threshold: threshold.0 }
        }
        "phase-reported" => {
            AgentEvent::PhaseReported { phase: parsed::<PhaseReported>(payload)?.phase.0 }
        }
        "renamed" => AgentEvent::Renamed { name: part::name(&parsed::<Renamed>(payload)?.name)? },
        "summarised" => AgentEvent::Summarised { summary: parsed::<Summarised>(payload)?.summary },
        "legacy-left" => parsed::<StoredLegacy>(payload)?.read()?,
        "burial-asked" => parsed::<StoredBurial>(payload)?.read()?,
        "round-passed" => AgentEvent::RoundPassed { round: parsed::<StoredRound>(payload)?.round },
        "took-role" => parsed::<StoredTaking>(payload)?.read()?,
        "left-role" => parsed::<StoredLeaving>(payload)?.read()?,
        "settings-changed" => parsed::<StoredSettings>(payload)?.read()?,
        "snapshot-taken" => parsed::<StoredSnapshot>(payload)?.read()?,
        "restore-begun" => parsed::<StoredRestore>(payload)?.read()?,
        "put-off" => put_off(parsed(payload)?),
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

fn ended(payload: &[u8]) -> Result<AgentEvent, Damage> {
    let Ended { number, exit, history, well } = parsed(payload)?;
    let (number, exit) = (SessionNumber(number), Exit::from(exit));
    let (is_clean, tally) = (well || exit.is_clean(), StoredHistory::tally(history));
    Ok(AgentEvent::SessionEnded { number, exit, is_clean, tally })
}

fn found(payload: &[u8]) -> Result<AgentEvent, Damage> {
    let Found { number, opening, process } = parsed(payload)?;
    let (number, opening) = (SessionNumber(number), opening.try_into()?);
    Ok(AgentEvent::SessionFound { number, opening, process: process.map(Into::into) })
}

fn number(payload: &[u8]) -> Result<SessionNumber, Damage> {
    Ok(SessionNumber(parsed::<Numbered>(payload)?.number))
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

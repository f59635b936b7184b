//! The parts that stored events are made of, mapped to and from the core's, field by field.

use std::time::Duration;

use perennial_core::context::{Sample, Source};
use perennial_core::conversation::{ConversationId, Opening, Turn};
use perennial_core::event::{Birth, Move};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::hold::{HeldFor, Hold};
use perennial_core::id::{AgentId, NodeId, SessionNumber};
use perennial_core::name::Name;
use perennial_core::reason::{Evidence, Finding, Reason, Show, Verb, Witness};
use perennial_core::restart::{History, Restart, Tally};
use perennial_core::session::Process;
use perennial_core::state::{Cause, State};
use perennial_core::succession::Afresh;
use perennial_core::text::{Digest, Text};
use perennial_core::time::Time;
use serde::{Deserialize, Serialize};

use super::launch::StoredLaunch;
use super::malformed;
use super::word::Worded;
use crate::record::Damage;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredBirth {
    name: Option<String>,
    role: Option<String>,
    parent: Option<String>,
    node: Option<String>,
    launch: StoredLaunch,
    restart: Worded<Restart>,
    evidence: StoredEvidence,
    until: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredMove {
    cause: Worded<Cause>,
    to: Worded<State>,
    reason: Worded<Reason>,
    evidence: StoredEvidence,
    until: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredEvidence {
    witness: StoredWitness,
    fact: StoredFact,
    at: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredHold {
    held_for: Worded<HeldFor>,
    evidence: StoredEvidence,
    since: u64,
}

/// Absent in an end that was recorded before ends told what they came to.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredHistory {
    restarts: Vec<u64>,
    opened: u32,
    futile: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredWitness {
    Kernel,
    Holder,
    Lead(String),
    Harness,
    Agent(String),
    Operator,
    Daemon,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredFact {
    Asked(Worded<Verb>),
    AskedFresh(Worded<Verb>),
    Executed(StoredProcess),
    NotStarted(String),
    Exited(StoredExit),
    Shown(Worded<Show>),
    TimeCame,
    BootChanged,
    HomeCopied,
    Unreadable(String),
    SessionFound(u32),
    RecordsLost,
    TaskVerified(String),
    TaskGiven(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredOpening {
    Bare,
    Fresh(String),
    Resume { conversation: String, turn: Worded<Turn> },
    Anew { conversation: String, turn: Worded<Turn>, why: Worded<Afresh> },
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSample {
    tokens: u64,
    window: u64,
    usable: u64,
    source: Worded<Source>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StoredExit {
    Code(i32),
    Signal(i32),
    Unknown(Worded<UnknownExit>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredProcess {
    pid: i32,
    start_ticks: u64,
}

pub(super) fn name(text: &str) -> Result<Name, Damage> {
    text.parse().map_err(|error| malformed(&error))
}

pub(super) fn conversation(text: &str) -> Result<ConversationId, Damage> {
    text.parse().map_err(|error| malformed(&error))
}

pub(super) fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// None was named before nodes had ids.
pub(super) fn node(text: Option<&str>) -> Result<NodeId, Damage> {
    match text {
        Some(text) => text.parse().map_err(|error| malformed(&error)),
        None => Ok(NodeId::HOME),
    }
}

pub(super) fn written_node(node: NodeId) -> Option<String> {
    (node != NodeId::HOME).then(|| node.to_string())
}

pub(super) fn agent(text: &str) -> Result<AgentId, Damage> {
    text.parse().map_err(|error| malformed(&error))
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredText {
    digest: String,
    bytes: u64,
    head: String,
}

impl From<&Text> for StoredText {
    fn from(text: &Text) -> StoredText {
        let Text { digest, bytes, head } = text;
        StoredText { digest: digest.to_string(), bytes: *bytes, head: head.clone() }
    }
}

impl TryFrom<StoredText> for Text {
    type Error = Damage;

    fn try_from(stored: StoredText) -> Result<Text, Damage> {
        let StoredText { digest, bytes, head } = stored;
        Ok(Text { digest: Digest(hex(&digest)?), bytes, head })
    }
}

/// 32 bytes, as 64 hexadecimal digits.
pub(super) fn hex(text: &str) -> Result<[u8; 32], Damage> {
    let not_hex = || Damage::Malformed("not a digest".into());
    let mut bytes = [0; 32];
    if text.len() != 2 * bytes.len() || !text.is_ascii() {
        return Err(not_hex());
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| not_hex())?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| not_hex())?;
    }
    Ok(bytes)
}

impl From<&Birth> for StoredBirth {
    fn from(birth: &Birth) -> StoredBirth {
        let Birth { name, role, parent, node, launch, restart, evidence, until } = birth;
        StoredBirth {
            name: name.as_ref().map(Name::to_string),
            role: role.clone(),
            parent: parent.map(|id| id.to_string()),
            node: written_node(*node),
            launch: launch.into(),
            restart: Worded(*restart),
            evidence: evidence.into(),
            until: until.0,
        }
    }
}

impl TryFrom<StoredBirth> for Birth {
    type Error = Damage;

    fn try_from(stored: StoredBirth) -> Result<Birth, Damage> {
        let StoredBirth { name: text, role, parent, node: at, launch, restart, evidence, until } =
            stored;
        Ok(Birth {
            name: text.as_deref().map(name).transpose()?,
            role,
            parent: parent.as_deref().map(agent).transpose()?,
            node: node(at.as_deref())?,
            launch: launch.try_into()?,
            restart: restart.0,
            evidence: evidence.try_into()?,
            until: Time(until),
        })
    }
}

impl From<&Move> for StoredMove {
    fn from(moved: &Move) -> StoredMove {
        let Move { cause, to, reason, evidence, until } = moved;
        StoredMove {
            cause: Worded(*cause),
            to: Worded(*to),
            reason: Worded(*reason),
            evidence: evidence.into(),
            until: until.map(|time| time.0),
        }
    }
}

impl TryFrom<StoredMove> for Move {
    type Error = Damage;

    fn try_from(stored: StoredMove) -> Result<Move, Damage> {
        let StoredMove { cause, to, reason, evidence, until } = stored;
        Ok(Move {
            cause: cause.0,
            to: to.0,
            reason: reason.0,
            evidence: evidence.try_into()?,
            until: until.map(Time),
        })
    }
}

impl From<&Witness> for StoredWitness {
    fn from(witness: &Witness) -> StoredWitness {
        match witness {
            Witness::Kernel => StoredWitness::Kernel,
            Witness::Holder => StoredWitness::Holder,
            Witness::Lead(id) => StoredWitness::Lead(id.to_string()),
            Witness::Harness => StoredWitness::Harness,
            Witness::Agent(id) => StoredWitness::Agent(id.to_string()),
            Witness::Operator => StoredWitness::Operator,
            Witness::Daemon => StoredWitness::Daemon,
        }
    }
}

impl TryFrom<StoredWitness> for Witness {
    type Error = Damage;

    fn try_from(stored: StoredWitness) -> Result<Witness, Damage> {
        Ok(match stored {
            StoredWitness::Kernel => Witness::Kernel,
            StoredWitness::Holder => Witness::Holder,
            StoredWitness::Lead(id) => Witness::Lead(agent(&id)?),
            StoredWitness::Harness => Witness::Harness,
            StoredWitness::Agent(id) => Witness::Agent(agent(&id)?),
            StoredWitness::Operator => Witness::Operator,
            StoredWitness::Daemon => Witness::Daemon,
        })
    }
}

impl From<&Evidence> for StoredEvidence {
    fn from(evidence: &Evidence) -> StoredEvidence {
        let Evidence { witness, fact, at } = evidence;
        let witness = witness.into();
        let fact = match fact {
            Finding::Asked(verb) => StoredFact::Asked(Worded(*verb)),
            Finding::AskedFresh(verb) => StoredFact::AskedFresh(Worded(*verb)),
            Finding::Executed(process) => StoredFact::Executed(process.into()),
            Finding::NotStarted(why) => StoredFact::NotStarted(why.clone()),
            Finding::Exited(exit) => StoredFact::Exited((*exit).into()),
            Finding::Shown(show) => StoredFact::Shown(Worded(*show)),
            Finding::TimeCame => StoredFact::TimeCame,
            Finding::BootChanged => StoredFact::BootChanged,
            Finding::HomeCopied => StoredFact::HomeCopied,
            Finding::Unreadable(why) => StoredFact::Unreadable(why.clone()),
            Finding::SessionFound(number) => StoredFact::SessionFound(number.0),
            Finding::RecordsLost => StoredFact::RecordsLost,
            Finding::TaskVerified(id) => StoredFact::TaskVerified(id.to_string()),
            Finding::TaskGiven(id) => StoredFact::TaskGiven(id.to_string()),
        };
        StoredEvidence { witness, fact, at: at.0 }
    }
}

impl TryFrom<StoredEvidence> for Evidence {
    type Error = Damage;

    fn try_from(stored: StoredEvidence) -> Result<Evidence, Damage> {
        let StoredEvidence { witness, fact, at } = stored;
        let witness = witness.try_into()?;
        let fact = match fact {
            StoredFact::Asked(verb) => Finding::Asked(verb.0),
            StoredFact::AskedFresh(verb) => Finding::AskedFresh(verb.0),
            StoredFact::Executed(process) => Finding::Executed(process.into()),
            StoredFact::NotStarted(why) => Finding::NotStarted(why),
            StoredFact::Exited(exit) => Finding::Exited(exit.into()),
            StoredFact::Shown(show) => Finding::Shown(show.0),
            StoredFact::TimeCame => Finding::TimeCame,
            StoredFact::BootChanged => Finding::BootChanged,
            StoredFact::HomeCopied => Finding::HomeCopied,
            StoredFact::Unreadable(why) => Finding::Unreadable(why),
            StoredFact::SessionFound(number) => Finding::SessionFound(SessionNumber(number)),
            StoredFact::RecordsLost => Finding::RecordsLost,
            StoredFact::TaskVerified(id) => Finding::TaskVerified(super::task::task(&id)?),
            StoredFact::TaskGiven(id) => Finding::TaskGiven(super::task::task(&id)?),
        };
        Ok(Evidence { witness, fact, at: Time(at) })
    }
}

impl From<&Hold> for StoredHold {
    fn from(hold: &Hold) -> StoredHold {
        let Hold { held_for, evidence, since } = hold;
        StoredHold { held_for: Worded(*held_for), evidence: evidence.into(), since: since.0 }
    }
}

impl TryFrom<StoredHold> for Hold {
    type Error = Damage;

    fn try_from(stored: StoredHold) -> Result<Hold, Damage> {
        let StoredHold { held_for, evidence, since } = stored;
        Ok(Hold { held_for: held_for.0, evidence: evidence.try_into()?, since: Time(since) })
    }
}

impl StoredHistory {
    pub(super) fn of(tally: &Tally) -> Option<StoredHistory> {
        match tally {
            Tally::Becomes(History { restarts, opened, futile }) => Some(StoredHistory {
                restarts: restarts.iter().map(|at| at.0).collect(),
                opened: *opened,
                futile: *futile,
            }),
            Tally::ByFirstRule => None,
        }
    }

    pub(super) fn tally(stored: Option<StoredHistory>) -> Tally {
        match stored {
            Some(StoredHistory { restarts, opened, futile }) => {
                let restarts = restarts.into_iter().map(Time).collect();
                Tally::Becomes(History { restarts, opened, futile })
            }
            None => Tally::ByFirstRule,
        }
    }
}

impl From<&Opening> for StoredOpening {
    fn from(opening: &Opening) -> StoredOpening {
        match opening {
            Opening::Bare => StoredOpening::Bare,
            Opening::Fresh(conversation) => StoredOpening::Fresh(conversation.to_string()),
            Opening::Resume { conversation, turn } => StoredOpening::Resume {
                conversation: conversation.to_string(),
                turn: Worded(*turn),
            },
            Opening::Anew { conversation, turn, why } => StoredOpening::Anew {
                conversation: conversation.to_string(),
                turn: Worded(*turn),
                why: Worded(*why),
            },
        }
    }
}

impl TryFrom<StoredOpening> for Opening {
    type Error = Damage;

    fn try_from(stored: StoredOpening) -> Result<Opening, Damage> {
        Ok(match stored {
            StoredOpening::Bare => Opening::Bare,
            StoredOpening::Fresh(text) => Opening::Fresh(conversation(&text)?),
            StoredOpening::Resume { conversation: text, turn } => {
                Opening::Resume { conversation: conversation(&text)?, turn: turn.0 }
            }
            StoredOpening::Anew { conversation: text, turn, why } => {
                Opening::Anew { conversation: conversation(&text)?, turn: turn.0, why: why.0 }
            }
        })
    }
}

impl From<&Sample> for StoredSample {
    fn from(sample: &Sample) -> StoredSample {
        let Sample { tokens, window, usable, source } = *sample;
        StoredSample { tokens, window, usable, source: Worded(source) }
    }
}

impl From<StoredSample> for Sample {
    fn from(stored: StoredSample) -> Sample {
        let StoredSample { tokens, window, usable, source } = stored;
        Sample { tokens, window, usable, source: source.0 }
    }
}

impl From<Exit> for StoredExit {
    fn from(exit: Exit) -> StoredExit {
        match exit {
            Exit::Code(code) => StoredExit::Code(code),
            Exit::KillSignal(signal) => StoredExit::Signal(signal),
            Exit::Unknown(why) => StoredExit::Unknown(Worded(why)),
        }
    }
}

impl From<StoredExit> for Exit {
    fn from(stored: StoredExit) -> Exit {
        match stored {
            StoredExit::Code(code) => Exit::Code(code),
            StoredExit::Signal(signal) => Exit::KillSignal(signal),
            StoredExit::Unknown(why) => Exit::Unknown(why.0),
        }
    }
}

impl From<&Process> for StoredProcess {
    fn from(process: &Process) -> StoredProcess {
        let Process { pid, start_ticks } = *process;
        StoredProcess { pid, start_ticks }
    }
}

impl From<StoredProcess> for Process {
    fn from(stored: StoredProcess) -> Process {
        let StoredProcess { pid, start_ticks } = stored;
        Process { pid, start_ticks }
    }
}

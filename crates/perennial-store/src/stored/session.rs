//! What happens to an agent's sessions, as it is stored.

use std::time::Duration;

use perennial_core::context::{Sample, Threshold};
use perennial_core::conversation::{ConversationId, Followed, Opening};
use perennial_core::event::AgentEvent;
use perennial_core::exit::Exit;
use perennial_core::id::SessionNumber;
use perennial_core::reason::Reason;
use perennial_core::restart::Tally;
use perennial_core::session::{Pace, Process};
use serde::{Deserialize, Serialize};

use super::part::{self, StoredExit, StoredHistory, StoredOpening, StoredProcess, StoredSample};
use super::word::Worded;
use super::{Encoded, encoded};
use crate::record::Damage;

/// All that is told is which session it is.
#[derive(Serialize, Deserialize)]
pub(super) struct Numbered {
    number: u32,
}

impl Numbered {
    pub fn encoded(kind: &'static str, number: SessionNumber) -> Encoded {
        encoded(kind, &Numbered { number: number.0 })
    }

    pub fn read(self) -> SessionNumber {
        SessionNumber(self.number)
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Wanted {
    number: u32,
    opening: StoredOpening,
}

impl Wanted {
    pub fn of(number: SessionNumber, opening: &Opening) -> Wanted {
        Wanted { number: number.0, opening: opening.into() }
    }

    pub fn read(self) -> Result<AgentEvent, Damage> {
        let (number, opening) = (SessionNumber(self.number), self.opening.try_into()?);
        Ok(AgentEvent::SessionWanted { number, opening })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Starting {
    number: u32,
    limit_micros: u64,
}

impl Starting {
    pub fn of(number: SessionNumber, limit: Duration) -> Starting {
        Starting { number: number.0, limit_micros: part::micros(limit) }
    }

    pub fn read(self) -> AgentEvent {
        let limit = Duration::from_micros(self.limit_micros);
        AgentEvent::SessionStarting { number: SessionNumber(self.number), limit }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Running {
    number: u32,
    process: StoredProcess,
}

impl Running {
    pub fn of(number: SessionNumber, process: &Process) -> Running {
        Running { number: number.0, process: process.into() }
    }

    pub fn read(self) -> AgentEvent {
        let (number, process) = (SessionNumber(self.number), self.process.into());
        AgentEvent::SessionRunning { number, process }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Ending {
    number: u32,
    pace: Worded<Pace>,
}

impl Ending {
    pub fn of(number: SessionNumber, pace: Pace) -> Ending {
        Ending { number: number.0, pace: Worded(pace) }
    }

    pub fn read(self) -> AgentEvent {
        AgentEvent::SessionEnding { number: SessionNumber(self.number), pace: self.pace.0 }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Found {
    number: u32,
    opening: StoredOpening,
    process: Option<StoredProcess>,
}

impl Found {
    pub fn of(number: SessionNumber, opening: &Opening, process: Option<&Process>) -> Found {
        Found { number: number.0, opening: opening.into(), process: process.map(Into::into) }
    }

    pub fn read(self) -> Result<AgentEvent, Damage> {
        let (number, opening) = (SessionNumber(self.number), self.opening.try_into()?);
        Ok(AgentEvent::SessionFound { number, opening, process: self.process.map(Into::into) })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Ended {
    number: u32,
    exit: StoredExit,
    history: Option<StoredHistory>,
    /// All was well though the exit does not say so; otherwise absent.
    #[serde(default, skip_serializing_if = "is_false")]
    well: bool,
    /// Why it had been asked to end; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    asked: Option<Worded<Reason>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

impl Ended {
    pub fn of(
        number: SessionNumber,
        (exit, is_clean): (Exit, bool),
        tally: &Tally,
        asked: Option<Reason>,
    ) -> Ended {
        let well = is_clean && !exit.is_clean();
        let (history, asked) = (StoredHistory::of(tally), asked.map(Worded));
        Ended { number: number.0, exit: exit.into(), history, well, asked }
    }

    pub fn read(self) -> AgentEvent {
        let (number, exit) = (SessionNumber(self.number), Exit::from(self.exit));
        let is_clean = self.well || exit.is_clean();
        AgentEvent::SessionEnded {
            number,
            exit,
            is_clean,
            tally: StoredHistory::tally(self.history),
            asked: self.asked.map(|asked| asked.0),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ConversationFollowed {
    number: u32,
    conversation: String,
    how: Worded<Followed>,
}

impl ConversationFollowed {
    pub fn of(number: SessionNumber, conversation: &ConversationId, how: Followed) -> Self {
        let conversation = conversation.to_string();
        ConversationFollowed { number: number.0, conversation, how: Worded(how) }
    }

    pub fn read(self) -> Result<AgentEvent, Damage> {
        let conversation = part::conversation(&self.conversation)?;
        let number = SessionNumber(self.number);
        Ok(AgentEvent::ConversationFollowed { number, conversation, how: self.how.0 })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ClockPassed {
    number: u32,
    threshold: Worded<Threshold>,
    sample: StoredSample,
}

impl ClockPassed {
    pub fn of(number: SessionNumber, threshold: Threshold, sample: &Sample) -> ClockPassed {
        ClockPassed { number: number.0, threshold: Worded(threshold), sample: sample.into() }
    }

    pub fn read(self) -> AgentEvent {
        let (number, threshold) = (SessionNumber(self.number), self.threshold.0);
        AgentEvent::ClockPassed { number, threshold, sample: self.sample.into() }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct ClockTold {
    number: u32,
    threshold: Worded<Threshold>,
}

impl ClockTold {
    pub fn of(number: SessionNumber, threshold: Threshold) -> ClockTold {
        ClockTold { number: number.0, threshold: Worded(threshold) }
    }

    pub fn read(self) -> AgentEvent {
        let (number, threshold) = (SessionNumber(self.number), self.threshold.0);
        AgentEvent::ClockTold { number, threshold }
    }
}

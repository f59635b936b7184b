//! Handoffs, judged from their events alone: each is about the session that lives, is asked once, and ends. It is told to
//! be complete once: after its session has ended and what is left of its work is kept, before the successor runs.

use std::time::Duration;

use perennial_core::conversation::Opening;
use perennial_core::event::Move;
use perennial_core::handoff::{HandoffAsked, HandoffEvent, Stored};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;

use super::account::Account;
use super::{Verdict, broken};

/// The longest deadline that the model knows.
const LONGEST: Duration = Duration::from_secs(3600);

/// What is known of an agent's handoffs.
#[derive(Debug, Default)]
pub struct HandoffAccount {
    /// The session that was asked last, and whether its handoff is under way, complete, or neither.
    number: Option<SessionNumber>,
    is_under_way: bool,
    is_complete: bool,
    /// The successor is to begin afresh.
    is_succeeded: bool,
    /// A snapshot for which sessions wait was recorded, or recorded as missed, since it was asked.
    pub is_kept: bool,
    /// The session is over, and it is not told yet that its work is stored.
    awaits_storing: bool,
    /// How many snapshots were recorded.
    pub snapshots: u32,
}

impl Account {
    /// JU15
    pub fn handoff(&mut self, id: AgentId, event: &HandoffEvent, at: Time) -> Verdict {
        if self.has_gap {
            return Ok(());
        }
        match event {
            HandoffEvent::Asked(asked) => self.handoff_asked(id, asked, at),
            HandoffEvent::Told { .. }
            | HandoffEvent::Turned { .. }
            | HandoffEvent::Answered { .. } => match self.handoff.is_under_way {
                true => Ok(()),
                false => broken("JU15: only what was asked goes on", format!("{} {event:?}", id.0)),
            },
            HandoffEvent::Completed { number, stored } => self.handoff_done(id, *number, stored),
            HandoffEvent::Due { number, .. }
            | HandoffEvent::OperatorTold { number, .. }
            | HandoffEvent::Symptom { number, .. } => match *number == self.number {
                true => Ok(()),
                false => broken("JU15: it is about the session that lives", format!("{event:?}")),
            },
            HandoffEvent::UnitDone { .. } => Ok(()),
        }
    }

    fn handoff_asked(&mut self, id: AgentId, asked: &HandoffAsked, at: Time) -> Verdict {
        let what = || format!("{} {asked:?} in {:?}", id.0, self.state);
        let can_be = matches!(self.state, State::Working | State::Waiting | State::Unknown);
        if !can_be || self.is_bare || !self.is_running(asked.number) || self.handoff.is_under_way {
            return broken("JU15: only a session that runs is asked, and once", what());
        }
        if asked.deadline < at || asked.deadline.since(at) > LONGEST {
            return broken("JU15: the deadline is ahead, and bounded", what());
        }
        let snapshots = self.handoff.snapshots;
        let (number, is_under_way) = (Some(asked.number), true);
        self.handoff =
            HandoffAccount { number, is_under_way, snapshots, ..HandoffAccount::default() };
        Ok(())
    }

    fn handoff_done(&mut self, id: AgentId, number: SessionNumber, stored: &Stored) -> Verdict {
        let is_over = number < self.number || !self.has_session();
        let what = || format!("{}.{number} {stored:?}", id.0);
        if self.handoff.is_complete || self.handoff.number != Some(number) || !is_over {
            return broken("JU15: complete once, when its session has ended", what());
        }
        let is_there = stored.snapshot.is_none_or(|snapshot| snapshot <= self.handoff.snapshots);
        if !is_there || !self.handoff.is_kept || self.wishes.holds_back() {
            return broken("JU15: complete only when it is stored", what());
        }
        (self.handoff.is_complete, self.handoff.awaits_storing) = (true, false);
        Ok(())
    }

    /// JU15: the agent is handing off exactly while one is under way; who takes over begins afresh.
    pub fn handoff_moved(&mut self, id: AgentId, moved: &Move) -> Verdict {
        let was = self.state == State::HandingOff;
        let is_so = moved.to == State::HandingOff;
        if is_so && !self.handoff.is_under_way && !self.has_gap {
            return broken("JU15: nobody hands off unasked", format!("{} {moved:?}", id.0));
        }
        if was && !is_so {
            self.handoff.is_under_way = false;
            self.handoff.is_succeeded =
                matches!(moved.cause, Cause::HandedOff | Cause::RebootedBusy);
            self.handoff.awaits_storing = self.handoff.is_succeeded && !self.handoff.is_complete;
        }
        Ok(())
    }

    /// JU15: a session runs.
    pub fn runs_after_handoff(&self, id: AgentId) -> Verdict {
        match self.handoff.awaits_storing && !self.has_gap {
            true => broken("JU15: complete before the successor runs", id.to_string()),
            false => Ok(()),
        }
    }

    /// JU15
    pub fn opens_after_handoff(&mut self, id: AgentId, opening: &Opening) -> Verdict {
        let is_succeeded = std::mem::take(&mut self.handoff.is_succeeded);
        match opening {
            Opening::Resume { .. } if is_succeeded && !self.has_gap => {
                broken("JU15: a successor begins afresh", format!("{} {opening:?}", id.0))
            }
            Opening::Resume { .. } | Opening::Bare | Opening::Fresh(_) | Opening::Anew { .. } => {
                Ok(())
            }
        }
    }
}

//! Judges of their own: an independent reading of the journal, and of what people were told.
//!
//! Never folds with the core that it judges: what is known of an agent here is made from the fields
//! of its events alone, and the rules are read again from the model. The core's types serve as words.
//!
//! Rules
//! - JU1  A session's end is read by the model's exit table (`exit`).
//! - JU2  Waits, breaker and churn are those of the model (`restart`).
//! - JU3  An answered stop starts nothing until somebody who may wakes the agent (`promise`).
//! - JU4  An answered bury, and a hold for a damaged record, are never undone (`promise`).
//! - JU5  A name is held once outside the cemetery.
//! - JU6  After a reboot at most two agents are starting out of the line, retries included.
//! - JU7  Only the operator and ancestors stop, wake or restart an agent.
//! - JU8  What is recorded of a session is about the one that lives.
//! - JU10 No chain of parents is a circle.
//! - JU12 By its own word an agent is buried only after it asked, not in a turn, and no session follows (`promise`).
//! - JU15 A handoff is asked of a session that runs, is complete once, and ends (`handoff`).
//! - JU13 Checkpoints of an agent are numbered without gaps.
//! - JU16 An escalation is told step by step, and ends when somebody sees it (`escalation`).
//! - JU17 `clean` removes nothing that anybody needs (`cleaning`).
//! - JU18 A session of an agent CLI that ended, or was asked to, is told of by a checkpoint.
//! - JU9  A start that a suspended machine could not see gets its time back.

mod account;
mod cleaning;
mod escalation;
mod exit;
mod handoff;
mod promise;
mod restart;

use std::collections::BTreeMap;
use std::time::Duration;

use perennial_core::conversation::Opening;
use perennial_core::event::{AgentEvent, Birth, Event, Move, NodeEvent, What};
use perennial_core::id::{AgentId, BootId, SessionNumber};
use perennial_core::reason::{Finding, Witness};
use perennial_core::snapshot::SnapshotEvent;
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;

use account::Account;
pub use account::asks;
pub use promise::is_wake;

use crate::violation::Broken;
use crate::world::World;

/// What the model says of a start: no sign within this is a failed one …
const START_LIMIT: Duration = Duration::from_secs(90);
/// … and this many agents start at once after a reboot.
const STARTING_AT_ONCE: usize = 2;

#[derive(Debug, Default)]
pub struct Judge {
    accounts: BTreeMap<AgentId, Account>,
    boot: Option<BootId>,
    pub escalations: escalation::Escalations,
    pub cleaning: cleaning::Cleaning,
}

/// A verdict: nothing to say, or what is broken.
pub type Verdict = Result<(), Broken>;

pub fn broken(property: &'static str, what: impl Into<String>) -> Verdict {
    Err(Broken { property, what: what.into() })
}

impl World {
    /// Holds one committed append against the rules.
    pub fn judge_append(&mut self, events: &[Event]) {
        let society = match self.ledger.is_forgetful {
            // What can't be read may be a step of an escalation.
            true => Ok(()),
            false => self.judge.escalations_follow(events),
        };
        let society = society.and_then(|()| self.judge.cleaning_follows(events));
        if let Err(found) = society.and_then(|()| self.judge.append(events)) {
            self.broken(found.property, || found.what);
        }
    }
}

impl World {
    /// JU16, when nothing is under way.
    pub fn check_escalations(&mut self, is_everybody_buried: bool) {
        if self.ledger.is_forgetful {
            return;
        }
        if let Err(found) = self.judge.escalations_at_rest(self.now, is_everybody_buried) {
            self.broken(found.property, || found.what);
        }
    }
}

impl Judge {
    pub fn account(&self, id: AgentId) -> Option<&Account> {
        self.accounts.get(&id)
    }

    fn append(&mut self, events: &[Event]) -> Verdict {
        for event in events {
            match &event.what {
                What::Node(_, NodeEvent::DaemonStarted { boot, .. }) => {
                    self.daemon_started(boot, event.at);
                }
                What::Node(
                    _,
                    NodeEvent::DaemonStopped { .. }
                    | NodeEvent::JournalRestored { .. }
                    | NodeEvent::RecordsLost { .. }
                    | NodeEvent::RecordingsPruned { .. }
                    | NodeEvent::AgentCleaned { .. },
                ) => {}
                What::Agent(id, AgentEvent::Hatched(birth)) => {
                    self.hatched(*id, birth, event.at)?;
                }
                What::Agent(id, what) => self.agent_event(*id, what, event.at)?,
                // Who has a name follows from the agents' own events; other lives have other judges.
                What::Name(..)
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
        for (id, account) in &mut self.accounts {
            account.settle_end(*id)?;
        }
        Ok(())
    }

    fn daemon_started(&mut self, boot: &BootId, at: Time) {
        if self.boot.as_ref().is_some_and(|last| last != boot) {
            for account in self.accounts.values_mut() {
                let is_due = account.until.is_some_and(|until| until <= at);
                account.joins_line |= account.state == State::Crashed && is_due;
                account.admitted = false;
            }
        }
        self.boot = Some(boot.clone());
    }

    fn hatched(&mut self, id: AgentId, birth: &Birth, at: Time) -> Verdict {
        self.accounts.insert(id, Account::born(birth, at));
        self.name_is_its_own(id)
    }

    fn agent_event(&mut self, id: AgentId, event: &AgentEvent, at: Time) -> Verdict {
        let Some(account) = self.accounts.get_mut(&id) else { return Ok(()) };
        match event {
            AgentEvent::RoleTaken { .. } | AgentEvent::RoleLeft { .. } => Ok(()),
            AgentEvent::LegacyLeft { .. } | AgentEvent::RoundPassed { .. } => Ok(()),
            AgentEvent::Snapshot(event) => snapshot(account, id, event),
            AgentEvent::Handoff(event) => account.handoff(id, event, at),
            AgentEvent::Checkpoint(event) => account.checkpointed(id, event),
            AgentEvent::Rest(_) => Ok(()),
            AgentEvent::BurialAsked { .. } => account.asks_for_burial(id),
            AgentEvent::Hatched(_) | AgentEvent::PhaseReported { .. } | AgentEvent::Work(_) => {
                Ok(())
            }
            AgentEvent::Rehomed { .. } | AgentEvent::Summarised { .. } => Ok(()),
            AgentEvent::SettingsChanged { settings, .. } => {
                account.set(settings);
                self.answers_to_another(id)
            }
            AgentEvent::Held(_) => {
                account.promise.is_held = true;
                Ok(())
            }
            AgentEvent::HoldLifted { evidence } => account.hold_lifted(id, evidence),
            AgentEvent::Moved(moved) => {
                self.caller_may(id, moved)?;
                self.moved(id, moved, at)
            }
            AgentEvent::SessionWanted { number, opening } => {
                session_wanted(account, id, *number, opening)
            }
            AgentEvent::SessionFound { number, .. } => account.found(id, *number, at),
            AgentEvent::SessionStarting { number, limit } => {
                session_starting(account, id, (*number, *limit), at)?;
                self.line_holds(id)
            }
            AgentEvent::SessionRunning { number, .. } => {
                account.is_live(id, *number, event)?;
                account.running_at = Some(at);
                account.runs_after_handoff(id)
            }
            AgentEvent::SessionEnding { number, .. } => {
                account.is_live(id, *number, event)?;
                account.ending();
                Ok(())
            }
            AgentEvent::SessionEnded { number, exit, .. } => {
                account.is_live(id, *number, event)?;
                account.ended(*exit, at);
                Ok(())
            }
            AgentEvent::SessionProgressed { number }
            | AgentEvent::ConversationFollowed { number, .. }
            | AgentEvent::WindowBegan { number }
            | AgentEvent::ClockPassed { number, .. }
            | AgentEvent::ClockTold { number, .. } => {
                account.is_live(id, *number, event)?;
                account.showed(event);
                Ok(())
            }
            AgentEvent::Renamed { name } => {
                account.name = Some(name.as_str().to_ascii_lowercase());
                self.name_is_its_own(id)
            }
            AgentEvent::PutOff { until, unseen } => {
                account.put_off(*until, *unseen);
                Ok(())
            }
        }
    }

    fn moved(&mut self, id: AgentId, moved: &Move, at: Time) -> Verdict {
        let Some(account) = self.accounts.get_mut(&id) else {
            return Ok(());
        };
        account.may_move(id, moved)?;
        account.keeps_time(id, moved, at)?;
        account.follows_policy(id, moved, at)?;
        account.handoff_moved(id, moved)?;
        account.moved(moved, at);
        // Whoever comes back from the cemetery would bring its name along.
        if moved.to == State::Dead { Ok(()) } else { self.name_is_its_own(id) }
    }

    /// JU7
    fn caller_may(&self, id: AgentId, moved: &Move) -> Verdict {
        let (Finding::Asked(verb) | Finding::AskedFresh(verb), Witness::Agent(caller)) =
            (&moved.evidence.fact, moved.evidence.witness)
        else {
            return Ok(());
        };
        if moved.cause == Cause::Buried && caller == id {
            return self.accounts.get(&id).map_or(Ok(()), |account| account.may_be_buried(id));
        }
        let is_verb = matches!(moved.cause, Cause::Stop | Cause::Wake | Cause::Restarted);
        // Of itself, or of those below it.
        if moved.cause == Cause::HandoffAsked && caller == id {
            return Ok(());
        }
        let is_verb = is_verb || moved.cause == Cause::HandoffAsked;
        if is_verb && (self.is_ancestor(caller, id) || !self.knows_ancestors(id)) {
            return Ok(());
        }
        broken("JU7: only ancestors act on an agent", format!("{} {verb:?} {}", caller.0, id.0))
    }

    /// Whether `ancestor` is above `id`, by what births and settings say.
    pub fn is_ancestor(&self, ancestor: AgentId, id: AgentId) -> bool {
        self.upwards(id).skip(1).any(|one| one == ancestor)
    }

    /// Whether no record is unreadable that could say who is above `id`.
    pub fn knows_ancestors(&self, id: AgentId) -> bool {
        !self.upwards(id).any(|one| self.has_gap(one))
    }

    /// An agent and its ancestors. The chain is never longer than the fleet, also where it should be a circle.
    fn upwards(&self, id: AgentId) -> impl Iterator<Item = AgentId> {
        let parent = |id: &AgentId| self.accounts.get(id).and_then(|account| account.parent);
        std::iter::successors(Some(id), parent).take(1 + self.accounts.len())
    }

    /// JU10
    fn answers_to_another(&self, id: AgentId) -> Verdict {
        match self.is_ancestor(id, id) {
            true => broken("JU10: nobody answers to itself", format!("{}", id.0)),
            false => Ok(()),
        }
    }

    /// JU5
    fn name_is_its_own(&self, id: AgentId) -> Verdict {
        let Some(name) = self.accounts.get(&id).and_then(Account::held_name) else {
            return Ok(());
        };
        let twin = |(other, account): &(&AgentId, &Account)| {
            **other != id && account.held_name() == Some(name)
        };
        match self.accounts.iter().find(twin) {
            Some((other, _)) => broken(
                "JU5: a name is held once outside the cemetery",
                format!("{name}: {} and {}", id.0, other.0),
            ),
            None => Ok(()),
        }
    }

    /// JU6
    fn line_holds(&mut self, id: AgentId) -> Verdict {
        let Some(account) = self.accounts.get_mut(&id).filter(|account| account.joins_line) else {
            return Ok(());
        };
        account.joins_line = false;
        account.admitted = true;
        let starting = self.accounts.values().filter(|account| account.admitted).count();
        if starting > STARTING_AT_ONCE {
            return broken("JU6: two at a time after a reboot", format!("{starting} at once"));
        }
        Ok(())
    }

    /// The machine slept: what starts gets that time back, if a daemon sees it.
    pub fn jumped(&mut self, by: Duration, is_seen: bool) {
        for account in self.accounts.values_mut() {
            account.jumped(by, is_seen);
        }
    }

    /// A daemon is gone, and with it what it had not recorded.
    pub fn daemon_is_gone(&mut self) {
        for account in self.accounts.values_mut() {
            account.given_back = Duration::ZERO;
        }
    }

    /// A record of this agent can't be read: nothing starts it but the operator.
    /// Unless the operator has ordered something since.
    pub fn damaged(&mut self, id: AgentId, is_held: bool) {
        if let Some(account) = self.accounts.get_mut(&id) {
            account.damaged(is_held);
        }
    }

    pub fn is_living(&self, id: AgentId) -> bool {
        self.accounts.get(&id).is_some_and(|account| !account.is_in_cemetery())
    }

    /// Everybody whom only the operator may start.
    pub fn held(&self) -> Vec<AgentId> {
        let held = self.accounts.iter().filter(|(_, account)| account.promise.is_held);
        held.map(|(id, _)| *id).collect()
    }

    /// Whether this agent has had a damaged record: what is recorded of it has a gap.
    pub fn has_gap(&self, id: AgentId) -> bool {
        self.accounts.get(&id).is_some_and(|account| account.has_gap)
    }

    /// JU4: a daemon orders a start; may it?
    pub fn orders_start(&self, id: AgentId, number: SessionNumber) -> Verdict {
        match self.accounts.get(&id) {
            Some(account) if account.promise.is_held => {
                let what = format!("{}.{number} is ordered to start", id.0);
                broken("JU4: nothing starts what is held", what)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// X10
    pub fn waits_for_no_snapshot(&self, id: AgentId) -> Verdict {
        match self.accounts.get(&id) {
            Some(account) if account.wishes.holds_back() && !account.has_gap => {
                broken("X10: a session waits for its snapshot", format!("{}", id.0))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// X11. What can't be read may have been the wish, or its end.
    pub fn has_wish(&self, id: AgentId) -> bool {
        let account = self.accounts.get(&id).filter(|account| !account.has_gap);
        account.is_some_and(|account| account.wishes.is_standing())
    }

    /// JU18. Of whoever is in the cemetery nothing more is recorded, and a bare command has no work that could be told.
    pub fn owes_checkpoint(&self, id: AgentId) -> bool {
        let is_told =
            |account: &&Account| !account.has_gap && !account.is_bare && !account.is_in_cemetery();
        self.accounts.get(&id).filter(is_told).is_some_and(|account| account.owes_checkpoint)
    }

    /// JU3, JU4: a program begins on the machine; may it?
    pub fn executes(&self, id: AgentId, number: SessionNumber) -> Verdict {
        match self.accounts.get(&id) {
            Some(account) => account.may_begin(id, number, "executed"),
            None => Ok(()),
        }
    }
}

fn snapshot(account: &mut Account, id: AgentId, event: &SnapshotEvent) -> Verdict {
    if let SnapshotEvent::Taken(taken) = event {
        account.handoff.snapshots = taken.number;
    }
    account.wishes(id, event)
}

fn session_wanted(
    account: &mut Account,
    id: AgentId,
    number: SessionNumber,
    opening: &Opening,
) -> Verdict {
    account.may_begin(id, number, "wanted")?;
    account.opens_by_policy(id, opening)?;
    account.opens_after_handoff(id, opening)?;
    account.wanted(number, opening);
    Ok(())
}

fn session_starting(
    account: &mut Account,
    id: AgentId,
    (number, limit): (SessionNumber, Duration),
    at: Time,
) -> Verdict {
    account.may_begin(id, number, "starting")?;
    if limit != START_LIMIT {
        return broken("JU9: a start has 90 s", format!("{} {limit:?}", id.0));
    }
    account.starting(at);
    Ok(())
}

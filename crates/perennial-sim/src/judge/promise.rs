//! What people were promised: an answered stop starts nothing, an answered bury and a hold are never
//! undone. Counted from answers and requests, and held against the journal and the machine.

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Target, Then};
use perennial_core::event::Move;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::{Evidence, Finding, Verb, Witness};
use perennial_core::refusal::Refusal;
use perennial_core::state::{Cause, State};
use perennial_engine::supervisor::{Rejection, Waiter};

use super::account::Account;
use super::{Judge, Verdict, broken};
use crate::operator::{Answer, Asked};
use crate::world::World;

/// What holds for one agent.
#[derive(Debug, Default)]
pub struct Promise {
    /// A stop is recorded, and no wake after it.
    is_stopped: bool,
    /// A stop was answered: from this session on none begins.
    starts_before: Option<SessionNumber>,
    pub is_held: bool,
    is_buried: bool,
    /// It asked to be buried, and nobody gave it a session since.
    pub wants_burial: bool,
}

impl Promise {
    pub fn moved(&mut self, moved: &Move) {
        let is_operators = moved.evidence.witness == Witness::Operator
            && matches!(moved.evidence.fact, Finding::Asked(_) | Finding::AskedFresh(_));
        self.is_held &= !is_operators;
        if matches!(moved.cause, Cause::Stop | Cause::Wake | Cause::Restarted) {
            self.is_stopped = moved.cause == Cause::Stop;
            self.wants_burial &= moved.cause == Cause::Stop;
        }
        self.is_buried |= moved.to == State::Dead;
    }
}

impl Account {
    /// JU3, JU4: whether a session may be wanted, started or executed.
    pub fn may_begin(&self, id: AgentId, number: SessionNumber, how: &str) -> Verdict {
        let what = || format!("{}.{number} is {how}", id.0);
        // What was under way when the promise was made may still come, and is ended.
        let is_new = number > self.number || !self.is_started;
        if self.promise.starts_before.is_some_and(|first| number >= first) {
            return broken("JU3: an answered stop starts nothing", what());
        }
        if self.promise.is_stopped && is_new {
            return broken("JU3: a recorded stop starts nothing", what());
        }
        if self.promise.is_held && is_new {
            return broken("JU4: nothing starts what is held", what());
        }
        if self.promise.wants_burial && is_new && !self.has_gap {
            return broken("JU12: no session follows a wish to be buried", what());
        }
        if self.promise.is_buried && is_new {
            return broken("JU4: a bury is never undone", what());
        }
        Ok(())
    }

    /// JU4: whether such a move may be at all.
    pub fn may_move(&self, id: AgentId, moved: &Move) -> Verdict {
        if self.promise.is_buried {
            return broken("JU4: a bury is never undone", format!("{} {moved:?}", id.0));
        }
        let is_operators = moved.evidence.witness == Witness::Operator;
        if self.promise.is_held && moved.to == State::Waking && !is_operators {
            return broken("JU4: nothing starts what is held", format!("{} {moved:?}", id.0));
        }
        Ok(())
    }

    /// JU4: only the operator lifts a hold.
    pub fn hold_lifted(&mut self, id: AgentId, evidence: &Evidence) -> Verdict {
        self.promise.is_held = false;
        // It may have been stopped before its record was damaged: whoever wakes it wants it to run.
        let wakes = matches!(
            evidence.fact,
            Finding::Asked(Verb::Wake | Verb::Restart) | Finding::AskedFresh(_)
        );
        self.promise.is_stopped &= !wakes;
        match evidence.witness {
            Witness::Operator => Ok(()),
            other => broken("JU4: only the operator lifts a hold", format!("{} {other:?}", id.0)),
        }
    }

    pub fn asks_for_burial(&mut self, id: AgentId) -> Verdict {
        if (self.is_in_cemetery() || self.promise.wants_burial) && !self.has_gap {
            return broken("JU12: it asks once, and in life", format!("{}", id.0));
        }
        self.promise.wants_burial = true;
        Ok(())
    }

    /// JU12: by its own word it is buried only if it asked, and not in the middle of its turn.
    pub fn may_be_buried(&self, id: AgentId) -> Verdict {
        let is_in_turn = self.state == State::Working && self.has_session();
        match (self.promise.wants_burial && !is_in_turn && !self.promise.is_held) || self.has_gap {
            true => Ok(()),
            false => broken("JU12: buried by itself too early", format!("{}", id.0)),
        }
    }

    fn is_stopped_for_good(&self) -> bool {
        let rests = matches!(self.state, State::Sleeping | State::Frozen | State::Hibernating);
        self.promise.is_stopped || rests || self.is_in_cemetery()
    }

    fn promise_stop(&mut self) {
        let first = if self.is_started { self.number.next() } else { self.number };
        self.promise.starts_before = Some(first);
    }
}

/// Whom a command gives a session, if it does.
pub fn is_wake(command: &Command) -> Option<&Target> {
    match command {
        Command::Wake(target)
        | Command::Restart(target)
        | Command::WakeFresh(target)
        | Command::RestartFresh(target) => Some(target),
        Command::Set(set) if set.then != Then::Nothing => Some(&set.target),
        Command::Set(_)
        | Command::Spawn(_)
        | Command::Stop(_)
        | Command::StopAll
        | Command::Rename { .. }
        | Command::Bury { .. }
        | Command::Send { .. }
        | Command::Unsend { .. }
        | Command::Mail(_)
        | Command::ReadMail { .. }
        | Command::Prune { .. }
        | Command::Clean { .. }
        | Command::Snapshot(_)
        | Command::Handoff(_)
        | Command::Checkpoint(_)
        | Command::Post { .. }
        | Command::Leave { .. }
        | Command::SpawnChild(..)
        | Command::Assume { .. }
        | Command::Transfer { .. }
        | Command::Drop(_)
        | Command::DismissVacancy { .. }
        | Command::Report { .. }
        | Command::Signal(_)
        | Command::Escalate(_)
        | Command::Task(_)
        | Command::SpawnOn { .. } => None,
    }
}

/// Whether a request may be about this agent: names change hands, so each may be.
fn concerns(target: &str, id: AgentId) -> bool {
    target.parse::<AgentId>().map_or(true, |own| own == id)
}

impl Judge {
    fn may_wake(&self, caller: Caller, id: AgentId) -> bool {
        match caller {
            Caller::Person => true,
            Caller::Agent(own) => self.is_ancestor(own, id),
            Caller::Viewer | Caller::Job | Caller::Ambiguous => false,
        }
    }

    /// Somebody asks: who may wake an agent takes the promise of a stop back.
    pub fn asked(&mut self, caller: Caller, command: &Command) {
        let Some(target) = is_wake(command) else {
            return;
        };
        let ids: Vec<AgentId> = self.accounts.keys().copied().collect();
        for id in ids.into_iter().filter(|id| concerns(target, *id)) {
            if self.may_wake(caller, id)
                && let Some(account) = self.accounts.get_mut(&id)
            {
                account.promise.starts_before = None;
            }
        }
    }
}

impl World {
    /// Holds an answer against the rules, and keeps in mind what it promises.
    pub fn judge_answer(&mut self, waiter: Waiter, agents: &[AgentId]) {
        let Some(asked) = self.operator.asked.get(&waiter) else {
            return;
        };
        let (caller, command) = (asked.caller, asked.command.clone());
        let verdict = match (&asked.answer, &command) {
            (Some(Answer::Done), Command::Stop(_) | Command::StopAll) => {
                agents.iter().try_for_each(|id| self.stop_answered(waiter, *id))
            }
            // An agent's own is a wish, carried out later (JU12).
            (Some(Answer::Done), Command::Bury { .. }) if caller == Caller::Person => {
                let is_dead = |id: &&AgentId| {
                    self.judge.account(**id).is_none_or(|account| account.state == State::Dead)
                };
                match agents.iter().find(|id| !is_dead(id)) {
                    Some(id) => broken("JU4: an answered bury is recorded", format!("{}", id.0)),
                    None => Ok(()),
                }
            }
            (Some(_) | None, _) => Ok(()),
        };
        let allowed = self.judge_authority(caller, &command, waiter);
        if let Err(found) = verdict.and(allowed) {
            self.broken(found.property, || found.what);
        }
    }

    fn stop_answered(&mut self, stop: Waiter, id: AgentId) -> Verdict {
        let wakes = |(waiter, asked): (&Waiter, &Asked)| {
            let Some(target) = is_wake(&asked.command) else {
                return false;
            };
            let may_come_after = match asked.answer {
                None => *waiter != stop,
                Some(_) => asked.answered_after >= Some(stop.0),
            };
            concerns(target, id) && self.judge.may_wake(asked.caller, id) && may_come_after
        };
        if self.operator.asked.iter().any(wakes) {
            return Ok(());
        }
        let Some(account) = self.judge.accounts.get_mut(&id) else {
            return Ok(());
        };
        if !account.is_stopped_for_good() && !account.has_gap {
            let what = format!("{} is {:?}", id.0, account.state);
            return broken("JU3: an answered stop is recorded", what);
        }
        account.promise_stop();
        Ok(())
    }

    /// JU7: agents are refused what they may not, and only that.
    fn judge_authority(&self, caller: Caller, command: &Command, waiter: Waiter) -> Verdict {
        let (Command::Stop(target)
        | Command::Wake(target)
        | Command::Restart(target)
        | Command::WakeFresh(target)
        | Command::RestartFresh(target)) = command
        else {
            return Ok(());
        };
        let Ok(id) = target.parse::<AgentId>() else {
            return Ok(());
        };
        let answer = self.operator.asked.get(&waiter).and_then(|asked| asked.answer.as_ref());
        let is_refused = match answer {
            Some(Answer::Rejected(Rejection::Refused(Refusal::NotAllowed { .. }))) => true,
            Some(Answer::Done | Answer::Rejected(Rejection::Refused(_))) => false,
            Some(Answer::Rejected(Rejection::NotRecorded(_))) | None => return Ok(()),
        };
        // Who leads whom may have changed between the decision and its answer.
        let moves = |asked: &Asked| {
            let is_move =
                matches!(&asked.command, Command::Set(set) if set.settings.parent.is_some());
            is_move && asked.answered_after.is_none_or(|after| after >= waiter.0)
        };
        if self.operator.asked.values().any(moves) {
            return Ok(());
        }
        // The target may be unborn for the journal while its birth is under way; and what can't be read may have said
        // who is above it.
        let is_known = self.judge.account(id).is_some() && self.judge.knows_ancestors(id);
        if !is_known || is_refused != self.judge.may_wake(caller, id) {
            return Ok(());
        }
        let what = format!("{caller:?} {command:?}: refused: {is_refused}");
        broken("JU7: who may is obeyed, and nobody else", what)
    }
}

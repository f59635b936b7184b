//! The people and agents who ask: requests under way, and what they were told.
//!
//! Remembers what each answer rests on, so that an answer can be held against the journal.

use std::collections::BTreeMap;

use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Set, Target, Then};
use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::id::AgentId;
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::settings::{NewParent, Settings};
use perennial_engine::supervisor::{Input, Rejection, Waiter};

use crate::daemon::Life;
use crate::judge::is_wake;
use crate::random::Random;
use crate::world::{Happening, World};

/// What somebody was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Done,
    Rejected(Rejection),
}

/// A request, and what its answer rests on.
#[derive(Debug)]
pub struct Asked {
    pub life: Life,
    pub caller: Caller,
    pub command: Command,
    /// The events that have to be in the journal before anybody may say yes; `None`: not known.
    pub rests_on: Option<Vec<Event>>,
    /// Whether those are its own, or what was under way when it was so already.
    pub is_own: bool,
    pub answer: Option<Answer>,
    /// The newest request when it was answered.
    pub answered_after: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Operator {
    next_waiter: u64,
    pub asked: BTreeMap<Waiter, Asked>,
    /// Events that answers rested on: they are in the journal for good.
    pub acknowledged: Vec<Event>,
    next_agent: u128,
}

impl World {
    /// A fresh agent id.
    pub fn new_agent(&mut self) -> AgentId {
        self.operator.next_agent += 1;
        AgentId(self.operator.next_agent)
    }

    /// Sends a request to the daemon; `None`: there is none that would take it.
    pub fn ask(&mut self, caller: Caller, command: Command) -> Option<Waiter> {
        // A daemon listens before its start is recorded; of two that race nobody knows which one.
        let life = self.daemons.first().filter(|_| self.daemons.len() == 1)?.life;
        let waiter = self.new_waiter();
        self.tell(|| format!("{caller:?} asks daemon {}: {command:?}", life.0));
        let asked = Asked {
            life,
            caller,
            command: command.clone(),
            rests_on: None,
            is_own: false,
            answer: None,
            answered_after: None,
        };
        self.judge.asked(caller, &command);
        self.ledger.wakes_asked += u64::from(is_wake(&command).is_some());
        self.operator.asked.insert(waiter, asked);
        let request = Request { caller, command };
        self.hop(Happening::Reaches { life, input: Input::Request { waiter, request } });
        Some(waiter)
    }

    pub fn new_waiter(&mut self) -> Waiter {
        self.operator.next_waiter += 1;
        Waiter(self.operator.next_waiter)
    }

    fn text_is_answered(&mut self, command: &Command) {
        match command {
            Command::Send { id, .. } => self.texts.is_acknowledged(*id),
            Command::Unsend { id } => self.texts.is_unsent(*id),
            Command::Mail(draft) => self.mails.is_acknowledged(draft.id),
            Command::Spawn(_)
            | Command::Stop(_)
            | Command::StopAll
            | Command::Wake(_)
            | Command::Restart(_)
            | Command::WakeFresh(_)
            | Command::RestartFresh(_)
            | Command::Set(_)
            | Command::Rename { .. }
            | Command::Bury { .. }
            | Command::Prune { .. }
            | Command::Clean { .. }
            | Command::Snapshot(_)
            | Command::Handoff(_)
            | Command::Checkpoint(_)
            | Command::Post { .. }
            | Command::Leave { .. }
            | Command::SpawnChild(..)
            | Command::ReadMail { .. }
            | Command::Assume { .. }
            | Command::Transfer { .. }
            | Command::Drop(_)
            | Command::DismissVacancy { .. }
            | Command::Report { .. }
            | Command::Signal(_)
            | Command::Escalate(_)
            | Command::Task(_)
            | Command::SpawnOn { .. } => {}
        }
    }

    /// Whom memory no longer has the surface finds in the store, and the core answers about it.
    pub fn recalled(
        &self,
        life: Life,
        waiter: Waiter,
        answer: Result<Vec<Entity>, Rejection>,
    ) -> Result<Vec<Entity>, Rejection> {
        let Err(Rejection::Refused(Refusal::NoSuchAgent { target })) = &answer else {
            return answer;
        };
        let record = &self.ledger.record;
        let (Some(daemon), Some(asked)) = (self.daemon(life), self.operator.asked.get(&waiter))
        else {
            return answer;
        };
        let fleet = daemon.supervisor.fleet();
        let has_left = |agent: &&Agent| fleet.agent(agent.id).is_none();
        let Some(found) = record.find(target).ok().filter(has_left) else { return answer };
        let above = |agent: &&Agent| agent.parent.and_then(|id| record.agent(id)).filter(has_left);
        let ended: Vec<Agent> = std::iter::successors(Some(found), above).cloned().collect();
        let mut request = Request { caller: asked.caller, command: asked.command.clone() };
        if let Some(target) = request.command.target_mut() {
            *target = found.id.to_string();
        }
        match fleet.around(&ended).decide(&request, self.now) {
            Err(refusal) => Err(Rejection::Refused(refusal)),
            Ok(_) => answer,
        }
    }

    /// Somebody was answered: is it true, and will it stay true?
    pub fn answered(&mut self, waiter: Waiter, answer: &Result<Vec<Entity>, Rejection>) {
        let newest = self.operator.next_waiter;
        let Some(asked) = self.operator.asked.get_mut(&waiter) else {
            return;
        };
        let (rests_on, is_own) = (asked.rests_on.clone().unwrap_or_default(), asked.is_own);
        if asked.answer.is_some() {
            self.broken("answered once", || format!("{waiter:?} was answered twice"));
            return;
        }
        asked.answer = Some(match answer {
            Ok(_) => Answer::Done,
            Err(rejection) => Answer::Rejected(rejection.clone()),
        });
        asked.answered_after = Some(newest);
        let command = asked.command.clone();
        self.tell(|| format!("{waiter:?} is answered {answer:?}"));
        let entities = answer.as_deref().unwrap_or_default();
        let agents: Vec<AgentId> = entities.iter().filter_map(Entity::agent).collect();
        self.judge_answer(waiter, &agents);
        let durable = |event: &Event| self.journal.has(event);
        match answer {
            Ok(_) if !rests_on.iter().all(durable) => {
                self.broken("2: what was answered is durable", || format!("{command:?}"));
            }
            Ok(_) => {
                self.operator.acknowledged.extend(rests_on);
                self.text_is_answered(&command);
            }
            Err(Rejection::NotRecorded(_)) if is_own && rests_on.iter().any(durable) => {
                self.broken("not recorded is not recorded", || format!("{command:?}"));
            }
            Err(Rejection::NotRecorded(_) | Rejection::Refused(_)) => {}
        }
    }
}

/// Another restart policy, sometimes with another parent, and perhaps a session that has them.
pub fn drawn_set(random: &mut Random, target: Target, parent: Target) -> Command {
    let restart = random.pick(&[Restart::Never, Restart::OnCrash, Restart::Always]).copied();
    let then = random.pick(&[Then::Nothing, Then::Wake, Then::Restart]).copied();
    let parent = match random.below(4) {
        0 => Some(NewParent::Nobody),
        1 => Some(NewParent::Agent(parent)),
        _ => None,
    };
    let settings = Settings { restart, parent, ..Settings::default() };
    Command::Set(Box::new(Set { target, settings, then: then.unwrap_or(Then::Nothing) }))
}

//! What the journal can't tell any more, marked in the fleet so that nothing is done twice for it.
//!
//! Pure. No mark is an event: all are found again at every start, so that a mended record needs none. What
//! is found in the world instead of in the journal is recorded, since nothing else tells of it.

use std::collections::BTreeSet;

use super::{Fleet, of};
use crate::agent::{self, Agent, START_LIMIT};
use crate::entity::Entity;
use crate::event::{AgentEvent, Birth, Event, Move, NodeEvent, What};
use crate::id::{AgentId, JobId, MessageId};
use crate::job::{self, JobEvent};
use crate::launch::Launch;
use crate::message::{Message, MessageState};
use crate::name::{Name, NameKey};
use crate::observation::{LivingSession, LostRecords, Stocktaking};
use crate::reason::{Evidence, Finding, Witness};
use crate::restart::Restart;
use crate::time::Time;

/// What an agent is called of which nobody knows a name.
const UNNAMED: &str = "found";

/// Whether the state of what an event is about is known from here on, whatever was lost before: an
/// operator has just set that of an agent by a verb, or a text or job is over.
pub fn is_known_again(event: &Event) -> bool {
    match &event.what {
        What::Agent(_, AgentEvent::Moved(Move { evidence, .. }))
        | What::Agent(_, AgentEvent::HoldLifted { evidence }) => {
            let is_verb = matches!(evidence.fact, Finding::Asked(_) | Finding::AskedFresh(_));
            evidence.witness == Witness::Operator && is_verb
        }
        // What is found in the world is told from there on by the world.
        What::Agent(_, AgentEvent::SessionFound { .. }) => true,
        What::Message(_, event) => event.is_last(),
        What::Job(_, JobEvent::Ended { .. }) => true,
        What::Job(_, JobEvent::Wanted { .. } | JobEvent::Running { .. }) => false,
        What::Agent(..) | What::Node(..) | What::Name(..) => false,
        What::Conversation(..) | What::Post(..) | What::Role(..) => false,
        What::Signal(..) | What::Escalation(..) | What::Task(..) => false,
    }
}

impl Fleet {
    /// What follows from how the journal and the world differ at a start. Agents whose session is alive
    /// in the number that the journal has go on as they are.
    pub(super) fn took_stock(&self, stocktaking: &Stocktaking, now: Time) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(LostRecords { known, found }) = stocktaking.lost {
            events.push(self.of_own(NodeEvent::RecordsLost { known, found }, now));
            // A holder that lives may have nothing left to hold: the end of its session may be gone.
            let lives = |agent: &Agent| {
                let is_told = |one: &LivingSession| {
                    one.process.is_some() || !agent::session_found(agent, one, now).is_empty()
                };
                stocktaking.living.iter().any(|one| one.agent == agent.id && is_told(one))
            };
            for agent in self.own_agents().filter(|agent| !lives(agent)) {
                events.extend(of(agent.id, agent::records_lost(agent, now), now));
            }
            events.extend(self.may_be_done(now));
        }
        let mut names = BTreeSet::new();
        for living in &stocktaking.living {
            let found = self.found(living, &mut names, now);
            events.extend(of(living.agent, found, now));
        }
        events
    }

    /// What gone records may tell the end of: texts that wait may have been given, and jobs may have run.
    fn may_be_done(&self, now: Time) -> Vec<Event> {
        let waits = |text: &&Message| match text.state {
            MessageState::Waiting { .. } => !text.is_unreadable(),
            // Whether it was taken is told by its conversation.
            MessageState::Offered { .. } => false,
        };
        let texts = self
            .messages
            .iter()
            .filter(waits)
            .filter(|text| self.is_own(&Entity::Message(text.id)));
        let texts = texts.map(|text| What::Message(text.id, text.may_be_given()));
        let jobs =
            self.jobs.iter().filter(|job| self.is_own(&Entity::Job(job.id)) && !job.is_over());
        let jobs = jobs.map(|job| What::Job(job.id, job::lost(job)));
        texts.chain(jobs).map(|what| Event { at: now, what }).collect()
    }

    /// A living session of which the journal has no record; of an agent that it does not know, or whose
    /// birth can't be read, with what its holder's directory claims about it. `names` are taken by now.
    fn found(
        &self,
        living: &LivingSession,
        names: &mut BTreeSet<NameKey>,
        now: Time,
    ) -> Vec<AgentEvent> {
        match self.agents.get(living.agent) {
            Some(agent) if !agent.is_unborn() => agent::session_found(agent, living, now),
            Some(_) if !living.has_program() => Vec::new(),
            // One that has left memory is in the cemetery: it gets no more events.
            None if living.has_records => Vec::new(),
            known => {
                let birth = self.reborn(living, known, names, now);
                names.extend(birth.name.as_ref().map(Name::key));
                let agent = Agent::born(living.agent, &birth, now);
                let mut events = vec![AgentEvent::Hatched(Box::new(birth))];
                events.extend(agent::session_found(&agent, living, now));
                events
            }
        }
    }

    /// The birth of an agent that the journal does not know, from what its holder's directory claims:
    /// what gives somebody a right over it, its parent, is not believed. `known` is what the record still
    /// says of it, `taken` the names that others of the same batch get.
    fn reborn(
        &self,
        living: &LivingSession,
        known: Option<&Agent>,
        taken: &BTreeSet<NameKey>,
        now: Time,
    ) -> Birth {
        let is_free = |name: &Name| {
            let is_others = self.agents.name_is_free(name, Some(living.agent)).is_err();
            !taken.contains(&name.key()) && !is_others
        };
        let claim = living.claim.as_deref();
        let recorded = known.and_then(|agent| agent.name.clone());
        let name = recorded.or_else(|| claim?.name.clone());
        let stem = name.as_ref().map_or(UNNAMED, Name::as_str);
        let fact = Finding::SessionFound(living.number);
        Birth {
            name: Some(Name::first_free(stem, is_free)),
            role: claim.and_then(|claim| claim.role.clone()),
            parent: None,
            node: self.node,
            launch: claim.map_or_else(Launch::unknown, |claim| claim.launch.clone()),
            restart: claim.map_or(Restart::Never, |claim| claim.restart),
            evidence: Evidence { witness: Witness::Daemon, fact, at: now },
            until: now + START_LIMIT,
        }
    }

    /// A record of this agent can't be read: it is unknown, held, and told; nothing starts it but
    /// the operator.
    pub fn mark_unreadable(&mut self, id: AgentId, why: &str, at: Time) {
        self.agents.mark_unreadable(id, why, at);
    }

    /// The birth of this agent can't be read: it is listed all the same.
    pub fn list_unborn(&mut self, id: AgentId, at: Time) {
        self.agents.list_unborn(id, at);
    }

    /// A record of this message can't be read: it is held, and told; it is never offered (T7).
    pub fn mark_message_unreadable(&mut self, id: MessageId) {
        self.messages.mark_unreadable(id);
    }

    /// The first record of this message can't be read: it is listed, and held, all the same.
    pub fn list_unrecorded(&mut self, message: Message) {
        self.messages.list_unrecorded(message);
    }

    /// A record of this job can't be read: it may have run, and is not run again (O2).
    pub fn mark_job_unreadable(&mut self, id: JobId) {
        self.jobs.mark_unreadable(id);
    }
}

//! Everything that lives, together: routes commands, reports and events to their lives.
//!
//! Pure, and without rules of its own. `decide` and `observe` read; `evolve` alone changes, and tells
//! what it touched, so that only that is planned (property: planning the touched = planning all).
//! What follows at once from an event is in the same batch.

use std::borrow::Cow;

use crate::agent::{self, Agent, HATCH_LIMIT};
use crate::agents::{self, Agents};
use crate::authority::{self, Caller, Standing};
use crate::command::{Command, Request, Spawn};
use crate::conversation::Followed;
use crate::effect::Plan;
use crate::entity::Entity;
use crate::event::{AgentEvent, Birth, Event, NodeEvent, What};
use crate::id::{AgentId, BootId, Epoch};
use crate::observation::{Observation, Sign};
use crate::reason::{Evidence, Fact, Verb};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::state::Roster;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fleet {
    agents: Agents,
    epoch: Epoch,
    boot: BootId,
}

impl Fleet {
    /// The fleet of which these are all agents, as folding its events would have made it.
    pub fn restore(agents: impl IntoIterator<Item = Agent>, epoch: Epoch, boot: BootId) -> Fleet {
        Fleet { agents: Agents::restore(agents), epoch, boot }
    }

    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter()
    }

    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// Everything that may have something to do.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        self.agents().map(|agent| Entity::Agent(agent.id))
    }

    /// The newest run of a daemon.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The boot that the newest daemon ran in.
    pub fn boot(&self) -> &BootId {
        &self.boot
    }

    /// An agent by name, by `NAME~1` (the one before the newest of that name), or by id.
    pub fn find(&self, target: &str) -> Result<&Agent, Refusal> {
        self.agents.find(target)
    }

    /// Whether `lead` is an ancestor of `agent`.
    pub fn leads(&self, lead: AgentId, agent: AgentId) -> bool {
        self.agents.leads(lead, agent)
    }

    /// Takes over `newest`'s copy of an entity of which nothing more is under way.
    pub fn share(&mut self, newest: &Fleet, entity: &Entity) {
        match entity {
            Entity::Agent(id) => self.agents.share(&newest.agents, *id),
            Entity::Node
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Message(_)
            | Entity::Post(_)
            | Entity::Job(_) => {}
        }
    }

    /// Refuses what `caller` may not do to `target`; also asked for verbs that decide nothing.
    pub fn authorise(
        &self,
        caller: Caller,
        verb: Verb,
        target: Option<AgentId>,
    ) -> Result<(), Refusal> {
        let standing = match (caller, target) {
            (Caller::Agent(own), Some(id)) if own == id => Standing::Itself,
            (Caller::Agent(own), Some(id)) if self.leads(own, id) => Standing::Lead,
            (_, Some(_)) => Standing::Other,
            (_, None) => Standing::NoTarget,
        };
        if authority::may(caller, verb, standing) {
            Ok(())
        } else {
            Err(Refusal::NotAllowed { caller, verb })
        }
    }

    /// Answers a command; changes nothing.
    pub fn decide(&self, request: &Request, now: Time) -> Result<Decision, Refusal> {
        let Decision { about, events } = self.answer(request, now)?;
        Ok(Decision { about, events: self.with_consequences(events) })
    }

    fn answer(&self, request: &Request, now: Time) -> Result<Decision, Refusal> {
        let caller = request.caller;
        let witness = caller.witness();
        match &request.command {
            Command::Spawn(spawn) => self.spawn(caller, spawn, now),
            Command::Stop(target) => {
                let agent = self.allowed(caller, Verb::Stop, target)?;
                Ok(Decision::of(agent.id, agent::stop(agent, witness, now)?, now))
            }
            Command::StopAll => {
                self.authorise(caller, Verb::Stop, None)?;
                let mut decision = Decision::default();
                for agent in self.agents().filter(|a| a.state.roster() != Roster::Cemetery) {
                    let events = agent::stop(agent, witness, now)?;
                    if !events.is_empty() {
                        decision.about.push(Entity::Agent(agent.id));
                        decision.events.extend(of(agent.id, events, now));
                    }
                }
                Ok(decision)
            }
            Command::Wake(target) => {
                let agent = self.allowed(caller, Verb::Wake, target)?;
                Ok(Decision::of(agent.id, agent::wake(agent, witness, now)?, now))
            }
            Command::Rename { target, name } => {
                let agent = self.allowed(caller, Verb::Rename, target)?;
                self.agents.name_is_free(name, Some(agent.id))?;
                Ok(Decision::of(agent.id, agent::rename(agent, name.clone())?, now))
            }
            Command::Bury { target, summary } => {
                let agent = self.allowed(caller, Verb::Bury, target)?;
                Ok(Decision::of(agent.id, agent::bury(agent, summary.clone(), witness, now)?, now))
            }
            Command::Report { phase, summary } => {
                let Caller::Agent(own) = caller else {
                    return Err(Refusal::NotAllowed { caller, verb: Verb::Report });
                };
                let agent = self.allowed(caller, Verb::Report, &own.to_string())?;
                Ok(Decision::of(agent.id, agent::report(agent, *phase, summary.clone()), now))
            }
        }
    }

    fn allowed(&self, caller: Caller, verb: Verb, target: &str) -> Result<&Agent, Refusal> {
        let agent = self.find(target)?;
        self.authorise(caller, verb, Some(agent.id))?;
        Ok(agent)
    }

    fn spawn(&self, caller: Caller, spawn: &Spawn, now: Time) -> Result<Decision, Refusal> {
        self.authorise(caller, Verb::Spawn, None)?;
        let name = match &spawn.name {
            Some(name) => {
                self.agents.name_is_free(name, None)?;
                name.clone()
            }
            None => self.agents.free_name(&spawn.launch.argv),
        };
        let parent = match &spawn.parent {
            Some(target) => {
                let parent = self.find(target)?;
                if parent.state.roster() == Roster::Cemetery {
                    return Err(Refusal::ParentGone { parent: parent.id });
                }
                Some(parent.id)
            }
            None => None,
        };
        if let Some(conversation) = &spawn.conversation {
            self.agents.conversation_is_free(conversation, None)?;
        }
        let fact = Fact::Asked(Verb::Spawn);
        let birth = Birth {
            name: Some(name),
            role: spawn.role.clone(),
            parent,
            launch: spawn.launch.clone(),
            restart: spawn.restart,
            evidence: Evidence { witness: caller.witness(), fact, at: now },
            until: now + HATCH_LIMIT,
        };
        Ok(Decision::of(spawn.id, agent::hatch(spawn.id, birth, spawn.conversation.clone()), now))
    }

    /// Takes note of a report.
    pub fn observe(&self, observation: &Observation, now: Time) -> Vec<Event> {
        self.with_consequences(self.noted(observation, now))
    }

    fn noted(&self, observation: &Observation, now: Time) -> Vec<Event> {
        match observation {
            Observation::Session { agent, number, report } => match self.agents.get(*agent) {
                Some(known) => of(*agent, agent::observe(known, *number, report, now), now),
                None => Vec::new(),
            },
            Observation::Harness { agent, number, sign } => match self.agents.get(*agent) {
                Some(known) => {
                    let sign = self.within_own(known, sign);
                    of(*agent, agent::shown(known, *number, &sign, now), now)
                }
                None => Vec::new(),
            },
            Observation::Due { entity, .. } => self.due(entity, now),
            Observation::Started { boot, version } => self.started(boot, version, now),
            Observation::Stopping => {
                vec![node(NodeEvent::DaemonStopped { epoch: self.epoch }, now)]
            }
            Observation::ClockJumped { by } => {
                let put_off = |agent: &Agent| of(agent.id, agent::put_off(agent, *by), now);
                self.agents().flat_map(put_off).collect()
            }
        }
    }

    /// A session may go into the conversation of another agent by its own means. It is not followed
    /// there: the next session would write it beside the one whose it is.
    fn within_own<'s>(&self, agent: &Agent, sign: &'s Sign) -> Cow<'s, Sign> {
        let Sign::Began { conversation, .. } = sign else { return Cow::Borrowed(sign) };
        let current = agent.conversations.as_ref().map(|known| &known.current);
        let own = current.or(agent.session.as_ref().and_then(Session::taken_up));
        match (self.agents.conversation_is_free(conversation, Some(agent.id)), own) {
            (Err(_), Some(own)) => {
                Cow::Owned(Sign::Began { conversation: own.clone(), how: Followed::Resumed })
            }
            (Err(_), None) | (Ok(()), _) => Cow::Borrowed(sign),
        }
    }

    fn started(&self, boot: &BootId, version: &str, now: Time) -> Vec<Event> {
        let epoch = Epoch(self.epoch.0 + 1);
        let started =
            NodeEvent::DaemonStarted { epoch, boot: boot.clone(), version: version.into() };
        let mut events = vec![node(started, now)];
        if self.epoch != Epoch(0) && self.boot != *boot {
            let rebooted = |agent: &Agent| of(agent.id, agent::rebooted(agent, now), now);
            events.extend(self.agents().flat_map(rebooted));
        }
        events
    }

    /// A time that `plan` named has come.
    fn due(&self, entity: &Entity, now: Time) -> Vec<Event> {
        match entity {
            Entity::Agent(id) => match self.agents.get(*id) {
                Some(known) => of(*id, agent::due(known, self.agents.may_start(*id), now), now),
                None => Vec::new(),
            },
            Entity::Node
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Message(_)
            | Entity::Post(_)
            | Entity::Job(_) => Vec::new(),
        }
    }

    /// The events, and what follows at once from them: names and conversations that are taken or
    /// left.
    fn with_consequences(&self, events: Vec<Event>) -> Vec<Event> {
        if !events.iter().any(moves_claims) {
            return events;
        }
        let mut batch = Vec::with_capacity(events.len());
        let mut changed: Vec<Agent> = Vec::new();
        for event in events {
            let at = event.at;
            let mut claims = Vec::new();
            if let What::Agent(id, what) = &event.what {
                let position = changed.iter().position(|agent| agent.id == *id);
                let before = match position {
                    Some(position) => Some(changed.swap_remove(position)),
                    None => self.agents.get(*id).cloned(),
                };
                let after = match (&before, what) {
                    (_, AgentEvent::Hatched(birth)) => Some(Agent::born(*id, birth, at)),
                    (Some(before), _) => Some(agent::evolve(before.clone(), what, at)),
                    (None, _) => None,
                };
                if let Some(after) = after {
                    claims = agents::claims(before.as_ref(), &after);
                    changed.push(after);
                }
            }
            batch.push(event);
            batch.extend(claims.into_iter().map(|what| Event { at, what }));
        }
        batch
    }

    /// Folds one event; returns what to plan anew.
    pub fn evolve(&mut self, event: &Event) -> Vec<Entity> {
        match &event.what {
            What::Node(NodeEvent::DaemonStarted { epoch, boot, .. }) => {
                self.epoch = *epoch;
                self.boot = boot.clone();
                Vec::new()
            }
            What::Node(NodeEvent::DaemonStopped { .. }) => Vec::new(),
            What::Agent(id, agent_event) => self.agents.evolve(*id, agent_event, event.at),
            // Who has it follows from the agents.
            What::Name(..) | What::Conversation(..) => Vec::new(),
        }
    }

    /// What to do for one entity so that the world matches the journal.
    pub fn plan(&self, entity: &Entity, now: Time) -> Plan {
        match entity {
            Entity::Agent(id) => self.agents.plan(*id, now),
            Entity::Node
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Message(_)
            | Entity::Post(_)
            | Entity::Job(_) => Plan::default(),
        }
    }

    /// A record of this agent can't be read: it is unknown, held, and told; nothing starts it but
    /// the operator. Not an event: it is seen again at every start.
    pub fn mark_unreadable(&mut self, id: AgentId, why: &str, at: Time) {
        self.agents.mark_unreadable(id, why, at);
    }
}

/// What a command comes to: what it is about, and what happened by it. No events: it was so already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    pub about: Vec<Entity>,
    pub events: Vec<Event>,
}

impl Decision {
    fn of(id: AgentId, events: Vec<AgentEvent>, at: Time) -> Decision {
        Decision { about: vec![Entity::Agent(id)], events: of(id, events, at) }
    }
}

/// Whether an agent may take or leave a name or a conversation by this.
fn moves_claims(event: &Event) -> bool {
    match &event.what {
        What::Agent(_, event) => match event {
            AgentEvent::Hatched(_)
            | AgentEvent::Renamed { .. }
            | AgentEvent::SessionWanted { .. }
            | AgentEvent::SessionEnded { .. }
            | AgentEvent::ConversationFollowed { .. } => true,
            AgentEvent::Moved(moved) => moved.to.roster() == Roster::Cemetery,
            AgentEvent::SessionStarting { .. }
            | AgentEvent::SessionRunning { .. }
            | AgentEvent::SessionEnding { .. }
            | AgentEvent::SessionProgressed { .. }
            | AgentEvent::WindowBegan { .. }
            | AgentEvent::ClockPassed { .. }
            | AgentEvent::ClockTold { .. }
            | AgentEvent::PhaseReported { .. }
            | AgentEvent::Summarised { .. }
            | AgentEvent::PutOff { .. } => false,
        },
        What::Node(_) | What::Name(..) | What::Conversation(..) => false,
    }
}

fn of(id: AgentId, events: Vec<AgentEvent>, at: Time) -> Vec<Event> {
    events.into_iter().map(|event| Event { at, what: What::Agent(id, event) }).collect()
}

fn node(event: NodeEvent, at: Time) -> Event {
    Event { at, what: What::Node(event) }
}

//! Everything that lives, together: routes commands, reports and events to their lives.
//!
//! Pure. The rules are in the lives; here is only who is asked: the agent that a target means, if the caller
//! may ask that of it, and the caller itself for a report. `decide` and `observe` read; `evolve` alone
//! changes, and tells what it touched, so that only that is planned (property: planning the touched =
//! planning all). What follows at once from an event is in the same batch.

mod batch;
mod companions;
mod copies;
mod damage;
mod due;
mod ended;
mod nodes;
mod offers;
mod offspring;
mod policy;
mod room;
mod setting;
mod spending;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::agent::{self, Agent, Start};
use crate::agents::Agents;
use crate::authority::{self, Caller};
use crate::checkpoint;
use crate::cleaning;
use crate::command::{Command, Request};
use crate::effect::Plan;
use crate::entity::Entity;
use crate::escalation::{self, Escalation, Escalations};
use crate::event::{AgentEvent, Event, NodeEvent, What};
use crate::handoff;
use crate::id::{AgentId, MessageId, NodeId};
use crate::job::{self, Job, Jobs};
use crate::legacy;
use crate::message::{self, Message, MessageEvent, Messages};
use crate::name::NameKey;
use crate::observation::Observation;
use crate::post;
use crate::reason::{Verb, Witness};
use crate::refusal::Refusal;
use crate::rest;
use crate::role::{self, Role, Roles};
use crate::session::Process;
use crate::signal;
use crate::snapshot;
use crate::task::{self, Task, Tasks};
use crate::text::TextBody;
use crate::time::Time;

pub use companions::Companion;
pub use damage::is_known_again;
pub use nodes::Node;
pub use offspring::{
    Excess, ModePlace, Modes, Named, OffspringLimits, Reach, inherited, persons_choice,
};
pub use policy::{Policy, WhoseWord};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fleet {
    agents: Agents,
    messages: Messages,
    jobs: Jobs,
    roles: Roles,
    escalations: Escalations,
    tasks: Tasks,
    /// The node that decides and plans here.
    node: NodeId,
    nodes: BTreeMap<NodeId, Node>,
    policy: Policy,
    /// What agents have spent in all, of those for whom somebody counts.
    spending: BTreeMap<AgentId, u64>,
    /// How far the wall clock, by which others date what they write, is behind the core's time.
    behind: Duration,
}

/// What a fleet is restored from: every entity that is not over, and every node.
#[derive(Debug, Default)]
pub struct Restored {
    /// The node that it is restored for.
    pub node: NodeId,
    pub agents: Vec<Agent>,
    pub messages: Vec<Message>,
    pub jobs: Vec<Job>,
    pub roles: BTreeMap<NameKey, Role>,
    pub escalations: Vec<Escalation>,
    pub tasks: Vec<Task>,
    pub nodes: BTreeMap<NodeId, Node>,
}

impl Fleet {
    /// The fleet as this node sees it, before anything happened.
    pub fn of_node(node: NodeId) -> Fleet {
        Fleet::restore(Restored { node, ..Restored::default() })
    }

    /// The fleet as folding its events would have made it.
    pub fn restore(restored: Restored) -> Fleet {
        let Restored { node, agents, messages, jobs, roles, escalations, tasks, nodes } = restored;
        let roles = Roles::restore(roles, agents.iter());
        Fleet {
            agents: Agents::restore(node, agents),
            messages: Messages::restore(messages),
            jobs: Jobs::restore(jobs),
            roles,
            escalations: Escalations::restore(escalations),
            tasks: Tasks::restore(tasks),
            node,
            nodes,
            policy: Policy::default(),
            spending: BTreeMap::new(),
            behind: Duration::ZERO,
        }
    }

    /// Everything that this fleet can be restored from.
    pub fn parts(&self) -> Restored {
        Restored {
            node: self.node,
            agents: self.agents().cloned().collect(),
            messages: self.messages.iter().cloned().collect(),
            jobs: self.jobs.iter().cloned().collect(),
            roles: self.roles.iter().map(|(key, role)| (key.clone(), role.clone())).collect(),
            escalations: self.escalations.iter().cloned().collect(),
            tasks: self.tasks.iter().cloned().collect(),
            nodes: self.nodes.clone(),
        }
    }

    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter()
    }

    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// Everything that may have something to do.
    pub fn entities(&self) -> impl Iterator<Item = Entity> {
        let agents = self.agents().map(|agent| Entity::Agent(agent.id));
        let messages = self.messages.iter().map(|message| Entity::Message(message.id));
        let escalations = self.escalations.iter().map(|one| Entity::Escalation(one.id));
        let tasks = self.tasks.iter().map(|task| Entity::Task(task.id));
        let jobs = self.jobs.iter().map(|job| Entity::Job(job.id));
        agents.chain(messages).chain(jobs).chain(escalations).chain(tasks)
    }

    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// How far the wall clock is behind. Decisions write it into events; folding never reads it.
    pub fn behind(&self) -> Duration {
        self.behind
    }

    pub fn set_behind(&mut self, behind: Duration) {
        self.behind = behind;
    }

    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// Those that nobody has seen yet.
    pub fn escalations(&self) -> &Escalations {
        &self.escalations
    }

    /// An agent by name, by `NAME~1` (the one before the newest of that name), or by id.
    pub fn find(&self, target: &str) -> Result<&Agent, Refusal> {
        self.agents.find(target)
    }

    /// Whether `ancestor` is above `agent`.
    pub fn is_above(&self, ancestor: AgentId, agent: AgentId) -> bool {
        self.agents.is_above(ancestor, agent)
    }

    /// Whose live session runs in this process.
    pub fn by_process(&self, process: Process) -> Option<&Agent> {
        self.agents.by_process(process)
    }

    /// Takes over `newest`'s copy of an entity of which nothing more is under way.
    pub fn share(&mut self, newest: &Fleet, entity: &Entity) {
        match entity {
            Entity::Agent(id) => self.agents.share(&newest.agents, *id),
            Entity::Message(id) => self.messages.share(&newest.messages, *id),
            Entity::Job(id) => self.jobs.share(&newest.jobs, *id),
            Entity::Role(key) => self.roles.share(&newest.roles, key),
            Entity::Escalation(id) => self.escalations.share(&newest.escalations, *id),
            Entity::Task(id) => self.tasks.share(&newest.tasks, *id),
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Post(_)
            | Entity::Signal(_) => {}
        }
    }

    /// Refuses what `caller` may not do to `target`; also asked for verbs that decide nothing.
    pub fn authorise(
        &self,
        caller: Caller,
        verb: Verb,
        target: Option<AgentId>,
    ) -> Result<(), Refusal> {
        authority::authorise(caller, verb, self.standing(caller, target))
    }

    /// Answers a command; changes nothing.
    pub fn decide(&self, request: &Request, now: Time) -> Result<Decision, Refusal> {
        let decision = self.answer(request, now)?;
        let events = self.with_consequences(self.within_room(decision.events));
        let mut read = decision.read;
        read.extend(role::rested_on(self, &events));
        Ok(Decision { events, read, ..decision })
    }

    fn answer(&self, request: &Request, now: Time) -> Result<Decision, Refusal> {
        let caller = request.caller;
        match &request.command {
            Command::Spawn(spawn) => self.spawn(caller, spawn, now),
            Command::SpawnChild(spawn, reach) => self.spawn_child(caller, (spawn, reach), now),
            Command::SpawnOn { spawn, reach, task } => {
                self.spawn_on(caller, (spawn, reach.as_ref()), *task, now)
            }
            Command::Stop(target) => {
                self.asked(caller, Verb::Stop, target, |one, by| agent::stop(one, by, now), now)
            }
            Command::StopAll => self.stop_all(caller, now),
            Command::Wake(target) => self.wake(caller, target, Start::Continue, now),
            Command::WakeFresh(target) => self.wake(caller, target, Start::Fresh, now),
            Command::Restart(target) => self.restart(caller, target, Start::Continue, now),
            Command::RestartFresh(target) => self.restart(caller, target, Start::Fresh, now),
            Command::Set(set) => self.set(caller, set, now),
            Command::Rename { target, name } => {
                let agent = self.allowed(caller, Verb::Rename, target)?;
                self.agents.name_is_free(name, Some(agent.id))?;
                Ok(Decision::of(agent.id, agent::rename(agent, name.clone())?, now))
            }
            Command::Bury { target, summary } => {
                let bury = |one: &Agent, by| agent::bury(one, summary.clone(), by, now);
                self.asked(caller, Verb::Bury, target, bury, now)
            }
            Command::Send { id, target, body, fingerprint, after_turn } => {
                let (whom, what) = ((*id, target.as_str()), (body, *fingerprint));
                message::send(self, caller, whom, what, *after_turn, now)
            }
            Command::Prune { found, cleaned, terms } => {
                self.authorise(caller, Verb::Prune, None)?;
                let witness = caller.witness(Verb::Prune)?;
                let events = self.pruned(found, cleaned, *terms, witness, now);
                Ok(Decision { events, ..Decision::default() })
            }
            Command::Clean { found } => cleaning::decide(self, caller, found, now),
            Command::Unsend { id } => message::unsend(self, caller, *id, now),
            Command::Task(command) => task::decide(self, caller, command, now),
            Command::Mail(draft) => message::send_mail(self, caller, draft, now),
            Command::ReadMail { ids } => message::read_mail(self, caller, ids, now),
            Command::Post { id, title, body } => {
                post::write(self, caller, *id, (title.as_deref(), body), now)
            }
            Command::Assume { target, role, declared } => {
                role::assume(self, caller, target, (role, declared.as_ref()), now)
            }
            Command::Transfer { target, to, declared } => {
                role::transfer(self, caller, (target, to), declared.as_ref(), now)
            }
            Command::Drop(target) => role::drop(self, caller, target, now),
            Command::DismissVacancy { role } => role::dismiss(self, caller, role, now),
            Command::Leave { kind, body, post } => {
                legacy::leave(self, caller, (*kind, body), *post, now)
            }
            Command::Snapshot(order) => snapshot::decide(self, caller, order, now),
            Command::Handoff(order) => handoff::decide(self, caller, order, now),
            Command::Checkpoint(order) => checkpoint::decide(self, caller, order, now),
            Command::Report { phase, summary } => {
                self.reported(caller, (*phase, summary.clone()), now)
            }
            Command::Signal(draft) => signal::send(self, caller, draft, now),
            Command::Escalate(draft) => escalation::escalate(self, caller, draft, now),
        }
    }

    fn stop_all(&self, caller: Caller, now: Time) -> Result<Decision, Refusal> {
        self.authorise(caller, Verb::Stop, None)?;
        let witness = caller.witness(Verb::Stop)?;
        let mut decision = Decision::default();
        for (id, events) in self.agents.stopped(witness, now)? {
            decision.about.push(Entity::Agent(id));
            decision.events.extend(of(id, events, now));
        }
        Ok(decision)
    }

    /// A verb about one agent, for a caller who may use it.
    fn asked(
        &self,
        caller: Caller,
        verb: Verb,
        target: &str,
        decide: impl FnOnce(&Agent, Witness) -> Result<Vec<AgentEvent>, Refusal>,
        now: Time,
    ) -> Result<Decision, Refusal> {
        let agent = self.allowed(caller, verb, target)?;
        let witness = caller.witness(verb)?;
        Ok(Decision::of(agent.id, decide(agent, witness)?, now))
    }

    fn allowed(&self, caller: Caller, verb: Verb, target: &str) -> Result<&Agent, Refusal> {
        let agent = self.find(target)?;
        self.authorise(caller, verb, Some(agent.id))?;
        Ok(agent)
    }

    /// Takes note of a report.
    pub fn observe(&self, observation: &Observation, now: Time) -> Vec<Event> {
        self.with_consequences(self.within_room(self.noted(observation, now)))
    }

    fn noted(&self, observation: &Observation, now: Time) -> Vec<Event> {
        match observation {
            Observation::Session { agent, number, report } => {
                self.noted_of(*agent, now, |known| agent::observe(known, *number, report, now))
            }
            Observation::Harness { agent, number, sign } => match self.agents.get(*agent) {
                Some(known) => {
                    let sign = self.agents.within_own(known, sign);
                    let shown = agent::observe_harness(known, *number, &sign, now);
                    let back = rest::shown(self, known, &sign).filter(|_| !shown.is_empty());
                    let back = back.map(|what| Event { at: now, what });
                    back.into_iter().chain(of(*agent, shown, now)).collect()
                }
                None => Vec::new(),
            },
            Observation::Kept { agent, wish, why, outcome, checkpoint: draft } => {
                let (of_wish, draft) = ((*wish, *why), draft.as_deref());
                self.noted_of(*agent, now, |known| {
                    checkpoint::kept(known, of_wish, outcome, draft, now)
                })
            }
            Observation::Snapshots { agent, report } => {
                self.noted_of(*agent, now, |known| snapshot::observe(known, report, now))
            }
            Observation::Composed { agent, why, draft } => {
                self.noted_of(*agent, now, |known| checkpoint::composed(known, *why, draft, now))
            }
            Observation::Spent { agent } => {
                let event = |what| Event { at: now, what };
                task::spent(self, *agent, now).into_iter().map(event).collect()
            }
            Observation::Due { entity, timer } => self.due(entity, *timer, now),
            Observation::Traced { agent, number, trace } => {
                told(message::traced(self, *agent, *number, trace, now), now)
            }
            Observation::ReminderDue { agent, number, calls, sample } => {
                told(message::reminded(self, (*agent, *number), *calls, *sample, now), now)
            }
            Observation::Delivered { message, attempt, outcome } => {
                told(message::observe(self, *message, *attempt, *outcome, now), now)
            }
            Observation::Job { job, number, report } => {
                let event = self.jobs.get(*job).and_then(|job| job::observe(job, *number, report));
                Vec::from_iter(event.map(|event| Event { at: now, what: What::Job(*job, event) }))
            }
            Observation::Started { boot, version, is_copy, stocktaking } => {
                let mut events = self.started(boot, version, *is_copy, now);
                if !is_copy {
                    events.extend(self.took_stock(stocktaking, now));
                }
                events
            }
            Observation::Outranked { by, version } => {
                self.outranked(*by, version, now).into_iter().collect()
            }
            Observation::Stopping => {
                vec![self.of_own(NodeEvent::DaemonStopped { epoch: self.epoch() }, now)]
            }
            Observation::JournalFailed { since } => {
                vec![self.of_own(NodeEvent::JournalRestored { since: *since }, now)]
            }
            Observation::RecordingsFound(found) => self.outlived(found, now),
            Observation::ClockJumped { by } => {
                let put_off = |agent: &Agent| of(agent.id, agent::put_off(agent, *by), now);
                self.own_agents().flat_map(put_off).collect()
            }
        }
    }

    /// What an agent that is known makes of a report.
    fn noted_of(
        &self,
        agent: AgentId,
        now: Time,
        observe: impl FnOnce(&Agent) -> Vec<AgentEvent>,
    ) -> Vec<Event> {
        of(agent, self.agents.get(agent).map(observe).unwrap_or_default(), now)
    }

    /// Folds one event; returns what to plan again.
    pub fn evolve(&mut self, event: &Event) -> Vec<Entity> {
        match &event.what {
            What::Node(id, NodeEvent::DaemonStarted { epoch, boot, .. }) => {
                self.nodes.insert(*id, Node { epoch: *epoch, boot: boot.clone() });
                Vec::new()
            }
            What::Node(
                _,
                NodeEvent::DaemonStopped { .. }
                | NodeEvent::JournalRestored { .. }
                | NodeEvent::RecordsLost { .. }
                | NodeEvent::RecordingsPruned { .. }
                | NodeEvent::AgentCleaned { .. },
            ) => Vec::new(),
            What::Agent(id, agent_event) => {
                let mut touched = self.agents.evolve(*id, agent_event, event.at, &mut self.roles);
                touched.extend(self.messages.touched_by(*id, agent_event));
                touched
            }
            What::Message(id, what) => {
                let mut touched = self.messages.evolve(*id, what, event.at);
                touched.extend(self.escalations.mail_changed(*id, what, event.at));
                touched
            }
            What::Escalation(id, what) => self.escalations.evolve(*id, what, event.at),
            What::Job(id, what) => self.jobs.evolve(*id, what, event.at),
            What::Name(key, claim) => {
                self.agents.hold_claim(key, *claim, event.at);
                Vec::new()
            }
            What::Task(id, what) => self.task_evolved(*id, what, event.at),
            What::Role(key, what) => {
                self.roles.evolve(key, what);
                Vec::new()
            }
            // The agents say who has a conversation; a post or a signal never changes.
            What::Conversation(..) | What::Post(..) | What::Signal(..) => Vec::new(),
        }
    }

    /// What to do for one entity so that the world matches the journal.
    pub fn plan(&self, entity: &Entity, now: Time) -> Plan {
        match entity {
            Entity::Agent(id) => self.plan_agent(*id, now),
            Entity::Message(id) if self.is_own(entity) => message::plan(self, *id, now),
            Entity::Job(id) if self.is_own(entity) => job::plan(&self.jobs, *id),
            Entity::Escalation(id) if self.is_own(entity) => {
                escalation::plan(&self.escalations, *id)
            }
            Entity::Task(id) => task::plan(self, *id, now),
            Entity::Message(_) | Entity::Job(_) | Entity::Escalation(_) => Plan::default(),
            Entity::Node(_)
            | Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Post(_)
            | Entity::Role(_)
            | Entity::Signal(_) => Plan::default(),
        }
    }
}

/// The outcome of a command: what it is about, and its events. Without events, nothing had to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    pub about: Vec<Entity>,
    /// What it rests on besides what its events are about: if another node changes that first, it is
    /// decided again.
    pub read: Vec<Entity>,
    pub events: Vec<Event>,
    /// The texts that its events name for the first time.
    pub texts: Vec<TextBody>,
}

impl Decision {
    pub(crate) fn of(id: AgentId, events: Vec<AgentEvent>, at: Time) -> Decision {
        let (about, events) = (vec![Entity::Agent(id)], of(id, events, at));
        Decision { about, events, ..Decision::default() }
    }
}

fn told(happened: Vec<(MessageId, MessageEvent)>, at: Time) -> Vec<Event> {
    happened.into_iter().map(|(id, event)| Event { at, what: What::Message(id, event) }).collect()
}

fn of(id: AgentId, events: Vec<AgentEvent>, at: Time) -> Vec<Event> {
    events.into_iter().map(|event| Event { at, what: What::Agent(id, event) }).collect()
}

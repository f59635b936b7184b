//! All agents together: names, the line of sessions that wait for their turn, and the four verbs
//! over the whole.
//!
//! Pure. `decide` and `observe` read; `evolve` alone changes, and tells whom it touched, so that
//! only those are planned (property: planning the touched = planning all).
//!
//! Invariants
//! - F1  A name is held by at most one agent outside the cemetery, ignoring case.
//! - F2  A conversation is the current one of at most one agent outside the cemetery.
//! - F3  After a reboot at most `RESUMED_AT_ONCE` agents are starting out of the line.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::agent::{self, Agent, HATCH_LIMIT};
use crate::authority::{self, Caller, Standing};
use crate::command::{Command, Request, Spawn};
use crate::conversation::{ConversationId, Followed};
use crate::effect::Plan;
use crate::event::{AgentEvent, Birth, Event, NodeEvent, What};
use crate::id::{AgentId, BootId, Epoch};
use crate::name::Name;
use crate::observation::{Observation, Sign};
use crate::reason::{Evidence, Fact, Reason, Verb, Witness};
use crate::refusal::Refusal;
use crate::session::{Phase, Session};
use crate::state::{Roster, State};
use crate::time::Time;

/// After a reboot, so many agents are resumed at a time.
pub const RESUMED_AT_ONCE: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fleet {
    agents: BTreeMap<AgentId, Agent>,
    /// Every holder of a name, oldest first; the last one may be outside the cemetery.
    names: BTreeMap<String, Vec<AgentId>>,
    /// Agents whose session waits for its turn.
    line: BTreeSet<AgentId>,
    /// Agents that came out of the line and have not announced themselves yet.
    admitted: BTreeSet<AgentId>,
    epoch: Epoch,
    boot: BootId,
}

impl Fleet {
    /// The fleet of which these are all agents, as folding its events would have made it.
    pub fn restore(agents: impl IntoIterator<Item = Agent>, epoch: Epoch, boot: BootId) -> Fleet {
        let mut fleet = Fleet { epoch, boot, ..Fleet::default() };
        let mut named = Vec::new();
        for agent in agents {
            if let Some(name) = &agent.name {
                named.push((agent.named_at, agent.id, name.key()));
            }
            match agent.session.as_ref().map(|session| session.phase) {
                Some(Phase::Wanted) => _ = fleet.line.insert(agent.id),
                Some(Phase::Starting | Phase::Running) if agent.is_starting() => {
                    fleet.admitted.insert(agent.id);
                }
                Some(Phase::Starting | Phase::Running | Phase::Ending(_) | Phase::Ended) | None => {
                }
            }
            fleet.agents.insert(agent.id, agent);
        }
        named.sort_unstable();
        for (_, id, key) in named {
            fleet.names.entry(key).or_default().push(id);
        }
        fleet
    }

    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values()
    }

    pub fn agent(&self, id: AgentId) -> Option<&Agent> {
        self.agents.get(&id)
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
        let nobody = || Refusal::NoSuchAgent { target: target.chars().take(100).collect() };
        if let Ok(id) = target.parse::<AgentId>() {
            return self.agents.get(&id).ok_or_else(nobody);
        }
        let (name, back) = match target.split_once('~') {
            Some((name, back)) => (name, back.parse::<usize>().map_err(|_| nobody())?),
            None => (target, 0),
        };
        let holders = self.names.get(&name.to_ascii_lowercase()).ok_or_else(nobody)?;
        let position = holders.len().checked_sub(1 + back).ok_or_else(nobody)?;
        self.agents.get(&holders[position]).ok_or_else(nobody)
    }

    /// Whether `lead` is an ancestor of `agent`.
    pub fn leads(&self, lead: AgentId, agent: AgentId) -> bool {
        let mut above = self.agents.get(&agent).and_then(|agent| agent.parent);
        // Bounded: a chain of parents is never longer than the fleet.
        for _ in 0..self.agents.len() {
            match above {
                Some(id) if id == lead => return true,
                Some(id) => above = self.agents.get(&id).and_then(|agent| agent.parent),
                None => return false,
            }
        }
        false
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
                for agent in self.agents.values().filter(|a| a.state.roster() != Roster::Cemetery) {
                    let events = agent::stop(agent, witness, now)?;
                    if !events.is_empty() {
                        decision.agents.push(agent.id);
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
                self.name_is_free(name, Some(agent.id))?;
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
                self.name_is_free(name, None)?;
                name.clone()
            }
            None => self.free_name(&spawn.launch.argv),
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
            self.conversation_is_free(conversation, None)?;
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

    /// Who holds a name now, in life or in the freezer.
    fn holder(&self, name: &Name) -> Option<&Agent> {
        let id = self.names.get(&name.key())?.last()?;
        self.agents.get(id).filter(|agent| agent.state.roster() != Roster::Cemetery)
    }

    fn name_is_free(&self, name: &Name, for_agent: Option<AgentId>) -> Result<(), Refusal> {
        match self.holder(name) {
            Some(agent) if Some(agent.id) != for_agent => {
                Err(Refusal::NameTaken { name: name.clone(), by: agent.id })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A conversation has one writer: nobody else outside the cemetery may have it.
    fn conversation_is_free(
        &self,
        conversation: &ConversationId,
        for_agent: Option<AgentId>,
    ) -> Result<(), Refusal> {
        let has = |agent: &&Agent| {
            // A buried one's last session writes until it has ended.
            let may_write =
                agent.state.roster() != Roster::Cemetery || agent.live_session().is_some();
            let current = agent.conversations.as_ref().map(|known| &known.current);
            let takes_up =
                agent.live_session().is_some_and(|session| session.takes_up(conversation));
            may_write && Some(agent.id) != for_agent && (current == Some(conversation) || takes_up)
        };
        match self.agents.values().find(has) {
            Some(agent) => {
                Err(Refusal::ConversationTaken { conversation: conversation.clone(), by: agent.id })
            }
            None => Ok(()),
        }
    }

    /// A free name made from the program's: `bash`, `bash-2`, `bash-3` …
    fn free_name(&self, argv: &[String]) -> Name {
        let program = argv.first().map_or("", |path| path.rsplit('/').next().unwrap_or(path));
        let stem: String = program
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' })
            .take(40)
            .collect();
        let stem = stem.trim_matches('-');
        let stem = if stem.parse::<Name>().is_ok() { stem } else { "agent" };
        std::iter::once(stem.to_owned())
            .chain((2..).map(|k: usize| format!("{stem}-{k}")))
            .filter_map(|text| text.parse::<Name>().ok())
            .find(|name| self.holder(name).is_none())
            .expect("names do not run out before agents do")
    }

    /// Takes note of a report.
    pub fn observe(&self, observation: &Observation, now: Time) -> Vec<Event> {
        match observation {
            Observation::Session { agent, number, report } => match self.agents.get(agent) {
                Some(known) => of(*agent, agent::observe(known, *number, report, now), now),
                None => Vec::new(),
            },
            Observation::Harness { agent, number, sign } => match self.agents.get(agent) {
                Some(known) => {
                    let sign = self.within_own(known, sign);
                    of(*agent, agent::shown(known, *number, &sign, now), now)
                }
                None => Vec::new(),
            },
            Observation::Due { agent } => match self.agents.get(agent) {
                Some(known) => of(*agent, agent::due(known, self.may_start(*agent), now), now),
                None => Vec::new(),
            },
            Observation::Started { boot, version } => self.started(boot, version, now),
            Observation::Stopping => {
                vec![node(NodeEvent::DaemonStopped { epoch: self.epoch }, now)]
            }
            Observation::ClockJumped { by } => {
                let put_off = |agent: &Agent| of(agent.id, agent::put_off(agent, *by), now);
                self.agents.values().flat_map(put_off).collect()
            }
        }
    }

    /// A session may go into the conversation of another agent by its own means. It is not followed
    /// there: the next session would write it beside the one whose it is.
    fn within_own<'s>(&self, agent: &Agent, sign: &'s Sign) -> Cow<'s, Sign> {
        let Sign::Began { conversation, .. } = sign else { return Cow::Borrowed(sign) };
        let current = agent.conversations.as_ref().map(|known| &known.current);
        let own = current.or(agent.session.as_ref().and_then(Session::taken_up));
        match (self.conversation_is_free(conversation, Some(agent.id)), own) {
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
            events.extend(self.agents.values().flat_map(rebooted));
        }
        events
    }

    /// Folds one event; returns whom to plan anew.
    pub fn evolve(&mut self, event: &Event) -> Vec<AgentId> {
        match &event.what {
            What::Node(NodeEvent::DaemonStarted { epoch, boot, .. }) => {
                self.epoch = *epoch;
                self.boot = boot.clone();
                Vec::new()
            }
            What::Node(NodeEvent::DaemonStopped { .. }) => Vec::new(),
            What::Agent(id, AgentEvent::Hatched(birth)) => {
                if let Some(name) = &birth.name {
                    self.names.entry(name.key()).or_default().push(*id);
                }
                self.agents.insert(*id, Agent::born(*id, birth, event.at));
                vec![*id]
            }
            What::Agent(id, agent_event) => {
                let Some(agent) = self.agents.remove(id) else {
                    return Vec::new();
                };
                if let AgentEvent::Renamed { name } = agent_event {
                    self.hand_over_name(&agent, name);
                }
                let agent = agent::evolve(agent, agent_event, event.at);
                let mut touched = vec![*id];
                touched.extend(self.keep_line(&agent));
                self.agents.insert(*id, agent);
                touched
            }
        }
    }

    /// The last name of an agent is its own; earlier ones are free again.
    fn hand_over_name(&mut self, agent: &Agent, name: &Name) {
        if let Some(old) = &agent.name
            && let Some(holders) = self.names.get_mut(&old.key())
        {
            holders.retain(|holder| *holder != agent.id);
            if holders.is_empty() {
                self.names.remove(&old.key());
            }
        }
        self.names.entry(name.key()).or_default().push(agent.id);
    }

    /// Keeps the line after a change of `agent`; returns who may start now.
    fn keep_line(&mut self, agent: &Agent) -> Vec<AgentId> {
        let waits = agent.session.as_ref().is_some_and(|session| session.phase == Phase::Wanted);
        let left = if waits {
            // A reboot may send back to the line one that had just come out of it.
            self.admitted.remove(&agent.id);
            self.line.insert(agent.id);
            true
        } else if self.line.remove(&agent.id) {
            // Sessions that start at once pass through the line within one append.
            if agent.is_starting() {
                self.admitted.insert(agent.id);
            }
            true
        } else {
            agent.state != State::Waking && self.admitted.remove(&agent.id)
        };
        // One more than may start: who comes into the line may displace somebody.
        let ahead = self.line.iter().take(RESUMED_AT_ONCE + 1);
        if left { ahead.copied().collect() } else { Vec::new() }
    }

    /// Whether the agent's wanted session may start now.
    fn may_start(&self, id: AgentId) -> bool {
        let free = RESUMED_AT_ONCE.saturating_sub(self.admitted.len());
        self.line.iter().take(free).any(|first| *first == id)
    }

    /// What to do for one agent so that the world matches the journal.
    pub fn plan(&self, id: AgentId, now: Time) -> Plan {
        match self.agents.get(&id) {
            Some(agent) => agent::plan(agent, self.may_start(id), now),
            None => Plan::default(),
        }
    }

    /// A record of this agent can't be read: it is unknown, held, and told; nothing starts it but
    /// the operator. Not an event: it is seen again at every start.
    pub fn mark_unreadable(&mut self, id: AgentId, why: &str, at: Time) {
        if let Some(agent) = self.agents.get_mut(&id)
            && !matches!(agent.state, State::Frozen | State::Dead | State::Expired)
        {
            agent.state = State::Unknown;
            agent.reason = Reason::RecordUnreadable;
            agent.evidence =
                Evidence { witness: Witness::Daemon, fact: Fact::Unreadable(why.into()), at };
            agent.since = at;
            agent.until = None;
        }
    }
}

/// What a command comes to: whom it is about, and what happened by it. No events: it was so already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    pub agents: Vec<AgentId>,
    pub events: Vec<Event>,
}

impl Decision {
    fn of(id: AgentId, events: Vec<AgentEvent>, at: Time) -> Decision {
        Decision { agents: vec![id], events: of(id, events, at) }
    }
}

fn of(id: AgentId, events: Vec<AgentEvent>, at: Time) -> Vec<Event> {
    events.into_iter().map(|event| Event { at, what: What::Agent(id, event) }).collect()
}

fn node(event: NodeEvent, at: Time) -> Event {
    Event { at, what: What::Node(event) }
}

//! All agents together: who has which name and conversation, and the line of sessions that wait for
//! their turn.
//!
//! Pure. What is looked up here is kept beside the agents and follows from them: from nothing else,
//! so that folding events and restoring snapshots come to the same.
//!
//! Invariants
//! - F1  A name is held by at most one agent outside the cemetery, ignoring case; also where the event
//!   by which one took it can't be read.
//! - F2  A conversation is the current one of at most one agent outside the cemetery.
//! - F3  After a reboot an agent is resumed only while fewer than `RESUMED_AT_ONCE` of its node are starting (`line.rs`).
//! - F4  The parent of an agent in memory is in memory: chains of parents hold.

mod claims;
mod line;
mod restores;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::agent::{self, Agent, START_LIMIT};
use crate::command::Spawn;
use crate::conversation::{ConversationId, Followed};
use crate::effect::Plan;
use crate::entity::Entity;
use crate::event::{AgentEvent, Birth, ClaimEvent};
use crate::id::{AgentId, NodeId};
use crate::launch::Launch;
use crate::name::{Name, NameKey};
use crate::observation::Sign;
use crate::reason::{Evidence, Witness};
use crate::refusal::Refusal;
use crate::role::{self, RoleTerms, Roles};
use crate::session::{Process, Session};
use crate::settings::Settings;
use crate::state::Roster;
use crate::time::Time;

pub use claims::claims;
use claims::{Written, left, written_by};
use line::Standing;
pub use line::{Line, RESUMED_AT_ONCE};
use restores::Restores;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agents {
    /// The node that plans: only its own agents stand in its line.
    node: NodeId,
    all: BTreeMap<AgentId, Arc<Agent>>,
    /// Every holder of a name in memory, oldest first; the last one may be outside the cemetery.
    names: BTreeMap<NameKey, Vec<AgentId>>,
    /// How many agents in memory have this one for their parent.
    children: BTreeMap<AgentId, u32>,
    /// Who may write a conversation.
    writers: BTreeMap<ConversationId, BTreeSet<AgentId>>,
    /// Whose live session runs in a process.
    processes: BTreeSet<(Process, AgentId)>,
    line: Line,
    restores: Restores,
}

impl Agents {
    /// These are all agents, as folding their events would have made them.
    pub fn restore(node: NodeId, agents: impl IntoIterator<Item = Agent>) -> Agents {
        let mut restored = Agents { node, ..Agents::default() };
        let mut named = Vec::new();
        for agent in agents {
            if let Some(name) = &agent.name {
                named.push((agent.named_at, agent.id, name.key()));
            }
            restored.line.keep(agent.id, Standing::default(), standing(&agent, node));
            restored.restores.keep(&agent);
            restored.keep_writers([None; 2], &agent);
            restored.keep_process(None, &agent);
            restored.adopt(agent.parent);
            restored.all.insert(agent.id, Arc::new(agent));
        }
        named.sort_unstable();
        for (_, id, key) in named {
            restored.names.entry(key).or_default().push(id);
        }
        restored
    }

    pub fn iter(&self) -> impl Iterator<Item = &Agent> {
        self.all.values().map(|agent| &**agent)
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, id: AgentId) -> Option<&Agent> {
        self.all.get(&id).map(|agent| &**agent)
    }

    /// Takes over another fleet's copy of an agent that is equal to this one's.
    pub fn share(&mut self, other: &Agents, id: AgentId) {
        if let (Some(own), Some(agent)) = (self.all.get_mut(&id), other.all.get(&id)) {
            *own = Arc::clone(agent);
        }
    }

    /// An agent by name, by `NAME~1` (the one before the newest of that name), or by id.
    pub fn find(&self, target: &str) -> Result<&Agent, Refusal> {
        let nobody = || Refusal::NoSuchAgent { target: target.chars().take(100).collect() };
        if let Ok(id) = target.parse::<AgentId>() {
            return self.get(id).ok_or_else(nobody);
        }
        let (name, back) = name_and_back(target).ok_or_else(nobody)?;
        let holders = self.names.get(&name).ok_or_else(nobody)?;
        let position = holders.len().checked_sub(1 + back).ok_or_else(nobody)?;
        self.get(holders[position]).ok_or_else(nobody)
    }

    /// The agent that a target must mean, whoever else had the name and has left memory: by id, or
    /// by a name that it holds outside the cemetery.
    pub fn holder_of(&self, target: &str) -> Option<&Agent> {
        match target.parse::<AgentId>() {
            Ok(id) => self.get(id),
            Err(_) => self.outside_cemetery(&NameKey::of(target)),
        }
    }

    /// Everybody in memory who has or had this name last, oldest first.
    pub fn named(&self, name: &NameKey) -> impl Iterator<Item = &Agent> {
        self.names.get(name).into_iter().flatten().filter_map(|id| self.get(*id))
    }

    /// Whether an agent is over, and no parent of an agent in memory.
    pub fn is_over(&self, id: AgentId) -> bool {
        self.get(id).is_some_and(Agent::is_over) && !self.children.contains_key(&id)
    }

    /// Forgets an agent that has ended; returns its parent.
    pub fn retire(&mut self, id: AgentId) -> Option<AgentId> {
        let agent = self.all.remove(&id)?;
        if let Some(name) = &agent.name {
            self.drop_name(id, name);
        }
        self.let_go(agent.parent);
        agent.parent
    }

    fn let_go(&mut self, parent: Option<AgentId>) {
        let Some(parent) = parent else { return };
        match self.children.get_mut(&parent) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => _ = self.children.remove(&parent),
        }
    }

    fn adopt(&mut self, parent: Option<AgentId>) {
        if let Some(parent) = parent {
            *self.children.entry(parent).or_default() += 1;
        }
    }

    /// Whether `ancestor` is above `agent`.
    pub fn is_above(&self, ancestor: AgentId, agent: AgentId) -> bool {
        self.upwards(agent).skip(1).any(|above| above == ancestor)
    }

    /// An agent and all its ancestors, the nearest first. Bounded: a chain of parents is never longer than the
    /// fleet.
    pub fn upwards(&self, agent: AgentId) -> impl Iterator<Item = AgentId> {
        let above = |id: &AgentId| self.get(*id).and_then(|agent| agent.parent);
        std::iter::successors(Some(agent), above).take(1 + self.all.len())
    }

    /// Who holds a name now, in life or in the freezer.
    fn holder(&self, name: &Name) -> Option<&Agent> {
        self.outside_cemetery(&name.key())
    }

    fn outside_cemetery(&self, name: &NameKey) -> Option<&Agent> {
        let id = self.names.get(name)?.last()?;
        self.get(*id).filter(|agent| agent.state.roster() != Roster::Cemetery)
    }

    pub fn name_is_free(&self, name: &Name, for_agent: Option<AgentId>) -> Result<(), Refusal> {
        match self.holder(name) {
            Some(agent) if Some(agent.id) != for_agent => {
                Err(Refusal::NameTaken { name: name.clone(), by: agent.id })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A conversation has one writer: no other agent outside the cemetery may have it.
    pub fn conversation_is_free(
        &self,
        conversation: &ConversationId,
        for_agent: Option<AgentId>,
    ) -> Result<(), Refusal> {
        let mut writers = self.writers.get(conversation).into_iter().flatten().copied();
        match writers.find(|writer| Some(*writer) != for_agent) {
            Some(by) => Err(Refusal::ConversationTaken { conversation: conversation.clone(), by }),
            None => Ok(()),
        }
    }

    /// A free name made from the agent CLI's or the program's: `bash`, `bash-2`, `bash-3` …
    pub fn free_name(&self, launch: &Launch) -> Name {
        let program = launch.argv.first().filter(|_| launch.is_bare()).unwrap_or(&launch.harness);
        Name::first_free(&Name::stem_of(program), |name| self.holder(name).is_none())
    }

    /// The first events of an agent that somebody wants, if its name, its parent and its conversation
    /// can be had.
    pub fn spawned(
        &self,
        spawn: &Spawn,
        terms: RoleTerms,
        evidence: Evidence,
    ) -> Result<Vec<AgentEvent>, Refusal> {
        let name = match &spawn.name {
            Some(name) => {
                self.name_is_free(name, None)?;
                name.clone()
            }
            None => self.free_name(&spawn.launch),
        };
        let parent = spawn.parent.as_deref().map(|target| self.parent(target)).transpose()?;
        if let Some(conversation) = &spawn.conversation {
            self.conversation_is_free(conversation, None)?;
        }
        let above = parent.and_then(|id| self.get(id));
        let situations = match (&spawn.situations[..], above) {
            ([], Some(parent)) => parent.situations.clone(),
            (given, _) => given.to_vec(),
        };
        let named = (!situations.is_empty()).then(|| AgentEvent::SettingsChanged {
            settings: Box::new(Settings { situations: Some(situations), ..Settings::default() }),
            evidence: evidence.clone(),
        });
        let restart = terms.restart.filter(|_| spawn.role.as_ref().is_some_and(|r| r.sets_restart));
        let birth = Birth {
            name: Some(name),
            role: spawn.role.as_ref().map(|role| role.name.as_str().to_owned()),
            parent,
            node: self.node,
            launch: spawn.launch.clone(),
            restart: restart.unwrap_or(spawn.restart),
            until: evidence.at + START_LIMIT,
            evidence,
        };
        let mut events = agent::hatch(spawn.id, birth, terms, spawn.conversation.clone());
        // Behind its birth, before its first session.
        events.splice(1..1, named);
        Ok(events)
    }

    /// What stops every agent of this node outside the cemetery that is not stopped yet.
    pub fn stopped(
        &self,
        by: Witness,
        now: Time,
    ) -> Result<Vec<(AgentId, Vec<AgentEvent>)>, Refusal> {
        let is_to_stop =
            |agent: &&Agent| self.is_own(agent) && agent.state.roster() != Roster::Cemetery;
        let mut stopped = Vec::new();
        for agent in self.iter().filter(is_to_stop) {
            let events = agent::stop(agent, by, now)?;
            if !events.is_empty() {
                stopped.push((agent.id, events));
            }
        }
        Ok(stopped)
    }

    /// An agent in the cemetery can't be a parent.
    pub fn parent(&self, target: &str) -> Result<AgentId, Refusal> {
        let parent = self.find(target)?;
        match parent.state.roster() {
            Roster::Cemetery => Err(Refusal::ParentGone { parent: parent.id }),
            Roster::Living | Roster::Freezer => Ok(parent.id),
        }
    }

    /// A session may go into the conversation of another agent by its own means. It is not followed
    /// there (F2): the next session would write it beside the one whose it is.
    pub fn within_own<'s>(&self, agent: &Agent, sign: &'s Sign) -> Cow<'s, Sign> {
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

    /// Whose live session runs in this process.
    pub fn by_process(&self, process: Process) -> Option<&Agent> {
        let (_, id) = self.processes.range((process, AgentId(0))..).next()?;
        self.get(*id).filter(|agent| live_process(agent) == Some(process))
    }

    /// Folds one event of one agent, and who holds which role; returns which agents to plan again.
    pub fn evolve(
        &mut self,
        id: AgentId,
        event: &AgentEvent,
        at: Time,
        roles: &mut Roles,
    ) -> Vec<Entity> {
        if let AgentEvent::Hatched(birth) = event {
            self.born(id, birth, at, roles);
            return vec![Entity::Agent(id)];
        }
        if let AgentEvent::Renamed { name } = event {
            self.hand_over_name(id, name);
        }
        let node = self.node;
        let Some(kept) = self.all.get_mut(&id) else {
            return Vec::new();
        };
        let stood = standing(kept, node);
        let written = written_by(kept).map(Option::<&_>::cloned);
        let (parent, process, held) = (kept.parent, live_process(kept), role::held(kept));
        agent::evolve(Arc::make_mut(kept), event, at);
        let after = Arc::clone(kept);
        let mut touched = vec![Entity::Agent(id)];
        let stands = standing(&after, node);
        let has_moved = self.line.keep(id, stood, stands);
        let restored = self.restores.is_of(id);
        let freed = self.restores.keep(&after);
        if has_moved || self.restores.is_of(id) != restored {
            let is_free = |id| self.held_back_by(id).is_none();
            touched.extend(self.line.next(&is_free).into_iter().map(Entity::Agent));
        }
        touched.extend(freed.into_iter().flat_map(|tree| self.waiting_in(&tree)));
        self.keep_writers(written.each_ref().map(Option::as_ref), &after);
        self.keep_process(process, &after);
        roles.follow(id, held, role::held(&after));
        if after.parent != parent {
            self.let_go(parent);
            self.adopt(after.parent);
            touched.extend(parent.map(Entity::Agent));
        }
        touched
    }

    fn born(&mut self, id: AgentId, birth: &Birth, at: Time, roles: &mut Roles) {
        let agent = Arc::new(Agent::born(id, birth, at));
        // One whose first birth can't be read is born again from what its holder's directory claims.
        let old = self.all.get(&id).map(Arc::clone);
        roles.follow(id, old.as_deref().and_then(role::held), role::held(&agent));
        if let Some(old) = old {
            self.keep_process(live_process(&old), &agent);
            self.keep_writers(written_by(&old), &agent);
            self.line.keep(id, standing(&old, self.node), Standing::default());
            self.retire(id);
        }
        if let Some(name) = &birth.name {
            self.names.entry(name.key()).or_default().push(id);
        }
        self.adopt(birth.parent);
        self.all.insert(id, agent);
    }

    /// The last name of an agent is its own; earlier ones are free again.
    fn hand_over_name(&mut self, id: AgentId, name: &Name) {
        let Some(agent) = self.all.get(&id).map(Arc::clone) else { return };
        if let Some(old) = &agent.name {
            self.drop_name(id, old);
        }
        self.names.entry(name.key()).or_default().push(id);
    }

    /// A claim follows the agent's own event and says the same, unless that can't be read. Then the
    /// claim stands: a name is never free that somebody took, nor held by one who left it (F1).
    pub fn hold_claim(&mut self, key: &NameKey, claim: ClaimEvent, at: Time) {
        let (id, name) = match claim {
            ClaimEvent::Taken { by } => (by, key.as_str().parse::<Name>().ok()),
            ClaimEvent::Left { by } => (by, None),
        };
        let Some(agent) = self.all.get(&id) else { return };
        let has_it = agent.name.as_ref().is_some_and(|own| own.key() == *key);
        let is_so = match claim {
            ClaimEvent::Taken { .. } => has_it,
            // The dead keep their last name: they are found by it.
            ClaimEvent::Left { .. } => !has_it || agent.state.roster() == Roster::Cemetery,
        };
        if is_so {
            return;
        }
        let mut agent = Arc::unwrap_or_clone(Arc::clone(agent));
        match &name {
            Some(name) => self.hand_over_name(id, name),
            None => agent.name.iter().for_each(|own| self.drop_name(id, own)),
        }
        (agent.name, agent.named_at) = (name, at);
        self.all.insert(id, Arc::new(agent));
    }

    fn drop_name(&mut self, id: AgentId, name: &Name) {
        if let Some(holders) = self.names.get_mut(&name.key()) {
            holders.retain(|holder| *holder != id);
            if holders.is_empty() {
                self.names.remove(&name.key());
            }
        }
    }

    fn keep_process(&mut self, before: Option<Process>, after: &Agent) {
        let now = live_process(after);
        if before == now {
            return;
        }
        if let Some(gone) = before {
            self.processes.remove(&(gone, after.id));
        }
        self.processes.extend(now.map(|process| (process, after.id)));
    }

    fn keep_writers(&mut self, before: Written<'_>, after: &Agent) {
        let taken = written_by(after);
        if taken == before {
            return;
        }
        for conversation in left(before, taken) {
            if let Some(writers) = self.writers.get_mut(conversation) {
                writers.remove(&after.id);
                if writers.is_empty() {
                    self.writers.remove(conversation);
                }
            }
        }
        for conversation in taken.into_iter().flatten() {
            self.writers.entry(conversation.clone()).or_default().insert(after.id);
        }
    }

    /// Whose sessions wait for their turn, and whose have begun.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Whether the agent's sessions run on this node.
    pub fn is_own(&self, agent: &Agent) -> bool {
        is_of(agent, self.node)
    }

    /// What to do for an agent, with this limit on running sessions.
    pub fn plan(&self, id: AgentId, most: Option<usize>, now: Time) -> Plan {
        match self.get(id) {
            Some(agent) if self.is_own(agent) => agent::plan(agent, self.may_start(id, most), now),
            Some(_) | None => Plan::default(),
        }
    }

    /// A record of this agent can't be read: it is unknown, held, and told; nothing starts it but
    /// the operator. Not an event: it is seen again at every start.
    pub fn mark_unreadable(&mut self, id: AgentId, why: &str, at: Time) {
        if let Some(kept) = self.all.get_mut(&id) {
            let stood = standing(kept, self.node);
            Arc::make_mut(kept).mark_damaged(why, at);
            self.line.keep(id, stood, standing(kept, self.node));
            self.restores.keep(kept);
        }
    }

    /// The birth of this agent can't be read: it is listed all the same.
    pub fn list_unborn(&mut self, id: AgentId, at: Time) {
        self.all.entry(id).or_insert_with(|| Arc::new(Agent::unborn(id, at)));
    }
}

/// The name in a target, and how many of its holders back the one is that is meant.
pub fn name_and_back(target: &str) -> Option<(NameKey, usize)> {
    match target.split_once('~') {
        Some((name, back)) => Some((NameKey::of(name), back.parse().ok()?)),
        None => Some((NameKey::of(target), 0)),
    }
}

fn live_process(agent: &Agent) -> Option<Process> {
    agent.live_session()?.process
}

fn is_of(agent: &Agent, node: NodeId) -> bool {
    agent.node == node || agent.node == NodeId::HOME
}

/// Where an agent stands in the line of this node: one of another node nowhere.
fn standing(agent: &Agent, node: NodeId) -> Standing {
    if is_of(agent, node) { Standing::of(agent) } else { Standing::default() }
}

//! Nodes: machines, or homes on them, that share the journal. Each plans its own agents and jobs.
//!
//! Pure. What a node is bound to is found out outside.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Fleet, of};
use crate::agent::{self, Agent};
use crate::cleaning::{self, Artefacts};
use crate::entity::Entity;
use crate::event::{Event, NodeEvent, What};
use crate::id::{AgentId, BootId, Epoch, NodeId};
use crate::job::{self, Job};
use crate::keeping;
use crate::reason::{Reason, Witness};
use crate::retention::{self, Recordings, Terms};
use crate::time::Time;

/// What is known of one node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Node {
    /// Its newest daemon.
    pub epoch: Epoch,
    /// The boot that its newest daemon ran in.
    pub boot: BootId,
}

impl Fleet {
    /// The node that decides and plans here.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Every node that ever had a daemon.
    pub fn nodes(&self) -> &BTreeMap<NodeId, Node> {
        &self.nodes
    }

    /// The newest run of a daemon of this node.
    pub fn epoch(&self) -> Epoch {
        self.own_node().map(|node| node.epoch).unwrap_or_default()
    }

    /// Whether the journal is a copy of another node's: it knows others, and not this one. One from before
    /// nodes had ids knows none.
    pub fn is_copied(&self) -> bool {
        let mut others = self.nodes.keys().filter(|node| **node != NodeId::HOME);
        !self.nodes.contains_key(&self.node) && others.next().is_some()
    }

    /// The agents whose sessions may still run in the home that this one is a copy of.
    pub fn copied(&self) -> impl Iterator<Item = &Agent> {
        self.agents().filter(|agent| agent.is_held() && agent.reason == Reason::HomeCopied)
    }

    /// The node that this home goes on as, where it looks like a copy and is none: a holder lives in it, and
    /// what a process has locked is not copied. Its node's file was lost, or restored.
    pub fn goes_on_as(&self, has_holders: bool) -> Option<NodeId> {
        let newest = self.nodes.iter().max_by_key(|(_, node)| node.epoch);
        newest.filter(|_| has_holders && self.is_copied()).map(|(id, _)| *id)
    }

    /// What the next daemon of this node is counted as: newer than any, also where the home was copied.
    pub fn next_epoch(&self) -> Epoch {
        let newest = self.nodes.values().map(|node| node.epoch.0).max().unwrap_or_default();
        Epoch(newest + 1)
    }

    /// What is known of this node. What happened before nodes had ids was its own.
    fn own_node(&self) -> Option<&Node> {
        self.nodes.get(&self.node).or_else(|| self.nodes.get(&NodeId::HOME))
    }

    /// Whether this node plans for the entity: its own agents, their messages, its own jobs.
    pub(super) fn is_own(&self, entity: &Entity) -> bool {
        let is_of =
            |id: AgentId| self.agents.get(id).is_some_and(|agent| self.agents.is_own(agent));
        match entity {
            Entity::Agent(id) => is_of(*id),
            Entity::Message(id) => {
                self.messages.get(*id).and_then(|message| message.to.agent()).is_some_and(is_of)
            }
            Entity::Job(id) => self.jobs.get(*id).is_some_and(|job| self.is_own_job(job)),
            Entity::Node(id) => *id == self.node,
            Entity::Task(_) => true,
            // Of an agent by the node of that agent, of a person by the home's own.
            Entity::Escalation(id) => {
                let by = self.escalations.get(*id).map(|one| one.matter.by.agent());
                by.is_some_and(|by| by.is_none_or(|id| is_of(id) || self.agent(id).is_none()))
            }
            Entity::Name(_)
            | Entity::Conversation(_)
            | Entity::Post(_)
            | Entity::Role(_)
            | Entity::Signal(_) => false,
        }
    }

    fn is_own_job(&self, job: &Job) -> bool {
        job.node == self.node || job.node == NodeId::HOME
    }

    /// The agents whose sessions run on this node.
    pub fn own_agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents().filter(|agent| self.agents.is_own(agent))
    }

    pub(super) fn started(
        &self,
        boot: &BootId,
        version: &str,
        is_copy: bool,
        now: Time,
    ) -> Vec<Event> {
        let (epoch, boot) = (self.next_epoch(), boot.clone());
        let had_booted = self.own_node().map(|node| node.boot.clone());
        let has_rebooted = had_booted.is_some_and(|before| before != boot);
        let started = NodeEvent::DaemonStarted { epoch, boot, version: version.into() };
        let mut events = vec![self.of_own(started, now)];
        if is_copy {
            let copied = |agent: &Agent| {
                let happened = agent::home_copied(agent, self.node, now);
                of(agent.id, happened, now)
            };
            events.extend(self.agents().flat_map(copied));
            let lost = |job: &Job| Event { at: now, what: What::Job(job.id, job::lost(job)) };
            events.extend(self.jobs.iter().filter(|job| !job.is_over()).map(lost));
        } else {
            let renewed = self
                .own_agents()
                .filter_map(|agent| Some((agent.id, keeping::renewed(agent, now)?)));
            events.extend(renewed.flat_map(|(id, wish)| of(id, vec![wish], now)));
        }
        if has_rebooted && !is_copy {
            let rebooted = |agent: &Agent| of(agent.id, agent::rebooted(agent, now), now);
            events.extend(self.own_agents().flat_map(rebooted));
        }
        events
    }

    /// Holders obeyed a daemon of an epoch that the journal does not know. This one takes the home over again,
    /// as the newest.
    pub(super) fn outranked(&self, by: Epoch, version: &str, now: Time) -> Option<Event> {
        let is_newer = |node: &&Node| node.epoch <= by && by < Epoch::MAX_BELIEVED;
        let own = self.own_node().filter(is_newer)?;
        let (epoch, boot) = (Epoch(by.0 + 1), own.boot.clone());
        let started = NodeEvent::DaemonStarted { epoch, boot, version: version.to_owned() };
        Some(self.of_own(started, now))
    }

    /// What is recorded when recordings are removed from this node.
    pub(super) fn pruned(
        &self,
        found: &[Recordings],
        cleaned: &[Artefacts],
        terms: Terms,
        by: Witness,
        now: Time,
    ) -> Vec<Event> {
        let chosen = retention::chosen(self, found, terms);
        let events = retention::pruned(&chosen, by).into_iter();
        let mut events: Vec<Event> = events.map(|event| self.of_own(event, now)).collect();
        let copies = cleaning::chosen_by_age(self, cleaned, terms.printed_before);
        events.extend(cleaning::pruned(self, &copies, by, now));
        events
    }

    /// The same for those that are older than the configuration keeps them.
    pub(super) fn outlived(&self, found: &[Recordings], now: Time) -> Vec<Event> {
        let Some(keep) = self.policy.keep_recordings else { return Vec::new() };
        let terms = retention::by_age(keep, now, self.behind);
        self.pruned(found, &[], terms, Witness::Daemon, now)
    }

    pub(crate) fn of_own(&self, event: NodeEvent, at: Time) -> Event {
        Event { at, what: What::Node(self.node, event) }
    }
}

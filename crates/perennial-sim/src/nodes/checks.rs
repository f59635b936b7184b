//! The properties of several nodes on one journal (M1, M2, M4, M5; M6 in `roles`), held against what the journal tells.

use std::collections::BTreeSet;

use perennial_core::agent::Agent;
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event};
use perennial_core::id::AgentId;
use perennial_core::state::{self, Roster};
use perennial_engine::supervisor::{Rejection, Waiter};
use perennial_store::{Journal, Seq};

use super::{Broken, Cluster};

impl Cluster {
    pub(super) fn check_rest(&self) -> Result<(), Broken> {
        for node in &self.nodes {
            let (seen, told) = (node.supervisor.fleet(), &self.truth);
            for agent in told.agents() {
                if seen.agent(agent.id) != Some(agent) {
                    let seen = seen.agent(agent.id);
                    return Err(format!("M5: {} sees\n{seen:?}\nand not\n{agent:?}", node.id));
                }
            }
            if seen.roles() != told.roles() {
                return Err(format!("M5: {} sees other roles than there are", node.id));
            }
            if seen.messages() != told.messages() {
                return Err(format!("M5: {} sees other texts than there are", node.id));
            }
        }
        for message in self.truth.messages().iter() {
            let to = message.to.agent().and_then(|id| self.truth.agent(id));
            if to.is_some_and(|agent| agent.state.roster() == Roster::Cemetery) {
                return Err(format!("M5: {} waits for a buried agent", message.id));
            }
        }
        for ((agent, number), (_, runs)) in &self.sessions {
            let live = self.truth.agent(*agent).and_then(Agent::live_session);
            if *runs && live.is_none_or(|live| live.number != *number) {
                return Err(format!("M5: session {number} of {agent} runs, and nobody knows it"));
            }
        }
        Ok(())
    }

    /// The events up to this record, each held against what the journal told before it (M1, M2).
    pub(super) fn recorded(&mut self, seq: Seq) -> Result<Vec<Event>, Broken> {
        let records = self.journal.read(self.told, usize::MAX).expect("memory is read");
        let records = records.into_iter().take_while(|record| record.seq <= seq);
        let events: Vec<Event> = records.filter_map(|record| record.event.ok()).collect();
        self.told = seq;
        let before = self.truth.clone();
        for event in &events {
            self.check_event(event)?;
            self.truth.evolve(event);
        }
        self.summary.vacancies += self.vacant.check(&before, &self.truth, &events)?;
        let mut names = BTreeSet::new();
        let living = |agent: &&Agent| agent.state.roster() != Roster::Cemetery;
        for agent in self.truth.agents().filter(living) {
            let name = agent.name.as_ref().map(|name| name.key());
            if name.is_some_and(|name| !names.insert(name)) {
                return Err(format!("M2: two have the name {:?}", agent.name));
            }
        }
        Ok(events)
    }

    fn check_event(&self, event: &Event) -> Result<(), Broken> {
        let Some((id, what)) = event.of_agent() else { return Ok(()) };
        let known = self.truth.agent(id);
        let live = known.and_then(Agent::live_session).map(|session| session.number);
        let fits = match what {
            AgentEvent::Hatched(birth) => {
                let is_buried = |parent: AgentId| {
                    let parent = self.truth.agent(parent);
                    parent.is_none_or(|parent| parent.state.roster() == Roster::Cemetery)
                };
                known.is_none() && !birth.parent.is_some_and(is_buried)
            }
            AgentEvent::Moved(moved) => {
                known.and_then(|agent| state::next(agent.state, moved.cause)) == Some(moved.to)
            }
            AgentEvent::SessionWanted { number, .. } => {
                let last = known.and_then(|agent| agent.session.as_ref());
                live.is_none() && last.is_none_or(|last| last.number.next() == *number)
            }
            AgentEvent::SessionRunning { number, .. }
            | AgentEvent::SessionEnded { number, .. }
            | AgentEvent::SessionEnding { number, .. } => live == Some(*number),
            // No stock is taken here.
            AgentEvent::SessionFound { .. } => false,
            AgentEvent::Rehomed { .. }
            | AgentEvent::Held(_)
            | AgentEvent::HoldLifted { .. }
            | AgentEvent::SessionStarting { .. }
            | AgentEvent::SessionProgressed { .. }
            | AgentEvent::ConversationFollowed { .. }
            | AgentEvent::WindowBegan { .. }
            | AgentEvent::ClockPassed { .. }
            | AgentEvent::ClockTold { .. }
            | AgentEvent::PhaseReported { .. }
            | AgentEvent::Work(_)
            | AgentEvent::Renamed { .. }
            | AgentEvent::RoleTaken { .. }
            | AgentEvent::RoleLeft { .. }
            | AgentEvent::Summarised { .. }
            | AgentEvent::LegacyLeft { .. }
            | AgentEvent::Snapshot(_)
            | AgentEvent::Handoff(_)
            | AgentEvent::Checkpoint(_)
            | AgentEvent::RoundPassed { .. }
            | AgentEvent::BurialAsked { .. }
            | AgentEvent::Rest(_)
            | AgentEvent::SettingsChanged { .. }
            | AgentEvent::PutOff { .. } => known.is_some(),
        };
        if fits { Ok(()) } else { Err(format!("M1: {what:?} of\n{known:?}")) }
    }

    /// M4
    pub(super) fn answered(
        &mut self,
        position: usize,
        waiter: Waiter,
        answer: Result<Vec<Entity>, Rejection>,
    ) -> Result<(), Broken> {
        let Some(command) = self.nodes[position].asked.remove(&waiter) else {
            return Err(format!("M4: {waiter:?} is answered twice"));
        };
        match (command, answer) {
            (Command::Spawn(spawn), Ok(_)) if self.truth.agent(spawn.id).is_none() => {
                Err(format!("M4: {} was granted and is nowhere", spawn.id))
            }
            (Command::Spawn(_), Err(_)) => {
                self.summary.names_refused += 1;
                Ok(())
            }
            (_, Err(Rejection::NotRecorded(why))) => Err(format!("M4: not recorded: {why}")),
            (_, Ok(_) | Err(Rejection::Refused(_))) => Ok(()),
        }
    }
}

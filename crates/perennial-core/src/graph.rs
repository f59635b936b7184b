//! The entity graph: who was there, in which role and on what, session by session. Made from the journal's events alone.
//!
//! Pure. A projection, so it never decides and nothing is decided from it; what it holds can be dropped and made again.
//! Of each agent the fold keeps one `Identity` and the entry of its newest session: entries of earlier sessions change no
//! more, and whoever keeps them may put them away.
//!
//! Invariants
//! - EG1  The same events make the same graph, in whatever portions they are folded.
//! - EG2  An entry of a session changes only while it is its agent's newest.
//! - EG3  No entry grows without bound, whatever an agent does in its session.

use serde::{Deserialize, Serialize};

use crate::event::{AgentEvent, Birth, Move};
use crate::exit::Exit;
use crate::id::{AgentId, SessionNumber};
use crate::launch::Launch;
use crate::settings::{NewParent, Settings};
use crate::state::{Roster, State};
use crate::time::Time;

/// A session's entry names at most this many roles and situations each (EG3).
const NAMED_MAX: usize = 64;

/// What is kept of an agent from one event to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub name: Option<String>,
    pub parent: Option<AgentId>,
    /// What acts in its sessions: the model it was given, else its harness.
    pub actor: String,
    pub role: Option<String>,
    /// What it works on, the primary one first.
    pub situations: Vec<String>,
    pub state: State,
    pub summary: Option<String>,
    pub born_at: Time,
    pub died_at: Option<Time>,
    /// Its newest session.
    pub newest: Option<SessionNumber>,
}

/// One session: a situation of its own, and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionEntry {
    pub number: SessionNumber,
    /// What the agent was called then.
    pub name: Option<String>,
    pub actor: String,
    pub methods: Vec<Method>,
    pub domains: Vec<String>,
    /// What the agent reported in it last, and before that.
    pub summary: Option<String>,
    pub earlier_summary: Option<String>,
    pub summarised_at: Option<Time>,
    /// What was said with its burial.
    pub final_summary: Option<String>,
    /// The agent's state when the session was last its newest.
    pub state: State,
    pub since: Time,
    pub until: Option<Time>,
    pub exit: Option<Exit>,
}

/// A role that was held in a session, and when. Taken several times it is one span, from the first to the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    pub role: String,
    pub since: Time,
    pub until: Option<Time>,
}

/// The portion of the graph that one agent's events change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Portion {
    pub identity: Option<Identity>,
    /// The newest session, and those that were the newest before in this portion.
    pub sessions: Vec<SessionEntry>,
}

impl Portion {
    /// Folds one event (EG1). An agent whose birth can't be read has no place in the graph.
    pub fn evolve(&mut self, event: &AgentEvent, at: Time) {
        if let AgentEvent::Hatched(birth) = event {
            let newest = self.identity.as_ref().and_then(|known| known.newest);
            self.identity = Some(Identity { newest, ..Identity::born(birth, at) });
            return;
        }
        let Some(identity) = &mut self.identity else { return };
        match event {
            AgentEvent::SessionWanted { number, .. } | AgentEvent::SessionFound { number, .. } => {
                identity.newest = Some(*number);
                let entry = SessionEntry::of(identity, *number, at);
                self.sessions.retain(|session| session.number != *number);
                self.sessions.push(entry);
            }
            AgentEvent::SessionEnded { number, exit, .. } => self.ended(*number, *exit, at),
            AgentEvent::Moved(moved) => self.moved(moved, at),
            AgentEvent::Renamed { name } => {
                identity.name = Some(name.to_string());
                let name = identity.name.clone();
                if let Some(entry) = self.newest() {
                    entry.name = name;
                }
            }
            AgentEvent::RoleTaken { role, .. } => {
                identity.role = Some(role.clone());
                if let Some(entry) = self.newest() {
                    entry.close(at);
                    entry.take(role, at);
                }
            }
            AgentEvent::RoleLeft { .. } => {
                identity.role = None;
                self.newest().into_iter().for_each(|entry| entry.close(at));
            }
            AgentEvent::Summarised { summary } => {
                identity.summary = Some(summary.clone());
                self.newest().into_iter().for_each(|entry| entry.say(summary, at));
            }
            AgentEvent::SettingsChanged { settings, .. } => {
                identity.set(settings);
                self.works_on();
            }
            // Its own last words come with its wish.
            AgentEvent::BurialAsked { .. } => {
                self.newest().into_iter().for_each(|entry| entry.take_last_words(at));
            }
            AgentEvent::Hatched(_)
            | AgentEvent::Rehomed { .. }
            | AgentEvent::Held(_)
            | AgentEvent::HoldLifted { .. }
            | AgentEvent::SessionStarting { .. }
            | AgentEvent::SessionRunning { .. }
            | AgentEvent::SessionEnding { .. }
            | AgentEvent::SessionProgressed { .. }
            | AgentEvent::ConversationFollowed { .. }
            | AgentEvent::WindowBegan { .. }
            | AgentEvent::ClockPassed { .. }
            | AgentEvent::ClockTold { .. }
            | AgentEvent::PhaseReported { .. }
            | AgentEvent::Work(_)
            | AgentEvent::LegacyLeft { .. }
            | AgentEvent::Snapshot(_)
            | AgentEvent::Handoff(_)
            | AgentEvent::Checkpoint(_)
            | AgentEvent::Rest(_)
            | AgentEvent::RoundPassed { .. }
            | AgentEvent::PutOff { .. } => {}
        }
    }

    fn ended(&mut self, number: SessionNumber, exit: Exit, at: Time) {
        if let Some(entry) = self.newest().filter(|entry| entry.number == number) {
            (entry.until, entry.exit) = (Some(at), Some(exit));
            entry.close(at);
        }
    }

    fn works_on(&mut self) {
        let situations = self.identity.as_ref().map(|identity| identity.situations.clone());
        if let Some(entry) = self.newest() {
            entry.works_on(&situations.unwrap_or_default());
        }
    }

    fn moved(&mut self, moved: &Move, at: Time) {
        let Some(identity) = &mut self.identity else { return };
        identity.state = moved.to;
        let is_dead = moved.to.roster() == Roster::Cemetery;
        if is_dead {
            (identity.role, identity.died_at) = (None, Some(at));
        }
        if let Some(entry) = self.newest() {
            // The way to the next session is not a state of the last one.
            let is_next = moved.to == State::Waking && entry.until.is_some();
            if !is_next {
                entry.state = moved.to;
            }
            if is_dead {
                entry.close(at);
                entry.take_last_words(at);
            }
        }
    }

    /// The entry of the newest session (EG2).
    fn newest(&mut self) -> Option<&mut SessionEntry> {
        let newest = self.identity.as_ref()?.newest?;
        self.sessions.iter_mut().find(|session| session.number == newest)
    }
}

impl Identity {
    fn born(birth: &Birth, at: Time) -> Identity {
        Identity {
            name: birth.name.as_ref().map(ToString::to_string),
            parent: birth.parent,
            actor: actor(&birth.launch),
            role: birth.role.clone(),
            situations: Vec::new(),
            state: State::Hatching,
            summary: None,
            born_at: at,
            died_at: None,
            newest: None,
        }
    }

    fn set(&mut self, settings: &Settings<AgentId>) {
        match settings.parent {
            Some(NewParent::Agent(parent)) => self.parent = Some(parent),
            Some(NewParent::Nobody) => self.parent = None,
            None => {}
        }
        if let Some(situations) = &settings.situations {
            self.situations = situations.iter().map(ToString::to_string).collect();
        }
    }
}

impl SessionEntry {
    fn of(identity: &Identity, number: SessionNumber, at: Time) -> SessionEntry {
        let mut entry = SessionEntry {
            number,
            name: identity.name.clone(),
            actor: identity.actor.clone(),
            methods: Vec::new(),
            domains: Vec::new(),
            summary: None,
            earlier_summary: None,
            summarised_at: None,
            final_summary: None,
            state: identity.state,
            since: at,
            until: None,
            exit: None,
        };
        if let Some(role) = &identity.role {
            entry.take(role, at);
        }
        entry.works_on(&identity.situations);
        entry
    }

    /// What its agent works on from now on; what it worked on before stays.
    fn works_on(&mut self, situations: &[String]) {
        for situation in situations.iter().filter(|_| self.until.is_none()) {
            let is_new = !self.domains.iter().any(|known| known.eq_ignore_ascii_case(situation));
            if is_new && self.domains.len() < NAMED_MAX {
                self.domains.push(situation.clone());
            }
        }
    }

    fn take(&mut self, role: &str, at: Time) {
        // A role that is taken after the session has ended is the next one's.
        if self.until.is_some() {
            return;
        }
        let is_same = |method: &&mut Method| method.role.eq_ignore_ascii_case(role);
        if let Some(held) = self.methods.iter_mut().find(is_same) {
            held.until = None;
        } else if self.methods.len() < NAMED_MAX {
            self.methods.push(Method { role: role.to_owned(), since: at, until: None });
        }
    }

    fn say(&mut self, summary: &str, at: Time) {
        self.earlier_summary = self.summary.replace(summary.to_owned());
        self.summarised_at = Some(at);
    }

    /// What was said in the moment of the burial, or of the wish for it, is the final summary; what was said before stays
    /// the summary.
    fn take_last_words(&mut self, at: Time) {
        if self.summarised_at == Some(at) && self.final_summary.is_none() {
            self.final_summary = self.summary.take();
            self.summary = self.earlier_summary.take();
        }
    }

    /// The state of its agent, while it is the newest; the sessions before it are over.
    pub fn state_now(&self, identity: &Identity) -> State {
        match identity.newest == Some(self.number) {
            true => self.state,
            false => State::Dead,
        }
    }

    /// The seed's word for its state: an agent's newest session is live, frozen or dead as the agent's roster is; the
    /// sessions before it are over.
    pub fn seed_state(&self, identity: &Identity) -> &'static str {
        match (identity.newest == Some(self.number), self.state.roster()) {
            (true, Roster::Living) => "live",
            (true, Roster::Freezer) => "frozen",
            (true, Roster::Cemetery) | (false, _) => "dead",
        }
    }

    /// No role is held any more.
    fn close(&mut self, at: Time) {
        for method in self.methods.iter_mut().filter(|method| method.until.is_none()) {
            method.until = Some(at);
        }
    }
}

fn actor(launch: &Launch) -> String {
    launch.options.model.clone().unwrap_or_else(|| launch.harness.clone())
}

#[cfg(test)]
#[path = "graph/tests.rs"]
mod tests;

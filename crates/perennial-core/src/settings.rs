//! What can be changed of an agent after its birth: its restart policy, its directory, its variables, its
//! parent and its situations.
//!
//! Values of variables are never here. The shell keeps them in a file of its own for each revision; the
//! record says which revision counts, so a value counts from the moment that its event is durable.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::id::AgentId;
use crate::keeping::{self, SessionPlace};
use crate::launch::Launch;
use crate::restart::Restart;
use crate::session::Phase;
use crate::situation::Situation;

/// What is to change; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings<P> {
    pub restart: Option<Restart>,
    pub place: Option<Place>,
    pub variables: Option<VariableChange>,
    pub parent: Option<NewParent<P>>,
    /// All that it has from here on.
    pub situations: Option<Vec<Situation>>,
}

/// Where sessions run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Absolute.
    pub dir: String,
    /// The git common directory of `dir`, else `dir` itself.
    pub project: String,
}

/// Names only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableChange {
    /// The environment that has these changes.
    pub revision: u32,
    pub set: Vec<String>,
    pub unset: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewParent<P> {
    Nobody,
    Agent(P),
}

/// What the live session does not have yet: the next one will.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pending {
    pub dir: bool,
    pub variables: bool,
}

impl<P> Default for Settings<P> {
    fn default() -> Settings<P> {
        Settings { restart: None, place: None, variables: None, parent: None, situations: None }
    }
}

impl<P> Settings<P> {
    /// The same with another kind of parent; an error is the parent's.
    pub fn with_parent<Q, E>(self, of: impl FnOnce(P) -> Result<Q, E>) -> Result<Settings<Q>, E> {
        let parent = match self.parent {
            None => None,
            Some(NewParent::Nobody) => Some(NewParent::Nobody),
            Some(NewParent::Agent(parent)) => Some(NewParent::Agent(of(parent)?)),
        };
        let Settings { restart, place, variables, parent: _, situations } = self;
        Ok(Settings { restart, place, variables, parent, situations })
    }
}

impl Settings<AgentId> {
    /// The same without what the agent has already. Values of variables are not known here: they stay.
    pub fn without_what_is_so(self, agent: &Agent) -> Settings<AgentId> {
        let Settings { restart, place, variables, parent, situations } = self;
        let Launch { dir, project, .. } = &agent.launch;
        let parent = parent.filter(|parent| match parent {
            NewParent::Nobody => agent.parent.is_some(),
            NewParent::Agent(parent) => agent.parent != Some(*parent),
        });
        Settings {
            restart: restart.filter(|restart| *restart != agent.restart),
            place: place.filter(|place| place.dir != *dir || place.project != *project),
            variables,
            parent,
            situations: situations.filter(|all| *all != agent.situations),
        }
    }
}

/// Folds a change.
pub fn take(agent: &mut Agent, settings: &Settings<AgentId>) {
    let Settings { restart, place, variables, parent, situations } = settings;
    let is_begun = agent.live_session().is_some_and(|session| session.phase != Phase::Wanted);
    agent.restart = restart.unwrap_or(agent.restart);
    if let Some(Place { dir, project }) = place {
        let moves = agent.launch.dir != *dir;
        if is_begun && moves && !agent.pending.dir {
            let Launch { dir, project, .. } = agent.launch.clone();
            let has_work_tree = agent.snapshot_record.has_work_tree;
            let left = SessionPlace { dir, project, has_work_tree };
            agent.snapshot_record.session_place = Some(Box::new(left));
        }
        agent.pending.dir |= is_begun && moves;
        keeping::placed(agent, dir, project);
        (agent.launch.dir, agent.launch.project) = (dir.clone(), project.clone());
    }
    if let Some(VariableChange { revision, set, unset }) = variables {
        agent.pending.variables |= is_begun;
        agent.environment = *revision;
        let names = &mut agent.launch.env_names;
        names.extend(set.iter().cloned());
        names.retain(|name| !unset.contains(name));
        names.sort_unstable();
        names.dedup();
    }
    if let Some(situations) = situations {
        agent.situations.clone_from(situations);
    }
    match parent {
        None => {}
        Some(NewParent::Nobody) => agent.parent = None,
        Some(NewParent::Agent(parent)) => agent.parent = Some(*parent),
    }
}

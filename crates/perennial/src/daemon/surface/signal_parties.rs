//! Who had part in a signal, as they were at its time: the names that agents had then, and who was above them.
//!
//! Changes nothing. The event that a signal follows from names an agent by its id. Its name then is the one that it has,
//! unless it was renamed since: only then its records are read. Who was above it follows from its ancestors and
//! when each of them was buried.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::agent::Agent;
use perennial_core::entity::Entity;
use perennial_core::event::AgentEvent;
use perennial_core::id::AgentId;
use perennial_core::name::Name;
use perennial_core::state::{Roster, State};
use perennial_core::time::Time;
use perennial_engine::mirror::{dead_work_file, work_file};
use perennial_store::journal::{ReadError, Version};
use perennial_store::{RosterQuery, RosterRow, SignalOrigin, SignalRow, Store};

use super::Surface;
use super::answer::ProblemResponse;

/// So many records of an agent are looked through for the names that it had; behind them it has its present one.
const RECORDS_MAX: usize = 20_000;
const READ_AT_ONCE: usize = 1000;

/// The agents that signals name, with all their ancestors.
#[derive(Default)]
pub struct Parties(BTreeMap<AgentId, Known>);

pub struct Known {
    name: Option<String>,
    named_at: Time,
    /// The names that it had before, each with when it got the next one.
    earlier: Vec<(Option<Name>, Time)>,
    parent: Option<AgentId>,
    buried_at: Option<Time>,
    pub tmux_session: Option<String>,
    /// Where the mirror has its work.
    pub work_file: Option<String>,
}

impl Known {
    fn in_memory(agent: &Agent) -> Known {
        Known {
            name: agent.name.as_ref().map(ToString::to_string),
            named_at: agent.named_at,
            earlier: Vec::new(),
            parent: agent.parent,
            buried_at: buried_at(agent.state, agent.since),
            tmux_session: agent.launch.host.tmux().map(|place| place.session.clone()),
            work_file: work_file(agent),
        }
    }

    fn stored(row: RosterRow) -> Known {
        Known {
            work_file: row.name.as_deref().map(|name| dead_work_file(name, row.agent)),
            name: row.name,
            named_at: row.named_at,
            earlier: Vec::new(),
            parent: row.parent,
            buried_at: buried_at(row.state, row.since),
            tmux_session: None,
        }
    }

    fn name_at(&self, at: Time) -> Option<String> {
        match self.earlier.iter().find(|(_, until)| at < *until) {
            Some((name, _)) => name.as_ref().map(ToString::to_string),
            None => self.name.clone(),
        }
    }
}

fn buried_at(state: State, since: Time) -> Option<Time> {
    (state.roster() == Roster::Cemetery).then_some(since)
}

impl Parties {
    pub fn ids(&self) -> impl Iterator<Item = AgentId> {
        self.0.keys().copied()
    }

    pub fn get(&self, id: AgentId) -> Option<&Known> {
        self.0.get(&id)
    }

    /// An agent by the name that it had at a time, else by its id.
    pub fn name(&self, id: AgentId, at: Time) -> String {
        self.get(id).and_then(|known| known.name_at(at)).unwrap_or_else(|| id.to_string())
    }

    /// Who was its guardian at a time: the nearest ancestor outside the cemetery; without one, the operator was.
    pub fn guardian(&self, id: AgentId, at: Time) -> Option<AgentId> {
        let (mut seen, mut next) = (BTreeSet::from([id]), self.get(id)?.parent);
        // A damaged record may lead back to where one was.
        while let Some(above) = next.filter(|above| seen.insert(*above)) {
            let known = self.get(above)?;
            if known.buried_at.is_none_or(|buried_at| at < buried_at) {
                return Some(above);
            }
            next = known.parent;
        }
        None
    }

    /// Those that are named here, as an agent or as a parent, and not known yet.
    fn missing(&self, named: &BTreeSet<AgentId>) -> BTreeSet<AgentId> {
        let parents = self.0.values().filter_map(|known| known.parent);
        let all = named.iter().copied().chain(parents);
        all.filter(|id| !self.0.contains_key(id)).collect()
    }
}

impl Surface {
    /// The agents that signals name, as they were.
    pub async fn parties(&self, rows: &[SignalRow]) -> Result<Parties, ProblemResponse> {
        let named: BTreeSet<AgentId> = rows.iter().flat_map(agents).collect();
        let asked = named.clone();
        let look = self.driver.look(move |view| {
            let (fleet, mut found) = (view.supervisor.fleet(), Parties::default());
            loop {
                let known = found.missing(&asked).into_iter().filter_map(|id| fleet.agent(id));
                let known: Vec<_> =
                    known.map(|agent| (agent.id, Known::in_memory(agent))).collect();
                if known.is_empty() {
                    return found;
                }
                found.0.extend(known);
            }
        });
        let mut found = look.await?;
        let Some(oldest) = rows.iter().map(|row| row.at).min() else { return Ok(found) };
        self.read(move |journal| {
            loop {
                let missing: Vec<AgentId> = found.missing(&named).into_iter().collect();
                let stored = journal.roster(RosterQuery::Of(&missing))?;
                if stored.is_empty() {
                    break;
                }
                found.0.extend(stored.into_iter().map(|row| (row.agent, Known::stored(row))));
            }
            for (id, known) in found.0.iter_mut().filter(|(_, known)| oldest < known.named_at) {
                known.earlier = earlier_names(journal, *id)?;
            }
            Ok(found)
        })
        .await
    }
}

fn agents(row: &SignalRow) -> Vec<AgentId> {
    match &row.origin {
        SignalOrigin::Emitted { agent, .. } => vec![*agent],
        SignalOrigin::Sent(sent) => {
            let perennial_core::signal::SignalEvent::Sent { by, to, .. } = &**sent;
            by.agent().into_iter().chain(to.agent()).collect()
        }
    }
}

/// The names that an agent had, each with when it got the next one.
fn earlier_names(journal: &dyn Store, id: AgentId) -> Result<Vec<(Option<Name>, Time)>, ReadError> {
    let (mut names, mut name, mut after) = (Vec::new(), None, Version(0));
    for _ in 0..RECORDS_MAX / READ_AT_ONCE {
        let records = journal.read_stream(&Entity::Agent(id), after, READ_AT_ONCE)?;
        let Some(last) = records.last() else { break };
        after = last.version;
        for event in records.iter().filter_map(|record| record.event.as_ref().ok()) {
            if let Some((_, AgentEvent::Hatched(birth))) = event.of_agent() {
                name.clone_from(&birth.name);
            }
            if let Some((_, AgentEvent::Renamed { name: next })) = event.of_agent() {
                names.push((name.replace(next.clone()), event.at));
            }
        }
    }
    Ok(names)
}

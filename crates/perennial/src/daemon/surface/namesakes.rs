//! Agents that share a name: the one who has it is `bob`, the one before it `bob~1`.
//!
//! The inverse of `name_and_back`, for what is shown. Reads each name's rows once.

use std::collections::{BTreeMap, BTreeSet};

use perennial_api::agent as wire;
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::name::NameKey;
use perennial_core::state::Roster;
use perennial_core::time::Time;
use perennial_store::journal::ReadError;
use perennial_store::{RosterQuery, Store};

/// Everybody who has or had a name, the earliest first.
type Holders = BTreeSet<(Time, AgentId)>;

#[derive(Debug, Default)]
pub struct Namesakes {
    in_memory: BTreeMap<NameKey, Holders>,
    /// With those in the store, in the order in which they are counted: the last one is first.
    all: BTreeMap<NameKey, BTreeMap<AgentId, usize>>,
}

impl Namesakes {
    /// As far as memory knows them.
    pub fn of(fleet: &Fleet) -> Namesakes {
        let mut in_memory: BTreeMap<NameKey, Holders> = BTreeMap::new();
        for agent in fleet.agents() {
            if let Some(name) = &agent.name {
                let holders = in_memory.entry(NameKey::of(name.as_str())).or_default();
                holders.insert((agent.named_at, agent.id));
            }
        }
        Namesakes { in_memory, all: BTreeMap::new() }
    }

    /// Gives an agent of the cemetery the target that means it. Others have their names to themselves.
    pub fn tell_apart(
        &mut self,
        journal: &dyn Store,
        agent: &mut wire::Agent,
    ) -> Result<(), ReadError> {
        let Ok(id) = agent.id.parse::<AgentId>() else { return Ok(()) };
        if agent.roster != Roster::Cemetery.word() || agent.name == agent.id {
            return Ok(());
        }
        let key = NameKey::of(&agent.name);
        if !self.all.contains_key(&key) {
            let holders = self.read(journal, &key)?;
            self.all.insert(key.clone(), holders);
        }
        let back = self.all.get(&key).and_then(|holders| holders.get(&id));
        if let Some(back @ 1..) = back {
            agent.target = format!("{}~{back}", agent.name);
        }
        Ok(())
    }

    fn read(
        &self,
        journal: &dyn Store,
        key: &NameKey,
    ) -> Result<BTreeMap<AgentId, usize>, ReadError> {
        let mut holders = self.in_memory.get(key).cloned().unwrap_or_default();
        let buried = RosterQuery::Buried { name: key, limit: i32::MAX as usize };
        let in_memory: BTreeSet<AgentId> = holders.iter().map(|(_, id)| *id).collect();
        let rows = journal.roster(buried)?;
        let left = rows.iter().filter(|row| !in_memory.contains(&row.agent));
        holders.extend(left.map(|row| (row.named_at, row.agent)));
        Ok(holders.iter().rev().enumerate().map(|(back, (_, id))| (*id, back)).collect())
    }
}

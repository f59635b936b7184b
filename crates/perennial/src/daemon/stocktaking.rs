//! How the journal and the world differ: which holders live whose session the journal does not have.
//!
//! Looked at before a daemon plans anything, and by `doctor` whenever it asks. What follows is decided by the
//! core.

use anyhow::Context;
use perennial_core::agent;
use perennial_core::entity::Entity;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, BootId};
use perennial_core::observation::{LivingSession, LostRecords, Observation, Stocktaking};
use perennial_engine::host::living::LivingHolder;
use perennial_store::journal::{ReadError, Version};
use perennial_store::{Loaded, Store};

use super::showing::view;
use super::{claim, version};

/// What a daemon finds at its start. Without the journal's word, a buried agent would look like an unknown one.
pub fn at_start(
    living: Vec<LivingHolder>,
    (journal, loaded): (&dyn Store, &Loaded),
    lost: Option<LostRecords>,
    boot: BootId,
) -> anyhow::Result<Observation> {
    let fleet = &loaded.fleet;
    let living = living.into_iter().map(|holder| {
        let known = fleet.agent(holder.agent);
        let LivingHolder { agent, number, process, directory, .. } = holder;
        let has_records = known.is_some() || has_records(journal, agent)?;
        let claim = match known {
            Some(known) if !known.is_unborn() => None,
            Some(_) | None => claim::read(&directory, agent),
        };
        Ok(LivingSession { agent, number, process, claim, has_records })
    });
    let living: Result<Vec<LivingSession>, ReadError> = living.collect();
    let stocktaking = Stocktaking { living: living.context("can't read the journal")?, lost };
    let is_copy = fleet.is_copied();
    Ok(Observation::Started { boot, version: version(), is_copy, stocktaking })
}

fn has_records(journal: &dyn Store, agent: AgentId) -> Result<bool, ReadError> {
    Ok(!journal.read_stream(&Entity::Agent(agent), Version(0), 1)?.is_empty())
}

/// Sessions that run now and that the journal does not know, or knows as over; for people.
pub fn strangers(holders: &[LivingHolder], fleet: &Fleet) -> Vec<String> {
    let stranger = |holder: &LivingHolder| {
        let known = fleet.agent(holder.agent);
        let process = holder.process?;
        let LivingHolder { agent, number, .. } = *holder;
        let (claim, has_records) = (None, known.is_some());
        let living = LivingSession { agent, number, process: Some(process), claim, has_records };
        let is_known = known.is_some_and(|known| agent::is_known(known, &living));
        let name = known.map_or_else(|| agent.to_string(), view::name);
        (!is_known).then(|| {
            format!(
                "session {number} of {name} runs (pid {}), and the journal says that it does not",
                process.pid
            )
        })
    };
    holders.iter().filter_map(stranger).collect()
}

//! How the journal and the world differ: which holders live whose session the journal does not have.
//!
//! Looked at before a daemon plans anything, and by `doctor` whenever it asks. What follows is decided by the
//! core.

use perennial_api::Home;
use perennial_core::agent;
use perennial_core::entity::Entity;
use perennial_core::fleet::Fleet;
use perennial_core::id::BootId;
use perennial_core::observation::{LivingSession, LostRecords, Observation, Stocktaking};
use perennial_engine::host::living::{self, LivingHolder};
use perennial_store::journal::Version;
use perennial_store::{Loaded, Store};

use super::showing::view;
use super::{claim, version};

/// What a daemon finds at its start.
pub fn at_start(
    home: &Home,
    (journal, loaded): (&dyn Store, &Loaded),
    lost: Option<LostRecords>,
    boot: BootId,
) -> Observation {
    let fleet = &loaded.fleet;
    let holders = living::holders(&home.holders());
    let is_of_the_living = |holder: &LivingHolder| match fleet.agent(holder.agent) {
        Some(_) => true,
        // One that has left memory is in the cemetery: it gets no more events.
        None => !has_records(journal, holder),
    };
    let living = holders.into_iter().filter(is_of_the_living).map(|holder| {
        let is_known = fleet.agent(holder.agent).is_some_and(|agent| !agent.is_unborn());
        let LivingHolder { agent, number, process, directory, .. } = holder;
        let claim = if is_known { None } else { claim::read(&directory, agent) };
        LivingSession { agent, number, process, claim }
    });
    let stocktaking = Stocktaking { living: living.collect(), lost };
    let is_copy = fleet.is_copied();
    Observation::Started { boot, version: version(), is_copy, stocktaking }
}

fn has_records(journal: &dyn Store, holder: &LivingHolder) -> bool {
    let stream = Entity::Agent(holder.agent);
    journal.read_stream(&stream, Version(0), 1).is_ok_and(|records| !records.is_empty())
}

/// Sessions that run now and that the journal does not know, or knows as over; for people.
pub fn strangers(holders: &[LivingHolder], fleet: &Fleet) -> Vec<String> {
    let stranger = |holder: &LivingHolder| {
        let known = fleet.agent(holder.agent);
        let process = holder.process?;
        let LivingHolder { agent, number, .. } = *holder;
        let living = LivingSession { agent, number, process: Some(process), claim: None };
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

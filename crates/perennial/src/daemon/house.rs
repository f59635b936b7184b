//! What a daemon tidies up when it starts: what an earlier one had no time for.
//!
//! Decides by the journal's word only. What the journal does not know is left as it is.

use perennial_api::Home;
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::state::Roster;
use perennial_engine::host::directory::HolderDirectory;
use perennial_store::Store;
use perennial_store::projection::RosterQuery;

use super::known_holders;

/// Before a daemon holds anything.
pub fn tidy_up(home: &Home, fleet: &Fleet, journal: &dyn Store) {
    remove_secrets_of_buried(home, fleet, journal);
    remove_finished_jobs(home, fleet);
}

/// Removes the environments of agents that were buried while no daemon could do it, and that have left memory: for
/// those in memory it is planned (`Effect::RemoveSecrets`).
fn remove_secrets_of_buried(home: &Home, fleet: &Fleet, journal: &dyn Store) {
    let entries = std::fs::read_dir(home.holders()).into_iter().flatten().flatten();
    let agents = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<AgentId>().ok());
    let holder = |agent: AgentId| HolderDirectory::new(&home.holders(), agent);
    let may_be_over =
        |agent: &AgentId| fleet.agent(*agent).is_none() && holder(*agent).has_secrets();
    let agents: Vec<AgentId> = agents.filter(may_be_over).collect();
    if agents.is_empty() {
        return;
    }
    match journal.roster(RosterQuery::Of(&agents)) {
        Ok(rows) => {
            let buried = rows.iter().filter(|row| row.state.roster() == Roster::Cemetery);
            buried.for_each(|row| holder(row.agent).remove_secrets());
        }
        Err(error) => {
            let error = crate::error_chain::chain(&error);
            tracing::warn!(%error, "which agents are buried can't be read");
        }
    }
}

/// Removes the directories of jobs that are over, where no process of a job may be left.
fn remove_finished_jobs(home: &Home, fleet: &Fleet) {
    for job in known_holders::jobs_on_disk(home).filter(|job| fleet.jobs().get(*job).is_none()) {
        let holder = HolderDirectory::of_job(&home.jobs(), job);
        // Without a word on who holds it, it stays.
        if holder.shim_pid().is_ok_and(|shim| shim.is_none()) && holder.unfinished().is_empty() {
            let _stays = std::fs::remove_dir_all(holder.path());
        }
    }
}

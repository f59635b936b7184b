//! What a caller may see of an agent, wherever that agent is: in memory, or in the store.
//!
//! Fetches the records that the core's rule asks for.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::authority::{Caller, Standing};
use perennial_core::id::AgentId;
use perennial_core::message::Mailbox;
use perennial_core::visibility::{self, Private, Sight};
use perennial_store::RosterQuery;
use perennial_store::Store;
use perennial_store::journal::ReadError;

use super::Surface;
use super::answer::ProblemResponse;
use super::ended::Resolved;
use crate::daemon::showing::problems;

impl Surface {
    /// Whom a target means, if the caller may see this of it: for reads of which nothing is public.
    pub async fn may_see(
        &self,
        caller: Caller,
        target: String,
        private: Private,
    ) -> Result<AgentId, ProblemResponse> {
        let found = self.resolve(target).await?;
        let checked = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let (id, seen) = match found {
                Resolved::InMemory(id) => (id, fleet.may_see(caller, private, id)),
                Resolved::Ended(ended) => {
                    let id = ended.agent.id;
                    (id, ended.around(fleet).may_see(caller, private, id))
                }
            };
            seen.map(|()| id).map_err(|refusal| problems::refusal(&refusal, fleet))
        });
        Ok(checked.await??)
    }

    /// What the caller may see of a mailbox and of the mail in it.
    pub async fn sight_of_mailbox(
        &self,
        caller: Caller,
        mailbox: &Mailbox,
    ) -> Result<Sight, ProblemResponse> {
        let nobodys = Sight::new(caller, Standing::NoTarget);
        let Some(owner) = mailbox.agent() else { return Ok(nobodys) };
        let sights = self.sights(caller, [owner].into()).await?;
        Ok(sights.get(&owner).copied().unwrap_or(nobodys))
    }

    /// What the caller may see of each of these.
    pub async fn sights(
        &self,
        caller: Caller,
        agents: BTreeSet<AgentId>,
    ) -> Result<BTreeMap<AgentId, Sight>, ProblemResponse> {
        let mut left = agents.clone();
        let mut sights: BTreeMap<AgentId, Sight> = self
            .driver
            .look(move |view| {
                let fleet = view.supervisor.fleet();
                let in_memory = agents.into_iter().filter(|id| fleet.agent(*id).is_some());
                in_memory.map(|id| (id, fleet.sight(caller, Some(id)))).collect()
            })
            .await?;
        left.retain(|id| !sights.contains_key(id));
        if !left.is_empty() {
            let read = move |journal: &dyn Store| {
                let sight = |id| Ok((id, of_ended(journal, caller, id)?));
                left.into_iter().map(sight).collect::<Result<Vec<_>, ReadError>>()
            };
            sights.extend(self.read(read).await?);
        }
        Ok(sights)
    }
}

/// What the caller may see of an agent that has left memory: who led it is in the store.
pub fn of_ended(journal: &dyn Store, caller: Caller, agent: AgentId) -> Result<Sight, ReadError> {
    let parent = |id: AgentId| {
        let row = journal.roster(RosterQuery::Of(&[id]))?.into_iter().next();
        Ok::<_, ReadError>(row.and_then(|row| row.parent))
    };
    Ok(Sight::new(caller, visibility::standing(caller, agent, parent)?))
}

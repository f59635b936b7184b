//! What a caller may see of an agent, wherever that agent is: in memory, or in the store.
//!
//! Finds out how the caller stands to the agent; what follows from it is the core's rule.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::authority::{Caller, Standing};
use perennial_core::id::AgentId;
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::visibility::{Private, Sight};
use perennial_store::RosterQuery;
use perennial_store::Store;
use perennial_store::journal::ReadError;

use super::Surface;
use super::answer::Trouble;
use super::ended::{Found, LEADS_MAX};
use crate::daemon::showing::problems;

impl Surface {
    /// Whom a target means, if the caller may see this of it; where nothing of it is public, the caller
    /// is refused in the words for this verb.
    pub async fn may_see(
        &self,
        caller: Caller,
        target: String,
        private: Private,
        verb: Verb,
    ) -> Result<AgentId, Trouble> {
        let found = self.resolve(target).await?;
        let checked = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let (id, sight) = match found {
                Found::InMemory(id) => (id, fleet.sight(caller, Some(id))),
                Found::Ended(ended) => {
                    let id = ended.agent.id;
                    (id, ended.around(fleet).sight(caller, Some(id)))
                }
            };
            match sight.sees(private) {
                true => Ok(id),
                false => Err(problems::refusal(&Refusal::NotAllowed { caller, verb }, fleet)),
            }
        });
        Ok(checked.await??)
    }

    /// What the caller may see of each of these.
    pub async fn sights(
        &self,
        caller: Caller,
        agents: BTreeSet<AgentId>,
    ) -> Result<BTreeMap<AgentId, Sight>, Trouble> {
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
        match caller {
            // Only an agent stands to others in one way or another.
            Caller::Person | Caller::Job | Caller::Viewer => {
                sights.extend(left.into_iter().map(|id| (id, other(caller))));
            }
            Caller::Agent(_) if left.is_empty() => {}
            Caller::Agent(_) => {
                let read = move |journal: &dyn Store| {
                    let sight = |id| Ok((id, of_ended(journal, caller, id)?));
                    left.into_iter().map(sight).collect::<Result<Vec<_>, ReadError>>()
                };
                sights.extend(self.read(read).await?);
            }
        }
        Ok(sights)
    }
}

/// What the caller may see of an agent that has left memory: who led it is in the store.
pub fn of_ended(journal: &dyn Store, caller: Caller, agent: AgentId) -> Result<Sight, ReadError> {
    let Caller::Agent(own) = caller else { return Ok(other(caller)) };
    if own == agent {
        return Ok(Sight::new(caller, Standing::Itself));
    }
    let mut below = agent;
    for _ in 0..LEADS_MAX {
        let row = journal.roster(RosterQuery::Of(&[below]))?.into_iter().next();
        match row.and_then(|row| row.parent) {
            Some(lead) if lead == own => return Ok(Sight::new(caller, Standing::Lead)),
            Some(lead) => below = lead,
            None => break,
        }
    }
    Ok(other(caller))
}

fn other(caller: Caller) -> Sight {
    Sight::new(caller, Standing::Other)
}

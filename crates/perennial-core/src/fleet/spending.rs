//! What agents have spent in all, as whoever reads their transcripts counts it.
//!
//! Not in the journal: it is told anew at each start. Decisions write it into events; folding never reads it.

use super::Fleet;
use crate::id::AgentId;

impl Fleet {
    /// The tokens that an agent has spent in all; nothing where nobody counts.
    pub fn spent(&self, agent: AgentId) -> Option<u64> {
        self.spending.get(&agent).copied()
    }

    /// Of one that has left memory nothing is kept.
    pub fn set_spent(&mut self, agent: AgentId, tokens: u64) {
        if self.agent(agent).is_some() {
            self.spending.insert(agent, tokens);
        }
    }
}

//! Whose conversations a new agent may go on with, in itself or as a copy.

use super::Fleet;
use crate::agent::Agent;
use crate::conversation::{ConversationId, Conversations};
use crate::refusal::Refusal;
use crate::state::State;

impl Fleet {
    /// Whether a new agent may begin with this conversation, or a copy of it. A frozen agent's, earlier ones
    /// included, would go on without the approval that the agent waits for (`state.rs` A1).
    pub fn may_be_taken_up(&self, conversation: &ConversationId) -> Result<(), Refusal> {
        let has_it = |agent: &&Agent| {
            let mut own = agent.conversations.iter().flat_map(Conversations::newest_first);
            agent.state == State::Frozen && own.any(|own| own == conversation)
        };
        match self.agents().find(has_it) {
            Some(frozen) => Err(Refusal::NeedsApproval { agent: frozen.id }),
            None => Ok(()),
        }
    }
}

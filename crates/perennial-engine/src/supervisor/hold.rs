//! Hooks that announce a compaction, within the step: they are answered once the checkpoint is durable that tells where
//! the work stood (U10). The agent CLI waits for the answer, and compacts whatever it is.

use perennial_core::id::AgentId;
use perennial_core::keeping::KEEP_WITHIN;
use perennial_core::{agent::Agent, checkpoint};

use super::{Output, Reply, Supervisor, Time, Waiter};

/// A hook that waits for a checkpoint.
#[derive(Debug)]
pub(super) struct Held {
    waiter: Waiter,
    agent: AgentId,
    /// When the compaction was announced.
    since: Time,
    pub(super) until: Time,
}

impl Supervisor {
    /// A hook has announced a compaction, and was heard.
    pub(super) fn hold(&mut self, waiter: Waiter, agent: AgentId, now: Time) -> Vec<Output> {
        let awaiting = self.newest.agent(agent).filter(|agent| checkpoint::is_awaited(agent));
        let Some(since) = awaiting.and_then(|agent| agent.handoff.announced) else {
            return vec![empty(waiter)];
        };
        self.held.push(Held { waiter, agent, since, until: now + KEEP_WITHIN });
        Vec::new()
    }

    /// Answers those whose checkpoint is durable, whose compaction is no longer ahead, or who have waited long enough.
    pub(super) fn let_go(&mut self, now: Time) -> Vec<Output> {
        let (durable, newest) = (&self.durable, &self.newest);
        let is_over = |held: &mut Held| {
            let is_ahead = |agent: &Agent| agent.handoff.announced == Some(held.since);
            let is_stored = |agent: &Agent| checkpoint::is_stored_since(agent, held.since);
            held.until <= now
                || durable.agent(held.agent).is_some_and(is_stored)
                || !newest.agent(held.agent).is_some_and(is_ahead)
        };
        self.held.extract_if(.., is_over).map(|held| empty(held.waiter)).collect()
    }
}

/// No text in reply to such a hook reaches the model.
fn empty(waiter: Waiter) -> Output {
    Output::Reply { waiter, with: Reply::Texts(Vec::new()) }
}

//! The line of sessions that wait for their turn to start, and how many have begun: one mechanism for a reboot, after which
//! two are resumed at a time, and for the operator's limit on running sessions.
//!
//! Pure. Follows from the agents alone, so that folding events and restoring snapshots come to the same; what the operator
//! set arrives as an argument. No question costs a look at all agents.
//!
//! Invariants
//! - L1  Nobody leaves the line while `RESUMED_AT_ONCE` agents of the node are starting, in whichever way those came to
//!   start (F3). It holds up retries that waited, which get in line, and nothing else: without a limit, sessions that are
//!   asked for meanwhile, or follow another one at once, start beside them.
//! - L2  With a limit, no session begins while as many of the node's as it allows have begun and not ended. A session counts until nothing
//!   of it is left; one that waits in line does not.
//! - L3  Who waits is in the order in which their sessions were asked for. Whoever comes anew gets in behind them, unless
//!   there is room for all of them.
//! - L4  A session that follows another one of its agent at once (restart, handoff, a retry without a wait) has its
//!   predecessor's place, unless more have begun than the limit says. A retry that waited for its time gets in line.
//! - L5  Held and damaged agents, and those in the cemetery, have no place in the line.

use std::collections::{BTreeMap, BTreeSet};

use crate::agent::Agent;
use crate::id::AgentId;
use crate::session::{Phase, Session};
use crate::time::Time;

/// After a reboot, this many agents are resumed at a time.
pub const RESUMED_AT_ONCE: usize = 2;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// Whose session waits for its turn, by when it was asked for.
    waiting: BTreeSet<(Time, AgentId)>,
    /// The same by agent.
    since: BTreeMap<AgentId, Time>,
    /// Agents that are starting: whose session has begun, and who have not announced themselves yet.
    admitted: BTreeSet<AgentId>,
    /// Agents whose session has begun and not ended.
    begun: BTreeSet<AgentId>,
}

/// Where one agent stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Standing {
    waits_since: Option<Time>,
    is_admitted: bool,
    is_begun: bool,
}

impl Standing {
    /// Of an agent of this node.
    pub fn of(agent: &Agent) -> Standing {
        let session = agent.session.as_ref();
        let waits = session.filter(|_| agent.waits_in_line());
        Standing {
            waits_since: waits.map(|session| session.wanted_at),
            is_admitted: agent.is_out_of_line(),
            is_begun: session.is_some_and(takes_a_place),
        }
    }
}

/// Whether a session takes up a place of those that may run.
fn takes_a_place(session: &Session) -> bool {
    match session.phase {
        Phase::Starting | Phase::Running | Phase::Ending(_) => true,
        Phase::Wanted | Phase::Ended => false,
    }
}

impl Line {
    /// Keeps the line after an agent that stood there `before` has come to stand there `now`; returns whether that made a
    /// difference to anybody.
    pub fn keep(&mut self, id: AgentId, before: Standing, now: Standing) -> bool {
        if before == now {
            return false;
        }
        if before.waits_since != now.waits_since {
            self.moved(id, before.waits_since, now.waits_since);
        }
        if before.is_admitted != now.is_admitted {
            set(&mut self.admitted, id, now.is_admitted);
        }
        if before.is_begun != now.is_begun {
            set(&mut self.begun, id, now.is_begun);
        }
        true
    }

    /// Who may be next, of those that nothing else holds back. One more than may start: an agent that joins the line may
    /// displace another.
    pub fn next(&self, is_free: &dyn Fn(AgentId) -> bool) -> Vec<AgentId> {
        let free = self.waiting.iter().map(|(_, id)| *id).filter(|id| is_free(*id));
        free.take(RESUMED_AT_ONCE + 1).collect()
    }

    fn moved(&mut self, id: AgentId, before: Option<Time>, now: Option<Time>) {
        if let Some(since) = before {
            self.waiting.remove(&(since, id));
            self.since.remove(&id);
        }
        if let Some(since) = now {
            self.waiting.insert((since, id));
            self.since.insert(id, since);
        }
    }

    /// How many sessions have begun and not ended.
    pub fn running(&self) -> usize {
        self.begun.len()
    }

    fn room(&self, most: Option<usize>) -> usize {
        most.map_or(usize::MAX, |most| most.saturating_sub(self.begun.len()))
    }

    /// Whether a session of the agent may start now: it is its turn, or the line is empty; and there is room (L1, L2).
    /// Of those ahead of it only those count that could start themselves.
    pub fn may_start(
        &self,
        id: AgentId,
        most: Option<usize>,
        is_free: &dyn Fn(AgentId) -> bool,
    ) -> bool {
        let room = self.room(most);
        if self.waiting.is_empty() {
            return room > 0;
        }
        let free = RESUMED_AT_ONCE.saturating_sub(self.admitted.len()).min(room);
        let mut ahead = self.waiting.iter().filter(|(_, ahead)| is_free(*ahead)).take(free);
        ahead.any(|(_, first)| *first == id)
    }

    /// Whether a start that was decided for the agent may be carried out, beside this number of others of the same batch.
    pub fn has_room(
        &self,
        id: AgentId,
        others: usize,
        most: usize,
        is_free: &dyn Fn(AgentId) -> bool,
    ) -> bool {
        if self.since.contains_key(&id) {
            return self.may_start(id, Some(most), is_free);
        }
        let begun = self.begun.len() + others;
        match self.begun.contains(&id) {
            // L4: its own place.
            true => begun <= most,
            // L3
            false => begun + self.waiting.len() < most,
        }
    }

    pub fn has_begun(&self, id: AgentId) -> bool {
        self.begun.contains(&id)
    }

    /// The place of an agent in the line, counted from 1, and how many wait.
    pub fn place(&self, id: AgentId) -> Option<(usize, usize)> {
        let since = self.since.get(&id)?;
        Some((self.waiting.range(..=(*since, id)).count(), self.waiting.len()))
    }
}

/// Puts an id into a set or out of it.
fn set(ids: &mut BTreeSet<AgentId>, id: AgentId, is_in: bool) {
    match is_in {
        true => _ = ids.insert(id),
        false => _ = ids.remove(&id),
    }
}

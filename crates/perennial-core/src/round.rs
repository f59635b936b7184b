//! The rounds of a role's holder: what the role asks of it every so often, one at a time.
//!
//! Pure. A round is a text of Perennial's own that goes by the ways of mail, but never into a turn. When the next one
//! is due follows from the agent and from what waits for it; nothing counts intervals.
//!
//! Invariants
//! - RD1  Of an agent, at most one round is recorded and neither seen nor withdrawn.
//! - RD2  No round is recorded for an agent without a running session, nor for one that is held, asked for its burial or
//!   is a bare command. One that waits when its session ends, or its role is left, is withdrawn.
//! - RD3  An interval counts from the moment in which the last round was given. What fell due while no session ran is
//!   passed over, and however many fell due while no daemon ran, one follows.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::event::{AgentEvent, What};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId};
use crate::message::{Content, Message, MessageEvent, MessageState, Sender, Withdrawer};
use crate::role::{self, Mandate};
use crate::session::Phase;
use crate::time::Time;

/// The rounds of an agent in the role that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rounds {
    /// How many it was given.
    pub given: u64,
    /// When that was last; at first, when it took the role.
    pub since: Time,
}

/// One round as a session is told it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    pub message: MessageId,
    pub number: u64,
    pub role: String,
    pub every: Option<Duration>,
    pub mandate: Mandate,
}

/// When the next round of an agent is recorded, if nothing changes; none while one is under way (RD1, RD2).
pub fn due_at(fleet: &Fleet, agent: &Agent) -> Option<Time> {
    let is_free = fleet.messages().round(agent.id).is_none();
    next_at(agent).filter(|_| is_free)
}

/// Why no round of an agent's falls due (RD2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRounds {
    Bare,
    Held,
    Burial,
    NoSession,
}

/// What keeps an agent from being given rounds.
pub fn hindrance(agent: &Agent) -> Option<NoRounds> {
    let runs = agent.live_session().is_some_and(|live| live.phase == Phase::Running);
    match agent {
        _ if agent.launch.is_bare() => Some(NoRounds::Bare),
        _ if agent.is_held() => Some(NoRounds::Held),
        _ if agent.burial.is_some() => Some(NoRounds::Burial),
        _ if !runs => Some(NoRounds::NoSession),
        _ => None,
    }
}

/// RD3: the first time after the last round, by whole intervals, at which its session ran.
fn next_at(agent: &Agent) -> Option<Time> {
    role::held(agent)?;
    let every = agent.role_terms.every.filter(|every| !every.is_zero())?;
    let session = agent.live_session().filter(|_| hindrance(agent).is_none())?;
    let (since, every) = (agent.rounds.since.0, u64::try_from(every.as_micros()).ok()?);
    let without_session = session.started_at?.0.saturating_sub(since);
    let intervals = without_session.div_ceil(every).max(1);
    Some(Time(since.saturating_add(intervals.saturating_mul(every))))
}

/// The time came: a round is recorded.
pub fn due(fleet: &Fleet, id: AgentId, now: Time) -> Option<(MessageId, MessageEvent)> {
    let agent = fleet.agent(id)?;
    due_at(fleet, agent).filter(|at| *at <= now)?;
    let (role, number) = (agent.role.clone()?, agent.rounds.given + 1);
    let recorded = MessageEvent::Recorded {
        to: id.into(),
        from: Sender::Perennial,
        content: Content::Round { role, number },
    };
    // It follows from whom it is for and when, so that a replay agrees.
    let spread = u128::from(now.0).wrapping_mul(0xd6e8_feb8_6659_fd93_a5a3_5f8b_7c1d_9e4f);
    Some((MessageId(id.0 ^ spread), recorded))
}

/// RD3: what follows for an agent from what happened to a round of its.
pub fn passed(fleet: &Fleet, id: MessageId) -> Option<What> {
    let message = fleet.messages().get(id)?;
    let Content::Round { role, number } = &message.content else { return None };
    let agent = fleet.agent(message.to.agent()?)?;
    let is_news = agent.role.as_ref() == Some(role) && agent.rounds.given < *number;
    is_news.then_some(What::Agent(agent.id, AgentEvent::RoundPassed { round: *number }))
}

/// RD2: the round that waits for an agent is no longer asked of it.
pub fn outdated(fleet: &Fleet, agent: AgentId) -> Vec<(MessageId, MessageEvent)> {
    let waits = |round: &&Message| matches!(round.state, MessageState::Waiting { .. });
    let round = fleet.messages().round(agent).filter(waits);
    let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Outdated };
    round.map(|round| (round.id, withdrawn)).into_iter().collect()
}

impl Message {
    pub fn is_round(&self) -> bool {
        matches!(self.content, Content::Round { .. })
    }

    /// The round as its agent is told it.
    pub fn as_round(&self, fleet: &Fleet) -> Option<Round> {
        let Content::Round { role, number } = &self.content else { return None };
        let agent = fleet.agent(self.to.agent()?)?;
        let terms = Some(&agent.role_terms).filter(|_| agent.role.as_ref() == Some(role));
        Some(Round {
            message: self.id,
            number: *number,
            role: role.clone(),
            every: terms.and_then(|terms| terms.every),
            mandate: terms.map(|terms| terms.mandate.clone()).unwrap_or_default(),
        })
    }
}

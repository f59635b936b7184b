//! Callers that wait: for a milestone of a session, or for the end of a message.

use perennial_core::agent::Agent;
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, MessageId};
use tokio::sync::oneshot;

/// A point in a session's life that a caller can wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Milestone {
    /// The session runs, waits in line, or could not be started.
    Begun,
    /// No session is left.
    Over,
    /// No restore goes on.
    Restored,
}

impl Milestone {
    fn is_reached(self, agent: &Agent) -> bool {
        if self == Milestone::Restored {
            return agent.snapshot_record.restoring.is_none();
        }
        agent.session.as_ref().is_none_or(|session| match self {
            Milestone::Begun => session.has_begun() || agent.waits_in_line(),
            Milestone::Over | Milestone::Restored => session.is_over(),
        })
    }
}

/// Everybody who waits.
#[derive(Debug, Default)]
pub struct Awaited {
    points: Vec<(AgentId, Milestone, oneshot::Sender<()>)>,
    ends: Vec<(MessageId, oneshot::Sender<()>)>,
}

impl Awaited {
    pub fn add_point(&mut self, agent: AgentId, point: Milestone, reply: oneshot::Sender<()>) {
        self.points.push((agent, point, reply));
    }

    pub fn add_end(&mut self, message: MessageId, reply: oneshot::Sender<()>) {
        self.ends.push((message, reply));
    }

    /// Answers the callers whose milestone has been reached, now that these agents have changed.
    pub fn tell(&mut self, fleet: &Fleet, touched: &[AgentId]) {
        let is_reached = |(agent, point, _): &mut (AgentId, Milestone, oneshot::Sender<()>)| {
            touched.contains(agent)
                && fleet.agent(*agent).is_none_or(|agent| point.is_reached(agent))
        };
        for (_, _, reply) in self.points.extract_if(.., is_reached) {
            let _ = reply.send(());
        }
        let is_over = |(message, _): &mut (MessageId, oneshot::Sender<()>)| {
            fleet.messages().get(*message).is_none()
        };
        for (_, reply) in self.ends.extract_if(.., is_over) {
            let _ = reply.send(());
        }
        // Who no longer listens need not be kept.
        self.points.retain(|(_, _, reply)| !reply.is_closed());
        self.ends.retain(|(_, reply)| !reply.is_closed());
    }
}

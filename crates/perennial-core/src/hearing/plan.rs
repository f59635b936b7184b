//! What the holder of a session is told and asked: planned from the record and from what was heard.
//!
//! Takes no hint of what changed. Whoever carries effects out tells what was not planned before.

use super::{Hearing, Suspension, focus};
use crate::agent::Agent;
use crate::effect::{Effect, FocusEffect};

/// What the holder of an agent CLI's live session is to know and to do.
pub fn plan(agent: &Agent, hearing: Option<&Hearing>) -> Vec<Effect> {
    let Some(live) = agent.live_session().filter(|_| !agent.launch.is_bare()) else {
        return Vec::new();
    };
    let (id, number) = (agent.id, live.number);
    let hearing = hearing.filter(|hearing| hearing.number == number);
    let focus = FocusEffect { agent: id, number, focus: focus(agent, hearing) };
    let is_suspended =
        hearing.is_some_and(|hearing| hearing.suspension() == Some(Suspension::Forgotten));
    let submitted_at = hearing.and_then(|hearing| hearing.submitted_at);
    let heard = submitted_at.map(|at| Effect::PromptHeard { agent: id, number, at });
    let go_on = is_suspended.then_some(Effect::Continue { agent: id, number });
    [Some(Effect::Focus(focus)), go_on, heard].into_iter().flatten().collect()
}

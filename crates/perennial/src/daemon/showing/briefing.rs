//! The briefing of a new session: which agent it is, which other agents there are, its context clock.

use perennial_core::agent::Agent;
use perennial_core::context::Sample;
use perennial_core::conversation::Turn;
use perennial_core::fleet::{Companion, Fleet};
use perennial_engine::harness::session_texts::{self, Other, Recipient};

use crate::daemon::driving::presence::Presence;
use crate::daemon::showing::view;

pub fn text(fleet: &Fleet, agent: &Agent, presence: &Presence, sample: Option<&Sample>) -> String {
    let name = view::name(agent);
    let parent = agent.parent.and_then(|id| fleet.agent(id)).map(view::name);
    let others: Vec<(String, Companion<'_>)> =
        fleet.companions(agent).map(|other| (view::name(other.agent), other)).collect();
    let states: Vec<String> = others
        .iter()
        .map(|(_, other)| {
            let (state, reason) = other.agent.vouched(presence.confirmation(other.agent));
            format!("{} ({})", state.word(), reason.word())
        })
        .collect();
    let lines: Vec<Other<'_>> = others
        .iter()
        .zip(&states)
        .map(|((name, other), state)| Other {
            name,
            role: other.agent.role.as_deref(),
            state,
            summary: other.agent.summary.as_deref(),
            is_sibling: other.is_sibling,
        })
        .collect();
    let recipient = Recipient {
        name: &name,
        role: agent.role.as_deref(),
        parent: parent.as_deref(),
        session: agent.session.as_ref().map_or(0, |session| u64::from(session.number.0)),
        dir: &agent.launch.dir,
        was_stopped: agent.turn == Turn::Stopped,
    };
    session_texts::briefing(&recipient, &lines, sample)
}

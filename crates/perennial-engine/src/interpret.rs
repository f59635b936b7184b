//! Which effects were given out in this run of the daemon.
//!
//! A host answers every effect (its promise), so one that was given out is never given out again;
//! a new daemon starts with nothing given out, and plans everything anew.

use std::collections::BTreeMap;

use perennial_core::effect::{Action, Effect};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::session::Pace;

/// For each agent, the actions given out for its newest session.
#[derive(Debug, Default)]
pub struct Interpreter {
    given: BTreeMap<AgentId, (SessionNumber, u8)>,
}

impl Interpreter {
    /// Whether this effect is new; it counts as given out from now on.
    pub fn admit(&mut self, effect: &Effect) -> bool {
        let bit = match &effect.action {
            Action::Start(..) => 1,
            Action::Hold => 2,
            Action::End(Pace::Graceful) => 4,
            Action::End(Pace::AtOnce) => 8,
            Action::Release => 16,
        };
        let (number, given) = self.given.entry(effect.agent).or_insert((effect.number, 0));
        if *number != effect.number {
            (*number, *given) = (effect.number, 0);
        }
        let fresh = *given & bit == 0;
        *given |= bit;
        fresh
    }
}

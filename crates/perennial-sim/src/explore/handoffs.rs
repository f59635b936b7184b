//! Acts on handoffs: a person, the agent itself or its parent asks for one, or ends the wait for it.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::handoff::HandoffOrder;

use super::Explorer;

impl Explorer {
    pub(super) fn handoff(&mut self) {
        let Some(agent) = self.somebody() else { return };
        let parent = self.world.ledger.record.agent(agent).and_then(|agent| agent.parent);
        let caller = match self.world.random.below(4) {
            0 => Caller::Agent(agent),
            1 => parent.map_or(Caller::Person, Caller::Agent),
            _ => Caller::Person,
        };
        let deadline = match self.world.random.below(3) {
            0 => None,
            1 => Some(Duration::from_secs(1)),
            _ => Some(self.world.random.span(&(0..300_000_000))),
        };
        let order = HandoffOrder {
            target: agent.to_string(),
            subject: Some("the half".to_owned()),
            notes: self.world.random.per_mille(500).then(|| "as it stands".to_owned()),
            deadline,
            finish: self.world.random.per_mille(300),
            session: None,
        };
        self.ask(caller, Command::Handoff(Box::new(order)));
    }
}

//! Hands each effect to the executor of its family. Decides nothing: what is to be done is the core's word.

use perennial_core::effect::Effect;

use super::driver::Driver;
use super::jobs;

impl Driver {
    /// Hands an effect to the executor of its family.
    pub fn carry_out(&mut self, effect: Effect) {
        let (holders, harnesses) = (&self.world.holders, &self.world.harnesses);
        match effect {
            Effect::Session(effect) => self.order(effect),
            Effect::Focus(effect) => self.tell_focus(effect),
            Effect::Continue { agent, number } => holders.continue_session(agent, number),
            Effect::PromptHeard { agent, number, .. } => holders.heard(agent, number),
            Effect::Deliver(delivery) => {
                let agent = self.supervisor.fleet().agent(delivery.agent);
                let harness = agent.filter(|agent| !agent.launch.is_bare());
                let harness = harness.map(|agent| agent.launch.harness.clone());
                self.world.deliveries.order(delivery, harness);
            }
            Effect::RemoveSecrets { agent } => harnesses.holder(agent).remove_secrets(),
            Effect::Job(effect) => jobs::order(holders, effect),
            Effect::Keep(effect) => self.keep_work(effect),
            Effect::Checkpoint(effect) => self.take_checkpoint(effect),
            Effect::Snapshot(effect) => self.carry_out_snapshot(effect),
        }
    }
}

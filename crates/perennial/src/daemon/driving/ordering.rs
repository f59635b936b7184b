//! Orders to the holders of sessions: how each is started or ended. Decides nothing: what is ordered is the core's word.

use perennial_core::effect::{Action, SessionEffect};
use perennial_core::observation::{Observation, Report};

use super::driver::Driver;

impl Driver {
    /// Gives an order; a start as the launch stands, or as its harness wants it.
    pub fn order(&mut self, effect: SessionEffect) {
        let (agent, number) = (effect.agent, effect.number);
        let (known, harnesses) = (self.supervisor.fleet().agent(agent), &self.world.harnesses);
        let (launch, opening) = match &effect.action {
            Action::Start(launch, opening) => (launch, opening),
            Action::End(_) if known.is_some_and(|known| harnesses.ends_by_term(known)) => {
                return self.world.holders.order_end_by_term(effect);
            }
            Action::End(_) if known.is_some_and(|known| known.launch.is_bare()) => {
                return self.world.holders.order_end_with_hang_up(effect);
            }
            Action::End(_) | Action::Hold | Action::Release => {
                return self.world.holders.order(effect);
            }
        };
        self.keep_claim(agent);
        match self.program(&effect, launch, opening) {
            Ok(program) => self.world.holders.order_start(effect, program),
            Err(why) => {
                let report = Report::NotStarted(why);
                self.observe(Observation::Session { agent, number, report });
            }
        }
    }
}

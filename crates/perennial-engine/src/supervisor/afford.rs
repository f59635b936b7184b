//! What agents can afford, within the step: requests are paid for, and hooks wait (U9). How much there is
//! to spend, and who waits for whom, are the core's rules (`allowance.rs`).

use perennial_core::authority::Caller;
use perennial_core::command::Request;
use perennial_core::fact::Fact;
use perennial_core::fleet::Decision;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::refusal::Refusal;
use perennial_core::time::Time;

use super::{Output, Supervisor};

impl Supervisor {
    /// The core's answer; what is to be recorded is paid for.
    pub(super) fn decide(&mut self, request: &Request, now: Time) -> Result<Decision, Refusal> {
        let decision = self.newest.decide(request, now)?;
        if !decision.events.is_empty() {
            self.allowances.pay(request, &decision.events, now)?;
        }
        Ok(decision)
    }

    /// Whether a caller could have words of this many bytes recorded now.
    pub fn affords(&self, caller: Caller, words: u64, now: Time) -> Result<(), Refusal> {
        self.allowances.affords(caller, words, now)
    }

    /// Hears a fact, unless it has to wait.
    pub(super) fn heard_if_due(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        fact: Fact,
        now: Time,
    ) -> Vec<Output> {
        let Some(fact) = self.allowances.hear(agent, number, fact, now) else {
            return Vec::new();
        };
        let outputs = self.heard(agent, number, &fact, now);
        if outputs.iter().any(|output| matches!(output, Output::Append { .. })) {
            self.allowances.pay_fact(agent, fact.origin, now);
        }
        outputs
    }

    /// Those whose time has come.
    pub(super) fn hear_late_facts(&mut self, now: Time) -> Vec<Output> {
        let due = self.allowances.take_due(now).into_iter();
        due.flat_map(|(agent, number, fact)| self.heard_if_due(agent, number, fact, now)).collect()
    }
}

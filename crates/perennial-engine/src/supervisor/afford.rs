//! What agents can afford, within the step: requests are paid for, and hooks wait (U9). How much there is
//! to spend is the core's rule (`allowance.rs`).

use std::collections::BTreeMap;

use perennial_core::allowance::Allowances;
use perennial_core::command::Request;
use perennial_core::fact::{Fact, Origin};
use perennial_core::fleet::Decision;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::refusal::Refusal;
use perennial_core::time::Time;

use super::{Output, Supervisor};

#[derive(Debug, Default)]
pub(super) struct Afford {
    allowances: Allowances,
    /// The newest hook of each agent that has to wait for its allowance.
    late_hooks: BTreeMap<AgentId, LateHook>,
}

#[derive(Debug)]
struct LateHook {
    due: Time,
    number: SessionNumber,
    fact: Fact,
}

impl Afford {
    pub fn next_due(&self) -> Option<Time> {
        self.late_hooks.values().map(|late| late.due).min()
    }

    /// Of an agent that is over.
    pub fn forget(&mut self, agent: AgentId) {
        self.allowances.forget(agent);
        self.late_hooks.remove(&agent);
    }
}

impl Supervisor {
    /// The core's answer; what is to be recorded is paid for.
    pub(super) fn decide(&mut self, request: &Request, now: Time) -> Result<Decision, Refusal> {
        let decision = self.newest.decide(request, now)?;
        if !decision.events.is_empty() {
            let paid = self.afford.allowances.pay(request, now);
            paid.map_err(|wait| Refusal::TooOften { wait })?;
        }
        Ok(decision)
    }

    /// Hears a fact, unless it has to wait.
    pub(super) fn heard_if_due(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        fact: Fact,
        now: Time,
    ) -> Vec<Output> {
        if !is_called(fact.origin) {
            return self.heard(agent, number, &fact, now);
        }
        if let Some(wait) = self.afford.allowances.hook_waits(agent, now) {
            let late = LateHook { due: now + wait, number, fact };
            self.afford.late_hooks.insert(agent, late);
            return Vec::new();
        }
        // An earlier one that still waits says less than this one does.
        self.afford.late_hooks.remove(&agent);
        let outputs = self.heard(agent, number, &fact, now);
        if outputs.iter().any(|output| matches!(output, Output::Append { .. })) {
            self.afford.allowances.pay_hook(agent, now);
        }
        outputs
    }

    /// Those whose time has come.
    pub(super) fn hear_late_hooks(&mut self, now: Time) -> Vec<Output> {
        let due = self.afford.late_hooks.extract_if(.., |_, late| late.due <= now);
        let due: Vec<(AgentId, LateHook)> = due.collect();
        let mut outputs = Vec::new();
        for (agent, LateHook { number, fact, .. }) in due {
            outputs.extend(self.heard_if_due(agent, number, fact, now));
        }
        outputs
    }
}

/// Whether a process of the session tells it, whenever it likes. Files are read at a pace of ours.
fn is_called(origin: Origin) -> bool {
    match origin {
        Origin::Hook | Origin::StatusLine => true,
        Origin::Transcript | Origin::List | Origin::Kernel | Origin::Terminal | Origin::Agent => {
            false
        }
    }
}

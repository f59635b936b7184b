//! The latest that was measured of each agent's session: context, model, tool calls.
//!
//! Memory of this run; what matters for good is an event, and what is shown later is a sample.

use std::collections::BTreeMap;

use perennial_core::agent::Agent;
use perennial_core::context::Sample;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::time::Time;
use perennial_engine::harness::words;
use perennial_engine::transcript::account::Figures;

#[derive(Debug, Default)]
pub struct Readings(BTreeMap<AgentId, Reading>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    number: SessionNumber,
    pub sample: Option<(Sample, Time)>,
    pub model: Option<String>,
    pub tool_calls: u64,
    /// Tokens and money, as far as the transcript tells.
    pub figures: Option<Figures>,
}

impl Readings {
    /// What was measured of the agent's session of this number; another number begins anew.
    pub fn of(&mut self, agent: AgentId, number: SessionNumber) -> &mut Reading {
        let fresh = || Reading { number, sample: None, model: None, tool_calls: 0, figures: None };
        let reading = self.0.entry(agent).or_insert_with(fresh);
        if reading.number != number {
            // The conversation goes on, and its window with it; the calls are this session's.
            *reading = Reading { tool_calls: 0, number, ..reading.clone() };
        }
        reading
    }

    pub fn get(&self, agent: AgentId) -> Option<&Reading> {
        self.0.get(&agent)
    }
}

impl Reading {
    /// What the session is to be told now: that a threshold has passed, or how it stands.
    pub fn text_for(&self, agent: &Agent, calls_now: u32) -> Option<String> {
        let sample = self.sample.as_ref().map(|(sample, _)| sample);
        if let Some(threshold) = agent.clock.untold() {
            return Some(words::notice(threshold, sample));
        }
        let before = self.tool_calls - u64::from(calls_now);
        let every = u64::from(words::REMINDER_CALLS);
        (calls_now > 0 && before / every < self.tool_calls / every)
            .then(|| words::reminder(self.tool_calls, sample))
    }
}

//! The latest that was measured of each agent's session: context, model, tool calls.
//!
//! Begins with what an earlier run kept as samples. What matters for good is an event.

use std::collections::BTreeMap;

use perennial_core::agent::Agent;
use perennial_core::context::{Sample, Source};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::time::Time;
use perennial_engine::harness::words;
use perennial_engine::transcript::account::Figures;
use perennial_store::projection::{self, Usage};

#[derive(Debug, Default)]
pub struct Readings(BTreeMap<AgentId, Reading>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    number: SessionNumber,
    pub sample: Option<(Sample, Time)>,
    /// The best source that this session has had.
    best: Option<Source>,
    pub model: Option<String>,
    pub tool_calls: u64,
    pub used: Option<Used>,
    /// Compacted, and its model has not spoken since: figures that come now are of before.
    pub is_compacted: bool,
    /// When its turn began.
    pub turn_at: Option<Time>,
    /// It has begun and its input line is not drawn yet: what is typed now stays there unsent.
    pub is_deaf: bool,
}

/// Tokens and money, as far as the transcript tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    pub tokens: Usage,
    pub cost_microusd: Option<u64>,
}

impl From<Figures> for Used {
    fn from(figures: Figures) -> Used {
        let tokens = &figures.tokens;
        Used {
            tokens: Usage {
                input: tokens.input,
                output: tokens.output,
                cache_read: tokens.cache_read,
                cache_creation: tokens.cache_creation(),
                is_partial: figures.is_cost_partial(),
            },
            cost_microusd: Some(figures.cost.microdollars()),
        }
    }
}

impl Readings {
    /// What an earlier run kept, of the sessions that there are.
    pub fn begin(kept: &[projection::Sample], fleet: &Fleet) -> Readings {
        let reading = |kept: &projection::Sample| {
            let number = fleet.agent(kept.agent)?.session.as_ref()?.number;
            let sample = kept.context.map(|context| (context.sample, context.at));
            let cost_microusd = kept.cost_microusd;
            let used = kept.usage.map(|tokens| Used { tokens, cost_microusd });
            Some((kept.agent, Reading { sample, used, ..Reading::new(number) }))
        };
        Readings(kept.iter().filter_map(reading).collect())
    }

    /// What is to be kept of an agent that was last heard then.
    pub fn sample(&self, agent: AgentId, last_seen: Option<Time>) -> projection::Sample {
        let reading = self.get(agent);
        let used = reading.and_then(|reading| reading.used);
        let context = reading.and_then(|reading| reading.sample);
        projection::Sample {
            last_seen,
            context: context.map(|(sample, at)| projection::Context { sample, at }),
            usage: used.map(|used| used.tokens),
            cost_microusd: used.and_then(|used| used.cost_microusd),
            ..projection::Sample::of(agent)
        }
    }

    /// What was measured of the agent's session of this number; another number begins anew.
    pub fn of(&mut self, agent: AgentId, number: SessionNumber) -> &mut Reading {
        let reading = self.0.entry(agent).or_insert_with(|| Reading::new(number));
        if reading.number != number {
            // The conversation goes on, and its window with it; the rest is this session's.
            let Reading { sample, model, used, .. } = reading.clone();
            *reading = Reading { sample, model, used, ..Reading::new(number) };
        }
        reading
    }

    /// A window began then: what was measured before says nothing of it.
    pub fn begin_window(&mut self, agent: AgentId, at: Time) {
        if let Some(reading) = self.0.get_mut(&agent) {
            reading.sample.take_if(|(_, measured)| *measured <= at);
        }
    }

    pub fn get(&self, agent: AgentId) -> Option<&Reading> {
        self.0.get(&agent)
    }
}

impl Reading {
    fn new(number: SessionNumber) -> Reading {
        Reading {
            number,
            sample: None,
            best: None,
            model: None,
            tool_calls: 0,
            used: None,
            is_compacted: false,
            turn_at: None,
            is_deaf: false,
        }
    }

    /// Takes a sample in, unless this session has had a better source; whether it was taken.
    pub fn take(&mut self, sample: Sample, now: Time) -> bool {
        if self.best.is_some_and(|best| best < sample.source) {
            return false;
        }
        self.best = Some(sample.source);
        self.sample = Some((sample, now));
        true
    }

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

//! What agents have used, tokens and money, as far as their transcripts tell.
//!
//! Begins with what an earlier run kept as samples. Decides nothing.

use std::collections::BTreeMap;

use perennial_core::fleet::Fleet;
use perennial_core::hearing::Kept;
use perennial_core::id::AgentId;
use perennial_core::time::Time;
use perennial_engine::supervisor::Supervisor;
use perennial_engine::transcript::account::Figures;
use perennial_store::projection::{self, Usage};

#[derive(Debug, Default)]
pub struct Spending(BTreeMap<AgentId, Used>);

/// Over all conversations of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Used {
    pub tokens: Usage,
    pub cost_microusd: Option<u64>,
}

impl From<Figures> for Used {
    fn from(figures: Figures) -> Used {
        let tokens = &figures.tokens;
        // Without any price nothing is said of the cost, and only the tokens may be too few.
        let has_price = figures.messages == 0 || figures.messages > figures.unpriced_messages;
        let is_partial = if has_price { figures.is_cost_partial() } else { figures.is_partial() };
        Used {
            tokens: Usage {
                input: tokens.input,
                output: tokens.output,
                cache_read: tokens.cache_read,
                cache_write: tokens.cache_write(),
                is_partial,
            },
            cost_microusd: has_price.then(|| figures.cost.microdollars()),
        }
    }
}

impl Used {
    /// All tokens, of whatever price.
    pub fn total(&self) -> u64 {
        let Usage { input, output, cache_read, cache_write, is_partial: _ } = self.tokens;
        input + output + cache_read + cache_write
    }
}

impl Spending {
    pub fn begin(kept: &[projection::Latest]) -> Spending {
        let used = |kept: &projection::Latest| {
            let (tokens, cost_microusd) = (kept.usage?, kept.cost_microusd);
            Some((kept.agent, Used { tokens, cost_microusd }))
        };
        Spending(kept.iter().filter_map(used).collect())
    }

    /// The fleet, told what an earlier run counted.
    pub fn told(&self, mut fleet: Fleet) -> Fleet {
        self.0.iter().for_each(|(agent, used)| fleet.set_spent(*agent, used.total()));
        fleet
    }

    /// The agent has left memory; its sample has what it used.
    pub fn forget(&mut self, agent: AgentId) {
        self.0.remove(&agent);
    }

    pub fn of(&self, agent: AgentId) -> Option<Used> {
        self.0.get(&agent).copied()
    }

    /// Whether that is news.
    pub fn take(&mut self, agent: AgentId, used: Used) -> bool {
        self.0.insert(agent, used) != Some(used)
    }
}

/// What hearing goes on with after a restart.
pub fn kept(samples: &[projection::Latest]) -> BTreeMap<AgentId, Kept> {
    let kept = |sample: &projection::Latest| {
        let measured = sample.context.map(|context| (context.sample, context.at));
        (sample.agent, Kept { sample: measured, reminded: sample.reminded })
    };
    samples.iter().map(kept).collect()
}

/// What is to be kept of an agent that was last heard then.
pub fn sample(
    supervisor: &Supervisor,
    spending: &Spending,
    agent: AgentId,
    last_seen: Option<Time>,
) -> projection::Latest {
    let kept = supervisor.hearing(agent).map(|hearing| hearing.kept()).unwrap_or_default();
    let used = spending.of(agent);
    projection::Latest {
        last_seen,
        context: kept.sample.map(|(sample, at)| projection::Context { sample, at }),
        usage: used.map(|used| used.tokens),
        cost_microusd: used.and_then(|used| used.cost_microusd),
        reminded: kept.reminded,
        ..projection::Latest::of(agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_price_there_is_no_cost_and_the_tokens_are_whole() {
        let figures = |messages, unpriced_messages, damaged_lines| {
            let used = Used::from(Figures {
                messages,
                unpriced_messages,
                damaged_lines,
                ..Figures::default()
            });
            (used.cost_microusd, used.tokens.is_partial)
        };
        assert_eq!(figures(0, 0, 0), (Some(0), false));
        assert_eq!(figures(2, 0, 0), (Some(0), false));
        assert_eq!(figures(2, 1, 0), (Some(0), true), "the cost of one is missing");
        assert_eq!(figures(2, 2, 0), (None, false));
        assert_eq!(figures(2, 2, 1), (None, true), "a line may have held more tokens");
    }
}

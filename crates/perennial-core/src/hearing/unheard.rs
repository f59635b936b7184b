//! What hooks said while no daemon heard them, as the next one finds it (H26).

use crate::agent::Agent;
use crate::fact::Fact;

/// Those of the kept facts of the agent's live session that count, by their dates. What is not later than the
/// state that the record has was heard, or is out of date; but of a session of which nothing was heard yet, everything
/// is news.
pub fn unheard(agent: &Agent, facts: Vec<Fact>) -> Vec<Fact> {
    let is_first = agent.live_session().is_some_and(|session| !session.has_announced);
    let is_news = |fact: &Fact| is_first || fact.at.is_some_and(|at| at > agent.since);
    let mut news: Vec<Fact> = facts.into_iter().filter(is_news).map(Fact::kept).collect();
    news.sort_by_key(|fact| fact.at);
    news
}

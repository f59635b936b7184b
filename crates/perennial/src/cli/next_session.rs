//! Waits for an agent's next session after one has ended, if a retry is due.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use perennial_api::answer::Health;
use perennial_api::{Agent, Client, ClientError, client, state};

use super::context::Context;
use super::render::time::LocalTime;

/// What follows the end of a session.
#[derive(Debug)]
pub enum Then {
    /// A later session runs, or has run a moment ago.
    Running,
    /// No session follows, or not soon; the agent as it is now, if a daemon could tell.
    Over(Option<Box<Agent>>),
}

/// Waits for a session after `number`, if one starts within `patience`; calls `waiting` first.
pub fn next_session(
    agent: &str,
    number: u32,
    patience: Duration,
    context: &Context,
    waiting: impl Fn(&Agent),
) -> Then {
    look(agent, number, patience, &context.client, waiting)
}

/// The same, for one that has only a client.
pub fn look(
    agent: &str,
    number: u32,
    patience: Duration,
    client: &Client,
    waiting: impl Fn(&Agent),
) -> Then {
    try_look(agent, number, patience, client, waiting).unwrap_or(Then::Over(None))
}

fn try_look(
    target: &str,
    number: u32,
    patience: Duration,
    client: &Client,
    waiting: impl Fn(&Agent),
) -> Result<Then, ClientError> {
    let find = || client.get(&client::path(&["agents", target], &[]))?.read::<Agent>();
    let mut is_told = false;
    loop {
        // The place first, then the state: what happens in between is in the feed.
        let health: Health = client.get(&client::path(&["health"], &[]))?.read()?;
        let agent = find()?;
        if runs_after(&agent, number) {
            return Ok(Then::Running);
        }
        if !is_coming(&agent, patience, &LocalTime::system()) {
            return Ok(Then::Over(Some(Box::new(agent))));
        }
        if !is_told {
            waiting(&agent);
            is_told = true;
        }
        let path = client::path(&["events"], &[("agent", Some(&agent.id))]);
        let mut feed = client.follow(&path, Some(health.head_seq))?;
        // Any event of the agent is a reason to look again; without a daemon nothing comes.
        if !matches!(feed.next_message(), Ok(Some(_))) {
            return Ok(Then::Over(None));
        }
    }
}

/// Whether a later session runs: it may be idle already.
fn runs_after(agent: &Agent, number: u32) -> bool {
    let current = agent.session.as_ref().map_or(0, |session| session.number);
    current > u64::from(number) && matches!(agent.state.as_str(), state::WORKING | state::WAITING)
}

/// Whether a session comes by itself, soon enough.
pub fn is_coming(agent: &Agent, patience: Duration, clock: &LocalTime) -> bool {
    let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
    let within = |until: &str| {
        until.parse::<Timestamp>().is_ok_and(|until| until.duration_since(clock.now) <= patience)
    };
    match agent.state.as_str() {
        state::WAKING | state::HATCHING => true,
        // Its exit is known here before it is in the journal.
        state::WORKING | state::WAITING | state::UNKNOWN => true,
        state::CRASHED => agent.until.as_deref().is_some_and(within),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::roster::sample;
    use crate::cli::render::time::fixed;

    #[test]
    fn a_later_session_runs_also_when_it_waits() {
        let mut agent = sample::crashed();
        agent.session.get_or_insert_default().number = 3;
        for (state, runs) in [("working", true), ("waiting", true), ("waking", false)] {
            agent.state = state.to_owned();
            assert_eq!(runs_after(&agent, 2), runs, "{state}");
            assert!(!runs_after(&agent, 3), "{state}");
        }
    }

    #[test]
    fn a_retry_is_waited_for_only_if_it_is_near() {
        let crashed = sample::crashed();
        let minutes = |count: u64| Duration::from_secs(60 * count);
        assert!(is_coming(&crashed, minutes(5), &fixed()));
        assert!(!is_coming(&crashed, minutes(3), &fixed()));
        assert!(is_coming(&crashed, Duration::MAX, &fixed()));
        assert!(!is_coming(&sample::stopped(), minutes(60), &fixed()));
    }
}

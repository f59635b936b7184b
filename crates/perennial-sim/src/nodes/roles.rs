//! The property of roles on one journal (M6), by a rule of its own.

use std::collections::BTreeSet;

use perennial_core::agent::Agent;
use perennial_core::event::{Event, What};
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::role::RoleEvent;
use perennial_core::state::State;

use super::Broken;

/// The roles that are known to be vacant.
#[derive(Debug, Default)]
pub(super) struct Vacant(BTreeSet<String>);

impl Vacant {
    /// Holds one append against what it made of the fleet.
    pub fn check(
        &mut self,
        before: &Fleet,
        after: &Fleet,
        events: &[Event],
    ) -> Result<u64, Broken> {
        let mut announced: Vec<String> = events
            .iter()
            .filter_map(|event| match &event.what {
                What::Role(key, RoleEvent::Vacated(_)) => Some(key.to_string()),
                What::Role(
                    _,
                    RoleEvent::Taken { .. } | RoleEvent::Left { .. } | RoleEvent::Dismissed,
                )
                | What::Node(..)
                | What::Agent(..)
                | What::Name(..)
                | What::Conversation(..)
                | What::Message(..)
                | What::Post(..)
                | What::Job(..)
                | What::Signal(..)
                | What::Escalation(..)
                | What::Task(..) => None,
            })
            .collect();
        let mut expected = Vec::new();
        for (role, by) in changed(before, after) {
            let was_living = before.agent(by).is_some_and(is_living);
            let has_living =
                after.agents().any(|agent| is_living(agent) && role_of(agent) == Some(&*role));
            if !has_living && (was_living || !self.0.contains(&role)) {
                expected.push(role.clone());
            }
        }
        announced.sort_unstable();
        expected.sort_unstable();
        if announced != expected {
            return Err(format!("M6: vacant are {expected:?}, and {announced:?} was announced"));
        }
        for (role, by) in changed(after, before) {
            if after.agent(by).is_some_and(is_living) {
                self.0.remove(&role);
            }
        }
        self.0.extend(expected);
        Ok(announced.len() as u64)
    }
}

/// Who has a role in the first fleet and not in the second.
fn changed(first: &Fleet, second: &Fleet) -> Vec<(String, AgentId)> {
    let left = |agent: &Agent| {
        let role = role_of(agent)?;
        let now = second.agent(agent.id).and_then(role_of);
        (now != Some(role)).then(|| (role.to_owned(), agent.id))
    };
    first.agents().filter_map(left).collect()
}

/// Roles are written in small letters here.
fn role_of(agent: &Agent) -> Option<&str> {
    let is_buried = matches!(agent.state, State::Dead | State::Expired);
    agent.role.as_deref().filter(|_| !is_buried)
}

fn is_living(agent: &Agent) -> bool {
    match agent.state {
        State::Hatching
        | State::Waking
        | State::Working
        | State::Waiting
        | State::Unknown
        | State::HandingOff
        | State::Crashed => true,
        State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
            false
        }
    }
}

//! The clock's notices and reminders: when one is recorded, and when it is out of date. Changes nothing.

use super::observe::Happened;
use super::{Content, Message, MessageEvent, MessageState, Sender, Withdrawer};
use crate::agent::Agent;
use crate::context::{Sample, Threshold};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId, SessionNumber};
use crate::state::Roster;
use crate::time::Time;

/// The clock passed a threshold: a notice is recorded, and waiting notices of lower ones are
/// withdrawn.
pub fn noticed(
    fleet: &Fleet,
    agent: AgentId,
    threshold: Threshold,
    sample: Sample,
    now: Time,
) -> Vec<Happened> {
    let mut happened = outdated(fleet, agent);
    let content = Content::Notice { threshold, sample };
    let salt = now.0 ^ (threshold.percent() << 56);
    happened.push(recorded(fleet, agent, salt, content));
    happened
}

/// Waiting notices that are out of date: their window has ended, or the clock has passed a higher
/// threshold.
pub fn outdated(fleet: &Fleet, agent: AgentId) -> Vec<Happened> {
    let is_outdated = |message: &&Message| {
        let waits = matches!(message.state, MessageState::Waiting { .. });
        waits && matches!(message.content, Content::Notice { .. })
    };
    let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Outdated };
    let notices = fleet.messages().of(agent).filter(is_outdated);
    notices.map(|message| (message.id, withdrawn.clone())).collect()
}

/// The live session of an agent is to be told how its clock stands; what was to be told of that before
/// no longer is.
pub fn reminded(
    fleet: &Fleet,
    (agent, number): (AgentId, SessionNumber),
    calls: u64,
    sample: Option<Sample>,
    now: Time,
) -> Vec<Happened> {
    let known = fleet.agent(agent).filter(|known| known.state.roster() == Roster::Living);
    let live = known.and_then(Agent::live_session);
    if live.is_none_or(|live| live.number != number) {
        return Vec::new();
    }
    let mut happened = unreminded(fleet, agent);
    let content = Content::Reminder { calls, sample };
    happened.push(recorded(fleet, agent, now.0 ^ (calls << 48), content));
    happened
}

/// Waiting reminders that are out of date: their session has ended, or a later reminder is due.
pub fn unreminded(fleet: &Fleet, agent: AgentId) -> Vec<Happened> {
    let waits = |message: &&Message| matches!(message.state, MessageState::Waiting { .. });
    let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Outdated };
    let reminders = fleet.messages().of(agent).filter(waits).filter(|one| is_reminder(one));
    reminders.map(|message| (message.id, withdrawn.clone())).collect()
}

/// A reminder was read: those before it say less, wherever they are.
pub(super) fn reminders_before(fleet: &Fleet, agent: AgentId, newer: &Message) -> Vec<Happened> {
    let is_older = |one: &&Message| is_reminder(one) && reminder_age(one) < reminder_age(newer);
    let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Outdated };
    let older = fleet.messages().of(agent).filter(is_older);
    older.map(|message| (message.id, withdrawn.clone())).collect()
}

/// After how many tool calls the last reminder that is under way for an agent came.
pub fn last_reminder(fleet: &Fleet, agent: AgentId) -> u64 {
    let calls = |message: &Message| match message.content {
        Content::Reminder { calls, .. } => calls,
        Content::Typed { .. }
        | Content::Notice { .. }
        | Content::Mail(_)
        | Content::Round { .. }
        | Content::Handoff { .. } => 0,
    };
    fleet.messages().of(agent).map(calls).max().unwrap_or(0)
}

pub(super) fn is_reminder(message: &Message) -> bool {
    reminder_age(message).is_some()
}

/// Greater for the later reminder, also of those that are recorded in one moment.
pub(super) fn reminder_age(message: &Message) -> Option<(Time, u64)> {
    match message.content {
        Content::Reminder { calls, .. } => Some((message.recorded_at, calls)),
        Content::Typed { .. }
        | Content::Notice { .. }
        | Content::Mail(_)
        | Content::Round { .. }
        | Content::Handoff { .. } => None,
    }
}

/// A text of Perennial's own; its id follows from whom it is for and when, so that a replay agrees.
/// Two windows may pass the same threshold in one moment: each notice has an id of its own.
fn recorded(fleet: &Fleet, to: AgentId, salt: u64, content: Content) -> Happened {
    let id = |salt: u64| {
        let spread = u128::from(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        MessageId(to.0 ^ spread)
    };
    let mut salts = salt..;
    let is_free = |salt: &u64| fleet.messages().get(id(*salt)).is_none();
    let id = id(salts.find(is_free).unwrap_or(salt));
    (id, MessageEvent::Recorded { to: to.into(), from: Sender::Perennial, content })
}

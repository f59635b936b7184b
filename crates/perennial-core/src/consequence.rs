//! What follows at once from what happens to an agent, for everything else: decided there and then,
//! in the same batch, never by a listener later.

use crate::agent::Agent;
use crate::agents;
use crate::escalation;
use crate::event::{AgentEvent, Event, Move, What};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId, SessionNumber};
use crate::job;
use crate::message::{self, Content, Happened, Mailbox, MessageEvent, Withdrawer};
use crate::role;
use crate::round;
use crate::state::Roster;
use crate::task;
use crate::time::Time;

/// Whether anything may follow from this event.
pub fn has_any(fleet: &Fleet, event: &Event) -> bool {
    if let What::Message(
        _,
        MessageEvent::Offered { .. }
        | MessageEvent::Recorded { .. }
        | MessageEvent::Withdrawn { by: Withdrawer::Person },
    ) = &event.what
    {
        return true;
    }
    if let What::Message(id, what) = &event.what {
        return what.is_last() && fleet.escalations().of_mail(*id).is_some();
    }
    if let What::Job(_, job::JobEvent::Ended { .. }) = &event.what {
        return true;
    }
    let Some((id, event)) = event.of_agent() else { return false };
    match event {
        // A bare command has no conversation that its sessions could take or leave.
        AgentEvent::SessionWanted { .. }
        | AgentEvent::SessionFound { .. }
        | AgentEvent::SessionEnded { .. } => {
            !fleet.agent(id).is_some_and(|agent| agent.launch.is_bare())
        }
        AgentEvent::Hatched(_)
        | AgentEvent::Renamed { .. }
        | AgentEvent::RoleTaken { .. }
        | AgentEvent::RoleLeft { .. }
        | AgentEvent::ConversationFollowed { .. }
        | AgentEvent::WindowBegan { .. }
        | AgentEvent::Rehomed { .. }
        | AgentEvent::ClockPassed { .. } => true,
        AgentEvent::Moved(moved) => {
            moved.to.roster() == Roster::Cemetery
                || moved.reason.is_dialog()
                || fleet.jobs().waiting(id).next().is_some()
        }
        AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::SettingsChanged { .. }
        | AgentEvent::Snapshot(_)
        | AgentEvent::PutOff { .. } => false,
    }
}

/// What follows from `event`, which makes the agent `after`; `later` is the rest of its batch.
pub fn of(
    fleet: &Fleet,
    before: Option<&Agent>,
    after: &Agent,
    event: &Event,
    later: &[Event],
) -> Vec<What> {
    // Names and conversations that are taken or left.
    let mut follows = agents::claims(before, after);
    follows.extend(role::moved(fleet, before, after, event.at, later));
    let Some((id, what)) = event.of_agent() else { return follows };
    if let AgentEvent::Moved(moved) = what
        && before.is_none_or(|before| before.reason != moved.reason)
    {
        let outdated = job::outdated(fleet.jobs(), id, event.at);
        follows.extend(outdated.into_iter().map(|(id, ended)| What::Job(id, ended)));
    }
    let messages = match what {
        // Only the highest of several that pass at once is told.
        AgentEvent::ClockPassed { .. } if passes_another(id, later) => Vec::new(),
        AgentEvent::ClockPassed { threshold, sample, .. } => {
            message::noticed(fleet, id, *threshold, *sample, event.at)
        }
        AgentEvent::WindowBegan { .. } => message::outdated(fleet, id),
        AgentEvent::SessionEnded { .. } => session_ended(fleet, id),
        AgentEvent::Rehomed { .. } => message::home_copied(fleet, id, event.at),
        AgentEvent::ConversationFollowed { how, .. } if how.begins_a_window() => {
            message::outdated(fleet, id)
        }
        AgentEvent::Moved(moved) if moved.to.roster() == Roster::Cemetery => {
            burial(fleet, before.unwrap_or(after), event.at, &mut follows)
        }
        AgentEvent::Hatched(_) | AgentEvent::RoleTaken { .. } => {
            role_moved(fleet, before, after, None)
        }
        AgentEvent::RoleLeft { to, .. } => role_moved(fleet, before, after, *to),
        AgentEvent::Moved(moved) if moved.reason.is_dialog() => {
            follows.extend(notification(fleet, before, after, moved, event.at));
            Vec::new()
        }
        AgentEvent::Moved(_)
        | AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionWanted { .. }
        | AgentEvent::SessionFound { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::ConversationFollowed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::Renamed { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::SettingsChanged { .. }
        | AgentEvent::Snapshot(_)
        | AgentEvent::PutOff { .. } => Vec::new(),
    };
    follows.extend(messages.into_iter().map(|(id, event)| What::Message(id, event)));
    follows
}

/// The operator is notified of a dialog that was not there before.
fn notification(
    fleet: &Fleet,
    before: Option<&Agent>,
    after: &Agent,
    moved: &Move,
    at: Time,
) -> Option<What> {
    let policy = fleet.policy();
    let is_news = before.is_none_or(|before| before.reason != moved.reason);
    (is_news && !policy.notify.is_empty()).then(|| {
        let name = after.name.as_ref().map_or(after.id.to_string(), ToString::to_string);
        let (job, wanted) = job::notify(&policy.notify, after, name, moved.reason, at);
        What::Job(job, wanted)
    })
}

/// What follows from an event that is about no agent: a notice that is offered counts as told, the interval
/// of rounds counts anew, the operator is notified of mail, and the end of a check verifies a task or gives it back.
pub fn of_other(fleet: &Fleet, event: &Event) -> Vec<What> {
    if let What::Job(id, ended) = &event.what {
        return task::check_ended(fleet, *id, ended, event.at);
    }
    of_message(fleet, event).into_iter().collect()
}

fn of_message(fleet: &Fleet, event: &Event) -> Option<What> {
    match &event.what {
        What::Message(id, MessageEvent::Offered { session, .. }) => {
            told(fleet, *id, *session).or_else(|| round::passed(fleet, *id))
        }
        What::Message(id, what @ MessageEvent::Withdrawn { by: Withdrawer::Person }) => {
            round::passed(fleet, *id).or_else(|| escalation::mail_over(fleet, *id, what))
        }
        What::Message(id, MessageEvent::Recorded { to: Mailbox::Operator, from, content }) => {
            let notified = job::notify_mail(fleet, (*id, *from), content);
            notified.map(|(job, wanted)| What::Job(job, wanted))
        }
        What::Message(id, what) => escalation::mail_over(fleet, *id, what),
        What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Post(..)
        | What::Job(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => None,
    }
}

/// Whether what follows is about a text that has ended in the same batch, or is a notification's end again: two
/// events of a batch may each end the same one.
pub fn is_over(batch: &[Event], follows: &Event) -> bool {
    match &follows.what {
        What::Message(id, _) => batch.iter().any(|event| match &event.what {
            What::Message(other, what) => other == id && what.is_last(),
            What::Node(..)
            | What::Agent(..)
            | What::Name(..)
            | What::Conversation(..)
            | What::Post(..)
            | What::Job(..)
            | What::Role(..)
            | What::Signal(..)
            | What::Escalation(..)
            | What::Task(..) => false,
        }),
        What::Job(..) | What::Escalation(..) => batch.contains(follows),
        What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Post(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Task(..) => false,
    }
}

/// What becomes of a buried agent's tasks and messages; the operator is told of what comes back to them.
fn burial(fleet: &Fleet, before: &Agent, at: Time, follows: &mut Vec<What>) -> Vec<Happened> {
    follows.extend(task::buried(fleet, before, at));
    let left = message::buried(fleet, before);
    let notified = job::notify_returned(fleet, before, &left);
    follows.extend(notified.map(|(id, wanted)| What::Job(id, wanted)));
    left
}

/// What was to be told to the session that ended, and to no other.
fn session_ended(fleet: &Fleet, id: AgentId) -> Vec<(MessageId, MessageEvent)> {
    [message::unreminded(fleet, id), round::outdated(fleet, id)].concat()
}

/// What follows for texts when an agent takes a role, or leaves one to somebody or to nobody.
fn role_moved(
    fleet: &Fleet,
    before: Option<&Agent>,
    after: &Agent,
    to: Option<AgentId>,
) -> Vec<(MessageId, MessageEvent)> {
    let mail = message::role_changed(fleet, before, after, to);
    [mail, round::outdated(fleet, after.id)].concat()
}

fn told(fleet: &Fleet, id: MessageId, number: SessionNumber) -> Option<What> {
    let message = fleet.messages().get(id)?;
    let Content::Notice { threshold, .. } = message.content else { return None };
    let agent = message.to.agent()?;
    let clock = fleet.agent(agent)?.clock;
    let is_news = clock.told < Some(threshold) && clock.passed >= Some(threshold);
    is_news.then_some(What::Agent(agent, AgentEvent::ClockTold { number, threshold }))
}

fn passes_another(agent: AgentId, later: &[Event]) -> bool {
    let passes = |event: &Event| match event.of_agent() {
        Some((id, AgentEvent::ClockPassed { .. })) => id == agent,
        Some(_) | None => false,
    };
    later.iter().any(passes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Move;
    use crate::fleet::Policy;
    use crate::reason::Reason;
    use crate::state::{Cause, State};

    /// A dialog that is recorded again, with another time for instance, is the same dialog.
    #[test]
    fn the_operator_is_told_of_a_dialog_that_was_not_there_before() {
        let fleet =
            Fleet::default().under(Policy { notify: vec!["say".to_owned()], ..Policy::default() });
        let at = Time(7);
        let mut before = Agent::unborn(AgentId(1), at);
        before.state = State::Waiting;
        for (known, told) in [(Reason::NeedsAnswer, 1), (Reason::NeedsPermission, 0)] {
            before.reason = known;
            let moved = Move {
                cause: Cause::TurnEnded,
                to: State::Waiting,
                reason: Reason::NeedsPermission,
                evidence: before.evidence.clone(),
                until: None,
            };
            let event = Event { at, what: What::Agent(before.id, AgentEvent::Moved(moved)) };
            let follows = of(&fleet, Some(&before), &before, &event, &[]);
            let jobs = follows.iter().filter(|what| matches!(what, What::Job(..))).count();
            assert_eq!(jobs, told, "{known:?}");
        }
    }

    /// However fast an agent asks and goes on: one notification about it runs, and at most one waits.
    #[test]
    fn a_notification_that_waits_ends_when_the_agent_goes_on() {
        let id = AgentId(1);
        let mut fleet =
            Fleet::default().under(Policy { notify: vec!["say".to_owned()], ..Policy::default() });
        let mut agent = Agent::unborn(id, Time(0));
        for round in 1..100 {
            let reason = match round % 2 {
                0 => Reason::InTurn,
                _ => Reason::NeedsPermission,
            };
            let moved = Move {
                cause: Cause::TurnEnded,
                to: State::Waiting,
                reason,
                evidence: agent.evidence.clone(),
                until: None,
            };
            let event = Event { at: Time(round), what: What::Agent(id, AgentEvent::Moved(moved)) };
            assert!(reason.is_dialog() || round == 2 || has_any(&fleet, &event), "{round}");
            for what in of(&fleet, Some(&agent), &agent, &event, &[]) {
                fleet.evolve(&Event { at: event.at, what });
            }
            agent.reason = reason;
            let open = fleet.jobs().iter().filter(|job| !job.is_over()).count();
            assert!(open <= 2, "{open} in round {round}");
        }
        assert!(fleet.jobs().iter().any(|job| !job.is_over()));
    }
}

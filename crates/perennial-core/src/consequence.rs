//! What follows at once from what happens to an agent, for everything else: decided there and then,
//! in the same batch, never by a listener later.

use crate::agent::Agent;
use crate::agents;
use crate::authority::Caller;
use crate::checkpoint;
use crate::escalation::{self, EscalationEvent};
use crate::event::{AgentEvent, Event, Move, What};
use crate::fleet::Fleet;
use crate::handoff;
use crate::id::{AgentId, MessageId, SessionNumber};
use crate::job;
use crate::message::{self, Content, Happened, MailKind, Mailbox, MessageEvent, Withdrawer};
use crate::reason::Witness;
use crate::rest;
use crate::role::{self, CycleUnit, Interesting};
use crate::round;
use crate::snapshot::{self, SnapshotEvent};
use crate::state::{Cause, Roster, State};
use crate::task::{self, TaskEvent, Verifier};
use crate::time::Time;

/// Whether anything may follow from this event.
pub fn has_any(fleet: &Fleet, event: &Event) -> bool {
    match &event.what {
        What::Message(
            _,
            MessageEvent::Offered { .. }
            | MessageEvent::Recorded { .. }
            | MessageEvent::Seen { .. }
            | MessageEvent::Read { .. }
            | MessageEvent::Withdrawn { by: Withdrawer::Person },
        ) => return true,
        What::Message(id, what) => {
            return what.is_last() && fleet.escalations().of_mail(*id).is_some();
        }
        What::Job(_, job::JobEvent::Ended { .. })
        | What::Task(_, TaskEvent::Verified { .. })
        | What::Escalation(_, EscalationEvent::Opened { .. }) => return true,
        What::Agent(..)
        | What::Node(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Post(..)
        | What::Job(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => {}
    }
    event.of_agent().is_some_and(|(id, event)| has_any_of_agent(fleet, id, event))
}

fn has_any_of_agent(fleet: &Fleet, id: AgentId, event: &AgentEvent) -> bool {
    match event {
        // A bare command has no conversation that its sessions could take or leave.
        AgentEvent::SessionRunning { .. } if fleet.tasks().current(id).is_some() => true,
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
        | AgentEvent::Handoff(_)
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::Work(_)
        | AgentEvent::ClockPassed { .. } => true,
        AgentEvent::Moved(moved) => {
            moved.to.roster() == Roster::Cemetery
                || moved.reason.is_dialog()
                || before_handoff(fleet, id)
                || by_another(id, moved).is_some()
                || fleet.jobs().waiting(id).next().is_some()
        }
        AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionRunning { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::Rest(_)
        | AgentEvent::SettingsChanged { .. }
        | AgentEvent::PutOff { .. } => false,
        AgentEvent::Checkpoint(_) => before_handoff(fleet, id) || awaits_storing(fleet, id),
        AgentEvent::Snapshot(event) => {
            matches!(**event, SnapshotEvent::Taken(_)) || awaits_storing(fleet, id)
        }
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
    if let AgentEvent::Moved(moved) = what {
        follows.extend(of_move(fleet, before, id, moved, event.at));
    }
    follows.extend(of_work(fleet, before, after, event, later));
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
        AgentEvent::SessionRunning { number, .. } => {
            follows.extend(task::continued(fleet, after, *number));
            Vec::new()
        }
        AgentEvent::Moved(_)
        | AgentEvent::Held(_)
        | AgentEvent::HoldLifted { .. }
        | AgentEvent::SessionFound { .. }
        | AgentEvent::SessionWanted { .. }
        | AgentEvent::SessionStarting { .. }
        | AgentEvent::SessionEnding { .. }
        | AgentEvent::SessionProgressed { .. }
        | AgentEvent::ConversationFollowed { .. }
        | AgentEvent::ClockTold { .. }
        | AgentEvent::PhaseReported { .. }
        | AgentEvent::Work(_)
        | AgentEvent::RoundPassed { .. }
        | AgentEvent::Renamed { .. }
        | AgentEvent::Summarised { .. }
        | AgentEvent::LegacyLeft { .. }
        | AgentEvent::BurialAsked { .. }
        | AgentEvent::Rest(_)
        | AgentEvent::SettingsChanged { .. }
        | AgentEvent::Snapshot(_)
        | AgentEvent::Handoff(_)
        | AgentEvent::Checkpoint(_)
        | AgentEvent::PutOff { .. } => Vec::new(),
    };
    follows.extend(messages.into_iter().map(|(id, event)| What::Message(id, event)));
    follows
}

/// What follows for handoffs, checkpoints, snapshots and tasks.
fn of_work(
    fleet: &Fleet,
    before: Option<&Agent>,
    after: &Agent,
    event: &Event,
    later: &[Event],
) -> Vec<What> {
    let Some((id, what)) = event.of_agent() else { return Vec::new() };
    let mut follows =
        Vec::from_iter(handoff::follow(fleet, before, after, what, (event.at, later)));
    follows.extend(checkpoint::wish(before, after, event, later));
    follows.extend(snapshot::follow(fleet, after, what).map(|what| What::Agent(id, what)));
    // Only a new window takes back what has passed.
    if after.clock.passed.is_none() {
        follows.extend(task::window_began(fleet, before, after, event.at));
    }
    follows
}

/// What follows from a move, wherever it leads: whoever ordered it has done something, and notifications about what the
/// agent was before are outdated.
fn of_move(
    fleet: &Fleet,
    before: Option<&Agent>,
    id: AgentId,
    moved: &Move,
    at: Time,
) -> Vec<What> {
    let mut follows = Vec::new();
    if let Some(by) = by_another(id, moved) {
        follows.extend(handoff::interesting(fleet, by, Interesting::Remediation, at));
    }
    if before.is_none_or(|before| before.reason != moved.reason) {
        let outdated = job::outdated(fleet.jobs(), id, at);
        follows.extend(outdated.into_iter().map(|(id, ended)| What::Job(id, ended)));
    }
    follows
}

fn before_handoff(fleet: &Fleet, id: AgentId) -> bool {
    fleet.agent(id).is_some_and(|agent| agent.state == State::HandingOff)
}

/// Whether it is recorded of its last handoff that its work is stored, once it is.
fn awaits_storing(fleet: &Fleet, id: AgentId) -> bool {
    fleet.agent(id).is_some_and(|agent| agent.handoff_to_complete().is_some())
}

/// Another agent by whose word this one was stopped, woken, restarted or handed off.
fn by_another(id: AgentId, moved: &Move) -> Option<AgentId> {
    let is_order =
        matches!(moved.cause, Cause::Stop | Cause::Wake | Cause::Restarted | Cause::HandoffAsked);
    match moved.evidence.witness {
        Witness::Agent(by) if by != id && is_order => Some(by),
        Witness::Agent(_)
        | Witness::Kernel
        | Witness::Holder
        | Witness::Lead(_)
        | Witness::Harness
        | Witness::Operator
        | Witness::Daemon => None,
    }
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
/// of rounds counts anew, the operator is notified of mail, the end of a check verifies a task or gives it back, and what a
/// role counts is counted.
pub fn of_other(fleet: &Fleet, event: &Event) -> Vec<What> {
    match &event.what {
        What::Job(id, ended) => {
            let mut follows = task::check_ended(fleet, *id, ended, event.at);
            let counted: Vec<What> =
                follows.iter().flat_map(|what| assigned(fleet, what)).collect();
            follows.extend(counted);
            follows
        }
        What::Message(id, what) => of_message(fleet, *id, what, event.at),
        What::Task(..) => assigned(fleet, &event.what),
        What::Escalation(_, EscalationEvent::Opened { matter, .. }) => {
            let raised = Interesting::Escalation;
            let by = matter.by.agent();
            by.map(|by| handoff::interesting(fleet, by, raised, event.at)).unwrap_or_default()
        }
        What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Post(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Escalation(..) => Vec::new(),
    }
}

/// A verified task is an assignment that is done. One whose parts were verified was counted by them.
fn assigned(fleet: &Fleet, what: &What) -> Vec<What> {
    match what {
        What::Task(_, TaskEvent::Verified { by: Verifier::Parts, .. }) => Vec::new(),
        What::Task(_, TaskEvent::Verified { agent: Some(agent), .. }) => {
            handoff::unit_done(fleet, *agent, CycleUnit::Assignment)
        }
        What::Task(..)
        | What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..)
        | What::Job(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Escalation(..) => Vec::new(),
    }
}

fn of_message(fleet: &Fleet, id: MessageId, what: &MessageEvent, at: Time) -> Vec<What> {
    match what {
        MessageEvent::Offered { session, .. } => {
            let told = told(fleet, id, *session).or_else(|| round::passed(fleet, id));
            told.into_iter().chain(round_given(fleet, id)).collect()
        }
        MessageEvent::Withdrawn { by: Withdrawer::Person } => {
            let passed = round::passed(fleet, id);
            passed.or_else(|| escalation::mail_over(fleet, id, what)).into_iter().collect()
        }
        MessageEvent::Recorded { to: Mailbox::Operator, from, content } => {
            let notified = job::notify_mail(fleet, (id, *from), content);
            notified.map(|(job, wanted)| What::Job(job, wanted)).into_iter().collect()
        }
        MessageEvent::Seen { .. } | MessageEvent::Read { .. } => {
            let over = escalation::mail_over(fleet, id, what);
            let handoff = handoff::told(fleet, id);
            over.into_iter().chain(handoff).chain(handled(fleet, id, at)).collect()
        }
        MessageEvent::Recorded { to: Mailbox::Agent(_), .. } => {
            rest::recorded(fleet, what).into_iter().collect()
        }
        MessageEvent::Recorded { .. }
        | MessageEvent::Entered { .. }
        | MessageEvent::Held { .. }
        | MessageEvent::Heard { .. }
        | MessageEvent::Blocked { .. }
        | MessageEvent::Withdrawn { by: Withdrawer::Outdated }
        | MessageEvent::Returned
        | MessageEvent::Forwarded { .. } => {
            escalation::mail_over(fleet, id, what).into_iter().collect()
        }
    }
}

/// A round that is given to its agent for the first time is a unit of its role.
fn round_given(fleet: &Fleet, id: MessageId) -> Vec<What> {
    let round = fleet.messages().get(id).filter(|it| it.is_round() && it.attempts == 0);
    let agent = round.and_then(|round| round.to.agent());
    agent.map(|agent| handoff::unit_done(fleet, agent, CycleUnit::Round)).unwrap_or_default()
}

/// What it means for its reader's role that a mail was read.
fn handled(fleet: &Fleet, id: MessageId, at: Time) -> Vec<What> {
    let message = fleet.messages().get(id);
    let Some((message, mail)) = message.and_then(|it| Some((it, it.mail()?))) else {
        return Vec::new();
    };
    let Some(reader) = message.to.agent() else { return Vec::new() };
    let is_lifecycle = matches!(mail.kind, MailKind::OfHandoff { agent } if agent != reader);
    let is_escalation = fleet.escalations().of_mail(id).is_some();
    let about = match mail.kind {
        MailKind::OfHandoff { agent } => Some(agent),
        MailKind::Letter | MailKind::Returned { .. } | MailKind::OfTask { .. } => {
            message.from.agent()
        }
    };
    let is_overseen = about.is_some_and(|it| fleet.oversees(Caller::Agent(reader), it));
    let listed =
        [(is_lifecycle, Interesting::LifecycleRequest), (is_escalation, Interesting::Escalation)];
    let listed = listed.into_iter().filter(|(happened, _)| *happened);
    let mut listed = listed.map(|(_, what)| handoff::interesting(fleet, reader, what, at));
    let mut follows = listed.find(|follows| !follows.is_empty()).unwrap_or_default();
    if is_overseen {
        follows.extend(handoff::unit_done(fleet, reader, CycleUnit::Interaction));
    }
    follows
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
mod tests;

//! When a handoff is due without anybody asking for it: by the window's share, by units of work, by events that use up a
//! session's budget, by symptoms. Changes nothing.
//!
//! HA6: the terms of a declared role have to say so. HA8: what is due is asked for at the next boundary.

use super::verb::{self, Ask};
use super::{CHURN_WITHIN, DueHandoff, HandoffCause, HandoffEvent, letters};
use crate::agent::{Agent, Becoming};
use crate::context::Sample;
use crate::event::{AgentEvent, Event, What};
use crate::fleet::Fleet;
use crate::id::{AgentId, SessionNumber};
use crate::keeping;
use crate::reason::{Evidence, Finding, Reason, Witness};
use crate::role::{Cycle, CycleUnit, HANDOFF_AT, Interesting, LARGE_TURN_PERCENT};
use crate::snapshot::SnapshotCause;
use crate::state::State;
use crate::succession::Afresh;
use crate::symptom::{self, Symptom, Urgency};
use crate::time::Time;

/// The window was measured: its share may be used up.
pub(crate) fn measured(next: &mut Becoming<'_>, number: SessionNumber, sample: &Sample) {
    let agent = next.agent();
    let at = agent.role_terms.hands_off_at().unwrap_or(u64::from(HANDOFF_AT));
    let percent = sample.usable_percent();
    if agent.clock.is_up || percent < at || agent.launch.is_bare() {
        return;
    }
    let subject = format!("{percent} % of the usable context window is used");
    by_window(next, number, HandoffCause::Clock, subject);
}

/// A turn used up as much of the window as a whole assignment does.
pub(crate) fn large_turn(next: &mut Becoming<'_>, number: SessionNumber, percent: u64) {
    let agent = next.agent();
    let is_cycled = agent.role_terms.cycled_by().is_some() && agent.handoff.due.is_none();
    if is_cycled && percent >= LARGE_TURN_PERCENT {
        let subject = format!("one turn used {percent} % of the context window");
        by_window(next, number, HandoffCause::Interesting, subject);
    }
}

/// A symptom of a window that is running out. Words that say no more than was told of in this window are no news. Before a
/// compaction the work is kept (0057).
pub(crate) fn showed(
    next: &mut Becoming<'_>,
    number: SessionNumber,
    symptom: Symptom,
    sample: Option<&Sample>,
) {
    let now = next.now();
    let agent = next.agent();
    let before = agent.handoff.compactions;
    let urgency = symptom::urgency(symptom, sample, before);
    let is_again = agent.handoff.warned >= Some(urgency);
    let has_given_up = agent.succession.afresh == Some(Afresh::Thrash);
    if symptom.is_words() && is_again || symptom == Symptom::Thrash && has_given_up {
        return;
    }
    next.emit(HandoffEvent::Symptom { number, symptom, urgency, is_again }.of_agent());
    if symptom == Symptom::Compaction {
        let wish = keeping::want(next.agent(), SnapshotCause::Checkpoint, now);
        wish.into_iter().for_each(|wish| next.emit(wish));
    }
    let agent = next.agent();
    let is_known = match agent.role_terms.hands_off_at() {
        // What is due by the clock is no longer, once the window is another one.
        Some(_) => agent.handoff.due.as_ref().is_some_and(|due| due.cause != HandoffCause::Clock),
        None => agent.clock.is_up && symptom != Symptom::Thrash,
    };
    if urgency == Urgency::High && !is_again && !is_known && !agent.launch.is_bare() {
        by_window(next, number, HandoffCause::Symptom, subject(symptom, before));
    }
}

/// What is said of a symptom that makes a handoff due, after this number of compactions.
fn subject(symptom: Symptom, before: u32) -> String {
    match symptom.is_compaction() {
        true => format!("its conversation was compacted {} times in one session", before + 1),
        false => symptom.description().to_owned(),
    }
}

/// HA6, HA9: due by what its window shows, or told to the operator.
fn by_window(next: &mut Becoming<'_>, number: SessionNumber, cause: HandoffCause, subject: String) {
    let now = next.now();
    let follows = due_or_told(next.agent(), (number, cause), subject, now);
    follows.into_iter().for_each(|event| next.emit(event.of_agent()));
}

/// Of a session that hands off already, and of what the operator was told in this session (HA9), it is no news.
fn due_or_told(
    agent: &Agent,
    (number, cause): (SessionNumber, HandoffCause),
    subject: String,
    now: Time,
) -> Option<HandoffEvent> {
    let is_by_role = agent.role_terms.hands_off_at().is_some();
    let put_off = agent.put_off_until(now).map(|_| &agent.handoff);
    let is_told = put_off.is_some_and(|known| known.put_off.contains(&cause));
    let is_known = is_told && (!is_by_role || agent.handoff.later.is_some());
    // What a window before this one put off may be over with it; the operator is not told twice.
    let event = match is_by_role && (put_off.is_none() || is_told) {
        true => HandoffEvent::Due { number, cause, subject },
        false => HandoffEvent::OperatorTold { number, cause, subject },
    };
    (agent.state != State::HandingOff && !is_known).then_some(event)
}

impl Agent {
    /// HA9: until when a handoff for the window's sake is put off.
    fn put_off_until(&self, now: Time) -> Option<Time> {
        let by_rule = self.taken_over_by().filter(|last| last.cause.is_of_window());
        let until = by_rule.map(|last| last.asked_at + CHURN_WITHIN);
        until.filter(|until| now < *until)
    }
}

/// Folds that a handoff is due, now or when the time of HA9 is over.
pub(super) fn evolve_by_due(agent: &mut Agent, what: (HandoffCause, &str), at: Time) {
    match agent.put_off_until(at).filter(|_| what.0.is_of_window()) {
        Some(since) => come_due_at(&mut agent.handoff.later, what, since),
        None => come_due_at(&mut agent.handoff.due, what, at),
    }
}

/// The first cause stands; but what the clock says ends with its window, and a symptom does not.
fn come_due_at(due: &mut Option<DueHandoff>, (cause, subject): (HandoffCause, &str), since: Time) {
    let is_lasting = cause == HandoffCause::Symptom;
    due.take_if(|due| is_lasting && due.cause == HandoffCause::Clock);
    due.get_or_insert_with(|| DueHandoff { cause, subject: subject.to_owned(), since });
}

/// An agent did something that its role may count. With the last unit of a session, a handoff is due.
pub(crate) fn unit_done(fleet: &Fleet, id: AgentId, unit: CycleUnit) -> Vec<What> {
    let Some(agent) = fleet.agent(id) else { return Vec::new() };
    let rule = agent.role_terms.cycled_by().filter(|cycle| cycle.unit == unit);
    let Some((rule, number)) = rule.zip(agent.has_session_to_hand_off()) else { return Vec::new() };
    let done = agent.handoff.units.saturating_add(1);
    let of = |event: HandoffEvent| What::Agent(id, event.of_agent());
    let mut follows = vec![of(HandoffEvent::UnitDone { unit })];
    if rule.after.is_some_and(|after| done >= after) && agent.handoff.due.is_none() {
        let plural = if done == 1 { "" } else { "s" };
        let subject = format!("{done} {}{plural} done in this session", unit.word());
        follows.push(of(HandoffEvent::Due { number, cause: HandoffCause::Units, subject }));
    }
    follows
}

/// An event that its role lists happened to an agent.
pub(crate) fn interesting(fleet: &Fleet, id: AgentId, what: Interesting, at: Time) -> Vec<What> {
    let is_listed = |cycle: &&Cycle| cycle.interesting.contains(&what);
    let is_news = |agent: &&Agent| {
        agent.role_terms.cycled_by().filter(is_listed).is_some() && agent.handoff.due.is_none()
    };
    let agent = fleet.agent(id).filter(is_news);
    let session = agent.and_then(Agent::has_session_to_hand_off);
    let Some((agent, number)) = agent.zip(session) else { return Vec::new() };
    let (cause, subject) = (HandoffCause::Interesting, format!("event: {}", what.word()));
    let Some(event) = due_or_told(agent, (number, cause), subject, at) else { return Vec::new() };
    // What follows from an event that follows itself has to be said with it.
    let letter = letters::to_operator(fleet, agent, &event, at);
    [What::Agent(id, event.of_agent())].into_iter().chain(letter).collect()
}

/// HA8: when an agent is asked for the handoff that is due, or was put off; none while it is not at a boundary.
pub fn due_at(fleet: &Fleet, agent: &Agent) -> Option<Time> {
    next_due(fleet, agent).map(|(at, _)| at)
}

fn next_due<'a>(fleet: &Fleet, agent: &'a Agent) -> Option<(Time, &'a DueHandoff)> {
    let both = agent.handoff.due.iter().chain(&agent.handoff.later);
    let at = |due: &'a DueHandoff| Some((asked_at(fleet, agent, due)?, due));
    both.filter_map(at).min_by_key(|(at, _)| *at)
}

fn asked_at(fleet: &Fleet, agent: &Agent, due: &DueHandoff) -> Option<Time> {
    // A turn that was given up because compactions don't help will never end better.
    let has_given_up =
        agent.reason == Reason::ServiceFailed && agent.succession.afresh == Some(Afresh::Thrash);
    let has_ended = agent.reason == Reason::Idle || has_given_up;
    let is_idle = agent.state == State::Waiting && has_ended;
    let is_free = agent.hold.is_none() && agent.burial.is_none();
    // Whose last task is done rests, or dies: that is no cycle.
    let counts_tasks = due.cause == HandoffCause::Units
        && agent.role_terms.cycled_by().is_some_and(|it| it.unit == CycleUnit::Assignment);
    let has_work = !counts_tasks || fleet.tasks().of(agent.id).next().is_some();
    // A round counts when it is given, and is to be gone first.
    let walks = fleet.messages().round(agent.id).is_some_and(|round| round.attempts > 0);
    let can_be =
        is_idle && !walks && is_free && has_work && agent.has_session_to_hand_off().is_some();
    can_be.then_some(due.since.max(agent.since))
}

/// The time came.
pub fn due(fleet: &Fleet, id: AgentId, now: Time) -> Vec<Event> {
    let Some(agent) = fleet.agent(id) else { return Vec::new() };
    let Some((_, due)) = next_due(fleet, agent).filter(|(at, _)| *at <= now) else {
        return Vec::new();
    };
    let ask = Ask {
        cause: due.cause,
        subject: due.subject.clone(),
        notes: None,
        within: verb::deadline(fleet, None),
        overseer: verb::overseer(fleet, agent),
        evidence: Evidence { witness: Witness::Daemon, fact: Finding::TimeCame, at: now },
    };
    let event = |event: AgentEvent| Event { at: now, what: What::Agent(id, event) };
    verb::asked(agent, ask, now).into_iter().map(event).collect()
}

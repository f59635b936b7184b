//! What a handoff says to others, in the batch of what happens: to the session that is asked, to the overseer, to the
//! operator, and to the successor. Changes nothing.
//!
//! Subject and notes are somebody's words: bounded, and quoted wherever they are told.

use super::{CHURN_WITHIN, Handoff, HandoffCause, HandoffEvent};
use crate::agent::Agent;
use crate::checkpoint::{CheckpointCause, CheckpointEvent};
use crate::event::{AgentEvent, Event, What};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId, SessionNumber};
use crate::message::{
    Content, Mail, MailKind, Mailbox, Message, MessageEvent, MessageState, Priority, Sender,
    Withdrawer,
};
use crate::reason::Witness;
use crate::state::{Roster, State};
use crate::text::{self, Digest, Text};
use crate::time::Time;

/// As long as a letter of ours may be.
pub(crate) const LETTER_BYTES_MAX: usize = 2600;

/// As much of a subject as stands in a subject of ours.
const QUOTED_SUBJECT_BYTES_MAX: usize = super::SUBJECT_BYTES_MAX - "handoff: “”".len();

/// What a session is asked, as it is put into words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffRequest {
    pub message: MessageId,
    pub cause: HandoffCause,
    pub by: Witness,
    pub subject: String,
    pub notes: Option<String>,
    pub deadline: Time,
    pub asked_at: Time,
}

/// What follows from an event that makes an agent `after`.
pub fn follow(
    fleet: &Fleet,
    before: Option<&Agent>,
    after: &Agent,
    event: &AgentEvent,
    (at, later): (Time, &[Event]),
) -> Vec<What> {
    let completed = || super::completed(after).map(|event| What::Agent(after.id, event));
    if let AgentEvent::Checkpoint(event) = event {
        let CheckpointEvent::Taken(taken) = &**event;
        let is_own = taken.why == CheckpointCause::AskedByAgent;
        // One that was under way before the request reached the session says nothing of it.
        let is_asked = request_in_wait(fleet, after.id).is_none();
        let saved = super::saved(after).filter(|_| is_own && is_asked);
        let saved = saved.map(|saved| What::Agent(after.id, saved));
        return saved.into_iter().chain(completed()).collect();
    }
    if let AgentEvent::Snapshot(_) = event {
        return completed().filter(|_| !has_checkpoint(after.id, later)).into_iter().collect();
    }
    let AgentEvent::Handoff(event) = event else {
        let was = before.filter(|before| before.state == State::HandingOff);
        let is_left = was.filter(|_| after.state != State::HandingOff);
        let left = is_left.map(|before| left(fleet, before, after, at)).unwrap_or_default();
        return left.into_iter().chain(is_left.and_then(|_| completed())).collect();
    };
    match &**event {
        HandoffEvent::Asked(asked) => {
            let mut follows = Vec::new();
            if asked.cause != HandoffCause::Agent {
                follows.push(request(after.id, asked.number, at));
            }
            follows.extend(asked.overseer.map(|overseer| lifecycle(after, overseer, at)));
            follows
        }
        HandoffEvent::OperatorTold { .. } => {
            to_operator(fleet, after, event, at).into_iter().collect()
        }
        HandoffEvent::Due { .. }
        | HandoffEvent::UnitDone { .. }
        | HandoffEvent::Told { .. }
        | HandoffEvent::Turned { .. }
        | HandoffEvent::Answered { .. }
        | HandoffEvent::Completed { .. }
        | HandoffEvent::Symptom { .. } => Vec::new(),
    }
}

/// The letter to the operator, where an event is that they are told. Two windows may end in one moment: one letter is enough.
pub(super) fn to_operator(
    fleet: &Fleet,
    agent: &Agent,
    event: &HandoffEvent,
    at: Time,
) -> Option<What> {
    let is_written = fleet.messages().get(id(agent.id, at, 2)).is_some();
    match event {
        HandoffEvent::OperatorTold { subject, .. } if !is_written => {
            Some(for_operator(agent, subject, at))
        }
        HandoffEvent::OperatorTold { .. }
        | HandoffEvent::Due { .. }
        | HandoffEvent::UnitDone { .. }
        | HandoffEvent::Asked(_)
        | HandoffEvent::Told { .. }
        | HandoffEvent::Turned { .. }
        | HandoffEvent::Answered { .. }
        | HandoffEvent::Completed { .. }
        | HandoffEvent::Symptom { .. } => None,
    }
}

/// Whether a checkpoint is recorded with what happens: then the handoff is complete with that.
fn has_checkpoint(id: AgentId, later: &[Event]) -> bool {
    let mut later = later.iter().filter_map(Event::of_agent);
    later.any(|(other, event)| other == id && matches!(event, AgentEvent::Checkpoint(_)))
}

/// The request to an agent's session that was not given to it yet.
fn request_in_wait(fleet: &Fleet, id: AgentId) -> Option<&Message> {
    let waits = |it: &&Message| matches!(it.state, MessageState::Waiting { .. });
    fleet.messages().handoff(id).filter(waits)
}

/// The agent is no longer handing off: what waits to be told of that is taken back, and its notes wait for whoever comes
/// next.
fn left(fleet: &Fleet, before: &Agent, after: &Agent, at: Time) -> Vec<What> {
    let request = request_in_wait(fleet, after.id);
    let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Outdated };
    let withdrawn = request.map(|it| What::Message(it.id, withdrawn));
    let goes_on = after.state.roster() != Roster::Cemetery;
    let handoff = before.handing_off().filter(|_| goes_on);
    withdrawn.into_iter().chain(handoff.and_then(|it| notes(after, it, at))).collect()
}

/// What the session has read: it was asked to hand off.
pub(crate) fn told(fleet: &Fleet, id: MessageId) -> Option<What> {
    let message = fleet.messages().get(id)?;
    let Content::Handoff { number } = message.content else { return None };
    let agent = fleet.agent(message.to.agent()?)?;
    let is_news = agent.handing_off().is_some_and(|it| it.number == number && it.told_at.is_none());
    is_news.then(|| What::Agent(agent.id, HandoffEvent::Told { number }.of_agent()))
}

fn request(to: AgentId, number: SessionNumber, at: Time) -> What {
    let (from, content) = (Sender::Perennial, Content::Handoff { number });
    What::Message(id(to, at, 0), MessageEvent::Recorded { to: to.into(), from, content })
}

/// For the holder of the role that looks after the agent.
fn lifecycle(agent: &Agent, overseer: AgentId, at: Time) -> What {
    let who = called(agent);
    let handoff = agent.handoff.last.as_ref();
    let subject = handoff.map(|it| it.subject.as_str()).unwrap_or_default();
    let deadline_s = handoff.map_or(0, |it| it.deadline.since(at).as_secs());
    let number = handoff.map_or(0, |it| it.number.0);
    let text = format!(
        "LIFECYCLE: session {number} of {who} is to be handed off to the next one. Reason: {}\n{who} saves its work now. \
         Once it has, you may end the session with the tool `handoff` (target {who}, finish true, session {number}), or with \
         `perennial handoff {who} --finish --session {number}`. In {deadline_s} s it ends in any case, and its successor \
         starts.",
        quoted(subject),
    );
    letter(
        (agent.id, at, 1),
        Mailbox::Agent(overseer),
        &format!("LIFECYCLE: handoff of {who}"),
        &text,
    )
}

fn for_operator(agent: &Agent, subject: &str, at: Time) -> What {
    let who = called(agent);
    let why = match &agent.role {
        Some(_) if agent.role_terms.hands_off_at().is_some() => {
            let minutes = CHURN_WITHIN.as_secs() / 60;
            format!(
                "its last handoff is too recent; the next one follows at the end of a turn, {minutes} minutes after \
                 that one was asked for"
            )
        }
        Some(role) if agent.role_terms.is_declared => {
            format!("by the terms of its role {role} that is up to you")
        }
        Some(role) => format!("nobody has declared its role {role}, so that is up to you"),
        None => "it has no role, so that is up to you".to_owned(),
    };
    let text = format!(
        "{who}: {subject}. It was not handed off: {why}.\nTo give it a session with an empty \
         window: `perennial handoff {who} -s SUBJECT -m NOTES`.",
    );
    letter((agent.id, at, 2), Mailbox::Operator, &format!("context of {who}"), &text)
}

/// G-06: also by mail, for whoever looks for them there.
fn notes(agent: &Agent, handoff: &Handoff, at: Time) -> Option<What> {
    let Handoff { number, subject, notes, .. } = handoff;
    let notes = notes.as_deref().filter(|notes| !notes.trim().is_empty())?;
    let text = format!(
        "Notes of the handoff of your session {}, as they were written:\n{}",
        number.0,
        text::quoted_lines(notes)
    );
    let subject = match subject.trim() {
        "" => "handoff".to_owned(),
        said => format!("handoff: {}", text::quoted(said, QUOTED_SUBJECT_BYTES_MAX)),
    };
    Some(letter((agent.id, at, 3), Mailbox::Agent(agent.id), &subject, &text))
}

fn letter(
    (about, at, place): (AgentId, Time, u32),
    to: Mailbox,
    subject: &str,
    text: &str,
) -> What {
    let id = id(about, at, place);
    let text = bounded(text, LETTER_BYTES_MAX);
    let head = text.lines().next().unwrap_or_default().to_owned();
    let mail = Mail {
        thread: id,
        subject: bounded(subject, super::SUBJECT_BYTES_MAX),
        priority: Priority::Normal,
        text: Text { digest: Digest::WITH_ITS_EVENT, bytes: text.len() as u64, head },
        excerpt: text,
        sender_name: None,
        eldest_ancestor: None,
        role: None,
        recipient: None,
        is_copy: false,
        kind: MailKind::OfHandoff { agent: about },
    };
    let content = Content::Mail(Box::new(mail));
    What::Message(id, MessageEvent::Recorded { to, from: Sender::Perennial, content })
}

fn called(agent: &Agent) -> String {
    agent.name.as_ref().map_or_else(|| agent.id.to_string(), ToString::to_string)
}

/// It follows from whom it is about and when, so that a replay agrees; like every id it begins with the time.
fn id(agent: AgentId, at: Time, place: u32) -> MessageId {
    let spread = u128::from(at.0).wrapping_mul(0xc2b2_ae3d_27d4_eb4f_1656_67b1_9e37_79f9);
    let low = (agent.0 ^ spread ^ u128::from(place) << 48) & ((1 << 76) - 1);
    let low = low & !(0x3 << 62) | (2 << 62);
    MessageId((u128::from(at.0 / 1000) << 80) | (7 << 76) | low)
}

/// Somebody's words on one line, as they are in a letter of ours.
fn quoted(words: &str) -> String {
    text::quoted(words, usize::MAX)
}

/// At most this many bytes, whole characters.
pub(super) fn bounded(text: &str, bytes: usize) -> String {
    match text.len() > bytes {
        true => format!("{}…", &text[..text.floor_char_boundary(bytes.saturating_sub(3))]),
        false => text.to_owned(),
    }
}

impl Message {
    pub fn is_handoff(&self) -> bool {
        matches!(self.content, Content::Handoff { .. })
    }

    /// Whether it asks for a handoff that is over.
    pub(crate) fn is_past_handoff(&self, fleet: &Fleet) -> bool {
        self.is_handoff() && self.as_handoff(fleet).is_none() && !self.is_unreadable()
    }

    /// What its session is asked.
    pub fn as_handoff(&self, fleet: &Fleet) -> Option<HandoffRequest> {
        let Content::Handoff { number } = self.content else { return None };
        let agent = fleet.agent(self.to.agent()?)?;
        let handoff = agent.handing_off().filter(|it| it.number == number)?;
        Some(HandoffRequest {
            message: self.id,
            cause: handoff.cause,
            by: handoff.by,
            subject: handoff.subject.clone(),
            notes: handoff.notes.clone(),
            deadline: handoff.deadline,
            asked_at: handoff.asked_at,
        })
    }
}

//! The life of one text to an agent: recorded, offered to a session by a channel, seen.
//!
//! Pure. A person's text is typed into the session's terminal; a text of Perennial's own is given in
//! the reply to a hook. Whatever was recorded is offered until the conversation holds it.
//!
//! Invariants
//! - T1  A message is offered to one session at a time; its attempt is the fence.
//! - T2  One text is typed at a time: the next one is offered when the last was seen, or came to
//!   nothing. A typed text that waits holds back no text by hook.
//! - T3  Texts that are typed are offered in the order in which they were recorded; those of one
//!   moment in the order of their ids. One that was offered to an earlier session, or is queued in
//!   the agent CLI and may be taken at any moment, goes first (`order`).
//! - T4  A text is offered again only when its session has ended, or has been idle for a while since the
//!   text was given, and the conversation was read to its end without it; a text by hook also when a
//!   later answer stands in the conversation without it.
//! - T5  A prompt that is written to a transcript while that is read is matched to the first offered text
//!   with the same fingerprint, whatever its date. Only a prompt that stood there before the transcript
//!   was first read is judged by its date: one from before the text's first offer is another text.
//! - T6  Seen, withdrawn and returned are final, and leave memory; so does a text that was written
//!   to a bare command, which can't show that it was seen.
//! - T7  A text of which a record can't be read is never offered: it may have been, or have been taken
//!   back. It waits, in its place, until a person takes it back or the conversation shows it.
//! - T8  What an attempt found in the way of one session says nothing of the next session.
//! - T9  A text that an attempt may have pasted stands in that session's input line, whatever later
//!   attempts came to, until it is entered or the session is over. It can't be taken back meanwhile.
//! - T10 A text from before its home was copied may be given in the original: in the copy it waits until
//!   a person takes it back, or the conversation shows it.
//! - T11 A text that a hook of the user's blocked is never typed again and holds back no other. It waits until
//!   a person takes it back, or the conversation shows it.
//! - T12 Mail is given in the order in which it was recorded: none is offered while an earlier one of its
//!   mailbox is offered, unless they go with the same reply. Forwarded mail has its place by its first record: it
//!   goes before later mail that still waits, and after what its new recipient was given already.
//! - T13 Mail is never typed to a bare command, nor into a turn. What waits is typed as one list of at most
//!   `MAIL_AT_ONCE`, and no other before its agent takes that. A round goes as mail does (`round.rs`), but it is typed
//!   alone, and goes by no hook of a turn that runs. While a session hands off, it is asked to, and is given no other mail:
//!   that is for its successor.
//! - T14 A list is one delivery, known by its first mail and that one's attempt, whatever becomes of that mail:
//!   what is told of the delivery holds for every mail of the list that is still offered by it.

mod channel;
mod fold;
mod held;
mod list;
mod mail;
mod mailing;
mod notices;
mod observe;
mod order;
mod queue;
mod sending;
mod status;
mod traces;
mod why;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::context::{Sample, Threshold};
use crate::effect::{Delivery, Effect, Plan, Timer};
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId, SessionNumber};
use crate::state::Roster;
use crate::text::{Fingerprint, Text};
use crate::time::Time;

pub use channel::{Channel, at_turn_end, for_hook};
use fold::fold;
pub use held::Held;
pub use list::planned;
pub use mail::{Mail, MailKind, Mailbox, Priority, Recipient, Unread};
pub use mailing::{
    Addressee, MAIL_AT_ONCE, MAILBOX_UNREAD_MAX, MailDraft, SENDER_UNREAD_MAX, buried, is_role,
    read_mail, reply_address, returned_letter_id, role_changed, send_mail,
};
pub(crate) use mailing::{has_room, holder};
pub use notices::{last_reminder, noticed, outdated, reminded, unreminded};
pub use observe::{Happened, as_recorded, due, home_copied, mentioned, observe, trace, traced};
pub use queue::Messages;
pub use sending::{send, unsend};
pub use status::{MessageStep, Status, not_withdrawn, status};
pub use traces::{Outcome, Trace, Words};
pub use why::{Why, why};

/// A session that lives has not taken a text if it has been idle for so long since, without it: a
/// hook may be late, and what it tells of stands in the conversation later still.
pub const PASSED_OVER_AFTER: Duration = Duration::from_secs(60);

/// If a turn has ended since such a text was heard, so long an idleness suffices: the agent CLI takes
/// what it has queued at once when a turn ends.
pub const PASSED_OVER_BY_A_TURN_AFTER: Duration = Duration::from_secs(20);

/// A hook is answered within this, with texts or without: a turn is not kept waiting for the disk.
pub const REPLY_WITHIN: Duration = Duration::from_millis(500);

/// A conversation that could not be read counts as read this long after the next session began.
pub const SETTLED_AFTER: Duration = Duration::from_secs(15);

/// A delivery whose holder was not reached is ordered again after this, if that attempt is still planned.
pub const ORDERED_AGAIN_AFTER: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub to: Mailbox,
    pub from: Sender,
    pub content: Content,
    pub recorded_at: Time,
    /// How often it was offered.
    pub attempts: u32,
    /// When it was first offered, by the clock that dates the conversation: what that held before is
    /// another text. The earliest date of all offers, where that clock was set back between them.
    pub first_offered_at: Option<Time>,
    /// The session that it was last offered to.
    pub last_session: Option<SessionNumber>,
    /// The session in whose input line an attempt may have left it without an Enter.
    pub left_in: Option<SessionNumber>,
    /// What the hook said that blocked it.
    pub hook_words: Option<String>,
    pub state: MessageState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Sender {
    Person,
    Perennial,
    Agent(AgentId),
}

/// What it says, and with that how it is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// A person's words, typed.
    Typed {
        text: Box<Text>,
        fingerprint: Fingerprint,
        /// It waits for the end of a turn.
        after_turn: bool,
    },
    /// The clock passed a threshold.
    Notice { threshold: Threshold, sample: Sample },
    /// The state of the context clock after `calls` tool calls.
    Reminder { calls: u64, sample: Option<Sample> },
    /// A text of a person or an agent for a mailbox.
    Mail(Box<Mail>),
    /// What its role asks of an agent every so often (`round.rs`).
    Round { role: String, number: u64 },
    /// A session is asked to save its work and to end (`handoff.rs`).
    Handoff { number: SessionNumber },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageState {
    /// Waiting, after a last attempt that failed, if there was one; not tried again before `until`.
    Waiting { after: Option<Held>, until: Time },
    Offered {
        session: SessionNumber,
        /// When it reached this progress.
        at: Time,
        progress: OfferProgress,
        channel: Channel,
        /// T14: of mail that is not the first of its list.
        with: Option<DeliveryId>,
    },
}

/// What a delivery by typing is known by: a message and its attempt. A list has those of its first mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeliveryId {
    pub message: MessageId,
    pub attempt: u32,
}

/// The progress of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum OfferProgress {
    /// Given to the holder, or into the reply to a hook.
    Given,
    /// Typed, and Enter pressed.
    Entered,
    /// The harness said that it has it.
    Heard,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageEvent {
    Recorded {
        to: Mailbox,
        from: Sender,
        content: Content,
    },
    Offered {
        session: SessionNumber,
        attempt: u32,
        /// Of mail, which goes by either; other texts have one each.
        channel: Option<Channel>,
        /// T14: of mail that is typed in a list and is not its first.
        with: Option<DeliveryId>,
        /// How far the clock that dates the conversation was behind.
        behind: Duration,
    },
    /// Typed, and Enter pressed. A bare command shows no more of it: `is_last`.
    Entered {
        attempt: u32,
        is_last: bool,
    },
    Held {
        attempt: u32,
        why: Held,
        until: Time,
    },
    Heard {
        attempt: u32,
    },
    /// A hook of the user's refused it as a prompt, in these words.
    Blocked {
        attempt: u32,
        words: String,
    },
    Seen {
        session: SessionNumber,
    },
    Withdrawn {
        by: Withdrawer,
    },
    /// Its agent was buried.
    Returned,
    /// It waits in another mailbox from here on.
    Forwarded {
        to: Mailbox,
    },
    /// Its recipient asked for it: a session, or the operator.
    Read {
        session: Option<SessionNumber>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Withdrawer {
    Person,
    /// What it says is no longer so.
    Outdated,
}

impl MessageEvent {
    /// Whether nothing more happens to the message.
    pub fn is_last(&self) -> bool {
        match self {
            MessageEvent::Seen { .. }
            | MessageEvent::Withdrawn { .. }
            | MessageEvent::Returned
            | MessageEvent::Read { .. }
            | MessageEvent::Entered { is_last: true, .. } => true,
            MessageEvent::Recorded { .. }
            | MessageEvent::Forwarded { .. }
            | MessageEvent::Offered { .. }
            | MessageEvent::Entered { is_last: false, .. }
            | MessageEvent::Held { .. }
            | MessageEvent::Blocked { .. }
            | MessageEvent::Heard { .. } => false,
        }
    }

    /// Whether a session has the text with it, and is not known to have read it.
    pub fn is_given(&self) -> bool {
        match self {
            MessageEvent::Offered { .. }
            | MessageEvent::Entered { .. }
            | MessageEvent::Heard { .. } => true,
            MessageEvent::Recorded { .. }
            | MessageEvent::Held { .. }
            | MessageEvent::Blocked { .. }
            | MessageEvent::Seen { .. }
            | MessageEvent::Withdrawn { .. }
            | MessageEvent::Forwarded { .. }
            | MessageEvent::Read { .. }
            | MessageEvent::Returned => false,
        }
    }
}

impl Message {
    /// T7. Not an event: it is found again at every start.
    const UNREADABLE: MessageState =
        MessageState::Waiting { after: Some(Held::Damaged), until: Time(u64::MAX) };

    /// T11.
    const BLOCKED: MessageState =
        MessageState::Waiting { after: Some(Held::Blocked), until: Time(u64::MAX) };

    /// A person's text of which not even the first record can be read.
    pub fn unrecorded(id: MessageId, to: AgentId, text: Text, recorded_at: Time) -> Message {
        // Of other words than any prompt: it is never taken for one.
        let (text, fingerprint) = (Box::new(text), Fingerprint([0; 32]));
        let content = Content::Typed { text, fingerprint, after_turn: false };
        Message::unreadable(id, to.into(), Sender::Person, content, recorded_at)
    }

    /// The same for a mail.
    pub fn unrecorded_mail(
        id: MessageId,
        (from, to): (Sender, Mailbox),
        mail: Box<Mail>,
        recorded_at: Time,
    ) -> Message {
        Message::unreadable(id, to, from, Content::Mail(mail), recorded_at)
    }

    fn unreadable(
        id: MessageId,
        to: Mailbox,
        from: Sender,
        content: Content,
        recorded_at: Time,
    ) -> Message {
        Message {
            id,
            to,
            from,
            content,
            recorded_at,
            attempts: 0,
            first_offered_at: None,
            last_session: None,
            left_in: None,
            hook_words: None,
            state: Message::UNREADABLE,
        }
    }

    /// Whose share of a mailbox it takes.
    fn lineage(&self) -> Sender {
        let eldest = self.mail().and_then(|mail| mail.eldest_ancestor);
        eldest.map_or(self.from, Sender::Agent)
    }

    /// T7: whether a record of it can't be read.
    pub fn is_unreadable(&self) -> bool {
        self.state == Message::UNREADABLE
    }

    /// T7: records that are gone may say that it was given. It is held for good, as one with an unreadable record.
    pub fn may_be_given(&self) -> MessageEvent {
        MessageEvent::Held { attempt: self.attempts, why: Held::Damaged, until: Time(u64::MAX) }
    }

    /// T11: whether a hook of the user's blocked it.
    pub fn is_blocked(&self) -> bool {
        self.state == Message::BLOCKED
    }

    pub fn is_typed(&self) -> bool {
        match &self.content {
            Content::Typed { .. } => true,
            Content::Notice { .. }
            | Content::Reminder { .. }
            | Content::Mail(_)
            | Content::Round { .. }
            | Content::Handoff { .. } => false,
        }
    }

    /// Whether it is not on its way, and nothing but a person moves it on.
    pub fn needs_person(&self) -> bool {
        match self.state {
            MessageState::Waiting { after, .. } => after.is_some_and(Held::needs_person),
            MessageState::Offered { .. } => false,
        }
    }

    /// Whether its agent is buried: another node recorded it while this was decided.
    fn is_orphaned(&self, fleet: &Fleet) -> bool {
        let agent = self.to.agent().and_then(|id| fleet.agent(id));
        agent.is_some_and(|agent| agent.state.roster() == Roster::Cemetery)
    }

    /// The channel of what goes by one only; mail that does not tell went with a reply.
    fn own_channel(&self) -> Channel {
        match &self.content {
            Content::Typed { .. } => Channel::Typing,
            Content::Notice { .. }
            | Content::Reminder { .. }
            | Content::Mail(_)
            | Content::Round { .. }
            | Content::Handoff { .. } => Channel::HookReply,
        }
    }

    /// T1: whether this attempt stands; one that was given back, or followed by another, does not.
    pub fn is_offered_as(&self, attempt: u32) -> bool {
        matches!(self.state, MessageState::Offered { .. }) && self.attempts == attempt
    }

    /// T9: the session that runs and may have it in its input line.
    fn may_stand_in_line(&self, fleet: &Fleet) -> Option<SessionNumber> {
        let live = fleet.agent(self.to.agent()?)?.live_session()?.number;
        self.left_in.filter(|session| *session == live)
    }

    /// Whether nothing else may be typed because of it: it is on its way, and was not heard.
    fn is_being_typed(&self, number: SessionNumber) -> bool {
        match self.state {
            MessageState::Offered { session, progress, channel: Channel::Typing, .. } => {
                session == number && progress < OfferProgress::Heard
            }
            MessageState::Offered { channel: Channel::HookReply | Channel::TurnEnd, .. } => false,
            MessageState::Waiting { .. } => false,
        }
    }
}

/// What to do for a message, and when to look again.
pub fn plan(fleet: &Fleet, id: MessageId, now: Time) -> Plan {
    let Some(message) = fleet.messages().get(id) else { return Plan::default() };
    let at = |timer, time| Plan { effects: Vec::new(), timers: vec![(timer, time)] };
    if message.is_orphaned(fleet) {
        return at(Timer::Offer, now);
    }
    match message.state {
        MessageState::Waiting { .. } if message.is_past_handoff(fleet) => at(Timer::Offer, now),
        MessageState::Waiting { until, .. } => match why(fleet, message, now) {
            Why::Due => at(Timer::Offer, now),
            Why::After(_) => at(Timer::Offer, until),
            // What happens to those before it is what mail waits for.
            Why::Earlier(_) if message.goes_as_mail() => Plan::default(),
            Why::Earlier(_) => match order::freed_at(fleet, message) {
                Some(time) => at(Timer::Offer, time),
                None => Plan::default(),
            },
            Why::Unreadable
            | Why::NoSession
            | Why::Starting
            | Why::HandsOff
            | Why::Dialog
            | Why::TurnRuns
            | Why::AgentHeld
            | Why::Burial
            | Why::Hook
            | Why::Vacant
            | Why::Reader
            | Why::Unheard
            | Why::Unseen => Plan::default(),
        },
        MessageState::Offered { session, progress, .. } => {
            let agent = message.to.agent().and_then(|id| fleet.agent(id));
            let live = agent.and_then(Agent::live_session).filter(|live| live.number == session);
            match (live, agent.zip(list::delivery(fleet, message))) {
                (Some(_), Some((agent, (DeliveryId { message, attempt }, typing))))
                    if progress == OfferProgress::Given && !agent.is_held() =>
                {
                    let (agent, number) = (agent.id, session);
                    let delivery = Delivery { message, attempt, agent, number, typing };
                    Plan { effects: vec![Effect::Deliver(delivery)], timers: Vec::new() }
                }
                (Some(_), _) => Plan::default(),
                (None, _) => match observe::given_up_at(agent, session) {
                    Some(time) => at(Timer::Settled, time.max(now)),
                    None => Plan::default(),
                },
            }
        }
    }
}

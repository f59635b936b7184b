//! The properties of mail: what senders were told, what the journal says and what stands in the conversations,
//! held against each other.
//!
//! Never folds with the core that it judges: what is known of a mail here is made from the fields of its events
//! alone.
//!
//! Rules
//! - P1  No mail is lost: one that was acknowledged is recorded; at rest it is seen, read or returned, unless its
//!   mailbox has no session that takes mail. What is said to be seen stands there.
//! - P2  No mail is shown twice to one session, nor to an agent in whose conversations it stands.
//! - P3  In order: no mail is shown, or offered, past an earlier one of the same mailbox.
//! - P4  Nothing is offered to a session that is over, to an agent that is held, or to a bare command; nothing is
//!   typed into a dialog, as far as the journal knew.
//! - P5  What is over is over, and nothing is left for those who are buried.

use std::collections::{BTreeMap, BTreeSet};

use perennial_core::command::Command;
use perennial_core::conversation::ConversationId;
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::{Channel, Content, DeliveryId, Mailbox, Message, MessageEvent};
use perennial_core::text::Fingerprint;
use perennial_core::time::Time;
use perennial_engine::supervisor::Input;

use crate::daemon::Life;
use crate::mutation::Mutation;
use crate::typing::Attempt;
use crate::world::{Happening, World};

/// Apart from the ids of texts, with room for the copies of each.
const FIRST: u128 = 1 << 100;
const ROOM: u32 = 20;

/// What a prompt with a mail is recognised by: no text of a person's has these words.
pub const WORDS: Fingerprint = Fingerprint([9; 32]);

#[derive(Debug, Default)]
pub struct Mails {
    count: u128,
    all: BTreeMap<MessageId, Account>,
    acknowledged: Vec<MessageId>,
    /// What went on to a role: judged no more.
    forwarded: BTreeSet<MessageId>,
    /// Rounds, and what sessions were asked that hand off: texts of ours that are known by their ids.
    requests: BTreeSet<MessageId>,
    pub sent: u64,
    pub seen: u64,
    /// Typed behind another one of the same list.
    pub listed: u64,
}

#[derive(Debug, Clone)]
struct Account {
    to: Mailbox,
    recorded_at: Time,
    stage: Stage,
    /// Only a person gets it on.
    is_stuck: bool,
    offered: Vec<SessionNumber>,
    shown: Vec<(AgentId, SessionNumber)>,
    lines: Vec<ConversationId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Offered { at: Time, list: Option<DeliveryId> },
    Over,
}

impl Mails {
    pub fn new_mail(&mut self) -> MessageId {
        self.count += 1;
        MessageId(FIRST + (self.count << ROOM))
    }

    pub fn is_mail(&self, id: MessageId) -> bool {
        self.all.contains_key(&id)
    }

    /// Whether a prompt of it is recognised by the ids that stand in it.
    pub fn is_known_by_id(&self, id: MessageId) -> bool {
        self.is_mail(id) || self.requests.contains(&id)
    }

    /// Whether the journal has it as offered to this session.
    pub fn is_offered(&self, id: MessageId, agent: AgentId, number: SessionNumber) -> bool {
        let mail = self.all.get(&id).filter(|mail| mail.to.agent() == Some(agent));
        mail.is_some_and(|mail| mail.offered.contains(&number))
    }

    /// The first one that is not over of an agent's.
    pub fn first_of(&self, agent: AgentId) -> Option<MessageId> {
        let is_open = |mail: &Account| mail.stage != Stage::Over && mail.to.agent() == Some(agent);
        let open = self.all.iter().filter(|(_, mail)| is_open(mail));
        open.min_by_key(|(id, mail)| (mail.recorded_at, **id)).map(|(id, _)| *id)
    }

    /// Its sender was told that it is recorded.
    pub fn is_acknowledged(&mut self, id: MessageId) {
        self.acknowledged.push(id);
    }
}

impl World {
    /// The ids that stand in a prompt.
    pub fn mentions(&self, prompt: &[MessageId]) -> Vec<MessageId> {
        prompt.iter().copied().filter(|id| self.mails.is_known_by_id(*id)).collect()
    }

    /// Holds an event about a mail against what was recorded before it, and the truth; returns whether it is one.
    pub fn check_mail(&mut self, id: MessageId, event: &MessageEvent, at: Time) -> bool {
        if let MessageEvent::Recorded {
            content: Content::Handoff { .. } | Content::Round { .. },
            ..
        } = event
        {
            self.mails.requests.insert(id);
            return false;
        }
        if let MessageEvent::Recorded { to, content: Content::Mail(_), .. } = event {
            let account = Account {
                to: to.clone(),
                recorded_at: at,
                stage: Stage::Waiting,
                is_stuck: false,
                offered: Vec::new(),
                shown: Vec::new(),
                lines: Vec::new(),
            };
            self.mails.sent += 1;
            if self.mails.all.insert(id, account).is_some() {
                self.broken("P5: a mail is recorded once", || id.to_string());
            }
            return true;
        }
        if self.mails.forwarded.contains(&id) {
            return true;
        }
        let Some(known) = self.mails.all.get(&id).cloned() else { return false };
        if known.stage == Stage::Over {
            self.broken("P5: what is over is over", || format!("{id}: {event:?}"));
        }
        match event {
            MessageEvent::Recorded { .. } | MessageEvent::Withdrawn { .. } => {}
            MessageEvent::Offered { session, channel, with, .. } => {
                self.mails.listed += u64::from(with.is_some());
                self.check_mail_offered((id, *with), *session, *channel, at);
            }
            MessageEvent::Entered { is_last: true, .. } | MessageEvent::Blocked { .. } => {
                self.broken("P4: no mail goes to a bare command", || id.to_string());
            }
            MessageEvent::Seen { .. } if known.lines.is_empty() => {
                self.broken("P1: what is seen stands there", || id.to_string());
            }
            MessageEvent::Forwarded { .. } if self.policy.roles.is_empty() => {
                self.broken("P5: there are no roles here", || id.to_string());
            }
            // A role's mail is judged by the tests of the core: from here on nothing is said of it.
            MessageEvent::Forwarded { .. } => {
                self.mails.all.remove(&id);
                self.mails.acknowledged.retain(|known| *known != id);
                self.mails.forwarded.insert(id);
                return true;
            }
            MessageEvent::Entered { .. }
            | MessageEvent::Held { .. }
            | MessageEvent::Heard { .. }
            | MessageEvent::Seen { .. }
            | MessageEvent::Read { .. }
            | MessageEvent::Returned => {}
        }
        self.mails.seen += u64::from(matches!(event, MessageEvent::Seen { .. }));
        if let Some(mail) = self.mails.all.get_mut(&id) {
            mail.fold(id, event, at);
        }
        true
    }

    /// P3, P4
    fn check_mail_offered(
        &mut self,
        (id, with): (MessageId, Option<DeliveryId>),
        session: SessionNumber,
        channel: Option<Channel>,
        at: Time,
    ) {
        let Some(mail) = self.mails.all.get(&id) else { return };
        let Some(to) = mail.to.agent() else {
            self.broken("P4: only agents are offered mail", || id.to_string());
            return;
        };
        let Some(account) = self.judge.account(to).filter(|account| !account.has_gap) else {
            return;
        };
        let is_typed = channel == Some(Channel::Typing);
        let place = (mail.recorded_at, id);
        let is_ahead = |(one, other): &(&MessageId, &Account)| {
            let is_earlier = other.to == mail.to && (other.recorded_at, **one) < place;
            let is_open = match other.stage {
                Stage::Waiting => !other.is_stuck,
                // Those of one reply go together, and those of one list.
                Stage::Offered { at: offered, list } => {
                    let is_listed = with.is_some() && list == with;
                    offered != at || is_typed && !is_listed
                }
                Stage::Over => false,
            };
            is_earlier && is_open
        };
        let ahead = self.mails.all.iter().find(is_ahead).map(|(one, _)| *one);
        let what = || format!("{id} is offered to {}.{session}", to.0);
        let found = if !account.is_running(session) {
            Some(("P4: nothing is offered to what is over", what()))
        } else if account.promise.is_held {
            Some(("P4: nothing is offered to what is held", what()))
        } else if account.is_bare {
            Some(("P4: no mail goes to a bare command", what()))
        } else if is_typed && account.is_in_dialog() {
            Some(("P4: nothing is typed into a dialog", what()))
        } else {
            ahead.map(|one| ("P3: in the order of recording", format!("{} past {one}", what())))
        };
        if let Some((property, what)) = found {
            self.broken(property, || what);
        }
    }

    /// A session's model has a mail.
    pub fn mail_is_shown(&mut self, agent: AgentId, number: SessionNumber, id: MessageId) {
        let Some(mail) = self.mails.all.get(&id).cloned() else { return };
        if let Some(mail) = self.mails.all.get_mut(&id) {
            mail.shown.push((agent, number));
        }
        // What can't be read may be the conversation that it stands in.
        if self.is_astray(agent) || !self.machine.behind.is_zero() {
            return;
        }
        let place = (mail.recorded_at, id);
        let is_ahead = |(one, other): &(&MessageId, &Account)| {
            let is_open = other.stage != Stage::Over && !other.is_stuck && other.shown.is_empty();
            other.to == mail.to && (other.recorded_at, **one) < place && is_open
        };
        let has_gap = self.judge.has_gap(agent);
        if mail.shown.contains(&(agent, number)) {
            self.broken("P2: none is shown twice to one session", || {
                format!("{id} to {}.{number}", agent.0)
            });
        } else if let Some(line) =
            mail.lines.iter().find(|line| self.is_known(agent, line)).cloned()
        {
            self.broken("P2: none is shown twice", || format!("{id} stands in {line}"));
        } else if let Some((one, _)) = self.mails.all.iter().find(is_ahead).filter(|_| !has_gap) {
            let what = format!("{id} is shown to {}.{number} before {one}", agent.0);
            self.broken("P3: in the order of recording", || what);
        }
    }

    /// The transcript has a mail's id.
    pub fn mail_is_written(&mut self, id: MessageId, conversation: &ConversationId) {
        if let Some(mail) = self.mails.all.get_mut(&id) {
            mail.lines.push(conversation.clone());
        }
    }

    /// P1: at rest, everybody who takes mail has it.
    pub fn check_no_mail_lost(&mut self, since: Time) {
        let forgotten = self.mails.acknowledged.iter().find(|id| !self.mails.is_mail(**id));
        if let Some(id) = forgotten.copied() {
            self.broken("P1: what was acknowledged is recorded", || id.to_string());
        }
        let lost = self.mails.all.iter().find(|(_, mail)| {
            let takes = |to: AgentId| {
                let is_bare = self.judge.account(to).is_some_and(|account| account.is_bare);
                !is_bare && self.can_be_given(to)
            };
            let is_given = mail.to.agent().is_some_and(takes) && mail.recorded_at < since;
            mail.stage != Stage::Over && is_given && !mail.is_stuck
        });
        if let Some((id, mail)) = lost {
            let what = format!("{id} {mail:?}");
            self.broken("P1: no mail is lost", || what);
        }
    }

    /// P5
    pub fn check_all_mail_returned(&mut self) {
        let is_left = |mail: &Account| mail.stage != Stage::Over && mail.to.agent().is_some();
        if let Some((id, mail)) = self.mails.all.iter().find(|(_, mail)| is_left(mail)) {
            let what = format!("{id} {mail:?}");
            self.broken("P5: what is left is returned at burial", || what);
        }
    }
}

impl World {
    /// Its sender is told yes, and nothing happens.
    pub fn mail_in_vain(&mut self, input: Input) -> Option<Input> {
        match input {
            Input::Request { waiter, request } if matches!(request.command, Command::Mail(_)) => {
                self.answered(waiter, &Ok(Vec::new()));
                None
            }
            other => Some(other),
        }
    }

    /// What a broken way of typing makes of a list.
    pub fn mutated_list(&self, mut attempt: Attempt) -> Attempt {
        let prompt = &mut attempt.prompt;
        match self.mutation.filter(|_| prompt.len() > 1) {
            Some(Mutation::ListReversed) => prompt.reverse(),
            Some(Mutation::ListTwice) => prompt.extend(prompt.last().copied()),
            Some(_) | None => {}
        }
        attempt
    }

    /// The texts that a broken way of giving them leaves of a reply.
    pub fn mutated_mail(
        &mut self,
        life: Life,
        (agent, number): (AgentId, SessionNumber),
        mut told: Vec<Message>,
    ) -> Vec<Message> {
        let mails = told.iter().filter(|message| message.mail().is_some()).count();
        match self.mutation.filter(|_| mails > 0) {
            Some(Mutation::MailTwice) => told.extend(told.clone()),
            Some(Mutation::MailReversed) => told.reverse(),
            Some(Mutation::MailSkipped) => {
                let first = told.iter().position(|message| message.mail().is_some());
                first.into_iter().for_each(|first| drop(told.remove(first)));
            }
            Some(Mutation::MailSeenUnread) => {
                for message in told.drain(..) {
                    let seen = Seen::Added { text: message.id.to_string() };
                    let fact = Fact::new(Origin::Transcript, seen);
                    let input = Input::Heard { agent, number, fact };
                    self.hop(Happening::Reaches { life, input });
                }
            }
            Some(_) | None => {}
        }
        told
    }
}

impl Account {
    fn fold(&mut self, id: MessageId, event: &MessageEvent, at: Time) {
        match event {
            MessageEvent::Offered { session, attempt, channel, with, .. } => {
                let own = DeliveryId { message: id, attempt: *attempt };
                let is_typed = *channel == Some(Channel::Typing);
                self.stage = Stage::Offered { at, list: is_typed.then_some(with.unwrap_or(own)) };
                self.offered.push(*session);
            }
            MessageEvent::Held { until, .. } => {
                self.stage = Stage::Waiting;
                self.is_stuck = *until == Time(u64::MAX);
            }
            MessageEvent::Seen { .. }
            | MessageEvent::Read { .. }
            | MessageEvent::Withdrawn { .. }
            | MessageEvent::Returned => self.stage = Stage::Over,
            MessageEvent::Recorded { .. }
            | MessageEvent::Heard { .. }
            | MessageEvent::Entered { .. }
            | MessageEvent::Blocked { .. }
            | MessageEvent::Forwarded { .. } => {}
        }
    }
}

//! Who gets a mail: addresses are resolved when it is sent, and mail goes on when its recipient no longer can
//! be one. Changes nothing.
//!
//! Invariants
//! - ML1  A mail that was recorded is in one mailbox until it is seen, read, withdrawn or returned.
//! - ML2  What is returned is told to its sender, in the same batch, unless the sender is in the cemetery too, its
//!   record can't be read, or it is such a letter itself.
//! - ML3  A role's own mailbox has mail only while nobody holds the role.
//! - ML4  A copy of what was sent to several goes to nobody who may have one: back, if its recipient is buried while
//!   others hold the role; it stays, if its recipient leaves that.
//! - ML5  Mail is forwarded into a full mailbox, too: what was accepted is never refused later. The mailbox then
//!   takes no new mail until enough of it is read.

use super::observe::Happened;
use super::{Content, Mail, MailKind, Mailbox, Message, MessageEvent, Priority, Recipient, Sender};
use crate::agent::Agent;
use crate::authority::{Caller, Standing};
use crate::command::Target;
use crate::entity::Entity;
use crate::event::{Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::{AgentId, MessageId, SessionNumber};
use crate::name::{Name, NameKey};
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::role;
use crate::state::Roster;
use crate::text::TextBody;
use crate::time::Time;

/// At most this many mails go with one reply to a hook.
pub const MAIL_AT_ONCE: usize = 10;
/// A mailbox holds at most this many unread mails …
pub const MAILBOX_UNREAD_MAX: usize = 1000;
/// … and this many of one agent and all that descend from the same eldest ancestor: a child that is started, writes and
/// buries itself makes room for no other.
pub const SENDER_UNREAD_MAX: usize = 100;

/// To whom somebody writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressee {
    Agent(Target),
    /// One of its holders, or each.
    Role {
        role: Name,
        all: bool,
        /// A project declares it.
        is_declared: bool,
    },
    /// An agent and all its descendants.
    Team(Target),
    Operator,
}

/// A mail that somebody wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailDraft {
    /// Of the first copy; further ones follow it.
    pub id: MessageId,
    pub to: Addressee,
    /// The thread that it goes on with; its own where there is none.
    pub thread: Option<MessageId>,
    pub subject: String,
    pub priority: Priority,
    pub body: TextBody,
    pub excerpt: String,
}

/// Somebody sends a mail: one is recorded for each recipient.
pub fn send_mail(
    fleet: &Fleet,
    caller: Caller,
    draft: &MailDraft,
    now: Time,
) -> Result<Decision, Refusal> {
    let from = sender(caller)?;
    let (mailboxes, read) = recipients(fleet, caller, &draft.to)?;
    let (role, sender_name) = (role_of(&draft.to), caller_name(fleet, caller));
    let eldest_ancestor = fleet.eldest_ancestor(from);
    let mut decision = Decision { read, texts: vec![draft.body.clone()], ..Decision::default() };
    let is_copy = mailboxes.len() > 1;
    for (copy, to) in (0u128..).zip(mailboxes) {
        let id = MessageId(draft.id.0.wrapping_add(copy));
        if fleet.messages().get(id).is_some() {
            return Err(Refusal::MessageExists { message: id });
        }
        has_room(fleet, (from, eldest_ancestor), &to)?;
        let mail = Mail {
            thread: draft.thread.unwrap_or(draft.id),
            subject: draft.subject.clone(),
            priority: draft.priority,
            text: draft.body.text.clone(),
            excerpt: draft.excerpt.clone(),
            sender_name: sender_name.clone(),
            eldest_ancestor,
            recipient: recipient(fleet, &to).filter(|_| role.is_none()),
            role: role.clone(),
            is_copy,
            kind: MailKind::Letter,
        };
        let content = Content::Mail(Box::new(mail));
        let recorded = MessageEvent::Recorded { to, from, content };
        decision.about.push(Entity::Message(id));
        decision.events.push(Event { at: now, what: What::Message(id, recorded) });
    }
    Ok(decision)
}

fn sender(caller: Caller) -> Result<Sender, Refusal> {
    match caller {
        Caller::Person => Ok(Sender::Person),
        Caller::Agent(id) => Ok(Sender::Agent(id)),
        Caller::Job | Caller::Viewer | Caller::Ambiguous => {
            let (verb, standing) = (Verb::Mail, Standing::NoTarget);
            Err(Refusal::NotAllowed { caller, verb, standing })
        }
    }
}

/// To whom an answer goes: to the sender; of the caller's own mail, on to where that was sent.
pub fn reply_address(caller: Caller, from: Sender, to: &Mailbox) -> Result<Addressee, Refusal> {
    let agent = |id: AgentId| Addressee::Agent(id.to_string());
    match (sender(caller)? == from, from, to) {
        (false, Sender::Agent(id), _) => Ok(agent(id)),
        (true, _, Mailbox::Agent(id)) => Ok(agent(*id)),
        (false, Sender::Person, _) | (true, _, Mailbox::Operator) => Ok(Addressee::Operator),
        (false, Sender::Perennial, _) => Err(Refusal::NotAnswerable),
        (true, _, Mailbox::Role(key)) => {
            let role = key.as_str().parse().map_err(|_| Refusal::NoRecipient)?;
            Ok(Addressee::Role { role, all: false, is_declared: true })
        }
    }
}

fn caller_name(fleet: &Fleet, caller: Caller) -> Option<Name> {
    match caller {
        Caller::Agent(id) => fleet.agent(id)?.name.clone(),
        Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous => None,
    }
}

fn recipient(fleet: &Fleet, to: &Mailbox) -> Option<Recipient> {
    let id = to.agent()?;
    Some(Recipient { id, name: fleet.agent(id)?.name.clone() })
}

fn role_of(to: &Addressee) -> Option<String> {
    match to {
        Addressee::Role { role, .. } => Some(role.as_str().to_owned()),
        Addressee::Agent(_) | Addressee::Team(_) | Addressee::Operator => None,
    }
}

/// Who gets it, and what that rests on.
fn recipients(
    fleet: &Fleet,
    caller: Caller,
    to: &Addressee,
) -> Result<(Vec<Mailbox>, Vec<Entity>), Refusal> {
    fleet.authorise(caller, Verb::Mail, None)?;
    match to {
        Addressee::Operator => Ok((vec![Mailbox::Operator], Vec::new())),
        Addressee::Agent(target) => {
            let agent = outside_cemetery(fleet.find(target)?)?;
            Ok((vec![Mailbox::Agent(agent.id)], vec![Entity::Agent(agent.id)]))
        }
        Addressee::Team(target) => {
            let first = outside_cemetery(fleet.find(target)?)?;
            let is_member = |agent: &&Agent| {
                let is_of_team = agent.id == first.id || fleet.is_above(first.id, agent.id);
                let is_caller = caller == Caller::Agent(agent.id);
                is_of_team && !is_caller && agent.state.roster() != Roster::Cemetery
            };
            let members: Vec<AgentId> =
                fleet.agents().filter(is_member).map(|agent| agent.id).collect();
            if members.is_empty() {
                return Err(Refusal::NoRecipient);
            }
            let read = members.iter().copied().map(Entity::Agent).collect();
            Ok((members.into_iter().map(Mailbox::Agent).collect(), read))
        }
        Addressee::Role { role, all, is_declared } => {
            let key = role.key();
            if !is_declared && !is_role(fleet, &key) {
                return Err(Refusal::NoSuchRole { role: role.clone() });
            }
            let read = vec![Entity::Role(key.clone())];
            // Nobody writes to themselves while somebody else holds the role.
            let own = match caller {
                Caller::Agent(id) => Some(id),
                Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous => None,
            };
            let holders = || fleet.roles().holders(&key);
            let others: Vec<AgentId> = holders().filter(|id| Some(*id) != own).collect();
            let mailboxes = match (holder(fleet, &key, &[own]), all) {
                (Some(_), true) => others.into_iter().map(Mailbox::Agent).collect(),
                (Some(one), false) => vec![Mailbox::Agent(one)],
                (None, _) => match holders().next() {
                    Some(alone) => vec![Mailbox::Agent(alone)],
                    None => vec![Mailbox::Role(key.clone())],
                },
            };
            Ok((mailboxes, read))
        }
    }
}

/// Whether a role is declared by the operator or built in, or was ever taken: what is addressed to another one would
/// wait for ever.
pub fn is_role(fleet: &Fleet, key: &NameKey) -> bool {
    let roles = fleet.roles();
    let is_held = roles.holders(key).next().is_some();
    is_held || roles.get(key).is_some() || fleet.policy().declares(key)
}

fn outside_cemetery(agent: &Agent) -> Result<&Agent, Refusal> {
    match agent.state.roster() {
        Roster::Living | Roster::Freezer => Ok(agent),
        Roster::Cemetery => {
            let (agent, verb, state) = (agent.id, Verb::Mail, agent.state);
            Err(Refusal::WrongState { agent, verb, state })
        }
    }
}

/// The holder of a role who gets what is addressed to it: a living one before one in the freezer, and of those
/// the one with the least unread mail.
pub(crate) fn holder(fleet: &Fleet, role: &NameKey, but: &[Option<AgentId>]) -> Option<AgentId> {
    let others = fleet.roles().holders(role).filter(|id| !but.contains(&Some(*id)));
    let rank = |agent: &Agent| {
        let is_living = agent.state.roster() == Roster::Living;
        (!is_living, fleet.messages().unread(&Mailbox::Agent(agent.id)), agent.id)
    };
    others.filter_map(|id| fleet.agent(id)).min_by_key(|agent| rank(agent)).map(|agent| agent.id)
}

pub(crate) fn has_room(
    fleet: &Fleet,
    (from, eldest): (Sender, Option<AgentId>),
    to: &Mailbox,
) -> Result<(), Refusal> {
    let all = fleet.messages().unread(to);
    let own = fleet.messages().unread_from(to, eldest.map_or(from, Sender::Agent));
    // No flood of agents keeps the operator's words out.
    let is_full = match from {
        Sender::Agent(_) => all >= MAILBOX_UNREAD_MAX || own >= SENDER_UNREAD_MAX,
        Sender::Person | Sender::Perennial => own >= MAILBOX_UNREAD_MAX,
    };
    if is_full {
        return Err(Refusal::MailboxFull { mailbox: to.clone() });
    }
    Ok(())
}

/// Somebody asks for mail in its own mailbox: what of it was not seen counts as read.
pub fn read_mail(
    fleet: &Fleet,
    caller: Caller,
    ids: &[MessageId],
    now: Time,
) -> Result<Decision, Refusal> {
    fleet.authorise(caller, Verb::Mail, None)?;
    let session = own_session(fleet, caller);
    let own = match sender(caller)? {
        Sender::Agent(id) => Mailbox::Agent(id),
        Sender::Person | Sender::Perennial => Mailbox::Operator,
    };
    let known = ids.iter().filter_map(|id| fleet.messages().get(*id));
    let known = known.filter(|message| message.mail().is_some() && message.to == own);
    let read = |message: &Message| {
        let what = What::Message(message.id, MessageEvent::Read { session });
        Event { at: now, what }
    };
    let events = known.map(read).collect();
    let about = ids.iter().copied().map(Entity::Message).collect();
    Ok(Decision { about, events, ..Decision::default() })
}

fn own_session(fleet: &Fleet, caller: Caller) -> Option<SessionNumber> {
    match caller {
        Caller::Agent(id) => Some(fleet.agent(id)?.live_session()?.number),
        Caller::Person | Caller::Job | Caller::Viewer | Caller::Ambiguous => None,
    }
}

/// An agent takes a role or leaves one, to somebody or to nobody.
pub fn role_changed(
    fleet: &Fleet,
    before: Option<&Agent>,
    after: &Agent,
    to: Option<AgentId>,
) -> Vec<Happened> {
    let left = before.filter(|before| role::held(before) != role::held(after));
    let left = left.map(|before| role_left(fleet, before, to)).unwrap_or_default();
    left.into_iter().chain(role_taken(fleet, after)).collect()
}

/// An agent has a role: what waited for somebody to do that goes to it.
fn role_taken(fleet: &Fleet, agent: &Agent) -> Vec<Happened> {
    let Some(key) = role::held(agent) else { return Vec::new() };
    let waiting = fleet.messages().within(&Mailbox::Role(key));
    waiting.map(|message| forwarded(message, agent.id.into())).collect()
}

/// An agent leaves its role, to somebody or to nobody: what was addressed to the role and is not under way goes
/// on.
fn role_left(fleet: &Fleet, before: &Agent, to: Option<AgentId>) -> Vec<Happened> {
    let Some(key) = role::held(before) else { return Vec::new() };
    let goes_on = |message: &&Message| {
        message.is_waiting_mail() && is_addressed_to(message, &key) && !message.is_unreadable()
    };
    let addressed = fleet.messages().of(before.id).filter(goes_on);
    let is_held = to.is_some() || holder(fleet, &key, &[Some(before.id)]).is_some();
    let happened = |message: &Message| {
        let sender = message.from.agent();
        let another = holder(fleet, &key, &[Some(before.id), sender]);
        let next = to.filter(|to| Some(*to) != sender).or(another);
        let is_copy = message.mail().is_some_and(|mail| mail.is_copy);
        match next {
            // ML4
            Some(_) if is_copy && another.is_some() => None,
            Some(next) => Some(forwarded(message, Mailbox::Agent(next))),
            // Its sender has the role now.
            None if is_held => None,
            None => Some(forwarded(message, Mailbox::Role(key.clone()))),
        }
    };
    addressed.filter_map(happened).collect()
}

/// Everything that waits for an agent which is buried. `before` is the agent as it was.
pub fn buried(fleet: &Fleet, before: &Agent) -> Vec<Happened> {
    let all = fleet.messages().of(before.id);
    all.flat_map(|message| left_behind(fleet, Some(before), message)).collect()
}

/// A message to an agent that is in the cemetery: another node recorded it while that was decided.
pub(super) fn orphaned(fleet: &Fleet, message: &Message) -> Vec<Happened> {
    left_behind(fleet, None, message)
}

/// Mail goes to the role that it was addressed to, or to another holder of the role that its recipient had, or
/// back. Other texts are returned.
fn left_behind(fleet: &Fleet, before: Option<&Agent>, message: &Message) -> Vec<Happened> {
    let returned = (message.id, MessageEvent::Returned);
    let is_letter = |mail: &&Mail| mail.kind == MailKind::Letter && !message.is_unreadable();
    // What came back to its sender is ours in form only: another one would take its words for ours.
    let Some(mail) = message.mail().filter(is_letter) else {
        return vec![returned];
    };
    let dead = message.to.agent();
    let addressed = mail.role.as_deref().map(NameKey::of);
    let own = before.and_then(role::held);
    let but = [dead, message.from.agent()];
    let role = addressed.as_ref().or(own.as_ref());
    let next = role.and_then(|role| holder(fleet, role, &but));
    let is_held = |role: &NameKey| holder(fleet, role, &[dead]).is_some();
    match (next, addressed) {
        (Some(next), _) if !mail.is_copy => vec![forwarded(message, Mailbox::Agent(next))],
        (None, Some(role)) if !is_held(&role) => vec![forwarded(message, Mailbox::Role(role))],
        (_, _) => {
            let letter = returned_letter(fleet, message, mail);
            [returned].into_iter().chain(letter).collect()
        }
    }
}

fn is_addressed_to(message: &Message, role: &NameKey) -> bool {
    let addressed = message.mail().and_then(|mail| mail.role.as_deref());
    addressed.is_some_and(|addressed| NameKey::of(addressed) == *role)
}

fn forwarded(message: &Message, to: Mailbox) -> Happened {
    (message.id, MessageEvent::Forwarded { to })
}

/// The id of the letter by which a sender gets a mail back. It follows from the mail's, so that a replay agrees.
pub fn returned_letter_id(mail: MessageId) -> MessageId {
    // Copies of one mail have ids that follow each other: this one is far from all of them.
    MessageId(mail.0 ^ (1 << 40))
}

/// ML2: the mail as its sender gets it back.
fn returned_letter(fleet: &Fleet, message: &Message, mail: &Mail) -> Option<Happened> {
    let to = match message.from {
        Sender::Person => Mailbox::Operator,
        Sender::Agent(id) => {
            let agent = fleet.agent(id)?;
            (agent.state.roster() != Roster::Cemetery).then_some(Mailbox::Agent(id))?
        }
        Sender::Perennial => return None,
    };
    let dead = message.to.agent().and_then(|id| fleet.agent(id));
    let name = dead.and_then(|agent| agent.name.as_ref()).map(ToString::to_string);
    let kind = MailKind::Returned { to: name.unwrap_or_else(|| message.to.to_string()) };
    let id = returned_letter_id(message.id);
    let mail = Mail {
        kind,
        is_copy: false,
        role: None,
        recipient: None,
        sender_name: None,
        eldest_ancestor: None,
        ..mail.clone()
    };
    let content = Content::Mail(Box::new(mail));
    Some((id, MessageEvent::Recorded { to, from: Sender::Perennial, content }))
}

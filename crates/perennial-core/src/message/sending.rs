//! A person's own texts to an agent: sent, and taken back. Changes nothing.

use super::{Content, Mailbox, MessageEvent, MessageState, Sender, Withdrawer};
use crate::authority::Caller;
use crate::entity::Entity;
use crate::event::{Event, What};
use crate::fleet::{Decision, Fleet};
use crate::id::MessageId;
use crate::reason::Verb;
use crate::refusal::Refusal;
use crate::state::Roster;
use crate::text::{Fingerprint, TextBody};
use crate::time::Time;

/// A person sends a text.
pub fn send(
    fleet: &Fleet,
    caller: Caller,
    (id, target): (MessageId, &str),
    (body, fingerprint): (&TextBody, Fingerprint),
    after_turn: bool,
    now: Time,
) -> Result<Decision, Refusal> {
    let agent = fleet.find(target)?;
    fleet.authorise(caller, Verb::Send, Some(agent.id))?;
    if agent.state.roster() == Roster::Cemetery {
        let (agent, state) = (agent.id, agent.state);
        return Err(Refusal::WrongState { agent, verb: Verb::Send, state });
    }
    if fleet.messages().get(id).is_some() {
        return Err(Refusal::MessageExists { message: id });
    }
    let content = Content::Typed { text: Box::new(body.text.clone()), fingerprint, after_turn };
    let recorded =
        MessageEvent::Recorded { to: Mailbox::Agent(agent.id), from: Sender::Person, content };
    Ok(Decision {
        about: vec![Entity::Message(id)],
        read: vec![Entity::Agent(agent.id)],
        events: vec![Event { at: now, what: What::Message(id, recorded) }],
        texts: vec![body.clone()],
    })
}

/// A person takes a text back that was not offered yet.
pub fn unsend(
    fleet: &Fleet,
    caller: Caller,
    id: MessageId,
    now: Time,
) -> Result<Decision, Refusal> {
    let message = fleet.messages().get(id).ok_or(Refusal::NoSuchMessage { message: id })?;
    fleet.authorise(caller, Verb::Send, message.to.agent())?;
    match message.state {
        MessageState::Offered { .. } => Err(Refusal::AlreadyOffered { message: id }),
        MessageState::Waiting { .. } if message.may_stand_in_line(fleet).is_some() => {
            Err(Refusal::AlreadyOffered { message: id })
        }
        MessageState::Waiting { .. } => {
            let withdrawn = MessageEvent::Withdrawn { by: Withdrawer::Person };
            let event = Event { at: now, what: What::Message(id, withdrawn) };
            let (about, events) = (vec![Entity::Message(id)], vec![event]);
            Ok(Decision { about, events, ..Decision::default() })
        }
    }
}

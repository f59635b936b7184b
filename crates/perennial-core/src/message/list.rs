//! What is typed at once: a person's text or a round alone, or the mails that wait as one list (T13, T14). Changes nothing.

use super::observe::{Happened, offered};
use super::{Channel, Content, DeliveryId, MAIL_AT_ONCE, Message, MessageState, OfferProgress};
use crate::effect::{Delivery, Effect, Typing};
use crate::entity::Entity;
use crate::fleet::Fleet;
use crate::id::{AgentId, MessageId};
use crate::time::Time;

/// The offers of what is typed when the time of `first` has come: mail takes along what waits behind it.
pub(super) fn typed(fleet: &Fleet, first: &Message, now: Time) -> Vec<Happened> {
    let alone = offered(fleet, first, Channel::Typing, None);
    let (Some(agent), Some(_)) = (first.to.agent(), first.mail()) else {
        return alone.into_iter().collect();
    };
    let with = DeliveryId { message: first.id, attempt: first.attempts + 1 };
    let may_go = |message: &&Message| message.is_held_in_any(now).is_none();
    let behind = fleet.messages().mail(agent).skip_while(|message| message.id == first.id);
    // A round is typed alone.
    let behind = behind.take_while(|message| message.mail().is_some());
    let behind = behind.take_while(may_go).take(MAIL_AT_ONCE - 1);
    let behind = behind.filter_map(|one| offered(fleet, one, Channel::Typing, Some(with)));
    alone.into_iter().chain(behind).collect()
}

/// The delivery that is planned for a message: of a list by the first of its mails that is still offered.
pub(super) fn delivery(fleet: &Fleet, message: &Message) -> Option<(DeliveryId, Typing)> {
    let id = message.delivery()?;
    let agent = message.to.agent()?;
    match &message.content {
        Content::Typed { text, .. } => Some((id, Typing::Text((**text).clone()))),
        Content::Mail(_) => {
            let listed = || listed(fleet, agent, id);
            if listed().next().is_none_or(|first| first.id != message.id) {
                return None;
            }
            let mails = listed().filter_map(|mail| mail.as_told(fleet)).collect();
            let left = fleet.messages().mail(agent).filter(|mail| mail.mail().is_some()).count();
            Some((id, Typing::Mails { mails, left }))
        }
        Content::Round { .. } => Some((id, Typing::Round(Box::new(message.as_round(fleet)?)))),
        Content::Handoff { .. } => {
            Some((id, Typing::Handoff(Box::new(message.as_handoff(fleet)?))))
        }
        Content::Notice { .. } | Content::Reminder { .. } => None,
    }
}

/// The mails of a list that are on their way to the holder, in order.
fn listed(fleet: &Fleet, agent: AgentId, id: DeliveryId) -> impl Iterator<Item = &Message> {
    let offered = fleet.messages().offered(agent).filter(|message| message.is_in_typing());
    offered.filter(move |message| message.delivery() == Some(id))
}

/// What goes by a delivery.
pub(super) fn delivered(fleet: &Fleet, id: DeliveryId) -> impl Iterator<Item = &Message> {
    let first = fleet.messages().get(id.message).and_then(|message| message.to.agent());
    let offered = match first {
        Some(agent) => fleet.messages().offered(agent).collect::<Vec<_>>(),
        // The first of the list is over.
        None => fleet.messages().offered_to_all().collect(),
    };
    offered.into_iter().filter(move |message| message.delivery() == Some(id))
}

/// The delivery as it is planned now, if it still is: some of its mails may be over.
pub fn planned(fleet: &Fleet, delivery: &Delivery, now: Time) -> Option<Delivery> {
    let key = Effect::Deliver(delivery.clone()).key();
    let ids: Vec<MessageId> = match &delivery.typing {
        Typing::Text(_) | Typing::Round(_) | Typing::Handoff(_) => vec![delivery.message],
        Typing::Mails { mails, .. } => mails.iter().map(|mail| mail.message).collect(),
    };
    let plans = ids.into_iter().map(|id| fleet.plan(&Entity::Message(id), now));
    plans.flat_map(|plan| plan.effects).find_map(|effect| match effect {
        Effect::Deliver(planned) if Effect::Deliver(planned.clone()).key() == key => Some(planned),
        Effect::Deliver(_)
        | Effect::Session(_)
        | Effect::Focus(_)
        | Effect::Continue { .. }
        | Effect::PromptHeard { .. }
        | Effect::Job(_)
        | Effect::Keep(_)
        | Effect::Checkpoint(_)
        | Effect::Snapshot(_)
        | Effect::RemoveSecrets { .. } => None,
    })
}

impl Message {
    /// Whether it is mail that its holder was given to type, and has not told of.
    pub(super) fn is_in_typing(&self) -> bool {
        let is_given =
            matches!(self.state, MessageState::Offered { progress: OfferProgress::Given, .. });
        is_given && self.mail().is_some() && self.delivery().is_some()
    }

    /// The delivery that it goes by, if it is typed.
    pub(super) fn delivery(&self) -> Option<DeliveryId> {
        match self.state {
            MessageState::Offered { channel: Channel::Typing, with, .. } => {
                Some(with.unwrap_or(DeliveryId { message: self.id, attempt: self.attempts }))
            }
            MessageState::Offered { channel: Channel::HookReply | Channel::TurnEnd, .. }
            | MessageState::Waiting { .. } => None,
        }
    }
}

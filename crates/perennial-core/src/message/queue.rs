//! The messages that are not over, and the order in which each agent gets its own.
//!
//! What an event changes is found without a look at everything that waits: at most the first texts of a
//! queue, and those that are offered, have anything to be planned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Message, MessageEvent, MessageState, fold};
use crate::entity::Entity;
use crate::event::AgentEvent;
use crate::id::{AgentId, MessageId};
use crate::state::Roster;
use crate::time::Time;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Messages {
    all: BTreeMap<MessageId, Arc<Message>>,
    queues: BTreeMap<AgentId, Queue>,
}

/// T3: in the order of their recording; those of one moment in the order of their ids, so that a
/// restored queue is the folded one.
type Place = (Time, MessageId);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Queue {
    all: BTreeSet<Place>,
    /// Those that are to be typed and wait.
    waiting: BTreeSet<Place>,
    offered: BTreeSet<Place>,
}

impl Messages {
    /// These are all messages that are not over.
    pub fn restore(messages: impl IntoIterator<Item = Message>) -> Messages {
        let mut restored = Messages::default();
        messages.into_iter().for_each(|message| restored.keep(Arc::new(message)));
        restored
    }

    pub fn get(&self, id: MessageId) -> Option<&Message> {
        self.all.get(&id).map(|message| &**message)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Message> {
        self.all.values().map(|message| &**message)
    }

    /// The texts that an agent has not seen yet, in order.
    pub fn of(&self, agent: AgentId) -> impl Iterator<Item = &Message> {
        self.places(agent, |queue| &queue.all)
    }

    /// Of those, what is to be typed and waits.
    pub fn waiting(&self, agent: AgentId) -> impl Iterator<Item = &Message> {
        self.places(agent, |queue| &queue.waiting)
    }

    /// Of those, what is offered.
    pub fn offered(&self, agent: AgentId) -> impl Iterator<Item = &Message> {
        self.places(agent, |queue| &queue.offered)
    }

    fn places(
        &self,
        agent: AgentId,
        which: impl Fn(&Queue) -> &BTreeSet<Place>,
    ) -> impl Iterator<Item = &Message> {
        let places = self.queues.get(&agent).map(which).into_iter().flatten();
        places.filter_map(|(_, id)| self.get(*id))
    }

    /// Those that may have something to be planned after this event of their agent: what is offered, and
    /// the first that waits; all of them, if the agent has come to the cemetery.
    pub fn touched_by(&self, agent: AgentId, event: &AgentEvent) -> Vec<Entity> {
        let is_burial = matches!(event,
            AgentEvent::Moved(moved) if moved.to.roster() == Roster::Cemetery);
        let entity = |message: &Message| Entity::Message(message.id);
        if is_burial {
            return self.of(agent).map(entity).collect();
        }
        let first = self.waiting(agent).take(1);
        self.offered(agent).chain(first).map(entity).collect()
    }

    /// Takes over another fleet's copy of a message that is equal to this one's.
    pub fn share(&mut self, other: &Messages, id: MessageId) {
        if let Some(message) = other.all.get(&id) {
            self.all.insert(id, Arc::clone(message));
        }
    }

    /// Folds one event; returns what to plan anew: what one text does lets another go first, or no
    /// longer.
    pub fn evolve(&mut self, id: MessageId, event: &MessageEvent, at: Time) -> Vec<Entity> {
        let mut message = match (event, self.all.remove(&id)) {
            (MessageEvent::Recorded { to, from, content }, _) => {
                let state = MessageState::Waiting { after: None, until: at };
                let (to, from, content) = (*to, *from, content.clone());
                let (recorded_at, attempts, first_offered_at) = (at, 0, None);
                let (last_session, left_in, hook_words) = (None, None, None);
                let message = Message {
                    id,
                    to,
                    from,
                    content,
                    recorded_at,
                    attempts,
                    first_offered_at,
                    last_session,
                    left_in,
                    hook_words,
                    state,
                };
                Arc::new(message)
            }
            (_, Some(known)) => known,
            (_, None) => return Vec::new(),
        };
        let is_over = fold(Arc::make_mut(&mut message), event, at);
        let to = message.to;
        self.leave(&message);
        if !is_over {
            self.keep(message);
        }
        let first = self.waiting(to).take(2).map(|other| Entity::Message(other.id));
        let mut touched: Vec<Entity> = first.collect();
        touched.push(Entity::Message(id));
        touched
    }

    /// T7: a record of this message can't be read.
    pub fn mark_unreadable(&mut self, id: MessageId) {
        if let Some(mut message) = self.all.remove(&id) {
            self.leave(&message);
            Arc::make_mut(&mut message).state = Message::UNREADABLE;
            self.keep(message);
        }
    }

    /// The first record of this message can't be read: it is listed all the same.
    pub fn list_unrecorded(&mut self, message: Message) {
        if !self.all.contains_key(&message.id) {
            self.keep(Arc::new(message));
        }
    }

    fn keep(&mut self, message: Arc<Message>) {
        let place = (message.recorded_at, message.id);
        let queue = self.queues.entry(message.to).or_default();
        queue.all.insert(place);
        match message.state {
            // T11
            MessageState::Waiting { .. } if message.is_blocked() => false,
            MessageState::Waiting { .. } if message.is_typed() => queue.waiting.insert(place),
            MessageState::Waiting { .. } => false,
            MessageState::Offered { .. } => queue.offered.insert(place),
        };
        self.all.insert(message.id, message);
    }

    fn leave(&mut self, message: &Message) {
        let place = (message.recorded_at, message.id);
        if let Some(queue) = self.queues.get_mut(&message.to) {
            queue.all.remove(&place);
            queue.waiting.remove(&place);
            queue.offered.remove(&place);
            if queue.all.is_empty() {
                self.queues.remove(&message.to);
            }
        }
    }
}

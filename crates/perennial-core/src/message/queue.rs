//! The messages that are not over, and the order in which each agent gets its own.
//!
//! What an event changes is found without a look at everything that waits: at most the first texts of a
//! queue, and those that are offered, have anything to be planned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Mailbox, Message, MessageEvent, MessageState, Sender, fold};
use crate::entity::Entity;
use crate::event::AgentEvent;
use crate::id::{AgentId, MessageId};
use crate::state::Roster;
use crate::time::Time;

/// Until a person does something.
const NO_END: Time = Time(u64::MAX);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Messages {
    all: BTreeMap<MessageId, Arc<Message>>,
    queues: BTreeMap<Mailbox, Queue>,
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
    /// Mail and rounds that wait.
    mail: BTreeSet<Place>,
    /// The round that is not over.
    round: Option<MessageId>,
    /// What its session is asked that hands off.
    handoff: Option<MessageId>,
    /// How much mail there is of each lineage of senders.
    unread: BTreeMap<Sender, usize>,
}

impl Queue {
    fn has_under_way(&self) -> bool {
        !(self.waiting.is_empty() && self.mail.is_empty() && self.offered.is_empty())
    }
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
        self.within(&Mailbox::Agent(agent))
    }

    /// What nobody has seen yet of what is in a mailbox, in order.
    pub fn within<'a>(&'a self, mailbox: &Mailbox) -> impl Iterator<Item = &'a Message> + use<'a> {
        self.places(mailbox, |queue| &queue.all)
    }

    /// How much mail in a mailbox is neither seen nor read.
    pub fn unread(&self, mailbox: &Mailbox) -> usize {
        self.queues.get(mailbox).map_or(0, |queue| queue.unread.values().sum())
    }

    /// The same of one lineage of senders.
    pub fn unread_from(&self, mailbox: &Mailbox, lineage: Sender) -> usize {
        let queue = self.queues.get(mailbox);
        queue.and_then(|queue| queue.unread.get(&lineage)).copied().unwrap_or_default()
    }

    /// The round of an agent that is not over.
    pub fn round(&self, agent: AgentId) -> Option<&Message> {
        self.get(self.queues.get(&Mailbox::Agent(agent))?.round?)
    }

    /// What the session of an agent is asked that hands off, until that is over.
    pub fn handoff(&self, agent: AgentId) -> Option<&Message> {
        self.get(self.queues.get(&Mailbox::Agent(agent))?.handoff?)
    }

    /// Of an agent's, the mail and the round that wait.
    pub fn mail(&self, agent: AgentId) -> impl Iterator<Item = &Message> {
        self.places(&Mailbox::Agent(agent), |queue| &queue.mail)
    }

    /// Of those, what is to be typed and waits.
    pub fn waiting(&self, agent: AgentId) -> impl Iterator<Item = &Message> {
        self.places(&Mailbox::Agent(agent), |queue| &queue.waiting)
    }

    /// Of those, what is offered.
    pub fn offered(&self, agent: AgentId) -> impl Iterator<Item = &Message> {
        self.places(&Mailbox::Agent(agent), |queue| &queue.offered)
    }

    /// Whether a text, mail or a round waits for an agent, or was given to it and is not seen yet.
    pub fn has_under_way(&self, agent: AgentId) -> bool {
        self.queues.get(&Mailbox::Agent(agent)).is_some_and(Queue::has_under_way)
    }

    /// What is offered to anybody.
    pub(super) fn offered_to_all(&self) -> impl Iterator<Item = &Message> {
        let places = self.queues.values().flat_map(|queue| &queue.offered);
        places.filter_map(|(_, id)| self.get(*id))
    }

    fn places<'a>(
        &'a self,
        mailbox: &Mailbox,
        which: fn(&Queue) -> &BTreeSet<Place>,
    ) -> impl Iterator<Item = &'a Message> + use<'a> {
        let places = self.queues.get(mailbox).map(which).into_iter().flatten();
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
        let first = self.waiting(agent).take(1).chain(self.mail(agent).take(1));
        self.offered(agent).chain(first).chain(self.handoff(agent)).map(entity).collect()
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
                let (to, from, content) = (to.clone(), *from, content.clone());
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
        let was_in = message.to.clone();
        let is_busy = |own: &Messages, mailbox: &Mailbox| {
            Some((mailbox.agent()?, own.has_under_way(mailbox.agent()?)))
        };
        let busy = is_busy(self, &was_in);
        // Before it is folded: it may go to another mailbox.
        self.leave(&message);
        let round_of = was_in.agent().filter(|_| message.is_round());
        let is_over = fold(Arc::make_mut(&mut message), event, at);
        let is_in = message.to.clone();
        if !is_over {
            self.keep(message);
        }
        let mut touched = self.first(&was_in);
        if is_in != was_in {
            touched.extend(self.first(&is_in));
        }
        touched.push(Entity::Message(id));
        // Its agent's next one is due by it.
        touched.extend(round_of.map(Entity::Agent));
        // Nobody rests while something is under way.
        let freed = busy.filter(|busy| Some(*busy) != is_busy(self, &was_in));
        touched.extend(freed.map(|(agent, _)| Entity::Agent(agent)));
        if is_in != was_in {
            touched.extend(is_in.agent().map(Entity::Agent));
        }
        touched
    }

    /// What may have something to be planned when anything else in its mailbox has changed.
    fn first(&self, mailbox: &Mailbox) -> Vec<Entity> {
        let texts = self.places(mailbox, |queue| &queue.waiting).take(2);
        let mail = self.places(mailbox, |queue| &queue.mail).take(2);
        // T14: by which a list is delivered.
        let typed = self.places(mailbox, |queue| &queue.offered).find(|other| other.is_in_typing());
        let handoff = mailbox.agent().and_then(|agent| self.handoff(agent));
        texts
            .chain(mail)
            .chain(typed)
            .chain(handoff)
            .map(|other| Entity::Message(other.id))
            .collect()
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
        let queue = self.queues.entry(message.to.clone()).or_default();
        if queue.all.insert(place) && message.mail().is_some() {
            *queue.unread.entry(message.lineage()).or_default() += 1;
        }
        if message.is_round() {
            queue.round = Some(message.id);
        }
        if message.is_handoff() {
            queue.handoff = Some(message.id);
        }
        match message.state {
            // T11
            MessageState::Waiting { .. } if message.is_blocked() => false,
            MessageState::Waiting { .. } if message.is_typed() => queue.waiting.insert(place),
            MessageState::Waiting { .. } if message.is_handoff() => false,
            // What only a person gets on holds back no other mail.
            MessageState::Waiting { until: NO_END, .. } if message.goes_as_mail() => false,
            MessageState::Waiting { .. } if message.goes_as_mail() => queue.mail.insert(place),
            MessageState::Waiting { .. } => false,
            MessageState::Offered { .. } => queue.offered.insert(place),
        };
        self.all.insert(message.id, message);
    }

    fn leave(&mut self, message: &Message) {
        let place = (message.recorded_at, message.id);
        if let Some(queue) = self.queues.get_mut(&message.to) {
            if queue.all.remove(&place) && message.mail().is_some() {
                let count = queue.unread.entry(message.lineage()).or_default();
                *count = count.saturating_sub(1);
                queue.unread.retain(|_, count| *count > 0);
            }
            queue.waiting.remove(&place);
            queue.offered.remove(&place);
            queue.mail.remove(&place);
            queue.round = queue.round.filter(|round| *round != message.id);
            queue.handoff = queue.handoff.filter(|handoff| *handoff != message.id);
            if queue.all.is_empty() {
                self.queues.remove(&message.to);
            }
        }
    }
}

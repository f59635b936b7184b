//! Texts in the reply to a hook, within the step: offered, recorded, given; or not, when that takes
//! too long (U6).

use perennial_core::event::{Event, What};
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::{Message, MessageEvent, REPLY_WITHIN};
use perennial_core::time::Time;

use super::{Output, Reply, Supervisor, Waiter, of};

/// A hook that waits for its texts to be recorded.
#[derive(Debug)]
pub(super) struct Hook {
    waiter: Waiter,
    /// Each with the attempt that this reply is.
    offers: Vec<(MessageId, u32)>,
    /// The session whose turn goes on if it is given any.
    goes_on: Option<(AgentId, SessionNumber)>,
}

impl Hook {
    pub(super) fn without_texts(self) -> Hook {
        Hook { offers: Vec::new(), ..self }
    }
}

impl Supervisor {
    /// Whether the next reply to a hook of this agent is its briefing.
    pub fn owes_briefing(&self, agent: AgentId) -> bool {
        self.unbriefed.contains_key(&agent)
    }

    /// H23: whether the reply to this hook, which has not been heard yet, may have texts.
    pub fn is_answerable(&self, agent: AgentId, number: SessionNumber, fact: &Fact) -> bool {
        let hearing = self.hearings.get(agent).filter(|hearing| hearing.number() == number);
        match self.newest.agent(agent).zip(hearing) {
            Some((agent, hearing)) => hearing.is_answerable(agent, fact),
            None => fact.is_answerable,
        }
    }

    pub(super) fn offer(
        &mut self,
        waiter: Waiter,
        (agent, number): (AgentId, SessionNumber),
        at_turn_end: bool,
        now: Time,
    ) -> Output {
        if !at_turn_end && let Some(how) = self.unbriefed.remove(&agent) {
            return Output::Reply { waiter, with: Reply::StartText(agent, how) };
        }
        let events = match at_turn_end {
            true => self.newest.offer_at_turn_end(agent, number, now),
            false => self.newest.offer(agent, number, now),
        };
        let goes_on = at_turn_end.then_some((agent, number));
        if events.is_empty() {
            return Output::Reply { waiter, with: Reply::Texts(Vec::new()) };
        }
        let offers = events.iter().filter_map(offered).collect();
        let append = self.append(of(events, Vec::new()), None, Vec::new());
        if let Some(pending) = self.pending.back_mut() {
            pending.hook = Some(Hook { waiter, offers, goes_on });
            self.replies.push_back((now + REPLY_WITHIN, waiter));
        }
        append
    }

    /// Answers a hook, with what still stands of its texts: one that was given back meanwhile goes
    /// with the reply to a later hook, as another attempt.
    pub(super) fn reply(&mut self, hook: Hook, now: Time) -> Vec<Output> {
        let Hook { waiter, offers, goes_on } = hook;
        self.replies.retain(|(_, other)| *other != waiter);
        let messages = self.newest.messages();
        let stands = |(id, attempt): &(MessageId, u32)| {
            messages.get(*id).is_some_and(|message: &Message| message.is_offered_as(*attempt))
        };
        let offered: Vec<MessageId> = offers.into_iter().filter(stands).map(|(id, _)| id).collect();
        let is_given = !offered.is_empty();
        let mut outputs = vec![Output::Reply { waiter, with: Reply::Texts(offered) }];
        if let Some((agent, number)) = goes_on.filter(|_| is_given) {
            let fact = Fact::new(Origin::Hook, Seen::TurnGoesOn);
            outputs.extend(self.heard(agent, number, &fact, now));
        }
        outputs
    }

    /// Hooks that have waited long enough are answered without their texts.
    pub(super) fn late_replies(&mut self, now: Time) -> Vec<Output> {
        let mut outputs = Vec::new();
        while let Some((_, waiter)) = self.replies.pop_front_if(|(until, _)| *until <= now) {
            let is_its = |hook: &mut Hook| hook.waiter == waiter;
            let mut pending = self.pending.iter_mut();
            if let Some(hook) = pending.find_map(|pending| pending.hook.take_if(is_its)) {
                outputs.extend(self.reply(hook.without_texts(), now));
            }
        }
        outputs
    }
}

fn offered(event: &Event) -> Option<(MessageId, u32)> {
    match &event.what {
        What::Message(id, MessageEvent::Offered { attempt, .. }) => Some((*id, *attempt)),
        What::Message(..)
        | What::Node(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Post(..)
        | What::Role(..)
        | What::Job(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => None,
    }
}

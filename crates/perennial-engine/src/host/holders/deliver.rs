//! Texts for sessions: a delivery goes to the shim, its outcome back to whoever ordered it; and what
//! shims tell of input lines.
//!
//! Promises
//! - P6  Each `deliver` is answered once: with the outcome, or with why the shim could not be asked.

use perennial_core::id::SessionNumber;

use super::super::announcement::Announced;
use super::super::delivery::{DeliverOrder, HeldRecord, LineReport, Outcome, TEXT_BYTES_MAX};
use super::super::owner::Owner;
use super::super::protocol::Order;
use super::holder::WaitingDelivery;
use super::run::Run;
use super::{Answer, Delivery, HostRefusal, HostReport};

impl Run {
    pub fn on_deliver(
        &mut self,
        owner: Owner,
        number: SessionNumber,
        delivery: Delivery,
        answer: Answer<Outcome>,
    ) {
        let Delivery { message, attempt, text, columns } = delivery;
        if text.len() > TEXT_BYTES_MAX {
            answer(Err(HostRefusal::TooLong));
            return;
        }
        if let Err(refusal) = self.reach(owner, number) {
            answer(Err(refusal));
            return;
        }
        let Some(holder) = self.holders.get_mut(&owner) else {
            answer(Err(HostRefusal::NotRunning));
            return;
        };
        if !holder.delivers {
            answer(Ok(Outcome::Held(HeldRecord::Unsupported)));
            return;
        }
        let waiting = WaitingDelivery { number, message: message.clone(), attempt, answer };
        holder.deliveries.push(waiting);
        let number = number.0;
        self.say(owner, &Order::Deliver(DeliverOrder { number, message, attempt, text, columns }));
    }

    pub fn on_delivered(
        &mut self,
        owner: Owner,
        number: SessionNumber,
        message: &str,
        attempt: u32,
        outcome: Outcome,
    ) {
        let Some(holder) = self.holders.get_mut(&owner) else { return };
        let is_this = |waiting: &mut WaitingDelivery| {
            (waiting.number, waiting.attempt) == (number, attempt) && waiting.message == message
        };
        let answered: Vec<WaitingDelivery> = holder.deliveries.extract_if(.., is_this).collect();
        for waiting in answered {
            (waiting.answer)(Ok(outcome));
        }
    }

    pub fn on_line(&mut self, owner: Owner, number: SessionNumber, line: LineReport) {
        let is_newest = self.holders.get_mut(&owner).is_some_and(|h| h.session(number).is_some());
        // A job has no terminal, and so no line.
        if let Owner::Agent(agent) = owner
            && is_newest
        {
            (self.sink)(HostReport::Line { agent, number, line });
        }
    }

    pub fn on_announced(&mut self, owner: Owner, number: SessionNumber, state: Announced) {
        let is_newest = self.holders.get_mut(&owner).is_some_and(|h| h.session(number).is_some());
        if let Owner::Agent(agent) = owner
            && is_newest
        {
            (self.sink)(HostReport::Announced { agent, number, state });
        }
    }

    pub fn on_heard(&mut self, owner: Owner, number: SessionNumber) {
        if self.reach(owner, number).is_ok() {
            self.say(owner, &Order::Heard { number: number.0 });
        }
    }

    pub fn on_continue(&mut self, owner: Owner, number: SessionNumber) {
        if self.reach(owner, number).is_ok() {
            self.say(owner, &Order::Continue { number: number.0 });
        }
    }
}

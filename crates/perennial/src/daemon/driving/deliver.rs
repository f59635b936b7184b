//! Carries out deliveries: reads a text from the store and has the session's holder type it.
//!
//! One thread. Repeats an order until the holder answers, because only the holder knows whether it
//! typed the text. Decides nothing: the core concludes from the answer.
//!
//! Invariants
//! - D1  A delivery is repeated only while the core still plans it: meanwhile its text may have been
//!   seen and the next one typed, or its session may have ended.

use perennial_store::Store;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use perennial_core::effect::{Delivery, Typing};
use perennial_core::message::{self, Held, ORDERED_AGAIN_AFTER, Outcome};
use perennial_engine::harness::typing::{self, Typed};
use perennial_engine::harness::{handoff_texts, mail_texts, round_texts};
use perennial_engine::host::monotonic::{self, Moment};
use perennial_engine::host::{Holders, holders};

use crate::daemon::driving::driver::{DriverHandle, FleetView, Incoming, chain};
use crate::daemon::driving::harness::Harnesses;

/// The way to the thread.
#[derive(Debug, Clone)]
pub struct Deliveries(Sender<DeliveryOrder>);

/// A delivery, and the harness of its session; without one, of a bare command.
type Errand = (Delivery, Option<String>);

#[derive(Debug)]
enum DeliveryOrder {
    Deliver(Errand),
    /// The holder was not reached: after a while, if it is still to be done.
    Again(Errand),
}

struct Executor {
    journal: Arc<dyn Store>,
    holders: Holders,
    harnesses: Harnesses,
    driver: DriverHandle,
    orders: Sender<DeliveryOrder>,
    /// Those that are tried again, with their time.
    later: VecDeque<(Moment, Errand)>,
}

impl Deliveries {
    pub fn start(
        journal: Arc<dyn Store>,
        holders: Holders,
        harnesses: Harnesses,
        driver: DriverHandle,
    ) -> io::Result<Deliveries> {
        let (orders, inbox) = channel();
        let later = VecDeque::new();
        let (own, thread) =
            (orders.clone(), std::thread::Builder::new().name("deliver".to_owned()));
        let mut executor = Executor { journal, holders, harnesses, driver, orders: own, later };
        thread.spawn(move || executor.run(&inbox))?;
        Ok(Deliveries(orders))
    }

    /// Types a text into a session of this harness; without one, of a bare command.
    pub fn order(&self, delivery: Delivery, harness: Option<String>) {
        // A thread that is gone types nothing more; the daemon is ending.
        let _ = self.0.send(DeliveryOrder::Deliver((delivery, harness)));
    }
}

impl Executor {
    fn run(&mut self, inbox: &Receiver<DeliveryOrder>) {
        loop {
            let next = match self.later.front() {
                Some((at, _)) => inbox.recv_timeout(at.saturating_sub(monotonic::now())),
                None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(DeliveryOrder::Deliver(errand)) => self.carry(errand),
                Ok(DeliveryOrder::Again(errand)) => {
                    self.later.push_back((monotonic::now() + ORDERED_AGAIN_AFTER, errand));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let errand = self.later.pop_front();
                    errand.into_iter().for_each(|(_, errand)| {
                        order_if_planned(&self.driver, &self.orders, errand);
                    });
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn carry(&self, (delivery, harness): Errand) {
        let (message, attempt) = (delivery.message, delivery.attempt);
        let typed = match self.typed(&delivery, harness.as_deref()) {
            Ok(typed) => typed,
            Err(why) => {
                let outcome = Outcome::Held(why);
                let _ = self.driver.send(Incoming::Delivered { message, attempt, outcome });
                return;
            }
        };
        let (agent, number) = (delivery.agent, delivery.number);
        let Typed { text, columns } = typed;
        let ordered = holders::Delivery { message: message.to_string(), attempt, text, columns };
        let (driver, orders) = (self.driver.clone(), self.orders.clone());
        self.holders.deliver(agent, number, ordered, move |answer| match answer {
            Ok(outcome) => {
                let outcome = outcome.into();
                let _ = driver.send(Incoming::Delivered { message, attempt, outcome });
            }
            // Whether it was typed is not known: the same attempt, ordered again, tells.
            Err(refusal) => {
                tracing::debug!(%agent, %number, %refusal, "a text is not delivered yet");
                let _ = orders.send(DeliveryOrder::Again((delivery, harness)));
            }
        });
    }

    /// The text as it is typed, or why it can't be.
    fn typed(&self, delivery: &Delivery, harness: Option<&str>) -> Result<Typed, Held> {
        let input = harness.and_then(|harness| self.harnesses.preset(harness).ok()?.input.clone());
        let is_one_line = input.as_ref().is_some_and(|input| input.is_one_line);
        let stored = match &delivery.typing {
            Typing::Mails { mails, left } => Ok(Some(mail_texts::typed(mails, *left, is_one_line))),
            Typing::Round(round) => Ok(Some(round_texts::typed(round, is_one_line))),
            Typing::Handoff(asked) => Ok(Some(handoff_texts::typed(asked, is_one_line))),
            Typing::Text(text) => self.journal.text(text.digest),
        };
        let text = match stored {
            Ok(Some(text)) => text,
            Ok(None) => {
                tracing::error!(message = %delivery.message, "the store does not have its text");
                return Err(Held::Damaged);
            }
            Err(error) => {
                let error = chain(&error);
                tracing::error!(message = %delivery.message, error, "its text can't be read");
                return Err(Held::Damaged);
            }
        };
        let typed = match &input {
            Some(input) => typing::clean(&text, input),
            None => typing::bare(&text),
        };
        typed.map_err(|why| {
            tracing::warn!(message = %delivery.message, %why, "a text is no prompt any more");
            Held::Unfit
        })
    }
}

/// D1: only the driver knows what is planned.
fn order_if_planned(
    driver: &DriverHandle,
    orders: &Sender<DeliveryOrder>,
    (delivery, harness): Errand,
) {
    let orders = orders.clone();
    let look = move |view: &FleetView<'_>| {
        let planned = message::planned(view.supervisor.fleet(), &delivery, view.now);
        if let Some(planned) = planned {
            let _ = orders.send(DeliveryOrder::Deliver((planned, harness)));
        }
    };
    // Without a driver the daemon is ending.
    let _ = driver.send(Incoming::Look(Box::new(look)));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use perennial_core::authority::Caller;
    use perennial_core::command::{Command, Request, Spawn};
    use perennial_core::effect::Effect;
    use perennial_core::entity::Entity;
    use perennial_core::event::Event;
    use perennial_core::fleet::Fleet;
    use perennial_core::id::{AgentId, MessageId, SessionNumber};
    use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options};
    use perennial_core::observation::{Observation, Report};
    use perennial_core::restart::Restart;
    use perennial_core::session::Process;
    use perennial_core::time::Time;
    use perennial_engine::supervisor::Supervisor;

    use super::*;
    use crate::daemon::driving::driver::channel_pair;
    use crate::daemon::driving::presence::Presence;
    use crate::daemon::hearing::spending::Spending;

    const NOW: Time = Time(1_000_000);
    const BOB: AgentId = AgentId(1);
    const TEXT: MessageId = MessageId(1);

    fn fold(fleet: &mut Fleet, events: &[Event]) {
        events.iter().for_each(|event| drop(fleet.evolve(event)));
    }

    fn ask(fleet: &mut Fleet, command: Command) {
        let request = Request { caller: Caller::Person, command };
        let decision = fleet.decide(&request, NOW).expect("it is allowed");
        fold(fleet, &decision.events);
    }

    /// A fleet in which a text is offered to the session of a bare command.
    fn offered() -> (Fleet, Delivery) {
        let mut fleet = Fleet::default();
        let launch = Launch {
            harness: BARE_COMMAND.into(),
            host: Host::Shim,
            argv: vec!["program".into()],
            dir: "/".into(),
            env_names: Vec::new(),
            project: "/".into(),
            options: Options::default(),
        };
        let (name, role, parent, conversation) = (None, None, None, None);
        let restart = Restart::Never;
        let spawn = Spawn {
            id: BOB,
            name,
            role,
            parent,
            launch,
            restart,
            conversation,
            situations: Vec::new(),
        };
        ask(&mut fleet, Command::Spawn(Box::new(spawn)));
        let report = Report::Executed(Process { pid: 7, start_ticks: 7 });
        let executed = Observation::Session { agent: BOB, number: SessionNumber::FIRST, report };
        let events = fleet.observe(&executed, NOW);
        fold(&mut fleet, &events);
        let (target, body) = (BOB.to_string(), perennial_store::text::body("one"));
        let fingerprint = typing::fingerprint("one");
        let send = Command::Send { id: TEXT, target, body, fingerprint, after_turn: false };
        ask(&mut fleet, send);
        let entity = Entity::Message(TEXT);
        for (timer, _) in fleet.plan(&entity, NOW).timers {
            let events = fleet.observe(&Observation::Due { entity: entity.clone(), timer }, NOW);
            fold(&mut fleet, &events);
        }
        let effects = fleet.plan(&entity, NOW).effects;
        let [Effect::Deliver(delivery)] = &effects[..] else { panic!("{effects:?}") };
        let delivery = delivery.clone();
        (fleet, delivery)
    }

    /// Whether a delivery that did not reach its holder is ordered again, with this fleet.
    fn is_ordered_again(fleet: Fleet, delivery: &Delivery) -> bool {
        let (driver, inbox) = channel_pair();
        let (orders, ordered) = channel();
        order_if_planned(&driver, &orders, (delivery.clone(), None));
        assert!(ordered.try_recv().is_err(), "the driver is asked first");
        let Ok(Incoming::Look(look)) = inbox.try_recv() else { panic!("the driver is not asked") };
        let supervisor = Supervisor::new(fleet, BTreeMap::new(), perennial_store::Seq(0));
        let presence = Presence::begin(BTreeMap::new(), NOW);
        let spending = Spending::default();
        let (supervisor, presence, spending) = (&supervisor, &presence, &spending);
        look(&FleetView { supervisor, presence, spending, now: NOW });
        match ordered.try_recv() {
            Ok(DeliveryOrder::Deliver((again, None))) => again == *delivery,
            Ok(other) => panic!("{other:?}"),
            Err(_) => false,
        }
    }

    #[test]
    fn a_delivery_that_is_still_planned_is_made_again() {
        let (fleet, delivery) = offered();
        assert!(is_ordered_again(fleet, &delivery));
    }

    /// D1: what was seen, given back or withdrawn meanwhile is planned no longer.
    #[test]
    fn a_delivery_that_is_not_planned_any_more_is_not_made_again() {
        let (fleet, delivery) = offered();
        let later = Delivery { attempt: delivery.attempt + 1, ..delivery.clone() };
        assert!(!is_ordered_again(fleet.clone(), &later), "another attempt");
        let mut gone = fleet;
        let (message, attempt) = (TEXT, delivery.attempt);
        let delivered = Observation::Delivered { message, attempt, outcome: Outcome::Entered };
        let events = gone.observe(&delivered, NOW);
        fold(&mut gone, &events);
        assert!(!is_ordered_again(gone, &delivery), "it was typed");
        assert!(!is_ordered_again(Fleet::default(), &delivery), "nobody is there");
    }
}

//! Texts to agents: recorded, offered, seen; each rule by the events that it makes.

mod guards;
mod mail;
mod order;
mod recipients;
mod rounds;

use std::sync::Arc;
use std::time::Duration;

use perennial_core::agent::Confirmation;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::context::{Sample, Source};
use perennial_core::conversation::Followed;
use perennial_core::effect::{Effect, Timer};
use perennial_core::entity::Entity;
use perennial_core::event::{Event, What};
use perennial_core::exit::Exit;
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::fleet::Fleet;
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::message::{
    self, Content, Held, MessageEvent, MessageStep, Outcome, Sender, Status, Trace, Why,
};
use perennial_core::observation::{Observation, Report, Sign, Wait};
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::text::{Digest, Fingerprint, Text, TextBody};
use perennial_core::time::Time;

use crate::told::Told;

const BOB: u128 = 1;

/// A text whose fingerprint is its first byte.
fn body(text: &str) -> (TextBody, Fingerprint) {
    let byte = text.as_bytes()[0];
    let known = Text { digest: Digest([byte; 32]), bytes: text.len() as u64, head: text.into() };
    (TextBody { text: known, body: Arc::from(text) }, Fingerprint([byte; 32]))
}

/// The conversation was read to its end then.
fn settled(at: Time) -> Trace {
    Trace::Settled { at }
}

fn print(text: &str) -> Fingerprint {
    body(text).1
}

impl Told {
    fn send(&mut self, id: u128, text: &str) {
        self.send_after(id, text, false);
    }

    fn send_after(&mut self, id: u128, text: &str, after_turn: bool) {
        let (body, fingerprint) = body(text);
        let target = AgentId(BOB).to_string();
        let id = MessageId(id);
        let send = Command::Send { id, target, body, fingerprint, after_turn };
        self.ask(send).expect("a person may send");
    }

    /// Lets every timer of messages that is due run out.
    fn offer(&mut self) -> String {
        let due: Vec<Entity> = self
            .fleet
            .messages()
            .iter()
            .map(|message| Entity::Message(message.id))
            .filter(|entity| {
                let timers = self.fleet.plan(entity, self.now).timers;
                timers.iter().any(|(_, at)| *at <= self.now)
            })
            .collect();
        let mut events = Vec::new();
        for entity in due {
            events.extend(self.observe(&Observation::Due { entity, timer: Timer::Offer }));
        }
        words(&events)
    }

    fn delivered(&mut self, id: u128, attempt: u32, outcome: Outcome) -> String {
        let message = MessageId(id);
        let events = self.observe(&Observation::Delivered { message, attempt, outcome });
        words(&events)
    }

    fn trace(&mut self, trace: Trace) -> String {
        let number = self.number(BOB);
        self.trace_of(number, trace)
    }

    fn trace_of(&mut self, number: SessionNumber, trace: Trace) -> String {
        words(&self.observe(&Observation::Traced { agent: AgentId(BOB), number, trace }))
    }

    /// What is being typed now, by the plan: message and attempt.
    fn typed(&self) -> Vec<(u128, u32)> {
        let plans = self.fleet.entities().map(|entity| self.fleet.plan(&entity, self.now));
        let effects = plans.flat_map(|plan| plan.effects);
        effects
            .filter_map(|effect| match effect {
                Effect::Deliver(delivery) => Some((delivery.message.0, delivery.attempt)),
                Effect::Session(_)
                | Effect::Focus(_)
                | Effect::Continue { .. }
                | Effect::PromptHeard { .. }
                | Effect::Job(_)
                | Effect::Keep(_)
                | Effect::Checkpoint(_)
                | Effect::Snapshot(_)
                | Effect::RemoveSecrets { .. } => None,
            })
            .collect()
    }

    fn why(&self, id: u128) -> Option<Why> {
        let message = self.fleet.messages().get(MessageId(id))?;
        Some(message::why(&self.fleet, message, self.now))
    }

    fn pass_seconds(&mut self, seconds: u64) {
        self.pass(Duration::from_secs(seconds));
    }
}

/// An agent CLI that waits for input.
fn idle() -> Told {
    let mut told = Told::new();
    told.spawn_cli(BOB, false, None).expect("spawned");
    told.begun(BOB, "c-1", Followed::Started);
    told
}

/// The events of messages, one word each: `offered 1`, `held 1 no-echo`.
fn words(events: &[Event]) -> String {
    let word = |event: &Event| match &event.what {
        What::Message(id, what) => {
            let id = if id.0 < 100 { id.0.to_string() } else { "ours".into() };
            Some(match what {
                MessageEvent::Recorded { .. } => format!("recorded {id}"),
                MessageEvent::Offered { .. } => format!("offered {id}"),
                MessageEvent::Entered { .. } => format!("entered {id}"),
                MessageEvent::Held { why, .. } => format!("held {id} {why:?}"),
                MessageEvent::Blocked { words, .. } => format!("blocked {id} {words}"),
                MessageEvent::Heard { .. } => format!("heard {id}"),
                MessageEvent::Seen { .. } => format!("seen {id}"),
                MessageEvent::Withdrawn { .. } => format!("withdrawn {id}"),
                MessageEvent::Returned => format!("returned {id}"),
                MessageEvent::Forwarded { to } => format!("forwarded {id} {to}"),
                MessageEvent::Read { .. } => format!("read {id}"),
            })
        }
        What::Node(..)
        | What::Role(..)
        | What::Task(..)
        | What::Agent(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Post(..)
        | What::Job(..)
        | What::Signal(..)
        | What::Escalation(..) => None,
    };
    events.iter().filter_map(word).collect::<Vec<_>>().join(", ")
}

#[test]
fn one_text_is_typed_at_a_time_and_the_next_when_it_was_seen() {
    let mut told = idle();
    told.send(1, "one");
    told.send(2, "two");
    assert_eq!(told.offer(), "offered 1", "T2, T3");
    assert_eq!(told.typed(), [(1, 1)]);
    assert_eq!(told.why(2), Some(Why::Earlier(MessageId(1))));
    assert_eq!(told.offer(), "");
    assert_eq!(told.delivered(1, 1, Outcome::Entered), "entered 1");
    assert_eq!(told.typed(), []);
    assert_eq!(told.offer(), "", "entered is not heard");
    assert_eq!(told.trace(Trace::PromptHeard(print("two").into())), "", "another prompt");
    told.show(BOB, Sign::TurnBegan);
    assert_eq!(told.trace(Trace::PromptHeard(print("one").into())), "heard 1");
    assert_eq!(
        (told.offer().as_str(), told.why(2)),
        ("", Some(Why::Earlier(MessageId(1)))),
        "in a turn too"
    );
    let at = told.now;
    assert_eq!(told.trace(Trace::Held { dated: Some(at), words: print("one").into() }), "seen 1");
    assert_eq!(told.offer(), "offered 2");
    assert_eq!(told.trace(Trace::Held { dated: Some(at), words: print("one").into() }), "", "once");
    assert!(told.fleet.messages().get(MessageId(1)).is_none(), "T6");
}

/// However many texts wait, an event has a few of them planned anew.
#[test]
fn a_long_queue_costs_no_more_than_a_short_one() {
    let mut told = idle();
    let mut most = 0;
    for id in 1..=200 {
        told.send(id, "one");
    }
    for id in 1..=20 {
        assert_eq!(told.offer(), format!("offered {id}"));
        for observation in [
            Observation::Delivered {
                message: MessageId(id),
                attempt: 1,
                outcome: Outcome::Entered,
            },
            traced(&told, Trace::PromptHeard(print("one").into())),
            traced(&told, Trace::Held { dated: None, words: print("one").into() }),
        ] {
            told.pass_seconds(1);
            for event in told.fleet.observe(&observation, told.now) {
                most = most.max(told.fleet.evolve(&event).len());
            }
        }
    }
    let turn = told.show(BOB, Sign::TurnBegan);
    let mut again = told.fleet.clone();
    most = turn.iter().map(|event| again.evolve(event).len()).fold(most, usize::max);
    assert!(most <= 4, "{most} planned anew");
}

fn traced(told: &Told, trace: Trace) -> Observation {
    Observation::Traced { agent: AgentId(BOB), number: told.number(BOB), trace }
}

#[test]
fn an_attempt_that_came_to_nothing_is_made_again_later_under_the_next_number() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    assert_eq!(told.delivered(1, 1, Outcome::Held(Held::NoEcho)), "held 1 NoEcho");
    assert_eq!(told.delivered(1, 1, Outcome::Entered), "", "T1: it was held by then");
    assert_eq!((told.offer().as_str(), told.why(1)), ("", Some(Why::After(Held::NoEcho))));
    told.pass_seconds(1);
    assert_eq!((told.offer().as_str(), told.typed()), ("offered 1", vec![(1, 2)]));
    assert_eq!(told.delivered(1, 1, Outcome::Entered), "", "T1: an older attempt");
    assert_eq!(told.delivered(1, 2, Outcome::Held(Held::Draft)), "held 1 Draft");
    told.pass_seconds(2);
    assert_eq!(told.offer(), "", "a draft is not asked for every second");
    assert_eq!(told.trace(Trace::LineFree), "offered 1", "the holder says when it is gone");
}

#[test]
fn a_dialog_a_turn_and_a_session_that_is_not_there_are_waited_for() {
    let mut told = idle();
    told.send_after(1, "one", true);
    told.show(BOB, Sign::TurnBegan);
    assert_eq!((told.offer().as_str(), told.why(1)), ("", Some(Why::TurnRuns)));
    told.show(BOB, Sign::Waits(Wait::Permission));
    assert_eq!((told.offer().as_str(), told.why(1)), ("", Some(Why::Dialog)));
    told.show(BOB, Sign::TurnBegan);
    told.show(BOB, Sign::Waits(Wait::Input));
    assert_eq!(told.offer(), "offered 1");

    let mut told = idle();
    told.show(BOB, Sign::TurnBegan);
    told.send(1, "in a turn too");
    assert_eq!(told.offer(), "offered 1");

    let mut told = idle();
    told.ask(Command::Stop(AgentId(BOB).to_string())).expect("a person may");
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::Code(0)));
    told.send(1, "later");
    assert_eq!((told.offer().as_str(), told.why(1)), ("", Some(Why::NoSession)));
    told.ask(Command::Wake(AgentId(BOB).to_string())).expect("a person may");
    assert_eq!(told.why(1), Some(Why::Starting));
    told.begun(BOB, "c-1", Followed::Resumed);
    assert_eq!(told.offer(), "offered 1");
}

/// A session that got a text and died: whether the next one gets it is told by the conversation.
fn died_with_it() -> (Told, Time) {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.trace(Trace::PromptHeard(print("one").into()));
    let at = told.now;
    told.pass_seconds(5);
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
    told.pass_seconds(1);
    told.begun(BOB, "c-1", Followed::Resumed);
    (told, at)
}

#[test]
fn a_session_that_ended_with_a_text_is_looked_at_before_the_text_is_offered_again() {
    let (mut told, at) = died_with_it();
    assert_eq!(told.offer(), "", "T4: nobody has looked yet");
    let first = SessionNumber(1);
    let held = Trace::Held { dated: Some(at), words: print("one").into() };
    assert_eq!(told.trace_of(first, held), "seen 1");

    let (mut told, _) = died_with_it();
    let now = told.now;
    assert_eq!(told.trace_of(first, settled(now)), "held 1 SessionEnded");
    assert_eq!((told.offer().as_str(), told.typed()), ("offered 1", vec![(1, 2)]));

    // A conversation that can't be read does not keep it for ever.
    let (mut told, _) = died_with_it();
    told.pass_seconds(14);
    assert_eq!(told.offer(), "");
    told.pass_seconds(2);
    assert_eq!(told.offer(), "held 1 SessionEnded");
    assert_eq!(told.offer(), "offered 1");

    // Nobody reads while the machine is suspended.
    let (mut told, _) = died_with_it();
    let by = Duration::from_secs(3600);
    told.pass(by);
    told.observe(&Observation::ClockJumped { by });
    told.pass_seconds(14);
    assert_eq!(told.offer(), "", "it slept");
    told.pass_seconds(2);
    assert_eq!(told.offer(), "held 1 SessionEnded");
}

#[test]
fn a_text_of_before_is_another_one() {
    let mut told = idle();
    let before = told.now;
    told.pass_seconds(1);
    told.send(1, "yes");
    told.offer();
    let fingerprint = print("yes");
    assert_eq!(told.trace(Trace::Held { dated: Some(before), words: fingerprint.into() }), "");
    let at = told.now;
    assert_eq!(told.trace(Trace::Held { dated: Some(at), words: fingerprint.into() }), "seen 1");
    told.pass_seconds(1);
    told.send(2, "yes");
    told.offer();
    assert_eq!(
        told.trace(Trace::Held { dated: Some(at), words: fingerprint.into() }),
        "",
        "read again: still the first"
    );
}

/// T5: NTP stepped the clock, or a machine was resumed with an older one.
#[test]
fn a_text_is_seen_also_where_the_clock_was_set_back() {
    let hour = Duration::from_secs(3600);
    let fingerprint = print("yes");
    // While the session is read: by its place, whatever date it bears.
    for set_back_before_the_offer in [false, true] {
        let mut told = idle();
        told.pass_seconds(7200);
        if set_back_before_the_offer {
            told.fleet.set_behind(hour);
        }
        told.send(1, "yes");
        told.offer();
        told.fleet.set_behind(hour);
        let date = told.now.before(hour);
        let fact = Fact::new(Origin::Transcript, Seen::Prompt { text: fingerprint });
        let trace = message::trace(&fact.at(Some(date)), told.now).expect("a prompt");
        assert_eq!(told.trace(trace), "seen 1");
    }
    // By the next daemon, which finds it there: by the clock that dated both.
    let mut told = idle();
    told.pass_seconds(7200);
    told.fleet.set_behind(hour);
    told.send(1, "yes");
    told.offer();
    let offered = told.now.before(hour);
    let before = Some(offered.before(Duration::from_secs(1)));
    assert_eq!(
        told.trace(Trace::Held { dated: before, words: fingerprint.into() }),
        "",
        "another one"
    );
    assert_eq!(
        told.trace(Trace::Held { dated: Some(offered), words: fingerprint.into() }),
        "seen 1"
    );
}

/// T5: the clock was set back between two offers; the next daemon finds the line of the second.
#[test]
fn a_text_that_was_offered_before_and_after_the_clock_was_set_back_is_seen() {
    let mut told = idle();
    told.pass_seconds(7200);
    told.send(1, "yes");
    told.offer();
    told.delivered(1, 1, Outcome::Held(Held::NoEcho));
    told.fleet.set_behind(Duration::from_secs(3600));
    told.pass_seconds(1);
    assert_eq!(told.offer(), "offered 1");
    let dated = Some(told.now.before(Duration::from_secs(3600)));
    assert_eq!(told.trace(Trace::Held { dated, words: print("yes").into() }), "seen 1");
}

/// T5: each line counts for one text, in their order.
#[test]
fn equal_texts_are_seen_one_by_one() {
    let mut told = idle();
    told.send(1, "yes");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    let fingerprint = print("yes");
    told.trace(Trace::PromptHeard(fingerprint.into()));
    told.send(2, "yes");
    assert_eq!(told.trace(Trace::Held { dated: None, words: fingerprint.into() }), "seen 1");
    assert_eq!(
        told.trace(Trace::Held { dated: None, words: fingerprint.into() }),
        "",
        "2 was not offered yet"
    );
    told.offer();
    assert_eq!(told.trace(Trace::Held { dated: None, words: fingerprint.into() }), "seen 2");
}

#[test]
fn an_idle_session_whose_conversation_is_read_to_its_end_did_not_take_it() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.trace(Trace::PromptHeard(print("one").into()));
    told.show(BOB, Sign::TurnBegan);
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "", "a turn runs: it may be in its queue");
    told.show(BOB, Sign::Waits(Wait::Input));
    assert_eq!(told.trace(settled(at)), "", "read before the turn's end");
    told.pass_seconds(58);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "", "its line may be late");
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "held 1 NotTaken");
    assert_eq!(told.offer(), "offered 1");
}

#[test]
fn a_bare_command_gets_text_and_enter_and_no_more_is_known() {
    let mut told = Told::new();
    told.spawn(BOB, None, Restart::Never);
    told.executed(BOB);
    told.send(1, "one");
    assert_eq!(told.offer(), "offered 1");
    assert_eq!(told.delivered(1, 1, Outcome::Entered), "entered 1");
    assert!(told.fleet.messages().get(MessageId(1)).is_none(), "T6");
    told.send(2, "two");
    told.offer();
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::Code(0)));
    assert_eq!(told.offer(), "held 2 SessionEnded");
    assert_eq!(told.why(2), Some(Why::NoSession));
}

fn measured(told: &mut Told, percent: u64) -> String {
    let sample = Sample { tokens: percent, window: 100, usable: 100, source: Source::StatusLine };
    words(&told.show(BOB, Sign::Measured { conversation: None, sample }))
}

/// What a hook of the newest session is answered with.
fn hook(told: &mut Told) -> String {
    let events = told.fleet.offer(AgentId(BOB), told.number(BOB), told.now);
    for event in &events {
        told.fleet.evolve(event);
    }
    words(&events)
}

#[test]
fn a_notice_goes_by_hook_until_the_conversation_holds_it() {
    let mut told = idle();
    told.send(1, "typed, and waits");
    told.show(BOB, Sign::Waits(Wait::Permission));
    assert_eq!(measured(&mut told, 60), "recorded ours");
    assert_eq!(told.offer(), "", "a notice is not typed");
    assert_eq!(hook(&mut told), "offered ours", "T2: what waits to be typed is not in its way");
    assert_eq!(hook(&mut told), "", "T1");
    let offered_at = told.now;
    assert_eq!(told.trace(Trace::Answered { at: offered_at }), "", "an answer of before");
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(Trace::Answered { at }), "held ours NotTaken", "T4");
    assert_eq!(hook(&mut told), "offered ours");
    let of_ours = |told: &Told| told.fleet.messages().of(AgentId(BOB)).last().map(|last| last.id);
    let ids = vec![of_ours(&told).expect("it is offered")];
    assert_eq!(told.trace(Trace::Mentioned { ids }), "seen ours");
}

#[test]
fn only_the_highest_threshold_is_told_and_none_of_a_window_that_is_over() {
    let mut told = idle();
    assert_eq!(measured(&mut told, 79), "recorded ours", "50 and 75 at once: one notice");
    // And the operator is told that nobody hands it off.
    assert_eq!(measured(&mut told, 95), "withdrawn ours, recorded ours, recorded ours");
    assert_eq!(words(&told.show(BOB, Sign::WindowBegan)), "withdrawn ours");
    assert_eq!(hook(&mut told), "");
}

#[test]
fn a_text_is_taken_back_while_it_waits_and_returned_at_burial() {
    let mut told = idle();
    told.send(1, "one");
    told.send(2, "two");
    let events = told.ask(Command::Unsend { id: MessageId(2) }).expect("it waits");
    assert_eq!(words(&events), "withdrawn 2");
    assert_eq!(
        told.ask(Command::Unsend { id: MessageId(2) }),
        Err(Refusal::NoSuchMessage { message: MessageId(2) })
    );
    told.offer();
    assert_eq!(
        told.ask(Command::Unsend { id: MessageId(1) }),
        Err(Refusal::AlreadyOffered { message: MessageId(1) })
    );
    let bury = Command::Bury { target: AgentId(BOB).to_string(), summary: None };
    assert_eq!(words(&told.ask(bury).expect("a person may")), "returned 1");
    let (body, fingerprint) = body("three");
    let (id, target) = (MessageId(3), AgentId(BOB).to_string());
    let send = Command::Send { id, target, body, fingerprint, after_turn: false };
    assert!(matches!(told.ask(send), Err(Refusal::WrongState { .. })));
}

#[test]
fn a_text_that_was_just_entered_is_not_given_up_by_a_look_of_before() {
    let mut told = idle();
    told.pass_seconds(600);
    told.send(1, "one");
    told.offer();
    // A holder that hung types late; the harness takes up to a second to tell of it.
    told.pass_seconds(90);
    told.delivered(1, 1, Outcome::Entered);
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "", "T4");
    assert_eq!(told.trace(Trace::PromptHeard(print("one").into())), "heard 1");
    told.pass_seconds(60);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "held 1 NotTaken");
}

#[test]
fn a_notice_that_was_not_taken_is_not_told_in_another_window() {
    let mut told = idle();
    assert_eq!(measured(&mut told, 60), "recorded ours");
    assert_eq!(hook(&mut told), "offered ours");
    told.show(BOB, Sign::WindowBegan);
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(Trace::Answered { at }), "withdrawn ours");
    assert_eq!(hook(&mut told), "");

    // Nor beside one of more.
    let mut told = idle();
    measured(&mut told, 60);
    hook(&mut told);
    assert_eq!(measured(&mut told, 79), "recorded ours");
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(Trace::Answered { at }), "withdrawn ours");
    assert_eq!(hook(&mut told), "offered ours");
}

#[test]
fn a_compaction_withdraws_a_notice_once() {
    let mut told = idle();
    measured(&mut told, 60);
    let conversation = "c-1".parse().expect("an id");
    let began = Sign::Began { conversation, how: Followed::Compacted };
    assert_eq!(words(&told.show(BOB, began)), "withdrawn ours");
}

fn reminder(told: &mut Told, calls: u64) -> String {
    let (agent, number, sample) = (AgentId(BOB), told.number(BOB), None);
    words(&told.observe(&Observation::ReminderDue { agent, number, calls, sample }))
}

/// The end of a session makes its reminder outdated, and the burial that follows returns what is left: not both.
#[test]
fn a_reminder_ends_once_where_a_session_ends_with_the_burial_that_its_agent_asked_for() {
    let mut told = idle();
    told.show(BOB, Sign::TurnBegan);
    assert_eq!(reminder(&mut told, 20), "recorded ours");
    let bury = Command::Bury { target: AgentId(BOB).to_string(), summary: None };
    told.ask_as(Caller::Agent(AgentId(BOB)), bury).expect("asked");
    let events = told.report(BOB, SessionNumber::FIRST, Report::Exited(Exit::KillSignal(9)));
    assert_eq!(words(&events), "withdrawn ours");
}

#[test]
fn a_reminder_is_of_its_session_and_gives_way_to_the_next() {
    let mut told = idle();
    assert_eq!(reminder(&mut told, 20), "recorded ours");
    told.pass_seconds(1);
    assert_eq!(reminder(&mut told, 40), "withdrawn ours, recorded ours");
    let ended = told.report(BOB, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
    assert_eq!(words(&ended), "withdrawn ours");

    // One that was offered and not taken, with a newer one beside it; then with its session over.
    let mut told = idle();
    reminder(&mut told, 20);
    hook(&mut told);
    told.pass_seconds(1);
    assert_eq!(reminder(&mut told, 40), "recorded ours");
    let at = told.now;
    assert_eq!(told.trace(Trace::Answered { at }), "withdrawn ours");
    assert_eq!(hook(&mut told), "offered ours");
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace_of(SessionNumber(1), settled(at)), "withdrawn ours");
}

/// Found by seed 22570: the newer one was read, and the older one given once more behind it.
#[test]
fn a_reminder_that_was_read_withdraws_those_before_it() {
    let mut told = idle();
    reminder(&mut told, 20);
    hook(&mut told);
    told.pass_seconds(1);
    reminder(&mut told, 40);
    hook(&mut told);
    let newer = told.fleet.messages().of(AgentId(BOB)).max_by_key(|one| one.recorded_at);
    let ids = vec![newer.expect("it was offered").id];
    assert_eq!(told.trace(Trace::Mentioned { ids }), "seen ours, withdrawn ours");
    assert_eq!(told.fleet.messages().of(AgentId(BOB)).count(), 0);
}

#[test]
fn texts_of_one_moment_keep_their_order_when_they_are_restored() {
    let mut told = idle();
    let at = told.now;
    for (id, at) in [(2, at), (1, at), (0, at + Duration::from_secs(1))] {
        let (to, from) = (AgentId(BOB).into(), Sender::Person);
        let content = Content::Reminder { calls: 20, sample: None };
        let recorded = MessageEvent::Recorded { to, from, content };
        told.fleet.evolve(&Event { at, what: What::Message(MessageId(id), recorded) });
    }
    let queue = |fleet: &Fleet| -> Vec<u128> {
        fleet.messages().of(AgentId(BOB)).map(|message| message.id.0).collect()
    };
    assert_eq!(queue(&told.fleet), [1, 2, 0], "T3");
    assert_eq!(queue(&Fleet::restore(told.fleet.parts())), [1, 2, 0]);
}

/// Where a message stands of which this was recorded last.
fn status(told: &Told, id: u128, step: MessageStep) -> Status {
    message::status(&told.fleet, MessageId(id), step, told.now)
}

#[test]
fn where_a_text_stands_is_known_by_memory_and_else_by_its_last_step() {
    let mut told = idle();
    told.ask(Command::Stop(AgentId(BOB).to_string())).expect("a person may");
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::Code(0)));
    told.send(1, "later");
    let waiting = |why| Status::Waiting { why, needs_person: false };
    assert_eq!(status(&told, 1, MessageStep::Recorded), waiting(Why::NoSession));
    // A held agent gets no session: the hold is the reason, and not the session.
    told.hold(BOB, HeldFor::Person);
    assert_eq!(status(&told, 1, MessageStep::Recorded), waiting(Why::AgentHeld));
    let pending = |told: &Told| told.fleet.pending_texts(AgentId(BOB), told.now).count();
    assert_eq!(pending(&told), 1);
    told.ask(Command::Unsend { id: MessageId(1) }).expect("it waits");
    assert_eq!(pending(&told), 0);
    for (step, over) in [
        (MessageStep::Withdrawn, Status::Withdrawn),
        (MessageStep::Seen, Status::Seen),
        (MessageStep::Returned, Status::Returned),
        // A bare command shows no more of it.
        (MessageStep::Entered, Status::Written),
        (MessageStep::Heard, Status::Lost { step: MessageStep::Heard }),
    ] {
        assert_eq!(status(&told, 1, step), over);
        assert!(over.is_final());
    }
}

#[test]
fn a_text_that_was_typed_is_overdue_after_a_while() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    assert_eq!(status(&told, 1, MessageStep::Entered), Status::Offered { overdue: None });
    told.pass_seconds(10);
    let overdue = Status::Offered { overdue: Some(Why::Unheard) };
    assert_eq!(status(&told, 1, MessageStep::Entered), overdue);
    assert_eq!(told.fleet.pending_texts(AgentId(BOB), told.now).count(), 1);
    // What can't be typed needs a person, and so does its agent.
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Held(Held::LongLine));
    let confirmed = Confirmation::Confirmed;
    assert!(told.fleet.needs_operator(told.agent(BOB), confirmed));
    told.ask(Command::Unsend { id: MessageId(1) }).expect("it waits");
    assert!(!told.fleet.needs_operator(told.agent(BOB), confirmed));
}

#[test]
fn what_is_over_can_not_be_withdrawn_and_what_is_lost_neither() {
    let message = MessageId(1);
    for step in [MessageStep::Seen, MessageStep::Withdrawn, MessageStep::Returned] {
        assert_eq!(message::not_withdrawn(message, step), Refusal::MessageOver { message, step });
    }
    for step in [MessageStep::Recorded, MessageStep::Offered, MessageStep::Held] {
        assert_eq!(message::not_withdrawn(message, step), Refusal::MessageLost { message });
    }
}

/// T11: what a hook of the user's blocked waits for a person, and the next text goes.
#[test]
fn a_text_that_a_hook_blocked_is_not_typed_again_and_holds_back_no_other() {
    let refused = |text: &str, dated| Trace::Blocked {
        dated,
        words: print(text).into(),
        because: "é".repeat(400),
    };
    let mut told = idle();
    told.send(1, "fruit");
    told.send(2, "bread");
    assert_eq!(told.offer(), "offered 1");
    told.delivered(1, 1, Outcome::Entered);
    told.trace(Trace::PromptHeard(print("fruit").into()));
    // An equal one that stood there before is another text; so is one of other words.
    assert_eq!(told.trace(refused("fruit", Some(Time(1)))), "");
    assert_eq!(told.trace(refused("wine", None)), "");
    assert_eq!(told.trace(refused("fruit", None)), format!("blocked 1 {}", "é".repeat(128)));
    assert_eq!(told.why(1), Some(Why::After(Held::Blocked)));
    assert_eq!(told.offer(), "offered 2");
    told.trace(Trace::Held { dated: None, words: print("bread").into() });
    told.pass_seconds(3600);
    assert_eq!((told.offer(), told.typed()), (String::new(), vec![]));
    let known = told.fleet.messages().get(MessageId(1)).expect("it waits");
    assert!(known.needs_person());
    told.ask(Command::Unsend { id: MessageId(1) }).expect("it is in nobody's line");
    assert!(told.fleet.messages().get(MessageId(1)).is_none());
}

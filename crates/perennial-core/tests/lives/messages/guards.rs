//! Texts to agents, guard by guard: each case fails if that one guard is taken away.

use perennial_core::event::AgentEvent;
use perennial_core::hold::HeldFor;

use super::*;

/// A text that was entered and heard in session 1, which the operator then stopped.
fn stopped_with_it() -> Told {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.trace(Trace::PromptHeard(print("one").into()));
    told.pass_seconds(5);
    told.ask(Command::Stop(AgentId(BOB).to_string())).expect("a person may");
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::Code(0)));
    told
}

/// The session is killed, and the next one goes on with its conversation.
fn killed_and_resumed(told: &mut Told) {
    told.pass_seconds(5);
    let number = told.number(BOB);
    told.report(BOB, number, Report::Exited(Exit::KillSignal(9)));
    told.pass_seconds(1);
    assert_eq!(told.number(BOB), number.next());
    told.begun(BOB, "c-1", Followed::Resumed);
}

#[test]
fn a_later_text_does_not_overtake_one_that_waits() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Held(Held::NoEcho));
    told.send(2, "two");
    assert_eq!((told.offer().as_str(), told.why(2)), ("", Some(Why::Earlier(MessageId(1)))), "T3");
    assert_eq!(told.trace(Trace::LineFree), "", "T3");
    told.pass_seconds(1);
    assert_eq!(told.offer(), "offered 1");
    assert_eq!(told.why(2), Some(Why::Earlier(MessageId(1))), "T2");
}

#[test]
fn texts_are_offered_in_the_order_of_their_recording_not_of_their_ids() {
    let mut told = idle();
    told.send(2, "first");
    told.pass_seconds(1);
    told.send(1, "second");
    assert_eq!(told.offer(), "offered 2", "T3");
    told.delivered(2, 1, Outcome::Entered);
    told.show(BOB, Sign::TurnBegan);
    told.trace(Trace::PromptHeard(print("first").into()));
    assert_eq!(told.offer(), "", "T3");
    told.trace(Trace::Held { dated: None, words: print("first").into() });
    assert_eq!(told.offer(), "offered 1");

    // Those by hook too, in one reply.
    let mut told = idle();
    for (id, seconds) in [(2, 0), (1, 1)] {
        told.pass_seconds(seconds);
        let content = Content::Reminder { calls: 20, sample: None };
        let (to, from) = (AgentId(BOB).into(), Sender::Perennial);
        let recorded = MessageEvent::Recorded { to, from, content };
        let what = What::Message(MessageId(id), recorded);
        told.fleet.evolve(&Event { at: told.now, what });
    }
    assert_eq!(hook(&mut told), "offered 2, offered 1", "T3");
}

#[test]
fn what_one_text_does_has_the_others_of_its_agent_planned_anew() {
    let mut told = idle();
    told.send(1, "one");
    told.send(2, "two");
    told.offer();
    let heard = MessageEvent::Heard { attempt: 1 };
    let event = Event { at: told.now, what: What::Message(MessageId(1), heard) };
    let touched = told.fleet.evolve(&event);
    assert!(touched.contains(&Entity::Message(MessageId(2))), "T2: {touched:?}");
    let seen = MessageEvent::Seen { session: SessionNumber(1) };
    let event = Event { at: told.now, what: What::Message(MessageId(1), seen) };
    let touched = told.fleet.evolve(&event);
    assert!(touched.contains(&Entity::Message(MessageId(2))), "T5: {touched:?}");
    assert!(touched.contains(&Entity::Message(MessageId(1))), "its timers end: {touched:?}");

    // What happens to the agent has its texts planned anew.
    let number = told.number(BOB);
    let what = What::Agent(AgentId(BOB), AgentEvent::SessionProgressed { number });
    let touched = told.fleet.evolve(&Event { at: told.now, what });
    assert!(touched.contains(&Entity::Message(MessageId(2))), "{touched:?}");
}

#[test]
fn an_agent_that_is_held_gets_no_text_by_any_way() {
    for held_for in [HeldFor::Person, HeldFor::Verdict] {
        let mut told = idle();
        told.send(1, "one");
        told.offer();
        told.delivered(1, 1, Outcome::Held(Held::Draft));
        measured(&mut told, 60);
        told.hold(BOB, held_for);
        told.pass_seconds(120);
        assert_eq!((told.offer().as_str(), told.why(1)), ("", Some(Why::AgentHeld)));
        assert_eq!(told.trace(Trace::LineFree), "");
        assert_eq!(told.trace(Trace::PromptHeard(print("another").into())), "");
        assert_eq!(hook(&mut told), "");
        assert_eq!(told.typed(), []);
    }
    let mut told = idle();
    told.send(1, "one");
    told.hold(BOB, HeldFor::Person);
    assert_eq!(told.offer(), "");
    told.ask(Command::Wake(AgentId(BOB).to_string())).expect("a person may");
    assert_eq!(told.offer(), "offered 1", "the hold was lifted");
}

#[test]
fn what_stands_in_the_conversation_since_the_first_offer_is_the_text() {
    let (mut told, at) = died_with_it();
    let now = told.now;
    assert_eq!(told.trace_of(SessionNumber(1), settled(now)), "held 1 SessionEnded");
    assert_eq!(told.offer(), "offered 1", "its line was not written yet");
    assert_eq!(told.trace(Trace::Held { dated: Some(at), words: print("one").into() }), "seen 1");
}

#[test]
fn whatever_a_person_may_undo_is_over_when_the_line_is_free() {
    let held = [
        (Held::Draft, true),
        (Held::Doubt, true),
        (Held::Dialog, true),
        (Held::Suspended, true),
        (Held::NotDrawn, false),
        (Held::NoEcho, false),
        (Held::Leftover, false),
        (Held::Busy, false),
        (Held::Full, false),
        (Held::OldHolder, false),
    ];
    for (held, is_freed) in held {
        for trace in [Trace::LineFree, Trace::PromptHeard(print("a person's own").into())] {
            let mut told = idle();
            told.send(1, "one");
            told.send(2, "two");
            told.offer();
            told.delivered(1, 1, Outcome::Held(held));
            let expected = if is_freed { "offered 1" } else { "" };
            assert_eq!(told.trace(trace.clone()), expected, "{held:?}, {trace:?}");
        }
    }
}

#[test]
fn a_text_that_its_holder_has_not_typed_yet_is_not_passed_over() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    // The holder hangs, and will type it.
    told.pass_seconds(600);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "", "T4");
    assert_eq!(told.typed(), [(1, 1)]);
}

#[test]
fn a_conversation_that_was_read_before_a_text_was_heard_says_nothing_of_it() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
    told.pass_seconds(1);
    let read_at = told.now;
    told.pass_seconds(1);
    // The hook of the dead session comes late, and what was read even later.
    let first = SessionNumber(1);
    assert_eq!(told.trace_of(first, Trace::PromptHeard(print("one").into())), "heard 1");
    assert_eq!(told.trace_of(first, settled(read_at)), "", "T4");
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace_of(first, settled(at)), "held 1 SessionEnded");
}

#[test]
fn an_answer_in_another_session_passes_nothing_over() {
    let mut told = idle();
    measured(&mut told, 60);
    assert_eq!(hook(&mut told), "offered ours");
    killed_and_resumed(&mut told);
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(Trace::Answered { at }), "", "T4: session 2 was not offered it");
    assert_eq!(told.trace_of(SessionNumber(1), Trace::Answered { at }), "held ours NotTaken");
}

#[test]
fn a_text_of_a_session_without_a_next_one_waits_for_the_conversation() {
    let mut told = stopped_with_it();
    told.pass_seconds(3600);
    assert_eq!(told.offer(), "", "T4: nobody has looked");
    let plan = told.fleet.plan(&Entity::Message(MessageId(1)), told.now);
    assert_eq!((plan.effects, plan.timers), (Vec::new(), Vec::new()));
    let due = Observation::Due { entity: Entity::Message(MessageId(1)), timer: Timer::Settled };
    assert_eq!(words(&told.observe(&due)), "");
    told.ask(Command::Wake(AgentId(BOB).to_string())).expect("a person may");
    told.begun(BOB, "c-1", Followed::Resumed);
    assert_eq!(told.offer(), "", "the next session has just begun");
    told.pass_seconds(15);
    assert_eq!(told.offer(), "held 1 SessionEnded");
}

#[test]
fn a_hook_of_another_session_is_given_nothing() {
    let mut told = idle();
    killed_and_resumed(&mut told);
    assert_eq!(measured(&mut told, 60), "recorded ours");
    for stale in [SessionNumber(1), SessionNumber(3)] {
        assert_eq!(told.fleet.offer(AgentId(BOB), stale, told.now), [], "T1");
    }
    assert_eq!(hook(&mut told), "offered ours");

    // Nor one of a session that is over.
    let mut told = idle();
    measured(&mut told, 60);
    told.ask(Command::Stop(AgentId(BOB).to_string())).expect("a person may");
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::Code(0)));
    assert_eq!(hook(&mut told), "");
}

#[test]
fn every_way_into_a_new_window_withdraws_the_notices_of_the_old_one() {
    let began = |conversation: &str, how| {
        let conversation = conversation.parse().expect("an id");
        Sign::Began { conversation, how }
    };
    for sign in [
        began("c-2", Followed::Cleared),
        began("c-2", Followed::Started),
        began("c-1", Followed::Compacted),
        Sign::WindowBegan,
    ] {
        let mut told = idle();
        measured(&mut told, 60);
        assert_eq!(words(&told.show(BOB, sign.clone())), "withdrawn ours", "{sign:?}");
    }
    for sign in [began("c-2", Followed::Resumed), began("c-2", Followed::Forked)] {
        let mut told = idle();
        measured(&mut told, 60);
        assert_eq!(words(&told.show(BOB, sign.clone())), "", "{sign:?}");
    }

    // Also as the first word of a session.
    for how in [Followed::Cleared, Followed::Started] {
        let mut told = idle();
        measured(&mut told, 60);
        told.pass_seconds(5);
        told.report(BOB, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
        told.executed(BOB);
        assert_eq!(told.number(BOB), SessionNumber(2));
        assert_eq!(words(&told.show(BOB, began("c-2", how))), "withdrawn ours", "{how:?}");
    }
}

#[test]
fn a_notice_of_an_earlier_window_is_not_told_where_the_new_one_has_come_as_far() {
    let mut told = idle();
    measured(&mut told, 60);
    assert_eq!(hook(&mut told), "offered ours");
    told.show(BOB, Sign::WindowBegan);
    told.pass_seconds(1);
    assert_eq!(measured(&mut told, 60), "recorded ours");
    let at = told.now;
    assert_eq!(told.trace(Trace::Answered { at }), "withdrawn ours", "the one that was offered");
    assert_eq!(hook(&mut told), "offered ours", "the other one");
}

#[test]
fn a_window_counts_as_told_only_of_what_it_has_passed() {
    let clock_told = |events: &[Event]| {
        let is_told =
            |event: &&Event| matches!(event.of_agent(), Some((_, AgentEvent::ClockTold { .. })));
        events.iter().filter(is_told).count()
    };
    let mut told = idle();
    measured(&mut told, 60);
    let number = told.number(BOB);
    let offered = told.fleet.offer(AgentId(BOB), number, told.now);
    assert_eq!(clock_told(&offered), 1);
    let began = What::Agent(AgentId(BOB), AgentEvent::WindowBegan { number });
    told.fold(&[Event { at: told.now, what: began }]);
    let offered = told.fleet.offer(AgentId(BOB), number, told.now);
    assert_eq!((offered.len(), clock_told(&offered)), (1, 0), "C1");
}

#[test]
fn an_id_in_a_hooks_text_counts_only_for_what_a_hook_gave() {
    // The user's own hook lists what was sent: a text that waits, one that is typed, a notice that
    // was not given yet.
    let mut told = idle();
    told.send(1, "one");
    told.send(2, "two");
    told.offer();
    measured(&mut told, 60);
    let all = |told: &Told| -> Vec<MessageId> {
        told.fleet.messages().of(AgentId(BOB)).map(|message| message.id).collect()
    };
    let ids = all(&told);
    assert_eq!(ids.len(), 3);
    assert_eq!(told.trace(Trace::Mentioned { ids: ids.clone() }), "");
    assert_eq!(hook(&mut told), "offered ours");
    assert_eq!(told.trace(Trace::Mentioned { ids }), "seen ours");

    // One that was given to the session before: the conversation goes on, and holds it.
    let mut told = idle();
    measured(&mut told, 60);
    hook(&mut told);
    killed_and_resumed(&mut told);
    let ids = all(&told);
    assert_eq!(told.trace(Trace::Mentioned { ids }), "seen ours");
}

/// T8
#[test]
fn what_held_a_text_in_one_session_is_over_in_the_next() {
    let held = [
        (Held::Draft, true),
        (Held::Doubt, true),
        (Held::Dialog, true),
        (Held::Suspended, true),
        (Held::NotDrawn, true),
        (Held::NoEcho, true),
        (Held::Leftover, true),
        (Held::Busy, true),
        (Held::Full, true),
        (Held::OldHolder, true),
        (Held::LongLine, true),
        (Held::Damaged, false),
        (Held::Unfit, false),
    ];
    for (held, is_over) in held {
        let mut told = idle();
        told.pass_seconds(5);
        told.send(1, "one");
        told.offer();
        for attempt in 1..9 {
            told.delivered(1, attempt, Outcome::Held(held));
            told.pass_seconds(60);
            told.offer();
        }
        told.delivered(1, 9, Outcome::Held(held));
        told.report(BOB, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
        told.pass_seconds(1);
        told.begun(BOB, "c-1", Followed::Resumed);
        let expected = if is_over { "offered 1" } else { "" };
        assert_eq!(told.offer(), expected, "{held:?}");
    }
}

#[test]
fn a_text_waits_for_the_end_of_its_turn_not_for_background_tasks() {
    let mut told = idle();
    told.send_after(1, "one", true);
    told.show(BOB, Sign::TurnBegan);
    assert_eq!((told.offer().as_str(), told.why(1)), ("", Some(Why::TurnRuns)));
    told.show(BOB, Sign::BackgroundWork);
    assert_eq!(told.offer(), "offered 1");

    // A bare command has no turns.
    let mut told = Told::new();
    told.spawn(BOB, None, Restart::Never);
    told.executed(BOB);
    told.send_after(1, "one", true);
    assert_eq!(told.offer(), "offered 1");
}

/// A text that was held in session 1.
fn held_in_line(held: Held) -> Told {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Held(held));
    told
}

/// What a holder says that may have pasted: a dialog, a doubt, a suspension and a terminal that takes
/// nothing are found before the paste or after it, and it does not tell which.
const PASTED: [Held; 7] = [
    Held::NoEcho,
    Held::Leftover,
    Held::Draft,
    Held::Dialog,
    Held::Doubt,
    Held::Suspended,
    Held::Full,
];

#[test]
fn a_text_that_may_stand_in_the_input_line_is_not_taken_back() {
    let unsend = Command::Unsend { id: MessageId(1) };
    let refusal = Refusal::AlreadyOffered { message: MessageId(1) };
    for held in PASTED {
        let mut told = held_in_line(held);
        assert_eq!(told.ask(unsend.clone()), Err(refusal.clone()), "{held:?}");
        // That line went with its session.
        killed_and_resumed(&mut told);
        let events = told.ask(unsend.clone()).expect("it stands in no line");
        assert_eq!(words(&events), "withdrawn 1", "{held:?}");
    }
    for held in [Held::NotDrawn, Held::Busy] {
        let mut told = held_in_line(held);
        let events = told.ask(unsend.clone()).expect("nothing was pasted");
        assert_eq!(words(&events), "withdrawn 1", "{held:?}");
    }
}

/// T9: the next attempt may find something in the way before it could erase what the last one left.
#[test]
fn a_text_that_was_left_in_the_line_stands_there_whatever_the_next_attempt_finds() {
    let unsend = Command::Unsend { id: MessageId(1) };
    for held in [Held::Doubt, Held::Dialog, Held::Busy, Held::Suspended, Held::NotDrawn] {
        let mut told = held_in_line(Held::NoEcho);
        told.pass_seconds(2);
        assert_eq!(told.offer(), "offered 1");
        told.delivered(1, 2, Outcome::Held(held));
        assert!(told.ask(unsend.clone()).is_err(), "{held:?}");
        // Once it was entered it stands there no longer, and may be offered and taken back again.
        told.pass_seconds(60);
        assert_eq!(told.offer(), "offered 1");
        told.delivered(1, 3, Outcome::Entered);
        told.pass_seconds(61);
        let at = told.now;
        assert_eq!(told.trace(settled(at)), "held 1 NotTaken");
        assert!(told.ask(unsend.clone()).is_ok(), "{held:?}");
    }
}

#[test]
fn a_text_that_was_left_in_the_line_may_be_entered_by_a_person() {
    for held in PASTED {
        let mut told = held_in_line(held);
        let heard = Trace::PromptHeard(print("one").into());
        assert_eq!(told.trace(heard.clone()), "offered 1, heard 1", "{held:?}");
        assert_eq!(told.typed(), [], "it is not typed again");

        // A late hook of a session that is over says nothing of the line of the next one.
        let mut told = held_in_line(held);
        killed_and_resumed(&mut told);
        assert_eq!(told.trace_of(SessionNumber(1), heard.clone()), "", "{held:?}");
        assert_eq!(told.offer(), "offered 1");
    }
}

#[test]
fn a_text_that_was_entered_or_heard_is_not_held_by_a_late_word_of_its_holder() {
    let held = Outcome::Held(Held::NoEcho);
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    assert_eq!(told.delivered(1, 1, held), "", "T4: it was entered");

    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.trace(Trace::PromptHeard(print("one").into()));
    assert_eq!(told.delivered(1, 1, held), "", "T4: a person's Enter sent it");
}

#[test]
fn a_prompt_in_one_session_is_no_answer_to_a_text_that_is_typed_in_another() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    killed_and_resumed(&mut told);
    let heard = Trace::PromptHeard(print("one").into());
    assert_eq!(told.trace(heard.clone()), "", "a person's own words in session 2");
    assert_eq!(told.trace_of(SessionNumber(1), heard), "heard 1", "a late hook of session 1");
}

#[test]
fn a_reminder_of_a_session_that_is_over_is_not_recorded() {
    let mut told = idle();
    killed_and_resumed(&mut told);
    let due = |number| {
        let (agent, calls, sample) = (AgentId(BOB), 20, None);
        Observation::ReminderDue { agent, number, calls, sample }
    };
    for other in [SessionNumber(1), SessionNumber(3)] {
        assert_eq!(words(&told.observe(&due(other))), "", "{other}");
    }
    assert_eq!(words(&told.observe(&due(SessionNumber(2)))), "recorded ours");
}

/// The executor repeats a delivery only while it is planned.
#[test]
fn a_delivery_is_planned_only_while_its_attempt_stands() {
    let offered = || {
        let mut told = idle();
        told.pass_seconds(5);
        told.send(1, "one");
        told.offer();
        assert_eq!(told.typed(), [(1, 1)]);
        told
    };
    let mut told = offered();
    told.delivered(1, 1, Outcome::Entered);
    assert_eq!(told.typed(), []);

    let mut told = offered();
    told.trace(Trace::PromptHeard(print("one").into()));
    assert_eq!(told.typed(), []);

    let mut told = offered();
    told.trace(Trace::Held { dated: None, words: print("one").into() });
    assert_eq!(told.typed(), [], "seen in the transcript before its holder answered");

    let mut told = offered();
    told.report(BOB, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
    assert_eq!(told.typed(), [], "its session is over");

    let mut told = offered();
    told.delivered(1, 1, Outcome::Held(Held::NoEcho));
    assert_eq!(told.typed(), []);
    told.pass_seconds(1);
    told.offer();
    assert_eq!(told.typed(), [(1, 2)], "another attempt");
}

/// A daemon that hears a backlog records them in one moment.
#[test]
fn of_two_reminders_of_one_moment_the_later_one_is_offered_again() {
    let mut told = idle();
    told.show(BOB, Sign::TurnBegan);
    let moment = told.now;
    for calls in [20, 40] {
        told.now = moment;
        assert_eq!(reminder(&mut told, calls), "recorded ours");
        assert_eq!(hook(&mut told), "offered ours");
    }
    told.show(BOB, Sign::Waits(Wait::Input));
    told.pass_seconds(61);
    let at = told.now;
    let mut given_back = told.trace(settled(at)).split(", ").map(str::to_owned).collect::<Vec<_>>();
    given_back.sort();
    assert_eq!(given_back, ["held ours NotTaken", "withdrawn ours"]);
}

#[test]
fn nothing_is_typed_into_the_session_of_one_that_is_held() {
    for held_for in [HeldFor::Person, HeldFor::Verdict] {
        let mut told = idle();
        told.send(1, "one");
        told.offer();
        told.hold(BOB, held_for);
        assert_eq!(told.typed(), [], "{held_for:?}");
    }
}

#[test]
fn nothing_is_typed_into_the_session_of_one_whose_record_is_unreadable() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.damage(BOB);
    told.restart();
    assert_eq!(told.typed(), []);
}

/// The machine sleeps right after Enter: the CLI had no time to take it.
#[test]
fn a_suspended_machine_passes_no_text_over() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    let by = Duration::from_secs(600);
    told.pass(by);
    told.observe(&Observation::ClockJumped { by });
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "");
}

#[test]
fn a_look_of_before_the_session_ended_says_nothing_of_its_texts() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.pass_seconds(1);
    let before = told.now;
    told.pass_seconds(1);
    let number = told.number(BOB);
    told.report(BOB, number, Report::Exited(Exit::KillSignal(9)));
    assert_eq!(told.number(BOB), SessionNumber(2));
    assert_eq!(told.trace_of(SessionNumber(1), settled(before)), "");
}

#[test]
fn a_late_hook_of_an_earlier_session_takes_nothing_out_of_this_ones_line() {
    let mut told = idle();
    told.pass_seconds(5);
    let number = told.number(BOB);
    told.report(BOB, number, Report::Exited(Exit::KillSignal(9)));
    told.begun(BOB, "c-1", Followed::Resumed);
    told.send(1, "one");
    assert_eq!(told.offer(), "offered 1");
    told.delivered(1, 1, Outcome::Held(Held::NoEcho));
    assert_eq!(told.trace_of(SessionNumber(1), Trace::PromptHeard(print("one").into())), "");
}

/// The id of a message is used once.
#[test]
fn a_text_is_not_overwritten_by_one_with_its_id() {
    let mut told = idle();
    told.send(1, "one");
    let (body, fingerprint) = body("two");
    let (id, target) = (MessageId(1), AgentId(BOB).to_string());
    let again = told.ask(Command::Send { id, target, body, fingerprint, after_turn: false });
    assert_eq!(again, Err(Refusal::MessageExists { message: id }));
}

/// T7 beside T9: a person's Enter tells that the words were sent, not that the text may be typed again.
#[test]
fn a_text_with_an_unreadable_record_is_not_typed_again_after_a_persons_enter() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Held(Held::NoEcho));
    told.fleet.mark_message_unreadable(MessageId(1));
    assert_eq!(told.why(1), Some(Why::Unreadable));
    told.trace(Trace::PromptHeard(print("one").into()));
    killed_and_resumed(&mut told);
    let now = told.now;
    told.trace(settled(now));
    told.pass_seconds(60);
    assert_eq!(told.offer(), "", "T7");
    assert_eq!(told.typed(), [], "T7");
}

/// T3.
#[test]
fn a_text_that_an_ended_session_may_have_taken_goes_first_also_if_it_was_not_heard() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    killed_and_resumed(&mut told);
    told.send(2, "two");
    assert_eq!((told.offer().as_str(), told.why(2)), ("", Some(Why::Earlier(MessageId(1)))), "T3");
}

#[test]
fn a_text_is_not_passed_over_while_a_dialog_is_open() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.show(BOB, Sign::Waits(Wait::Permission));
    told.pass_seconds(120);
    let now = told.now;
    assert_eq!(told.trace(settled(now)), "", "T4");
}

#[test]
fn only_who_may_send_takes_a_text_back() {
    let mut told = idle();
    told.send(1, "one");
    let caller = perennial_core::authority::Caller::Agent(AgentId(2));
    let refused = told.ask_as(caller, Command::Unsend { id: MessageId(1) });
    assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
}

#[test]
fn a_line_that_lay_there_before_keeps_its_date() {
    let text = print("one");
    let line = Fact::new(Origin::Transcript, Seen::Prompt { text }).at(Some(Time(5)));
    let old = Fact { is_old: true, ..line.clone() };
    let dated = |fact: &Fact| match message::trace(fact, Time(9)) {
        Some(Trace::Held { dated, .. }) => dated,
        other => panic!("{other:?}"),
    };
    assert_eq!((dated(&line), dated(&old)), (None, Some(Time(5))), "T5");
}

#[test]
fn two_notices_of_one_moment_are_two() {
    let mut told = idle();
    let sample = Sample { tokens: 60, window: 100, usable: 100, source: Source::StatusLine };
    let threshold = perennial_core::context::Threshold::ALL[0];
    let noticed = |told: &Told| {
        let happened = message::noticed(&told.fleet, AgentId(BOB), threshold, sample, told.now);
        happened.into_iter().last().expect("it is recorded")
    };
    let (first, recorded) = noticed(&told);
    told.fleet.evolve(&Event { at: told.now, what: What::Message(first, recorded) });
    assert_ne!(noticed(&told).0, first);
}

/// Another node recorded the text while this one buried its agent.
#[test]
fn a_text_to_an_agent_that_is_buried_already_is_returned() {
    let mut told = idle();
    told.send(1, "one");
    let (cause, to) = (perennial_core::state::Cause::Buried, perennial_core::state::State::Dead);
    let (reason, until) = (perennial_core::reason::Reason::Retired, None);
    let evidence = told.agent(BOB).evidence.clone();
    let moved = perennial_core::event::Move { cause, to, reason, evidence, until };
    let what = What::Agent(AgentId(BOB), AgentEvent::Moved(moved));
    told.fleet.evolve(&Event { at: told.now, what });
    assert_eq!(told.offer(), "returned 1");
}

fn refused(text: &str) -> Trace {
    Trace::Blocked { dated: None, words: print(text).into(), because: "no".into() }
}

/// T11: of two equal texts, the one that stands in the line was blocked.
#[test]
fn a_text_that_was_blocked_before_is_not_blocked_in_place_of_its_like() {
    let mut told = idle();
    told.send(1, "fruit");
    told.send(2, "fruit");
    for (id, words) in [(1, "blocked 1 no"), (2, "blocked 2 no")] {
        assert_eq!(told.offer(), format!("offered {id}"));
        told.delivered(id, 1, Outcome::Entered);
        assert_eq!(told.trace(refused("fruit")), words);
    }
    assert_eq!(told.trace(refused("fruit")), "", "it is said once");
}

/// T5, T11
#[test]
fn a_prompt_is_the_text_that_was_typed_and_not_a_blocked_one() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.trace(refused("one"));
    told.pass_seconds(5);
    told.send(2, "one");
    told.offer();
    told.delivered(2, 1, Outcome::Entered);
    assert_eq!(told.trace(Trace::PromptHeard(print("one").into())), "heard 2");
    let held = told.trace(Trace::Held { dated: None, words: print("one").into() });
    told.pass_seconds(200);
    let at = told.now;
    let (later, again) = (told.trace(settled(at)), told.offer());
    assert_eq!((held.as_str(), later.as_str(), again.as_str()), ("seen 2", "", ""));
}

/// T9, T11: what was refused stands in no line.
#[test]
fn a_text_that_was_left_in_the_line_and_then_blocked_is_taken_back() {
    let mut told = held_in_line(Held::NoEcho);
    told.pass_seconds(2);
    assert_eq!(told.offer(), "offered 1");
    assert_eq!(told.trace(refused("one")), "blocked 1 no");
    assert!(told.ask(Command::Unsend { id: MessageId(1) }).is_ok());
}

#[test]
fn a_refusal_that_lay_there_before_keeps_its_date() {
    let seen = Seen::PromptBlocked { text: print("one"), words: "no".into() };
    let line = Fact::new(Origin::Transcript, seen).at(Some(Time(5)));
    let old = Fact { is_old: true, ..line.clone() };
    let dated = |fact: &Fact| match message::trace(fact, Time(9)) {
        Some(Trace::Blocked { dated, .. }) => dated,
        other => panic!("{other:?}"),
    };
    assert_eq!((dated(&line), dated(&old)), (None, Some(Time(5))), "T5");
}

/// A version before this one knew texts by another fingerprint.
#[test]
fn a_prompt_is_known_by_its_older_fingerprint_where_only_that_is_recorded() {
    use std::borrow::Cow;
    let mut told = idle();
    told.send(1, "one");
    let (older, newer) = (print("one"), print("two"));
    let seen = [
        |text| Seen::PromptSubmitted { text },
        |text| Seen::Prompt { text },
        |text| Seen::PromptBlocked { text, words: "no".to_owned() },
    ];
    for seen in seen {
        let heard =
            |text| Fact { older_text: Some(older), ..Fact::new(Origin::Transcript, seen(text)) };
        let recorded = |told: &Told, fact| {
            message::as_recorded(&told.fleet, AgentId(BOB), Cow::Owned(fact)).into_owned()
        };
        assert_eq!(recorded(&told, heard(newer)).seen, seen(older));
        let mut both = told.clone();
        both.send(2, "two");
        assert_eq!(recorded(&both, heard(newer)).seen, seen(newer), "it is recorded as it is");
    }
}

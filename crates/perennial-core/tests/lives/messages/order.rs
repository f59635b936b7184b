//! The order of texts over kills, the ends of turns and queues of the agent CLI.

use super::*;

/// Text 1 was typed and accepted in a turn of session 1: it is queued there.
fn queued() -> Told {
    let mut told = idle();
    told.show(BOB, Sign::TurnBegan);
    told.pass_seconds(1);
    told.send(1, "one");
    assert_eq!(told.offer(), "offered 1");
    told.delivered(1, 1, Outcome::Entered);
    assert_eq!(told.trace(Trace::PromptHeard(print("one").into())), "heard 1");
    told
}

fn seen(told: &mut Told, text: &str) -> String {
    told.trace(Trace::Held { dated: None, words: print(text).into() })
}

/// T3
#[test]
fn a_text_does_not_overtake_one_of_a_session_that_was_killed_with_it() {
    let killed = || {
        let mut told = queued();
        told.send(2, "two");
        told.pass_seconds(5);
        told.report(BOB, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
        told.pass_seconds(1);
        told.send(3, "three");
        told.begun(BOB, "c-1", Followed::Resumed);
        told.pass_seconds(1);
        assert_eq!((told.offer().as_str(), told.why(3)), ("", Some(Why::Earlier(MessageId(2)))));
        told
    };
    let first = SessionNumber(1);

    // It is given back, and goes first.
    let mut told = killed();
    let at = told.now;
    assert_eq!(told.trace_of(first, settled(at)), "held 1 SessionEnded");
    for (id, text) in [(1, "one"), (2, "two"), (3, "three")] {
        assert_eq!(told.offer(), format!("offered {id}"));
        let attempt = if id == 1 { 2 } else { 1 };
        told.delivered(id, attempt, Outcome::Entered);
        told.trace(Trace::PromptHeard(print(text).into()));
        assert_eq!(seen(&mut told, text), format!("seen {id}"));
    }

    // It was taken.
    let mut told = killed();
    assert_eq!(told.offer(), "");
    let held = Trace::Held { dated: None, words: print("one").into() };
    assert_eq!(told.trace_of(first, held), "seen 1");
    assert_eq!(told.offer(), "offered 2");

    // Nobody can read what became of it.
    let mut told = killed();
    told.pass_seconds(15);
    assert_eq!(told.offer(), "held 1 SessionEnded");
    assert_eq!(told.offer(), "offered 1");
}

/// What is offered to an earlier session and was recorded later is not in the way.
#[test]
fn a_text_that_was_given_back_goes_before_later_ones_that_were_not_yet() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.show(BOB, Sign::TurnBegan);
    told.trace(Trace::PromptHeard(print("one").into()));
    told.show(BOB, Sign::Waits(Wait::Input));
    told.pass_seconds(61);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "held 1 NotTaken");
    told.send(2, "two");
    assert_eq!(
        (told.offer().as_str(), told.why(2)),
        ("offered 1", Some(Why::Earlier(MessageId(1))))
    );
}

/// T3: the agent CLI takes what it has queued when a turn ends, and might take the next one first.
#[test]
fn a_text_waits_for_one_that_is_queued_when_the_turn_has_ended() {
    let mut told = queued();
    told.pass_seconds(1);
    told.show(BOB, Sign::Waits(Wait::Input));
    told.send(2, "two");
    assert_eq!((told.offer().as_str(), told.why(2)), ("", Some(Why::Earlier(MessageId(1)))));
    told.pass_seconds(1);
    // The next turn may have begun with something else.
    told.show(BOB, Sign::TurnBegan);
    assert_eq!((told.offer().as_str(), told.why(2)), ("", Some(Why::Earlier(MessageId(1)))));
    assert_eq!(seen(&mut told, "one"), "seen 1");
    assert_eq!(told.offer(), "offered 2");

    // Work in the background is no turn.
    let mut told = queued();
    told.pass_seconds(1);
    told.show(BOB, Sign::BackgroundWork);
    told.send(2, "two");
    assert_eq!((told.offer().as_str(), told.why(2)), ("", Some(Why::Earlier(MessageId(1)))));
}

#[test]
fn a_queue_that_was_lost_ends_the_wait_behind_it() {
    let mut told = queued();
    told.show(BOB, Sign::Waits(Wait::Input));
    told.send(2, "two");
    told.pass_seconds(60);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "held 1 NotTaken");
    assert_eq!(told.offer(), "offered 1", "T3");

    // Nor does a conversation that can't be read hold it back for ever.
    let mut told = queued();
    told.show(BOB, Sign::Waits(Wait::Input));
    told.send(2, "two");
    told.pass_seconds(119);
    assert_eq!(told.offer(), "");
    told.pass_seconds(1);
    assert_eq!(told.offer(), "offered 2");
}

/// A person may pop a queued text into the input line, and go on.
#[test]
fn a_text_that_turns_have_passed_over_does_not_wait_for_a_long_idleness() {
    let turn = |told: &mut Told| {
        told.show(BOB, Sign::TurnBegan);
        told.pass_seconds(20);
        told.show(BOB, Sign::Waits(Wait::Input));
        told.pass_seconds(19);
        let at = told.now;
        assert_eq!(told.trace(settled(at)), "", "the next turn may have begun, and not be heard");
    };
    let mut told = queued();
    turn(&mut told);
    turn(&mut told);
    told.pass_seconds(1);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "held 1 NotTaken");

    // One that was heard just now is not passed over by a turn that has ended just before or after.
    let mut told = queued();
    told.pass_seconds(1);
    told.show(BOB, Sign::Waits(Wait::Input));
    told.pass_seconds(58);
    let at = told.now;
    assert_eq!(told.trace(settled(at)), "");
}

#[test]
fn a_text_that_was_typed_and_is_not_seen_says_how_far_it_came() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.pass_seconds(4);
    assert_eq!(told.why(1), Some(Why::Due));
    told.pass_seconds(1);
    assert_eq!(told.why(1), Some(Why::Unheard));
    told.trace(Trace::PromptHeard(print("one").into()));
    assert_eq!(told.why(1), Some(Why::Due));
    told.pass_seconds(5);
    assert_eq!(told.why(1), Some(Why::Unseen));
}

/// A turn that waits for a rate limit: the agent CLI goes on by itself.
fn limited() -> Told {
    let mut told = idle();
    told.show(BOB, Sign::TurnBegan);
    told.show(BOB, Sign::Waits(Wait::RateLimit(None)));
    told.pass_seconds(1);
    told
}

/// The text goes into the queue of the agent CLI.
fn queue_up(told: &mut Told, id: u128, text: &str) {
    told.send(id, text);
    assert_eq!(told.offer(), format!("offered {id}"));
    told.delivered(id, 1, Outcome::Entered);
    assert_eq!(told.trace(Trace::PromptHeard(print(text).into())), format!("heard {id}"));
}

#[test]
fn a_text_that_is_queued_in_a_turn_which_waits_for_a_rate_limit_is_not_given_back() {
    let mut before = idle();
    before.show(BOB, Sign::TurnBegan);
    before.pass_seconds(1);
    queue_up(&mut before, 1, "one");
    before.show(BOB, Sign::Waits(Wait::RateLimit(None)));
    let mut within = limited();
    queue_up(&mut within, 1, "one");
    for mut told in [before, within] {
        for _ in 0..10 {
            told.pass_seconds(61);
            let at = told.now;
            assert_eq!(told.trace(settled(at)), "", "the agent CLI has it in its queue");
        }
        // Once the limit is given up, the turn is over.
        told.show(BOB, Sign::Waits(Wait::LimitReached(None)));
        told.pass_seconds(61);
        let at = told.now;
        assert_eq!(told.trace(settled(at)), "held 1 NotTaken");
    }
}

#[test]
fn a_turn_that_waits_for_a_rate_limit_is_waited_for() {
    let mut told = limited();
    told.send_after(1, "one", true);
    assert_eq!((told.offer().as_str(), told.why(1)), ("", Some(Why::TurnRuns)));
    told.show(BOB, Sign::Waits(Wait::LimitReached(None)));
    assert_eq!(told.offer(), "offered 1");

    let mut told = limited();
    queue_up(&mut told, 1, "one");
    told.send(2, "two");
    told.pass_seconds(125);
    assert_eq!((told.offer().as_str(), told.why(2)), ("", Some(Why::Earlier(MessageId(1)))), "T3");
}

/// The same for the order: two minutes of idleness.
#[test]
fn a_suspended_machine_frees_no_text_behind_one_that_is_queued() {
    let mut told = idle();
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.trace(Trace::PromptHeard(print("one").into()));
    told.send(2, "two");
    let by = Duration::from_secs(600);
    told.pass(by);
    told.observe(&Observation::ClockJumped { by });
    assert_eq!(told.offer(), "");
}

#[test]
fn a_queued_text_holds_others_back_for_two_minutes_since_its_turn_ended() {
    let mut told = idle();
    told.show(BOB, Sign::TurnBegan);
    told.pass_seconds(1);
    told.send(1, "one");
    told.offer();
    told.delivered(1, 1, Outcome::Entered);
    told.trace(Trace::PromptHeard(print("one").into()));
    told.send(2, "two");
    told.pass_seconds(300);
    told.show(BOB, Sign::Waits(Wait::Input));
    assert_eq!(told.offer(), "", "the turn has just ended");
    told.pass_seconds(120);
    assert_eq!(told.offer(), "offered 2");
}

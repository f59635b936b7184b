//! What is left of a turn when its session is over, and who is told that it needs somebody.

use std::time::Duration;

use perennial_core::agent::{DIALOG_AFTER, START_LIMIT, needs_operator};
use perennial_core::command::Command;
use perennial_core::conversation::{Followed, Opening, Turn};
use perennial_core::exit::Exit;
use perennial_core::id::AgentId;
use perennial_core::observation::{Observation, Report, Sign, Wait};
use perennial_core::reason::Reason;
use perennial_core::restart::{CHURN_LIMIT, HEALTHY, Restart};
use perennial_core::session::Phase;
use perennial_core::state::State;

use crate::signs::resume;
use crate::told::{Told, due};

const BOB: AgentId = AgentId(1);

/// An agent CLI in a turn of conversation `a`, with these signs after it.
fn in_turn(signs: &[Sign]) -> Told {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    for sign in signs {
        told.show(1, sign.clone());
    }
    told.pass(Duration::from_secs(5));
    told
}

impl Told {
    fn stop_and_wake(&mut self) -> Opening {
        self.ask(Command::Stop(BOB.to_string())).unwrap();
        self.ends(1, Exit::Code(0));
        self.ask(Command::Wake(BOB.to_string())).unwrap();
        self.agent(1).session.as_ref().expect("it has one").opening.clone()
    }

    fn restart_verb(&mut self) -> Opening {
        self.ask(Command::Restart(BOB.to_string())).unwrap();
        assert_eq!(self.agent(1).state, State::Waking, "the verb's state");
        // Whatever it says while it ends, the next session is to come.
        assert!(self.show(1, Sign::TurnBegan).is_empty());
        self.ends(1, Exit::Code(0));
        self.agent(1).session.as_ref().expect("it has one").opening.clone()
    }

    fn needs_you(&self) -> bool {
        let (state, reason) = self.shown_as(1);
        needs_operator(state, reason)
    }

    fn due(&mut self) {
        self.observe(&due(BOB));
    }

    fn jump(&mut self, by: Duration) {
        self.pass(by);
        self.observe(&Observation::ClockJumped { by });
    }
}

/// C4, C6, C10: how the next session begins after a crash, after a restart by a person, and after a stop
/// and a wake by one;
/// and what the agent then waits for, if it does.
#[test]
fn what_a_session_leaves_is_taken_up() {
    use Reason::{Idle, LimitReached, ServiceFailed, StoppedInTurn};
    let waits = |wait| vec![Sign::Waits(wait)];
    let cases = [
        (vec![], Turn::Open, Turn::Stopped, StoppedInTurn),
        (waits(Wait::Permission), Turn::Open, Turn::Stopped, StoppedInTurn),
        (waits(Wait::Answer), Turn::Open, Turn::Stopped, StoppedInTurn),
        (vec![Sign::BackgroundWork], Turn::Open, Turn::Stopped, StoppedInTurn),
        (waits(Wait::Input), Turn::Over, Turn::Over, Idle),
        (waits(Wait::Failure), Turn::Over, Turn::Over, ServiceFailed),
        (waits(Wait::LimitReached(None)), Turn::Over, Turn::Over, LimitReached),
    ];
    for (signs, crashed, stopped, then) in cases {
        let mut told = in_turn(&signs);
        assert_eq!(told.next_opening(1), resume("a", crashed), "{signs:?}");
        let mut told = in_turn(&signs);
        assert_eq!(told.restart_verb(), resume("a", stopped), "{signs:?}");
        let mut told = in_turn(&signs);
        assert_eq!(told.stop_and_wake(), resume("a", stopped), "{signs:?}");
        // Again and again, until somebody says something.
        for _ in 0..2 {
            told.begun(1, "a", Followed::Resumed);
            assert_eq!(told.shown_as(1), (State::Waiting, then), "{signs:?}");
            assert_eq!(told.needs_you(), then != Idle, "{signs:?}");
            told.pass(Duration::from_secs(5));
            assert_eq!(told.next_opening(1), resume("a", stopped), "{signs:?}");
        }
    }
}

/// Who restarts what has crashed cuts no turn off: it goes on, as it would have by itself.
#[test]
fn a_restart_of_a_crashed_agent_goes_on_with_its_turn() {
    let mut told = in_turn(&[]);
    for _ in 0..3 {
        told.ends(1, Exit::Code(1));
    }
    assert_eq!(told.agent(1).state, State::Crashed);
    told.ask(Command::Restart(BOB.to_string())).unwrap();
    assert_eq!(told.agent(1).turn, Turn::Open);
}

/// A parent can't type: what it stops and wakes goes on by itself.
#[test]
fn only_a_persons_stop_waits_for_a_persons_word() {
    let mut told = in_turn(&[]);
    told.ask(Command::Stop(BOB.to_string())).unwrap();
    told.ends(1, Exit::Code(0));
    assert_eq!(told.agent(1).turn, Turn::Stopped);
    told.ask(Command::Wake(BOB.to_string())).unwrap();
    told.begun(1, "a", Followed::Resumed);
    told.show(1, Sign::TurnBegan);
    assert_eq!(told.shown_as(1), (State::Working, Reason::InTurn));
    told.pass(Duration::from_secs(5));
    assert_eq!(told.next_opening(1), resume("a", Turn::Open));
}

/// C5: a failed turn is told until one succeeds.
#[test]
fn what_failed_stays_told_until_a_turn_succeeds() {
    for (wait, reason) in
        [(Wait::Failure, Reason::ServiceFailed), (Wait::LimitReached(None), Reason::LimitReached)]
    {
        let mut told = in_turn(&[Sign::Waits(wait)]);
        told.pass(Duration::from_secs(60));
        told.show(1, Sign::StillIdle);
        told.show(1, Sign::Waits(Wait::RateLimit(None)));
        told.show(1, Sign::VendorStatus { wait: Some(Wait::Input), since: told.now });
        assert_eq!(told.shown_as(1), (State::Waiting, reason));
        // Killed, and its first word lost: the first one that is heard says as much.
        told.ends(1, Exit::KillSignal(9));
        told.executed(1);
        told.show(1, Sign::Waits(Wait::Input));
        assert_eq!((told.shown_as(1), told.needs_you()), ((State::Waiting, reason), true));
        told.show(1, Sign::TurnBegan);
        told.show(1, Sign::Waits(Wait::Input));
        assert_eq!((told.shown_as(1), told.needs_you()), ((State::Waiting, Reason::Idle), false));
        assert_eq!(told.stop_and_wake(), resume("a", Turn::Over));
        told.begun(1, "a", Followed::Resumed);
        assert_eq!(told.shown_as(1), (State::Waiting, Reason::Idle));
    }
}

#[test]
fn a_limit_keeps_the_time_that_was_told_of_it() {
    let mut told = in_turn(&[]);
    let until = told.now + Duration::from_secs(3600);
    told.show(1, Sign::Waits(Wait::RateLimit(Some(until))));
    assert!(!told.needs_you());
    told.show(1, Sign::Waits(Wait::LimitReached(None)));
    assert_eq!((told.shown_as(1).1, told.agent(1).until), (Reason::LimitReached, Some(until)));
    let mut told = in_turn(&[Sign::Waits(Wait::LimitReached(None))]);
    told.show(1, Sign::Waits(Wait::RateLimit(Some(until))));
    assert_eq!((told.shown_as(1).1, told.agent(1).until), (Reason::LimitReached, Some(until)));
}

/// A reminder that it is idle tells of a turn's end that was not heard, and of nothing else.
#[test]
fn a_reminder_ends_only_a_turn_whose_end_was_lost() {
    for (signs, then) in [
        (vec![], Reason::Idle),
        (vec![Sign::Waits(Wait::Input)], Reason::Idle),
        (vec![Sign::Waits(Wait::Permission)], Reason::NeedsPermission),
        (vec![Sign::BackgroundWork], Reason::BackgroundTasks),
    ] {
        let mut told = in_turn(&signs);
        told.show(1, Sign::StillIdle);
        assert_eq!(told.shown_as(1).1, then, "{signs:?}");
    }
}

/// C6: background work counts as working, whatever the vendor's list says of it.
#[test]
fn background_work_is_work() {
    let mut told = in_turn(&[Sign::BackgroundWork]);
    let background = (State::Working, Reason::BackgroundTasks);
    assert_eq!(told.shown_as(1), background);
    assert!(told.show(1, Sign::BackgroundWork).is_empty());
    told.show(1, Sign::VendorStatus { wait: Some(Wait::Input), since: told.now });
    assert_eq!(told.shown_as(1), background);
    told.show(1, Sign::TurnBegan);
    assert_eq!(told.shown_as(1), (State::Working, Reason::InTurn));
    told.show(1, Sign::BackgroundWork);
    told.show(1, Sign::Waits(Wait::Input));
    assert_eq!(
        (told.shown_as(1), told.agent(1).turn),
        ((State::Waiting, Reason::Idle), Turn::Over)
    );
    told.show(1, Sign::BackgroundWork);
    assert_eq!((told.shown_as(1), told.agent(1).turn), (background, Turn::Open));
    // Also as its first word.
    let mut told = Told::new();
    told.spawn_cli(1, false, None).unwrap();
    told.executed(1);
    told.show(1, Sign::BackgroundWork);
    assert_eq!(told.shown_as(1), background);
}

/// M9: how a clean end before any sign of life is read.
#[test]
fn a_clean_end_before_any_sign_is_a_crash_of_an_agent_cli_and_the_end_of_a_command() {
    for silent_for in [Duration::ZERO, DIALOG_AFTER, START_LIMIT, HEALTHY] {
        for is_cli in [true, false] {
            let mut told = Told::new();
            if is_cli {
                told.spawn_cli(1, true, None).unwrap();
            } else {
                told.spawn(1, None, Restart::OnCrash);
            }
            told.executed(1);
            told.pass(silent_for);
            told.due();
            told.due();
            let number = told.number(1);
            told.report(1, number, Report::Finished(Exit::Code(0)));
            let crashed = told.agent(1).state != State::Sleeping;
            assert_eq!(crashed, is_cli, "{silent_for:?}");
        }
    }
}

/// M9: an agent CLI may end a TERM with 0 (Gemini). In the middle of a turn it did not end well, whatever its code.
#[test]
fn a_clean_end_in_an_open_turn_is_a_crash() {
    let table = [
        (Sign::TurnBegan, true),
        (Sign::Waits(Wait::Permission), true),
        (Sign::Waits(Wait::Input), false),
        // Its person may have left it: its turn has ended, or waits for nobody knows how long.
        (Sign::BackgroundWork, false),
        (Sign::Waits(Wait::RateLimit(None)), false),
    ];
    for (sign, is_crash) in table {
        let mut told = Told::new();
        told.spawn_cli(1, true, None).unwrap();
        told.executed(1);
        told.show(1, Sign::TurnBegan);
        told.show(1, sign.clone());
        told.pass(HEALTHY);
        let number = told.number(1);
        told.report(1, number, Report::Finished(Exit::Code(0)));
        let finished = told.shown_as(1) == (State::Sleeping, Reason::Finished);
        assert_eq!(finished, !is_crash, "{sign:?}: {:?}", told.shown_as(1));
    }
}

/// M9: it is not ended for its silence, and somebody is told.
#[test]
fn an_agent_cli_that_says_nothing_needs_you_and_is_left_alone() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.executed(1);
    told.pass(DIALOG_AFTER);
    told.due();
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::FirstRunDialog));
    let left = told.agent(1).until.expect("it does not wait for good").since(told.now);
    assert!(left <= START_LIMIT - DIALOG_AFTER, "{left:?}");
    told.pass(left);
    told.due();
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::SilentAtStart));
    assert!(told.needs_you());
    assert_eq!(told.agent(1).session.as_ref().unwrap().phase, Phase::Running);
    told.begun(1, "a", Followed::Started);
    assert_eq!(told.shown_as(1), (State::Working, Reason::InTurn));
}

/// M6: the machine slept, and nobody was silent meanwhile.
#[test]
fn a_suspended_machine_shows_no_dialog_and_makes_nobody_healthy() {
    let night = Duration::from_secs(8 * 3600);
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.executed(1);
    told.pass(Duration::from_secs(5));
    told.jump(night);
    told.due();
    assert_eq!(told.agent(1).state, State::Hatching);
    told.pass(DIALOG_AFTER);
    told.due();
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::FirstRunDialog));
    told.jump(night);
    told.due();
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::FirstRunDialog));

    let mut told = Told::new();
    told.spawn(1, None, Restart::OnCrash);
    for _ in 0..6 {
        told.executed(1);
        told.jump(night);
        told.pass(Duration::from_secs(2));
        told.ends(1, Exit::KillSignal(9));
        // Restarts of another day no longer count; but none of these sessions lived for long.
        assert!(told.agent(1).until.is_some());
        told.now = told.now.max(told.agent(1).until.unwrap());
        told.due();
    }
    assert_eq!(told.agent(1).history.restarts.len(), 1);
    let session = told.agent(1).session.as_ref().unwrap();
    assert!(session.lived(told.now) < Duration::from_secs(60));
}

/// M4: sessions that hang for longer than a healthy one lives are futile all the same.
#[test]
fn long_sessions_that_get_nothing_done_open_the_breaker_too() {
    let mut told = in_turn(&[]);
    for _ in 1..CHURN_LIMIT {
        told.pass(HEALTHY);
        assert_eq!(told.next_opening(1), resume("a", Turn::Open));
        told.begun(1, "a", Followed::Resumed);
    }
    told.pass(HEALTHY);
    told.ends(1, Exit::KillSignal(9));
    assert_eq!(told.shown_as(1), (State::Crashed, Reason::BreakerOpen));
}

/// The harness waits and goes on by itself: so does the next session, after a crash and a reboot.
#[test]
fn a_turn_that_waits_for_a_rate_limit_is_open() {
    let limited = [Sign::Waits(Wait::RateLimit(None))];
    let mut told = in_turn(&limited);
    assert_eq!(told.next_opening(1), resume("a", Turn::Open));
    let mut told = in_turn(&limited);
    told.reboot();
    assert_eq!(told.agent(1).state, State::Waking);
    let mut told = in_turn(&limited);
    assert_eq!(told.stop_and_wake(), resume("a", Turn::Stopped));
    // Nor is it the conversation that leads nowhere.
    let mut told = in_turn(&limited);
    for _ in 0..=CHURN_LIMIT {
        told.pass(Duration::from_secs(60));
        assert_eq!(told.next_opening(1), resume("a", Turn::Open));
        told.begun(1, "a", Followed::Resumed);
        told.show(1, Sign::Waits(Wait::RateLimit(None)));
    }
}

/// An agent CLI that runs is never given up for its silence, however late it came to run.
#[test]
fn a_start_has_one_limit_and_who_runs_is_waited_for() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    assert_eq!(told.agent(1).until, Some(told.agent(1).created_at + START_LIMIT));
    told.pass(START_LIMIT - Duration::from_secs(1));
    told.executed(1);
    told.pass(Duration::from_secs(5));
    told.due();
    assert_eq!(told.agent(1).state, State::Hatching);
    told.pass(DIALOG_AFTER);
    told.due();
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::FirstRunDialog));
    // One that never came to run is tried again.
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.pass(START_LIMIT);
    told.due();
    assert_eq!(told.shown_as(1), (State::Crashed, Reason::Retrying));
}

/// Whoever was being started is started again, with a dialog in its way or without one.
#[test]
fn a_reboot_before_the_first_sign_begins_the_session_again() {
    for shown_after in [Duration::ZERO, DIALOG_AFTER, START_LIMIT] {
        let mut told = Told::new();
        told.spawn_cli(1, true, None).unwrap();
        told.executed(1);
        told.pass(shown_after);
        told.due();
        told.reboot();
        assert_eq!((told.agent(1).state, told.number(1).0), (State::Waking, 2), "{shown_after:?}");
    }
}

/// The conversation is gone: its next session begins it anew. If a turn was cut off it is told what a first session is
/// told, or where the work stood if somebody had prompted it; and nothing otherwise.
#[test]
fn a_session_that_begins_a_conversation_anew_is_in_a_turn_only_if_it_was_told_something() {
    let (idle, in_turn) = ((State::Waiting, Reason::Idle), (State::Working, Reason::InTurn));
    let stopped = (State::Waiting, Reason::StoppedInTurn);
    for (has_prompt, left, then) in [
        (false, Turn::Open, in_turn),
        (true, Turn::Open, in_turn),
        (false, Turn::Over, idle),
        (true, Turn::Over, idle),
        (false, Turn::Stopped, stopped),
        (true, Turn::Stopped, stopped),
    ] {
        let mut told = Told::new();
        told.spawn_cli(1, has_prompt, None).unwrap();
        told.begun(1, "a", Followed::Started);
        told.show(1, Sign::TurnBegan);
        told.pass(Duration::from_secs(5));
        if left == Turn::Over {
            told.show(1, Sign::Waits(Wait::Input));
        }
        if left == Turn::Stopped {
            told.stop_and_wake();
        } else {
            told.report(1, told.number(1), Report::Exited(Exit::KillSignal(9)));
        }
        assert_eq!(told.agent(1).session.as_ref().unwrap().opening, resume("a", left));
        told.begun(1, "a", Followed::Started);
        assert_eq!(told.shown_as(1), then, "has a prompt: {has_prompt}, left {left:?}");
        // So the session after it waits for the operator too.
        assert_eq!(told.agent(1).turn == Turn::Stopped, left == Turn::Stopped);
    }
}

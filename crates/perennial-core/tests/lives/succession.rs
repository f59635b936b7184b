//! After what a session begins, in which conversation, and what it is told of the one before.

use std::time::Duration;

use perennial_core::checkpoint::CheckpointCause;
use perennial_core::command::Command;
use perennial_core::conversation::{FirstPrompt, Followed, Opening, Turn};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::id::AgentId;
use perennial_core::observation::{Report, Sign, Wait};
use perennial_core::restart::Restart;
use perennial_core::state::State;
use perennial_core::succession::{Afresh, Beginning, Form, LastSession};

use crate::signs::resume;
use crate::told::{Told, due};

const BOB: AgentId = AgentId(1);

/// An agent CLI that got something done in conversation `a`, and is in a turn.
fn at_work(restart: Restart) -> Told {
    let mut told = Told::new();
    told.spawn_cli_under(restart, 1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.show(1, Sign::Progressed);
    told.pass(Duration::from_secs(5));
    told
}

impl Told {
    fn opening(&self) -> Opening {
        self.agent(1).session.as_ref().expect("it has one").opening.clone()
    }

    fn beginning(&self) -> Beginning {
        self.agent(1).succession.beginning
    }

    fn stop(&mut self) {
        self.ask(Command::Stop(BOB.to_string())).unwrap();
        self.ends(1, Exit::Code(0));
    }

    fn wake(&mut self) {
        self.ask(Command::Wake(BOB.to_string())).unwrap();
    }

    fn wake_fresh(&mut self) {
        self.ask(Command::WakeFresh(BOB.to_string())).unwrap();
    }
}

fn is_anew(opening: &Opening, with: Turn, because: Afresh) -> bool {
    matches!(opening, Opening::Anew { turn, why, .. } if *turn == with && *why == because)
}

#[test]
fn a_session_knows_after_what_it_begins() {
    let told = at_work(Restart::OnCrash);
    assert_eq!(told.beginning(), Beginning::Birth);

    let mut crashed = at_work(Restart::OnCrash);
    crashed.next_opening(1);
    assert_eq!(crashed.beginning(), Beginning::Crash);

    let mut off = at_work(Restart::Never);
    off.ends(1, Exit::KillSignal(9));
    off.wake();
    assert_eq!(off.beginning(), Beginning::Crash);

    let mut again = at_work(Restart::Always);
    again.show(1, Sign::Waits(Wait::Input));
    again.ends(1, Exit::Code(0));
    assert_eq!(again.beginning(), Beginning::Again);

    // The next one of a short session has to wait: that makes no crash of its end.
    let mut at_once = Told::new();
    at_once.spawn_cli_under(Restart::Always, 1, true, None).unwrap();
    at_once.begun(1, "a", Followed::Started);
    at_once.show(1, Sign::Waits(Wait::Input));
    at_once.ends(1, Exit::Code(0));
    assert_eq!(at_once.agent(1).state, State::Crashed);
    assert_eq!(at_once.agent(1).checkpoint_due, Some(CheckpointCause::Finished));
    let retries_at = at_once.agent(1).until.expect("a retry");
    at_once.pass(retries_at.since(at_once.now));
    at_once.observe(&due(BOB));
    assert_eq!((at_once.agent(1).state, at_once.beginning()), (State::Waking, Beginning::Again));

    let mut stopped = at_work(Restart::OnCrash);
    stopped.stop();
    stopped.wake();
    assert_eq!((stopped.beginning(), stopped.agent(1).turn), (Beginning::Stop, Turn::Stopped));

    let mut finished = at_work(Restart::OnCrash);
    finished.show(1, Sign::Waits(Wait::Input));
    finished.ends(1, Exit::Code(0));
    finished.wake();
    assert_eq!(finished.beginning(), Beginning::Wake);

    let mut restarted = at_work(Restart::OnCrash);
    restarted.ask(Command::Restart(BOB.to_string())).unwrap();
    restarted.ends(1, Exit::Code(0));
    assert_eq!(restarted.beginning(), Beginning::Restart);

    let mut rebooted = at_work(Restart::OnCrash);
    rebooted.reboot();
    assert_eq!((rebooted.agent(1).state, rebooted.beginning()), (State::Waking, Beginning::Reboot));

    let mut idle = at_work(Restart::OnCrash);
    idle.show(1, Sign::Waits(Wait::Input));
    idle.reboot();
    idle.wake();
    assert_eq!(idle.beginning(), Beginning::Reboot);
}

/// Some agent CLIs can be told nothing before their first prompt, which begins a turn.
#[test]
fn a_turn_of_the_new_session_does_not_hide_how_the_last_one_ended() {
    let mut idle = at_work(Restart::OnCrash);
    idle.show(1, Sign::Waits(Wait::Input));
    idle.next_opening(1);
    let mut stopped = at_work(Restart::OnCrash);
    stopped.stop();
    stopped.wake();
    for (mut told, left) in [(idle, Turn::Over), (stopped, Turn::Stopped)] {
        told.begun(1, "a", Followed::Resumed);
        told.show(1, Sign::TurnBegan);
        let agent = told.agent(1);
        assert_eq!((agent.turn, agent.turn_left(told.beginning())), (Turn::Open, left));
        assert_eq!(agent.turn_left(Beginning::Compaction), Turn::Open);
        let waits = |how| agent.awaits_operator_at_window(how);
        assert_eq!(waits(Some(Followed::Resumed)), left == Turn::Stopped);
        assert!(!waits(Some(Followed::Compacted)) && !waits(None), "it has their word");
    }
}

/// A session that never came to life changes nothing about what its agent was doing.
#[test]
fn a_failed_start_does_not_hide_what_the_session_was_to_follow() {
    let mut told = at_work(Restart::OnCrash);
    told.stop();
    told.wake_fresh();
    let number = told.number(1);
    told.report(1, number, Report::NotStarted("no such file".into()));
    let until = told.agent(1).until.expect("a retry");
    told.now = told.now.max(until);
    told.observe(&due(BOB));
    assert_eq!(told.beginning(), Beginning::Stop);
    // SC3
    assert!(is_anew(&told.opening(), Turn::Stopped, Afresh::Asked), "{:?}", told.opening());
}

/// SC4: nobody is told to go on with a session that left nothing.
#[test]
fn a_session_goes_on_from_the_last_one_that_ran() {
    let last = |told: &Told| {
        let agent = told.agent(1);
        let number = |last: LastSession| (last.number.0, last.exit);
        (agent.succession.last.map(number), agent.next_goes_on_from().map(number))
    };
    let mut told = at_work(Restart::OnCrash);
    let killed = Some(Exit::KillSignal(9));
    assert_eq!(last(&told), (None, Some((1, None))));
    told.next_opening(1);
    assert_eq!(last(&told), (Some((1, killed)), Some((1, killed))));
    for _ in 0..2 {
        let number = told.number(1);
        told.report(1, number, Report::NotStarted("no such file".into()));
        let until = told.agent(1).until.expect("a retry");
        told.now = told.now.max(until);
        told.observe(&due(BOB));
    }
    assert_eq!((told.number(1).0, last(&told)), (4, (Some((1, killed)), Some((1, killed)))));
    // Stopped before it came to life, it is the one before that is gone on from.
    told.ask(Command::Stop(BOB.to_string())).unwrap();
    told.ends(1, Exit::Unknown(UnknownExit::NotStarted));
    told.wake();
    assert_eq!((told.number(1).0, told.beginning()), (5, Beginning::Stop));
    assert_eq!(last(&told).0, Some((1, killed)));
    told.begun(1, "a", Followed::Resumed);
    assert_eq!(last(&told).1, Some((5, None)));
}

/// SC3: the wish is over once a session has the new conversation.
#[test]
fn a_fresh_start_is_one_start_and_what_follows_resumes_the_new_conversation() {
    let mut told = at_work(Restart::Never);
    told.ends(1, Exit::KillSignal(9));
    told.wake_fresh();
    assert!(is_anew(&told.opening(), Turn::Open, Afresh::Asked), "{:?}", told.opening());
    told.begun(1, "b", Followed::Started);
    assert_eq!(told.agent(1).succession.afresh, None);
    told.ends(1, Exit::KillSignal(9));
    told.wake();
    assert_eq!(told.opening(), resume("b", Turn::Open));
}

#[test]
fn a_restart_with_a_new_conversation_waits_for_the_word_of_whoever_stopped_the_turn() {
    let mut told = at_work(Restart::OnCrash);
    told.ask(Command::RestartFresh(BOB.to_string())).unwrap();
    told.ends(1, Exit::Code(0));
    assert!(is_anew(&told.opening(), Turn::Stopped, Afresh::Asked), "{:?}", told.opening());
    // The agent has asked for nothing itself: also while the last session ends, the wish stands.
    let mut twice = at_work(Restart::OnCrash);
    twice.ask(Command::RestartFresh(BOB.to_string())).unwrap();
    twice.ask(Command::Restart(BOB.to_string())).unwrap();
    twice.ends(1, Exit::Code(0));
    assert!(is_anew(&twice.opening(), Turn::Stopped, Afresh::Asked), "{:?}", twice.opening());
}

/// It would be told of work that there is none of.
#[test]
fn before_anything_was_done_a_fresh_start_is_told_what_the_first_session_was() {
    let mut told = Told::new();
    told.spawn_cli_under(Restart::Never, 1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.ends(1, Exit::KillSignal(9));
    told.wake_fresh();
    assert!(matches!(told.opening(), Opening::Fresh(_)), "{:?}", told.opening());
}

/// An agent that had only read and answered was once given its first prompt again, as if nothing had happened.
#[test]
fn after_a_turn_without_an_edit_a_fresh_start_is_told_where_the_work_stood() {
    let mut told = Told::new();
    told.spawn_cli_under(Restart::Never, 1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.show(1, Sign::Waits(Wait::Input));
    told.stop();
    assert_eq!(told.agent(1).foretell(None, true).first_prompt, FirstPrompt::Briefing);
    told.wake_fresh();
    assert!(is_anew(&told.opening(), Turn::Over, Afresh::Asked), "{:?}", told.opening());

    // One that was never asked anything has nothing to be told of.
    let mut idle = Told::new();
    idle.spawn_cli_under(Restart::Never, 1, false, None).unwrap();
    idle.begun(1, "a", Followed::Started);
    idle.stop();
    idle.wake_fresh();
    assert!(matches!(idle.opening(), Opening::Fresh(_)), "{:?}", idle.opening());

    let mut stopped = Told::new();
    stopped.spawn_cli_under(Restart::Never, 1, true, None).unwrap();
    stopped.begun(1, "a", Followed::Started);
    stopped.stop();
    stopped.wake_fresh();
    assert!(is_anew(&stopped.opening(), Turn::Stopped, Afresh::Asked), "{:?}", stopped.opening());
}

#[test]
fn a_bare_command_has_no_conversation_to_begin_anew() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    told.executed(1);
    told.ends(1, Exit::KillSignal(9));
    assert!(Beginning::ALL.iter().all(|after| {
        let foretold = told.agent(1).foretell(Some(*after), false);
        (foretold.first_prompt, foretold.by_hook) == (FirstPrompt::Nothing, None)
    }));
    told.wake_fresh();
    assert_eq!(told.opening(), Opening::Bare);
    assert_eq!(told.agent(1).told_at_window(Some(Followed::Compacted)), None);
}

/// The table: what each opening is told first, with and without its conversation, before and after work was done.
#[test]
fn the_first_prompt_follows_from_the_opening() {
    use FirstPrompt::{Briefing, GoOn, Nothing, OfLaunch};
    let id = || "a".parse().expect("an id");
    let anew = |turn| Opening::Anew { conversation: id(), turn, why: Afresh::Asked };
    // Kept, lost before and after anything was done.
    let table = [
        (Opening::Bare, [Nothing, Nothing, Nothing]),
        (Opening::Fresh(id()), [OfLaunch, OfLaunch, OfLaunch]),
        (resume("a", Turn::Open), [GoOn, OfLaunch, Briefing]),
        (resume("a", Turn::Over), [Nothing, Nothing, Nothing]),
        (resume("a", Turn::Stopped), [Nothing, Nothing, Nothing]),
        (anew(Turn::Open), [Briefing, Briefing, Briefing]),
        (anew(Turn::Over), [Briefing, Briefing, Briefing]),
        (anew(Turn::Stopped), [Briefing, Briefing, Briefing]),
    ];
    for (opening, expected) in table {
        let told = [(false, true), (true, false), (true, true)]
            .map(|(is_lost, has_worked)| opening.first_prompt(is_lost, has_worked));
        assert_eq!(told, expected, "{opening:?}");
    }
}

/// SC1: a session that waits is told with its next hook; one that was prompted knows already.
#[test]
fn what_goes_with_a_hook_is_what_no_prompt_has_told() {
    let at = |told: &Told, how| told.agent(1).told_at_window(how);
    let mut told = at_work(Restart::OnCrash);
    assert_eq!(at(&told, Some(Followed::Started)), None, "its first session");
    let compacted = Some((Beginning::Compaction, Form::Full));
    assert_eq!(at(&told, Some(Followed::Compacted)), compacted);
    assert_eq!(at(&told, Some(Followed::Cleared)), None, "a person wanted it to forget");
    told.next_opening(1);
    assert_eq!(at(&told, Some(Followed::Resumed)), None, "its prompt has told it");

    let mut idle = at_work(Restart::OnCrash);
    idle.show(1, Sign::Waits(Wait::Input));
    idle.next_opening(1);
    assert_eq!(at(&idle, Some(Followed::Resumed)), Some((Beginning::Crash, Form::Note)));
    assert_eq!(at(&idle, None), Some((Beginning::Crash, Form::Note)));
    assert_eq!(at(&idle, Some(Followed::Started)), Some((Beginning::Crash, Form::Full)), "lost");

    let mut stopped = at_work(Restart::OnCrash);
    stopped.stop();
    stopped.wake();
    assert_eq!(at(&stopped, Some(Followed::Resumed)), Some((Beginning::Stop, Form::Note)));
}

/// What would be told if the session began now: after what, by which prompt or hook.
#[test]
fn what_the_next_session_would_begin_with_is_foretold() {
    use FirstPrompt::{Briefing, GoOn, Nothing};
    let of = |told: &Told, after, is_fresh| {
        let it = told.agent(1).foretell(after, is_fresh);
        (it.beginning, it.first_prompt, it.by_hook)
    };
    let mut told = at_work(Restart::OnCrash);
    // Nobody can prepare for a crash.
    assert_eq!(of(&told, None, false), (Beginning::Crash, GoOn, None));
    assert_eq!(of(&told, None, true), (Beginning::Crash, Briefing, None));
    // In a turn, whoever stops it is waited for.
    for after in [Beginning::Stop, Beginning::Restart] {
        let foretold = told.agent(1).foretell(Some(after), false);
        assert_eq!(foretold.opening, resume("a", Turn::Stopped));
        assert_eq!((foretold.first_prompt, foretold.by_hook), (Nothing, Some(Form::Note)));
    }
    let foretold = told.agent(1).foretell(Some(Beginning::Wake), false);
    assert_eq!(foretold.opening, resume("a", Turn::Open));
    let compaction = Some(Beginning::Compaction);
    assert_eq!(of(&told, compaction, false), (Beginning::Compaction, Nothing, Some(Form::Full)));
    assert_eq!(of(&told, Some(Beginning::Handoff), false), (Beginning::Handoff, Briefing, None));
    // Idle, a stop stops nothing.
    told.show(1, Sign::Waits(Wait::Input));
    let foretold = told.agent(1).foretell(Some(Beginning::Stop), false);
    assert_eq!(foretold.opening, resume("a", Turn::Over));
    let mut handing_off = at_work(Restart::OnCrash);
    let order = perennial_core::handoff::HandoffOrder {
        target: BOB.to_string(),
        subject: None,
        notes: None,
        deadline: None,
        finish: false,
        session: None,
    };
    handing_off.ask(Command::Handoff(Box::new(order))).expect("asked");
    assert_eq!(of(&handing_off, None, false), (Beginning::Handoff, Briefing, None));
    // Of one that has none it is told by the state that it is in.
    let mut stopped = at_work(Restart::OnCrash);
    stopped.stop();
    assert_eq!(of(&stopped, None, false), (Beginning::Stop, Nothing, Some(Form::Note)));
    let mut off = at_work(Restart::Never);
    off.ends(1, Exit::KillSignal(9));
    assert_eq!(of(&off, None, false), (Beginning::Crash, GoOn, None));
}

/// A bare command has begun once its program runs; one whose program could not be started has not.
#[test]
fn a_bare_commands_next_session_follows_the_one_that_ran() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::OnCrash);
    told.executed(1);
    told.stop();
    told.wake();
    assert_eq!(told.beginning(), Beginning::Stop);
    let retried = |told: &mut Told, runs: bool| {
        let number = told.number(1);
        if runs {
            told.executed(1);
            told.report(1, number, Report::Exited(Exit::Code(1)));
        } else {
            told.report(1, number, Report::NotStarted("no such file".into()));
        }
        if let Some(until) = told.agent(1).until {
            told.now = told.now.max(until);
            told.observe(&due(BOB));
        }
        told.beginning()
    };
    assert_eq!(retried(&mut told, false), Beginning::Stop, "what it was to follow still holds");
    assert_eq!(retried(&mut told, true), Beginning::Crash);
    // An agent's first session that failed was no birth that the next one repeats.
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::OnCrash);
    assert_eq!(retried(&mut told, false), Beginning::Crash);
}

/// A person wakes an agent again whose session has not begun: what it was to follow still holds.
#[test]
fn a_restart_before_the_beginning_changes_nothing_of_what_it_follows() {
    let mut told = at_work(Restart::OnCrash);
    told.stop();
    told.wake();
    assert_eq!((told.agent(1).state, told.beginning()), (State::Waking, Beginning::Stop));
    told.ask(Command::Restart(BOB.to_string())).expect("restarted");
    assert_eq!(told.beginning(), Beginning::Stop);
}

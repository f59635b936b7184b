//! Agents whose record can't be read: what a person's `wake` and a mended record lead to.

use std::time::Duration;

use perennial_core::agent;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request};
use perennial_core::conversation::{Followed, Turn};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::fact::{Fact, Failure, Listed, Origin, Seen};
use perennial_core::id::{AgentId, BootId, Epoch, SessionNumber};
use perennial_core::observation::{LivingSession, Observation, Report, Sign, Stocktaking, Wait};
use perennial_core::reason::Reason;
use perennial_core::restart::Restart;
use perennial_core::session::{Phase, Process};
use perennial_core::state::State;

use crate::listener::{Listener, SILENT_AFTER, ended, hook, prompt};
use crate::told::{Told, due};

const BOB: AgentId = AgentId(1);
const UNHEARD: (State, Reason) = (State::Unknown, Reason::DaemonStarted);
const WORKS: (State, Reason) = (State::Working, Reason::InTurn);
const IDLE: (State, Reason) = (State::Waiting, Reason::Idle);
const ASKS: (State, Reason) = (State::Waiting, Reason::NeedsPermission);

fn wake() -> Command {
    Command::Wake(BOB.to_string())
}

fn living(number: u32, is_running: bool) -> LivingSession {
    let process = is_running.then_some(Process { pid: 7, start_ticks: 7 });
    let (number, claim) = (SessionNumber(number), None);
    LivingSession { agent: BOB, number, process, claim, has_records: false }
}

/// Nothing at all was heard for so long.
fn silence(lasted: Duration) -> Fact {
    let received = Some(lasted);
    Fact::new(Origin::Kernel, Seen::Silence { lasted, received })
}

fn list(listener: &mut Listener, listed: Listed) {
    listener.told.pass(Duration::from_secs(1));
    let since = Some(listener.told.now);
    listener.hear(&Fact::new(Origin::List, Seen::Listed(listed)).at(since));
}

/// What its record says is found unreadable by the next daemon, which hears what it can.
fn damaged(mut listener: Listener, restarts: bool, hears: impl Fn(&mut Listener)) -> Listener {
    listener.told.pass(Duration::from_secs(3600));
    if restarts {
        listener.told.damage(1);
        listener.resume();
        hears(&mut listener);
        listener.catch_up();
    } else {
        listener.told.damage(1);
        hears(&mut listener);
    }
    assert_eq!(listener.shown(), (State::Unknown, Reason::RecordUnreadable));
    listener
}

/// Whatever was heard while nothing could be concluded from it decides once something can.
#[test]
fn after_a_wake_what_was_heard_decides() {
    type Heard = fn(&mut Listener);
    let cases: [(Heard, (State, Reason)); 6] = [
        (|l| list(l, Listed::Permission), ASKS),
        (|l| list(l, Listed::Question), (State::Waiting, Reason::NeedsAnswer)),
        (|l| list(l, Listed::Idle), IDLE),
        (|l| list(l, Listed::Busy), WORKS),
        (|l| _ = l.hear(&ended(0)), IDLE),
        (|l| _ = l.hear(&hook(Seen::PermissionAsked { tool: None })), ASKS),
    ];
    for (case, (hears, then)) in cases.into_iter().enumerate() {
        for restarts in [false, true] {
            let mut listener = damaged(Listener::new(), restarts, hears);
            listener.told.ask(wake()).unwrap();
            assert_eq!((listener.shown(), listener.told.agent(1).hold.clone()), (UNHEARD, None));
            listener.hear(&silence(Duration::from_secs(1)));
            assert_eq!(listener.shown(), then, "case {case}, restarts: {restarts}");
        }
    }
}

/// It was idle for an hour: it is not taken to hang, nor begun again with an open turn.
#[test]
fn an_idle_one_that_is_woken_from_damage_is_not_ended_for_its_silence() {
    let mut idle = Listener::new();
    idle.hear(&ended(0));
    let mut listener = damaged(idle, true, |_| {});
    listener.told.ask(wake()).unwrap();
    for minutes in 1..10 {
        listener.told.pass(Duration::from_secs(60));
        listener.hear(&silence(SILENT_AFTER + Duration::from_secs(60 * minutes)));
        assert_eq!(listener.told.agent(1).session.as_ref().unwrap().phase, Phase::Running);
    }
    assert_eq!((listener.shown(), listener.told.agent(1).turn), (UNHEARD, Turn::Over));
    assert!(listener.told.ask(wake()).is_err(), "it lives");
    listener.hear(&prompt("p2"));
    assert_eq!(listener.shown(), WORKS);
}

/// The transcript has how the turn ended; and what failed before stays told.
#[test]
fn the_transcript_and_what_is_unsettled_decide_too() {
    let mut listener = damaged(Listener::new(), true, |listener| {
        listener.write_unheard(Seen::Interrupted);
    });
    listener.told.ask(wake()).unwrap();
    listener.restart();
    assert_eq!(listener.shown(), IDLE);
    let mut failed = Listener::new();
    failed.hear(&hook(Seen::CallFailed(Failure::Refused)));
    let mut listener = damaged(failed, true, |listener| list(listener, Listed::Idle));
    listener.told.ask(wake()).unwrap();
    listener.caught_up();
    assert_eq!(listener.shown(), (State::Waiting, Reason::ServiceFailed));
}

/// Nothing was heard of it before: it is as one that starts, and a dialog may be in its way.
#[test]
fn one_that_never_announced_itself_is_waited_for_again() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.executed(1);
    told.pass(Duration::from_secs(60));
    told.damage(1);
    told.ask(wake()).unwrap();
    assert_eq!(told.agent(1).state, State::Waking);
    told.observe(&due(BOB));
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::FirstRunDialog));
}

#[test]
fn a_command_that_runs_works_after_a_wake() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::OnCrash);
    told.executed(1);
    told.damage(1);
    told.ask(wake()).unwrap();
    assert_eq!(told.shown_as(1), (State::Working, Reason::Running));
}

/// The end of a session while the record can't be read, and a mended record: the same with all events.
fn mended(before: &Told, happens: impl Fn(&mut Told) -> Vec<Event>) -> Told {
    let mut damaged = before.clone();
    damaged.damage(1);
    let events = happens(&mut damaged);
    assert_eq!(damaged.agent(1).state, State::Unknown);
    let mut mended = before.clone();
    mended.now = damaged.now;
    mended.fold(&events);
    mended
}

fn working() -> Told {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.pass(Duration::from_secs(5));
    told
}

fn has_timer(told: &Told) -> bool {
    !told.fleet.plan(&Entity::Agent(BOB), told.now).timers.is_empty()
}

/// Every state has an exit: what an end leads to is decided when the record can be read again.
#[test]
fn an_end_that_was_recorded_under_damage_is_followed_once_the_record_is_mended() {
    let mut idle = working();
    idle.show(1, Sign::Waits(Wait::Input));
    let mut hatching = Told::new();
    hatching.spawn_cli(1, true, None).unwrap();
    hatching.executed(1);
    let exits = |exit: Exit| {
        move |told: &mut Told| {
            let number = told.number(1);
            told.report(1, number, Report::Exited(exit))
        }
    };
    for before in [&working(), &idle, &hatching] {
        let mut told = mended(before, exits(Exit::KillSignal(9)));
        assert_eq!(told.agent(1).state, before.agent(1).state);
        assert!(has_timer(&told));
        told.observe(&due(BOB));
        let is_followed = matches!(told.agent(1).state, State::Waking | State::Crashed);
        assert!(is_followed, "{:?}", told.shown_as(1));
        assert!(told.agent(1).live_session().is_some() || told.agent(1).until.is_some());
    }
    let mut told = mended(&idle, exits(Exit::Code(0)));
    told.observe(&due(BOB));
    assert_eq!(told.shown_as(1), (State::Sleeping, Reason::Finished));
    assert!(!has_timer(&told));
    // The machine restarted meanwhile.
    let mut told = mended(&working(), Told::reboot);
    let exit = told.agent(1).session.as_ref().and_then(|session| session.exit);
    assert_eq!(exit, Some(Exit::Unknown(UnknownExit::MachineRestarted)));
    told.observe(&due(BOB));
    assert_eq!((told.agent(1).state, told.number(1).0), (State::Waking, 2));
    let mut told = mended(&idle, Told::reboot);
    told.observe(&due(BOB));
    assert_eq!(told.shown_as(1), (State::Sleeping, Reason::MachineRestarted));
}

/// `Finished`: an exit that its harness has when all is well (Codex: 1).
#[test]
fn a_good_end_is_one_also_when_it_is_followed_late() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.pass(Duration::from_secs(5));
    let report = |told: &mut Told| {
        let number = told.number(1);
        told.report(1, number, Report::Finished(Exit::Code(1)))
    };
    let mut at_once = told.clone();
    report(&mut at_once);
    let mut late = mended(&told, report);
    late.observe(&due(BOB));
    assert_eq!(late.shown_as(1), at_once.shown_as(1));
}

/// Woken while the last session was ending: the answered wake stands.
#[test]
fn a_wake_is_not_lost_with_an_end_that_is_followed_late() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::OnCrash);
    told.executed(1);
    told.pass(Duration::from_secs(5));
    told.ask(Command::Stop(BOB.to_string())).unwrap();
    told.ask(Command::Wake(BOB.to_string())).unwrap();
    let report = |told: &mut Told| {
        let number = told.number(1);
        told.report(1, number, Report::Exited(Exit::Code(0)))
    };
    let mut at_once = told.clone();
    report(&mut at_once);
    let mut late = mended(&told, report);
    late.observe(&due(BOB));
    assert_eq!((late.shown_as(1), late.number(1)), (at_once.shown_as(1), at_once.number(1)));
}

/// One rule for a daemon that starts and for `doctor`.
#[test]
fn a_session_is_known_up_to_the_newest_that_the_journal_has() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Always);
    told.executed(1);
    told.pass(Duration::from_secs(60));
    told.ends(1, Exit::Code(0));
    told.all_due();
    told.executed(1);
    let is_known = |told: &Told, living| agent::is_known(told.agent(1), &living);
    assert_eq!(told.number(1), SessionNumber(2));
    assert!(is_known(&told, living(1, true)) && is_known(&told, living(2, true)));
    assert!(!is_known(&told, living(3, true)));
    told.ask(Command::Stop(BOB.to_string())).unwrap();
    told.ends(1, Exit::Code(0));
    assert!(is_known(&told, living(1, true)), "an earlier one is about to end");
    assert!(is_known(&told, living(2, false)));
    assert!(!is_known(&told, living(2, true)), "its end is contradicted");
}

#[test]
fn a_living_session_of_an_agent_that_has_left_memory_is_not_born_again() {
    let started = |has_records| Observation::Started {
        boot: BootId("1".into()),
        version: "1".into(),
        is_copy: false,
        stocktaking: Stocktaking {
            living: vec![LivingSession { has_records, ..living(1, true) }],
            lost: None,
        },
    };
    let is_of_agent = |event: &Event| event.of_agent().is_some();
    assert!(!Told::new().observe(&started(true)).iter().any(is_of_agent));
    assert!(Told::new().observe(&started(false)).iter().any(is_of_agent));
}

#[test]
fn an_epoch_that_no_daemon_can_have_is_not_believed() {
    let mut told = Told::new();
    told.restart();
    let outranked = |by| Observation::Outranked { by, version: "1".into() };
    assert!(told.observe(&outranked(Epoch::MAX_BELIEVED)).is_empty());
    assert!(told.observe(&outranked(Epoch(u64::MAX))).is_empty());
    let believed = Epoch(Epoch::MAX_BELIEVED.0 - 1);
    assert_eq!(told.observe(&outranked(believed)).len(), 1);
    assert!(told.fleet.next_epoch() > believed);
}

/// The record is unreadable that asks a session to end. Nobody holds who is buried, and nobody could order it again:
/// its session once ran for ever.
#[test]
fn a_session_that_the_record_does_not_ask_to_end_ends_with_its_agent() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::OnCrash);
    told.executed(1);
    let bury = Command::Bury { target: BOB.to_string(), summary: None };
    let request = Request { caller: Caller::Person, command: bury };
    let decision = told.fleet.decide(&request, told.now).expect("buried");
    let is_ending =
        |event: &Event| matches!(event.of_agent(), Some((_, AgentEvent::SessionEnding { .. })));
    let readable: Vec<Event> =
        decision.events.iter().filter(|event| !is_ending(event)).cloned().collect();
    assert_eq!(readable.len() + 1, decision.events.len());
    told.fold(&readable);
    told.damage(1);
    assert_eq!(told.agent(1).state, State::Dead);
    told.all_due();
    let phase = told.agent(1).session.as_ref().map(|session| session.phase);
    assert!(matches!(phase, Some(Phase::Ending(_))), "{phase:?}");
}

//! The signals that Perennial itself emits (S-19): which follow from what happens to an agent, and that each is told once.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::conversation::Followed;
use perennial_core::event::Event;
use perennial_core::exit::Exit;
use perennial_core::handoff::HandoffOrder;
use perennial_core::id::{AgentId, SignalId};
use perennial_core::observation::{Report, Sign, Wait};
use perennial_core::restart::Restart;
use perennial_core::signal::{Beside, Emitted, SignalKind, derived, derived_id};
use perennial_core::symptom::{Symptom, Urgency};
use perennial_core::time::Time;

use crate::told::Told;

const BOB: u128 = 1;

/// What is emitted for events of one moment: the kind, the session that it is about, and what it says.
fn emitted(events: &[Event]) -> Vec<(SignalKind, Option<u32>, Emitted)> {
    let beside = |id| Beside::of(id, events.iter());
    let of = |event| {
        let it = derived(event, beside)?;
        assert_eq!(it.agent, AgentId(BOB));
        Some((it.kind, it.session.map(|number| number.0), it.says))
    };
    events.iter().filter_map(of).collect()
}

fn ends(told: &mut Told, exit: Exit) -> Vec<Event> {
    told.report(BOB, told.number(BOB), Report::Exited(exit))
}

fn running(restart: Restart) -> Told {
    let mut told = Told::new();
    told.spawn(BOB, Some("bob"), restart);
    told.executed(BOB);
    told.pass(Duration::from_secs(5));
    told
}

fn terminated(session: Option<u32>, why: &'static str) -> (SignalKind, Option<u32>, Emitted) {
    (SignalKind::AgentTerminated, session, Emitted::Ended(why))
}

const fn registered(session: u32) -> (SignalKind, Option<u32>, Emitted) {
    (SignalKind::AgentRegistered, Some(session), Emitted::Nothing)
}

fn target() -> String {
    AgentId(BOB).to_string()
}

// covers: S-19
#[test]
fn a_session_is_registered_when_it_is_wanted_before_its_program_starts() {
    let mut told = Told::new();
    let events = told.spawn_cli(BOB, true, None).expect("born");
    assert_eq!(emitted(&events), [registered(1)]);
    let number = told.number(BOB);
    let process = perennial_core::session::Process { pid: 7, start_ticks: 7 };
    assert_eq!(emitted(&told.report(BOB, number, Report::Executed(process))), []);
}

// covers: S-19
#[test]
fn a_crash_is_told_with_the_session_that_crashed() {
    let crashed = |session| (SignalKind::AgentCrashed, Some(session), Emitted::Nothing);
    let mut told = running(Restart::OnCrash);
    // The next one is requested at once.
    assert_eq!(emitted(&ends(&mut told, Exit::KillSignal(9))), [crashed(1), registered(2)]);
    let mut told = running(Restart::Never);
    assert_eq!(emitted(&ends(&mut told, Exit::Code(1))), [crashed(1)]);
}

// covers: S-19
#[test]
fn the_end_of_a_session_is_told_once_with_its_reason() {
    let mut told = running(Restart::OnCrash);
    assert_eq!(emitted(&ends(&mut told, Exit::Code(0))), [terminated(Some(1), "finished")]);
    let mut told = running(Restart::Always);
    let again = [terminated(Some(1), "finished"), registered(2)];
    assert_eq!(emitted(&ends(&mut told, Exit::Code(0))), again);
    // One that was asked to end is told of when it has ended, and not before.
    for (command, why, next) in [
        (Command::Stop(target()), "stopped", None),
        (Command::Restart(target()), "restarted", Some(registered(2))),
        (Command::Bury { target: target(), summary: None }, "retired", None),
    ] {
        let mut told = running(Restart::OnCrash);
        let mut all = emitted(&told.ask(command).expect("a person may"));
        assert_eq!(all, [], "{why}: it ends, and has not");
        all.extend(emitted(&ends(&mut told, Exit::Code(0))));
        let expected: Vec<_> = [terminated(Some(1), why)].into_iter().chain(next).collect();
        assert_eq!(all, expected, "{why}");
    }
    // Without a session there is only the agent's end.
    let mut told = running(Restart::Never);
    ends(&mut told, Exit::Code(0));
    let buried = told.ask(Command::Bury { target: target(), summary: None }).expect("buried");
    assert_eq!(emitted(&buried), [terminated(None, "retired")]);
}

/// What else happens in the moment is about the agent itself: another's end says nothing of this one's.
#[test]
fn what_happens_beside_is_its_own() {
    let mut told = running(Restart::OnCrash);
    told.spawn(2, Some("eve"), Restart::OnCrash);
    told.executed(2);
    let others = told.report(2, told.number(2), Report::Exited(Exit::Code(0)));
    assert_eq!(Beside::of(AgentId(BOB), others.iter()), Beside::default());
    let stopped = told.ask(Command::Stop(target())).expect("stopped");
    assert!(Beside::of(AgentId(BOB), stopped.iter()).is_end_told);
    let ended = ends(&mut told, Exit::Code(0));
    let beside = Beside::of(AgentId(BOB), ended.iter());
    assert_eq!((beside.ended.map(|it| it.0), beside.is_end_told), (Some(1), true));
}

// covers: S-19
#[test]
fn a_handoff_says_why_how_long_and_when_it_is_complete() {
    for (caller, subject, reason) in [
        (Caller::Person, Some("half"), "asked for: half"),
        (Caller::Person, None, "asked for"),
        (Caller::Agent(AgentId(BOB)), None, "asked for by itself"),
    ] {
        let mut told = Told::new();
        told.spawn_cli(BOB, true, None).expect("born");
        told.begun(BOB, "a", Followed::Started);
        let order = HandoffOrder {
            target: target(),
            subject: subject.map(ToOwned::to_owned),
            notes: None,
            deadline: Some(Duration::from_secs(40)),
            finish: false,
            session: None,
        };
        let asked = told.ask_as(caller, Command::Handoff(Box::new(order))).expect("asked");
        let deadline = Duration::from_secs(40);
        let says = Emitted::HandoffAsked { reason: reason.to_owned(), deadline };
        assert_eq!(emitted(&asked), [(SignalKind::HandoffRequested, Some(1), says)]);
        if caller == Caller::Person {
            continue;
        }
        // Its turn ends, and so does the session, which is followed by the next.
        told.show(BOB, Sign::Waits(Wait::Input));
        let kinds: Vec<SignalKind> =
            emitted(&ends(&mut told, Exit::Code(0))).into_iter().map(|(kind, ..)| kind).collect();
        let ended = [SignalKind::AgentTerminated, SignalKind::AgentRegistered];
        assert!(ended.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
        assert!(!kinds.contains(&SignalKind::HandoffComplete), "its checkpoint is not stored yet");
    }
}

/// Low is no warning, and the same is not told again in one window.
// covers: S-14
#[test]
fn a_context_warning_says_what_was_noticed_and_how_urgent_it_is() {
    let mut told = Told::new();
    told.spawn_cli(BOB, true, None).expect("born");
    told.begun(BOB, "a", Followed::Started);
    let mut shows = |symptom| emitted(&told.show(BOB, Sign::Symptom { symptom, sample: None }));
    assert_eq!(shows(Symptom::Words), []);
    let says = |symptom, urgency| {
        let says = Emitted::Symptom { symptom, urgency };
        [(SignalKind::ContextWarning, Some(1), says)]
    };
    assert_eq!(shows(Symptom::Compaction), says(Symptom::Compaction, Urgency::Medium));
    assert_eq!(shows(Symptom::Compaction), says(Symptom::Compaction, Urgency::High));
    assert_eq!(shows(Symptom::Compaction), []);
}

/// Ids are in the order of time, whatever they are of, and differ by stream and version.
#[test]
fn ids_of_what_is_derived_are_in_the_order_of_time() {
    let id = |stream, version, at| derived_id(stream, version, Time(at));
    assert!(id(u128::MAX, u64::MAX, 1_000) < id(0, 0, 2_000));
    assert_eq!(id(7, 3, 1_000), id(7, 3, 1_999), "to the millisecond");
    let mut all: Vec<SignalId> = Vec::new();
    for stream in [1, 2, 1 << 80, u128::MAX] {
        all.extend((0..50).map(|version| id(stream, version, 5_000_000)));
    }
    assert!(all.iter().all(|id| id.0 >> 80 == 5_000));
    let many = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), many);
}

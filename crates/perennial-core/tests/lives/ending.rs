//! What comes late about a session that was asked to end.

use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::effect::Effect;
use perennial_core::entity::Entity;
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::Report;
use perennial_core::restart::Restart;
use perennial_core::session::{Phase, Process};
use perennial_core::state::State;

use crate::told::Told;

/// Found by seed 2318 of the exploration: the first session, asked to end before it ran, announced
/// the agent that was waking for its second; its clean end then counted as finished, and the wake
/// that had been answered was lost.
#[test]
fn a_session_that_was_asked_to_end_does_not_announce_the_next_one() {
    let number = SessionNumber::FIRST;
    for restart in [Restart::Never, Restart::OnCrash, Restart::Always] {
        let mut told = Told::new();
        told.spawn(1, Some("bob"), restart);
        told.ask(Command::Stop("bob".into())).expect("it lives");
        told.ask(Command::Wake("bob".into())).expect("it sleeps");
        told.report(1, number, Report::Executed(Process { pid: 7, start_ticks: 7 }));
        assert_eq!(told.agent(1).state, State::Waking);
        told.report(1, number, Report::Exited(Exit::Code(0)));
        let bob = told.agent(1);
        let session = bob.session.as_ref().expect("it has one");
        assert_eq!((bob.state, session.phase), (State::Waking, Phase::Starting));
        assert_eq!(session.number, number.next());
    }
}

#[test]
fn secrets_are_removed_once_an_agent_is_over_and_at_every_start_after() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Always);
    told.executed(1);
    let bob = AgentId(1);
    let is_planned = |told: &Told| {
        let plan = told.fleet.plan(&Entity::Agent(bob), told.now);
        plan.effects.contains(&Effect::RemoveSecrets { agent: bob })
    };
    told.ask(Command::Stop("bob".into())).expect("it lives");
    told.ends(1, Exit::Code(0));
    assert!(!is_planned(&told), "it can be woken");
    told.ask(Command::Wake("bob".into())).expect("it sleeps");
    told.executed(1);
    let summary = None;
    told.ask(Command::Bury { target: "bob".into(), summary }).expect("it lives");
    assert!(!is_planned(&told), "its session has not ended");
    told.ends(1, Exit::Code(0));
    assert!(is_planned(&told));
    told.restart();
    assert!(is_planned(&told));
}

#[test]
fn a_burial_without_a_summary_keeps_what_the_agent_said_last() {
    for (given, kept) in
        [(None, "half done"), (Some("none of it worked".to_owned()), "none of it worked")]
    {
        let mut told = Told::new();
        told.spawn(1, Some("bob"), Restart::Always);
        told.executed(1);
        let summary = Some("half done".to_owned());
        let report = Command::Report { phase: None, summary };
        told.ask_as(Caller::Agent(AgentId(1)), report).expect("its own");
        told.ask(Command::Bury { target: "bob".into(), summary: given }).expect("it lives");
        assert_eq!(told.agent(1).summary.as_deref(), Some(kept));
    }
}

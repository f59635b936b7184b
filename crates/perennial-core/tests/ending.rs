//! What comes late about a session that was asked to end.

use std::time::Duration;

use perennial_core::agent::{self, Agent};
use perennial_core::event::{AgentEvent, Birth};
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::launch::{BARE_COMMAND, Host, Launch};
use perennial_core::observation::Report;
use perennial_core::reason::{Evidence, Fact, Verb, Witness};
use perennial_core::restart::Restart;
use perennial_core::session::{Phase, Process};
use perennial_core::state::State;
use perennial_core::time::Time;

const NOW: Time = Time(1_000_000);

fn told(agent: Agent, events: &[AgentEvent]) -> Agent {
    events.iter().fold(agent, |agent, event| agent::evolve(agent, event, NOW))
}

fn hatched(restart: Restart) -> Agent {
    let launch = Launch {
        harness: BARE_COMMAND.into(),
        host: Host::Shim,
        argv: vec!["program".into()],
        dir: "/".into(),
        env_names: Vec::new(),
        project: "/".into(),
    };
    let fact = Fact::Asked(Verb::Spawn);
    let birth = Birth {
        name: "bob".parse().ok(),
        role: None,
        parent: None,
        launch,
        restart,
        evidence: Evidence { witness: Witness::Operator, fact, at: NOW },
        until: NOW + Duration::from_secs(300),
    };
    let born = Agent::born(AgentId(1), &birth, NOW);
    told(born, &agent::hatch(birth))
}

/// Found by seed 2318 of the exploration: the first session, asked to end before it ran, announced
/// the agent that was waking for its second; its clean end then counted as finished, and the wake
/// that had been answered was lost.
#[test]
fn a_session_that_was_asked_to_end_does_not_announce_the_next_one() {
    let number = SessionNumber::FIRST;
    for restart in [Restart::Never, Restart::OnCrash, Restart::Always] {
        let bob = hatched(restart);
        let stopped = agent::stop(&bob, Witness::Operator, NOW).expect("it lives");
        let bob = told(bob, &stopped);
        let woken = agent::wake(&bob, Witness::Operator, NOW).expect("it sleeps");
        let bob = told(bob, &woken);
        let executed = Report::Executed(Process { pid: 7, start_ticks: 7 });
        let bob = told(bob.clone(), &agent::observe(&bob, number, &executed, NOW));
        assert_eq!(bob.state, State::Waking);
        let exited = Report::Exited(Exit::Code(0));
        let bob = told(bob.clone(), &agent::observe(&bob, number, &exited, NOW));
        let session = bob.session.as_ref().expect("it has one");
        assert_eq!(
            (bob.state, session.number, session.phase),
            (State::Waking, number.next(), Phase::Starting)
        );
    }
}

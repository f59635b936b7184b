//! What comes late about a session that was asked to end.

use perennial_core::command::Command;
use perennial_core::exit::Exit;
use perennial_core::id::SessionNumber;
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

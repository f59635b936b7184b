//! What is shown of an agent changes when what it is shown by changes.

use std::collections::BTreeMap;

use perennial_core::command::{Command, Request, Spawn};
use perennial_core::conversation::Followed;
use perennial_core::fact::{Fact, Origin, PausedBy, Seen};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::launch::{Host, Launch, Options};
use perennial_core::observation::{Observation, Report};
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_engine::supervisor::{Input, Output, Supervisor, Waiter};

use super::*;

const BOB: AgentId = AgentId(1);
const FIRST: SessionNumber = SessionNumber(1);

fn step(supervisor: &mut Supervisor, input: Input) {
    for output in supervisor.step(input, Time(1)) {
        if let Output::Append { append, .. } = output {
            step(supervisor, Input::Durable(append, perennial_store::Seq(0)));
        }
    }
}

fn hear(supervisor: &mut Supervisor, fact: Fact) {
    step(supervisor, Input::Heard { agent: BOB, number: FIRST, fact });
}

/// What the feed compares.
fn compared(supervisor: &Supervisor) -> u64 {
    let (presence, spending) = (Presence::begin(BTreeMap::new(), Time(1)), Spending::default());
    let view = FleetView { supervisor, presence: &presence, spending: &spending, now: Time(1) };
    unrecorded(supervisor.fleet().agent(BOB).expect("bob"), &view)
}

#[test]
fn a_program_that_is_suspended_in_another_way_has_changed() {
    let mut supervisor =
        Supervisor::new(Fleet::default(), BTreeMap::new(), perennial_store::Seq(0));
    let launch = Launch {
        harness: "claude".into(),
        host: Host::Shim,
        argv: vec!["claude".into()],
        dir: "/".into(),
        env_names: Vec::new(),
        project: "/".into(),
        options: Options::default(),
    };
    let (name, role, parent, conversation) = (None, None, None, None);
    let restart = Restart::Never;
    let spawn = Spawn {
        id: BOB,
        name,
        role,
        parent,
        launch,
        restart,
        conversation,
        situations: Vec::new(),
    };
    let command = Command::Spawn(Box::new(spawn));
    let request = Request { caller: Caller::Person, command };
    step(&mut supervisor, Input::Request { waiter: Waiter(1), request });
    let report = Report::Executed(Process { pid: 7, start_ticks: 7 });
    let executed = Observation::Session { agent: BOB, number: FIRST, report };
    step(&mut supervisor, Input::Observed(executed));
    let began = Fact::new(Origin::Hook, Seen::SessionBegan(Followed::Started));
    hear(&mut supervisor, began.within("c-1".parse().ok()));
    let running = compared(&supervisor);
    let paused = |by| Fact::new(Origin::Terminal, Seen::Paused(by));
    hear(&mut supervisor, paused(PausedBy::Person));
    let by_person = compared(&supervisor);
    hear(&mut supervisor, paused(PausedBy::KillSignal));
    let by_kill_signal = compared(&supervisor);
    assert!(running != by_person && by_person != by_kill_signal && by_kill_signal != running);
}

//! The line after a reboot: two at a time, and nobody is left standing in it.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Spawn};
use perennial_core::fleet::Fleet;
use perennial_core::id::{AgentId, BootId, SessionNumber};
use perennial_core::launch::{BARE_COMMAND, Host, Launch};
use perennial_core::observation::{Observation, Report};
use perennial_core::restart::Restart;
use perennial_core::session::{Phase, Process};
use perennial_core::state::State;
use perennial_core::time::Time;

/// A fleet with its own clock, told what happens.
struct Told {
    fleet: Fleet,
    now: Time,
}

impl Told {
    fn observe(&mut self, observation: &Observation) {
        self.now = self.now + Duration::from_millis(1);
        for event in self.fleet.observe(observation, self.now) {
            self.fleet.evolve(&event);
        }
    }

    fn boot(&mut self, boot: &str) {
        self.observe(&Observation::Started { boot: BootId(boot.into()), version: "1".into() });
    }

    fn spawn(&mut self, id: u128) {
        let launch = Launch {
            harness: BARE_COMMAND.into(),
            host: Host::Shim,
            argv: vec!["program".into()],
            dir: "/".into(),
            env_names: Vec::new(),
            project: "/".into(),
        };
        let spawn = Spawn {
            id: AgentId(id),
            name: None,
            role: None,
            parent: None,
            launch,
            restart: Restart::OnCrash,
        };
        let request = Request { caller: Caller::Person, command: Command::Spawn(Box::new(spawn)) };
        let decision = self.fleet.decide(&request, self.now).expect("a person may spawn");
        for event in decision.events {
            self.fleet.evolve(&event);
        }
        self.executed(id);
    }

    fn executed(&mut self, id: u128) {
        let agent = AgentId(id);
        let number = self.number(id);
        let report = Report::Executed(Process { pid: 7, start_ticks: 7 });
        self.observe(&Observation::Session { agent, number, report });
    }

    fn number(&self, id: u128) -> SessionNumber {
        let session = self.fleet.agent(AgentId(id)).and_then(|agent| agent.session.clone());
        session.expect("it has a session").number
    }

    /// Tells everybody that their time has come.
    fn all_due(&mut self) {
        let ids: Vec<AgentId> = self.fleet.agents().map(|agent| agent.id).collect();
        for agent in ids {
            self.observe(&Observation::Due { agent });
        }
    }

    fn starting(&self) -> Vec<u128> {
        let starts = |phase| phase == Some(Phase::Starting);
        let agents = self.fleet.agents();
        let starting = agents.filter(|a| starts(a.session.as_ref().map(|s| s.phase)));
        starting.map(|agent| agent.id.0).collect()
    }
}

fn five_working() -> Told {
    let mut told = Told { fleet: Fleet::default(), now: Time(1_000_000) };
    told.boot("one");
    (1..=5).for_each(|id| told.spawn(id));
    told
}

#[test]
fn after_a_reboot_two_at_a_time_are_resumed_until_all_work() {
    let mut told = five_working();
    told.boot("two");
    let mut resumed = Vec::new();
    while resumed.len() < 5 {
        told.all_due();
        let starting = told.starting();
        assert!(!starting.is_empty() && starting.len() <= 2, "{starting:?}");
        told.executed(starting[0]);
        resumed.push(starting[0]);
    }
    assert!(told.fleet.agents().all(|agent| agent.state == State::Working));
}

/// Found by seed 23 of the exploration: both that had come out of the line kept their places
/// beside it when a second reboot sent them back, and nobody started any more.
#[test]
fn a_second_reboot_while_two_are_starting_leaves_room_for_two() {
    let mut told = five_working();
    told.boot("two");
    told.all_due();
    assert_eq!(told.starting(), [1, 2]);
    told.boot("three");
    told.all_due();
    assert_eq!(told.starting(), [1, 2]);
}

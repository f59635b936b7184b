//! A fleet with its own clock, told what happens; every event is held against the invariants.

use std::collections::BTreeMap;
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Spawn};
use perennial_core::context::Threshold;
use perennial_core::conversation::Followed;
use perennial_core::effect::{Plan, Timer};
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, Move, What};
use perennial_core::fleet::Fleet;
use perennial_core::hold::{HeldFor, Hold};
use perennial_core::id::{AgentId, BootId, SessionNumber};
use perennial_core::launch::{BARE_COMMAND, Host, Launch, Options};
use perennial_core::observation::{Observation, Report, Sign, Stocktaking};
use perennial_core::reason::{Evidence, Finding, Reason, Verb, Witness};
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::session::{Phase, Process};
use perennial_core::state::{self, Cause, Roster, State};
use perennial_core::time::Time;

#[derive(Clone)]
pub struct Told {
    pub fleet: Fleet,
    pub now: Time,
    boots: u32,
}

pub fn launch() -> Launch {
    Launch {
        harness: BARE_COMMAND.into(),
        host: Host::Shim,
        argv: vec!["program".into()],
        dir: "/".into(),
        env_names: Vec::new(),
        project: "/".into(),
        options: Options::default(),
    }
}

/// A timer of the agent's has run out.
pub fn due(agent: AgentId) -> Observation {
    Observation::Due { entity: Entity::Agent(agent), timer: Timer::StateEnds }
}

impl Told {
    /// A fleet whose first daemon has started.
    pub fn new() -> Told {
        let mut told = Told { fleet: Fleet::default(), now: Time(1_000_000), boots: 0 };
        told.reboot();
        told
    }

    pub fn pass(&mut self, span: Duration) {
        self.now = self.now + span;
    }

    /// Takes note of an observation; returns what came of it.
    pub fn observe(&mut self, observation: &Observation) -> Vec<Event> {
        self.pass(Duration::from_millis(1));
        let events = self.fleet.observe(observation, self.now);
        self.fold(&events);
        events
    }

    /// An agent is seen to have spent so much in all.
    pub fn spends(&mut self, agent: u128, tokens: u64) -> Vec<Event> {
        self.fleet.set_spent(AgentId(agent), tokens);
        self.observe(&Observation::Spent { agent: AgentId(agent) })
    }

    pub fn ask(&mut self, command: Command) -> Result<Vec<Event>, Refusal> {
        self.ask_as(Caller::Person, command)
    }

    pub fn fold(&mut self, events: &[Event]) {
        for event in events {
            self.check(event);
            let before = self.message_plans();
            let touched = self.fleet.evolve(event);
            for (message, plan) in self.message_plans() {
                let is_same = before.get(&message) == Some(&plan);
                assert!(
                    is_same || touched.contains(&message),
                    "{message} is not planned: {event:?}"
                );
            }
        }
    }

    /// What is planned for every text, and for the rounds of every agent: planning the touched is planning all.
    fn message_plans(&self) -> BTreeMap<Entity, Plan> {
        let entities = self.fleet.messages().iter().map(|message| Entity::Message(message.id));
        let texts = entities.map(|entity| (entity.clone(), self.fleet.plan(&entity, self.now)));
        let rounds = self.fleet.agents().map(|agent| {
            let entity = Entity::Agent(agent.id);
            let mut timers = self.fleet.plan(&entity, self.now).timers;
            timers
                .retain(|(timer, _)| matches!(timer, Timer::Round | Timer::Handoff | Timer::Rest));
            (entity, Plan { effects: Vec::new(), timers })
        });
        texts.chain(rounds).collect()
    }

    /// G1, G2, G3, G4 and S2 for one event, before it is folded.
    fn check(&self, event: &Event) {
        let What::Agent(id, what) = &event.what else { return };
        let Some(agent) = self.fleet.agent(*id) else {
            assert!(matches!(what, AgentEvent::Hatched(_)), "{what:?} before birth");
            return;
        };
        if agent.hold.is_some() {
            use AgentEvent::{SessionStarting, SessionWanted};
            let begins = matches!(what, SessionWanted { .. } | SessionStarting { .. });
            let is_for_reboot = agent.state == State::Waking && !agent.is_damaged();
            assert!(!begins || is_for_reboot, "HO1: {what:?} of {agent:?}");
        }
        match what {
            AgentEvent::Moved(moved) => check_move(agent, moved),
            AgentEvent::SessionWanted { number, .. } => {
                assert!(agent.live_session().is_none(), "G1: {agent:?}");
                let last = agent.session.as_ref().map_or(0, |session| session.number.0);
                assert_eq!(number.0, last + 1, "G1");
            }
            AgentEvent::SessionStarting { number, .. }
            | AgentEvent::SessionRunning { number, .. }
            | AgentEvent::SessionEnding { number, .. }
            | AgentEvent::SessionEnded { number, .. } => {
                let live = agent.live_session().map(|session| session.number);
                assert_eq!(live, Some(*number), "S1, G2: {what:?} of {agent:?}");
            }
            AgentEvent::SessionFound { number, .. } => {
                let last = agent.session.as_ref().map_or(0, |session| session.number.0);
                assert!(number.0 >= last, "LO1: {what:?} of {agent:?}");
            }
            AgentEvent::Hatched(_) => panic!("born twice"),
            AgentEvent::RoleTaken { .. }
            | AgentEvent::RoleLeft { .. }
            | AgentEvent::RoundPassed { .. }
            | AgentEvent::LegacyLeft { .. }
            | AgentEvent::Handoff(_)
            | AgentEvent::Checkpoint(_)
            | AgentEvent::Rest(_)
            | AgentEvent::BurialAsked { .. } => {
                assert!(agent.state.roster() != Roster::Cemetery, "{what:?} of {agent:?}");
            }
            AgentEvent::Snapshot(_) => {
                let is_over = agent.is_over();
                assert!(!is_over, "{what:?} of {agent:?}");
            }
            AgentEvent::SessionProgressed { number }
            | AgentEvent::ConversationFollowed { number, .. }
            | AgentEvent::WindowBegan { number } => self.check_live(agent, *number, what),
            AgentEvent::ClockPassed { number, threshold, .. } => {
                self.check_live(agent, *number, what);
                let before = Threshold::ALL.into_iter().rfind(|lower| lower < threshold);
                assert_eq!(agent.clock.passed, before, "C1: {what:?}");
            }
            AgentEvent::ClockTold { number, threshold } => {
                self.check_live(agent, *number, what);
                assert!(agent.clock.passed >= Some(*threshold), "C1: {what:?}");
            }
            AgentEvent::Rehomed { .. }
            | AgentEvent::Held(_)
            | AgentEvent::HoldLifted { .. }
            | AgentEvent::PhaseReported { .. }
            | AgentEvent::Work(_)
            | AgentEvent::Renamed { .. }
            | AgentEvent::Summarised { .. }
            | AgentEvent::SettingsChanged { .. }
            | AgentEvent::PutOff { .. } => {}
        }
    }

    fn check_live(&self, agent: &Agent, number: SessionNumber, what: &AgentEvent) {
        let live = agent.live_session().map(|session| session.number);
        assert_eq!(live, Some(number), "a sign is about the live session: {what:?}");
    }

    /// A record of the agent can't be read.
    pub fn damage(&mut self, id: u128) {
        self.fleet.mark_unreadable(AgentId(id), "it was altered", self.now);
    }

    /// Somebody holds it.
    pub fn hold(&mut self, id: u128, held_for: HeldFor) {
        let fact = Finding::Asked(Verb::Stop);
        let evidence = Evidence { witness: Witness::Operator, fact, at: self.now };
        let hold = Hold { held_for, evidence, since: self.now };
        let what = What::Agent(AgentId(id), AgentEvent::Held(hold));
        self.fold(&[Event { at: self.now, what }]);
    }

    /// A command of somebody else than the operator.
    pub fn ask_as(&mut self, caller: Caller, command: Command) -> Result<Vec<Event>, Refusal> {
        self.pass(Duration::from_millis(1));
        let decision = self.fleet.decide(&Request { caller, command }, self.now)?;
        self.fold(&decision.events);
        Ok(decision.events)
    }

    /// A new daemon on another boot of the machine.
    pub fn reboot(&mut self) -> Vec<Event> {
        self.boots += 1;
        self.restart()
    }

    /// A new daemon on the same boot.
    pub fn restart(&mut self) -> Vec<Event> {
        let boot = BootId(self.boots.to_string());
        self.observe(&Observation::Started {
            boot,
            version: "1".into(),
            is_copy: false,
            stocktaking: Stocktaking::default(),
        })
    }

    pub fn spawn(&mut self, id: u128, name: Option<&str>, restart: Restart) {
        let spawn = Spawn {
            id: AgentId(id),
            name: name.map(|name| name.parse().expect("a good name")),
            role: None,
            parent: None,
            launch: launch(),
            restart,
            conversation: None,
            situations: Vec::new(),
        };
        self.ask(Command::Spawn(Box::new(spawn))).expect("a person may spawn");
    }

    /// An agent CLI, with something to do from the beginning if `has_prompt`.
    pub fn spawn_cli(
        &mut self,
        id: u128,
        has_prompt: bool,
        conversation: Option<&str>,
    ) -> Result<Vec<Event>, Refusal> {
        self.spawn_cli_under(Restart::OnCrash, id, has_prompt, conversation)
    }

    pub fn spawn_cli_under(
        &mut self,
        restart: Restart,
        id: u128,
        has_prompt: bool,
        conversation: Option<&str>,
    ) -> Result<Vec<Event>, Refusal> {
        let prompt = has_prompt.then(|| "do it".to_owned());
        let options = Options { prompt, ..Options::default() };
        let spawn = Spawn {
            id: AgentId(id),
            name: None,
            role: None,
            parent: None,
            launch: Launch { harness: "claude".into(), options, ..launch() },
            restart,
            conversation: conversation.map(|text| text.parse().expect("a good id")),
            situations: Vec::new(),
        };
        self.ask(Command::Spawn(Box::new(spawn)))
    }

    /// What the harness of the newest session shows.
    pub fn show(&mut self, id: u128, sign: Sign) -> Vec<Event> {
        let (agent, number) = (AgentId(id), self.number(id));
        self.observe(&Observation::Harness { agent, number, sign })
    }

    /// The newest session runs, and says that its conversation is this one.
    pub fn begun(&mut self, id: u128, conversation: &str, how: Followed) {
        self.executed(id);
        let conversation = conversation.parse().expect("a good id");
        self.show(id, Sign::Began { conversation, how });
    }

    pub fn agent(&self, id: u128) -> &Agent {
        self.fleet.agent(AgentId(id)).expect("it was born")
    }

    pub fn number(&self, id: u128) -> SessionNumber {
        self.agent(id).session.as_ref().map_or(SessionNumber::FIRST, |session| session.number)
    }

    pub fn report(&mut self, id: u128, number: SessionNumber, report: Report) -> Vec<Event> {
        self.observe(&Observation::Session { agent: AgentId(id), number, report })
    }

    pub fn executed(&mut self, id: u128) {
        let number = self.number(id);
        self.report(id, number, Report::Executed(Process { pid: 7, start_ticks: 7 }));
    }

    /// Tells everybody that their time has come.
    pub fn all_due(&mut self) {
        let ids: Vec<AgentId> = self.fleet.agents().map(|agent| agent.id).collect();
        for agent in ids {
            self.observe(&due(agent));
        }
    }

    pub fn starting(&self) -> Vec<u128> {
        let starts = |agent: &&Agent| {
            agent.session.as_ref().is_some_and(|session| session.phase == Phase::Starting)
        };
        self.fleet.agents().filter(starts).map(|agent| agent.id.0).collect()
    }
}

/// G3, G4
fn check_move(agent: &Agent, moved: &Move) {
    let to = state::next(agent.state, moved.cause);
    assert_eq!(to, Some(moved.to), "G3: {:?} by {:?}", agent.state, moved.cause);
    if agent.state == State::Sleeping && agent.reason == Reason::Stopped {
        let by_people = matches!(moved.cause, Cause::Wake | Cause::Restarted | Cause::Buried);
        assert!(by_people, "G4: {moved:?}");
    }
}

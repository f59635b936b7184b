//! Every short sequence of commands and reports, on one agent and on two: nothing illegal comes of
//! any of them, and whoever is left in the middle of something has a way out.

use std::collections::BTreeSet;
use std::time::Duration;

use perennial_core::agent::Agent;
use perennial_core::command::Command;
use perennial_core::conversation::Followed;
use perennial_core::effect::{Action, Effect};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::fleet::Fleet;
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::{Observation, Report, Sign, Wait};
use perennial_core::reason::Reason;
use perennial_core::restart::Restart;
use perennial_core::session::{Phase, Process};
use perennial_core::state::{Roster, State};
use perennial_core::time::Time;

use crate::signs::measured;
use crate::told::{Told, due};

/// One thing that happens to one agent, or to all.
#[derive(Debug, Clone, Copy)]
enum Step {
    Stop,
    Wake,
    Bury,
    Rename,
    Executed,
    Exited(Exit),
    NotStarted,
    /// A report about the session before.
    Stale,
    /// The state's own time comes.
    Due,
    Reboot,
    RestartDaemon,
    Restart,
    Jump,
    /// A record of it can't be read.
    Damage,
    /// Somebody holds it.
    Hold,
    Shows(Shown),
}

/// What an agent CLI shows.
#[derive(Debug, Clone, Copy)]
enum Shown {
    Began(Followed),
    TurnBegan,
    BackgroundWork,
    StillIdle,
    Waits(Wait),
    Progressed,
    Measured(u64),
    Compacted,
    Hangs,
}

const SIGNS: [Step; 16] = [
    Step::Shows(Shown::Began(Followed::Started)),
    Step::Shows(Shown::Began(Followed::Resumed)),
    Step::Shows(Shown::Began(Followed::Cleared)),
    Step::Shows(Shown::TurnBegan),
    Step::Shows(Shown::Waits(Wait::Input)),
    Step::Shows(Shown::Waits(Wait::Permission)),
    Step::Shows(Shown::Waits(Wait::Failure)),
    Step::Shows(Shown::Waits(Wait::LimitReached(None))),
    Step::Shows(Shown::BackgroundWork),
    Step::Shows(Shown::StillIdle),
    Step::Shows(Shown::Waits(Wait::RateLimit(Some(Time(1))))),
    Step::Shows(Shown::Progressed),
    Step::Shows(Shown::Measured(60)),
    Step::Shows(Shown::Measured(95)),
    Step::Shows(Shown::Compacted),
    Step::Shows(Shown::Hangs),
];

const STEPS: [Step; 17] = [
    Step::Stop,
    Step::Wake,
    Step::Restart,
    Step::Bury,
    Step::Rename,
    Step::Executed,
    Step::Exited(Exit::Code(0)),
    Step::Exited(Exit::KillSignal(9)),
    Step::Exited(Exit::Unknown(UnknownExit::HolderDied)),
    Step::NotStarted,
    Step::Stale,
    Step::Due,
    Step::Reboot,
    Step::RestartDaemon,
    Step::Jump,
    Step::Damage,
    Step::Hold,
];

fn take(told: &mut Told, id: u128, step: Step) {
    let target = AgentId(id).to_string();
    let number = told.number(id);
    // A refusal is an answer too; what it must not do is change anything.
    match step {
        Step::Stop => _ = told.ask(Command::Stop(target)),
        Step::Wake => _ = told.ask(Command::Wake(target)),
        Step::Restart => _ = told.ask(Command::Restart(target)),
        Step::Bury => _ = told.ask(Command::Bury { target, summary: Some("over".into()) }),
        Step::Rename => {
            let name = "shared".parse().expect("a good name");
            _ = told.ask(Command::Rename { target, name });
        }
        Step::Executed => told.executed(id),
        Step::Exited(exit) => _ = told.report(id, number, Report::Exited(exit)),
        Step::NotStarted => _ = told.report(id, number, Report::NotStarted("no".into())),
        Step::Stale => {
            let stale = number.previous().unwrap_or(SessionNumber(99));
            let process = Process { pid: 9, start_ticks: 9 };
            let reports = [Report::Executed(process), Report::Exited(Exit::Code(1))];
            for report in reports {
                assert!(told.report(id, stale, report).is_empty(), "G2");
            }
        }
        Step::Due => {
            if let Some(until) = told.agent(id).until {
                told.now = told.now.max(until);
            }
            _ = told.observe(&due(AgentId(id)));
        }
        Step::Reboot => _ = told.reboot(),
        Step::RestartDaemon => _ = told.restart(),
        Step::Damage => told.damage(id),
        Step::Hold => told.hold(id, HeldFor::Person),
        Step::Shows(shown) => show(told, id, shown),
        Step::Jump => {
            let by = Duration::from_secs(8 * 3600);
            told.pass(by);
            _ = told.observe(&Observation::ClockJumped { by });
        }
    }
}

fn show(told: &mut Told, id: u128, shown: Shown) {
    let sign = match shown {
        Shown::Began(how) => {
            let conversation = format!("{id}-{}", how.word()).parse().expect("a good id");
            Sign::Began { conversation, how }
        }
        Shown::TurnBegan => Sign::TurnBegan,
        Shown::BackgroundWork => Sign::BackgroundWork,
        Shown::StillIdle => Sign::StillIdle,
        Shown::Waits(wait) => Sign::Waits(wait),
        Shown::Progressed => Sign::Progressed,
        Shown::Measured(percent) => measured(percent),
        Shown::Compacted => Sign::WindowBegan,
        Shown::Hangs => Sign::Hangs,
    };
    let stale = told.number(id).previous().unwrap_or(SessionNumber(99));
    let observation =
        Observation::Harness { agent: AgentId(id), number: stale, sign: sign.clone() };
    assert!(told.observe(&observation).is_empty(), "G2");
    told.show(id, sign);
}

/// What holds after every whole step.
fn check(told: &Told) {
    let mut names = BTreeSet::new();
    for agent in told.fleet.agents() {
        let key = agent.name.as_ref().map(|name| name.key());
        if agent.state.roster() != Roster::Cemetery {
            assert!(key.is_none_or(|key| names.insert(key)), "F1: {agent:?}");
        }
        assert!(agent.hold.is_some() || agrees(agent), "{agent:?}");
        check_plan(told, agent);
    }
    let restored = Fleet::restore(told.fleet.parts());
    assert_eq!(restored, told.fleet);
}

fn agrees(agent: &Agent) -> bool {
    let phase = agent.session.as_ref().map(|session| session.phase);
    let ending_or_over = matches!(phase, Some(Phase::Ending(_) | Phase::Ended));
    match agent.state {
        State::Hatching if agent.launch.is_bare() => phase == Some(Phase::Starting),
        State::Hatching => matches!(phase, Some(Phase::Starting | Phase::Running)),
        State::Waking => agent.live_session().is_some(),
        State::Working if agent.launch.is_bare() => phase == Some(Phase::Running),
        // A hook may be faster than the word of the holder.
        State::Working | State::Waiting => {
            !agent.launch.is_bare() && matches!(phase, Some(Phase::Starting | Phase::Running))
        }
        // Woken from damage: what was heard has not been said again.
        State::Unknown if agent.reason == Reason::DaemonStarted => {
            !agent.launch.is_bare() && phase == Some(Phase::Running)
        }
        // It hung, and is being ended for it.
        State::Unknown => matches!(phase, Some(Phase::Ending(_))),
        State::Crashed => ending_or_over && agent.until.is_some(),
        State::Sleeping | State::Dead => ending_or_over,
        State::HandingOff | State::Hibernating | State::Frozen | State::Expired => false,
    }
}

/// What is planned is about the newest session, and whoever is on the way has a time or an effect.
fn check_plan(told: &Told, agent: &Agent) {
    let plan = told.fleet.plan(&agent.id.into(), told.now);
    for effect in &plan.effects {
        let Effect::Session(effect) = effect else { continue };
        assert_eq!(Some(effect.number), agent.session.as_ref().map(|session| session.number));
        if matches!(effect.action, Action::Start(..)) {
            let announced =
                !agent.launch.is_bare() && matches!(agent.state, State::Working | State::Waiting);
            let starts = matches!(agent.state, State::Hatching | State::Waking);
            assert!(starts || announced, "{agent:?}");
        }
    }
    let in_line = agent.session.as_ref().is_some_and(|session| session.phase == Phase::Wanted);
    let on_the_way = matches!(agent.state, State::Hatching | State::Waking | State::Crashed);
    if agent.hold.is_some() {
        assert_eq!(plan.timers, [], "HO1: {agent:?}");
    } else if on_the_way && !in_line {
        assert!(!plan.timers.is_empty(), "5: {agent:?} waits for nothing");
    }
}

fn walk(
    told: &Told,
    ids: &[u128],
    steps: &[Step],
    depth: usize,
    path: &mut Vec<(u128, Step)>,
) -> u64 {
    if depth == 0 {
        return 1;
    }
    let mut walks = 0;
    for id in ids {
        for step in steps.iter().copied() {
            let everybody = matches!(step, Step::Reboot | Step::RestartDaemon | Step::Jump);
            if everybody && *id != ids[0] {
                continue;
            }
            let mut next = told.clone();
            path.push((*id, step));
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                take(&mut next, *id, step);
                check(&next);
            }));
            assert!(outcome.is_ok(), "after {path:?}");
            walks += walk(&next, ids, steps, depth - 1, path);
            path.pop();
        }
    }
    walks
}

#[test]
fn every_walk_of_one_agent() {
    for (restart, depth) in [(Restart::Never, 3), (Restart::OnCrash, 4), (Restart::Always, 3)] {
        let mut told = Told::new();
        told.spawn(1, Some("bob"), restart);
        let walks = walk(&told, &[1], &STEPS, depth, &mut Vec::new());
        assert_eq!(walks, 17u64.pow(u32::try_from(depth).expect("small")));
    }
}

/// From a working agent, where most stories begin.
#[test]
fn every_walk_of_one_agent_that_works() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::OnCrash);
    told.executed(1);
    walk(&told, &[1], &STEPS, 4, &mut Vec::new());
}

#[test]
fn every_walk_of_two_agents() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::OnCrash);
    told.spawn(2, Some("cy"), Restart::Always);
    walk(&told, &[1, 2], &STEPS, 3, &mut Vec::new());
}

/// Everything that happens to bare commands, and everything that an agent CLI can show.
#[test]
fn every_walk_of_an_agent_cli() {
    let steps: Vec<Step> = STEPS.into_iter().chain(SIGNS).collect();
    for (has_prompt, conversation) in [(true, None), (false, None), (false, Some("own"))] {
        let mut told = Told::new();
        told.spawn_cli(1, has_prompt, conversation).expect("nobody has it");
        walk(&told, &[1], &steps, 3, &mut Vec::new());
        told.begun(1, conversation.unwrap_or("first"), Followed::Started);
        walk(&told, &[1], &steps, 3, &mut Vec::new());
    }
}

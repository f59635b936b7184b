//! Everything is killed at any moment, again and again; a small model of the core keeps agents going.
//!
//! The invariants: no two sessions of an agent ever overlap, every number is answered, nobody is left.

use std::collections::HashMap;
use std::path::Path;

use perennial_core::effect::Action;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::Report;
use perennial_core::session::{Pace, Process};
use perennial_engine::host::HostReport;
use rustix::process::Signal;

use crate::fixture::{Fixture, is_alive, kill, until};

const AGENTS: usize = 4;
const STEPS: usize = 150;

/// A session takes a lock for its life: whoever finds it taken is a second one. Some of its processes
/// leave the tree; they have the lock open, too.
const SCRIPT: &str = r#"
exec 9>>"lock.$PERENNIAL_AGENT"
flock -n 9 || echo "$PERENNIAL_SESSION" >> violations
trap '' HUP
(setsid sleep 1000 &)
exec sleep 1000
"#;

struct Model {
    number: u32,
    process: Option<Process>,
}

fn random(seed: &mut u64) -> usize {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    (*seed >> 16) as usize
}

fn start_next(fixture: &mut Fixture, models: &mut HashMap<AgentId, Model>, agent: AgentId) {
    let model = models.get_mut(&agent).expect("known");
    model.number += 1;
    model.process = None;
    let number = SessionNumber(model.number);
    fixture.start(agent, number, &["sh", "-c", SCRIPT]);
}

/// Takes one report in, as the core would.
fn observe(fixture: &mut Fixture, models: &mut HashMap<AgentId, Model>) {
    let (agent, number, report) = fixture.wait("report", |report| match report {
        HostReport::Session { agent, number, report } => Some((*agent, *number, report.clone())),
        HostReport::Began { .. }
        | HostReport::Connected { .. }
        | HostReport::Line { .. }
        | HostReport::Announced { .. }
        | HostReport::Disconnected { .. }
        | HostReport::Outranked { .. }
        | HostReport::Job { .. } => None,
    });
    println!("  {agent}.{number} {report:?}");
    let model = models.get_mut(&agent).expect("known");
    if number.0 != model.number {
        return;
    }
    match report {
        Report::Executed(process) => model.process = Some(process),
        Report::Exited(_) | Report::Finished(_) | Report::NotStarted(_) => {
            start_next(fixture, models, agent);
        }
    }
}

/// Lets everybody come to run again.
fn settle(fixture: &mut Fixture, models: &mut HashMap<AgentId, Model>) {
    while models.values().any(|model| model.process.is_none_or(|process| !is_alive(process.pid))) {
        observe(fixture, models);
    }
}

fn violations(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("violations")).unwrap_or_default()
}

fn run(seed: u64, with_cgroup: bool) {
    // Another one may be given, to explore or to repeat a failure.
    let given = std::env::var("TEST_SEED").ok().and_then(|text| text.parse().ok());
    let mut seed: u64 = given.unwrap_or(seed);
    println!("TEST_SEED={seed}");
    let root = perennial_engine::host::cgroup::available().ok();
    let mut fixture = Fixture::with(|settings| settings.cgroup = root.filter(|_| with_cgroup));
    let agents: Vec<AgentId> = (0..AGENTS).map(|_| fixture.agent()).collect();
    let mut models: HashMap<AgentId, Model> =
        agents.iter().map(|agent| (*agent, Model { number: 0, process: None })).collect();
    for agent in &agents {
        start_next(&mut fixture, &mut models, *agent);
    }
    for step in 0..STEPS {
        let agent = agents[random(&mut seed) % AGENTS];
        let number = SessionNumber(models[&agent].number);
        let action = random(&mut seed) % 8;
        println!("{step}: action {action} on {agent}.{number}, shim {:?}", fixture.shim_pid(agent));
        match action {
            0 | 1 => {
                if let Some(process) = models[&agent].process.filter(|p| is_alive(p.pid)) {
                    kill(process.pid, Signal::KILL);
                }
            }
            2 | 3 => {
                if let Some(pid) = fixture.shim_pid(agent) {
                    kill(pid, Signal::KILL);
                }
            }
            4 => fixture.end(agent, number, Pace::AtOnce),
            5 => {
                // The next daemon knows what the journal knew: numbers, not answers.
                fixture.stop_daemon();
                fixture.start_daemon();
                for agent in &agents {
                    let model = models.get_mut(agent).expect("known");
                    model.process = None;
                    let number = SessionNumber(model.number);
                    fixture.start(*agent, number, &["sh", "-c", SCRIPT]);
                }
            }
            _ => settle(&mut fixture, &mut models),
        }
        assert_eq!(violations(fixture.path()), "", "step {step}");
    }
    settle(&mut fixture, &mut models);
    assert_eq!(violations(fixture.path()), "");
    for agent in agents {
        let number = SessionNumber(models[&agent].number);
        fixture.end(agent, number, Pace::AtOnce);
        fixture.exited(agent, number);
        // The end of one that crashed just now is told before its tree is gone; its shim stays until then.
        fixture.order(agent, number, Action::Release);
        until("the shim goes", || fixture.shim_pid(agent).is_none());
    }
    for pid in perennial_engine::host::process::pids() {
        let dir = std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let is_left = dir == fixture.path() && is_alive(pid);
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let environ = String::from_utf8_lossy(&environ).into_owned();
        let stat = perennial_engine::host::process::stat(pid);
        assert!(!is_left, "left: {line:?} {stat:?} {environ:?}");
    }
}

#[test]
fn no_two_sessions_overlap_whatever_is_killed() {
    run(0x5eed_0001, false);
}

#[test]
fn no_two_sessions_overlap_with_cgroups() {
    run(0x5eed_0002, true);
}

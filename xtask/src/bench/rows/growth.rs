//! P13: what grows with the fleet, with its dead and with its history, and what does not.
//!
//! Four homes, each larger in one way only. Their dead and their history are written into the journal
//! by the supervisor itself, without processes; the living are started by the command line.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use perennial_core::command::Command;
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::{Observation, Report, Sign, Wait};

use super::past::Past;
use crate::clock::{timed, until};
use crate::peers::{Fleet, SLEEPER};
use crate::processes::pss_kb;
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, output};

const CALLS: usize = 20;
/// Of what may take seconds.
const LONG_CALLS: usize = 3;
const FOUND_AGAIN: Duration = Duration::from_secs(60);
const HISTORIAN: AgentId = AgentId(1);

struct Size {
    name: &'static str,
    living: usize,
    dead: u64,
    events: u64,
}

const SIZES: [Size; 4] = [
    Size { name: "10 agents", living: 10, dead: 0, events: 1_000 },
    Size { name: "1,000 agents", living: 1_000, dead: 0, events: 1_000 },
    Size { name: "10,000 dead", living: 10, dead: 10_000, events: 1_000 },
    Size { name: "1,000,000 events", living: 10, dead: 0, events: 1_000_000 },
];

/// What is measured of each home, and when its growth is as it should be.
const FIGURES: [Figure; 6] = [
    Figure {
        name: "daemon's PSS", unit: "MB", goal: "10,000 dead: ≤ 2 MB more", is_good: few_mb
    },
    Figure {
        name: "ls --json",
        unit: "ms",
        goal: "the dead and the past cost nothing",
        is_good: flat,
    },
    Figure { name: "up after kill -9", unit: "ms", goal: "10,000 dead: ≤ 300 ms", is_good: soon },
    Figure { name: "spawn", unit: "ms", goal: "the same everywhere", is_good: same },
    Figure { name: "stop", unit: "ms", goal: "the same everywhere", is_good: same },
    Figure { name: "why", unit: "ms", goal: "the same everywhere", is_good: same },
];

/// By size, in the order of `SIZES`.
type Grown = [f64; SIZES.len()];

struct Figure {
    name: &'static str,
    unit: &'static str,
    goal: &'static str,
    is_good: fn(&Grown) -> bool,
}

fn few_mb(grown: &Grown) -> bool {
    grown[2] <= grown[0] + 2.0
}

fn soon(grown: &Grown) -> bool {
    grown[2] <= 300.0
}

fn flat(grown: &Grown) -> bool {
    [grown[2], grown[3]].iter().all(|ms| *ms <= 1.5 * grown[0])
}

fn same(grown: &Grown) -> bool {
    grown.iter().all(|ms| *ms <= 1.5 * grown[0])
}

pub fn growth(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let mut by_size = Vec::new();
    for (number, size) in SIZES.iter().enumerate() {
        eprintln!("growth: {} …", size.name);
        let home = workshop.room(&format!("growth-{number}"))?;
        write_history(&home, size)?;
        by_size.push(measured(Fleet::start_on(workshop, home)?, size)?);
    }
    let names = SIZES.map(|size| size.name).join(" / ");
    for (at, figure) in FIGURES.iter().enumerate() {
        let grown: Grown = std::array::from_fn(|size| by_size[size][at]);
        let shown = grown.map(|value| format!("{value:.1}")).join(" / ");
        lines.push(Line {
            row: "P13",
            what: format!("{}: {names}", figure.name),
            ours: format!("{shown} {}", figure.unit),
            peer: "–".to_owned(),
            ratio: None,
            goal: figure.goal.to_owned(),
            reached: (figure.is_good)(&grown),
        });
    }
    Ok(())
}

/// The figures of one home, in the order of `FIGURES`.
fn measured(mut fleet: Fleet, size: &Size) -> Result<[f64; FIGURES.len()]> {
    for number in 0..size.living {
        fleet.spawn(&format!("agent-{number}"), &SLEEPER)?;
    }
    let call = |words: &[&str]| -> Result<f64> {
        let mut verb = fleet.verb(words);
        let (ms, ran) = timed(|| output(&mut verb));
        ran.map(|_| ms)
    };
    let calls = |count: usize, words: &[&str]| -> Result<Samples> {
        (0..count).map(|_| call(words)).collect()
    };
    let listing = calls(CALLS, &["ls", "--json"])?.p50();
    let memory = pss_kb(fleet.daemon_pid())? / 1024.0;
    let why = calls(LONG_CALLS, &["why", "historian"])?.p50();
    let [mut spawns, mut stops] = [(); 2].map(|()| Samples::default());
    for number in 0..CALLS {
        let name = format!("more-{number}");
        spawns.add(fleet.spawn(&name, &SLEEPER)?);
        stops.add(call(&["stop", &name])?);
    }
    fleet.kill_daemon();
    let (up, started) = timed(|| fleet.up());
    started?;
    let all = i64::try_from(size.living)?;
    let connected = || fleet.health("holders_connected").is_ok_and(|count| count >= all);
    ensure!(until(FOUND_AGAIN, connected), "not all holders were found again");
    Ok([memory, listing, up, spawns.p50(), stops.p50(), why])
}

/// Writes the dead, and one sleeping agent with a long past, into a new home's journal.
fn write_history(home: &Path, size: &Size) -> Result<()> {
    let mut past = Past::begin_in(home)?;
    past.begin(HISTORIAN, "historian", "claude")?;
    for number in 0..size.dead {
        let agent = AgentId(u128::from(number) + 2);
        past.begin(agent, &format!("dead-{number}"), perennial_core::launch::BARE_COMMAND)?;
        past.ask(Command::Bury { target: agent.to_string(), summary: None })?;
        past.report(agent, Report::Exited(Exit::KillSignal(15)))?;
    }
    while past.events < size.events {
        for sign in [Sign::TurnBegan, Sign::Waits(Wait::Input)] {
            let number = SessionNumber::FIRST;
            past.tell(Observation::Harness { agent: HISTORIAN, number, sign })?;
        }
    }
    past.ask(Command::Stop(HISTORIAN.to_string()))?;
    past.report(HISTORIAN, Report::Exited(Exit::KillSignal(15)))?;
    past.settle(0)
}

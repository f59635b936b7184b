//! P1: from kill -9 of a session's program to the first instruction of the next one.
//!
//! Every agent and every service is killed once: what counts is the first crash, before any wait
//! that grows. Rounds of both are mixed at random, so that the machine's noise falls on both alike.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use super::{ratio, shown};
use crate::clock::{monotonic_ns, pass};
use crate::peers::{Fleet, Runit};
use crate::processes::Process;
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Starts, Workshop};

const ROUNDS: usize = 100;
/// runit holds a child back that is younger than a second; so do we.
const AGE: Duration = Duration::from_millis(1300);
const LIMIT: Duration = Duration::from_secs(30);
/// Beside runit.
const GOAL_P50: f64 = 0.85;

pub fn restart(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let mut starts = workshop.pipe("starts")?;
    let child = workshop.child.display().to_string();
    let pipe = starts.path.display().to_string();
    let argv = |tag: &str| vec![child.clone(), "stamp".to_owned(), pipe.clone(), tag.to_owned()];

    let fleet = Fleet::start(workshop, "restart")?;
    let ours: Vec<String> = (0..ROUNDS).map(|number| format!("ours-{number}")).collect();
    for name in &ours {
        let argv = argv(name);
        fleet.spawn(name, &argv.iter().map(String::as_str).collect::<Vec<_>>())?;
    }
    let services: Vec<(String, Vec<String>)> = (0..ROUNDS)
        .map(|number| format!("runit-{number}"))
        .map(|name| (name.clone(), argv(&name)))
        .collect();
    let runit = Runit::start(workshop, &services)?;

    let peers = if runit.is_some() { services.len() } else { 0 };
    let mut running = HashMap::new();
    for _ in 0..ours.len() + peers {
        let start = starts.next(LIMIT)?;
        running.insert(start.tag, start.pid);
    }
    let (mut our_times, mut runit_times) = (Samples::default(), Samples::default());
    pass(AGE);
    for tag in shuffled(running.keys().cloned().collect()) {
        // Another phase of every timer each time.
        pass(Duration::from_micros(20_000 + random() % 60_000));
        let pid = *running.get(&tag).context("a child that has started")?;
        let time = kill(pid, &tag, &mut starts)?;
        if tag.starts_with("ours") { &mut our_times } else { &mut runit_times }.add(time);
    }
    let peer = |value: f64| (runit_times.count() > 0).then_some(value);
    for (name, own, other, limit) in [
        ("p50", our_times.p50(), peer(runit_times.p50()), peer(GOAL_P50 * runit_times.p50())),
        ("p99", our_times.p99(), peer(runit_times.p99()), peer(runit_times.p99())),
    ] {
        lines.push(Line {
            row: "P1",
            what: format!("kill -9 → next program runs, {name} of {ROUNDS}"),
            ours: format!("{own:.2} ms"),
            peer: format!("runit {}", shown(other, "ms")),
            ratio: ratio(own, other),
            goal: if name == "p50" { "≤ 0.85 × runit" } else { "≤ runit" }.to_owned(),
            reached: limit.is_some_and(|limit| own <= limit),
        });
    }
    Ok(())
}

/// Kills one child; how long until the next of that name ran, in milliseconds.
fn kill(pid: i32, tag: &str, starts: &mut Starts) -> Result<f64> {
    let child = Process::open(pid)?;
    let killed_ns = monotonic_ns();
    child.signal(Signal::KILL);
    let next = starts.next(LIMIT)?;
    if next.tag != tag {
        bail!("{} started, and not {tag}", next.tag);
    }
    Ok((next.at_ns.saturating_sub(killed_ns)) as f64 / 1e6)
}

fn shuffled(mut tags: Vec<String>) -> Vec<String> {
    for last in (1..tags.len()).rev() {
        tags.swap(last, random() as usize % (last + 1));
    }
    tags
}

fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(0)
}

//! P17: what a session is told at its start, on request: the whole process of `prime`, in a fleet of 200,
//! beside a bare hook: a program that asks a server that knows nothing.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::clock::timed;
use crate::peers::{BareHook, Fleet, SLEEPER};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, output};

const AGENTS: usize = 200;
const CALLS: usize = 200;
const GOAL_MS: f64 = 3.0;

pub fn prime(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let fleet = Fleet::start(workshop, "prime")?;
    for number in 0..AGENTS {
        fleet.spawn(&format!("agent-{number}"), &SLEEPER)?;
    }
    let bare = BareHook::start(workshop, "bare-hook-of-prime")?;
    let (mut ours, mut floor) = (Samples::default(), Samples::default());
    for number in 0..CALLS {
        let mut prime = fleet.verb(&["prime", &format!("agent-{}", number % AGENTS)]);
        let (ms, ran) = timed(|| output(&mut prime));
        ran?;
        ours.add(ms);
        let mut hook = Command::new(&bare.program);
        hook.arg(&bare.socket).stdin(Stdio::null());
        let (ms, ran) = timed(|| output(&mut hook));
        ran?;
        floor.add(ms);
    }
    lines.push(Line {
        row: "P17",
        what: format!("prime, {AGENTS} agents, p50 of {CALLS}"),
        ours: format!("{:.2} ms (p99 {:.1})", ours.p50(), ours.p99()),
        peer: format!("bare hook {:.2} ms (p99 {:.1})", floor.p50(), floor.p99()),
        ratio: Some(ours.p50() / floor.p50()),
        goal: format!("≤ {GOAL_MS:.0} ms"),
        reached: ours.p50() <= GOAL_MS,
    });
    Ok(())
}

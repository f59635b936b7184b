//! P15, first half: what it costs the daemon to be shown who calls, six processes below a shim.
//!
//! Requests over one kept connection that are refused once it is known who calls. The whole request is measured, so
//! the figure is more than the identity costs: every request is identified, and none is left to subtract.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::clock::until;
use crate::http::Connection;
use crate::peers::Fleet;
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::Workshop;

const DEPTH: usize = 6;
const CALLS: usize = 2000;
const REFUSED: &str = "/v1/agents?roster=none";
const GOAL_US: f64 = 150.0;
const LIMIT: Duration = Duration::from_secs(60);

pub fn identity(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let fleet = Fleet::start(workshop, "identity")?;
    let result = workshop.room("caller")?.join("result");
    let own = std::env::current_exe()?;
    let (own, socket) = (own.display().to_string(), fleet.socket().display().to_string());
    let depth = DEPTH.to_string();
    let argv = [&own, "call", &depth, &socket, &result.display().to_string()];
    fleet.spawn("caller", &argv)?;
    ensure!(until(LIMIT, || result.exists()), "the caller came to no result");
    let text = std::fs::read_to_string(&result)?;
    let us: f64 = text.trim().parse()?;
    lines.push(Line {
        row: "P15",
        what: format!("a refused request at depth {DEPTH}, p50 of {CALLS}"),
        ours: format!("{us:.0} µs"),
        peer: "–".to_owned(),
        ratio: None,
        goal: format!("≤ {GOAL_US:.0} µs"),
        reached: us <= GOAL_US,
    });
    Ok(())
}

/// The caller itself, `call DEPTH SOCKET RESULT`: a process of its own at every depth.
pub fn call(words: &[&str]) -> Result<()> {
    let [depth, socket, result] = words else { anyhow::bail!("call DEPTH SOCKET RESULT") };
    let depth: usize = depth.parse()?;
    if depth > 1 {
        let deeper = (depth - 1).to_string();
        let mut next = Command::new(std::env::current_exe()?);
        let ended = next.args(["call", &deeper, socket, result]).status()?;
        ensure!(ended.success(), "the caller below failed");
        return Ok(());
    }
    let mut connection = Connection::open(Path::new(socket))?;
    let mut samples = Samples::default();
    for _ in 0..CALLS {
        let began = Instant::now();
        connection.get(REFUSED)?;
        samples.add(began.elapsed().as_secs_f64() * 1e6);
    }
    // Written whole or not at all: the other side looks whether it is there.
    let unfinished = format!("{result}.new");
    std::fs::write(&unfinished, format!("{}\n", samples.p50()))?;
    Ok(std::fs::rename(unfinished, result)?)
}

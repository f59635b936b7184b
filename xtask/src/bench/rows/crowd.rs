//! P2, P4, P5, P8 and P14: a fleet that grows to 1,000 agents beside as many tmux sessions.
//!
//! Calls of both alternate, so that the machine's noise falls on both alike.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::{ratio, shown};
use crate::clock::{pass, timed, until};
use crate::peers::{Dtach, Fleet, SLEEPER, Tmux};
use crate::processes::{Activity, mean_pss_kb, pss_kb};
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Workshop, output};

const FEW: usize = 200;
const MANY: usize = 1000;
const LISTINGS: usize = 40;
/// Written once a second at most: after this nothing of the growth is left to write.
const SETTLED: Duration = Duration::from_secs(15);
const IDLE: Duration = Duration::from_secs(60);

struct Crowd {
    fleet: Fleet,
    tmux: Option<Tmux>,
    our_spawns: Samples,
    tmux_spawns: Samples,
}

pub fn crowd(workshop: &Workshop, rows: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let mut crowd = Crowd {
        fleet: Fleet::start(workshop, "crowd")?,
        tmux: Tmux::start(workshop, "tmux")?,
        our_spawns: Samples::default(),
        tmux_spawns: Samples::default(),
    };
    let wanted = |row: &str| rows.contains(&row);
    let largest = if rows.iter().all(|row| *row == "P5") { FEW } else { MANY };
    for count in [1, FEW, MANY].into_iter().filter(|count| *count <= largest) {
        crowd.grow(count)?;
        if wanted("P2") {
            lines.push(crowd.listing(count)?);
        }
        if wanted("P4") && count >= FEW {
            lines.push(crowd.daemon_memory(count)?);
        }
        if wanted("P4") && count == FEW {
            lines.push(crowd.holder_memory(workshop)?);
        }
        if wanted("P5") && count == FEW {
            lines.extend(crowd.idle()?);
        }
    }
    if wanted("P8") {
        lines.push(crowd.adoption()?);
    }
    if wanted("P14") {
        lines.push(crowd.starts());
    }
    Ok(())
}

impl Crowd {
    fn grow(&mut self, count: usize) -> Result<()> {
        for number in self.our_spawns.count()..count {
            let name = format!("agent-{number}");
            self.our_spawns.add(self.fleet.spawn(&name, &SLEEPER)?);
            if let Some(tmux) = &mut self.tmux {
                self.tmux_spawns.add(tmux.spawn(&name)?);
            }
        }
        Ok(())
    }

    fn listing(&self, count: usize) -> Result<Line> {
        let (mut ours, mut tmux) = (Samples::default(), Samples::default());
        for _ in 0..LISTINGS {
            let mut list = self.fleet.verb(&["ls", "--json"]);
            let (ms, ran) = timed(|| output(&mut list));
            ran?;
            ours.add(ms);
            if let Some(peer) = &self.tmux {
                let mut list = peer.verb(&["list-sessions"]);
                let (ms, ran) = timed(|| output(&mut list));
                ran?;
                tmux.add(ms);
            }
        }
        let peer = self.tmux.is_some().then(|| tmux.p50());
        Ok(Line {
            row: "P2",
            what: format!("ls --json, {count} agents, p50 of {LISTINGS}"),
            ours: format!("{:.1} ms (p99 {:.1})", ours.p50(), ours.p99()),
            peer: format!("tmux ls {}", shown(peer, "ms")),
            ratio: ratio(ours.p50(), peer),
            goal: "≤ 0.8 × tmux ls".to_owned(),
            reached: peer.is_some_and(|peer| ours.p50() <= 0.8 * peer),
        })
    }

    fn daemon_memory(&self, count: usize) -> Result<Line> {
        // Listed once before: memory that only a listing takes counts, too.
        output(&mut self.fleet.verb(&["ls", "--json"]))?;
        let ours = pss_kb(self.fleet.daemon_pid())? / 1024.0;
        let tmux = self.tmux.as_ref().and_then(Tmux::server_pid);
        let peer = tmux.map(pss_kb).transpose()?.map(|kb| kb / 1024.0);
        let goal = if count == FEW { 9.0 } else { 16.0 };
        Ok(Line {
            row: "P4",
            what: format!("daemon's PSS, {count} agents"),
            ours: format!("{ours:.1} MB"),
            peer: format!("tmux {}", shown(peer, "MB")),
            ratio: ratio(ours, peer),
            goal: format!("≤ {goal:.0} MB"),
            reached: ours <= goal,
        })
    }

    fn holder_memory(&self, workshop: &Workshop) -> Result<Line> {
        let dtach = Dtach::start(workshop, FEW)?;
        let ours = mean_pss_kb(&self.fleet.shims()?)?;
        let peer = dtach.as_ref().map(|dtach| mean_pss_kb(&dtach.pids())).transpose()?;
        Ok(Line {
            row: "P4",
            what: format!("PSS per shim, {FEW} sessions"),
            ours: format!("{ours:.1} kB"),
            peer: format!("dtach {}", shown(peer, "kB")),
            ratio: ratio(ours, peer),
            goal: "≤ 0.8 × dtach".to_owned(),
            reached: peer.is_some_and(|peer| ours <= 0.8 * peer),
        })
    }

    fn idle(&self) -> Result<[Line; 2]> {
        let mut ours = self.fleet.shims()?;
        ours.push(self.fleet.daemon_pid());
        let tmux: Vec<i32> = self.tmux.as_ref().and_then(Tmux::server_pid).into_iter().collect();
        pass(SETTLED);
        let before = (Activity::of(&ours), Activity::of(&tmux));
        ensure!(before.0.run_ms > 0.0, "the kernel keeps no account of run times");
        pass(IDLE);
        let own = Activity::of(&ours).since(before.0);
        let peer = Activity::of(&tmux).since(before.1);
        let what = |what: &str| format!("{what}, {FEW} quiet sessions, {} s", IDLE.as_secs());
        Ok([
            Line {
                row: "P5",
                what: what("processor time"),
                ours: format!("{:.2} ms", own.run_ms),
                peer: format!("tmux {:.2} ms", peer.run_ms),
                ratio: None,
                goal: "≤ 5 ms".to_owned(),
                reached: own.run_ms <= 5.0,
            },
            Line {
                row: "P5",
                what: what("context switches"),
                ours: own.switches.to_string(),
                peer: format!("tmux {}", peer.switches),
                ratio: None,
                goal: "≤ 60".to_owned(),
                reached: own.switches <= 60,
            },
        ])
    }

    /// The daemon is killed, the next one started: until it is connected to every holder again.
    fn adoption(&mut self) -> Result<Line> {
        self.fleet.kill_daemon();
        let began = Instant::now();
        self.fleet.up()?;
        let ready = began.elapsed();
        let all = i64::try_from(MANY)?;
        let connected = || self.fleet.health("holders_connected").is_ok_and(|count| count == all);
        ensure!(until(Duration::from_secs(60), connected), "not all holders were found again");
        let whole = began.elapsed();
        Ok(Line {
            row: "P8",
            what: format!("daemon killed → {MANY} sessions adopted"),
            ours: format!("{:.2} s (up {:.2} s)", whole.as_secs_f64(), ready.as_secs_f64()),
            peer: "–".to_owned(),
            ratio: None,
            goal: "≤ 2 s".to_owned(),
            reached: whole <= Duration::from_secs(2),
        })
    }

    fn starts(&self) -> Line {
        let ours = self.our_spawns.sum() / 1e3;
        let peer = self.tmux.is_some().then(|| self.tmux_spawns.sum() / 1e3);
        Line {
            row: "P14",
            what: format!("start of {MANY} sessions by {MANY} calls"),
            ours: format!("{ours:.1} s (p50 {:.1} ms)", self.our_spawns.p50()),
            peer: format!("tmux {}", shown(peer, "s")),
            ratio: ratio(ours, peer),
            goal: "≤ tmux".to_owned(),
            reached: peer.is_some_and(|peer| ours <= peer),
        }
    }
}

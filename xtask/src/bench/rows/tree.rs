//! P15, second half: the end of a tree of 50 processes that do not want to end.
//!
//! Each has a session of its own, half have left their parent, none heeds a kill signal that can be
//! caught. Measured at the host: from the order to end at once to the report that nobody is left,
//! which is then checked.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use perennial_core::conversation::Opening;
use perennial_core::effect::{Action, SessionEffect};
use perennial_core::id::{AgentId, Epoch, SessionNumber};
use perennial_core::launch::{Host, Launch, Options};
use perennial_core::observation::Report;
use perennial_core::session::Pace;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::{Holders, HostReport, Ladder, Settings, cgroup, environment, process};

use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::{Starts, Workshop};

const BRANCHES: usize = 50;
const ROUNDS: usize = 20;
const NUMBER: SessionNumber = SessionNumber::FIRST;
const LIMIT: Duration = Duration::from_secs(30);

pub fn tree(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let mut starts = workshop.pipe("branches")?;
    let ways = [("a cgroup", cgroup::available().ok(), 10.0), ("no cgroup", None, 25.0)];
    for (index, (way, root, goal)) in ways.into_iter().enumerate() {
        if index == 0 && root.is_none() {
            eprintln!("P15: no cgroup can be written here, so only the other way is measured");
            continue;
        }
        let mut host = BareHost::start(workshop, &format!("tree-{index}"), root)?;
        let mut times = Samples::default();
        for round in 0..ROUNDS {
            let agent = AgentId((index * ROUNDS + round + 1) as u128);
            times.add(host.round(workshop, agent, &mut starts)?);
        }
        host.holders.stop();
        lines.push(Line {
            row: "P15",
            what: format!("end of {BRANCHES} hostile processes, {way}, p50 of {ROUNDS}"),
            ours: format!("{:.1} ms (p99 {:.1})", times.p50(), times.p99()),
            peer: "–".to_owned(),
            ratio: None,
            goal: format!("≤ {goal:.0} ms"),
            reached: times.p50() <= goal,
        });
    }
    Ok(())
}

/// The daemon's side of shims, without a daemon around it.
struct BareHost {
    holders: Holders,
    reports: Receiver<HostReport>,
    dir: PathBuf,
}

impl BareHost {
    fn start(workshop: &Workshop, name: &str, cgroup: Option<PathBuf>) -> Result<BareHost> {
        let dir = workshop.room(name)?;
        let settings = Settings {
            jobs_dir: dir.join("jobs"),
            holders_dir: dir.join("holders"),
            home: None,
            program: workshop.perennial.clone(),
            epoch: Epoch(1),
            ladder: Ladder::default(),
            record_limit_bytes: 64 << 10,
            nofile: None,
            cgroup,
        };
        let (sender, reports) = channel();
        let sink = move |report| {
            // Nobody listens any more: the measure is over.
            let _ = sender.send(report);
        };
        Ok(BareHost { holders: Holders::start(settings, sink)?, reports, dir })
    }

    /// One tree, grown and ended; how long its end took, in milliseconds.
    fn round(&mut self, workshop: &Workshop, agent: AgentId, starts: &mut Starts) -> Result<f64> {
        let holder = HolderDirectory::new(&self.dir.join("holders"), agent);
        holder.create()?;
        environment::write(holder.path(), [("PATH", "/usr/bin:/bin")])?;
        let dir = self.dir.display().to_string();
        let words = [
            workshop.child.display().to_string(),
            "tree".to_owned(),
            starts.path.display().to_string(),
            BRANCHES.to_string(),
        ];
        let launch = Launch {
            harness: "command".to_owned(),
            host: Host::Shim,
            argv: words.into(),
            dir: dir.clone(),
            env_names: Vec::new(),
            project: dir,
            options: Options::default(),
        };
        self.order(agent, Action::Start(Box::new(launch), Opening::Bare));
        let pids: Result<Vec<i32>> = (0..=BRANCHES).map(|_| Ok(starts.next(LIMIT)?.pid)).collect();
        let pids = pids.context("the tree did not grow")?;
        let began = Instant::now();
        self.order(agent, Action::End(Pace::AtOnce));
        self.await_exit(agent)?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let left = pids.iter().filter(|pid| process::stat(**pid).is_some()).count();
        self.order(agent, Action::Release);
        ensure!(left == 0, "{left} processes were left");
        Ok(ms)
    }

    fn order(&self, agent: AgentId, action: Action) {
        self.holders.order(SessionEffect { agent, number: NUMBER, recorded: None, action });
    }

    fn await_exit(&self, wanted: AgentId) -> Result<()> {
        loop {
            match self.reports.recv_timeout(LIMIT).context("the tree's end was not reported")? {
                HostReport::Session { agent, report: Report::Exited(_), .. } if agent == wanted => {
                    return Ok(());
                }
                HostReport::Session { report: Report::NotStarted(why), .. } => bail!("{why}"),
                HostReport::Session { .. }
                | HostReport::Began { .. }
                | HostReport::Connected { .. }
                | HostReport::Disconnected { .. }
                | HostReport::Line { .. }
                | HostReport::Announced { .. }
                | HostReport::Outranked { .. }
                | HostReport::Job { .. } => {}
            }
        }
    }
}

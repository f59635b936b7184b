//! The engine's own holders, with real processes, behind the contract's trait.
//!
//! Whatever a row leaves running is ended when the host goes.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use perennial_core::conversation::Opening;
use perennial_core::effect::{Action, SessionEffect};
use perennial_core::id::{AgentId, Epoch, SessionNumber};
use perennial_core::observation::Report;
use perennial_core::session::{Pace, Process};
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::{Holders, HostReport, Ladder, Settings, environment};
use rustix::process::{Pid, Signal, kill_process};

use crate::host::{Host, Program, launch};

/// Nothing here takes that long; a row that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(20);

const AGENT: AgentId = AgentId(1);

/// Says that it is ready by a file, so that nobody asks it to end before it can hear that.
const OBEYS: &str = "trap 'exit 0' INT; : > ready; while :; do sleep 0.01; done";
const DEAF: &str = "trap '' INT TERM HUP; : > ready; while :; do sleep 1000; done";

pub struct RealHost {
    dir: tempfile::TempDir,
    settings: Settings,
    holders: Option<Holders>,
    reports: Receiver<HostReport>,
    newest: SessionNumber,
    is_trapping: bool,
}

impl RealHost {
    pub fn new() -> RealHost {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let settings = Settings {
            holders_dir: dir.path().join("holders"),
            jobs_dir: dir.path().join("jobs"),
            home: None,
            program: std::env::current_exe().expect("this program"),
            epoch: Epoch(0),
            ladder: Ladder {
                interrupt: Duration::from_millis(300),
                term: Duration::from_millis(100),
                grace: Duration::from_secs(3),
            },
            record_limit_bytes: 64 << 10,
            nofile: None,
            cgroup: None,
        };
        let directory = HolderDirectory::new(&settings.holders_dir, AGENT);
        directory.create().expect("a holder directory");
        environment::write(directory.path(), [("PATH", "/usr/bin:/bin")]).expect("writes");
        let (_, reports) = channel();
        let newest = SessionNumber::FIRST;
        let mut host =
            RealHost { dir, settings, holders: None, reports, newest, is_trapping: false };
        host.start_daemon();
        host
    }

    fn directory(&self) -> HolderDirectory {
        HolderDirectory::new(&self.settings.holders_dir, AGENT)
    }

    fn holder(&self) -> Option<i32> {
        self.directory().shim_pid().expect("the lock is readable")
    }

    /// Waits for something that nobody reports.
    fn until(&self, mut is_so: impl FnMut() -> bool) -> bool {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }
}

fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _gone = kill_process(pid, Signal::KILL);
    }
}

impl Host for RealHost {
    fn start(&mut self, number: SessionNumber, program: Program) {
        let argv: &[&str] = match program {
            Program::Obeys => &["sh", "-c", OBEYS],
            Program::Deaf => &["sh", "-c", DEAF],
            Program::Exits => &["sh", "-c", "exit 7"],
            Program::Missing => &["/no/such/program"],
        };
        self.is_trapping = matches!(program, Program::Obeys | Program::Deaf);
        self.newest = self.newest.max(number);
        let launch = launch(&self.dir.path().display().to_string(), argv);
        self.order(number, Action::Start(Box::new(launch), Opening::Bare));
    }

    fn order(&mut self, number: SessionNumber, action: Action) {
        let is_end = matches!(action, Action::End(_)) && number == self.newest;
        if is_end && self.is_trapping {
            let ready = self.dir.path().join("ready");
            self.until(|| ready.exists());
        }
        let holders = self.holders.as_ref().expect("a daemon runs");
        holders.order(SessionEffect { agent: AGENT, number, recorded: None, action });
    }

    fn report(&mut self) -> Option<(SessionNumber, Report)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.reports.recv_timeout(left).ok()? {
                HostReport::Session { number, report, .. } => return Some((number, report)),
                HostReport::Began { .. }
                | HostReport::Connected { .. }
                | HostReport::Job { .. }
                | HostReport::Line { .. }
                | HostReport::Announced { .. }
                | HostReport::Outranked { .. }
                | HostReport::Disconnected { .. } => {}
            }
        }
    }

    fn kill_holder(&mut self) {
        kill(self.holder().expect("a holder"));
        assert!(self.until(|| self.holder().is_none()), "a killed holder goes");
    }

    fn kill_program(&mut self, _number: SessionNumber, process: Process) {
        kill(process.pid);
    }

    fn stop_daemon(&mut self) {
        if let Some(holders) = self.holders.take() {
            holders.stop();
        }
    }

    fn start_daemon(&mut self) {
        self.settings.epoch.0 += 1;
        let (sender, reports) = channel();
        self.reports = reports;
        let holders = Holders::start(self.settings.clone(), move |report| {
            let _row_over = sender.send(report);
        });
        self.holders = Some(holders.expect("holders start"));
    }

    fn has_holder(&mut self) -> bool {
        !self.until(|| self.holder().is_none())
    }
}

impl Drop for RealHost {
    fn drop(&mut self) {
        if self.holder().is_none() {
            return;
        }
        self.stop_daemon();
        self.start_daemon();
        self.is_trapping = false;
        let number = self.newest;
        self.order(number, Action::End(Pace::AtOnce));
        while let Some((of, report)) = self.report() {
            if of == number && report.exit().is_some() {
                break;
            }
        }
        self.order(number, Action::Release);
        self.has_holder();
        self.stop_daemon();
    }
}

//! A temporary state directory with holders on it, and what they report.
//!
//! Whatever a test leaves running is ended when the fixture goes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use perennial_core::conversation::Opening;
use perennial_core::effect::{Action, SessionEffect};
use perennial_core::id::{AgentId, Epoch, SessionNumber};
use perennial_core::launch::{Host, Launch};
use perennial_core::observation::Report;
use perennial_core::session::{Pace, Process};
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::holders::{Delivery, HostRefusal, Mode, Outcome, Ticket};
use perennial_engine::host::protocol::{self, ClientHello, Frame, Inbox, Role, ShimHello};
use perennial_engine::host::{Holders, HostReport, Ladder, Settings, environment};

/// Nothing here takes that long; a test that waits longer has failed.
pub const LONG: Duration = Duration::from_secs(20);

pub struct Fixture {
    dir: tempfile::TempDir,
    pub settings: Settings,
    holders: Option<Holders>,
    reports: Receiver<HostReport>,
    seen: Vec<HostReport>,
    agents: Vec<(AgentId, SessionNumber)>,
}

pub const N1: SessionNumber = SessionNumber(1);
pub const N2: SessionNumber = SessionNumber(2);

impl Fixture {
    pub fn new() -> Fixture {
        Fixture::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Fixture {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut settings = Settings {
            holders_dir: dir.path().join("holders"),
            jobs_dir: dir.path().join("jobs"),
            home: None,
            program: std::env::current_exe().expect("this program"),
            epoch: Epoch(1),
            ladder: Ladder {
                interrupt: Duration::from_millis(150),
                term: Duration::from_millis(150),
                grace: Duration::from_secs(3),
            },
            record_limit_bytes: 64 << 10,
            nofile: None,
            cgroup: None,
        };
        change(&mut settings);
        let (sender, reports) = channel();
        let holders = Holders::start(settings.clone(), move |report| {
            let _test_over = sender.send(report);
        })
        .expect("holders start");
        Fixture {
            dir,
            settings,
            holders: Some(holders),
            reports,
            seen: Vec::new(),
            agents: Vec::new(),
        }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn holders(&self) -> &Holders {
        self.holders.as_ref().expect("the daemon runs")
    }

    /// A new agent; its sessions inherit PATH.
    pub fn agent(&mut self) -> AgentId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let agent = AgentId(u128::from(std::process::id()) << 64 | u128::from(number));
        let directory = self.directory(agent);
        directory.create().expect("a holder directory");
        environment::write(directory.path(), [("PATH", "/usr/bin:/bin")]).expect("writes");
        self.agents.push((agent, SessionNumber(1)));
        agent
    }

    /// An agent of an earlier daemon: ended with this fixture, too.
    pub fn adopt(&mut self, agent: AgentId) {
        self.agents.push((agent, SessionNumber(1)));
    }

    pub fn directory(&self, agent: AgentId) -> HolderDirectory {
        HolderDirectory::new(&self.settings.holders_dir, agent)
    }

    pub fn session_dir(&self, agent: AgentId, number: SessionNumber) -> PathBuf {
        self.directory(agent).session(number)
    }

    pub fn order(&mut self, agent: AgentId, number: SessionNumber, action: Action) {
        if let Some(entry) = self.agents.iter_mut().find(|entry| entry.0 == agent) {
            entry.1 = entry.1.max(number);
        }
        self.holders().order(SessionEffect { agent, number, recorded: None, action });
    }

    pub fn start(&mut self, agent: AgentId, number: SessionNumber, argv: &[&str]) {
        let launch = launch(self.path(), argv);
        self.order(agent, number, Action::Start(Box::new(launch), Opening::Bare));
    }

    /// Starts a shell script and waits until it runs.
    pub fn run(&mut self, agent: AgentId, number: SessionNumber, script: &str) -> Process {
        self.start(agent, number, &["sh", "-c", script]);
        self.executed(agent, number)
    }

    pub fn end(&mut self, agent: AgentId, number: SessionNumber, pace: Pace) {
        self.order(agent, number, Action::End(pace));
    }

    /// Waits for the first report that `pick` accepts; earlier ones stay to be picked.
    pub fn wait<T>(&mut self, what: &str, mut pick: impl FnMut(&HostReport) -> Option<T>) -> T {
        for index in 0..self.seen.len() {
            if let Some(found) = pick(&self.seen[index]) {
                self.seen.remove(index);
                return found;
            }
        }
        let deadline = Instant::now() + LONG;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(report) = self.reports.recv_timeout(left) else {
                panic!("no {what}; seen: {:?}", self.seen)
            };
            if let Some(found) = pick(&report) {
                return found;
            }
            self.seen.push(report);
        }
    }

    fn report<T>(
        &mut self,
        agent: AgentId,
        number: SessionNumber,
        what: &str,
        mut pick: impl FnMut(&Report) -> Option<T>,
    ) -> T {
        self.wait(what, |report| match report {
            HostReport::Session { agent: a, number: n, report } if (*a, *n) == (agent, number) => {
                pick(report)
            }
            HostReport::Session { .. }
            | HostReport::Began { .. }
            | HostReport::Connected { .. }
            | HostReport::Line { .. }
            | HostReport::Announced { .. }
            | HostReport::Disconnected { .. }
            | HostReport::Outranked { .. }
            | HostReport::Job { .. } => None,
        })
    }

    pub fn executed(&mut self, agent: AgentId, number: SessionNumber) -> Process {
        self.report(agent, number, "executed", |report| match report {
            Report::Executed(process) => Some(*process),
            Report::NotStarted(why) => panic!("not started: {why}"),
            Report::Exited(_) | Report::Finished(_) => None,
        })
    }

    pub fn exited(&mut self, agent: AgentId, number: SessionNumber) -> perennial_core::exit::Exit {
        self.report(agent, number, "exited", |report| match report {
            Report::Exited(exit) | Report::Finished(exit) => Some(*exit),
            Report::NotStarted(why) => panic!("not started: {why}"),
            Report::Executed(_) => None,
        })
    }

    pub fn not_started(&mut self, agent: AgentId, number: SessionNumber) -> String {
        self.report(agent, number, "not started", |report| match report {
            Report::NotStarted(why) => Some(why.clone()),
            Report::Exited(exit) | Report::Finished(exit) => panic!("exited: {exit:?}"),
            Report::Executed(_) => panic!("executed"),
        })
    }

    pub fn disconnected(&mut self, agent: AgentId) -> String {
        self.wait("disconnected", |report| match report {
            HostReport::Disconnected { agent: a, why, .. } if *a == agent => Some(why.clone()),
            HostReport::Session { .. }
            | HostReport::Began { .. }
            | HostReport::Connected { .. }
            | HostReport::Line { .. }
            | HostReport::Announced { .. }
            | HostReport::Disconnected { .. }
            | HostReport::Outranked { .. }
            | HostReport::Job { .. } => None,
        })
    }

    pub fn connected(&mut self, agent: AgentId) -> (Process, Option<u64>) {
        self.wait("connected", |report| match report {
            HostReport::Connected { agent: a, shim, cgroup, .. } if *a == agent => {
                Some((*shim, *cgroup))
            }
            HostReport::Session { .. }
            | HostReport::Began { .. }
            | HostReport::Connected { .. }
            | HostReport::Line { .. }
            | HostReport::Announced { .. }
            | HostReport::Disconnected { .. }
            | HostReport::Outranked { .. }
            | HostReport::Job { .. } => None,
        })
    }

    /// Stops the daemon's side only.
    pub fn stop_daemon(&mut self) {
        if let Some(holders) = self.holders.take() {
            holders.stop();
        }
        self.seen.clear();
        while self.reports.try_recv().is_ok() {}
    }

    /// The next run of the daemon.
    pub fn start_daemon(&mut self) {
        self.settings.epoch.0 += 1;
        let (sender, reports) = channel();
        self.reports = reports;
        let holders = Holders::start(self.settings.clone(), move |report| {
            let _test_over = sender.send(report);
        });
        self.holders = Some(holders.expect("holders start"));
    }

    pub fn shim_pid(&self, agent: AgentId) -> Option<i32> {
        self.directory(agent).shim_pid().expect("the lock is readable")
    }

    /// What became of one text for a bare command.
    pub fn deliver(
        &self,
        agent: AgentId,
        number: SessionNumber,
        text: &str,
    ) -> Result<Outcome, HostRefusal> {
        static MESSAGES: AtomicU64 = AtomicU64::new(0);
        let message = MESSAGES.fetch_add(1, Ordering::Relaxed).to_string();
        let columns = text.split('\n').map(|line| line.chars().count() as u32).collect();
        let delivery = Delivery { message, attempt: 1, text: text.to_owned(), columns };
        let (sender, answers) = channel();
        self.holders().deliver(agent, number, delivery, move |answer| {
            let _test_over = sender.send(answer);
        });
        answers.recv_timeout(LONG).expect("an answer")
    }

    /// Types a line into a bare command.
    pub fn type_line(&self, agent: AgentId, number: SessionNumber, text: &str) {
        assert_eq!(self.deliver(agent, number, text), Ok(Outcome::Written), "{text}");
    }

    pub fn ticket(
        &self,
        agent: AgentId,
        number: SessionNumber,
        mode: Mode,
    ) -> Result<Ticket, HostRefusal> {
        let (sender, answers) = channel();
        self.holders().ticket(agent, number, mode, move |answer| {
            let _test_over = sender.send(answer);
        });
        answers.recv_timeout(LONG).expect("an answer")
    }

    /// All that the session printed so far.
    pub fn output(&self, agent: AgentId, number: SessionNumber) -> Vec<u8> {
        let dir = self.session_dir(agent, number);
        let recording = perennial_engine::host::recording::Recording::open(&dir).expect("opens");
        recording.tail(1 << 20).expect("reads").1
    }

    /// Waits until the session has printed this.
    pub fn await_output(&self, agent: AgentId, number: SessionNumber, text: &str) {
        until(&format!("output {text:?}"), || {
            String::from_utf8_lossy(&self.output(agent, number)).contains(text)
        });
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.stop_daemon();
        self.start_daemon();
        for (agent, number) in self.agents.clone() {
            // A shim that a test has stopped must run to obey.
            if let Ok(Some(pid)) = self.directory(agent).shim_pid() {
                kill(pid, rustix::process::Signal::CONT);
                self.end(agent, number, Pace::AtOnce);
                while let Ok(report) = self.reports.recv_timeout(LONG) {
                    let is_end = matches!(
                        &report,
                        HostReport::Session { agent: a, report, .. }
                            if *a == agent && report.exit().is_some()
                    );
                    if is_end {
                        break;
                    }
                }
                self.order(agent, number, Action::Release);
            }
        }
        self.stop_daemon();
    }
}

pub fn launch(dir: &Path, argv: &[&str]) -> Launch {
    Launch {
        harness: "command".to_owned(),
        host: Host::Shim,
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        dir: dir.display().to_string(),
        env_names: Vec::new(),
        project: dir.display().to_string(),
        options: Default::default(),
    }
}

/// Waits for something that nobody reports, looking again and again.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        // No event tells; a busy wait would take a core from who is waited for.
        std::thread::park_timeout(std::time::Duration::from_millis(2));
    }
}

/// Whether a process runs: a zombie does not.
pub fn is_alive(pid: i32) -> bool {
    perennial_engine::host::process::stat(pid).is_some_and(|stat| !stat.zombie)
}

/// Kills by pid a process that the test knows to be its own.
pub fn kill(pid: i32, signal: rustix::process::Signal) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _gone = rustix::process::kill_process(pid, signal);
    }
}

/// Resident memory of a process, in bytes.
pub fn resident_bytes(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).expect("the process is there");
    let pages: u64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("a number");
    pages * 4096
}

/// Somebody at a shim's socket, speaking frames.
pub struct Wire {
    stream: UnixStream,
    inbox: Inbox,
}

impl Wire {
    pub fn connect(socket: &Path) -> Wire {
        let stream = UnixStream::connect(socket).expect("connects");
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        Wire { stream, inbox: Inbox::new(1 << 20) }
    }

    /// As a daemon of this epoch; what the shim answers.
    pub fn daemon(socket: &Path, epoch: u64) -> (Wire, ShimHello) {
        let mut wire = Wire::connect(socket);
        wire.say(&ClientHello::new(Role::Daemon { epoch }));
        let hello = wire.hear().expect("an answer");
        (wire, hello)
    }

    pub fn say(&mut self, message: &impl serde::Serialize) {
        let mut bytes = Vec::new();
        protocol::push_control(&mut bytes, message).expect("fits");
        self.write(&bytes);
    }

    pub fn write(&mut self, bytes: &[u8]) {
        // The shim may have closed already: the answer tells.
        let _closed = self.stream.write_all(bytes);
    }

    /// The next control message; `None` once the shim has closed.
    pub fn hear<T: serde::de::DeserializeOwned>(&mut self) -> Option<T> {
        loop {
            match self.inbox.next_frame().expect("well formed") {
                Some(Frame::Control(payload)) => {
                    return Some(protocol::parse(&payload).expect("as expected"));
                }
                Some(Frame::Bytes(_)) => {}
                None => {
                    let mut buffer = [0; 4096];
                    match self.stream.read(&mut buffer) {
                        Ok(0) | Err(_) => return None,
                        Ok(count) => self.inbox.push(&buffer[..count]),
                    }
                }
            }
        }
    }
}

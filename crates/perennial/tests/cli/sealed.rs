//! A sealed home: its own directories, a clean environment, and the built binary in it.
//!
//! Everything that ran in it is ended by pid when it is dropped; what can't be ended fails the test.
//! A test that fails shows the end of its daemon's log, and the last events.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use perennial_api::agent::Context;
use perennial_api::answer::Health;
use perennial_api::{Agent, Client, Home, Problem};
use perennial_core::id::{AgentId, SessionId, SessionNumber};
use perennial_core::session::Process;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::{cgroup, process};
use tempfile::TempDir;

use crate::processes::{self, Found};
use crate::watch::{PATIENCE, Watch};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_perennial");

/// One home on this machine, for one test.
#[derive(Debug)]
pub struct Sealed {
    pub home: Home,
    pub root: PathBuf,
    /// Where agents work, and tests put files; their HOME.
    pub dir: PathBuf,
    is_xdg: bool,
    _temporary: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sealed {
    pub fn new() -> Sealed {
        Sealed::below("h")
    }

    /// A home whose socket's path is longer than a socket address can hold.
    pub fn deep() -> Sealed {
        Sealed::below(&format!("{}/{}", "deep".repeat(20), "er".repeat(30)))
    }

    fn below(path: &str) -> Sealed {
        let temporary = TempDir::with_prefix("perennial-").expect("a temporary directory");
        let root = temporary.path().join(path);
        Sealed::at(root, temporary)
    }

    /// A home at `root`, wherever that is; `temporary` has the agents' directory.
    pub fn at(root: PathBuf, temporary: TempDir) -> Sealed {
        let dir = temporary.path().canonicalize().expect("it is there").join("work");
        std::fs::create_dir_all(&dir).expect("a directory to work in");
        Sealed { home: Home::at(&root), root, dir, is_xdg: false, _temporary: temporary }
    }

    /// A home by the XDG directories below HOME, without PERENNIAL_HOME.
    pub fn xdg() -> Sealed {
        let mut sealed = Sealed::new();
        sealed.home = Home {
            root: None,
            data: sealed.dir.join(".local/share/perennial"),
            state: sealed.dir.join(".local/state/perennial"),
            config: sealed.dir.join(".config/perennial"),
        };
        sealed.root.clone_from(&sealed.dir);
        sealed.is_xdg = true;
        sealed
    }

    /// A home with its daemon.
    #[track_caller]
    pub fn up() -> Sealed {
        let sealed = Sealed::new();
        sealed.start_daemon();
        sealed
    }

    #[track_caller]
    pub fn start_daemon(&self) {
        self.ok(["up"]);
    }

    /// The binary with nothing of this process's environment.
    pub fn command<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(&self.dir).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &self.dir);
        command.env("LANG", "C.UTF-8");
        if !self.is_xdg {
            command.env("PERENNIAL_HOME", &self.root);
        }
        command
    }

    /// Runs a verb to its end.
    #[track_caller]
    pub fn run<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> Ran {
        finish(self.command(args))
    }

    /// Runs a verb that must succeed; what it printed.
    #[track_caller]
    pub fn ok<I: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = I>) -> String {
        let command = self.command(args);
        let shown = format!("{:?}", command.get_args().collect::<Vec<_>>());
        let ran = finish(command);
        assert_eq!(ran.code, 0, "{shown}: {ran:?}");
        ran.stdout
    }

    /// Runs a verb with `--json`; what it printed, read.
    #[track_caller]
    pub fn json<T: serde::de::DeserializeOwned>(&self, args: &[&str]) -> T {
        let text = self.ok([&["--json"], args].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    }

    /// Runs a verb that must fail with this exit code; the problem that it told.
    #[track_caller]
    pub fn refused(&self, code: i32, args: &[&str]) -> Problem {
        let ran = self.run([&["--json"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        let problem: Problem = serde_json::from_str(ran.stderr.trim())
            .unwrap_or_else(|error| panic!("{args:?}: {error} in {:?}", ran.stderr));
        assert!(!problem.title.is_empty() && !problem.kind.is_empty(), "{args:?}: {problem:?}");
        problem
    }

    /// Spawns an agent that runs a shell script.
    #[track_caller]
    pub fn spawn(&self, name: &str, script: &str) -> Agent {
        self.spawn_with(&[name], &["/bin/sh", "-c", script])
    }

    /// Spawns with options: a name, then whatever goes before `--`.
    #[track_caller]
    pub fn spawn_with(&self, options: &[&str], argv: &[&str]) -> Agent {
        self.json(&[&["spawn"], options, &["--"], argv].concat())
    }

    #[track_caller]
    pub fn show(&self, name: &str) -> Agent {
        self.json(&["show", name])
    }

    #[track_caller]
    pub fn ls(&self) -> Vec<Agent> {
        self.client()
            .get("/v1/agents?all=true")
            .and_then(|answer| answer.read())
            .expect("a listing")
    }

    /// Asks for an agent's context until it is as wanted.
    #[track_caller]
    pub fn context(&self, name: &str, wanted: impl Fn(&Context) -> bool) -> Context {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let context = self.show(name).context;
            match context.clone().filter(&wanted) {
                Some(context) => return context,
                None => assert!(Instant::now() < deadline, "never came: {context:?}"),
            }
        }
    }

    pub fn client(&self) -> Client {
        Client::new(&self.home).patience(PATIENCE)
    }

    #[track_caller]
    pub fn health(&self) -> Health {
        self.client().get("/v1/health").and_then(|answer| answer.read()).expect("health")
    }

    /// Follows all events from the first on.
    #[track_caller]
    pub fn watch(&self) -> Watch {
        Watch::since(self, 0)
    }

    /// The daemon that answers.
    #[track_caller]
    pub fn daemon(&self) -> Process {
        processes::running(self.health().pid)
    }

    /// KILL to the daemon; nothing else is touched.
    #[track_caller]
    pub fn kill_daemon(&self) {
        processes::kill(self.daemon());
    }

    /// The shim of an agent, as the kernel knows it from its lock.
    #[track_caller]
    pub fn shim(&self, agent: &Agent) -> Process {
        let directory = HolderDirectory::at(self.holder(agent));
        let pid = directory.shim_pid().expect("a lock").expect("a living shim");
        process::stat(pid).expect("it lives").process
    }

    /// Where an agent's holder keeps its files.
    pub fn holder(&self, agent: &Agent) -> PathBuf {
        self.home.holders().join(&agent.id)
    }

    /// Live processes of this home.
    pub fn processes(&self) -> Vec<Found> {
        let mut found = processes::of_home(&self.root, &self.dir);
        // An ordinary user can't read the environment of a daemon: its lock tells.
        let daemon = processes::holder(&self.home.lock());
        found.extend(daemon.filter(|one| found.iter().all(|other| other.process != one.process)));
        found
    }

    /// Live processes that carry the mark of any session of this agent.
    pub fn marked(&self, agent: &Agent) -> Vec<Found> {
        let own = format!("{}.", agent.id);
        let is_own = |one: &Found| one.session.as_ref().is_some_and(|mark| mark.starts_with(&own));
        self.processes().into_iter().filter(is_own).collect()
    }

    /// Looks again and again for something that no event tells.
    #[track_caller]
    pub fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < deadline, "never: {what}");
            // No event tells; a busy wait would take a core from who is waited for.
            std::thread::park_timeout(std::time::Duration::from_millis(2));
        }
    }

    /// Every process with a session's mark belongs to the session that its agent has now, every
    /// shim to a living agent, and there is one daemon at most.
    #[track_caller]
    pub fn assert_nobody_doubled(&self) {
        let deadline = Instant::now() + PATIENCE;
        // A session that is just being exchanged is another one in the next look.
        while let Err(why) = self.doubled() {
            assert!(Instant::now() < deadline, "{why}");
        }
    }

    fn doubled(&self) -> Result<(), String> {
        let found = self.processes();
        let agents = self.ls();
        let current = |mark: &str| {
            agents.iter().filter_map(|agent| agent.session.as_ref()).any(|session| {
                session.id == mark && matches!(session.phase.as_str(), "running" | "ending")
            })
        };
        for one in &found {
            if let Some(mark) = &one.session
                && !current(mark)
            {
                return Err(format!("a process of a session that is over: {one:?}"));
            }
        }
        for dir in found.iter().filter(|one| one.is_shim()).filter_map(|one| one.argv.get(2)) {
            let shims = found.iter().filter(|one| one.is_shim() && one.argv.get(2) == Some(dir));
            if shims.count() > 1 {
                return Err(format!("two shims for {dir}"));
            }
        }
        match found.iter().filter(|one| one.is_daemon()).count() {
            0 | 1 => Ok(()),
            daemons => Err(format!("{daemons} daemons")),
        }
    }

    /// The end of the daemon's log.
    pub fn log(&self) -> String {
        let read = |path: &Path| std::fs::read(path).unwrap_or_default();
        let mut log = read(&self.home.daemon_log());
        log.extend(read(&self.home.log_dir().join("daemon.stderr")));
        let text = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }

    /// The last events, if a daemon tells them.
    fn events(&self) -> String {
        let told = self.command(["events"]).output().map(|ran| ran.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&told);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Ends whatever runs in this home: the daemon first, so that it starts nobody again.
    fn end_everything(&self) -> Vec<Found> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let mut found = self.processes();
            if found.is_empty() || Instant::now() > deadline {
                return found;
            }
            found.sort_by_key(|one| (!one.is_daemon(), !one.is_shim()));
            for one in found {
                processes::signal(one.process, rustix::process::Signal::KILL);
                processes::wait_end(one.process, Duration::from_secs(5));
            }
        }
    }

    /// Where a cgroup of this home would be, where there are any.
    pub fn cgroup_of(&self, session: &str) -> Option<PathBuf> {
        let root = cgroup::available().ok()?;
        Some(cgroup::path_for(&root, &self.home.holders(), &session))
    }

    /// The cgroups that sessions of this home have now.
    pub fn cgroups(&self) -> Vec<PathBuf> {
        let Ok(root) = cgroup::available() else { return Vec::new() };
        let any = SessionId { agent: AgentId(0), number: SessionNumber::FIRST };
        let one = cgroup::path_for(&root, &self.home.holders(), &any);
        let name = one.file_name().and_then(OsStr::to_str).expect("a name");
        let (own, _) = name.split_once('-').expect("the home comes first");
        let entries = std::fs::read_dir(&root).into_iter().flatten().flatten();
        let is_own = |path: &PathBuf| {
            path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(own))
        };
        entries.map(|entry| entry.path()).filter(is_own).collect()
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        let failed = std::thread::panicking();
        if failed {
            eprintln!("--- the daemon's log ---\n{}\n---", self.log());
            eprintln!("--- the last events ---\n{}\n---", self.events());
        }
        let left = self.end_everything();
        // The cgroups of sessions whose shims were killed stay behind, empty.
        for cgroup in self.cgroups() {
            let _busy = std::fs::remove_dir(cgroup);
        }
        assert!(failed || left.is_empty(), "still there: {left:#?}");
    }
}

/// Runs a command to its end, bounded in time.
#[track_caller]
pub fn finish(mut command: Command) -> Ran {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the binary runs");
    ended(child, &format!("{command:?}"))
}

/// Waits for the end of a child with piped output.
#[track_caller]
pub fn ended(mut child: Child, what: &str) -> Ran {
    let stdout = read(child.stdout.take());
    let stderr = read(child.stderr.take());
    let running = process::stat(child.id().cast_signed()).expect("a child not waited for").process;
    if !processes::wait_end(running, PATIENCE) {
        let _ = child.kill();
        panic!("still running: {what}");
    }
    let status = child.wait().expect("a child");
    let text = |reader: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().expect("a reader")).into_owned()
    };
    let code = status.code().unwrap_or_else(|| panic!("{what}: {status}"));
    Ran { code, stdout: text(stdout), stderr: text(stderr) }
}

fn read(source: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut source) = source {
            let _ended = source.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// The session that an agent has now.
#[track_caller]
pub fn pid(agent: &Agent) -> u32 {
    let session = agent.session.as_ref().expect("a session");
    session.pid.unwrap_or_else(|| panic!("{} has no process: {session:?}", agent.name))
}

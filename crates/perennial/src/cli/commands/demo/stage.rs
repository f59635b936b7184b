//! The demo's stage: a throwaway home with its own daemon, cleared at the end whatever happens.
//!
//! Invariant
//! - D1  Whatever was started here is stopped by its own daemon, or by a pid that it named; the
//!   directory is removed only when nobody lives in it any more.

use std::io::{self, IsTerminal};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use jiff::Timestamp;
use nix::sys::signal::{SigSet, Signal};
use perennial_api::answer::Health;
use perennial_api::request::{Spawn, Stop};
use perennial_api::{Agent, Client, EventView, ExitCode, Home, client};

use super::{Break, Scene, watch};
use crate::cli::commands::up;
use crate::cli::context::Context;
use crate::cli::environment;
use crate::cli::failure::Failure;
use crate::cli::problems;
use crate::cli::render::lines::PrintedLines;
use crate::cli::render::recording::text_of;

/// What a person does that ends a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nudge {
    Enter,
    KillSignal,
}

#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

#[derive(Debug)]
pub struct Stage<'a> {
    pub context: &'a Context,
    pub home: Home,
    pub client: Client,
    nudges: Receiver<Nudge>,
    nudger: Sender<Nudge>,
    /// A person reads along, and needs time for it.
    is_read: bool,
    is_cleared: bool,
}

const BEAT: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(1800);
const WORK: Duration = Duration::from_millis(1500);
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(15);

impl<'a> Stage<'a> {
    pub fn build(context: &'a Context) -> Result<Stage<'a>, Failure> {
        let root = std::env::temp_dir().join(format!("perennial-demo-{}", std::process::id()));
        // Exclusive: a directory that somebody else prepared is not used.
        std::fs::DirBuilder::new()
            .mode(0o700)
            .create(&root)
            .map_err(|error| problems::no_stage(&root, &error))?;
        let (nudger, nudges) = mpsc::channel();
        hear_kill_signals(nudger.clone());
        let home = Home::at(root);
        let client = Client::new(&home).patience(PATIENCE);
        let is_read = io::stdout().is_terminal();
        Ok(Stage { context, home, client, nudges, nudger, is_read, is_cleared: false })
    }

    /// Time to read a line.
    pub fn beat(&mut self) -> Scene {
        self.hold(if self.is_read { BEAT } else { Duration::ZERO })
    }

    /// Time to read a table.
    pub fn pause(&mut self) -> Scene {
        self.hold(if self.is_read { PAUSE } else { Duration::ZERO })
    }

    fn hold(&mut self, span: Duration) -> Scene {
        match self.nudges.recv_timeout(span) {
            Ok(Nudge::KillSignal) => Err(Interrupted.into()),
            Ok(Nudge::Enter) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Ok(())
            }
        }
    }

    pub fn wait_for_enter(&mut self) -> Scene {
        let nudger = self.nudger.clone();
        std::thread::spawn(move || {
            // The end of input is as good as Enter.
            let _ = io::stdin().read_line(&mut String::new());
            let _ = nudger.send(Nudge::Enter);
        });
        let _ = self.nudges.recv();
        Ok(())
    }

    pub fn start_daemon(&mut self) -> Scene {
        match up::start_detached(&self.home, || {})? {
            ExitCode::Done => Ok(()),
            code => Err(Break::Untrue(format!(
                "the daemon did not start ({}); see {}",
                code.meaning(),
                self.home.log_dir().display()
            ))),
        }
    }

    pub fn spawn(&self, name: &str, role: &str) -> Result<Agent, Break> {
        let program =
            std::env::current_exe().ok().and_then(|path| path.into_os_string().into_string().ok());
        let argv = vec![program.unwrap_or_default(), "demo-agent".to_owned(), role.to_owned()];
        let request = Spawn {
            name: Some(name.to_owned()),
            role: Some(role.to_owned()),
            dir: self.root().to_string_lossy().into_owned(),
            env: environment::inherited(std::env::vars_os()).variables,
            argv,
            ..Spawn::default()
        };
        self.order(&request)
    }

    /// Has an agent spawned as it stands there.
    pub fn order(&self, request: &Spawn) -> Result<Agent, Break> {
        Ok(self.client.post(&client::path(&["agents"], &[]), request)?.read()?)
    }

    pub fn stop(&self, name: &str) -> Result<Agent, Break> {
        let path = client::path(&["agents", name, "stop"], &[]);
        Ok(self.client.post(&path, &Stop { wait: true })?.read()?)
    }

    pub fn agent(&self, name: &str) -> Result<Agent, Break> {
        Ok(self.client.get(&client::path(&["agents", name], &[]))?.read()?)
    }

    pub fn agents(&self) -> Result<Vec<Agent>, Break> {
        Ok(self.client.get(&client::path(&["agents"], &[]))?.read()?)
    }

    pub fn health(&self) -> Result<Health, Break> {
        Ok(self.client.get(&client::path(&["health"], &[]))?.read()?)
    }

    /// The first event of that kind about that agent after a place in the journal.
    pub fn event(&self, since: u64, agent: &str, kind: &str) -> Result<EventView, Break> {
        let since = since.to_string();
        let query = [("since", Some(since.as_str())), ("agent", Some(agent))];
        let events: Vec<EventView> = self.client.get(&client::path(&["events"], &query))?.read()?;
        events
            .into_iter()
            .find(|event| event.kind == kind)
            .ok_or_else(|| Break::Untrue(format!("the journal has no '{kind}' event of {agent}")))
    }

    /// Lets an agent live a little: one that dies at once is restarted with a delay.
    pub fn let_work(&mut self, name: &str) -> Scene {
        let since = self.agent(name)?.session.and_then(|session| session.started_at);
        let started = since.and_then(|moment| moment.parse().ok()).unwrap_or_else(Timestamp::now);
        let lived = Timestamp::now().duration_since(started).unsigned_abs();
        self.hold(WORK.saturating_sub(lived))
    }

    /// The end of what an agent has printed.
    pub fn last_lines(&self, name: &str) -> Result<String, Break> {
        let query = [("from", Some("0"))];
        let answer = self.client.get(&client::path(&["agents", name, "logs"], &query))?;
        let mut reader = PrintedLines::new(None);
        let mut lines = reader.feed(&answer.body);
        lines.extend(reader.finish());
        let shown = &lines[lines.len().saturating_sub(3)..];
        Ok(shown.iter().map(|line| text_of(&line.styled) + "\n").collect())
    }

    /// Kills a session's process; the moment just before.
    pub fn kill(&self, pid: u32) -> Result<Timestamp, Break> {
        let moment = Timestamp::now();
        watch::kill(pid)?;
        Ok(moment)
    }

    pub fn kill_daemon(&self, pid: u32) -> Scene {
        let is_gone = watch::gone_after(pid, PATIENCE, || watch::kill(pid))?;
        self.told(is_gone, "the daemon survived SIGKILL")
    }

    /// Looks at everybody until it is so; how long that took.
    pub fn wait_until(
        &mut self,
        what: &str,
        is_so: impl Fn(&[Agent]) -> bool,
    ) -> Result<Duration, Break> {
        self.wait_for(what, PATIENCE, |stage| Ok(is_so(&stage.agents()?)))
    }

    /// Looks again and again until it is so; how long that took.
    pub fn wait_for(
        &mut self,
        what: &str,
        patience: Duration,
        mut is_so: impl FnMut(&Self) -> Result<bool, Break>,
    ) -> Result<Duration, Break> {
        let start = Timestamp::now();
        loop {
            let is_so = is_so(self)?;
            let took = Timestamp::now().duration_since(start).unsigned_abs();
            if is_so {
                return Ok(took);
            }
            self.told(took < patience, what)?;
            self.hold(LOOK_AGAIN)?;
        }
    }

    fn told(&self, is_true: bool, otherwise: &str) -> Scene {
        if is_true { Ok(()) } else { Err(Break::Untrue(otherwise.to_owned())) }
    }

    pub fn root(&self) -> PathBuf {
        self.home.root.clone().unwrap_or_default()
    }

    /// Ends what was begun and removes the home (D1).
    pub fn clear(&mut self) -> Result<(), Failure> {
        self.is_cleared = true;
        let health = match self.client.get(&client::path(&["health"], &[])) {
            Ok(answer) => answer.read::<Health>()?,
            Err(_) => {
                // Only a daemon knows who still lives here.
                up::start_detached(&self.home, || {})?;
                self.client.get(&client::path(&["health"], &[]))?.read()?
            }
        };
        self.client.post(&client::path(&["stop-all"], &[]), &serde_json::json!({}))?;
        let is_gone = watch::gone_after(health.pid, PATIENCE, || {
            self.client.post(&client::path(&["down"], &[]), &serde_json::json!({}))?;
            Ok(())
        })?;
        if !is_gone {
            watch::gone_after(health.pid, PATIENCE, || watch::kill(health.pid))?;
        }
        std::fs::remove_dir_all(self.root())
            .map_err(|error| problems::stage_not_removed(&self.root(), &error).into())
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // After a panic; otherwise the end has been told already.
        if !self.is_cleared {
            let _ = self.clear();
        }
    }
}

/// Kill signals end the pause and the demo in order, not the process with a fleet behind it.
fn hear_kill_signals(nudger: Sender<Nudge>) {
    let mut heard = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        heard.add(signal);
    }
    // Blocked before the thread begins, so that it and all others inherit that; children do not.
    if heard.thread_block().is_err() {
        return;
    }
    std::thread::spawn(move || {
        while heard.wait().is_ok() {
            if nudger.send(Nudge::KillSignal).is_err() {
                return;
            }
        }
    });
}

//! The owner's tmux in a sealed home: a server on a socket of its own, found as `tmux` finds its usual one.
//!
//! The server is a process of the home, and ends with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use perennial_api::{Agent, Problem};
use perennial_core::session::Process;

use crate::processes::{self, running};
use crate::sealed::{Ran, Sealed, finish};

#[derive(Debug)]
pub struct Tmux<'a> {
    pub sealed: &'a Sealed,
    dir: PathBuf,
}

impl Tmux<'_> {
    pub fn of(sealed: &Sealed) -> Tmux<'_> {
        let dir = sealed.dir.join("t");
        std::fs::create_dir_all(&dir).expect("a directory");
        Tmux { sealed, dir }
    }

    /// For `TMUX_TMPDIR`.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A verb of ours, called where `tmux` would find this server.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.sealed.command(args);
        command.env("TMUX_TMPDIR", &self.dir);
        command
    }

    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Ran {
        finish(self.command(args))
    }

    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, 0, "{args:?}: {ran:?}");
        ran.stdout
    }

    #[track_caller]
    pub fn refused(&self, code: i32, args: &[&str]) -> Problem {
        let ran = self.run(&[&["--json"], args].concat());
        assert_eq!(ran.code, code, "{args:?}: {ran:?}");
        serde_json::from_str(ran.stderr.trim()).expect("a problem")
    }

    /// Spawns an agent that runs a shell script in a pane.
    #[track_caller]
    pub fn spawn(&self, name: &str, script: &str) -> Agent {
        let argv = ["/bin/sh", "-c", script];
        let all = [&["--json", "spawn", name, "--host", "tmux", "--"][..], &argv].concat();
        serde_json::from_str(&self.ok(&all)).expect("an agent")
    }

    /// tmux itself.
    #[track_caller]
    pub fn tmux(&self, args: &[&str]) -> Ran {
        let mut command = Command::new("tmux");
        command.args(args).env_clear().current_dir(&self.sealed.dir);
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &self.sealed.dir);
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("TMUX_TMPDIR", &self.dir);
        command.env("PERENNIAL_HOME", &self.sealed.root);
        finish(command)
    }

    /// What is asked of the one pane of an agent's tmux session, such as `pane_pid`.
    #[track_caller]
    fn of_pane(&self, session: &str, what: &str) -> String {
        let target = format!("={session}:");
        let ran = self.tmux(&["display-message", "-p", "-t", &target, &format!("#{{{what}}}")]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.trim().to_owned()
    }

    /// The process in the pane.
    #[track_caller]
    pub fn pane(&self, session: &str) -> Process {
        running(self.of_pane(session, "pane_pid").parse().expect("a pid"))
    }

    #[track_caller]
    pub fn server(&self, session: &str) -> Process {
        running(self.of_pane(session, "pid").parse().expect("a pid"))
    }

    pub fn has(&self, session: &str) -> bool {
        self.tmux(&["has-session", "-t", &format!("={session}")]).code == 0
    }

    /// What is in front of whoever looks at the pane, with what scrolled away.
    pub fn shown(&self, session: &str) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-", "-t", &format!("={session}:")]).stdout
    }

    #[track_caller]
    pub fn wait(&self, session: &str, text: &str) {
        self.sealed.until(&format!("{text:?} in {session}"), || self.shown(session).contains(text));
    }

    /// Types in the pane, as a person does.
    #[track_caller]
    pub fn type_keys(&self, session: &str, keys: &[&str]) {
        let ran = self.tmux(&[&["send-keys", "-t", &format!("={session}:")][..], keys].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
    }

    /// Whether the agent's shim is a child of the process in its pane.
    pub fn is_inside(&self, agent: &Agent) -> bool {
        let session = agent.tmux_session.as_deref().expect("a tmux session");
        let pane = self.pane(session);
        processes::descendants(pane.pid).contains(&self.sealed.shim(agent).pid)
    }
}

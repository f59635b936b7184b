//! The owner's tmux: which server a caller means, and opening an agent's pane there.
//!
//! Only a person's own command asks tmux for anything, so a tmux server that has to be started is started as if the
//! person had typed `tmux`. The daemon never speaks to tmux: a server below it would make every person in it look like
//! a part of the daemon.
//!
//! Invariants
//! - TX1  Programs are run with a list of arguments; a tmux session's name comes from an agent's checked name.
//! - TX2  A pane whose agent was not born is closed again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use perennial_api::agent::Agent;
use perennial_api::answer::Health;
use perennial_api::{client, state};
use perennial_core::launch::TmuxPlace;
use perennial_core::name::Name;
use perennial_engine::host::monotonic::now;
use perennial_engine::host::pane;
use perennial_engine::watch::{Interest, Watch};

use super::context::Context;
use super::failure::Failure;
use super::problems::pane as problems;
use super::{installed, person, terminal};
use crate::command_line::quoted;

/// How long a process in a new pane may take until it listens.
const OPEN_WITHIN: Duration = Duration::from_secs(20);
/// Between looks whether the tmux session of a silent pane is still there.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long the pane of a buried agent may take to close, and how often it is looked at.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A tmux server, by its socket.
#[derive(Debug)]
pub struct Tmux {
    program: PathBuf,
    socket: PathBuf,
}

/// A pane that was opened for an agent that is about to be born.
#[derive(Debug)]
pub struct OpenedPane {
    tmux: Tmux,
    place: TmuxPlace,
    listens_at: PathBuf,
    is_kept: bool,
}

impl Tmux {
    /// The server that the caller is in, else the one that `tmux` alone would use.
    pub fn of_caller() -> Result<Tmux, Failure> {
        Tmux::at(callers_socket().unwrap_or_else(usual_socket))
    }

    pub fn at(socket: PathBuf) -> Result<Tmux, Failure> {
        let program = installed::program("tmux").ok_or_else(problems::no_tmux)?;
        Ok(Tmux { program, socket })
    }

    fn run(&self, arguments: &[OsString]) -> Result<Output, Failure> {
        let mut command = Command::new(&self.program);
        // Its usual directory tmux makes by itself, but not that of a socket which is named.
        if self.socket != usual_socket() {
            command.arg("-S").arg(&self.socket);
        }
        command.args(arguments).env_remove("TMUX").stdin(Stdio::null());
        command.output().map_err(|error| problems::tmux_not_run(&self.program, &error).into())
    }

    pub fn has_session(&self, session: &str) -> Result<bool, Failure> {
        Ok(self.run(&words(&["has-session", "-t", &exactly(session)]))?.status.success())
    }

    /// Whether there is no session of this name, or one that goes within this time: the pane of an agent that was
    /// buried a moment ago.
    fn is_free(&self, session: &str, limit: Duration, context: &Context) -> Result<bool, Failure> {
        let until = now() + limit;
        while self.has_session(session)? {
            if now() >= until {
                return Ok(false);
            }
            // Its process removes its socket when it ends; tmux closes the session behind that.
            let watch = Watch::new().and_then(|watch| {
                watch.add(&context.home.panes(), Interest::Names)?;
                watch.wait(Some(LOOK_AGAIN))
            });
            watch.map_err(|error| problems::pane_silent(session, &error.to_string()))?;
        }
        Ok(true)
    }

    /// Opens a pane in a session of its own and waits until its process listens.
    fn open(&self, session: &str, agent: Option<&str>, context: &Context) -> Result<(), Failure> {
        let is_made = std::fs::create_dir_all(context.home.panes());
        is_made.map_err(|error| problems::pane_silent(session, &error.to_string()))?;
        let watch = Watch::new().and_then(|watch| {
            watch.add(&context.home.panes(), Interest::Arrival)?;
            Ok(watch)
        });
        let watch = watch.map_err(|error| problems::pane_silent(session, &error.to_string()))?;
        let arguments = self.arguments(session, agent, context)?;
        let output = self.run(&arguments)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(match self.has_session(session)? {
                true => problems::session_taken(session).into(),
                false => problems::tmux_failed(&self.socket, &said).into(),
            });
        }
        let until = now() + OPEN_WITHIN;
        while !pane::is_open(&context.home.pane(session)) {
            let _ = watch.wait(Some(LOOK_EVERY));
            let _ = watch.drain(|_| {});
            if now() >= until || !self.has_session(session)? {
                // TX2: it is ours, and nobody would listen in it.
                let _gone = self.run(&words(&["kill-session", "-t", &exactly(session)]));
                let why = "its process did not begin to listen";
                return Err(problems::pane_silent(session, why).into());
            }
        }
        Ok(())
    }

    /// `new-session` for the pane, and what keeps it there while nobody looks at it.
    fn arguments(
        &self,
        session: &str,
        agent: Option<&str>,
        context: &Context,
    ) -> Result<Vec<OsString>, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| problems::tmux_not_run(Path::new("perennial"), &error))?;
        let size = terminal::any_size().unwrap_or(terminal::USUAL_SIZE);
        let (cols, rows) = (size.cols.to_string(), size.rows.to_string());
        let mut all = words(&["new-session", "-d", "-s", session, "-n", session]);
        all.extend(words(&["-x", &cols, "-y", &rows, "-c", "/"]));
        // The home that this command uses, whatever the tmux server's environment says.
        for name in ["PERENNIAL_HOME", "HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"]
        {
            let value = match name {
                "PERENNIAL_HOME" => context.home.root.clone().map(OsString::from),
                _ => std::env::var_os(name),
            };
            let mut pair = OsString::from(format!("{name}="));
            pair.push(value.unwrap_or_default());
            all.extend([OsString::from("-e"), pair]);
        }
        all.extend([OsString::from("--"), own.into_os_string()]);
        all.extend(words(&["pane-process", session]));
        if let Some(agent) = agent {
            all.extend(words(&["--agent", agent]));
        }
        let target = format!("{}:", exactly(session));
        all.extend(words(&[";", "set-option", "-t", &target, "destroy-unattached", "off"]));
        all.extend(words(&[";", "set-option", "-w", "-t", &target, "remain-on-exit", "off"]));
        Ok(all)
    }
}

/// Opens the pane of an agent that is to be born under this name. Nothing, where the daemon is going to refuse the
/// name: it says why.
pub fn open_for(name: &str, context: &Context) -> Result<(PathBuf, Option<OpenedPane>), Failure> {
    let _daemon: Health = context.client.get(&client::path(&["health"], &[]))?.read()?;
    person::required("open a pane in tmux", context)?;
    let tmux = Tmux::of_caller()?;
    let socket = tmux.socket.clone();
    let known = context.client.get(&client::path(&["agents", name], &[]));
    let known = known.and_then(|answer| answer.read::<Agent>()).ok();
    let is_taken = known.as_ref().is_some_and(|agent| !is_over(agent));
    let Some(name) = Name::for_agent(name).ok().filter(|_| !is_taken) else {
        return Ok((socket, None));
    };
    let place = TmuxPlace::of(&name, socket.to_string_lossy().into_owned());
    let was_its = known.is_some_and(|before| before.tmux_session.as_ref() == Some(&place.session));
    if !tmux.is_free(
        &place.session,
        if was_its { CLOSED_WITHIN } else { Duration::ZERO },
        context,
    )? {
        return Err(problems::session_taken(&place.session).into());
    }
    tmux.open(&place.session, None, context)?;
    let listens_at = context.home.pane(&place.session);
    Ok((socket, Some(OpenedPane { tmux, place, listens_at, is_kept: false })))
}

fn is_over(agent: &Agent) -> bool {
    matches!(agent.state.as_str(), state::DEAD | state::EXPIRED)
}

/// Opens the pane of a known agent again; `false` if it is open.
pub fn reopen(agent: &Agent, context: &Context) -> Result<bool, Failure> {
    person::required("open a pane in tmux", context)?;
    let (Some(session), Some(socket)) = (&agent.tmux_session, &agent.tmux_socket) else {
        return Err(problems::not_in_tmux(&super::render::roster::name(agent)).into());
    };
    if is_over(agent) {
        return Err(problems::buried(&super::render::roster::name(agent)).into());
    }
    if pane::is_open(&context.home.pane(session)) {
        return Ok(false);
    }
    let tmux = Tmux::at(PathBuf::from(socket))?;
    if tmux.has_session(session)? {
        return Err(problems::session_taken(session).into());
    }
    tmux.open(session, Some(&agent.id), context)?;
    Ok(true)
}

/// The command that shows the agent's pane, for a person to paste into a shell.
pub fn attach_command(agent: &Agent) -> Option<String> {
    let (session, socket) = (agent.tmux_session.as_deref()?, agent.tmux_socket.as_deref()?);
    let target = exactly(session);
    let is_callers = callers_socket().is_some_and(|own| own == Path::new(socket));
    let words: &[&str] = match (is_callers, Path::new(socket) == usual_socket()) {
        // One does not attach to the server that one is in.
        (true, _) => &["tmux", "switch-client", "-t", &target],
        (false, true) => &["tmux", "attach", "-t", &target],
        (false, false) => &["tmux", "-S", socket, "attach", "-t", &target],
    };
    Some(quoted(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()))
}

impl OpenedPane {
    /// The agent was born: the pane is its own from here on.
    pub fn keep(mut self, agent: &Agent) {
        self.is_kept = true;
        // A pane that has started the agent's shim knows it already; one that has gone is opened again by `pane`.
        let _gone = pane::tell_agent(&self.listens_at, &agent.id);
    }
}

impl Drop for OpenedPane {
    /// TX2
    fn drop(&mut self) {
        if !self.is_kept {
            let session = exactly(&self.place.session);
            let _gone = self.tmux.run(&words(&["kill-session", "-t", &session]));
        }
    }
}

/// The socket of the server that the caller is in.
fn callers_socket() -> Option<PathBuf> {
    // `<socket>,<pid of the server>,<session>`
    let text = std::env::var_os("TMUX")?.into_string().ok()?;
    Some(PathBuf::from(text.rsplitn(3, ',').nth(2)?)).filter(|path| path.is_absolute())
}

/// Where tmux listens if nobody says otherwise.
fn usual_socket() -> PathBuf {
    let base = std::env::var_os("TMUX_TMPDIR").filter(|base| !base.is_empty());
    let base = base.map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    base.join(format!("tmux-{}", rustix::process::getuid().as_raw())).join("default")
}

/// A target that is this name, and not one that begins with it.
fn exactly(session: &str) -> String {
    format!("={session}")
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

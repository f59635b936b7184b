//! `pane-process` (hidden): the process in an agent's tmux pane. It shows the agent's terminal, and starts the
//! agent's shims when the daemon asks for one.
//!
//! A person's process: whoever types in the pane types as at `perennial attach`. It decides nothing about the agent,
//! and the agent does not need it: a shim outlives it.
//!
//! Invariants
//! - PP1  It ends when its agent is buried, when its terminal goes, and when nobody says whose it is; not when a session
//!   or a daemon ends.
//! - PP2  It starts shims of its own home and of one agent only.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use perennial_api::answer::Health;
use perennial_api::{Agent, Client, ClientError, ExitCode, Home, client, state};
use perennial_core::id::AgentId;
use perennial_engine::host::pane::{Asked, PaneListener, Request};

use crate::cli::arrival::Arrival;
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::problems;
use crate::cli::stay::{Over, Stay, newest, stay};
use crate::cli::terminal::seat::{Left, Seat};
use crate::cli::terminal::visit::write_out;
use crate::cli::{commands, terminal};
use crate::detach_keys::DetachKeys;

/// The command that opened the pane tells whose it is sooner than this, unless it was killed.
const AGENT_WITHIN: Duration = Duration::from_secs(60);
/// After a visit that failed, so that a holder which can't be reached is not asked without a pause.
const PAUSE: Duration = Duration::from_millis(500);
/// Whoever waits for a daemon looks again after this, whatever the kernel told of the directory.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Show an agent's terminal in a tmux pane, and start its shims there
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The tmux session's name
    session: String,
    /// The agent's id, if it has been born already
    #[arg(long)]
    agent: Option<String>,
}

/// What a wait ended with.
enum Next {
    Session,
    Buried,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if !terminal::is_interactive() {
        return Err(problems::no_terminal_to_attach(&args.session).into());
    }
    let path = context.home.pane(&args.session);
    let listener = PaneListener::bind(&path)
        .map_err(|error| problems::pane::pane_silent(&args.session, &error.to_string()))?;
    let known = args.agent.as_deref().and_then(|id| id.parse::<AgentId>().ok());
    let (told, heard) = mpsc::channel();
    let home = context.home.clone();
    std::thread::spawn(move || serve(&listener, known, &home, &|id| told.send(id).is_ok()));
    context.print("[perennial: the agent is being started]\r\n")?;
    let agent = match known {
        Some(agent) => Ok(agent),
        None => heard.recv_timeout(AGENT_WITHIN),
    };
    let ended = match agent {
        Ok(agent) => watch(&agent.to_string(), &heard, &args.session, context),
        Err(_) => Ok(ExitCode::Failed),
    };
    let _gone = std::fs::remove_file(path);
    ended
}

/// Answers whoever asks this pane for something, and passes on whose it is.
fn serve(
    listener: &PaneListener,
    mut known: Option<AgentId>,
    home: &Home,
    tell: &dyn Fn(AgentId) -> bool,
) {
    while let Ok(asked) = listener.next() {
        let agent = match &asked.request {
            Request::Shim { dir, .. } => owner(dir, home),
            Request::Agent { id } => id.parse().ok(),
        };
        // PP2
        let Some(agent) = agent.filter(|agent| known.is_none_or(|known| known == *agent)) else {
            asked.refuse("this pane is of another agent");
            continue;
        };
        known = Some(agent);
        match asked.request {
            Request::Shim { .. } => start(asked),
            Request::Agent { .. } => asked.acknowledge(),
        }
        if !tell(agent) {
            return;
        }
    }
}

fn owner(dir: &Path, home: &Home) -> Option<AgentId> {
    let is_ours = dir.parent() == Some(&home.holders());
    dir.file_name().filter(|_| is_ours)?.to_str()?.parse().ok()
}

fn start(asked: Asked) {
    // What could not be started was answered as that: the daemon starts it then.
    if let Ok(mut shim) = asked.start_shim() {
        std::thread::spawn(move || shim.wait());
    }
}

/// Shows one session after the other until the agent is buried or the terminal goes.
fn watch(agent: &str, heard: &Receiver<AgentId>, session: &str, context: &Context) -> VerbResult {
    let keys = commands::attach::detach_keys(None, context);
    let mut ended = 0;
    loop {
        let stayed = stay(agent, keys, context);
        let is_cut = match stayed.map(|stayed| stayed.stay) {
            Ok(Stay::Told) => return Ok(ExitCode::Done),
            Ok(Stay::Left) => {
                detach(session);
                false
            }
            Ok(Stay::Over(Over { agent: Some(agent), .. })) => {
                ended = newest(&agent);
                false
            }
            Ok(Stay::Over(Over { agent: None, .. }) | Stay::Cut(_)) | Err(_) => true,
        };
        if is_cut && heard.recv_timeout(PAUSE) == Err(RecvTimeoutError::Disconnected) {
            return Ok(ExitCode::Failed);
        }
        match next(agent, ended, keys, session, context) {
            Some(Next::Session) => {}
            Some(Next::Buried) | None => return Ok(ExitCode::Done),
        }
    }
}

/// Waits for a session after the one that has ended; `None` if the terminal went meanwhile. Keys that leave a terminal
/// leave this one, too.
fn next(
    agent: &str,
    ended: u32,
    keys: DetachKeys,
    session: &str,
    context: &Context,
) -> Option<Next> {
    let mut seat = Seat::take(keys).ok()?;
    loop {
        let (agent, client, home) =
            (agent.to_owned(), context.client.clone(), context.home.clone());
        match seat.during(move || awaited(&agent, ended, &client, &home)) {
            Ok(found) => return found.ok(),
            Err(Left::Detached) => detach(session),
            Err(Left::Told) => return None,
        }
    }
}

/// Looks at the agent, then at every event of it; over the ends of daemons.
fn awaited(agent: &str, ended: u32, client: &Client, home: &Home) -> Next {
    let mut is_told = false;
    loop {
        // Before the question: a daemon that arrives behind it is not missed.
        let arrival = Arrival::watch(home);
        match look(agent, ended, client, &mut is_told) {
            Ok(Some(next)) => return next,
            Ok(None) => {}
            Err(ClientError::Problem(problem)) if problem.kind == "no-such-agent" => {
                return Next::Buried;
            }
            Err(_) => match arrival {
                Ok(arrival) => {
                    arrival.wait(LOOK_AGAIN);
                }
                // Nothing tells of an arrival: the home is gone, or the kernel watches no more for this user.
                Err(_) => std::thread::park_timeout(PAUSE),
            },
        }
    }
}

/// What the agent is up to; nothing if one of its events should be looked at.
fn look(
    target: &str,
    ended: u32,
    client: &Client,
    is_told: &mut bool,
) -> Result<Option<Next>, ClientError> {
    // The place first, then the state: what happens in between is in the feed.
    let health: Health = client.get(&client::path(&["health"], &[]))?.read()?;
    let agent: Agent = client.get(&client::path(&["agents", target], &[]))?.read()?;
    match agent.state.as_str() {
        state::DEAD | state::EXPIRED => return Ok(Some(Next::Buried)),
        state::HATCHING | state::WAKING | state::WORKING | state::WAITING | state::UNKNOWN
            if newest(&agent) > ended =>
        {
            return Ok(Some(Next::Session));
        }
        _ => {}
    }
    if !*is_told {
        *is_told = true;
        let who = crate::cli::render::roster::name(&agent);
        let state = crate::cli::render::text::plain(&agent.state);
        let note = format!("[{who} is {state}; this pane shows its next session]\r\n");
        // Nobody is there to read it if this fails.
        let _ = write_out(note.as_bytes());
    }
    let path = client::path(&["events"], &[("agent", Some(&agent.id))]);
    // Without a message the daemon has ended: the next look says so.
    let _ended = client.follow(&path, Some(health.head_seq))?.next_message();
    Ok(None)
}

/// The keys that leave an agent's terminal: here they detach those who look at it from tmux.
fn detach(session: &str) {
    let mut tmux = std::process::Command::new("tmux");
    tmux.args(["detach-client", "-s", &format!("={session}")]);
    // Without a tmux in PATH, tmux's own keys do it.
    let _not_run = tmux.stdin(std::process::Stdio::null()).output();
}

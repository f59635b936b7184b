//! Stays at an agent's terminal, over its restarts, until the person leaves or no session follows: what
//! `attach` and `run` share.
//!
//! The daemon only hands out tickets; it may end or be killed meanwhile.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use perennial_api::answer::Ticket;
use perennial_api::request::{Mode, TicketRequest};
use perennial_api::{Agent, Client, ClientError, ExitCode, client};
use perennial_engine::host::attach::{Attachment, SessionExit};

use super::context::Context;
use super::failure::{Failure, VerbResult};
use super::next_session::{self, Then};
use super::problems;
use super::render::roster::{name, next};
use super::render::text::plain;
use super::render::time::LocalTime;
use super::terminal::seat::{Left, Seat};
use super::terminal::visit::{self, Leaving, Visit};
use super::terminal::{self, USUAL_SIZE};
use crate::detach_keys::DetachKeys;

/// A retry that is further away than this is not waited for.
const RETRY_PATIENCE: Duration = Duration::from_secs(30);

/// Of sessions that ended before anybody could attach to them, at most this many are shown, with the end of their output.
const MISSED_SESSIONS_MAX: u32 = 5;
const MISSED_BYTES_MAX: usize = 64 << 10;

/// As often a way in is tried.
const ENTRY_TRIES: u32 = 4;

/// How a stay ended.
#[derive(Debug)]
pub enum Stay {
    /// The person left, and the agent keeps running.
    Left,
    /// A kill signal came, or the terminal went away.
    Told,
    /// The connection had to go, or the terminal could not be used.
    Cut(String),
    /// No session follows.
    Over(Over),
}

/// The end of the last session.
#[derive(Debug)]
pub struct Over {
    pub exit: Option<SessionExit>,
    /// As it is now, if a daemon could tell.
    pub agent: Option<Box<Agent>>,
}

/// Who was visited, and how that ended.
#[derive(Debug)]
pub struct Stayed {
    /// The agent's name, as far as it is known.
    pub who: String,
    pub stay: Stay,
    /// A session of it was visited.
    pub was_attached: bool,
}

impl Stayed {
    /// Why it ended, and how to return.
    pub fn farewell(&self) -> String {
        let (who, why) = (
            &self.who,
            match &self.stay {
                Stay::Cut(why) => why,
                Stay::Left | Stay::Told | Stay::Over(_) => "detached",
            },
        );
        let goes_on = if self.was_attached { "keeps running" } else { "goes on without you" };
        format!("{why}; {who} {goes_on}; to return: perennial attach {who}")
    }

    /// Tells how it ended, and with which exit code `attach` ends.
    pub fn tell(self, context: &Context) -> VerbResult {
        let farewell = format!("\r\n[{}]\n", self.farewell());
        match self.stay {
            Stay::Left => {
                context.print(&farewell)?;
                Ok(ExitCode::Done)
            }
            Stay::Told | Stay::Cut(_) => {
                context.print(&farewell)?;
                Ok(ExitCode::Failed)
            }
            // Its next session is started by a daemon, and none could be asked.
            Stay::Over(Over { agent: None, .. }) => {
                let who = &self.who;
                context.print(&format!(
                    "[no daemon is running, so no session follows; perennial up, then perennial attach {who}]\n"
                ))?;
                Ok(ExitCode::Failed)
            }
            Stay::Over(Over { agent: Some(agent), .. }) => {
                let next = next(&agent, &LocalTime::system()).map(|next| format!(": {next}"));
                let (name, state) = (name(&agent), plain(&agent.state));
                context.print(&format!("[{name} is {state}{}]\n", next.unwrap_or_default()))?;
                Ok(ExitCode::Done)
            }
        }
    }
}

/// A way in, or why there is none.
enum Entry {
    Open(Box<(Ticket, Attachment, u64)>),
    NoSession(ClientError),
}

/// Visits the agent's sessions one after the other. The terminal is as it was when this returns.
pub fn stay(target: &str, keys: DetachKeys, context: &Context) -> Result<Stayed, Failure> {
    let mut seat = Seat::take(keys).map_err(|error| problems::terminal_unusable(&error))?;
    let mut who = plain(target);
    let mut last: Option<(u32, Option<SessionExit>)> = None;
    loop {
        let (client, agent) = (context.client.clone(), target.to_owned());
        let entry = match during(&mut seat, move || enter(&agent, &client)) {
            Ok(entry) => entry?,
            Err(stay) => return Ok(Stayed { who, stay, was_attached: last.is_some() }),
        };
        let refused = match entry {
            Entry::NoSession(refused) => Some(refused),
            Entry::Open(way_in) => {
                let (ticket, attachment, replayed_to) = *way_in;
                who = name(&ticket.agent);
                let session = attachment.session();
                if let Some((seen, _)) = &last {
                    show_missed(target, seen + 1..session, &context.client)?;
                }
                // Printed once the terminal is raw, so a person who sees it can type.
                let note = format!("[{who}, session {session}; detach: {}]\r\n", keys.summary());
                context.print(&note)?;
                match Visit::begin(&mut seat, attachment, replayed_to).stay() {
                    (Leaving::Ended(exit), session) => {
                        let end = visit::ended(exit.clone());
                        context.print(&format!("\r\n[session {session} ended: {end}]\r\n"))?;
                        last = Some((session, exit));
                    }
                    (leaving, _) => {
                        return Ok(Stayed { who, stay: left(leaving), was_attached: true });
                    }
                }
                None
            }
        };
        let (client, agent) = (context.client.clone(), target.to_owned());
        let number = last.as_ref().map_or(0, |(session, _)| *session);
        let then = match during(&mut seat, move || following(&agent, number, keys, &client)) {
            Ok(then) => then,
            Err(stay) => return Ok(Stayed { who, stay, was_attached: last.is_some() }),
        };
        let agent = match then {
            Then::Running => continue,
            Then::Over(agent) => agent,
        };
        return match (last, refused) {
            (Some((seen, exit)), _) => {
                let newest = agent.as_ref().map_or(seen, |agent| newest(agent));
                show_missed(target, seen + 1..newest + 1, &context.client)?;
                let exit = agent.as_ref().and_then(|agent| exit_after(agent, seen)).or(exit);
                Ok(Stayed { who, stay: Stay::Over(Over { exit, agent }), was_attached: true })
            }
            // It has no session, and none comes.
            (None, Some(refused)) => Err(refused.into()),
            (None, None) => Ok(Stayed { who, stay: Stay::Left, was_attached: false }),
        };
    }
}

fn show_missed(target: &str, sessions: Range<u32>, client: &Client) -> Result<(), Failure> {
    for (session, output) in missed(target, sessions, client) {
        let note = format!("[session {session}, which has ended]\r\n");
        let shown = visit::write_out(note.as_bytes()).and_then(|()| visit::write_out(&output));
        shown.map_err(|error| problems::terminal_unusable(&error))?;
    }
    Ok(())
}

/// The ends of what sessions printed that began and ended while nobody was attached, the newest few.
pub fn missed(target: &str, sessions: Range<u32>, client: &Client) -> Vec<(u32, Vec<u8>)> {
    let first = sessions.start.max(sessions.end.saturating_sub(MISSED_SESSIONS_MAX));
    let output = |session: u32| {
        let (number, most) = (session.to_string(), MISSED_BYTES_MAX.to_string());
        let query = [("session", Some(number.as_str())), ("max", Some(most.as_str()))];
        let answer = client.get(&client::path(&["agents", target, "logs"], &query)).ok()?;
        Some((session, answer.body))
    };
    (first..sessions.end).filter_map(output).collect()
}

/// The number of the agent's last session.
pub fn newest(agent: &Agent) -> u32 {
    let number = agent.session.as_ref().map_or(0, |session| session.number);
    u32::try_from(number).unwrap_or(0)
}

/// How the agent's last session ended, if that is a later one than `seen`.
pub fn exit_after(agent: &Agent, seen: u32) -> Option<SessionExit> {
    let session = agent.session.as_ref().filter(|_| newest(agent) > seen)?;
    let exit = session.exit.as_ref()?;
    let code = exit.code.map(SessionExit::Code);
    code.or(exit.signal.map(SessionExit::KillSignal))
}

/// Does something while the person may leave.
fn during<T: Send + 'static>(
    seat: &mut Seat,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stay> {
    match seat.during(work) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Stay::Cut(format!("can't use this terminal ({error})"))),
        Err(Left::Detached) => Err(Stay::Left),
        Err(Left::Told) => Err(Stay::Told),
    }
}

fn left(leaving: Leaving) -> Stay {
    match leaving {
        Leaving::Detached => Stay::Left,
        Leaving::Told | Leaving::Ended(_) => Stay::Told,
        Leaving::TooSlow => Stay::Cut("this terminal was too slow".to_owned()),
        Leaving::Lost(why) => Stay::Cut(format!("lost the connection ({why})")),
    }
}

fn enter(target: &str, client: &Client) -> Result<Entry, Failure> {
    let mut tries = 0;
    loop {
        let ticket = match ticket(target, Mode::Attach, client) {
            Ok(ticket) => ticket,
            Err(error) if is_without_session(&error) => return Ok(Entry::NoSession(error)),
            Err(error) => return Err(error.into()),
        };
        let size = terminal::any_size().unwrap_or(USUAL_SIZE);
        let socket = Path::new(&ticket.socket);
        tries += 1;
        match Attachment::attach(socket, &ticket.ticket, (size.rows, size.cols), None) {
            Ok(attachment) => {
                let replayed_to = recorded(target, attachment.session(), client);
                return Ok(Entry::Open(Box::new((ticket, attachment, replayed_to))));
            }
            // A session may end between its ticket and the visit, and its holder with it: another ticket says what is
            // there now.
            Err(_) if tries < ENTRY_TRIES => {}
            Err(error) => return Err(problems::holder_unreachable(target, &error).into()),
        }
    }
}

pub fn is_without_session(error: &ClientError) -> bool {
    matches!(error, ClientError::Problem(problem) if problem.kind == "no-session")
}

/// Waits for a session after this one, if one is due soon.
fn following(target: &str, number: u32, keys: DetachKeys, client: &Client) -> Then {
    next_session::look(target, number, RETRY_PATIENCE, client, |agent| {
        let next = next(agent, &LocalTime::system()).map(|next| format!("{next}; "));
        let (next, keys) = (next.unwrap_or_default(), keys.summary());
        let _ = visit::write_out(format!("[{next}to leave: Ctrl-C or {keys}]\r\n").as_bytes());
    })
}

pub fn ticket(target: &str, mode: Mode, client: &Client) -> Result<Ticket, ClientError> {
    let path = client::path(&["agents", target, "ticket"], &[]);
    client.post(&path, &TicketRequest { mode })?.read()
}

/// How much of the session is recorded by now: what is older is history, whose questions to the
/// terminal have been answered. Not knowing it only means that none is taken for history.
fn recorded(target: &str, session: u32, client: &Client) -> u64 {
    let session = session.to_string();
    let most = u64::MAX.to_string();
    let query = [("session", Some(session.as_str())), ("from", Some(most.as_str()))];
    client
        .get(&client::path(&["agents", target, "logs"], &query))
        .ok()
        .and_then(|answer| answer.header("x-end").and_then(|end| end.parse().ok()))
        .unwrap_or(0)
}

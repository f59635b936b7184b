//! Terminals: tickets to a session's holder, what it printed, and what is on its screen.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use perennial_api::answer::{self, Ticket};
use perennial_api::request::{Mode, TicketRequest};
use perennial_api::{Problem, query};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request};
use perennial_core::id::{AgentId, SessionId, SessionNumber};
use perennial_core::reason::Verb;
use perennial_core::session::{Phase, Session};
use perennial_engine::host::holders::{self, HostRefusal};
use perennial_engine::host::recording::Recording;
use perennial_store::Store;
use tokio::sync::oneshot;

use super::answer::{Answer, ProblemResponse, json};
use super::extract::{Body, CallerIdentity, Query, Segment};
use super::{Shared, Surface, prune};
use crate::daemon::driving::driver::{Closing, chain};
use crate::daemon::showing::{problems, screen};

/// One answer of `logs` has at most this many bytes.
const LONGEST_LOG: usize = 16 << 20;

pub async fn ticket(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Body(body): Body<TicketRequest>,
) -> Answer {
    let (id, mode) = match body.mode {
        Mode::Attach => {
            let id = surface.authorise(caller, Verb::Attach, Some(target.clone())).await?;
            (id.ok_or(Closing)?, holders::Mode::Attach)
        }
        Mode::Watch => {
            let id = surface.authorise(caller, Verb::Logs, Some(target.clone())).await?;
            (id.ok_or(Closing)?, holders::Mode::Watch)
        }
    };
    let (id, number) = surface.running(caller, id, &target).await?;
    let (reply, answer) = oneshot::channel();
    surface.holders.ticket(id, number, mode, move |result| {
        let _ = reply.send(result);
    });
    let ticket = match answer.await.map_err(|_| Closing)? {
        Ok(ticket) => ticket,
        Err(HostRefusal::NotRunning) => {
            return Err(surface.not_running(caller, id, &target).await);
        }
        Err(refused) => {
            let why = refused.to_string();
            return Err(ProblemResponse(problems::terminal_unreachable(&target, &why)));
        }
    };
    json(&Ticket {
        ticket: ticket.token,
        socket: ticket.socket.to_string_lossy().into_owned(),
        session: u64::from(number.0),
        agent: surface.find(caller, id.to_string()).await?,
    })
}

pub async fn logs(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(part): Query<query::Logs>,
) -> Answer {
    let recorded = surface.recorded(caller, target, part.session).await?;
    let number = recorded.number;
    let (first, bytes) =
        recorded.look(move |recording| read(recording, part.from, part.max)).await?;
    let end = first + bytes.len() as u64;
    let headers = [
        (CONTENT_TYPE.as_str(), HeaderValue::from_static("application/octet-stream")),
        ("x-session", HeaderValue::from(number)),
        ("x-offset", HeaderValue::from(first)),
        ("x-end", HeaderValue::from(end)),
    ];
    Ok((headers, bytes).into_response())
}

pub async fn recording(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(part): Query<query::Recording>,
) -> Answer {
    let recorded = surface.recorded(caller, target, part.session).await?;
    let session = recorded.number;
    let marks = move |recording: &Recording| {
        let marks = recording.marks()?.iter().map(screen::mark).collect();
        Ok(answer::Recording { session, start: recording.start(), end: recording.end(), marks })
    };
    json(&recorded.look(marks).await?)
}

pub async fn screen(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(wanted): Query<query::Screen>,
) -> Answer {
    let recorded = surface.recorded(caller, target, wanted.session).await?;
    let (agent, session, is_over) = (recorded.agent.clone(), recorded.number, recorded.is_over);
    let screen = recorded.look(move |recording| screen::replayed(recording, wanted.ansi)).await?;
    json(&answer::Screen { agent, session, is_over, ..screen })
}

/// A session that has a recording, which the caller may read.
struct Recorded {
    /// The agent's name.
    agent: String,
    /// The word that means it.
    target: String,
    number: u64,
    is_over: bool,
    dir: PathBuf,
    session: SessionId,
    journal: Arc<dyn Store>,
}

impl Recorded {
    /// Looks at the recording on a thread that may wait for the disk.
    async fn look<T: Send + 'static>(
        self,
        look: impl FnOnce(&Recording) -> io::Result<T> + Send + 'static,
    ) -> Result<T, ProblemResponse> {
        let looked = move || {
            let unread = |error: io::Error| problems::recording_unread(&error.to_string());
            let recording = Recording::open(&self.dir).map_err(unread)?;
            if self.is_over && recording.is_gone() {
                self.tell_removed()?;
            }
            look(&recording).map_err(unread)
        };
        let looked = tokio::task::spawn_blocking(looked).await;
        Ok(looked.map_err(|_| Closing)??)
    }

    /// A session that printed nothing has an empty recording: if there is none, it may have been removed.
    fn tell_removed(&self) -> Result<(), Problem> {
        let SessionId { agent, number } = self.session;
        match prune::removed_at(&*self.journal, agent, number) {
            Ok(Some((at, by))) => {
                Err(problems::recording_removed(&self.target, self.number, by, at))
            }
            Ok(None) => Ok(()),
            Err(error) => Err(problems::journal_unread(&chain(&error))),
        }
    }
}

/// A part of a recording and where it begins: what is gone by rotation is skipped.
fn read(
    recording: &Recording,
    from: Option<u64>,
    max: Option<usize>,
) -> io::Result<(u64, Vec<u8>)> {
    let max = max.unwrap_or(LONGEST_LOG).min(LONGEST_LOG);
    match from {
        None => recording.tail(max),
        Some(from) => {
            let from = from.clamp(recording.start(), recording.end());
            let length = usize::try_from(recording.end() - from).unwrap_or(max).min(max);
            let mut bytes = vec![0; length];
            let mut filled = 0;
            while filled < length {
                match recording.read_at(from + filled as u64, &mut bytes[filled..])? {
                    Some(0) | None => break,
                    Some(count) => filled += count,
                }
            }
            bytes.truncate(filled);
            Ok((from, bytes))
        }
    }
}

impl Surface {
    /// A session of an agent, the newest unless one is named, for those who may see its terminal.
    async fn recorded(
        &self,
        caller: Caller,
        target: String,
        session: Option<u32>,
    ) -> Result<Recorded, ProblemResponse> {
        let id = self.authorise(caller, Verb::Logs, Some(target.clone())).await?.ok_or(Closing)?;
        let agent = self.find(caller, id.to_string()).await?;
        let newest = agent.session.as_ref().map_or(0, |session| session.number);
        let number = session.map_or(newest, u64::from);
        if number == 0 || number > newest {
            return Err(ProblemResponse(problems::no_such_session(&target, number, newest)));
        }
        let is_over = number < newest || agent.session.is_none_or(|one| one.exit.is_some());
        let session =
            SessionId { agent: id, number: SessionNumber(u32::try_from(number).unwrap_or(0)) };
        let dir = self.session_dir(id, session.number);
        let journal = Arc::clone(&self.journal);
        let (agent, target) = (agent.name, agent.target);
        Ok(Recorded { agent, target, number, is_over, dir, session, journal })
    }

    /// The problem of an agent without a running session. What the caller can do about it, the core says.
    async fn not_running(&self, caller: Caller, id: AgentId, target: &str) -> ProblemResponse {
        let wake = Request { caller, command: Command::Wake(id.to_string()) };
        let can_wake = self
            .driver
            .look(move |view| view.supervisor.fleet().decide(&wake, view.now).is_ok())
            .await
            .unwrap_or(false);
        match self.find(caller, id.to_string()).await {
            Ok(agent) => ProblemResponse(problems::no_running_session(target, &agent, can_wake)),
            Err(problem) => problem,
        }
    }

    /// The running session of an agent, which the caller named so.
    async fn running(
        &self,
        caller: Caller,
        id: AgentId,
        target: &str,
    ) -> Result<(AgentId, SessionNumber), ProblemResponse> {
        let session = self.driver.look(move |view| {
            let agent = view.supervisor.fleet().agent(id)?;
            // One that is being started may wait for whoever asks.
            let is_begun = |session: &&Session| session.phase > Phase::Wanted;
            agent.live_session().filter(is_begun).map(|session| session.number)
        });
        match session.await? {
            Some(number) => Ok((id, number)),
            None => Err(self.not_running(caller, id, target).await),
        }
    }
}

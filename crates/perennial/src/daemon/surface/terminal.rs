//! Terminals: tickets to a session's holder, and what it printed.

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use perennial_api::answer::Ticket;
use perennial_api::query;
use perennial_api::request::{Mode, TicketRequest};
use perennial_core::authority::Caller;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::Verb;
use perennial_engine::host::holders;
use perennial_engine::host::recording::Recording;
use tokio::sync::oneshot;

use super::answer::{Answer, ProblemResponse, json};
use super::extract::{Body, CallerIdentity, Query, Segment};
use super::{Shared, Surface};
use crate::daemon::driving::driver::Closing;
use crate::daemon::showing::problems;

/// One answer of `logs` has at most so many bytes.
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
    let ticket = answer
        .await
        .map_err(|_| Closing)?
        .map_err(|refused| problems::terminal_unreachable(&target, &refused.to_string()))?;
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
    let id = surface.authorise(caller, Verb::Logs, Some(target.clone())).await?.ok_or(Closing)?;
    let agent = surface.find(caller, id.to_string()).await?;
    let newest = agent.session.map_or(0, |session| session.number);
    let number = part.session.map_or(newest, u64::from);
    if number == 0 || number > newest {
        return Err(ProblemResponse(problems::no_such_session(&target, number, newest)));
    }
    let dir = surface.session_dir(id, SessionNumber(u32::try_from(number).unwrap_or(0)));
    let read = tokio::task::spawn_blocking(move || read(&dir, part.from, part.max));
    let (first, bytes) = read
        .await
        .map_err(|_| Closing)?
        .map_err(|error| problems::recording_unread(&error.to_string()))?;
    let end = first + bytes.len() as u64;
    let headers = [
        (CONTENT_TYPE.as_str(), HeaderValue::from_static("application/octet-stream")),
        ("x-session", HeaderValue::from(number)),
        ("x-offset", HeaderValue::from(first)),
        ("x-end", HeaderValue::from(end)),
    ];
    Ok((headers, bytes).into_response())
}

/// A part of a recording and where it begins: what is gone by rotation is skipped.
fn read(
    dir: &std::path::Path,
    from: Option<u64>,
    max: Option<usize>,
) -> std::io::Result<(u64, Vec<u8>)> {
    let recording = Recording::open(dir)?;
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
    /// The running session of an agent, which the caller named so.
    async fn running(
        &self,
        caller: Caller,
        id: AgentId,
        target: &str,
    ) -> Result<(AgentId, SessionNumber), ProblemResponse> {
        let session = self.driver.look(move |view| {
            let agent = view.supervisor.fleet().agent(id)?;
            agent.live_session().filter(|session| session.process.is_some()).map(|s| s.number)
        });
        match session.await? {
            Some(number) => Ok((id, number)),
            None => {
                let agent = self.find(caller, id.to_string()).await?;
                Err(ProblemResponse(problems::no_running_session(target, &agent)))
            }
        }
    }
}

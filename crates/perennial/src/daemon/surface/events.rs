//! Events: a page of them, or all from a place on, as they come. With changed agents: `feed`.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::IntoResponse;
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use perennial_api::event as wire;
use perennial_api::query;
use perennial_core::authority::{Caller, Standing};
use perennial_core::id::AgentId;
use perennial_core::visibility::Sight;
use perennial_store::RosterQuery;
use perennial_store::Store;
use perennial_store::journal::{ReadError, Seq};
use perennial_store::record::Record;
use tokio::sync::Notify;

use super::about;
use super::answer::{Answer, ProblemResponse, json};
use super::ended::Resolved;
use super::extract::{CallerIdentity, Query};
use super::{Shared, Surface};
use crate::daemon::driving::driver::{Closing, chain};
use crate::daemon::showing::problems;
use crate::daemon::showing::view;
use crate::daemon::showing::wire_event;

const PAGE: usize = 1000;
const LARGEST_PAGE: usize = 10_000;

pub async fn events(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(wanted): Query<query::Events>,
    headers: HeaderMap,
) -> Answer {
    let agent = surface.only(wanted.agent).await?;
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accept| accept.contains("text/event-stream")) {
        let since = last_event_id(&headers).unwrap_or(wanted.since);
        return Ok(follow(surface, caller, Seq(since), agent).into_response());
    }
    let limit = wanted.limit.unwrap_or(PAGE).min(LARGEST_PAGE);
    let records =
        surface.read(move |journal| page(journal, Seq(wanted.since), agent, limit)).await?;
    json(&surface.views(caller, records).await?)
}

/// Where a client that resumes was.
pub fn last_event_id(headers: &HeaderMap) -> Option<u64> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok()
}

fn page(
    journal: &dyn Store,
    since: Seq,
    agent: Option<AgentId>,
    limit: usize,
) -> Result<Vec<Record>, ReadError> {
    match agent {
        Some(id) => about::page(journal, id, since, limit),
        None => journal.read(since, limit),
    }
}

/// Server-sent events from a place on, for as long as the client listens.
fn follow(
    surface: Shared,
    caller: Caller,
    since: Seq,
    agent: Option<AgentId>,
) -> impl IntoResponse {
    let mut follower = surface.journal.follow(since);
    let news = Arc::new(Notify::new());
    let bell = Arc::clone(&news);
    follower.on_news(Arc::new(move || bell.notify_one()));
    // One: an event may be large, and readers that do not read may be many. The journal keeps the rest.
    let (sender, receiver) = tokio::sync::mpsc::channel::<Result<Line, Infallible>>(1);
    let mut ending = surface.ending.subscribe();
    tokio::spawn(async move {
        loop {
            match follower.try_next() {
                Ok(Some(record)) => {
                    let is_wanted = match agent {
                        Some(agent) => surface.is_about(&record, agent).await,
                        None => Ok(true),
                    };
                    match is_wanted {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(_) => return,
                    }
                    let Ok(views) = surface.views(caller, vec![record]).await else { return };
                    for view in views {
                        let data = serde_json::to_string(&view).unwrap_or_default();
                        let line = Line::default().id(view.seq.to_string()).data(data);
                        if sender.send(Ok(line)).await.is_err() {
                            return;
                        }
                    }
                }
                Ok(None) => tokio::select! {
                    () = news.notified() => {}
                    () = sender.closed() => return,
                    _ = ending.wait_for(|ending| *ending) => return,
                },
                Err(error) => {
                    tracing::error!(error = chain(&error), "the feed can't go on");
                    return;
                }
            }
        }
    });
    Sse::new(tokio_stream::wrappers::ReceiverStream::new(receiver)).keep_alive(KeepAlive::default())
}

impl Surface {
    /// The one agent that is asked for, if one is.
    pub async fn only(&self, target: Option<String>) -> Result<Option<AgentId>, ProblemResponse> {
        let Some(target) = target else { return Ok(None) };
        match self.resolve(target).await? {
            Resolved::InMemory(id) => Ok(Some(id)),
            Resolved::Ended(ended) => Ok(Some(ended.agent.id)),
        }
    }

    /// Records as this caller sees them, with the names that agents have now. Who hears of an event
    /// finds it in what is shown: the journal may be ahead of that for a moment.
    pub async fn views(
        &self,
        caller: Caller,
        records: Vec<Record>,
    ) -> Result<Vec<wire::Event>, ProblemResponse> {
        let newest = records.iter().map(|record| record.seq).max().unwrap_or_default();
        self.shown.clone().wait_for(|shown| *shown >= newest).await.map_err(|_| Closing)?;
        let (agents, records) = self.agents_of(records).await?;
        let ids: BTreeSet<AgentId> = agents.iter().flatten().copied().collect();
        let names = self.names(ids.clone()).await?;
        let sights = self.sights(caller, ids).await?;
        let views = records.iter().zip(agents).map(|(record, agent)| {
            let nobodys = Sight::new(caller, Standing::NoTarget);
            let sight = agent.and_then(|id| sights.get(&id).copied()).unwrap_or(nobodys);
            let agent = agent.map(|id| (id, names.get(&id).cloned()));
            wire_event::event(record, agent, sight)
        });
        Ok(views.collect())
    }

    /// The agent that each record is about.
    pub async fn agents_of(
        &self,
        records: Vec<Record>,
    ) -> Result<(Vec<Option<AgentId>>, Vec<Record>), ProblemResponse> {
        let about = |journal: &dyn Store, records: &[Record]| {
            let agents = records.iter().map(|record| about::agent(journal, record));
            agents.collect::<Result<Vec<_>, _>>()
        };
        match records.iter().any(about::is_indirect) {
            true => self.read(move |journal| Ok((about(journal, &records)?, records))).await,
            // Nothing is read for these.
            false => {
                let agents = about(&*self.journal, &records).map_err(|e| unread(&chain(&e)))?;
                Ok((agents, records))
            }
        }
    }

    async fn names(
        &self,
        ids: BTreeSet<AgentId>,
    ) -> Result<BTreeMap<AgentId, String>, ProblemResponse> {
        let mut ended = ids.clone();
        let mut names: BTreeMap<AgentId, String> = self
            .driver
            .look(move |view| {
                let fleet = view.supervisor.fleet();
                let named = |id: AgentId| fleet.agent(id).map(|agent| (id, view::name(agent)));
                ids.into_iter().filter_map(named).collect()
            })
            .await?;
        ended.retain(|id| !names.contains_key(id));
        if !ended.is_empty() {
            let ended: Vec<AgentId> = ended.into_iter().collect();
            let rows = self.read(move |journal| journal.roster(RosterQuery::Of(&ended))).await?;
            names.extend(rows.into_iter().filter_map(|row| Some((row.agent, row.name?))));
        }
        Ok(names)
    }

    /// Whether the feed of this agent has the record.
    async fn is_about(&self, record: &Record, agent: AgentId) -> Result<bool, ProblemResponse> {
        let (agents, _) = self.agents_of(vec![record.clone()]).await?;
        Ok(agents == [Some(agent)])
    }
}

pub fn unread(why: &str) -> ProblemResponse {
    ProblemResponse(problems::journal_unread(why))
}

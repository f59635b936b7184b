//! The feed of events: a page of them, or all from a place on, as they come.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::IntoResponse;
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use perennial_api::{EventView, Problem};
use perennial_core::authority::Caller;
use perennial_core::entity::Entity;
use perennial_core::event::{ClaimEvent, What};
use perennial_core::id::AgentId;
use perennial_core::message::MessageEvent;
use perennial_store::RosterQuery;
use perennial_store::journal::{Journal, ReadError, Seq, Version};
use perennial_store::record::Record;
use perennial_store::stored::{self, Encoded};
use serde::Deserialize;
use tokio::sync::Notify;

use super::answer::{Answer, Trouble, json};
use super::extract::Shown;
use super::{Shared, Surface};
use crate::daemon::driver::{Closing, chain};
use crate::daemon::{time, view, words};

const PAGE: usize = 1000;
const LARGEST_PAGE: usize = 10_000;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Wanted {
    since: u64,
    agent: Option<String>,
    limit: Option<usize>,
}

pub async fn events(
    State(surface): State<Shared>,
    Shown(caller): Shown,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Answer {
    let agent = match wanted.agent {
        Some(target) => {
            Some(surface.find(target).await?.id.parse::<AgentId>().map_err(|_| unread("id"))?)
        }
        None => None,
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if text(ACCEPT.as_str()).is_some_and(|accept| accept.contains("text/event-stream")) {
        let resumed = text("last-event-id").and_then(|id| id.parse().ok());
        return Ok(
            feed(surface, caller, Seq(resumed.unwrap_or(wanted.since)), agent).into_response()
        );
    }
    let limit = wanted.limit.unwrap_or(PAGE).min(LARGEST_PAGE);
    let records =
        surface.read(move |journal| page(journal, Seq(wanted.since), agent, limit)).await?;
    json(&surface.views(caller, records).await?)
}

fn page(
    journal: &dyn Journal,
    since: Seq,
    agent: Option<AgentId>,
    limit: usize,
) -> Result<Vec<Record>, ReadError> {
    let mut records = Vec::new();
    let (mut after, mut version) = (since, Version(0));
    while records.len() < limit {
        let page = match agent {
            Some(id) => journal.read_stream(&Entity::Agent(id), version, PAGE)?,
            None => journal.read(after, limit - records.len())?,
        };
        let Some(last) = page.last() else { break };
        (after, version) = (last.seq, last.version);
        records.extend(page.into_iter().filter(|record| record.seq > since));
    }
    records.truncate(limit);
    Ok(records)
}

/// Server-sent events from a place on, for as long as the client listens.
fn feed(surface: Shared, caller: Caller, since: Seq, agent: Option<AgentId>) -> impl IntoResponse {
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
                    if agent.is_some_and(|id| record.stream != Some(Entity::Agent(id))) {
                        continue;
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
    /// Records as clients see them, with the names that agents have now. Who hears of an event finds
    /// it in what is shown: the journal may be ahead of that for a moment.
    async fn views(&self, caller: Caller, records: Vec<Record>) -> Result<Vec<EventView>, Trouble> {
        let newest = records.iter().map(|record| record.seq).max().unwrap_or_default();
        self.shown.clone().wait_for(|shown| *shown >= newest).await.map_err(|_| Closing)?;
        let ids: BTreeSet<AgentId> = records.iter().filter_map(agent_of).collect();
        let mut ended = ids.clone();
        let mut names: BTreeMap<AgentId, String> = self
            .desk
            .look(move |sight| {
                let fleet = sight.supervisor.fleet();
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
        Ok(records.iter().map(|record| event(caller, record, &names)).collect())
    }
}

fn is_private(what: &What) -> bool {
    match what {
        What::Message(..) | What::Job(..) => true,
        What::Node(_) | What::Agent(..) | What::Name(..) | What::Conversation(..) => false,
        What::Post(..) => false,
    }
}

/// The agent that a record is about, as far as it says so itself.
fn agent_of(record: &Record) -> Option<AgentId> {
    let of_stream = record.stream.as_ref().and_then(Entity::agent);
    of_stream.or_else(|| match &record.event.as_ref().ok()?.what {
        What::Name(_, claim) | What::Conversation(_, claim) => match claim {
            ClaimEvent::Taken { by } | ClaimEvent::Left { by } => Some(*by),
        },
        What::Message(_, MessageEvent::Recorded { to, .. }) => Some(*to),
        What::Node(_) | What::Agent(..) | What::Message(..) | What::Post(..) | What::Job(..) => {
            None
        }
    })
}

fn event(caller: Caller, record: &Record, names: &BTreeMap<AgentId, String>) -> EventView {
    let id = agent_of(record);
    let (kind, text, data) = match &record.event {
        // What was said to an agent, and what a command of the operator's printed, is for persons.
        Ok(event) if caller != Caller::Person && is_private(&event.what) => {
            (stored::kind(&event.what), String::new(), serde_json::Value::Null)
        }
        Ok(event) => {
            let Encoded { kind, payload, .. } = stored::write(&event.what);
            let data = serde_json::from_str(&payload).unwrap_or_default();
            (kind, words::sentence(&event.what), data)
        }
        Err(unreadable) => ("unreadable", unreadable.to_string(), serde_json::Value::Null),
    };
    EventView {
        seq: record.seq.0,
        at: time::moment(record.at),
        agent_id: id.map(|id| id.to_string()),
        agent: id.and_then(|id| names.get(&id).cloned()),
        kind: kind.to_owned(),
        text,
        data,
    }
}

pub fn unread(why: &str) -> Trouble {
    Trouble(Problem::new(500, "journal-unread", "the journal can't be read").because(why))
}

//! The feed of events: a page of them, or all from a place on, as they come.

use perennial_store::Store;
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
use perennial_core::event::What;
use perennial_core::id::AgentId;
use perennial_store::RosterQuery;
use perennial_store::journal::{ReadError, Seq};
use perennial_store::record::Record;
use perennial_store::stored::{self, Encoded};
use serde::Deserialize;
use tokio::sync::Notify;

use super::about;
use super::answer::{Answer, Trouble, json};
use super::extract::CallerIdentity;
use super::{Shared, Surface};
use crate::daemon::driving::driver::{Closing, chain};
use crate::daemon::showing::sentences;
use crate::daemon::showing::view;
use crate::daemon::time;

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
    CallerIdentity(caller): CallerIdentity,
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
    /// Records as clients see them, with the names that agents have now. Who hears of an event finds
    /// it in what is shown: the journal may be ahead of that for a moment.
    async fn views(&self, caller: Caller, records: Vec<Record>) -> Result<Vec<EventView>, Trouble> {
        let newest = records.iter().map(|record| record.seq).max().unwrap_or_default();
        self.shown.clone().wait_for(|shown| *shown >= newest).await.map_err(|_| Closing)?;
        let about = |journal: &dyn Store, records: &[Record]| {
            let agents = records.iter().map(|record| about::agent(journal, record));
            agents.collect::<Result<Vec<_>, _>>()
        };
        let (agents, records) = match records.iter().any(about::is_indirect) {
            true => self.read(move |journal| Ok((about(journal, &records)?, records))).await?,
            // Nothing is read for these.
            false => (about(&*self.journal, &records).map_err(|e| unread(&chain(&e)))?, records),
        };
        let ids: BTreeSet<AgentId> = agents.iter().flatten().copied().collect();
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
        let views = records.iter().zip(agents).map(|(record, agent)| {
            let agent = agent.map(|id| (id, names.get(&id).cloned()));
            event(caller, record, agent)
        });
        Ok(views.collect())
    }

    /// Whether the feed of this agent has the record: its own, or one of a message or job of its.
    async fn is_about(&self, record: &Record, agent: AgentId) -> Result<bool, Trouble> {
        if !about::is_indirect(record) {
            return Ok(record.stream == Some(Entity::Agent(agent)));
        }
        let record = record.clone();
        Ok(self.read(move |journal| about::agent(journal, &record)).await? == Some(agent))
    }
}

fn is_private(what: &What) -> bool {
    match what {
        What::Message(..) | What::Job(..) => true,
        What::Node(..) | What::Agent(..) | What::Name(..) | What::Conversation(..) => false,
        What::Post(..) => false,
    }
}

/// Whether the caller may read the first prompt of the agent that this is about, if it has one: a text
/// like those that are sent to it later.
fn may_read_prompt(caller: Caller, what: &What) -> bool {
    match caller {
        Caller::Person => true,
        Caller::Agent(own) => matches!(what, What::Agent(id, _) if *id == own),
        Caller::Job | Caller::Viewer => false,
    }
}

fn hide_prompt(data: &mut serde_json::Value) {
    if let Some(prompt) = data.pointer_mut("/launch/options/prompt") {
        *prompt = serde_json::Value::Null;
    }
}

fn event(caller: Caller, record: &Record, agent: Option<(AgentId, Option<String>)>) -> EventView {
    // What was said to an agent, and what a command of the operator's printed, is for persons.
    let is_hidden = match &record.event {
        Ok(event) => caller != Caller::Person && is_private(&event.what),
        Err(_) => caller != Caller::Person,
    };
    let (kind, text, data) = match &record.event {
        Ok(event) if is_hidden => {
            (stored::kind(&event.what), String::new(), serde_json::Value::Null)
        }
        Ok(event) => {
            let Encoded { kind, payload, .. } = stored::write(&event.what);
            let mut data = serde_json::from_str(&payload).unwrap_or_default();
            if !may_read_prompt(caller, &event.what) {
                hide_prompt(&mut data);
            }
            (kind, sentences::sentence(&event.what), data)
        }
        Err(unreadable) => ("unreadable", unreadable.to_string(), serde_json::Value::Null),
    };
    let (agent_id, agent) = agent.unzip();
    EventView {
        seq: record.seq.0,
        at: time::rfc3339(record.at),
        agent_id: agent_id.map(|id| id.to_string()),
        agent: agent.flatten(),
        about: record.stream.as_ref().filter(|_| !is_hidden).and_then(about::id),
        kind: kind.to_owned(),
        text,
        data,
    }
}

pub fn unread(why: &str) -> Trouble {
    Trouble(Problem::new(500, "journal-unread", "the journal can't be read").because(why))
}

#[cfg(test)]
mod tests {
    use perennial_core::event::AgentEvent;

    use super::*;

    #[test]
    fn a_first_prompt_is_read_by_persons_and_by_the_agent_itself() {
        let what = What::Agent(AgentId(1), AgentEvent::Summarised { summary: String::new() });
        for (caller, may) in [
            (Caller::Person, true),
            (Caller::Agent(AgentId(1)), true),
            (Caller::Agent(AgentId(2)), false),
            (Caller::Job, false),
            (Caller::Viewer, false),
        ] {
            assert_eq!(may_read_prompt(caller, &what), may, "{caller:?}");
        }
        // The stored form of a birth, as it is shown.
        let golden = include_str!("../../../../perennial-store/golden/hatched-harness.v2.json");
        let mut golden: serde_json::Value = serde_json::from_str(golden).expect("JSON");
        assert!(golden["payload"]["launch"]["options"]["prompt"].is_string());
        hide_prompt(&mut golden["payload"]);
        assert!(golden["payload"]["launch"]["options"]["prompt"].is_null());
    }
}

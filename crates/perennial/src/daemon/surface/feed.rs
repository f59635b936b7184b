//! The feed: events as they come, and agents as they change.
//!
//! It begins with every agent in memory, as it is now. After that an agent is sent again when an event
//! is about it, and when what no event tells of it has changed (its holder is lost, its window fills).
//!
//! Invariants
//! - FE1  An agent is sent before the events that changed it: whoever has an event's id has its agent in
//!   that state, or a newer one. So resuming after an id misses nothing.
//! - FE2  A slow reader gets every event, and of each agent only the newest state: nothing waits for it
//!   here but what one read of the journal holds.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event as Line, KeepAlive, Sse};
use perennial_api::query;
use perennial_core::authority::Caller;
use perennial_core::id::AgentId;
use perennial_store::follow::Follower;
use perennial_store::journal::Seq;
use perennial_store::record::Record;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Sender, channel};

use super::Shared;
use super::answer::{Answer, ProblemResponse};
use super::events::{last_event_id, unread};
use super::extract::{CallerIdentity, Query};
use crate::daemon::driving::driver::{Closing, chain};
use crate::daemon::showing::view;

/// So many records are taken at once: their agents are sent once for all of them.
const BATCH: usize = 256;
/// What no event tells is looked at so often.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub async fn feed(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Query(wanted): Query<query::Feed>,
    headers: HeaderMap,
) -> Answer {
    let only = surface.only(wanted.agent).await?;
    let since = last_event_id(&headers).or(wanted.since).map(Seq);
    let mut follower = surface.journal.follow(since.unwrap_or(surface.journal.head().0));
    let news = Arc::new(Notify::new());
    let bell = Arc::clone(&news);
    follower.on_news(Arc::new(move || bell.notify_one()));
    let (sender, receiver) = channel(1);
    let feed = Feed { surface, caller, only, follower, sender, unrecorded: BTreeMap::new() };
    tokio::spawn(async move {
        match feed.run(&news).await {
            Ok(()) | Err(Over::Gone) => {}
            Err(Over::Failed(ProblemResponse(problem))) => {
                tracing::error!(why = problem.detail, "the feed can't go on");
            }
        }
    });
    let lines = tokio_stream::wrappers::ReceiverStream::new(receiver);
    Ok(Sse::new(lines).keep_alive(KeepAlive::default()).into_response())
}

/// Why a feed ends.
enum Over {
    /// Nobody reads it any more.
    Gone,
    Failed(ProblemResponse),
}

impl From<ProblemResponse> for Over {
    fn from(trouble: ProblemResponse) -> Over {
        Over::Failed(trouble)
    }
}

impl From<Closing> for Over {
    fn from(_: Closing) -> Over {
        Over::Gone
    }
}

struct Feed {
    surface: Shared,
    caller: Caller,
    /// The only agent that is asked for.
    only: Option<AgentId>,
    follower: Follower,
    sender: Sender<Result<Line, Infallible>>,
    /// What no event tells of each agent, as it was last looked at.
    unrecorded: BTreeMap<AgentId, u64>,
}

impl Feed {
    async fn run(mut self, news: &Notify) -> Result<(), Over> {
        let mut ending = self.surface.ending.subscribe();
        let mut looks = tokio::time::interval(LOOK_AGAIN);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let everybody = self.look().await?;
        self.send_agents(everybody).await?;
        loop {
            let batch = self.batch()?;
            if !batch.is_empty() {
                self.send_events(batch).await?;
                continue;
            }
            let sender = self.sender.clone();
            let is_time = tokio::select! {
                () = news.notified() => false,
                _ = looks.tick() => true,
                () = sender.closed() => return Ok(()),
                _ = ending.wait_for(|ending| *ending) => return Ok(()),
            };
            if is_time {
                let changed = self.look().await?;
                self.send_agents(changed).await?;
            }
        }
    }

    /// The records that are there already.
    fn batch(&mut self) -> Result<Vec<Record>, Over> {
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Some(record) =
                self.follower.try_next().map_err(|error| unread(&chain(&error)))?
        {
            batch.push(record);
        }
        Ok(batch)
    }

    /// FE1: first the agents, each once, then the events.
    async fn send_events(&mut self, records: Vec<Record>) -> Result<(), Over> {
        let (agents, mut records) = self.surface.agents_of(records).await?;
        if let Some(only) = self.only {
            let mut about = agents.iter();
            records.retain(|_| about.next() == Some(&Some(only)));
        }
        let changed: BTreeSet<AgentId> = agents.into_iter().flatten().collect();
        let is_wanted = |id: &AgentId| self.only.is_none_or(|only| only == *id);
        let changed: Vec<AgentId> = changed.into_iter().filter(is_wanted).collect();
        let events = self.surface.views(self.caller, records).await?;
        self.send_agents(changed).await?;
        for event in events {
            let line = line("event", &event).id(event.seq.to_string());
            self.send(line).await?;
        }
        Ok(())
    }

    /// Those of whom something has changed that no event tells; at first everybody in memory.
    async fn look(&mut self) -> Result<Vec<AgentId>, Over> {
        let only = self.only;
        let now: BTreeMap<AgentId, u64> = self
            .surface
            .driver
            .look(move |view| {
                let agents = view.supervisor.fleet().agents();
                let wanted = agents.filter(|agent| only.is_none_or(|only| only == agent.id));
                wanted.map(|agent| (agent.id, view::unrecorded(agent, view))).collect()
            })
            .await?;
        let is_new = |(id, seen): &(&AgentId, &u64)| self.unrecorded.get(id) != Some(seen);
        let changed = now.iter().filter(is_new).map(|(id, _)| *id).collect();
        self.unrecorded = now;
        Ok(changed)
    }

    /// FE2: each as it is when its turn comes.
    async fn send_agents(&mut self, agents: Vec<AgentId>) -> Result<(), Over> {
        for id in agents {
            let agent = self.surface.find(self.caller, id.to_string()).await?;
            self.send(line("agent", &agent)).await?;
        }
        Ok(())
    }

    async fn send(&mut self, line: Line) -> Result<(), Over> {
        self.sender.send(Ok(line)).await.map_err(|_| Over::Gone)
    }
}

fn line(kind: &str, data: &impl Serialize) -> Line {
    // Wire types are plain: nothing that JSON can't say.
    Line::default().event(kind).data(serde_json::to_string(data).unwrap_or_default())
}

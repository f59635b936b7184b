//! The feed: events as they come, and agents as they change.
//!
//! It begins with every agent in memory, as it is now. After that an agent is sent again when an event
//! is about it, and when what no event tells of it has changed (its holder is lost, its window fills).
//!
//! Invariants
//! - FE1  An agent is sent before the events that changed it: whoever has an event's id has its agent in
//!   that state, or a newer one. So resuming after an id misses nothing.
//! - FE2  A slow reader gets every event, and of each agent only the newest state: nothing waits for it
//!   here but what one read of the journal holds. One that does not read is given up (`feed_reader.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use perennial_api::query;
use perennial_core::authority::Caller;
use perennial_core::id::AgentId;
use perennial_store::journal::Seq;
use perennial_store::record::Record;

use super::Shared;
use super::answer::Answer;
use super::events::last_event_id;
use super::extract::{CallerIdentity, CallerParty, Query};
use super::feed_reader::{self, FeedReader, Over, PATIENCE};
use super::journal_tail::JournalTail;
use crate::daemon::showing::view;

/// How often it looks for what no event tells.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

pub async fn feed(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    CallerParty(party): CallerParty,
    Query(wanted): Query<query::Feed>,
    headers: HeaderMap,
) -> Answer {
    let place = surface.gate.feed(party)?;
    let only = surface.only(wanted.agent).await?;
    let since = last_event_id(&headers).or(wanted.since).map(Seq);
    let tail = JournalTail::new(&surface, since.unwrap_or(surface.journal.head().0));
    Ok(feed_reader::answer(place, PATIENCE, |reader| {
        Feed { surface, caller, only, tail, reader, unrecorded: BTreeMap::new() }.run()
    }))
}

struct Feed {
    surface: Shared,
    caller: Caller,
    /// The only agent that is asked for.
    only: Option<AgentId>,
    tail: JournalTail,
    reader: FeedReader,
    /// What no event tells of each agent, as it was last looked at.
    unrecorded: BTreeMap<AgentId, u64>,
}

impl Feed {
    async fn run(mut self) -> Result<(), Over> {
        let mut ending = self.surface.ending.subscribe();
        let mut looks = tokio::time::interval(LOOK_AGAIN);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let everybody = self.look().await?;
        self.send_agents(everybody).await?;
        loop {
            let batch = self.tail.batch().await?;
            if !batch.is_empty() {
                self.send_events(batch).await?;
                continue;
            }
            let is_time = tokio::select! {
                () = self.tail.news() => false,
                _ = looks.tick() => true,
                () = self.reader.closed() => return Ok(()),
                _ = ending.wait_for(|ending| *ending) => return Ok(()),
            };
            if is_time {
                let changed = self.look().await?;
                self.send_agents(changed).await?;
            }
        }
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
            self.reader.send_event(Some("event"), event.seq, &event).await?;
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
            self.reader.send("agent", &agent).await?;
        }
        Ok(())
    }
}

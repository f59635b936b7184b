//! Events: a page of them, or all from a place on, as they come. With changed agents: `feed`.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use perennial_api::event as wire;
use perennial_api::query;
use perennial_core::authority::{Caller, Standing};
use perennial_core::id::AgentId;
use perennial_core::visibility::Sight;
use perennial_store::RosterQuery;
use perennial_store::Store;
use perennial_store::journal::{ReadError, Seq};
use perennial_store::record::Record;

use super::about;
use super::answer::{Answer, ProblemResponse, json};
use super::ended::Resolved;
use super::extract::{CallerIdentity, CallerParty, Query};
use super::feed_reader::{self, FeedReader, Over, PATIENCE};
use super::journal_tail::{BATCH, JournalTail};
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
    CallerParty(party): CallerParty,
    Query(wanted): Query<query::Events>,
    headers: HeaderMap,
) -> Answer {
    let agent = surface.only(wanted.agent).await?;
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    if accepted.is_some_and(|accept| accept.contains("text/event-stream")) {
        let since = last_event_id(&headers).unwrap_or(wanted.since);
        let place = surface.gate.feed(party)?;
        return Ok(feed_reader::answer(place, PATIENCE, |reader| {
            follow(surface, caller, Seq(since), agent, reader)
        }));
    }
    let limit = wanted.limit.unwrap_or(PAGE).min(LARGEST_PAGE);
    let records = surface
        .read_as(caller, move |journal| page(journal, Seq(wanted.since), agent, limit))
        .await?;
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

/// Sends events from a place on, for as long as the reader listens.
async fn follow(
    surface: Shared,
    caller: Caller,
    mut since: Seq,
    agent: Option<AgentId>,
    mut reader: FeedReader,
) -> Result<(), Over> {
    // Up to now, an agent's events are found by their streams.
    while let Some(agent) = agent {
        let head = surface.journal.head().0;
        let records = surface
            .read_as(caller, move |journal| about::page(journal, agent, since, BATCH))
            .await?;
        since = records.last().map_or(since.max(head), |last| last.seq);
        if records.is_empty() {
            break;
        }
        send(&surface, caller, records, &mut reader).await?;
    }
    let mut tail = JournalTail::new(&surface, since);
    let mut ending = surface.ending.subscribe();
    loop {
        let records = tail.batch().await?;
        if records.is_empty() {
            tokio::select! {
                () = tail.news() => continue,
                () = reader.closed() => return Ok(()),
                _ = ending.wait_for(|ending| *ending) => return Ok(()),
            }
        }
        let records = match agent {
            Some(agent) => surface.only_about(agent, records).await?,
            None => records,
        };
        send(&surface, caller, records, &mut reader).await?;
    }
}

async fn send(
    surface: &Surface,
    caller: Caller,
    records: Vec<Record>,
    reader: &mut FeedReader,
) -> Result<(), Over> {
    for view in surface.views(caller, records).await? {
        reader.send_event(None, view.seq, &view).await?;
    }
    Ok(())
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

    pub async fn names(
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

    /// Those of the records that the feed of this agent has.
    async fn only_about(
        &self,
        agent: AgentId,
        records: Vec<Record>,
    ) -> Result<Vec<Record>, ProblemResponse> {
        let (agents, mut records) = self.agents_of(records).await?;
        let mut about = agents.iter();
        records.retain(|_| about.next() == Some(&Some(agent)));
        Ok(records)
    }
}

pub fn unread(why: &str) -> ProblemResponse {
    ProblemResponse(problems::journal_unread(why))
}

//! Checkpoints: taken for whoever asks, listed from the journal, shown with their content.
//!
//! What is found is fetched here, from the work tree and from what was heard; what it makes is the core's
//! (`perennial_core::checkpoint`). A snapshot is durable before the checkpoint that names it is recorded.

use std::path::PathBuf;

use axum::extract::State;
use perennial_api::checkpoint as wire;
use perennial_api::query;
use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::checkpoint::{
    self as core, CheckpointDraft, CheckpointEvent, CheckpointOrder, CheckpointTaken, Material,
    SaidDraft,
};
use perennial_core::command::{Command, Request};
use perennial_core::entity::Entity;
use perennial_core::event::AgentEvent;
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::keeping;
use perennial_core::refusal::Refusal;
use perennial_core::snapshot::{SnapshotCause, SnapshotFiles};
use perennial_core::time::Time;
use perennial_core::visibility::Private;
use perennial_core::work::GitFindings;
use perennial_engine::git::GitError;
use perennial_engine::supervisor::Rejection;
use perennial_store::journal::{ReadError, Version};
use perennial_store::{Store, checkpoint as stored};

use super::agents::gone;
use super::answer::{Answer, ProblemResponse, json};
use super::ended::Resolved;
use super::extract::{CallerIdentity, Query, Segment};
use super::form::{Form, RolesThen};
use super::orders::Done;
use super::snapshots::recorded_number;
use super::{Shared, Surface};
use crate::daemon::hearing::past_session::PastSession;
use crate::daemon::showing::problems::{self, checkpoints as problem};
use crate::daemon::showing::{checkpoint as showing, view};
use crate::daemon::snapshot_keeper::{Stored, recorded_files};

/// So many records are read at a time.
const PAGE: usize = 500;
const LISTED: u64 = 50;
const LISTED_MAX: u64 = 1000;
/// A checkpoint that others overtake is composed so often.
const TRIES: usize = 5;

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(asked): Query<query::Checkpoints>,
) -> Answer {
    let form = Form::of(asked.vocabulary.as_deref())?;
    let id = surface.may_see(caller, target, Private::Transcript).await?;
    let limit = asked.limit.unwrap_or(LISTED).min(LISTED_MAX);
    let is_wanted = |_: &CheckpointTaken| true;
    // A seed's form has what is in the content; ours has what the events tell.
    let with_content = form.is_a_seeds();
    let read = surface.read(move |journal| {
        let found = recorded(journal, id, is_wanted, limit as usize)?;
        let card = |(one, at): (CheckpointTaken, Time)| {
            let content = match with_content {
                true => stored::content(journal, one.text.digest)?,
                false => None,
            };
            Ok(showing::card(showing::taken(&one, at), content))
        };
        found.into_iter().map(card).collect::<Result<Vec<_>, ReadError>>()
    });
    let cards = read.await?;
    match with_content {
        true => {
            let roles = surface.read(move |journal| roles_then(journal, id)).await?;
            form.checkpoints(&surface.find(caller, id.to_string()).await?, &roles, &cards)
        }
        false => json(&cards.into_iter().map(|card| card.checkpoint).collect::<Vec<_>>()),
    }
}

pub async fn show(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(asked): Query<query::Checkpoint>,
) -> Answer {
    let form = Form::of(asked.vocabulary.as_deref())?;
    let id = surface.may_see(caller, target, Private::Transcript).await?;
    let card = surface.checkpoint(id, asked.number).await?;
    match form.is_a_seeds() {
        true => {
            let roles = surface.read(move |journal| roles_then(journal, id)).await?;
            form.checkpoint(&surface.find(caller, id.to_string()).await?, &roles, &card)
        }
        false => json(&card),
    }
}

impl Surface {
    /// Takes a checkpoint, with a snapshot where there is a work tree.
    pub async fn take_checkpoint(
        &self,
        caller: Caller,
        target: String,
        asked: wire::TakeCheckpoint,
    ) -> Result<Done, ProblemResponse> {
        let said = said(caller, asked);
        let agent = self.asked_for(caller, target, said.clone()).await?;
        let id = agent.id;
        let (files, git) = self.looked_at(caller, &agent).await?;
        for _ in 0..TRIES {
            let draft = self.composed(id, &said, files.clone(), git.clone()).await?;
            let order = CheckpointOrder { target: id.to_string(), said: said.clone(), draft };
            let request = Request { caller, command: Command::Checkpoint(Box::new(order)) };
            match self.driver.request(request).await? {
                Ok(_) => {
                    let card = self.checkpoint(id, None).await?;
                    return Ok(Done::Checkpoint(Box::new(card)));
                }
                Err(Rejection::Refused(Refusal::CheckpointOutdated { .. })) => {}
                Err(rejection) => {
                    let problem = self
                        .driver
                        .look(move |view| problems::rejection(&rejection, view.supervisor.fleet()));
                    return Err(ProblemResponse(problem.await?));
                }
            }
        }
        let name = view::name(&agent);
        Err(ProblemResponse(problem::outdated(&name)))
    }

    /// The agent, if the caller may have a checkpoint of it taken, and can afford it: asked before anything is looked at, for a
    /// snapshot of a checkpoint that is refused would be nobody's.
    async fn asked_for(
        &self,
        caller: Caller,
        target: String,
        said: SaidDraft,
    ) -> Result<Agent, ProblemResponse> {
        let (id, ended) = match self.resolve(target).await? {
            Resolved::InMemory(id) => (id, None),
            Resolved::Ended(ended) => (ended.agent.id, Some(ended)),
        };
        let found = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let asked = |fleet: &Fleet| {
                let agent = core::asked(fleet, caller, &id.to_string(), &said);
                let affords = |agent: &Agent| {
                    let bytes = core::likely_bytes(agent);
                    view.supervisor.affords(caller, bytes, view.now)
                };
                let agent = agent.and_then(|agent| affords(agent).map(|()| agent.clone()));
                agent.map_err(|refusal| problems::refusal(&refusal, fleet))
            };
            match ended {
                Some(ended) => asked(&ended.around(fleet)),
                None => asked(fleet),
            }
        });
        found.await?.map_err(ProblemResponse)
    }

    /// A snapshot of an agent's work tree, and what git shows of it. Without a work tree, or if it can't be read, the
    /// checkpoint does without them.
    async fn looked_at(
        &self,
        caller: Caller,
        agent: &Agent,
    ) -> Result<(Option<SnapshotFiles>, Option<GitFindings>), ProblemResponse> {
        let now = self.driver.look(|view| view.now).await?;
        let directory = PathBuf::from(keeping::place(agent).0);
        let taken = match self.snapshots.take((caller, agent.id), directory, now).await? {
            Ok(taken) => taken,
            Err(GitError::NotARepository(_)) => return Ok((None, None)),
            Err(error) => {
                let error = crate::error_chain::chain(&error);
                tracing::info!(%error, "a checkpoint has no snapshot");
                return Ok((None, None));
            }
        };
        let files = recorded_files(&taken);
        let place = Stored { store: files.store.clone(), commit: files.commit.clone() };
        let findings = self.snapshots.against_head(place).await?;
        let findings = findings.inspect_err(|error| {
            let error = crate::error_chain::chain(error);
            tracing::info!(%error, "a snapshot can't be compared with HEAD");
        });
        Ok((Some(files), findings.ok()))
    }

    /// Composes a checkpoint of an agent as it is now.
    async fn composed(
        &self,
        id: AgentId,
        said: &SaidDraft,
        files: Option<SnapshotFiles>,
        git: Option<GitFindings>,
    ) -> Result<CheckpointDraft, ProblemResponse> {
        let reader = self.reader.clone();
        let known = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let agent = fleet.agent(id)?;
            let text = agent.checkpoint.as_ref().map(|head| head.text.digest);
            let past = PastSession::unread(&reader, fleet, agent, core::session(agent));
            Some((core::number(agent), text, past))
        });
        let (after, text, past) = known.await?.ok_or_else(gone)?;
        let harnesses = self.harnesses.clone();
        let commit = files.as_ref().map(|files| files.commit.clone());
        let read = self.read(move |journal| {
            let last = match text {
                Some(digest) => stored::content(journal, digest)?.map(Box::new),
                None => None,
            };
            let number = match commit {
                Some(commit) => recorded_number(journal, id, &commit)?,
                None => None,
            };
            let found = past.and_then(|past| past.read(journal, &harnesses));
            Ok((last, number, found))
        });
        // A snapshot of the same files was recorded before.
        let (last, recorded, read) = read.await?;
        let new = files.filter(|_| recorded.is_none());
        let (said, has_new) = (said.clone(), new.is_some());
        let found = self.reader.found(id).into_iter().chain(read);
        let composed = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let agent = fleet.agent(id)?;
            let snapshot = if has_new { Some(agent.snapshots + 1) } else { recorded };
            let session = core::session(agent);
            let found = { found }.find(|found| found.number == session);
            let (found, position) = found.map(|it| (it.findings, it.position)).unwrap_or_default();
            let session = Some(session);
            let material = Material { session, last, said, found, git, position, snapshot };
            Some(core::compose(agent, fleet, material, view.now))
        });
        let content = composed.await?.ok_or_else(gone)?;
        let body = stored::body(&content);
        let files = new.map(|files| (SnapshotCause::Checkpoint, files));
        Ok(CheckpointDraft { after, content, body, files })
    }

    /// One checkpoint with its content; the newest, if none is named.
    async fn checkpoint(
        &self,
        id: AgentId,
        number: Option<u32>,
    ) -> Result<wire::CheckpointCard, ProblemResponse> {
        let read = self.read(move |journal| {
            let newest = recorded(journal, id, |_| true, 1)?.pop();
            let found = match (newest, number) {
                (Some((newest, _)), Some(number)) if newest.number != number => {
                    let last = newest.number;
                    let is_it = move |one: &CheckpointTaken| one.number == number;
                    recorded(journal, id, is_it, 1)?.pop().ok_or(Some(last))
                }
                (newest, _) => newest.ok_or(None),
            };
            let Ok((taken, at)) = found else { return Ok(Err(found.err().flatten())) };
            let content = stored::content(journal, taken.text.digest)?;
            Ok(Ok(showing::card(showing::taken(&taken, at), content)))
        });
        match read.await? {
            Ok(card) => Ok(card),
            Err(newest) => {
                let name = self.name_of(id).await?;
                Err(ProblemResponse(match (newest, number) {
                    (Some(newest), Some(number)) => problem::no_such(&name, number, newest),
                    (_, _) => problem::none(&name),
                }))
            }
        }
    }

    async fn name_of(&self, id: AgentId) -> Result<String, ProblemResponse> {
        match self.resolve(id.to_string()).await? {
            Resolved::Ended(ended) => Ok(view::name(&ended.agent)),
            Resolved::InMemory(id) => {
                let named =
                    self.driver.look(move |view| view.supervisor.fleet().agent(id).map(view::name));
                named.await?.ok_or_else(gone)
            }
        }
    }
}

/// A person's summary is a note beside the agent's words.
fn said(caller: Caller, asked: wire::TakeCheckpoint) -> SaidDraft {
    let mut said = showing::draft(asked);
    if caller == Caller::Person {
        said.note = said.summary.take();
    }
    said
}

/// Which role an agent had at each of its checkpoints.
fn roles_then(journal: &dyn Store, agent: AgentId) -> Result<RolesThen, ReadError> {
    let (mut roles, mut role, mut after) = (RolesThen::new(), None, Version(0));
    loop {
        let records = journal.read_stream(&Entity::Agent(agent), after, PAGE)?;
        let Some(last) = records.last() else { return Ok(roles) };
        after = last.version;
        for record in &records {
            let Some((_, event)) = record.event.as_ref().ok().and_then(|event| event.of_agent())
            else {
                continue;
            };
            if let AgentEvent::Hatched(birth) = event {
                role.clone_from(&birth.role);
            } else if let AgentEvent::RoleTaken { role: taken, .. } = event {
                role = Some(taken.clone());
            } else if let AgentEvent::RoleLeft { .. } = event {
                role = None;
            } else if let AgentEvent::Checkpoint(event) = event {
                let CheckpointEvent::Taken(taken) = &**event;
                roles.insert(u64::from(taken.number), role.clone());
            }
        }
    }
}

/// The newest of an agent's checkpoints that are wanted, the newest first.
fn recorded(
    journal: &dyn Store,
    agent: AgentId,
    is_wanted: impl Fn(&CheckpointTaken) -> bool,
    limit: usize,
) -> Result<Vec<(CheckpointTaken, Time)>, ReadError> {
    let (mut before, mut found) = (Version::END, Vec::new());
    while found.len() < limit {
        let page = journal.read_stream_back(&Entity::Agent(agent), before, PAGE)?;
        let Some(first) = page.last() else { break };
        before = first.version;
        for record in &page {
            let Ok(event) = record.event.as_ref() else { continue };
            let Some((_, AgentEvent::Checkpoint(event))) = event.of_agent() else { continue };
            let CheckpointEvent::Taken(taken) = &**event;
            if is_wanted(taken) && found.len() < limit {
                found.push((taken.clone(), record.at));
            }
            // CK1: nothing is before the first.
            if taken.number == 1 {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

//! Snapshots of work trees: listed from the journal, taken and restored by the keeper's thread.
//!
//! A snapshot is durable before it is recorded; a restore is recorded before it begins, and after the snapshot of what
//! it replaces.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use axum::extract::State;
use perennial_api::query;
use perennial_api::request;
use perennial_api::snapshot as wire;
use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::event::AgentEvent;
use perennial_core::fleet::Fleet;
use perennial_core::id::AgentId;
use perennial_core::keeping;
use perennial_core::reason::Verb;
use perennial_core::snapshot::{
    DropCause, MOST_LISTED, RestoreEnded, SnapshotAsked, SnapshotCause, SnapshotEvent,
    SnapshotOrder, SnapshotTaken, in_use, tree_is_free,
};
use perennial_core::time::Time;
use perennial_engine::git::snapshot::{ChangeKind, LeftOut, Taken, WithIndex, escape};
use perennial_engine::timestamp::rfc3339;
use perennial_store::Store;
use perennial_store::journal::{ReadError, Version};

use super::agents::gone;
use super::answer::{Answer, ProblemResponse, json};
use super::ended::Resolved;
use super::extract::{CallerIdentity, Query, Segment};
use super::orders::Done;
use super::{Shared, Surface};
use crate::daemon::driving::awaited::Milestone;
use crate::daemon::showing::problems::{self, snapshots as problem};
use crate::daemon::snapshot_keeper::{Stored, recorded_files, why_word};

/// So many records are read at a time.
const PAGE: usize = 500;

pub async fn list(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
) -> Answer {
    let (_, taken) = surface.snapshots_of(caller, target).await?;
    json(&taken.iter().map(|one| surface.shown_snapshot(one)).collect::<Vec<_>>())
}

pub async fn show(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(query): Query<query::Snapshot>,
) -> Answer {
    let (_, chosen) = surface.one_snapshot(caller, target, query.number).await?;
    let contents = surface.snapshots.contents(stored(&chosen.taken)).await?;
    let contents = contents.map_err(|error| failed("the snapshot can't be shown", &error))?;
    let work_trees = contents.units.iter().map(|unit| wire::SnapshotWorkTree {
        path: unit.state.path.clone(),
        head: unit.state.head.clone(),
        head_commit: unit.state.head_commit.clone(),
        operation: unit.state.operation.clone(),
        files: unit.files.len() as u64,
        has_index: unit.index.is_some(),
        left_out: left_out(&unit.state.left_out),
        torn: unit.state.torn.clone(),
        missing: unit.missing.iter().map(|path| escape(path)).collect(),
    });
    let work_trees = work_trees.collect();
    json(&wire::SnapshotCard { snapshot: surface.shown_snapshot(&chosen), work_trees })
}

pub async fn diff(
    State(surface): State<Shared>,
    CallerIdentity(caller): CallerIdentity,
    Segment(target): Segment,
    Query(query): Query<query::Snapshot>,
) -> Answer {
    let (_, Recorded { taken: chosen, .. }) =
        surface.one_snapshot(caller, target, query.number).await?;
    let now = surface.driver.look(|view| view.now).await?;
    let directory = PathBuf::from(&chosen.files.work_tree);
    let found = surface.snapshots.diff(stored(&chosen), directory, query.patch, now).await?;
    let found = found.map_err(|error| failed("the work tree can't be compared", &error))?;
    let changes = found.changes.iter().map(|change| wire::FileChange {
        path: escape(&change.path),
        change: match change.kind {
            ChangeKind::Added => "added",
            ChangeKind::Deleted => "deleted",
            ChangeKind::Modified => "modified",
            ChangeKind::Mode => "mode",
        }
        .to_owned(),
    });
    let changes = changes.collect();
    let (patch, is_cut) = found.patch.map_or((None, false), |(text, cut)| (Some(text), cut));
    json(&wire::SnapshotDiff { number: chosen.number, changes, patch, is_cut })
}

/// A snapshot, when it was taken, and why it is not there any more.
#[derive(Debug, Clone)]
struct Recorded {
    taken: SnapshotTaken,
    at: Time,
    dropped: Option<DropCause>,
}

impl Recorded {
    /// Whether it is the one with this commit, and still there.
    fn is(&self, commit: &str) -> bool {
        self.taken.files.commit == commit && self.dropped.is_none()
    }
}

impl Surface {
    pub async fn take_snapshot(
        &self,
        caller: Caller,
        target: String,
    ) -> Result<Done, ProblemResponse> {
        let agent = self.living(caller, target).await?;
        let what = "no snapshot was taken";
        let (recorded, taken) = self.taken(caller, &agent, SnapshotCause::Asked, what).await?;
        Ok(Done::Snapshot(Box::new(wire::SnapshotTaken {
            snapshot: self.shown_snapshot(&recorded),
            is_same: taken.is_same,
            left_out: left_out(&taken.left_out),
        })))
    }

    pub async fn restore_snapshot(
        &self,
        caller: Caller,
        target: String,
        restore: request::Restore,
    ) -> Result<Done, ProblemResponse> {
        let (agent, Recorded { taken: chosen, .. }) =
            self.one_snapshot(caller, target, restore.number).await?;
        let restored = match restore.to {
            Some(_) if restore.index => return Err(ProblemResponse(problem::index_elsewhere())),
            Some(to) => self.restore_elsewhere(&chosen, to).await?,
            None => {
                let agent = self.living(caller, agent.id.to_string()).await?;
                self.put_back(caller, &agent, &chosen, restore.index).await?
            }
        };
        Ok(Done::Restored(Box::new(restored)))
    }

    async fn restore_elsewhere(
        &self,
        chosen: &SnapshotTaken,
        to: String,
    ) -> Result<wire::SnapshotRestored, ProblemResponse> {
        let directory = PathBuf::from(&to);
        if !directory.is_absolute() {
            return Err(ProblemResponse(problem::relative_directory(&to)));
        }
        let tree = PathBuf::from(&chosen.files.work_tree);
        let done = self.snapshots.restore_to(stored(chosen), tree, directory).await?;
        let done = done.map_err(|error| failed("nothing was restored", &error))?;
        Ok(wire::SnapshotRestored {
            number: chosen.number,
            present: None,
            directory: to,
            written: done.written as u64,
            removed: 0,
            indexes: 0,
            missing_count: done.missing.len() as u64,
            missing: done.missing.into_iter().take(MOST_LISTED).collect(),
            changed_count: done.changed.len() as u64,
            changed: done.changed.into_iter().take(MOST_LISTED).collect(),
            work_trees: Vec::new(),
        })
    }

    async fn put_back(
        &self,
        caller: Caller,
        agent: &Agent,
        chosen: &SnapshotTaken,
        with_index: bool,
    ) -> Result<wire::SnapshotRestored, ProblemResponse> {
        let work_tree = chosen.files.work_tree.clone();
        let in_tree = self.agents_in(PathBuf::from(&work_tree)).await?;
        let (asked, tree) = (in_tree.clone(), work_tree.clone());
        let checked = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            tree_is_free(fleet, &tree, &asked).map_err(|refusal| problems::refusal(&refusal, fleet))
        });
        checked.await?.map_err(ProblemResponse)?;
        let why = SnapshotCause::BeforeRestore;
        let (present, taken) = self.taken(caller, agent, why, "nothing was restored").await?;
        if taken.work_tree != Path::new(&work_tree) {
            let now = taken.work_tree.display().to_string();
            let name = shown_name(agent);
            return Err(ProblemResponse(problem::another_work_tree(&name, &work_tree, &now)));
        }
        let (number, target) = (chosen.number, agent.id.to_string());
        let now = self.driver.look(|view| view.now).await?;
        let which = (stored(chosen), stored(&present.taken));
        let index = if with_index { WithIndex::Yes } else { WithIndex::No };
        let (tree, keeper) = (PathBuf::from(&work_tree), &self.snapshots);
        let checked = keeper.check_restore(which, tree, index, now).await?;
        let work_trees = checked.map_err(|error| failed("nothing was restored", &error))?;
        let what = SnapshotAsked::Restore {
            number,
            present: present.taken.number,
            with_index,
            work_tree: work_tree.clone(),
            in_tree,
        };
        self.command(caller, Command::Snapshot(Box::new(SnapshotOrder { target, what }))).await?;
        self.driver.reached(agent.id, Milestone::Restored).await?;
        let id = agent.id;
        let ended = self.read(move |journal| last_restore(journal, id)).await?;
        let ended = ended.ok_or_else(gone)?;
        if ended.outcome.failed.is_some() {
            let name = shown_name(agent);
            return Err(ProblemResponse(problem::restore_stopped(&name, &ended)));
        }
        Ok(wire::SnapshotRestored {
            number,
            present: Some(ended.present),
            directory: work_tree,
            written: ended.outcome.written,
            removed: ended.outcome.removed,
            indexes: u64::from(ended.outcome.indexes),
            missing_count: ended.outcome.left,
            missing: ended.outcome.listed,
            changed_count: ended.outcome.changed,
            changed: ended.outcome.changed_listed,
            work_trees,
        })
    }

    /// Takes a snapshot and has it recorded; if nothing has changed, it is one that is recorded.
    async fn taken(
        &self,
        caller: Caller,
        agent: &Agent,
        why: SnapshotCause,
        otherwise: &str,
    ) -> Result<(Recorded, Taken), ProblemResponse> {
        let now = self.driver.look(|view| view.now).await?;
        let directory = PathBuf::from(keeping::place(agent).0);
        let taken = self.snapshots.take((caller, agent.id), directory, now).await?;
        let taken = taken.map_err(|error| failed(otherwise, &error))?;
        let id = agent.id;
        let commit = taken.commit.to_string();
        let (target, what) = (id.to_string(), SnapshotAsked::Taken(why, recorded_files(&taken)));
        self.command(caller, Command::Snapshot(Box::new(SnapshotOrder { target, what }))).await?;
        let newest = self.read(move |journal| recorded(journal, id)).await?;
        let newest = newest.into_iter().find(|one| one.is(&commit));
        Ok((newest.ok_or_else(gone)?, taken))
    }

    /// An agent that a caller may have snapshots taken of, and that is not over.
    async fn living(&self, caller: Caller, target: String) -> Result<Agent, ProblemResponse> {
        let (id, ended) = match self.resolve(target).await? {
            Resolved::InMemory(id) => (id, None),
            Resolved::Ended(ended) => (ended.agent.id, Some(ended)),
        };
        let found = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            let asked = |fleet: &Fleet| {
                in_use(fleet, caller, &id.to_string())
                    .cloned()
                    .map_err(|refusal| problems::refusal(&refusal, fleet))
            };
            match ended {
                Some(ended) => asked(&ended.around(fleet)),
                None => asked(fleet),
            }
        });
        found.await?.map_err(ProblemResponse)
    }

    async fn snapshots_of(
        &self,
        caller: Caller,
        target: String,
    ) -> Result<(Agent, Vec<Recorded>), ProblemResponse> {
        self.authorise(caller, Verb::Snapshot, Some(target.clone())).await?;
        let agent = match self.resolve(target).await? {
            Resolved::Ended(ended) => ended.agent,
            Resolved::InMemory(id) => {
                let found =
                    self.driver.look(move |view| view.supervisor.fleet().agent(id).cloned());
                found.await?.ok_or_else(gone)?
            }
        };
        let id = agent.id;
        let taken = match agent.snapshots {
            0 => Vec::new(),
            _ => self.read(move |journal| recorded(journal, id)).await?,
        };
        Ok((agent, taken))
    }

    async fn one_snapshot(
        &self,
        caller: Caller,
        target: String,
        number: Option<u32>,
    ) -> Result<(Agent, Recorded), ProblemResponse> {
        let (agent, taken) = self.snapshots_of(caller, target).await?;
        let (name, newest) = (shown_name(&agent), agent.snapshots);
        let mut taken = taken.into_iter();
        let found = match number {
            None => {
                taken.find(|one| one.dropped.is_none()).ok_or_else(|| problem::no_snapshots(&name))
            }
            Some(number) => {
                taken.find(|one| one.taken.number == number).ok_or_else(|| match newest {
                    0 => problem::no_snapshots(&name),
                    newest => problem::no_such_snapshot(&name, number, newest),
                })
            }
        };
        let found = found.and_then(|one: Recorded| match one.dropped {
            Some(_) => Err(problem::dropped(&name, one.taken.number)),
            None => Ok(one),
        });
        Ok((agent, found.map_err(ProblemResponse)?))
    }

    /// The agents whose session is in a work tree, or would be.
    async fn agents_in(&self, work_tree: PathBuf) -> Result<Vec<AgentId>, ProblemResponse> {
        let all = self.driver.look(|view| {
            let agents = view.supervisor.fleet().agents();
            agents.map(|agent| (agent.id, keeping::place(agent).0.to_owned())).collect::<Vec<_>>()
        });
        let all = all.await?;
        self.read(move |_| {
            let is_in = |dir: &str| {
                let resolved = std::fs::canonicalize(dir).unwrap_or_else(|_| PathBuf::from(dir));
                resolved.starts_with(&work_tree)
            };
            Ok(all.into_iter().filter(|(_, dir)| is_in(dir)).map(|(id, _)| id).collect())
        })
        .await
    }

    fn shown_snapshot(&self, Recorded { taken, at, dropped }: &Recorded) -> wire::Snapshot {
        let files = &taken.files;
        wire::Snapshot {
            number: taken.number,
            at: rfc3339(*at),
            why: taken.why.word().to_owned(),
            dropped: dropped.map(|why| why.word().to_owned()),
            work_tree: files.work_tree.clone(),
            repository: self.snapshots.repository(&files.store).display().to_string(),
            commit: files.commit.clone(),
            base: files.base.clone(),
            files: files.files,
            bytes: files.bytes,
            nested: files.nested,
            left_out: files.left_out,
            torn: files.torn,
        }
    }
}

fn failed(what: &str, error: &perennial_engine::git::GitError) -> ProblemResponse {
    tracing::info!(error = %crate::error_chain::chain(error), "{what}");
    ProblemResponse(problem::failed(what, error))
}

fn shown_name(agent: &Agent) -> String {
    agent.name.as_ref().map_or_else(|| agent.id.to_string(), ToString::to_string)
}

fn stored(taken: &SnapshotTaken) -> Stored {
    Stored { store: taken.files.store.clone(), commit: taken.files.commit.clone() }
}

fn left_out(left: &[LeftOut]) -> Vec<wire::LeftOutFile> {
    left.iter()
        .map(|one| wire::LeftOutFile { path: one.path.clone(), why: why_word(one) })
        .collect()
}

/// The number under which the journal has this snapshot of an agent.
pub fn recorded_number(
    journal: &dyn Store,
    agent: AgentId,
    commit: &str,
) -> Result<Option<u32>, ReadError> {
    let all = recorded(journal, agent)?;
    Ok(all.into_iter().find(|one| one.is(commit)).map(|one| one.taken.number))
}

/// The snapshots of an agent, the newest first.
fn recorded(journal: &dyn Store, agent: AgentId) -> Result<Vec<Recorded>, ReadError> {
    let (mut found, mut gone) = (Vec::new(), HashMap::new());
    read_back(journal, agent, |event, at| {
        if let SnapshotEvent::Dropped { numbers, why } = event {
            gone.extend(numbers.iter().map(|number| (*number, *why)));
        }
        let SnapshotEvent::Taken(taken) = event else { return ControlFlow::Continue(()) };
        // Read backwards: whatever dropped it has been seen.
        let dropped = gone.get(&taken.number).copied();
        found.push(Recorded { taken: taken.clone(), at, dropped });
        // SH1: nothing is before the first.
        if taken.number == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

fn last_restore(journal: &dyn Store, agent: AgentId) -> Result<Option<RestoreEnded>, ReadError> {
    let mut found = None;
    read_back(journal, agent, |event, _| {
        let SnapshotEvent::RestoreEnded(ended) = event else { return ControlFlow::Continue(()) };
        found = Some(ended.clone());
        ControlFlow::Break(())
    })?;
    Ok(found)
}

/// Shows what happened to an agent's snapshots, the newest first, until enough was seen.
fn read_back(
    journal: &dyn Store,
    agent: AgentId,
    mut see: impl FnMut(&SnapshotEvent, Time) -> ControlFlow<()>,
) -> Result<(), ReadError> {
    let mut before = Version::END;
    loop {
        let page = journal.read_stream_back(&Entity::Agent(agent), before, PAGE)?;
        let Some(first) = page.last() else { return Ok(()) };
        before = first.version;
        for record in &page {
            let Ok(event) = record.event.as_ref() else { continue };
            if let Some((_, AgentEvent::Snapshot(event))) = event.of_agent()
                && see(event, record.at).is_break()
            {
                return Ok(());
            }
        }
    }
}

//! The executor of `Effect::Keep` and `Effect::Checkpoint`: has a snapshot taken, composes the checkpoint that goes with
//! it or stands alone, and tells what came of them.
//!
//! Decides nothing: when they are wanted, what waits for them and for how long is the core's word.

use std::path::PathBuf;

use perennial_core::agent::Agent;
use perennial_core::checkpoint::{self, CheckpointDraft, Material};
use perennial_core::effect::{CheckpointEffect, KeepEffect};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::keeping::{self, KEEP_WITHIN, KeepOutcome, MissCause};
use perennial_core::observation::Observation;
use perennial_core::snapshot::SnapshotCause;
use perennial_core::time::Time;
use perennial_core::work::GitFindings;
use perennial_engine::git::GitError;
use perennial_engine::git::snapshot::{SnapshotStore, Taken, against_head};
use perennial_store::checkpoint as stored;

use super::driver::{Driver, Incoming};
use crate::daemon::hearing::past_session::PastSession;
use crate::daemon::hearing::reader::FoundWork;
use crate::daemon::snapshot_keeper::recorded_files;
use crate::error_chain::chain;

/// What an order to keep work came to.
#[derive(Debug)]
pub struct KeptWork {
    agent: AgentId,
    wish: u32,
    why: SnapshotCause,
    outcome: KeepOutcome,
    git: Option<GitFindings>,
    /// What the steps show of a session that the reader has not read.
    read: Option<FoundWork>,
}

/// What the steps show of the session that a checkpoint is to tell of.
#[derive(Debug)]
pub struct ReadSteps {
    effect: CheckpointEffect,
    read: Option<FoundWork>,
}

impl Driver {
    pub fn keep_work(&mut self, effect: KeepEffect) {
        let (now, driver) = (self.now(), self.driver.clone());
        let KeepEffect { agent, wish, why, dir, until } = effect;
        let steps = self.unread_steps(agent, None);
        let tell = move |taken: Result<Taken, GitError>| {
            let (outcome, git) = match taken {
                Ok(taken) => {
                    let store = SnapshotStore::at(taken.store.clone());
                    // Packs may be folded meanwhile; the second time they are found in their new place.
                    let git = || against_head(&store, taken.commit);
                    let git = git().or_else(|_| git()).ok();
                    (KeepOutcome::Taken(Box::new(recorded_files(&taken))), git)
                }
                Err(error) => (missed(&error), None),
            };
            tracing::debug!(%agent, wish, ?outcome, "snapshot");
            let kept = KeptWork { agent, wish, why, outcome, git, read: steps() };
            // A driver that is gone needs no answer.
            let _ = driver.send(Incoming::WorkKept(Box::new(kept)));
        };
        // Without its thread the wish is missed when its time comes.
        let times = (KEEP_WITHIN, until.since(now));
        let _ = self.world.snapshots.keep(agent, PathBuf::from(dir), now, times, tell);
    }

    /// A snapshot was taken or missed: the checkpoint is composed now, and told with it.
    pub fn work_kept(&mut self, kept: KeptWork) {
        let KeptWork { agent, wish, why, outcome, git, read } = kept;
        let now = self.now();
        let known = self.supervisor.fleet().agent(agent);
        let known = known.filter(|known| checkpoint::cause(known, why).is_some());
        let checkpoint = known.and_then(|known| {
            let snapshot = match &outcome {
                KeepOutcome::Taken(files) => Some(keeping::number(known, files)),
                KeepOutcome::Missed(..) => None,
            };
            let session = checkpoint::session(known);
            let material = Material { git, snapshot, ..Material::default() };
            self.composed(known, (session, now), material, read)
        });
        self.observe(Observation::Kept { agent, wish, why, outcome, checkpoint });
    }

    /// The executor of `Effect::Checkpoint`.
    pub fn take_checkpoint(&mut self, effect: CheckpointEffect) {
        let driver = self.driver.clone();
        let agent = effect.agent;
        let steps = self.unread_steps(agent, Some(effect.session));
        let tell = move || {
            let read = ReadSteps { effect, read: steps() };
            let _ = driver.send(Incoming::StepsRead(Box::new(read)));
        };
        // A thread that is gone is the end of the daemon: the next one does it.
        let _ = self.world.snapshots.aside(agent, tell);
    }

    pub fn steps_read(&mut self, read: ReadSteps) {
        let ReadSteps { effect: CheckpointEffect { agent, after, session, why }, read } = read;
        let now = self.now();
        // CK2: another one came in between.
        let is_next = |known: &&Agent| checkpoint::number(known) == after;
        let known = self.supervisor.fleet().agent(agent).filter(is_next);
        let composed = |known| self.composed(known, (session, now), Material::default(), read);
        if let Some(draft) = known.and_then(composed) {
            self.observe(Observation::Composed { agent, why, draft });
        }
    }

    /// Reads the steps of a session, the last one that ran if none is named, where the reader has not.
    fn unread_steps(
        &self,
        agent: AgentId,
        session: Option<SessionNumber>,
    ) -> impl FnOnce() -> Option<FoundWork> + Send + 'static {
        let fleet = self.supervisor.fleet();
        let past = fleet.agent(agent).and_then(|known| {
            let session = session.unwrap_or_else(|| checkpoint::session(known));
            PastSession::unread(&self.world.reader, fleet, known, session)
        });
        let (journal, harnesses) = (self.world.journal.clone(), self.world.harnesses.clone());
        move || past.and_then(|past| past.read(&*journal, &harnesses))
    }

    /// A checkpoint of an agent as it is recorded for good.
    fn composed(
        &self,
        known: &Agent,
        (session, now): (SessionNumber, Time),
        material: Material,
        read: Option<FoundWork>,
    ) -> Option<Box<CheckpointDraft>> {
        let fleet = self.supervisor.fleet();
        let digest = known.checkpoint.as_ref().map(|head| head.text.digest);
        // Words that can't be read are lost to the next checkpoint, and stay in theirs.
        let last = |digest| stored::content(&*self.world.journal, digest).ok().flatten();
        let last = digest.and_then(last).map(Box::new);
        let of_session = |found: &FoundWork| found.number == session;
        let found = self.world.reader.found(known.id).filter(of_session);
        let found = found.or(read.filter(of_session));
        let (found, position) = found.map(|it| (it.findings, it.position)).unwrap_or_default();
        let material = Material { session: Some(session), last, found, position, ..material };
        let content = checkpoint::compose(known, fleet, material, now);
        let (after, body) = (checkpoint::number(known), stored::body(&content));
        Some(Box::new(CheckpointDraft { after, content, body, files: None }))
    }
}

fn missed(error: &GitError) -> KeepOutcome {
    let cause = match error {
        GitError::NotARepository(_) => MissCause::NoWorkTree,
        GitError::Interrupted => MissCause::TookTooLong,
        GitError::Unsupported(_) => MissCause::Unsupported,
        GitError::Damaged { .. }
        | GitError::Io { .. }
        | GitError::Missing(_)
        | GitError::TooManyFiles(_)
        | GitError::TooManyPatterns(_)
        | GitError::TooManyBytes(_)
        | GitError::Locked(_)
        | GitError::InTheWay(_)
        | GitError::NotEmpty(_)
        | GitError::NotElsewhere(_)
        | GitError::NotADirectory(_)
        | GitError::Gone(_)
        | GitError::Replaced(_)
        | GitError::AnotherRepository(_)
        | GitError::NoIndex(_) => MissCause::Failed,
    };
    let told = match cause {
        MissCause::Unsupported | MissCause::Failed => chain(error),
        MissCause::NoWorkTree | MissCause::TookTooLong | MissCause::HomeCopied => String::new(),
    };
    KeepOutcome::Missed(cause, told)
}

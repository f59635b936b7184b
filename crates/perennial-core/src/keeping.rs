//! Keeping work: that a snapshot of an agent's work tree is wanted, and what waits for it.
//!
//! Pure. Whoever has a reason asks here; the wish is an event, the order follows from the state, and the report ends
//! the wish. Nothing here takes a snapshot or knows what is in one.
//!
//! Invariants
//! - KE1  At most one wish stands. It ends: by a snapshot, by word that nothing has changed, by a miss, or by a wish
//!   that holds something back where it did not. In one run of the daemon it stands for `KEEP_WAITS` at most after a crash,
//!   for `KEEP_WAITS_IN_LINE` otherwise, whatever becomes of the agent.
//! - KE2  While a wish of a planned end, a crash or a reboot stands, the session that is to end is not ended, and the
//!   next one is not started.
//! - KE3  The wishes of an agent are numbered from 1. A number is a fence: a report about another wish ends nothing.
//! - KE4  The end of a bare command's session is never followed by a wish: its next one starts at once.
//! - KE5  A directory that is in no git work tree, as far as is known, is never a reason to wait. What is known of a
//!   directory is said of no other one: it stays with a session that runs there, and is not the next one's elsewhere.
//! - KE6  What can't be read may have been the end of a wish: nothing waits for one of a damaged agent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::authority::Caller;
use crate::effect::{Effect, KeepEffect, Plan, SnapshotEffect, Timer};
use crate::event::AgentEvent;
use crate::launch::Launch;
use crate::reason::{Evidence, Finding, Verb, Witness};
use crate::session::Phase;
use crate::snapshot::{
    self, KeptSnapshots, Restoring, SnapshotCause, SnapshotEvent, SnapshotFiles, SnapshotMissed,
    SnapshotTaken, SnapshotWanted,
};
use crate::time::Time;

/// How long a snapshot may take that is wanted here, from when it is begun: a little less than sessions wait for it, because its
/// checkpoint takes some time, too.
pub const KEEP_WITHIN: Duration = Duration::from_millis(1700);

/// The next session after a crash waits for a snapshot no longer than this in all, the time until its turn comes among it.
pub const KEEP_WAITS: Duration = Duration::from_secs(2);

/// The same where the snapshots of many sessions may be wanted at once: of those that are stopped together, and after the machine
/// restarted. Each has `KEEP_WITHIN` from when its turn comes. And for what no session waits for.
pub const KEEP_WAITS_IN_LINE: Duration = Duration::from_secs(10);

/// A snapshot that a person asked for is given up after this: others wait behind it.
pub const ASKED_WITHIN: Duration = Duration::from_secs(60);

/// How long a snapshot may take that this caller asked for. What an agent asks for is of its own tree, which it may have made to
/// take long.
pub fn asked_within(caller: Caller) -> Duration {
    match caller {
        Caller::Person => ASKED_WITHIN,
        Caller::Agent(_) | Caller::Job | Caller::Viewer | Caller::Ambiguous => KEEP_WAITS_IN_LINE,
    }
}

/// As much of why a snapshot was missed is recorded, in characters.
pub const MOST_TOLD: usize = 300;

/// A wish that stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    pub wish: u32,
    pub why: SnapshotCause,
    /// A directory in the work tree.
    pub dir: String,
    /// When it is missed.
    pub until: Time,
}

/// What is remembered of an agent's snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SnapshotRecord {
    /// The number of the last wish.
    pub wishes: u32,
    /// Those that there still are.
    pub kept: KeptSnapshots,
    /// The number of the last restore.
    pub restores: u32,
    pub restoring: Option<Box<Restoring>>,
    /// The newest snapshot's store and commit.
    pub newest: Option<Box<(String, String)>>,
    /// The owner's commit that the newest snapshot builds on: its work tree was at that one.
    pub base: Option<String>,
    /// The last wish came to nothing, so that the newest snapshot may be older than the work.
    pub is_behind: bool,
    /// Whether its directory is in a git work tree, if that was found out since its launch.
    pub has_work_tree: Option<bool>,
    /// Where its live session runs, if the agent was given another place since.
    pub session_place: Option<Box<SessionPlace>>,
}

impl SnapshotRecord {
    /// Whether nothing is to be done for the agent's snapshots.
    pub fn is_at_rest(&self) -> bool {
        self.restoring.is_none() && self.kept.to_remove().is_empty()
    }
}

/// The place of a session that is not the agent's any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlace {
    pub dir: String,
    pub project: String,
    /// Whether that directory is in a git work tree, if it was found out.
    pub has_work_tree: Option<bool>,
}

/// How an order to take a snapshot went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepOutcome {
    /// It is durable. If nothing has changed, it is the newest one again.
    Taken(Box<SnapshotFiles>),
    Missed(MissCause, String),
}

/// Why there is no snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissCause {
    TookTooLong,
    /// The directory is in no git work tree.
    NoWorkTree,
    /// A repository that we decline to read.
    Unsupported,
    /// A file could not be read or written.
    Failed,
    /// The home was copied: the work tree is the original's.
    HomeCopied,
}

impl MissCause {
    pub fn word(self) -> &'static str {
        match self {
            MissCause::TookTooLong => "took-too-long",
            MissCause::NoWorkTree => "no-work-tree",
            MissCause::Unsupported => "unsupported",
            MissCause::Failed => "failed",
            MissCause::HomeCopied => "home-copied",
        }
    }
}

impl SnapshotCause {
    /// Whether sessions wait for a snapshot that is wanted for this.
    pub fn holds_back(self) -> bool {
        match self {
            SnapshotCause::PlannedEnd | SnapshotCause::Crash | SnapshotCause::Reboot => true,
            SnapshotCause::Asked
            | SnapshotCause::BeforeRestore
            | SnapshotCause::PhaseChange
            | SnapshotCause::Commit
            | SnapshotCause::Checkpoint => false,
        }
    }

    /// How long a wish stands.
    fn waits(self) -> Duration {
        match self {
            SnapshotCause::Crash => KEEP_WAITS,
            SnapshotCause::PlannedEnd
            | SnapshotCause::Reboot
            | SnapshotCause::Asked
            | SnapshotCause::BeforeRestore
            | SnapshotCause::PhaseChange
            | SnapshotCause::Commit
            | SnapshotCause::Checkpoint => KEEP_WAITS_IN_LINE,
        }
    }
}

/// A snapshot of the agent's work tree is wanted. Nothing where one is not to be had, or is wanted already by what
/// holds back as much.
pub fn want(agent: &Agent, why: SnapshotCause, now: Time) -> Option<AgentEvent> {
    let (dir, project) = place(agent);
    // A commit is a sign of a work tree.
    let may_have_one = why == SnapshotCause::Commit || has_work_tree(agent, (dir, project));
    let is_served =
        agent.keeping.as_ref().is_some_and(|one| one.why.holds_back() || !why.holds_back());
    let is_crash = matches!(why, SnapshotCause::Crash | SnapshotCause::Reboot);
    // KE4, KE6
    let is_left_alone = (is_crash && agent.launch.is_bare()) || agent.is_damaged();
    (may_have_one && !is_served && !is_left_alone).then(|| {
        let (wish, dir) = (agent.snapshot_record.wishes + 1, dir.to_owned());
        of(SnapshotEvent::Wanted(SnapshotWanted { wish, why, dir, until: now + why.waits() }))
    })
}

/// Where the session is that lives, or the next one will be: directory and project.
pub fn place(agent: &Agent) -> (&str, &str) {
    let Launch { dir, project, .. } = &agent.launch;
    let moved = agent.snapshot_record.session_place.as_ref();
    moved.map_or((dir, project), |place| (&place.dir, &place.project))
}

/// KE5: found out, or as its launch has it, whose project is the git directory where there is one.
fn has_work_tree(agent: &Agent, (dir, project): (&str, &str)) -> bool {
    let SnapshotRecord { has_work_tree, session_place, .. } = &agent.snapshot_record;
    let known = session_place.as_ref().map_or(*has_work_tree, |place| place.has_work_tree);
    known.unwrap_or(dir != project)
}

/// KE5: folds that its next session will be in this place. If a session runs there, what is known of it counts.
pub fn placed(agent: &mut Agent, dir: &str, project: &str) {
    let stays = |place: &&SessionPlace| place.dir == dir && place.project == project;
    let place = agent.snapshot_record.session_place.as_deref().filter(stays);
    agent.snapshot_record.has_work_tree = place.and_then(|place| place.has_work_tree);
}

/// KE5: folds whether a directory is in a git work tree, for the places of the agent that are there.
fn found_out(agent: &mut Agent, has_work_tree: bool, is_there: impl Fn(&str) -> bool) {
    let record = &mut agent.snapshot_record;
    if let Some(place) = record.session_place.as_mut().filter(|place| is_there(&place.dir)) {
        place.has_work_tree = Some(has_work_tree);
    }
    if is_there(&agent.launch.dir) {
        record.has_work_tree = Some(has_work_tree);
    }
}

/// Whether snapshots of its work are to be had, as far as is known (KE5).
pub fn has_work_to_keep(agent: &Agent) -> bool {
    has_work_tree(agent, place(agent))
}

/// The newest snapshot's number and the commit that its work tree was at, unless a later one was missed.
pub fn newest(agent: &Agent) -> (Option<u32>, Option<String>) {
    let SnapshotRecord { base, is_behind, .. } = &agent.snapshot_record;
    let number = Some(agent.snapshots).filter(|number| *number > 0 && !is_behind);
    (number, base.clone().filter(|_| number.is_some()))
}

/// Whether sessions of it wait for a snapshot now (KE2, KE6).
pub fn holds_back(agent: &Agent) -> bool {
    !agent.is_damaged() && agent.keeping.as_ref().is_some_and(|one| one.why.holds_back())
}

/// A daemon has begun to run: a wish that stood is carried out by this one, in its own time.
pub fn renewed(agent: &Agent, now: Time) -> Option<AgentEvent> {
    let Keeping { wish, why, dir, .. } = agent.keeping.clone().filter(|_| !agent.is_damaged())?;
    let until = now + why.waits();
    Some(of(SnapshotEvent::Wanted(SnapshotWanted { wish, why, dir, until })))
}

/// A wish whose time has come is missed.
pub fn due(agent: &Agent, now: Time) -> Option<AgentEvent> {
    let late = agent.keeping.as_ref().filter(|one| one.until <= now)?;
    Some(missed(late, MissCause::TookTooLong, ""))
}

/// The wish that stands, if one does, comes to nothing.
pub fn given_up(agent: &Agent, why: MissCause) -> Option<AgentEvent> {
    agent.keeping.as_ref().map(|one| missed(one, why, ""))
}

/// What an order to take a snapshot came to. A snapshot is recorded also if nobody waits for it any more.
pub fn observe(
    agent: &Agent,
    (wish, why): (u32, SnapshotCause),
    outcome: &KeepOutcome,
    now: Time,
) -> Option<AgentEvent> {
    let standing = agent.keeping.as_ref().filter(|one| one.wish == wish);
    match outcome {
        KeepOutcome::Missed(cause, told) => standing.map(|one| missed(one, *cause, told)),
        KeepOutcome::Taken(files) if is_newest(agent, files) => standing.map(|one| {
            of(SnapshotEvent::Unchanged { wish: one.wish, why, number: agent.snapshots })
        }),
        KeepOutcome::Taken(files) => {
            let (number, files, wish) = (agent.snapshots + 1, (**files).clone(), Some(wish));
            let fact = Finding::Asked(Verb::Snapshot);
            let evidence = Evidence { witness: Witness::Daemon, fact, at: now };
            let taken = SnapshotTaken { number, why, wish, files, evidence };
            Some(of(SnapshotEvent::Taken(taken)))
        }
    }
}

/// The number that a snapshot has, or will have: that of the newest one, if nothing has changed since.
pub fn number(agent: &Agent, files: &SnapshotFiles) -> u32 {
    if is_newest(agent, files) { agent.snapshots } else { agent.snapshots + 1 }
}

pub fn is_newest(agent: &Agent, files: &SnapshotFiles) -> bool {
    let newest = agent.snapshot_record.newest.as_deref();
    newest.is_some_and(|(store, commit)| *store == files.store && *commit == files.commit)
}

fn missed(one: &Keeping, cause: MissCause, told: &str) -> AgentEvent {
    let told = told.chars().take(MOST_TOLD).collect();
    let (wish, why) = (one.wish, one.why);
    of(SnapshotEvent::Missed(SnapshotMissed { wish, why, cause, told }))
}

fn of(event: SnapshotEvent) -> AgentEvent {
    AgentEvent::Snapshot(Box::new(event))
}

/// Adds what is to be done for a wish, and when it is missed.
pub fn plan(agent: &Agent, plan: &mut Plan) {
    look(agent, plan);
    let Some(Keeping { wish, why, dir, until }) = &agent.keeping else { return };
    plan.timers.push((Timer::Keep, *until));
    if !agent.is_damaged() {
        let (agent, dir) = (agent.id, dir.clone());
        let keep = KeepEffect { agent, wish: *wish, why: *why, dir, until: *until };
        plan.effects.push(Effect::Keep(keep));
    }
}

/// The work tree of an agent CLI is read when its session begins: what a crash leaves is kept in time then, in a large
/// tree as well.
fn look(agent: &Agent, plan: &mut Plan) {
    let running = agent.session.as_ref().filter(|session| session.phase == Phase::Running);
    let Some(session) = running.filter(|_| !agent.launch.is_bare()) else { return };
    let (dir, project) = place(agent);
    if has_work_tree(agent, (dir, project)) {
        let (agent, number, dir) = (agent.id, session.number, dir.to_owned());
        plan.effects.push(Effect::Snapshot(SnapshotEffect::Look { agent, number, dir }));
    }
}

/// Folds a wish.
pub fn wanted(agent: &mut Agent, event: &SnapshotWanted) {
    let SnapshotWanted { wish, why, dir, until } = event;
    agent.snapshot_record.wishes = agent.snapshot_record.wishes.max(*wish);
    agent.keeping = Some(Keeping { wish: *wish, why: *why, dir: dir.clone(), until: *until });
}

/// Folds the end of a wish.
pub fn ended(agent: &mut Agent, wish: u32) {
    agent.keeping = agent.keeping.take().filter(|one| one.wish != wish);
}

/// Folds that nothing has changed since the newest snapshot.
pub fn was_unchanged(agent: &mut Agent, wish: u32) {
    agent.snapshot_record.is_behind = false;
    ended(agent, wish);
}

/// Folds a miss.
pub fn was_missed(agent: &mut Agent, event: &SnapshotMissed) {
    agent.snapshot_record.is_behind = true;
    let standing = agent.keeping.clone().filter(|one| one.wish == event.wish);
    if let Some(one) = standing.filter(|_| event.cause == MissCause::NoWorkTree) {
        found_out(agent, false, |dir| dir == one.dir);
    }
    ended(agent, event.wish);
}

/// Folds a snapshot.
pub fn was_taken(agent: &mut Agent, taken: &SnapshotTaken) {
    agent.snapshots = taken.number;
    let SnapshotFiles { store, commit, base, work_tree, .. } = &taken.files;
    agent.snapshot_record.newest = Some(Box::new((store.clone(), commit.clone())));
    agent.snapshot_record.base.clone_from(base);
    agent.snapshot_record.is_behind = false;
    let standing = agent.keeping.as_ref().filter(|one| Some(one.wish) == taken.wish);
    // Who asks for one gets it of the place of the session; a late one tells of its work tree only.
    let asked = || taken.wish.is_none().then(|| place(agent).0.to_owned());
    let dir = standing.map(|one| one.dir.clone()).or_else(asked);
    found_out(agent, true, |it| dir.as_deref() == Some(it) || snapshot::is_in(it, work_tree));
    taken.wish.iter().for_each(|wish| ended(agent, *wish));
}

//! What is derived from the journal for readers: roster rows, latest values, snapshots, the mirror.
//! Also which ended entities leave memory, once the store has their last state.
//!
//! Nothing here is read back to decide anything. A latest value replaces the previous one as a whole,
//! so each one is complete: what was heard and what was measured.
//!
//! Invariants
//! - SF1  An agent leaves memory only when its last snapshot and roster row are durable: it is in
//!   memory or in the store at every moment.
//! - SF2  If a set of snapshots was dropped, the next one includes what it had.

use perennial_store::Store;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use perennial_api::Home;
use perennial_core::agent::Agent;
use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_core::id::AgentId;
use perennial_core::time::Time;
use perennial_engine::mirror::{Measured, Mirror, laid_out_up_to};
use perennial_engine::supervisor::Supervisor;
use perennial_store::Loaded;
use perennial_store::journal::{Seq, Version};
use perennial_store::load::snapshots;
use perennial_store::projection::RosterRow;

use crate::daemon::driving::driver::{Driver, Incoming};
use crate::daemon::driving::mirrored;
use crate::daemon::driving::presence::Presence;
use crate::daemon::hearing::spending::{self, Spending};
use crate::daemon::memory;

/// With so much that leaves memory at once, agents or messages, it is worth giving it back.
const MANY: usize = 1000;
/// After this many events, changed entities are stored as snapshots, so that the next start need not
/// fold them.
const SNAPSHOT_EVERY: u64 = 1000;

#[derive(Debug)]
pub struct Projections {
    pub mirror: Mirror,
    /// The record up to which the last daemon had laid out everything in the mirror, if it said so.
    pub laid_out_before: Option<Seq>,
    /// What the next set of snapshots must have.
    changed: BTreeSet<Entity>,
    /// Events since the last set.
    since_snapshots: u64,
    /// The set that was given to the journal and has not been answered.
    under_way: Option<UnderWay>,
}

/// A set of snapshots on its way.
#[derive(Debug)]
struct UnderWay {
    changed: BTreeSet<Entity>,
    /// The ended entities in it, in their last state.
    over: Vec<(Entity, Version)>,
}

impl Projections {
    pub fn start(
        home: &Home,
        loaded: &Loaded,
        journal: &Arc<dyn Store>,
    ) -> io::Result<Projections> {
        let laid_out_before = laid_out_up_to(&home.mirror()).map(Seq);
        let mirror = Mirror::start(&home.mirror(), mirrored::earlier(journal))?;
        for agent in loaded.fleet.agents() {
            mirror.list(agent, Measured::default());
        }
        let tasks = loaded.fleet.tasks();
        let copies = tasks.iter().filter_map(|task| tasks.copy(task.id));
        copies.for_each(|task| mirror.task(task));
        let (changed, since_snapshots) = (loaded.changed.clone(), loaded.folded);
        Ok(Projections { mirror, laid_out_before, changed, since_snapshots, under_way: None })
    }

    /// At the daemon's orderly end.
    pub fn close(
        &mut self,
        supervisor: &Supervisor,
        presence: &Presence,
        spending: &Spending,
        journal: &dyn Store,
        now: Time,
    ) {
        let fleet = supervisor.fleet();
        // Of the dead the last was put when it was measured.
        let living = |(agent, _): &(AgentId, Time)| !fleet.is_over(&Entity::Agent(*agent));
        let times = presence.times(now).into_iter().filter(living);
        let sample = |(agent, at)| spending::sample(supervisor, spending, agent, Some(at));
        journal.put_latest(times.map(sample).collect());
        if supervisor.is_settled() {
            // One under way may be dropped: what it has is put again.
            self.changed.extend(self.under_way.take().into_iter().flat_map(|set| set.changed));
            let set = snapshots(supervisor.fleet(), supervisor.versions(), &self.changed);
            journal.put_snapshots(set, Box::new(|_is_kept| ()));
        }
        self.mirror.flush();
    }
}

impl Driver {
    /// After a commit of these events, which touched these agents.
    pub fn lay_out(&mut self, events: &[Event], touched: &[AgentId], now: Time) {
        let Driver { supervisor, world, .. } = &*self;
        let agents = || touched.iter().filter_map(|id| supervisor.fleet().agent(*id));
        world.journal.put_roster(agents().map(|agent| row(agent, &*world.journal)).collect());
        self.mirror(events, touched, now);
        let Driver { supervisor, world, .. } = self;
        let projections = &mut world.projections;
        projections.changed.extend(events.iter().map(Event::entity).filter(Entity::is_counted));
        // One that is over may have been kept by what these events ended.
        let entities = touched.iter().map(|id| Entity::Agent(*id));
        projections.changed.extend(entities.filter(|it| supervisor.fleet().is_over(it)));
        projections.since_snapshots += events.len() as u64;
        let is_due =
            projections.since_snapshots >= SNAPSHOT_EVERY && projections.under_way.is_none();
        if is_due && supervisor.is_settled() {
            self.put_snapshots();
        }
    }

    fn put_snapshots(&mut self) {
        let Driver { supervisor, world, driver, .. } = self;
        let (fleet, versions) = (supervisor.fleet(), supervisor.versions());
        let changed = std::mem::take(&mut world.projections.changed);
        let version = |entity: &Entity| versions.get(entity).copied().unwrap_or_default();
        let over: Vec<(Entity, Version)> = changed
            .iter()
            .filter(|entity| fleet.is_over(entity))
            .map(|entity| (entity.clone(), version(entity)))
            .collect();
        let driver = driver.clone();
        let kept = move |is_kept| {
            // A driver that is gone needs no answer.
            let _ = driver.send(Incoming::Kept(is_kept));
        };
        world.journal.put_snapshots(snapshots(fleet, versions, &changed), Box::new(kept));
        world.projections.since_snapshots = 0;
        world.projections.under_way = Some(UnderWay { changed, over });
    }

    /// The last set is durable, or was dropped; ended entities of a durable set leave memory.
    pub fn kept(&mut self, is_kept: bool) {
        let Driver { supervisor, presence, spending, world, .. } = self;
        let Some(UnderWay { changed, over }) = world.projections.under_way.take() else { return };
        if !is_kept {
            tracing::warn!("a set of snapshots was not kept; the next one makes up for it");
            world.projections.changed.extend(changed);
            return;
        }
        let retired = supervisor.retire(&over);
        world.projections.changed.extend(retired.next);
        world.registry.forget(&retired.agents);
        let is_much = over.len() >= MANY;
        for agent in retired.agents {
            presence.forget(agent);
            spending.forget(agent);
            world.reader.forget(agent);
            world.terminals.forget(agent);
            world.commits.forget(agent);
        }
        if is_much {
            memory::give_back();
        }
    }
}

fn row(agent: &Agent, journal: &dyn Store) -> RosterRow {
    RosterRow {
        agent: agent.id,
        name: agent.name.as_ref().map(ToString::to_string),
        named_at: agent.named_at,
        role: agent.role.clone(),
        parent: agent.parent,
        project: agent.launch.project.clone(),
        state: agent.state,
        reason: agent.reason,
        since: agent.since,
        session: agent.session.as_ref().map(|session| session.number),
        updated_seq: journal.head().0,
    }
}

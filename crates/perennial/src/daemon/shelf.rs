//! What is derived from the journal and laid out for others: roster rows, samples, snapshots, the
//! readable mirror.
//!
//! Nothing here is ever read back to decide. A sample replaces the one before it whole, so that each
//! has everything: what was heard, and what was measured.

use perennial_core::agent::Agent;
use perennial_core::id::AgentId;
use perennial_core::time::Time;
use perennial_engine::mirror::Mirror;
use perennial_engine::supervisor::Supervisor;
use perennial_store::journal::Journal;
use perennial_store::projection::RosterRow;

use super::presence::Presence;
use super::spending::{self, Spending};
use super::view;

/// After so many events the fleet's state is kept, so that the next start need not fold them.
const SNAPSHOT_EVERY: usize = 1000;

#[derive(Debug)]
pub struct Shelf {
    mirror: Mirror,
    since_snapshot: usize,
}

impl Shelf {
    pub fn new(mirror: Mirror) -> Shelf {
        Shelf { mirror, since_snapshot: 0 }
    }

    /// After a commit of `events` events that touched these agents.
    pub fn put(
        &mut self,
        supervisor: &Supervisor,
        presence: &Presence,
        journal: &dyn Journal,
        events: usize,
        touched: &[AgentId],
        now: Time,
    ) {
        let agents = || touched.iter().filter_map(|id| supervisor.fleet().agent(*id));
        journal.put_roster(agents().map(|agent| row(agent, journal)).collect());
        for agent in agents() {
            self.mirror.put(agent, view::last_seen(agent, presence, now));
        }
        self.since_snapshot += events;
        if self.since_snapshot >= SNAPSHOT_EVERY && supervisor.is_settled() {
            self.snapshot(supervisor, journal);
        }
    }

    /// At the daemon's orderly end.
    pub fn close(
        &mut self,
        supervisor: &Supervisor,
        presence: &Presence,
        spending: &Spending,
        journal: &dyn Journal,
        now: Time,
    ) {
        let times = presence.times(now).into_iter();
        let sample = |(agent, at)| spending::sample(supervisor, spending, agent, Some(at));
        journal.put_samples(times.map(sample).collect());
        if supervisor.is_settled() {
            self.snapshot(supervisor, journal);
        }
        self.mirror.flush();
    }

    fn snapshot(&mut self, supervisor: &Supervisor, journal: &dyn Journal) {
        self.since_snapshot = 0;
        journal.put_snapshots(perennial_store::load::snapshots(
            supervisor.fleet(),
            supervisor.versions(),
        ));
    }
}

fn row(agent: &Agent, journal: &dyn Journal) -> RosterRow {
    RosterRow {
        agent: agent.id,
        name: agent.name.as_ref().map(ToString::to_string),
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

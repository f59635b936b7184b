//! The simulated journal: appends queue, go to disk in groups, and are there whole or not at all.
//!
//! Keeps the journal's contract, no more; faults come from outside.
//!
//! Invariants
//! - J1  An append is committed whole, in the order of submission, or never.
//! - J2  After one append of a daemon failed, none that it submitted before it heard of that is
//!   committed: later ones may rest on the failed one, across streams.

use std::collections::{BTreeMap, VecDeque};

use perennial_core::event::{Event, Stream};
use perennial_engine::supervisor::Ticket;
use perennial_store::{Batch, Version};

use crate::daemon::Life;
use crate::mutation::Mutation;

/// One append of one run of the daemon.
#[derive(Debug, Clone)]
pub struct Append {
    pub life: Life,
    pub ticket: Ticket,
    pub batch: Batch,
}

/// Why an append was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    #[error("no space left")]
    Full,
    #[error("I/O error")]
    Io,
    #[error("another daemon wrote this stream")]
    Conflict,
    #[error("an append before this one failed")]
    AfterFailed,
}

/// What became of one append.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub life: Life,
    pub ticket: Ticket,
    pub taken: Result<(), NotTaken>,
}

#[derive(Debug, Default)]
pub struct Journal {
    committed: Vec<Append>,
    versions: BTreeMap<Stream, Version>,
    queue: VecDeque<Append>,
    under_way: Vec<Append>,
    /// Failures that a daemon has not heard of yet, by its life.
    unheard: BTreeMap<Life, usize>,
    pub full: bool,
    /// Breaks J2, for the test that shows why it is needed.
    unchained: bool,
    /// Takes every version, for the test that this is seen.
    versions_ignored: bool,
}

impl Journal {
    pub fn new(mutation: Option<Mutation>) -> Journal {
        Journal {
            unchained: mutation == Some(Mutation::UnchainedAppends),
            versions_ignored: mutation == Some(Mutation::VersionsIgnored),
            ..Journal::default()
        }
    }

    pub fn submit(&mut self, append: Append) {
        self.queue.push_back(append);
    }

    /// Whether a group can go to disk now.
    pub fn may_begin(&self) -> bool {
        self.under_way.is_empty() && !self.queue.is_empty()
    }

    /// Begins to write a group of at most `limit` appends of one daemon.
    pub fn begin(&mut self, limit: usize) {
        let life = self.queue.front().map(|append| append.life);
        while self.under_way.len() < limit
            && let Some(append) = self.queue.pop_front_if(|append| Some(append.life) == life)
        {
            self.under_way.push(append);
        }
    }

    /// The group under way is done; `io` says whether the disk did its part.
    pub fn finish(&mut self, io: bool) -> Vec<Outcome> {
        let group = std::mem::take(&mut self.under_way);
        let mut outcomes = Vec::new();
        for append in group {
            let taken = match (io, self.full) {
                (false, _) => Err(NotTaken::Io),
                (true, true) => Err(NotTaken::Full),
                (true, false) if self.is_chained_to_a_failed_one(append.life) => {
                    Err(NotTaken::AfterFailed)
                }
                (true, false) => self.take(&append),
            };
            if taken.is_err() {
                *self.unheard.entry(append.life).or_default() += 1;
            }
            outcomes.push(Outcome { life: append.life, ticket: append.ticket, taken });
        }
        outcomes.extend(self.refuse_chained());
        outcomes
    }

    fn is_chained_to_a_failed_one(&self, life: Life) -> bool {
        !self.unchained && self.unheard.get(&life).is_some_and(|count| *count > 0)
    }

    /// What queued behind a failed append fails with it.
    fn refuse_chained(&mut self) -> Vec<Outcome> {
        let mut refused = Vec::new();
        let queue = std::mem::take(&mut self.queue);
        for append in queue {
            if self.is_chained_to_a_failed_one(append.life) {
                *self.unheard.entry(append.life).or_default() += 1;
                let taken = Err(NotTaken::AfterFailed);
                refused.push(Outcome { life: append.life, ticket: append.ticket, taken });
            } else {
                self.queue.push_back(append);
            }
        }
        refused
    }

    /// A daemon has heard of one of its failures.
    pub fn heard_of_failure(&mut self, life: Life) {
        if let Some(count) = self.unheard.get_mut(&life) {
            *count = count.saturating_sub(1);
        }
    }

    fn take(&mut self, append: &Append) -> Result<(), NotTaken> {
        let mut versions = self.versions.clone();
        for entry in &append.batch.entries {
            let version = versions.entry(entry.stream).or_default();
            if *version != entry.expected && !self.versions_ignored {
                return Err(NotTaken::Conflict);
            }
            version.0 += entry.events.len() as u64;
        }
        self.versions = versions;
        self.committed.push(append.clone());
        Ok(())
    }

    /// The daemon is gone: what it had queued is lost; what was under way is there or not, whole.
    /// Returns how many were committed.
    pub fn crash(&mut self, life: Life, written: bool) -> usize {
        self.queue.retain(|append| append.life != life);
        if self.under_way.first().is_none_or(|append| append.life != life) {
            return 0;
        }
        let group = std::mem::take(&mut self.under_way);
        if !written || self.full || self.is_chained_to_a_failed_one(life) {
            return 0;
        }
        group.iter().take_while(|append| self.take(append).is_ok()).count()
    }

    pub fn committed(&self) -> &[Append] {
        &self.committed
    }

    pub fn versions(&self) -> &BTreeMap<Stream, Version> {
        &self.versions
    }

    pub fn has(&self, event: &Event) -> bool {
        self.committed.iter().rev().any(|append| append.events().any(|other| other == event))
    }

    pub fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.under_way.is_empty()
    }

    /// Cuts the newest append in two: what a journal must never do; for the test that it is seen.
    pub fn tear(&mut self) {
        let Some(append) = self.committed.last_mut() else {
            return;
        };
        let Some(entry) = append.batch.entries.last_mut().filter(|entry| entry.events.len() > 1)
        else {
            return;
        };
        entry.events.pop();
        self.versions.entry(entry.stream).or_default().0 -= 1;
    }
}

impl Append {
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.batch.entries.iter().flat_map(|entry| &entry.events)
    }
}

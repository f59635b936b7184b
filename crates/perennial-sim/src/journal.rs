//! The simulated journal: appends queue, go to disk in groups, and are there whole or not at all.
//!
//! Keeps the contract of the store's journal, no more; faults come from outside.
//!
//! Invariants
//! - J1  An append is committed whole, in the order of submission, or never.
//! - J2  One that rests on another is refused unless that one was taken (the store's J5).
//! - J3  A failed append stays away, unless its daemon dies before another one succeeds: then it may
//!   be found in the journal, whole (the store's J6).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use perennial_core::entity::Entity;
use perennial_core::event::Event;
use perennial_engine::supervisor::AppendId;
use perennial_store::{Batch, Expected, Seq, Version};

use crate::daemon::Life;
use crate::mutation::Mutation;

/// One append of one run of the daemon.
#[derive(Debug, Clone)]
pub struct Append {
    pub life: Life,
    pub append: AppendId,
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
    pub append: AppendId,
    pub taken: Result<Seq, NotTaken>,
}

#[derive(Debug, Default)]
pub struct Journal {
    committed: Vec<Append>,
    head: Seq,
    /// The records of each name and conversation.
    claimed: BTreeMap<Entity, Vec<Seq>>,
    versions: BTreeMap<Entity, Version>,
    queue: VecDeque<Append>,
    under_way: Vec<Append>,
    /// The last append of each daemon that was taken.
    last_taken: BTreeMap<Life, u64>,
    /// The last group that the disk failed, while nothing was written after it.
    ghost: Vec<Append>,
    pub full: bool,
    /// Positions of events that can't be read any more.
    pub damaged: BTreeSet<usize>,
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
        for append in &group {
            let taken = match (io, self.full) {
                (false, _) => Err(NotTaken::Io),
                (true, true) => Err(NotTaken::Full),
                (true, false) => self.take(append),
            };
            outcomes.push(Outcome { life: append.life, append: append.append, taken });
        }
        if !io {
            self.ghost = group;
        }
        outcomes
    }

    fn take(&mut self, append: &Append) -> Result<Seq, NotTaken> {
        let after = append.batch.link.and_then(|link| link.after);
        let last_taken = self.last_taken.get(&append.life).copied();
        if after.is_some() && after != last_taken && !self.unchained {
            return Err(NotTaken::AfterFailed);
        }
        let versions_before = &self.versions;
        let mut versions = versions_before.clone();
        for entry in &append.batch.entries {
            let version = versions.entry(entry.stream.clone()).or_default();
            let fits = match entry.expected {
                Expected::Anything => true,
                Expected::Version(expected) => expected == *version,
                Expected::Since { seq, own } => {
                    let before = versions_before.get(&entry.stream).map_or(0, |before| before.0);
                    let later = self.claimed.get(&entry.stream).into_iter().flatten();
                    let since = later.filter(|claimed| **claimed > seq).count() as u64;
                    since + (version.0 - before) == own
                }
            };
            if !fits && !self.versions_ignored {
                return Err(NotTaken::Conflict);
            }
            version.0 += entry.events.len() as u64;
        }
        for event in append.events() {
            self.head.0 += 1;
            if event.entity().is_claim() {
                self.claimed.entry(event.entity()).or_default().push(self.head);
            }
        }
        self.last_taken.extend(append.batch.link.map(|link| (append.life, link.number)));
        self.versions = versions;
        self.committed.push(append.clone());
        self.ghost.clear();
        Ok(self.head)
    }

    /// The daemon is gone: what it had queued is lost; what was under way is there or not, whole.
    /// Returns how many were committed.
    pub fn crash(&mut self, life: Life, written: bool) -> usize {
        self.queue.retain(|append| append.life != life);
        let of_life = |group: &Vec<Append>| group.first().is_some_and(|a| a.life == life);
        let mut group = Vec::new();
        if of_life(&self.ghost) {
            // It knew of no failure when it was made, its own least of all.
            let ghost = std::mem::take(&mut self.ghost).into_iter();
            group.extend(ghost.map(|append| Append { batch: unfenced(append.batch), ..append }));
        }
        let before = group.len();
        if of_life(&self.under_way) {
            group.append(&mut self.under_way);
        }
        if !written || self.full {
            return 0;
        }
        // Either the failed group is found, or what came after it: one transaction.
        let found = if before > 0 { &group[..before] } else { &group[..] };
        found.iter().take_while(|append| self.take(append).is_ok()).count()
    }

    pub fn committed(&self) -> &[Append] {
        &self.committed
    }

    /// Every event, readable or not, in the journal's order.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.committed.iter().flat_map(Append::events)
    }

    pub fn head(&self) -> Seq {
        self.head
    }

    pub fn versions(&self) -> &BTreeMap<Entity, Version> {
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
        let mut entries = append.batch.entries.iter_mut().rev();
        let Some(entry) = entries.find(|entry| entry.events.len() > 1) else {
            return;
        };
        entry.events.pop();
        self.versions.entry(entry.stream.clone()).or_default().0 -= 1;
    }
}

fn unfenced(batch: Batch) -> Batch {
    Batch { link: None, ..batch }
}

impl Append {
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.batch.entries.iter().flat_map(|entry| &entry.events)
    }
}

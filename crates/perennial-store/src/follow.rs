//! Following the journal: a follower sees every record after its position, in commit order, once.
//!
//! A follower reads the journal itself; what wakes it carries no record, so that a lost or late
//! wake-up loses nothing.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::chain::Hash;
use crate::journal::{ReadError, Seq};
use crate::record::Record;

/// Few: a record may have a megabyte, and followers may be many.
const READ_AHEAD_RECORDS: usize = 16;

/// Called after each commit, from the journal's thread; must be quick and must not block.
pub type Bell = Arc<dyn Fn() + Send + Sync>;

/// Where a follower reads.
pub(crate) trait Source: Send + Sync {
    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, ReadError>;
    fn head(&self) -> &Head;
}

/// The last durable record, and who wants to know of the next.
pub(crate) struct Head {
    position: Mutex<Position>,
    moved: Condvar,
}

struct Position {
    seq: Seq,
    hash: Hash,
    bells: BTreeMap<u64, Bell>,
    next_bell: u64,
}

impl Head {
    pub fn new(seq: Seq, hash: Hash) -> Head {
        let position = Position { seq, hash, bells: BTreeMap::new(), next_bell: 0 };
        Head { position: Mutex::new(position), moved: Condvar::new() }
    }

    pub fn get(&self) -> (Seq, Hash) {
        let position = self.lock();
        (position.seq, position.hash)
    }

    pub fn advance(&self, seq: Seq, hash: Hash) {
        let bells: Vec<Bell> = {
            let mut position = self.lock();
            (position.seq, position.hash) = (seq, hash);
            position.bells.values().cloned().collect()
        };
        self.moved.notify_all();
        // Outside the lock: a bell may ask for the head.
        bells.iter().for_each(|bell| bell());
    }

    fn lock(&self) -> MutexGuard<'_, Position> {
        // A position is two plain values: a panic elsewhere leaves no half of one.
        self.position.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads on from a position, for as long as it is kept.
pub struct Follower {
    source: Arc<dyn Source>,
    after: Seq,
    ahead: VecDeque<Record>,
    bell: Option<u64>,
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").field("after", &self.after).finish_non_exhaustive()
    }
}

impl Follower {
    pub(crate) fn new(source: Arc<dyn Source>, after: Seq) -> Follower {
        Follower { source, after, ahead: VecDeque::new(), bell: None }
    }

    /// The last record that this follower has given out.
    pub fn position(&self) -> Seq {
        self.after
    }

    /// The next record if it is there already. For async use: `on_news` first, then this until it
    /// has nothing, then wait for the bell.
    pub fn try_next(&mut self) -> Result<Option<Record>, ReadError> {
        if self.ahead.is_empty() {
            if self.source.head().get().0 <= self.after {
                return Ok(None);
            }
            self.ahead.extend(self.source.read(self.after, READ_AHEAD_RECORDS)?);
        }
        let next = self.ahead.pop_front();
        if let Some(record) = &next {
            self.after = record.seq;
        }
        Ok(next)
    }

    /// The next record, waited for up to `timeout`.
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Record>, ReadError> {
        if let Some(record) = self.try_next()? {
            return Ok(Some(record));
        }
        let head = self.source.head();
        let after = self.after;
        let waited = head.moved.wait_timeout_while(head.lock(), timeout, |p| p.seq <= after);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
        self.try_next()
    }

    /// Has `bell` called after each commit from now on, in position of an earlier one.
    pub fn on_news(&mut self, bell: Bell) {
        let mut position = self.source.head().lock();
        if let Some(old) = self.bell.take() {
            position.bells.remove(&old);
        }
        let id = position.next_bell;
        position.next_bell += 1;
        position.bells.insert(id, bell);
        drop(position);
        self.bell = Some(id);
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(bell) = self.bell {
            self.source.head().lock().bells.remove(&bell);
        }
    }
}

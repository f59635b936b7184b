//! What the model saw: every request, how it was answered and how that ended. Bounded in memory.
//!
//! Invariants
//! - L1  Numbers only grow and have no gaps, so that a record that was let go is missed.
//! - L2  At most [`RECORDS_MAX`] records and [`BYTES_MAX`] bytes of bodies; the oldest go first,
//!   the newest is always there.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::request::Request;

pub const RECORDS_MAX: usize = 4096;
pub const BYTES_MAX: usize = 64 << 20;

/// One request and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub number: u64,
    /// When it came, in milliseconds since 1970.
    pub at_ms: u64,
    /// The name in the address, `/s/NAME/…`.
    pub name: Option<String>,
    #[serde(flatten)]
    pub request: Request,
    pub answer: Answer,
    /// None while it is being answered.
    pub end: Option<End>,
    bytes: usize,
}

/// Where the answer came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A program in the prompt; `failed`: the turn leaves no message in the conversation.
    Prompt { program: u64, turn: usize, failed: bool },
    /// A script; the name is empty for the one that is for everybody.
    Script { name: String, turn: usize },
    /// A side request, answered without a script.
    Itself,
    /// Nothing was scripted.
    Fixed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Said to the last byte.
    Whole,
    /// Dropped by us, as the script said.
    Cut,
    /// The client went away first.
    ClientGone,
}

#[derive(Debug, Default)]
pub struct Log {
    book: Mutex<Book>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Book {
    records: VecDeque<Arc<Record>>,
    next: u64,
    bytes: usize,
}

/// A record that is still to be written.
#[derive(Debug)]
pub struct Entry {
    pub at_ms: u64,
    pub name: Option<String>,
    pub request: Request,
    pub answer: Answer,
    /// How large the request was.
    pub bytes: usize,
}

impl Log {
    /// The new record's number.
    pub fn append(&self, entry: Entry) -> u64 {
        let Entry { at_ms, name, request, answer, bytes } = entry;
        let mut book = self.lock();
        let number = book.next;
        book.next += 1;
        book.bytes += bytes;
        let record = Record { number, at_ms, name, request, answer, end: None, bytes };
        book.records.push_back(Arc::new(record));
        while book.records.len() > RECORDS_MAX || book.bytes > BYTES_MAX && book.records.len() > 1 {
            if let Some(oldest) = book.records.pop_front() {
                book.bytes -= oldest.bytes;
            }
        }
        drop(book);
        self.changed.notify_all();
        number
    }

    pub fn end(&self, number: u64, end: End) {
        let mut book = self.lock();
        if let Some(record) = book.records.iter_mut().rfind(|record| record.number == number) {
            Arc::make_mut(record).end = Some(end);
        }
        drop(book);
        self.changed.notify_all();
    }

    /// The records from a number on, oldest first.
    pub fn since(&self, number: u64) -> Vec<Arc<Record>> {
        let book = self.lock();
        book.records.iter().filter(|record| record.number >= number).cloned().collect()
    }

    /// How many turns of a program in a prompt failed, by script, in this session; of a client that
    /// sends no id of its session, those at this name.
    pub fn failed(&self, name: Option<&str>, session: Option<&str>, fingerprint: u64) -> u64 {
        let failed = |record: &&Arc<Record>| {
            record.request.session.as_deref() == session
                && (session.is_some() || record.name.as_deref() == name)
                && matches!(record.answer, Answer::Prompt { program, failed: true, .. }
                    if program == fingerprint)
        };
        self.lock().records.iter().filter(failed).count() as u64
    }

    /// The oldest record that fits, waiting for one if there is none yet.
    pub fn wait_for(
        &self,
        mut fits: impl FnMut(&Record) -> bool,
        patience: Duration,
    ) -> Option<Arc<Record>> {
        let mut found = None;
        let waiting = |book: &mut Book| {
            found = book.records.iter().find(|record| fits(record)).cloned();
            found.is_none()
        };
        drop(self.changed.wait_timeout_while(self.lock(), patience, waiting));
        found
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(bytes: usize) -> Entry {
        let request = Request::default();
        Entry { at_ms: 0, name: None, request, answer: Answer::Fixed, bytes }
    }

    #[test]
    fn the_oldest_records_go_first_and_the_newest_stays() {
        let log = Log::default();
        for _ in 0..RECORDS_MAX + 2 {
            log.append(entry(1));
        }
        assert_eq!(log.since(0).len(), RECORDS_MAX);
        assert_eq!(log.since(0)[0].number, 2);
        log.append(entry(BYTES_MAX + 1));
        let left: Vec<u64> = log.since(0).iter().map(|record| record.number).collect();
        assert_eq!(left, [RECORDS_MAX as u64 + 2]);
    }

    #[test]
    fn waiting_ends_with_the_record_or_with_the_patience() {
        let log = Arc::new(Log::default());
        assert_eq!(log.wait_for(|_| true, Duration::ZERO), None);
        let other = log.clone();
        let waiting = std::thread::spawn(move || {
            other.wait_for(|record| record.end == Some(End::Cut), Duration::from_secs(60))
        });
        let number = log.append(entry(1));
        log.end(number, End::Cut);
        assert_eq!(waiting.join().unwrap().unwrap().number, number);
    }
}

//! Ids of messages, tool calls and requests.
//!
//! Invariant: no two servers make up the same id. A conversation outlives the server that a test
//! started, and clients take two messages with one id for the same.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug)]
pub struct Ids {
    server: u64,
    next: AtomicU64,
}

impl Ids {
    pub fn new() -> Ids {
        Ids::of_server(RandomState::new().build_hasher().finish())
    }

    fn of_server(server: u64) -> Ids {
        Ids { server, next: AtomicU64::new(1) }
    }

    pub fn next(&self, what: &str) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        format!("{what}_{:016x}{number:08x}", self.server)
    }
}

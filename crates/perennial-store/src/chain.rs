//! The chain: every record's hash covers the record and the hash before it, so that the last hash
//! stands for all of them.
//!
//! Invariants
//! - C1  Two different sequences of records never have the same bytes hashed: every part has a
//!   fixed length or its length in front of it.
//! - C2  What is hashed is what lies in the store, not what was read out of it.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::journal::{Journal, ReadError, Seq};
use crate::record::{Row, Unreadable};

/// SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(pub [u8; 32]);

impl Hash {
    /// What the first record follows.
    pub const GENESIS: Hash = Hash([0; 32]);
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The hash of `row` after a record with hash `previous`; the row's own hash is not looked at.
pub(crate) fn link(previous: Hash, row: &Row) -> Hash {
    let mut digest = Sha256::new();
    digest.update(previous.0);
    digest.update(row.seq.0.to_be_bytes());
    part(&mut digest, &row.stream);
    digest.update(row.version.to_be_bytes());
    digest.update(row.at.to_be_bytes());
    part(&mut digest, &row.kind);
    digest.update(row.form.to_be_bytes());
    part(&mut digest, &row.payload);
    Hash(digest.finalize().into())
}

/// The hash of a snapshot's row, which stands outside the chain.
pub(crate) fn seal(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    for bytes in parts {
        part(&mut digest, bytes);
    }
    Hash(digest.finalize().into())
}

fn part(digest: &mut Sha256, bytes: &[u8]) {
    digest.update((bytes.len() as u64).to_be_bytes());
    digest.update(bytes);
}

/// What a walk over the whole journal found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub head: Seq,
    pub unreadable: Vec<Unreadable>,
}

/// Reads every record and checks every link.
pub fn verify(journal: &dyn Journal) -> Result<Verified, ReadError> {
    let mut verified = Verified { head: Seq(0), unreadable: Vec::new() };
    loop {
        let records = journal.read(verified.head, 1000)?;
        let Some(last) = records.last() else { return Ok(verified) };
        verified.head = last.seq;
        verified.unreadable.extend(records.into_iter().filter_map(|record| record.event.err()));
    }
}

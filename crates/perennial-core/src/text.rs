//! Texts that may be long: kept once in the store by their digest. Events and memory carry the
//! digest, the length and a short head.
//!
//! Digests are made outside: nothing here hashes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// SHA-256 of a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest(pub [u8; 32]);

/// What a text is recognised by wherever it turns up: the digest of its words, without white space
/// and invisible characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 32]);

/// A text as events and memory have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    pub digest: Digest,
    pub bytes: u64,
    /// Its beginning, on one line.
    pub head: String,
}

/// A text with its words, on the way to the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextBody {
    pub text: Text,
    pub body: Arc<str>,
}

macro_rules! printed_as_hex {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

printed_as_hex!(Digest);
printed_as_hex!(Fingerprint);

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

impl Digest {
    /// Of words of Perennial's own that are in the event itself, and so in no store of texts.
    pub const WITH_ITS_EVENT: Digest = Digest([0; 32]);
}

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

/// Whether a character is shown as nothing, ends a line unseen or changes the direction of what follows: the marks that
/// reorder text, and the default-ignorable characters of Unicode, tags among them. Control characters are told by
/// `char::is_control`. This is the only list of them: what is typed, told to agents and shown to persons goes by it.
pub fn is_hidden(c: char) -> bool {
    match c {
        // The common case first.
        ' '..='~' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' => true,
        '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' => true,
        '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
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

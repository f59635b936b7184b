//! What sessions show of texts, and how attempts to type them went, as this life is told of it. Changes nothing.

use super::Held;
use crate::id::MessageId;
use crate::text::Fingerprint;
use crate::time::Time;

/// A trace of texts in what a session shows, in no vendor's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    /// The harness took a prompt.
    PromptHeard(Words),
    /// The conversation holds a prompt. With the date that it bears if it lay there before this daemon
    /// looked; without one it was written since the last look.
    Held { dated: Option<Time>, words: Words },
    /// A hook of the user's blocked a prompt; dated as those that the conversation holds.
    Blocked { dated: Option<Time>, words: Words, because: String },
    /// The conversation holds a text of ours, by its id.
    Mentioned { ids: Vec<MessageId> },
    /// The conversation holds an answer of the main loop, since then.
    Answered { at: Time },
    /// The conversation was read to its end then, and nothing had been written for a while.
    Settled { at: Time },
    /// Nothing of a person's is in the input line any more.
    LineFree,
}

/// What a prompt is recognised by: a person's words by their fingerprint, mail by its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    pub fingerprint: Fingerprint,
    pub ids: Vec<MessageId>,
}

/// Of a prompt in which no id stands.
impl From<Fingerprint> for Words {
    fn from(fingerprint: Fingerprint) -> Words {
        Words { fingerprint, ids: Vec::new() }
    }
}

/// How an attempt to type went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Entered,
    Held(Held),
}

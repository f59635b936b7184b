//! What happens in a conversation, in words of no vendor.
//!
//! A step is a report, not a decision: it says what a transcript holds. Everything that comes from
//! a transcript is bounded here, so that whoever keeps steps knows what they cost.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use perennial_core::time::Time;

/// As much of a text as a step carries.
pub const EXCERPT_BYTES: usize = 16 * 1024;
/// As much of the end of a text that was cut: summaries stand there.
const ENDING_BYTES: usize = 2 * 1024;
/// As much of a prompt: one that was typed by us is whole, so that it can be recognised.
pub const PROMPT_BYTES: usize = 64 * 1024;
/// Longer names and ids are no names and ids.
pub const ID_BYTES: usize = 256;

/// One step, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub id: Option<StepId>,
    /// The step that this one follows; two steps with the same parent begin two branches.
    pub parent: Option<StepId>,
    pub time: Option<Time>,
    /// Part of a subagent's work, not of the conversation itself.
    pub is_subagent: bool,
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    Prompt(Excerpt),
    /// A prompt that a hook of the user's refused, and what the hook said.
    PromptBlocked {
        prompt: Excerpt,
        words: Excerpt,
    },
    Text(Excerpt),
    /// What a hook said to the model, beside a prompt or a result.
    Added(Excerpt),
    /// That the model thought; what it thought stays in the transcript.
    Thinking,
    ToolCall {
        call: String,
        tool: String,
        /// JSON as it was written; not whole where the excerpt was cut.
        arguments: Excerpt,
    },
    ToolResult {
        call: String,
        is_error: bool,
        text: Excerpt,
    },
    /// May come several times for one message: the last one holds.
    Usage(Usage),
    Compaction(Compaction),
    Error {
        kind: ErrorKind,
        text: Excerpt,
        /// When the harness will try again by itself, if it will.
        retry_at: Option<Time>,
    },
    RateLimit {
        /// `None`: nobody said until when.
        until: Option<Time>,
        text: Excerpt,
    },
    /// The same, and the harness gave the turn up.
    LimitReached {
        until: Option<Time>,
        text: Excerpt,
    },
    /// A person stopped the turn.
    Interrupted,
    /// The vendor's id of what is written here, when it is another one than before.
    ConversationChanged {
        id: String,
    },
}

/// Why a model call failed, rate limits aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    Overloaded,
    Authentication,
    Billing,
    ContextOverflow,
    /// The window was full again right after each of several compactions.
    Thrashing,
    InvalidRequest,
    Server,
    /// No answer at all: cut sockets, time-outs.
    Connection,
    Unclassified,
}

/// What one message of the model cost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    pub message: String,
    /// Empty where the vendor names none.
    pub request: String,
    pub model: String,
    pub tokens: Tokens,
    pub web_searches: u64,
    /// Served at the vendor's faster, dearer speed.
    pub fast: bool,
    /// Served in one region only, at a surcharge.
    pub regional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// Written to a cache that is kept for as long as usual.
    pub cache_write_short: u64,
    /// Written to one that is kept for longer, where a vendor prices that otherwise.
    pub cache_write_long: u64,
}

impl Tokens {
    pub fn cache_write(&self) -> u64 {
        self.cache_write_short + self.cache_write_long
    }

    /// What the model had before it when it answered.
    pub fn context(&self) -> u64 {
        self.input + self.cache_read + self.cache_write()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    pub trigger: CompactionTrigger,
    pub pre_tokens: Option<u64>,
    pub post_tokens: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionTrigger {
    Automatic,
    Manual,
    Unstated,
}

/// Names a step within its transcript.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId(u128);

impl StepId {
    /// UUIDs are taken as they are. Any other text is hashed: the transcript's own names are kept
    /// by nobody, and two that differ only have to stay different.
    pub fn of(text: &str) -> StepId {
        StepId(uuid(text).unwrap_or_else(|| {
            let half = |salt: u8| {
                let mut hasher = DefaultHasher::new();
                (salt, text).hash(&mut hasher);
                u128::from(hasher.finish())
            };
            half(0) << 64 | half(1)
        }))
    }
}

fn uuid(text: &str) -> Option<u128> {
    let dashes_at = [8, 13, 18, 23];
    let bytes = text.as_bytes();
    if bytes.len() != 36 || dashes_at.iter().any(|at| bytes[*at] != b'-') {
        return None;
    }
    let digits = bytes.iter().enumerate().filter(|(at, _)| !dashes_at.contains(at));
    digits
        .map(|(_, byte)| char::from(*byte).to_digit(16))
        .try_fold(0u128, |number, digit| Some(number << 4 | u128::from(digit?)))
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
        f.write_str(&parts.join("-"))
    }
}

impl fmt::Debug for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The beginning of a text, how much of it was left out, and the last of that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpt {
    pub text: String,
    pub cut_bytes: usize,
    pub ending: String,
}

impl Excerpt {
    pub fn of(text: &str) -> Excerpt {
        Excerpt::up_to(EXCERPT_BYTES, text)
    }

    pub fn of_prompt(text: &str) -> Excerpt {
        Excerpt::up_to(PROMPT_BYTES, text)
    }

    fn up_to(bytes: usize, text: &str) -> Excerpt {
        let end = text.floor_char_boundary(bytes);
        let last = text.ceil_char_boundary(text.len().saturating_sub(ENDING_BYTES)).max(end);
        let (kept, ending) = (text[..end].to_owned(), text[last..].to_owned());
        Excerpt { text: kept, cut_bytes: text.len() - end, ending }
    }
}

const _: () = assert!(PROMPT_BYTES > crate::host::delivery::TEXT_BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_shows_the_uuid_that_it_was_made_of() {
        let text = "48bef17e-9790-452c-9f44-ed535e3d4266";
        assert_eq!(StepId::of(text).to_string(), text);
        assert_ne!(StepId::of("a"), StepId::of("b"));
        assert_eq!(StepId::of("a"), StepId::of("a"));
        // As long as a UUID, and none.
        assert_ne!(StepId::of(&"é".repeat(18)), StepId::of(&"g".repeat(36)));
    }

    #[test]
    fn an_excerpt_is_cut_between_characters() {
        let text = "é".repeat(EXCERPT_BYTES);
        let excerpt = Excerpt::of(&text[..text.len() - 2]);
        assert_eq!(excerpt.text.len(), EXCERPT_BYTES);
        assert_eq!(excerpt.cut_bytes, EXCERPT_BYTES - 2);
        let odd = format!("x{text}");
        assert_eq!(Excerpt::of(&odd).text.len(), EXCERPT_BYTES - 1);
    }
}

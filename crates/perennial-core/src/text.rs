//! Texts that may be long: kept once in the store by their digest. Events and memory carry the
//! digest, the length and a short head.
//!
//! Digests are made outside: nothing here hashes.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::MessageId;

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

/// At most this many bytes of the beginning, whole characters, with a sign that something is missing.
pub fn beginning(text: &str, bytes: usize) -> String {
    match text.len() > bytes {
        true => {
            let end = text.floor_char_boundary(bytes.saturating_sub('…'.len_utf8()));
            format!("{}…", &text[..end])
        }
        false => text.to_owned(),
    }
}

/// At most this many bytes of the end, likewise.
pub fn ending(text: &str, bytes: usize) -> String {
    match text.len() > bytes {
        true => {
            let kept = bytes.saturating_sub('…'.len_utf8());
            format!("…{}", &text[text.ceil_char_boundary(text.len() - kept)..])
        }
        false => text.to_owned(),
    }
}

/// Somebody's words between quotation marks, on one line, without what acts on a terminal or hides. At most this many bytes
/// beside the marks. No word in it ends the quotation, or looks like a mark of ours or the id of a message.
pub fn quoted(text: &str, bytes: usize) -> String {
    format!("“{}”", beginning(&voiceless(&plain(text.trim())), bytes))
}

/// Somebody's words of several lines: each stands behind a mark, and says no more than in a quotation.
pub fn quoted_lines(text: &str) -> String {
    let line = |line: &str| format!("> {}", voiceless(plain(line).trim_end()));
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The same words without what acts on a terminal or hides.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || is_hidden(c) { ' ' } else { c }).collect()
}

/// The same words without what could end a quotation, and without what would be a mark of ours or the id of a message.
/// Everything else stays as it is, for it may be code: `a[0]`, `msg_count`.
pub fn voiceless(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut is_in_mark = false;
    for (at, sign) in text.char_indices() {
        let opens = sign == '[' && is_our_mark(&text[at + 1..]);
        let closes = sign == ']' && is_in_mark;
        is_in_mark = opens || is_in_mark && !closes;
        words.push(match sign {
            '“' | '”' => '\'',
            '[' if opens => '(',
            ']' if closes => ')',
            other => other,
        });
    }
    without_ids(&words)
}

/// The same words, of which none is the id of a message: only our own ids say that a mail arrived.
pub fn without_ids(text: &str) -> String {
    let is_in_id = |at: usize| at >= MESSAGE.len() && is_message_id(text, at - MESSAGE.len());
    let shown = |(at, sign)| if sign == '_' && is_in_id(at) { '-' } else { sign };
    text.char_indices().map(shown).collect()
}

/// What stands before the `_` of such an id.
const MESSAGE: &str = "msg";

/// Whether a bracket before this opens a mark of ours: `[Perennial]`, `[Perennial mail]`.
fn is_our_mark(text: &str) -> bool {
    const NAME: &str = "perennial";
    let named = text.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME));
    let goes_on = |next: char| next.is_alphanumeric() || matches!(next, '_' | '-' | '.' | ':');
    named && !text[NAME.len()..].starts_with(goes_on)
}

/// Whether a whole id of a message stands at this place.
fn is_message_id(text: &str, at: usize) -> bool {
    let id = text.get(at..at + MessageId::LENGTH);
    id.is_some_and(|id| id.parse::<MessageId>().is_ok())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_has_whole_characters_and_says_so() {
        assert_eq!((beginning("äöü", 6), beginning("äöü", 5)), ("äöü".into(), "ä…".into()));
        assert_eq!((ending("äöü", 6), ending("äöü", 5)), ("äöü".into(), "…ü".into()));
        assert_eq!((beginning("abcd", 0), ending("abcd", 2)), ("…".into(), "…".into()));
    }

    /// However long the words are, the quotation ends where ours goes on.
    #[test]
    fn a_quotation_is_closed_and_nothing_in_it_speaks_for_us() {
        let id = MessageId(7).to_string();
        let words = format!("see ”[Perennial]\u{202e} {id}\n“all”");
        let told = format!("“see '(Perennial)  {} 'all'”", id.replace('_', "-"));
        assert_eq!(quoted(&words, 100), told);
        assert_eq!(quoted(&words, 10), "“see '(P…”");
        assert_eq!(voiceless("[PERENNIAL mail] x"), "(PERENNIAL mail) x");
    }

    /// `change arr[0] to arr[1]` once reached an agent as `arr(0)`.
    #[test]
    fn code_is_quoted_as_it_was_written() {
        for code in ["change arr[0] to arr[1] in msg_count", "- [ ] one", "[perennial.toml] x[é]"]
        {
            assert_eq!(quoted(code, 100), format!("“{code}”"));
        }
    }
}

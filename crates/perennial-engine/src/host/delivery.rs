//! The wire's words for typing a text into a session: what a program's input line is like, one order
//! to type, how that went, and what persons have left in the line.
//!
//! Types only; the shim's `delivery` acts on them. Like all of the wire they only grow.

use std::time::Duration;

use perennial_core::message;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::protocol::Size;

/// A longer text does not fit into what may wait for a program.
pub const TEXT_BYTES_MAX: usize = 60 << 10;

/// `put_back_ms` of a program of which it is not known. A longer time is more cautious: until then,
/// keys behind an interruption leave a draft.
pub const PUT_BACK_MS: u16 = 1000;

/// What a program's input line is like, as its preset says. Without these rules a program is a bare
/// command, which gets its text and Enter and shows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputRules {
    /// Where the caret stands in an empty line; columns are counted from 1.
    pub first_column: u16,
    /// Columns at the right edge into which the line does not run.
    pub right_margin: u16,
    /// How the stand-in begins that a long paste is shown as; it ends with `]`.
    #[serde(default)]
    pub placeholder: Option<String>,
    /// Typed before a paste: leaves an empty mode, and does nothing in an empty line.
    #[serde(default)]
    pub clear: String,
    /// Erases one row of the line up to the caret, or joins an empty row to the one before.
    #[serde(default)]
    pub erase_row: String,
    /// Puts the line aside; it comes back after the next prompt.
    #[serde(default)]
    pub stash: Option<Key>,
    /// Keys after which it is not known what the next key reaches.
    #[serde(default)]
    pub doubt: Vec<DoubtKey>,
    /// What makes a new line of the Enter behind it.
    #[serde(default = "unsaid::newline_sign")]
    pub newline_sign: Option<char>,
    /// Two Escapes within this time take back what is in the line; without it they do not.
    #[serde(default = "unsaid::double_escape_ms")]
    pub double_escape_ms: Option<u16>,
    /// What an interruption puts back into the line is shown by then.
    #[serde(default = "unsaid::put_back_ms")]
    pub put_back_ms: u16,
    /// Sooner than this behind a paste, Enter is part of it.
    #[serde(default)]
    pub enter_after_ms: u16,
    /// An Enter that has not emptied the line by then is pressed again; 0: never.
    #[serde(default)]
    pub enter_again_ms: u16,
    /// How much longer than usual the echo of a paste may take, for each thousand bytes of it.
    #[serde(default)]
    pub echo_ms_per_kb: u16,
    #[serde(default)]
    pub frame_end: FrameEnd,
    /// Frames are drawn on the main screen, and end with a move up from their last row to the caret's
    /// column. A field of its own, since older shims know no further word of `frame_end`.
    #[serde(default)]
    pub is_caret_upward: bool,
    /// Words that stand from the first column on in an empty line, and only there.
    #[serde(default)]
    pub hints: Vec<String>,
}

/// How a program's frames end, and where they show the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FrameEnd {
    /// In the screen's last row and first column, and from there at the caret, where one is shown.
    #[default]
    Corner,
    /// With the end of a synchronized update. The caret is where the frame left it, unless it is hidden.
    Synchronized,
}

/// What a daemon means that does not send these rules yet.
mod unsaid {
    pub fn newline_sign() -> Option<char> {
        Some('\\')
    }

    pub fn double_escape_ms() -> Option<u16> {
        Some(500)
    }

    pub fn put_back_ms() -> u16 {
        super::PUT_BACK_MS
    }
}

impl InputRules {
    /// How long the echo of a paste of this many bytes may take.
    pub fn echo_within(&self, usual: Duration, bytes: usize) -> Duration {
        let thousands = u32::try_from(bytes / 1000).unwrap_or(u32::MAX);
        usual.saturating_add(
            Duration::from_millis(self.echo_ms_per_kb.into()).saturating_mul(thousands),
        )
    }

    /// Columns that one row of the line has in a terminal of this size.
    pub fn room(&self, size: Size) -> u16 {
        let before = self.first_column.saturating_sub(1);
        size.cols.saturating_sub(before).saturating_sub(self.right_margin)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoubtKey {
    pub key: Key,
    /// How many Escapes lead back; 0: only the next prompt shows that the line is back.
    #[serde(default)]
    pub escapes: u8,
    /// The same key leads back, too.
    #[serde(default)]
    pub is_toggle: bool,
    /// Ctrl-C leads back, too.
    #[serde(default)]
    pub is_interruptible: bool,
    /// In a line with words the key only moves the caret.
    #[serde(default)]
    pub in_empty_line: bool,
}

/// A key that presets name: `left`, `ctrl-r`, `alt-p`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Left,
    /// The letter, small.
    Control(u8),
    Alt(u8),
}

impl Key {
    fn parse(text: &str) -> Option<Key> {
        let letter = |rest: &str| match rest.as_bytes() {
            [letter @ b'a'..=b'z'] => Some(*letter),
            _ => None,
        };
        match text.split_once('-') {
            None if text == "left" => Some(Key::Left),
            Some(("ctrl", rest)) => letter(rest).map(Key::Control),
            Some(("alt", rest)) => letter(rest).map(Key::Alt),
            Some(_) | None => None,
        }
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Key::Left => serializer.serialize_str("left"),
            Key::Control(letter) => {
                serializer.collect_str(&format_args!("ctrl-{}", *letter as char))
            }
            Key::Alt(letter) => serializer.collect_str(&format_args!("alt-{}", *letter as char)),
        }
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        let text = String::deserialize(deserializer)?;
        let unknown =
            || D::Error::custom(format!("`{text}` is none of left, ctrl-LETTER, alt-LETTER"));
        Key::parse(&text).ok_or_else(unknown)
    }
}

/// One try to type one text. The same message and attempt are never typed twice in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliverOrder {
    pub number: u32,
    pub message: String,
    pub attempt: u32,
    /// Without control characters but the newline; it ends in no newline.
    pub text: String,
    /// How many columns each of its lines takes.
    pub columns: Vec<u32>,
}

/// How a try went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The text was seen in the input line, and Enter was typed behind it, by us or by a person.
    Entered,
    /// Text and Enter were written for a program of which nothing more is known.
    Written,
    /// No Enter was typed.
    Held(HeldRecord),
    #[serde(other)]
    Unknown,
}

/// Why no Enter was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldRecord {
    /// A person has typed something that is not sent yet.
    Draft,
    /// It is not known that keys reach the input line.
    Doubt,
    /// Keys would answer a dialog, or go to an editor.
    Dialog,
    /// The program has been suspended.
    Suspended,
    /// The input line has not been drawn yet.
    NotDrawn,
    /// The pasted text was not seen in the input line in time.
    NoEcho,
    /// An earlier text of ours stands in the line and can't be erased.
    Leftover,
    /// Another delivery is under way.
    Busy,
    /// The program does not read its input.
    Full,
    /// A line of the text is longer than the terminal takes while it edits lines itself.
    LongLine,
    /// The session number is not the running one.
    Stale,
    /// The session's holder is of an older version.
    Unsupported,
    #[serde(other)]
    Unknown,
}

impl From<Outcome> for message::Outcome {
    fn from(outcome: Outcome) -> message::Outcome {
        match outcome {
            // What a newer shim calls otherwise may have been entered: nothing is typed again for it.
            Outcome::Entered | Outcome::Written | Outcome::Unknown => message::Outcome::Entered,
            Outcome::Held(why) => message::Outcome::Held(why.into()),
        }
    }
}

impl From<HeldRecord> for message::Held {
    fn from(held: HeldRecord) -> message::Held {
        match held {
            HeldRecord::Draft => message::Held::Draft,
            HeldRecord::Doubt => message::Held::Doubt,
            HeldRecord::Dialog => message::Held::Dialog,
            HeldRecord::Suspended => message::Held::Suspended,
            HeldRecord::NotDrawn => message::Held::NotDrawn,
            // Whatever the reason was, no Enter was typed.
            HeldRecord::NoEcho | HeldRecord::Unknown => message::Held::NoEcho,
            HeldRecord::Leftover => message::Held::Leftover,
            HeldRecord::Busy => message::Held::Busy,
            HeldRecord::Full => message::Held::Full,
            HeldRecord::LongLine => message::Held::LongLine,
            HeldRecord::Stale => message::Held::SessionEnded,
            HeldRecord::Unsupported => message::Held::OldHolder,
        }
    }
}

/// What persons have left in a session's input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineReport {
    /// Words that are not sent yet.
    pub draft: bool,
    /// It is not known what the next key reaches.
    pub doubt: bool,
    /// The program has been suspended from its terminal, where nobody is now.
    pub suspended: bool,
    /// The same, while a person is there.
    #[serde(default)]
    pub paused: bool,
    /// A kill signal has stopped the program.
    #[serde(default)]
    pub stopped: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_newer_side_are_tolerated() {
        let outcome: Outcome = serde_json::from_str(r#""translated""#).expect("tolerated");
        assert_eq!(outcome, Outcome::Unknown);
        let outcome: Outcome = serde_json::from_str(r#"{"held":"tired"}"#).expect("tolerated");
        assert_eq!(outcome, Outcome::Held(HeldRecord::Unknown));
        let text = serde_json::to_string(&Outcome::Held(HeldRecord::NoEcho)).expect("JSON");
        assert_eq!(text, r#"{"held":"no-echo"}"#);
    }

    /// `null` is not the same as nothing: it says that the program has no such sign.
    #[test]
    fn rules_of_an_older_daemon_mean_what_they_meant() {
        let older: InputRules =
            serde_json::from_str(r#"{"first_column":3,"right_margin":3}"#).expect("rules");
        assert_eq!(older.newline_sign, Some('\\'));
        assert_eq!((older.double_escape_ms, older.put_back_ms), (Some(500), 1000));
        let without = InputRules { newline_sign: None, double_escape_ms: None, ..older };
        let json = serde_json::to_string(&without).expect("JSON");
        assert_eq!(serde_json::from_str::<InputRules>(&json).expect("rules"), without);
    }

    #[test]
    fn keys_have_names() {
        for name in ["left", "ctrl-r", "alt-p"] {
            let json = format!("\"{name}\"");
            let key: Key = serde_json::from_str(&json).expect("a key");
            assert_eq!(serde_json::to_string(&key).expect("JSON"), json);
        }
        for name in ["", "right", "ctrl-", "ctrl-R", "ctrl-rr", "alt-\u{e9}", "meta-x"] {
            assert_eq!(Key::parse(name), None, "{name}");
        }
    }
}

//! What an attempt to give a text found in the way, and what follows from each. Changes nothing.

use serde::{Deserialize, Serialize};

/// Why an attempt came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Held {
    /// Somebody has words in the input line.
    Draft,
    /// Keys were pressed that may have opened a menu or a mode.
    Doubt,
    Dialog,
    /// The program is suspended.
    Suspended,
    /// The input line is not drawn yet.
    NotDrawn,
    /// It was pasted and did not appear; Enter was not pressed.
    NoEcho,
    /// An earlier text of ours stands in the input line and can't be erased.
    Leftover,
    /// Another text is being typed.
    Busy,
    /// The terminal took nothing.
    Full,
    /// The holder is of an older version and can't do it.
    OldHolder,
    /// Its text can't be read from the store.
    Damaged,
    /// The harness no longer takes it for a prompt: its preset has changed since.
    Unfit,
    /// A line of it is longer than the terminal takes while it edits lines itself.
    LongLine,
    /// The home was copied since: the original may have given it.
    HomeCopied,
    /// A hook of the user's refused it as a prompt.
    Blocked,
    SessionEnded,
    /// The conversation was read to its end, or went on, without it.
    NotTaken,
}

impl Held {
    /// Every one, in the order of the enum.
    pub const ALL: [Held; 17] = [
        Held::Draft,
        Held::Doubt,
        Held::Dialog,
        Held::Suspended,
        Held::NotDrawn,
        Held::NoEcho,
        Held::Leftover,
        Held::Busy,
        Held::Full,
        Held::OldHolder,
        Held::Damaged,
        Held::Unfit,
        Held::LongLine,
        Held::HomeCopied,
        Held::Blocked,
        Held::SessionEnded,
        // Its place is checked below: whatever is added goes before it.
        Held::NotTaken,
    ];

    /// T9: whether the holder may have pasted before it gave up. It says `Dialog`, `Doubt`, `Suspended`
    /// and `Full` on both sides of the paste.
    pub(super) fn may_leave_text(self) -> bool {
        match self {
            Held::Draft
            | Held::Doubt
            | Held::Dialog
            | Held::Suspended
            | Held::NoEcho
            | Held::Leftover
            | Held::Full => true,
            Held::NotDrawn
            | Held::Busy
            | Held::OldHolder
            | Held::Damaged
            | Held::Unfit
            | Held::LongLine
            | Held::HomeCopied
            | Held::Blocked
            | Held::SessionEnded
            | Held::NotTaken => false,
        }
    }

    /// Whether it tells of one session's terminal, input line or holder.
    pub(super) fn is_of_session(self) -> bool {
        match self {
            Held::Draft
            | Held::Doubt
            | Held::Dialog
            | Held::Suspended
            | Held::NotDrawn
            | Held::NoEcho
            | Held::Leftover
            | Held::Busy
            | Held::Full
            | Held::OldHolder
            | Held::LongLine => true,
            Held::Damaged
            | Held::Unfit
            | Held::HomeCopied
            | Held::Blocked
            | Held::SessionEnded
            | Held::NotTaken => false,
        }
    }

    /// Whether the next attempt can only come to the same: a person has to take the text back.
    pub fn needs_person(self) -> bool {
        match self {
            Held::Damaged | Held::Unfit | Held::LongLine | Held::HomeCopied | Held::Blocked => true,
            Held::Draft
            | Held::Doubt
            | Held::Dialog
            | Held::Suspended
            | Held::NotDrawn
            | Held::NoEcho
            | Held::Leftover
            | Held::Busy
            | Held::Full
            | Held::OldHolder
            | Held::SessionEnded
            | Held::NotTaken => false,
        }
    }
}

// A variant that is not in the list does not compile.
const _: () = assert!(Held::NotTaken as usize + 1 == Held::ALL.len());

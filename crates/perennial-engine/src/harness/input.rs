//! What a preset says of an agent CLI's input line: how it looks, which keys lead away from it, and
//! which texts are no prompts there.
//!
//! Data only: the shim goes by `rules`, `typing` by the rest.

use serde::Deserialize;

use crate::host::delivery::{DoubtKey, FrameEnd, InputRules, Key, PUT_BACK_MS};

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Where the caret stands in an empty line; columns are counted from 1.
    pub first_column: u16,
    /// Columns at the right edge into which the line does not run.
    pub right_margin: u16,
    /// How the stand-in begins that a long paste is shown as.
    pub placeholder: Option<String>,
    /// Typed before a paste: leaves an empty mode.
    #[serde(default)]
    pub clear: String,
    /// Erases one row.
    #[serde(default)]
    pub erase_row: String,
    /// Puts the line aside until after the next prompt.
    pub stash: Option<Key>,
    #[serde(default)]
    pub doubt: Vec<DoubtWords>,
    /// Texts that end the program.
    #[serde(default)]
    pub ending_words: Vec<String>,
    /// What a shell command begins with.
    pub shell_sign: Option<char>,
    /// What a command of the program's own begins with.
    pub command_sign: Option<char>,
    /// What the program's own records in a conversation begin with: a prompt that begins so is not
    /// known for one.
    #[serde(default)]
    pub own_marks: Vec<String>,
    /// A prompt that begins so is left out of the conversation when the program resumes it.
    #[serde(default)]
    pub forgotten_marks: Vec<String>,
    /// What makes a new line of the Enter behind it.
    pub newline_sign: Option<char>,
    /// Two Escapes within this time take back what is in the line; without it they do not.
    pub double_escape_ms: Option<u16>,
    /// What an interruption puts back into the line is shown by then.
    #[serde(default = "put_back_ms")]
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
    /// Frames end with a move up to the caret, on the main screen, too.
    #[serde(default)]
    pub is_caret_upward: bool,
    /// Words that stand from the first column on in an empty line, and only there. Once the program has shown
    /// one, the line counts as empty only while it shows one.
    #[serde(default)]
    pub hints: Vec<String>,
    /// A last word that begins with one of these opens a list, from which Enter would choose, or shows a suggestion
    /// behind the caret. A blank behind the word ends it.
    #[serde(default)]
    pub completion_signs: Vec<char>,
    /// The line has no second line: what is pasted into it in several becomes one.
    #[serde(default)]
    pub is_one_line: bool,
    /// Blanks that stand for a tab.
    pub tab_columns: u8,
}

/// A key after which it is not known what the next one reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoubtWords {
    pub key: Key,
    /// How many Escapes lead back; 0: none does.
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

fn put_back_ms() -> u16 {
    PUT_BACK_MS
}

impl Input {
    /// What the shim goes by.
    pub fn rules(&self) -> InputRules {
        let doubt = |words: &DoubtWords| {
            let DoubtWords { key, escapes, is_toggle, is_interruptible, in_empty_line } = *words;
            DoubtKey { key, escapes, is_toggle, is_interruptible, in_empty_line }
        };
        InputRules {
            first_column: self.first_column,
            right_margin: self.right_margin,
            placeholder: self.placeholder.clone(),
            clear: self.clear.clone(),
            erase_row: self.erase_row.clone(),
            stash: self.stash,
            doubt: self.doubt.iter().map(doubt).collect(),
            newline_sign: self.newline_sign,
            double_escape_ms: self.double_escape_ms,
            put_back_ms: self.put_back_ms,
            enter_after_ms: self.enter_after_ms,
            enter_again_ms: self.enter_again_ms,
            echo_ms_per_kb: self.echo_ms_per_kb,
            frame_end: self.frame_end,
            is_caret_upward: self.is_caret_upward,
            hints: self.hints.clone(),
        }
    }
}

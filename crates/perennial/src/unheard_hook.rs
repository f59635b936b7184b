//! A call of a hook that no daemon heard, as it is kept beside its session: one line of JSON.
//!
//! Written by the hook itself, read by the next daemon. No secret is in it that the hook's caller does not write to
//! its own transcript.

use serde::{Deserialize, Serialize};

/// Once the file of a session is this long, nothing is added to it.
pub const UNHEARD_HOOKS_BYTES_MAX: u64 = 512 << 10;
/// What is kept of one call's input: its conversation and what happened stand before what a tool printed.
const INPUT_BYTES_MAX: usize = 4 << 10;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnheardHook {
    pub event: String,
    /// When it was called, in microseconds.
    pub at: u64,
    /// The beginning of what the harness said.
    pub input: String,
}

impl UnheardHook {
    pub fn new(event: &str, at: &str, input: &[u8]) -> UnheardHook {
        let input = &input[..input.len().min(INPUT_BYTES_MAX)];
        UnheardHook {
            event: event.to_owned(),
            at: at.parse().unwrap_or(0),
            input: String::from_utf8_lossy(input).into_owned(),
        }
    }

    pub fn line(&self) -> String {
        format!("{}\n", serde_json::to_string(self).unwrap_or_default())
    }
}

/// The calls in a file; what is torn is left out.
pub fn read(text: &[u8]) -> Vec<UnheardHook> {
    text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_read_again() {
        let long =
            [b"{\"session_id\":\"a\",\"x\":\"".to_vec(), vec![0xff; INPUT_BYTES_MAX]].concat();
        let calls =
            [UnheardHook::new("Stop", "7", b"{}"), UnheardHook::new("PostToolUse", "8", &long)];
        let text = calls.iter().map(UnheardHook::line).collect::<String>() + "{\"event\":\"torn";
        assert!(text.len() < 4 * INPUT_BYTES_MAX);
        assert_eq!(read(text.as_bytes()), calls);
    }
}

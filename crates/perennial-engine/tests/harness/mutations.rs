//! 100,000 inputs that no vendor wrote: nothing panics, and what was broken is marked.

use perennial_core::fact::Seen;
use perennial_engine::harness::Dialect;
use perennial_engine::harness::claude::Claude;
use serde::de::IgnoredAny;

use crate::{HOOKS, STATUS_LINES, claude};

const INPUTS: u32 = 100_000;

const EVENTS: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PermissionRequest",
    "PostToolBatch",
    "PostToolUse",
    "Notification",
    "Stop",
    "StopFailure",
    "Unheard",
];

/// Pieces that a reader may stumble over.
const PIECES: [&[u8]; 12] = [
    b"\xff\xfe",
    b"\0",
    b"\"",
    b"{",
    b"}",
    b"[[[[[[[[",
    b"null",
    b"1e999",
    b"\\ud800",
    b"18446744073709551616",
    b"\"session_id\":7,",
    b"\"tool_calls\":{},",
];

/// A small generator, so that a failure can be had again.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }

    pub fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.roll(input.len());
        let end = (at + self.roll(40)).min(input.len());
        let piece = PIECES[self.roll(PIECES.len())].to_vec();
        match self.roll(7) {
            0 => input.truncate(at),
            1 => drop(input.drain(at..end)),
            2 => drop(input.splice(at..at, input[at..end].to_vec())),
            3 => drop(input.splice(at..end, piece)),
            4 => drop(input.splice(at..at, piece)),
            5 => drop(input.splice(at..at, b"[".repeat(self.roll(300)))),
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.roll(8);
                }
            }
        }
    }
}

#[test]
fn no_input_makes_us_panic_and_a_broken_one_is_marked() {
    let samples: Vec<&str> = HOOKS.lines().chain(STATUS_LINES.lines()).collect();
    let context = claude().context;
    let mut dice = Dice(0x5eed_0003);
    let (mut broken, mut understood) = (0_u32, 0_u32);
    for round in 0..INPUTS {
        let mut input = samples[dice.roll(samples.len())].as_bytes().to_vec();
        for _ in 0..=dice.roll(3) {
            dice.mutate(&mut input);
        }
        let is_json = serde_json::from_slice::<IgnoredAny>(&input).is_ok();
        broken += u32::from(!is_json);
        if let Ok(call) = Claude.hook(EVENTS[dice.roll(EVENTS.len())], &input) {
            assert!(is_json || call.is_partial, "round {round}");
            understood += u32::from(call.fact.is_some());
        }
        if let Ok(line) = Claude.status_line(&input, &context, None) {
            assert!(is_json, "round {round}");
            let Seen::StatusLine { sample, .. } = line.seen else { panic!("{line:?}") };
            assert!(sample.is_none_or(|sample| sample.usable <= sample.window));
        }
        assert!(is_json || Claude.listing(&input).is_none(), "round {round}");
    }
    // The dice fell on both sides.
    assert!(broken > INPUTS / 4 && understood > INPUTS / 4, "{broken} broken, {understood} told");
}

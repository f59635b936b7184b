//! 100,000 inputs that no vendor wrote: nothing panics, and what was broken is marked.

use perennial_core::fact::Seen;
use perennial_engine::harness::Dialect;
use perennial_engine::harness::claude::Claude;
use perennial_engine::harness::gemini::Gemini;
use perennial_engine::harness::plain::Plain;
use serde::de::IgnoredAny;

use crate::{GEMINI_HOOKS, HOOKS, STATUS_LINES, claude};

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

/// Our own words, as a program says them that speaks the plain dialect.
const PLAIN_HOOKS: [(&str, &str); 6] = [
    ("began", r#"{"conversation":"0f3c2a1e-1b2c","how":"started"}"#),
    ("prompt", r#"{"conversation":"0f3c2a1e-1b2c","text":"do it"}"#),
    ("result", r#"{"conversation":"0f3c2a1e-1b2c","call":"c1"}"#),
    ("permission", r#"{"conversation":"0f3c2a1e-1b2c","tool":"shell"}"#),
    ("failed", r#"{"error":"rate-limit","until":"2026-11-17T07:47:00Z"}"#),
    ("ended", r#"{"conversation":"0f3c2a1e-1b2c"}"#),
];

/// As many inputs of one vendor; how many were broken, and how many told something.
fn mutated(dialect: &dyn Dialect, samples: &[(&str, &str)], seed: u64) -> (u32, u32) {
    let mut dice = Dice(seed);
    let (mut broken, mut understood) = (0, 0);
    for round in 0..INPUTS {
        let (event, sample) = samples[dice.roll(samples.len())];
        let mut input = sample.as_bytes().to_vec();
        for _ in 0..=dice.roll(3) {
            dice.mutate(&mut input);
        }
        let is_json = serde_json::from_slice::<IgnoredAny>(&input).is_ok();
        broken += u32::from(!is_json);
        if let Ok(call) = dialect.hook(event, &input) {
            // A text may have control characters or half a character in it, and is whole all the same.
            let is_whole = is_json || input.trim_ascii_end().ends_with(b"}");
            assert!(is_whole || call.is_partial, "{} round {round}", dialect.name());
            understood += u32::from(call.fact.is_some());
        }
    }
    (broken, understood)
}

#[test]
fn hooks_of_the_others_are_read_as_carefully() {
    let name = |line: &str| {
        let sample: serde_json::Value = serde_json::from_str(line).expect("JSON");
        sample["hook_event_name"].as_str().expect("a name").to_owned()
    };
    let named: Vec<(String, &str)> = GEMINI_HOOKS.lines().map(|line| (name(line), line)).collect();
    let gemini: Vec<(&str, &str)> =
        named.iter().map(|(event, line)| (event.as_str(), *line)).collect();
    for (dialect, samples, seed) in [
        (&Gemini as &dyn Dialect, &gemini[..], 0x5eed_0005),
        (&Plain as &dyn Dialect, &PLAIN_HOOKS[..], 0x5eed_0006),
    ] {
        let (broken, understood) = mutated(dialect, samples, seed);
        let least = INPUTS / 10;
        assert!(
            broken > least && understood > least,
            "{}: {broken} broken, {understood} told",
            dialect.name()
        );
        println!("{}: {INPUTS} inputs, {broken} broken, {understood} told", dialect.name());
    }
}

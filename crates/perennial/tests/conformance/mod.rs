//! The conformance suite: one table of scenarios that every harness is put through, with the real agent
//! CLI and a scripted model.
//!
//! What is a vendor's about it stands in its preset: `[conformance]` says how it is run, a limit that names a
//! scenario says that this one does not work with it. A quick share is run by the tests
//! (`tests/cli/harnesses.rs`), all of it by `cargo xtask prove conformance`, which keeps what it saw in
//! `results.json`; `docs/harnesses.md` is made of that.
//!
//! Invariants
//! - CF1  A scenario knows no vendor.
//! - CF2  It is judged by what the model received and what the product's verbs say from outside.
//! - CF3  A limit is run, too: a scenario that works in spite of its limit is a failure.
//! - CF4  What breaks off is a failure, with or without a limit. Only what a scenario looks for and does
//!   not see is a limit.

pub mod document;
pub mod harness;
pub mod results;
pub mod scenarios;
pub mod stage;

use perennial_engine::harness::preset::Preset;

use self::harness::Harness;
use self::stage::Stage;

/// One thing that an agent CLI is expected to do under Perennial.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    pub shows: &'static str,
    /// Part of the share that every test run has.
    pub is_quick: bool,
    pub run: fn(&mut Stage) -> Seen,
}

/// What a scenario looked for was there, or what there was in its place.
pub type Seen = Result<(), Instead>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instead(pub String);

/// What the table says of a scenario and a harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Works,
    /// The preset says so, and it was seen.
    Not,
    /// Neither the one nor the other: a fault, which is shown until it is mended.
    Fails,
}

/// What a preset says of a scenario before it is run; `None`: nothing.
pub fn claimed(preset: &Preset, scenario: &str) -> Option<Outcome> {
    let claims = preset.conformance.as_ref().and_then(|one| one.claims.as_ref());
    let is_limit =
        preset.limits.not.iter().any(|limit| limit.scenario.as_deref() == Some(scenario));
    let is_claimed = claims.is_none_or(|claims| claims.iter().any(|name| name == scenario));
    match (is_limit, is_claimed) {
        (true, _) => Some(Outcome::Not),
        (false, true) => Some(Outcome::Works),
        (false, false) => None,
    }
}

/// Runs a scenario in a home of its own and judges it by what the preset says (CF3). Panics where it breaks
/// off (CF4).
pub fn run(harness: &Harness, scenario: &Scenario) -> Result<Outcome, String> {
    let mut stage = Stage::new(harness);
    let is_limit = claimed(&stage.preset, scenario.name) == Some(Outcome::Not);
    match (scenario.run)(&mut stage) {
        Ok(()) if !is_limit => Ok(Outcome::Works),
        Ok(()) => {
            Err("the preset says that it does not work, but it does: remove the limit".to_owned())
        }
        Err(Instead(_)) if is_limit => Ok(Outcome::Not),
        Err(Instead(seen)) => Err(seen),
    }
}

/// Names in a preset that are those of no scenario.
pub fn unknown_names(preset: &Preset) -> Vec<&str> {
    let claims = preset.conformance.iter().filter_map(|one| one.claims.as_ref()).flatten();
    let limits = preset.limits.not.iter().filter_map(|limit| limit.scenario.as_ref());
    let is_known = |name: &&str| scenarios::ALL.iter().any(|scenario| scenario.name == *name);
    claims.chain(limits).map(String::as_str).filter(|name| !is_known(name)).collect()
}

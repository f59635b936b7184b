//! What the operator has set in an explored world.

use std::collections::BTreeMap;

use perennial_core::fleet::Policy;
use perennial_core::name::NameKey;
use perennial_core::role::{RoleTerms, Span};

use crate::random::Random;

/// In some worlds roles of both spans, and in some a limit on running sessions.
pub fn drawn(seed: u64, notify: Vec<String>) -> Policy {
    // Drawn apart, so that the worlds without either stay what they were.
    let mut random = Random::new(seed.rotate_left(17) ^ 0x5e57);
    let terms = |span| RoleTerms { span, ..RoleTerms::default() };
    let named = |number: u32| {
        Span::ALL.map(|span| (NameKey::of(&format!("{}-{number}", span.word())), terms(span)))
    };
    let roles =
        if random.per_mille(400) { (1..=60).flat_map(named).collect() } else { BTreeMap::new() };
    let max_running = random.per_mille(300).then(|| random.within(1..4) as usize);
    Policy { notify, roles, max_running, ..Policy::default() }
}

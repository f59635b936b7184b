//! The five phases of work, as an option's value.

use perennial_api::request::WorkPhase;

pub const WORDS: [&str; 5] =
    ["investigation", "planning", "implementation", "testing", "completion"];

pub fn of_word(word: &str) -> Option<WorkPhase> {
    let phases = [
        WorkPhase::Investigation,
        WorkPhase::Planning,
        WorkPhase::Implementation,
        WorkPhase::Testing,
        WorkPhase::Completion,
    ];
    WORDS.iter().zip(phases).find(|(known, _)| **known == word).map(|(_, phase)| phase)
}

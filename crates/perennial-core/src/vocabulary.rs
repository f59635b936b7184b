//! The words of the seeds: what each of them calls our states, roles and fields.
//!
//! One table, for printing and for reading. Pure data over closed sets: it says what things are called and never
//! decides anything. `docs/vocabularies.md` is generated from it. Here: whose words there are, and roles; agents, tasks,
//! signals, checkpoints and escalations have a file each.
//!
//! Invariants
//! - VO1  Every state with every reason has a word in every vocabulary, and the word is on the vocabulary's list.
//! - VO2  Every word on the list means at least one condition, and is understood on input.
//! - VO3  A role's word is read back as the same role.
//! - VO4  A word that a seed does not have is ours.

mod agents;
mod checkpoints;
mod escalations;
mod signals;
mod tasks;

pub use agents::{Condition, Field, Source, StateWord, conditions};
pub use checkpoints::CheckpointSource;
pub use escalations::EscalationSource;
pub use signals::SignalSource;
pub use tasks::{TaskCondition, TaskSource};

/// Whose words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Vocabulary {
    Haak,
    Tavern,
    Julian,
    S3,
    GasTown,
}

/// Our roles and Gas Town's words for them; every other role has one word.
const GAS_TOWN_ROLES: [(&str, &str); 2] = [("worker", "polecat"), ("patrol", "deacon")];

impl Vocabulary {
    pub const ALL: [Vocabulary; 5] = [
        Vocabulary::Haak,
        Vocabulary::Tavern,
        Vocabulary::Julian,
        Vocabulary::S3,
        Vocabulary::GasTown,
    ];

    /// Its words for `--vocabulary`, in the order of `ALL`.
    pub const WORDS: [&str; 5] = ["haak", "tavern", "julian", "s3", "gastown"];

    pub fn word(self) -> &'static str {
        match self {
            Vocabulary::Haak => "haak",
            Vocabulary::Tavern => "tavern",
            Vocabulary::Julian => "julian",
            Vocabulary::S3 => "s3",
            Vocabulary::GasTown => "gastown",
        }
    }

    pub fn of(word: &str) -> Option<Vocabulary> {
        Vocabulary::ALL.into_iter().find(|one| one.word() == word)
    }

    /// The seed's name, for people.
    pub fn title(self) -> &'static str {
        match self {
            Vocabulary::Haak => "HAAK",
            Vocabulary::Tavern => "Tavern",
            Vocabulary::Julian => "Julian",
            Vocabulary::S3 => "S3",
            Vocabulary::GasTown => "Gas Town",
        }
    }

    /// What the role is called.
    pub fn role(self, role: &str) -> &str {
        let known = self.roles().iter().find(|(ours, _)| ours.eq_ignore_ascii_case(role));
        known.map_or(role, |(_, theirs)| theirs)
    }

    /// Our word for a role that is named in this vocabulary (VO3).
    pub fn our_role(self, word: &str) -> &str {
        let known = self.roles().iter().find(|(_, theirs)| theirs.eq_ignore_ascii_case(word));
        known.map_or(word, |(ours, _)| ours)
    }

    /// The roles that have another name in it: ours first.
    pub fn roles(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Vocabulary::GasTown => &GAS_TOWN_ROLES,
            Vocabulary::Haak | Vocabulary::Tavern | Vocabulary::Julian | Vocabulary::S3 => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// VO3
    #[test]
    fn a_role_is_read_back_as_the_same_role() {
        for vocabulary in Vocabulary::ALL {
            for role in ["worker", "patrol", "crew", "witness", "refinery", "mayor", "architect"] {
                assert_eq!(vocabulary.our_role(vocabulary.role(role)), role);
            }
        }
        assert_eq!(Vocabulary::GasTown.role("Worker"), "polecat");
        assert_eq!(Vocabulary::GasTown.our_role("Polecat"), "worker");
        assert_eq!(Vocabulary::Tavern.our_role("polecat"), "polecat");
    }

    #[test]
    fn words_are_those_of_the_list() {
        assert_eq!(Vocabulary::ALL.map(Vocabulary::word), Vocabulary::WORDS);
        assert!(Vocabulary::ALL.into_iter().all(|one| Vocabulary::of(one.word()) == Some(one)));
        for vocabulary in Vocabulary::ALL {
            let mut names: Vec<&str> = vocabulary.fields().iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), vocabulary.fields().len(), "{vocabulary:?}");
        }
    }
}

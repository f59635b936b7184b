//! `--vocabulary`: whose words a verb reads and prints. Any verb that prints agents, roles or states can take it.

use std::ffi::OsStr;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use perennial_core::state::State;
use perennial_core::vocabulary::Vocabulary;

/// The option, to be flattened into a verb's own.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Words {
    /// Use the words of haak, tavern, julian, s3 or gastown, on input too
    #[arg(long, value_name = "SEED", value_parser = Vocabulary::WORDS, hide_possible_values = true)]
    vocabulary: Option<String>,
}

impl Words {
    pub fn vocabulary(&self) -> Option<Vocabulary> {
        self.vocabulary.as_deref().and_then(Vocabulary::of)
    }

    /// As the surface takes it.
    pub fn word(&self) -> Option<&str> {
        self.vocabulary.as_deref()
    }

    /// An agent, or a role in our word: `role:polecat` is `role:worker`.
    pub fn our_queue(&self, whose: String) -> String {
        match self.vocabulary() {
            Some(vocabulary) => vocabulary.our_mailbox(&whose),
            None => whose,
        }
    }

    /// An agent, or a role in the vocabulary's word: the way back.
    pub fn queue(&self, whose: &str) -> String {
        match self.vocabulary() {
            Some(vocabulary) => vocabulary.mailbox(whose),
            None => whose.to_owned(),
        }
    }

    /// Our word for a role.
    pub fn our_role(&self, role: String) -> String {
        match self.vocabulary() {
            Some(vocabulary) => vocabulary.our_role(&role).to_owned(),
            None => role,
        }
    }
}

/// Any word for a state: which of them count, with or without a vocabulary, is the daemon's to say. A shell completes
/// ours, and those of the vocabularies.
#[derive(Debug, Clone)]
pub struct StateWord;

impl TypedValueParser for StateWord {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        NonEmptyStringValueParser::new().parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(state_words().into_iter().map(PossibleValue::new)))
    }
}

/// Every word for a state: ours, and those of the vocabularies.
fn state_words() -> Vec<&'static str> {
    let mut words: Vec<&'static str> = State::ALL.map(State::word).to_vec();
    for word in Vocabulary::ALL.into_iter().flat_map(Vocabulary::state_words) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

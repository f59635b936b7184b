//! `--vocabulary`: whose words a verb reads and prints. Any verb that prints agents, roles or states can take it.

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

    /// Our word for a role.
    pub fn our_role(&self, role: String) -> String {
        match self.vocabulary() {
            Some(vocabulary) => vocabulary.our_role(&role).to_owned(),
            None => role,
        }
    }
}

/// Every word for a state: ours, and those of the vocabularies. Which of them counts is the daemon's to say.
pub fn state_words() -> Vec<&'static str> {
    let mut words: Vec<&'static str> = State::ALL.map(State::word).to_vec();
    for word in Vocabulary::ALL.into_iter().flat_map(Vocabulary::state_words) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

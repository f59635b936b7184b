//! What the seeds call the parties of a signal and its kinds, and the fields of the document that stands for a signal (VO4).
//!
//! Perennial's own kinds and parties are S3's. Kinds are never translated: only Julian writes them otherwise.

use super::Vocabulary;
use crate::signal::Party;

/// What a field of a seed's document of a signal is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalSource {
    Id,
    At,
    Kind,
    /// As what it was sent, in the vocabulary's word.
    Source,
    /// To whom as what, in the vocabulary's word.
    Target,
    From,
    To,
    Payload,
    Fixed(&'static str),
}

type Field = (&'static str, SignalSource);

const HAAK: [Field; 6] = [
    ("signal_id", SignalSource::Id),
    ("signal", SignalSource::Kind),
    ("from", SignalSource::From),
    ("to", SignalSource::To),
    ("registered", SignalSource::At),
    ("payload", SignalSource::Payload),
];

const TAVERN: [Field; 6] = [
    ("id", SignalSource::Id),
    ("trigger", SignalSource::Kind),
    ("agent", SignalSource::From),
    ("notified", SignalSource::To),
    ("at", SignalSource::At),
    ("reason", SignalSource::Payload),
];

const JULIAN: [Field; 7] = [
    ("type", SignalSource::Fixed("marker")),
    ("markerId", SignalSource::Id),
    ("marker", SignalSource::Kind),
    ("speakerName", SignalSource::From),
    ("to", SignalSource::To),
    ("createdAt", SignalSource::At),
    ("payload", SignalSource::Payload),
];

const S3: [Field; 8] = [
    ("id", SignalSource::Id),
    ("timestamp", SignalSource::At),
    ("source", SignalSource::Source),
    ("target", SignalSource::Target),
    ("signal_type", SignalSource::Kind),
    ("from", SignalSource::From),
    ("to", SignalSource::To),
    ("payload", SignalSource::Payload),
];

const GAS_TOWN: [Field; 6] = [
    ("mail", SignalSource::Id),
    ("subject", SignalSource::Kind),
    ("from", SignalSource::From),
    ("to", SignalSource::To),
    ("at", SignalSource::At),
    ("notes", SignalSource::Payload),
];

impl Vocabulary {
    /// The parties that have another name in it: ours first.
    pub fn parties(self) -> &'static [(Party, &'static str)] {
        match self {
            Vocabulary::Haak => &[],
            Vocabulary::Tavern => &[(Party::Runner, "agent"), (Party::Guardian, "parent")],
            Vocabulary::Julian => {
                &[(Party::Runner, "agent"), (Party::Guardian, "julian"), (Party::Spawn, "browser")]
            }
            Vocabulary::S3 => {
                &[(Party::Runner, "runner"), (Party::Guardian, "guardian"), (Party::Spawn, "spawn")]
            }
            Vocabulary::GasTown => &[(Party::Runner, "polecat"), (Party::Guardian, "witness")],
        }
    }

    pub fn party(self, party: Party) -> &'static str {
        let known = self.parties().iter().find(|(ours, _)| *ours == party);
        known.map_or(party.word(), |(_, theirs)| theirs)
    }

    /// The party that a word means; nothing for a word that is not one of its own.
    pub fn our_party(self, word: &str) -> Option<Party> {
        let known = self.parties().iter().find(|(_, theirs)| *theirs == word);
        known.map(|(ours, _)| *ours)
    }

    /// A kind of signal as the seed writes it.
    pub fn kind(self, word: &str) -> String {
        match self {
            Vocabulary::Julian => format!("[{word}]"),
            Vocabulary::Haak | Vocabulary::Tavern | Vocabulary::S3 | Vocabulary::GasTown => {
                word.to_owned()
            }
        }
    }

    /// Our word for a kind that is written as the seed writes it.
    pub fn our_kind(self, word: &str) -> &str {
        match self {
            Vocabulary::Julian => {
                let inside = word.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
                inside.unwrap_or(word)
            }
            Vocabulary::Haak | Vocabulary::Tavern | Vocabulary::S3 | Vocabulary::GasTown => word,
        }
    }

    /// The fields of the document that stands for a signal.
    pub fn signal_fields(self) -> &'static [(&'static str, SignalSource)] {
        match self {
            Vocabulary::Haak => &HAAK,
            Vocabulary::Tavern => &TAVERN,
            Vocabulary::Julian => &JULIAN,
            Vocabulary::S3 => &S3,
            Vocabulary::GasTown => &GAS_TOWN,
        }
    }
}

impl SignalSource {
    /// What it is, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            SignalSource::Id => "its id",
            SignalSource::At => "when it was recorded",
            SignalSource::Kind => "its kind",
            SignalSource::Source => "as what it was sent, in the vocabulary's word",
            SignalSource::Target => "as what its target got it, in the vocabulary's word",
            SignalSource::From => "who sent it",
            SignalSource::To => "who got it",
            SignalSource::Payload => "its payload",
            SignalSource::Fixed(_) => "always the same",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::SignalKind;

    #[test]
    fn parties_and_kinds_are_read_back() {
        for vocabulary in Vocabulary::ALL {
            for (party, word) in vocabulary.parties() {
                assert_eq!(vocabulary.our_party(word), Some(*party));
                assert_eq!(vocabulary.party(*party), *word);
            }
            assert_eq!(vocabulary.our_party("nobody"), None);
            for kind in SignalKind::ALL {
                assert_eq!(vocabulary.our_kind(&vocabulary.kind(kind.word())), kind.word());
            }
            let fields = vocabulary.signal_fields();
            let mut names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), fields.len(), "{vocabulary:?}");
        }
        assert_eq!(Vocabulary::Julian.kind("AGENT_REGISTERED"), "[AGENT_REGISTERED]");
    }
}

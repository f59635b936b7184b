//! The fields of the document that stands for an escalation, in the form of each seed, and its words (VO1, VO4).
//!
//! No seed has escalations with states: ours stay. S3's urgencies are three of our four severities.

use super::Vocabulary;

/// What a field of a seed's document of an escalation is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscalationSource {
    Id,
    At,
    From,
    Severity,
    Cause,
    State,
    Subject,
    /// The beginning of its text.
    Head,
    /// Everybody who was told.
    Told,
    RaisedAt,
    /// The mail of its last step.
    Mail,
    Fixed(&'static str),
}

type Field = (&'static str, EscalationSource);

const HAAK: [Field; 7] = [
    ("escalation_id", EscalationSource::Id),
    ("state", EscalationSource::State),
    ("actor", EscalationSource::From),
    ("method", EscalationSource::Told),
    ("urgency", EscalationSource::Severity),
    ("description", EscalationSource::Subject),
    ("registered", EscalationSource::At),
];

const TAVERN: [Field; 8] = [
    ("id", EscalationSource::Id),
    ("trigger", EscalationSource::Cause),
    ("agent", EscalationSource::From),
    ("notified", EscalationSource::Told),
    ("urgency", EscalationSource::Severity),
    ("state", EscalationSource::State),
    ("at", EscalationSource::At),
    ("reason", EscalationSource::Subject),
];

const JULIAN: [Field; 8] = [
    ("type", EscalationSource::Fixed("escalation")),
    ("escalationId", EscalationSource::Id),
    ("status", EscalationSource::State),
    ("agentName", EscalationSource::From),
    ("to", EscalationSource::Told),
    ("urgency", EscalationSource::Severity),
    ("subject", EscalationSource::Subject),
    ("createdAt", EscalationSource::At),
];

const S3: [Field; 9] = [
    ("id", EscalationSource::Id),
    ("timestamp", EscalationSource::At),
    ("identity_name", EscalationSource::From),
    ("urgency", EscalationSource::Severity),
    ("status", EscalationSource::State),
    ("cause", EscalationSource::Cause),
    ("reason", EscalationSource::Subject),
    ("told", EscalationSource::Told),
    ("raised_at", EscalationSource::RaisedAt),
];

const GAS_TOWN: [Field; 8] = [
    ("mail", EscalationSource::Mail),
    ("subject", EscalationSource::Subject),
    ("from", EscalationSource::From),
    ("to", EscalationSource::Told),
    ("severity", EscalationSource::Severity),
    ("state", EscalationSource::State),
    ("at", EscalationSource::At),
    ("notes", EscalationSource::Head),
];

impl Vocabulary {
    /// The fields of the document that stands for an escalation.
    pub fn escalation_fields(self) -> &'static [(&'static str, EscalationSource)] {
        match self {
            Vocabulary::Haak => &HAAK,
            Vocabulary::Tavern => &TAVERN,
            Vocabulary::Julian => &JULIAN,
            Vocabulary::S3 => &S3,
            Vocabulary::GasTown => &GAS_TOWN,
        }
    }

    /// A mailbox or a queue, with the role's name in the vocabulary's word: `role:polecat`.
    pub fn mailbox(self, word: &str) -> String {
        match word.strip_prefix("role:") {
            Some(role) => format!("role:{}", self.role(role)),
            None => word.to_owned(),
        }
    }

    /// The same, read.
    pub fn our_mailbox(self, word: &str) -> String {
        match word.strip_prefix("role:") {
            Some(role) => format!("role:{}", self.our_role(role)),
            None => word.to_owned(),
        }
    }
}

impl EscalationSource {
    /// What it is, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            EscalationSource::Id => "its id",
            EscalationSource::At => "when it was raised first",
            EscalationSource::From => "who raised it",
            EscalationSource::Severity => "its severity",
            EscalationSource::Cause => "`asked`, or the rule that it follows from",
            EscalationSource::State => "its state",
            EscalationSource::Subject => "its subject",
            EscalationSource::Head => "the beginning of its text",
            EscalationSource::Told => "who was told, roles in the vocabulary's words",
            EscalationSource::RaisedAt => "when it is raised again, unless somebody sees it",
            EscalationSource::Mail => "the mail of its last step",
            EscalationSource::Fixed(_) => "always the same",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_an_escalation_have_names_of_their_own() {
        for vocabulary in Vocabulary::ALL {
            let fields = vocabulary.escalation_fields();
            let mut names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), fields.len(), "{vocabulary:?}");
            let has = |source| fields.iter().any(|(_, it)| *it == source);
            assert!(has(EscalationSource::State) && has(EscalationSource::Severity));
        }
    }

    /// VO3
    #[test]
    fn a_mailbox_is_read_back_as_the_same() {
        for vocabulary in Vocabulary::ALL {
            for word in ["role:worker", "role:patrol", "role:crew", "bob", "operator"] {
                assert_eq!(vocabulary.our_mailbox(&vocabulary.mailbox(word)), word);
            }
        }
        assert_eq!(Vocabulary::GasTown.mailbox("role:worker"), "role:polecat");
        assert_eq!(Vocabulary::S3.mailbox("role:worker"), "role:worker");
        assert_eq!(Vocabulary::GasTown.mailbox("worker"), "worker", "an agent of that name");
    }
}

//! The fields of the document that stands for a checkpoint, in the form of each seed (VO4).
//!
//! S3's is its hook file (§2.3.2), HAAK's the text that an agent leaves before it is frozen. Phases of work are S3's
//! everywhere: no other seed names any.

use super::Vocabulary;

/// What a field of a seed's document of a checkpoint is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointSource {
    Agent,
    Role,
    Number,
    At,
    Why,
    Session,
    Phase,
    /// All phases so far, with their times.
    Phases,
    Summary,
    Snapshot,
    Situation,
    Task,
    /// The task's name outside.
    TaskReference,
    OpenStep,
    Decisions,
    Knowledge,
    Questions,
    /// What its session, or git, shows to be changed.
    Files,
    Tests,
    /// How to go on, in Perennial's words.
    Resumption,
    /// How to go on, in the agent's.
    Instructions,
    /// Whether anybody can go on with the work.
    Standing,
    Fixed(&'static str),
}

type Field = (&'static str, CheckpointSource);

const HAAK: [Field; 9] = [
    ("session_id", CheckpointSource::Session),
    ("frozen_at", CheckpointSource::At),
    ("role", CheckpointSource::Role),
    ("primary_situation", CheckpointSource::Situation),
    ("key_decisions", CheckpointSource::Decisions),
    ("accumulated_knowledge", CheckpointSource::Knowledge),
    ("open_questions", CheckpointSource::Questions),
    ("files_changed", CheckpointSource::Files),
    ("handoff_notes", CheckpointSource::Instructions),
];

const TAVERN: [Field; 6] = [
    ("checkpoint", CheckpointSource::Number),
    ("agent", CheckpointSource::Agent),
    ("at", CheckpointSource::At),
    ("reason", CheckpointSource::Why),
    ("changeset", CheckpointSource::Snapshot),
    ("summary", CheckpointSource::Summary),
];

const JULIAN: [Field; 7] = [
    ("type", CheckpointSource::Fixed("checkpoint")),
    ("checkpointId", CheckpointSource::Number),
    ("agentName", CheckpointSource::Agent),
    ("lastSessionId", CheckpointSource::Session),
    ("createdAt", CheckpointSource::At),
    ("phase", CheckpointSource::Phase),
    ("summary", CheckpointSource::Summary),
];

const S3: [Field; 13] = [
    ("schema_version", CheckpointSource::Fixed("1.0")),
    ("identity_name", CheckpointSource::Agent),
    ("node_id", CheckpointSource::Task),
    ("pipeline_id", CheckpointSource::Situation),
    ("bead_id", CheckpointSource::TaskReference),
    ("current_phase", CheckpointSource::Phase),
    ("work_summary", CheckpointSource::Summary),
    ("last_checkpoint_at", CheckpointSource::At),
    ("files_modified", CheckpointSource::Files),
    ("tests_status", CheckpointSource::Tests),
    ("phase_history", CheckpointSource::Phases),
    ("resumption_instructions", CheckpointSource::Resumption),
    ("hook_status", CheckpointSource::Standing),
];

const GAS_TOWN: [Field; 8] = [
    ("checkpoint", CheckpointSource::Number),
    ("agent", CheckpointSource::Agent),
    ("role", CheckpointSource::Role),
    ("session", CheckpointSource::Session),
    ("at", CheckpointSource::At),
    ("bead", CheckpointSource::Task),
    ("step", CheckpointSource::OpenStep),
    ("notes", CheckpointSource::Summary),
];

impl Vocabulary {
    /// The fields of the document that stands for a checkpoint.
    pub fn checkpoint_fields(self) -> &'static [(&'static str, CheckpointSource)] {
        match self {
            Vocabulary::Haak => &HAAK,
            Vocabulary::Tavern => &TAVERN,
            Vocabulary::Julian => &JULIAN,
            Vocabulary::S3 => &S3,
            Vocabulary::GasTown => &GAS_TOWN,
        }
    }
}

impl CheckpointSource {
    /// What it is, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            CheckpointSource::Agent => "its agent's name",
            CheckpointSource::Role => "its agent's role then, in the vocabulary's word",
            CheckpointSource::Number => "its number",
            CheckpointSource::At => "when it was taken",
            CheckpointSource::Why => "why it was taken",
            CheckpointSource::Session => "the id of its session",
            CheckpointSource::Phase => "the phase of the work",
            CheckpointSource::Phases => "the phases so far, each with its times",
            CheckpointSource::Summary => "where the work stood",
            CheckpointSource::Snapshot => "the number of its snapshot",
            CheckpointSource::Situation => "the situation then",
            CheckpointSource::Task => "the task then",
            CheckpointSource::TaskReference => {
                "that task's outside reference, while the agent has it"
            }
            CheckpointSource::OpenStep => "the number of the task's first open step",
            CheckpointSource::Decisions => "what the agent said that it decided",
            CheckpointSource::Knowledge => "what the agent said that it knows",
            CheckpointSource::Questions => "what the agent said that is open",
            CheckpointSource::Files => "the files that differ from HEAD, or that were edited",
            CheckpointSource::Tests => "how the last test run ended, or `unknown`",
            CheckpointSource::Resumption => "how to go on, as Perennial says it",
            CheckpointSource::Instructions => "how to go on, as the agent said it",
            CheckpointSource::Standing => {
                "`active`, or `abandoned` once the agent is in the cemetery"
            }
            CheckpointSource::Fixed(_) => "always the same",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_checkpoint_have_names_of_their_own() {
        for vocabulary in Vocabulary::ALL {
            let fields = vocabulary.checkpoint_fields();
            let mut names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), fields.len(), "{vocabulary:?}");
            let has = |source| fields.iter().any(|(_, it)| *it == source);
            assert!(has(CheckpointSource::At), "{vocabulary:?}");
        }
    }
}

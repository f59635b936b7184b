//! What the seeds call a task's states, and the fields of the document that stands for a task (VO1, VO2, VO4).

use super::{StateWord, Vocabulary};
use crate::task::{BlockedOn, TaskState};

/// What a word for a task's state is chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskCondition {
    Open,
    Taken,
    Claimed,
    /// Blocked on work or on something outside.
    Blocked,
    /// Given back too often.
    Failed,
    Split,
    Verified,
    /// Verified, and its work merged. Nothing is merged by Perennial yet.
    Merged,
    Dropped,
}

/// What a field of a seed's document of a task is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSource {
    Id,
    Title,
    State,
    StateDetail,
    Reason,
    /// Who has it, or on whose queue it lies.
    Assignee,
    /// The same, where that is an agent.
    Agent,
    /// The role on whose queue it lies.
    Role,
    Project,
    Steps,
    /// Its first open step, counted from 1.
    OpenStep,
    Parent,
    Parts,
    DependsOn,
    Reference,
    AddedAt,
    ChangedAt,
    Rounds,
    /// How its check ended last.
    CheckResult,
    CheckOutput,
    /// Who left it, where it is an open loop.
    OpenLoop,
    Fixed(&'static str),
}

type Field = (&'static str, TaskSource);

const HAAK: [Field; 8] = [
    ("situation_id", TaskSource::Id),
    ("state", TaskSource::State),
    ("actor", TaskSource::Agent),
    ("method", TaskSource::Role),
    ("domain", TaskSource::Project),
    ("description", TaskSource::Title),
    ("registered", TaskSource::AddedAt),
    ("updated", TaskSource::ChangedAt),
];

const TAVERN: [Field; 7] = [
    ("queue_item", TaskSource::Id),
    ("task", TaskSource::Title),
    ("state", TaskSource::State),
    ("activity", TaskSource::StateDetail),
    ("agent", TaskSource::Assignee),
    ("reason", TaskSource::Reason),
    ("open_loop", TaskSource::OpenLoop),
];

const JULIAN: [Field; 7] = [
    ("type", TaskSource::Fixed("task")),
    ("status", TaskSource::State),
    ("taskId", TaskSource::Id),
    ("name", TaskSource::Title),
    ("agentName", TaskSource::Agent),
    ("createdAt", TaskSource::AddedAt),
    ("updatedAt", TaskSource::ChangedAt),
];

const S3: [Field; 12] = [
    ("schema_version", TaskSource::Fixed("1.0")),
    ("identity_name", TaskSource::Agent),
    ("node_id", TaskSource::Id),
    ("pipeline_id", TaskSource::Parent),
    ("bead_id", TaskSource::Reference),
    ("work_summary", TaskSource::Title),
    ("requested_at", TaskSource::AddedAt),
    ("status", TaskSource::State),
    ("tests_status", TaskSource::CheckResult),
    ("attempts", TaskSource::Rounds),
    ("last_error", TaskSource::CheckOutput),
    ("target_dir", TaskSource::Project),
];

const GAS_TOWN: [Field; 11] = [
    ("bead", TaskSource::Id),
    ("title", TaskSource::Title),
    ("state", TaskSource::State),
    ("hook", TaskSource::StateDetail),
    ("assignee", TaskSource::Assignee),
    ("molecule", TaskSource::Steps),
    ("step", TaskSource::OpenStep),
    ("epic", TaskSource::Parent),
    ("sub_tasks", TaskSource::Parts),
    ("blockers", TaskSource::DependsOn),
    ("notes", TaskSource::Reason),
];

impl TaskCondition {
    pub const ALL: [TaskCondition; 9] = [
        TaskCondition::Open,
        TaskCondition::Taken,
        TaskCondition::Claimed,
        TaskCondition::Blocked,
        TaskCondition::Failed,
        TaskCondition::Split,
        TaskCondition::Verified,
        TaskCondition::Merged,
        TaskCondition::Dropped,
    ];

    pub fn of(state: &TaskState) -> TaskCondition {
        match state {
            TaskState::Open => TaskCondition::Open,
            TaskState::Taken => TaskCondition::Taken,
            TaskState::Claimed(_) => TaskCondition::Claimed,
            TaskState::Blocked(BlockedOn::Work | BlockedOn::Outside) => TaskCondition::Blocked,
            TaskState::Blocked(BlockedOn::Rounds) => TaskCondition::Failed,
            TaskState::Split => TaskCondition::Split,
            TaskState::Verified(_) => TaskCondition::Verified,
            TaskState::Dropped => TaskCondition::Dropped,
        }
    }

    /// By our word for the state, and for what a task is blocked on.
    pub fn of_words(state: &str, blocked_on: Option<&str>) -> Option<TaskCondition> {
        let is_given_back = blocked_on == Some(BlockedOn::Rounds.word());
        let fits = |one: &TaskCondition| match one {
            TaskCondition::Merged => false,
            TaskCondition::Failed => one.our_word() == state && is_given_back,
            TaskCondition::Blocked => one.our_word() == state && !is_given_back,
            TaskCondition::Open
            | TaskCondition::Taken
            | TaskCondition::Claimed
            | TaskCondition::Split
            | TaskCondition::Verified
            | TaskCondition::Dropped => one.our_word() == state,
        };
        TaskCondition::ALL.into_iter().find(fits)
    }

    /// Our word for the state.
    pub fn our_word(self) -> &'static str {
        match self {
            TaskCondition::Open => "open",
            TaskCondition::Taken => "taken",
            TaskCondition::Claimed => "claimed",
            TaskCondition::Blocked | TaskCondition::Failed => "blocked",
            TaskCondition::Split => "split",
            TaskCondition::Verified | TaskCondition::Merged => "verified",
            TaskCondition::Dropped => "dropped",
        }
    }
}

impl Vocabulary {
    /// What a task's state is called (VO1).
    pub fn task_state(self, condition: TaskCondition) -> StateWord {
        let plain = |state| StateWord { state, detail: None };
        match self {
            // The seeds have no tasks (VO4).
            Vocabulary::Haak | Vocabulary::Julian => plain(condition.our_word()),
            Vocabulary::Tavern => tavern(condition),
            Vocabulary::S3 => plain(s3(condition)),
            Vocabulary::GasTown => gas_town(condition),
        }
    }

    /// Every word that is accepted for a task's state (VO2).
    pub fn task_state_words(self) -> Vec<&'static str> {
        let mut words = Vec::new();
        for said in TaskCondition::ALL.map(|condition| self.task_state(condition)) {
            for word in [Some(said.state), said.detail].into_iter().flatten() {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        words
    }

    /// What a word can mean; nothing for a word that is not one of its own.
    pub fn task_conditions(self, word: &str) -> Vec<TaskCondition> {
        let is_meant = |condition: &TaskCondition| {
            let said = self.task_state(*condition);
            said.state == word || said.detail == Some(word)
        };
        TaskCondition::ALL.into_iter().filter(is_meant).collect()
    }

    /// The fields of the document that stands for a task.
    pub fn task_fields(self) -> &'static [(&'static str, TaskSource)] {
        match self {
            Vocabulary::Haak => &HAAK,
            Vocabulary::Tavern => &TAVERN,
            Vocabulary::Julian => &JULIAN,
            Vocabulary::S3 => &S3,
            Vocabulary::GasTown => &GAS_TOWN,
        }
    }
}

/// The seed's "completed vs in-progress vs pending work"; done is not yet verified there either.
fn tavern(condition: TaskCondition) -> StateWord {
    let plain = |state| StateWord { state, detail: None };
    match condition {
        TaskCondition::Open => plain("pending"),
        TaskCondition::Claimed => StateWord { state: "in-progress", detail: Some("done") },
        TaskCondition::Taken
        | TaskCondition::Blocked
        | TaskCondition::Failed
        | TaskCondition::Split => plain("in-progress"),
        TaskCondition::Verified | TaskCondition::Merged => plain("completed"),
        TaskCondition::Dropped => plain("dropped"),
    }
}

/// From the seed's states of hooks (§2.3.2), of entries in its queue (§2.3.3) and of nodes (§1).
fn s3(condition: TaskCondition) -> &'static str {
    match condition {
        TaskCondition::Open => "pending",
        TaskCondition::Taken
        | TaskCondition::Claimed
        | TaskCondition::Blocked
        | TaskCondition::Split => "active",
        TaskCondition::Failed => "failed",
        TaskCondition::Verified => "validated",
        TaskCondition::Merged => "merged",
        TaskCondition::Dropped => "abandoned",
    }
}

/// The seed's issues are open or closed; what is within is its own words, except `dropped`.
fn gas_town(condition: TaskCondition) -> StateWord {
    let open = |detail| StateWord { state: "open", detail };
    let closed = |detail| StateWord { state: "closed", detail };
    match condition {
        TaskCondition::Open => open(None),
        TaskCondition::Taken => open(Some("pinned")),
        TaskCondition::Claimed => open(Some("done")),
        TaskCondition::Blocked | TaskCondition::Failed => open(Some("blocked")),
        TaskCondition::Split => open(Some("decomposed")),
        TaskCondition::Verified | TaskCondition::Merged => closed(None),
        TaskCondition::Dropped => closed(Some("dropped")),
    }
}

impl TaskSource {
    /// What it is, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            TaskSource::Id => "its id",
            TaskSource::Title => "its title",
            TaskSource::State => "its state, in the vocabulary's word",
            TaskSource::StateDetail => "the state within its state",
            TaskSource::Reason => "why it is in its state",
            TaskSource::Assignee => "who has it, or on whose queue it lies",
            TaskSource::Agent => "the agent that has it, or on whose queue it lies",
            TaskSource::Role => "the role on whose queue it lies, in the vocabulary's word",
            TaskSource::Project => "its project",
            TaskSource::Steps => "its steps, each with its state, open or closed",
            TaskSource::OpenStep => "the number of its first open step",
            TaskSource::Parent => "the task that it is a part of",
            TaskSource::Parts => "the tasks that it was split into",
            TaskSource::DependsOn => "the tasks that it waits for",
            TaskSource::Reference => "its outside reference",
            TaskSource::AddedAt => "when it was added",
            TaskSource::ChangedAt => "since when it has been in its state",
            TaskSource::Rounds => "how often it was given back",
            TaskSource::CheckResult => "`passing` or `failing`, as its check ended last",
            TaskSource::CheckOutput => "the end of its last check's output, if that failed",
            TaskSource::OpenLoop => "who left it, if it is an open loop",
            TaskSource::Fixed(_) => "always the same",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Awaiting, Verifier};

    /// One of each state of a task, and of each thing that a task is blocked on.
    fn states() -> Vec<TaskState> {
        let blocked = BlockedOn::ALL.map(TaskState::Blocked);
        let mut states = vec![TaskState::Open, TaskState::Taken, TaskState::Split];
        states.push(TaskState::Claimed(Awaiting::Word));
        states.push(TaskState::Verified(Verifier::Operator));
        states.push(TaskState::Dropped);
        states.extend(blocked);
        states
    }

    /// VO1, VO2
    #[test]
    fn every_state_of_a_task_has_a_word_and_every_word_means_a_state() {
        let states = states();
        for word in TaskState::WORDS {
            assert!(states.iter().any(|state| state.word() == word), "{word} is tried");
        }
        for (vocabulary, words) in [
            (Vocabulary::Haak, &TaskState::WORDS[..]),
            (Vocabulary::Tavern, &["pending", "in-progress", "done", "completed", "dropped"]),
            (Vocabulary::Julian, &TaskState::WORDS),
            (Vocabulary::S3, &["pending", "active", "failed", "validated", "merged", "abandoned"]),
            (
                Vocabulary::GasTown,
                &["open", "pinned", "done", "blocked", "decomposed", "closed", "dropped"],
            ),
        ] {
            assert_eq!(vocabulary.task_state_words(), words, "{vocabulary:?}");
            for state in &states {
                let condition = TaskCondition::of(state);
                assert_eq!(condition.our_word(), state.word());
                let said = vocabulary.task_state(condition);
                assert!(vocabulary.task_conditions(said.state).contains(&condition), "{state:?}");
                let blocked_on = match state {
                    TaskState::Blocked(on) => Some(on.word()),
                    TaskState::Open
                    | TaskState::Taken
                    | TaskState::Claimed(_)
                    | TaskState::Split
                    | TaskState::Verified(_)
                    | TaskState::Dropped => None,
                };
                let again = TaskCondition::of_words(state.word(), blocked_on);
                assert_eq!(again, Some(condition));
            }
            assert!(vocabulary.task_conditions("no-such-word").is_empty());
            // Nothing is merged yet: no state of a task is called so.
            assert!(states.iter().all(|state| TaskCondition::of(state) != TaskCondition::Merged));
        }
        assert_eq!(TaskCondition::of_words("lost", None), None);
    }

    #[test]
    fn the_fields_of_a_task_have_names_of_their_own() {
        for vocabulary in Vocabulary::ALL {
            let fields = vocabulary.task_fields();
            let mut names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), fields.len(), "{vocabulary:?}");
            let has = |source| fields.iter().any(|(_, it)| *it == source);
            assert!(has(TaskSource::Id) && has(TaskSource::State) && has(TaskSource::Title));
        }
    }
}

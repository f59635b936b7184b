//! What the seeds call an agent's states, and the fields of the document that stands for an agent (VO1, VO2).

use super::Vocabulary;
use crate::reason::Reason;
use crate::state::{Roster, State};

/// What a word for an agent's state is chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    pub state: State,
    /// Nothing where the reason is not one of the record.
    pub reason: Option<Reason>,
    /// Unconfirmed for longer than the threshold of `ls --stale`.
    pub is_stale: bool,
    /// Its work was merged.
    pub is_merged: bool,
}

/// A state in the words of a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateWord {
    pub state: &'static str,
    /// The state within the state, where the seed has one.
    pub detail: Option<&'static str>,
}

/// What a field of a seed's document is filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Name,
    State,
    StateDetail,
    ReasonText,
    Role,
    Parent,
    Model,
    SessionId,
    Pid,
    TmuxSession,
    Directory,
    Summary,
    /// The summary of an agent in the cemetery.
    FinalSummary,
    ContextPercent,
    CreatedAt,
    ChangedAt,
    LastSeen,
    PredecessorId,
    RespawnCount,
    /// All situations.
    Situations,
    /// The first situation.
    Situation,
    Task,
    /// The task's name outside.
    TaskReference,
    FreezeState,
    HookPath,
    /// A part of the soul: colour, face, position and the like.
    Soul,
    /// A word that never changes.
    Fixed(&'static str),
}

/// A field of a seed's document, and what it holds.
pub type Field = (&'static str, Source);

impl Vocabulary {
    /// What an agent's state is called (VO1).
    pub fn state(self, condition: Condition) -> StateWord {
        match self {
            Vocabulary::Haak => plain(haak(condition.state)),
            Vocabulary::Tavern => tavern(condition),
            Vocabulary::Julian => plain(julian(condition.state)),
            Vocabulary::S3 => plain(s3(condition)),
            // The seed names no states of agents.
            Vocabulary::GasTown => plain(condition.state.word()),
        }
    }

    /// Every word that is accepted for a state (VO2).
    pub fn state_words(self) -> Vec<&'static str> {
        let mut words = Vec::new();
        for said in conditions().map(|condition| self.state(condition)) {
            for word in [Some(said.state), said.detail].into_iter().flatten() {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        words
    }

    /// Whether the word means this condition: as a state, or as a state within one.
    pub fn means(self, word: &str, condition: Condition) -> bool {
        let said = self.state(condition);
        said.state == word || said.detail == Some(word)
    }

    /// The states that a word can mean, whatever the reason; none for a word that is not one of its own.
    pub fn states(self, word: &str) -> Vec<State> {
        let is_meant = |state: &State| {
            let mut of_state = conditions().filter(|condition| condition.state == *state);
            of_state.any(|condition| self.means(word, condition))
        };
        State::ALL.into_iter().filter(is_meant).collect()
    }

    /// The fields of the document that stands for an agent, in the seed's order.
    pub fn fields(self) -> &'static [Field] {
        match self {
            Vocabulary::Haak => &HAAK_FIELDS,
            Vocabulary::Tavern => &TAVERN_FIELDS,
            Vocabulary::Julian => &JULIAN_FIELDS,
            Vocabulary::S3 => &S3_FIELDS,
            Vocabulary::GasTown => &GAS_TOWN_FIELDS,
        }
    }
}

const HAAK_FIELDS: [Field; 11] = [
    ("session_id", Source::SessionId),
    ("state", Source::State),
    ("model", Source::Model),
    ("role", Source::Role),
    ("summary", Source::Summary),
    ("context_pct", Source::ContextPercent),
    ("situation_ids", Source::Situations),
    ("registered", Source::CreatedAt),
    ("updated", Source::ChangedAt),
    ("final_summary", Source::FinalSummary),
    ("freeze_state", Source::FreezeState),
];

const TAVERN_FIELDS: [Field; 6] = [
    ("name", Source::Name),
    ("state", Source::State),
    ("activity", Source::StateDetail),
    ("parent", Source::Parent),
    ("reason", Source::ReasonText),
    ("summary", Source::Summary),
];

const JULIAN_FIELDS: [Field; 12] = [
    ("type", Source::Fixed("agent-identity")),
    ("status", Source::State),
    ("name", Source::Name),
    ("color", Source::Soul),
    ("colorName", Source::Soul),
    ("gender", Source::Soul),
    ("gridPosition", Source::Soul),
    ("faceVariant", Source::Soul),
    ("individuationArtifact", Source::Soul),
    ("createdAt", Source::CreatedAt),
    ("lastAliveAt", Source::LastSeen),
    ("lastSessionId", Source::SessionId),
];

const S3_FIELDS: [Field; 17] = [
    ("schema_version", Source::Fixed("1.0")),
    ("identity_name", Source::Name),
    ("role", Source::Role),
    ("session_id", Source::SessionId),
    ("pid", Source::Pid),
    ("tmux_session", Source::TmuxSession),
    ("node_id", Source::Task),
    ("pipeline_id", Source::Situation),
    ("bead_id", Source::TaskReference),
    ("worktree_path", Source::Directory),
    ("hook_path", Source::HookPath),
    ("created_at", Source::CreatedAt),
    ("last_seen", Source::LastSeen),
    ("status", Source::State),
    ("predecessor_id", Source::PredecessorId),
    ("respawn_count", Source::RespawnCount),
    ("target_dir", Source::Directory),
];

const GAS_TOWN_FIELDS: [Field; 7] = [
    ("agent", Source::Name),
    ("role", Source::Role),
    ("state", Source::State),
    ("session", Source::SessionId),
    ("bead", Source::Task),
    ("context_pct", Source::ContextPercent),
    ("notes", Source::Summary),
];

impl Source {
    /// What it is, for people.
    pub fn meaning(self) -> &'static str {
        match self {
            Source::Name => "its name",
            Source::State => "its state, in the vocabulary's word",
            Source::StateDetail => "the state within its state",
            Source::ReasonText => "why it is in its state",
            Source::Role => "its role, in the vocabulary's word",
            Source::Parent => "its parent's name",
            Source::Model => "its model",
            Source::SessionId => "the id of its newest session",
            Source::Pid => "the process of its newest session",
            Source::TmuxSession => "the tmux session that has its pane",
            Source::Directory => "the directory that it works in",
            Source::Summary => "its summary",
            Source::FinalSummary => "its summary, once it is in the cemetery",
            Source::ContextPercent => "how much of its usable context window is filled",
            Source::CreatedAt => "when it was spawned",
            Source::ChangedAt => "since when it has been in its state",
            Source::LastSeen => "when it was last confirmed",
            Source::PredecessorId => "the id of the session before",
            Source::RespawnCount => "how many sessions followed a crash",
            Source::Situations => "its situations",
            Source::Situation => "its primary situation",
            Source::Task => "its task",
            Source::TaskReference => "its task's outside reference",
            Source::FreezeState => "the path of its freeze-state",
            Source::HookPath => "the path of its checkpoint's file",
            Source::Soul => "a part of its soul",
            Source::Fixed(_) => "always the same",
        }
    }
}

/// Every combination that a word is chosen by.
pub fn conditions() -> impl Iterator<Item = Condition> {
    let reasons = || Reason::ALL.into_iter().map(Some).chain([None]);
    State::ALL.into_iter().flat_map(move |state| {
        reasons().flat_map(move |reason| {
            [(false, false), (true, false), (false, true), (true, true)]
                .into_iter()
                .map(move |(is_stale, is_merged)| Condition { state, reason, is_stale, is_merged })
        })
    })
}

fn plain(state: &'static str) -> StateWord {
    StateWord { state, detail: None }
}

fn haak(state: State) -> &'static str {
    match state.roster() {
        Roster::Living => "live",
        Roster::Freezer => "frozen",
        Roster::Cemetery => "dead",
    }
}

fn tavern(condition: Condition) -> StateWord {
    let alive = |detail| StateWord { state: "alive", detail: Some(detail) };
    match condition.state {
        State::Hatching | State::Waking | State::Working | State::HandingOff => alive("working"),
        // What is not known may wait for somebody as well as it may work.
        State::Waiting | State::Unknown | State::Crashed => alive("waiting"),
        State::Sleeping | State::Hibernating | State::Frozen => plain("hibernating"),
        State::Dead => StateWord { state: "dead", detail: Some(tavern_death(condition.reason)) },
        State::Expired => StateWord { state: "dead", detail: Some("failed") },
    }
}

/// The seed's "marked as expired" is an agent whose task is done.
fn tavern_death(reason: Option<Reason>) -> &'static str {
    match reason {
        Some(Reason::Completed) => "expired",
        Some(Reason::Reaped) => "reaped",
        Some(Reason::GaveUp | Reason::NeverNamed) => "failed",
        Some(
            Reason::Retired
            | Reason::Starting
            | Reason::Running
            | Reason::InTurn
            | Reason::BackgroundTasks
            | Reason::Idle
            | Reason::NeedsPermission
            | Reason::NeedsAnswer
            | Reason::RateLimited
            | Reason::ServiceFailed
            | Reason::LimitReached
            | Reason::FirstRunDialog
            | Reason::SilentAtStart
            | Reason::StoppedInTurn
            | Reason::DaemonStarted
            | Reason::HolderUnreachable
            | Reason::LeadSilent
            | Reason::Silent
            | Reason::RecordUnreadable
            | Reason::HomeCopied
            | Reason::RecordLost
            | Reason::HandoffAsked
            | Reason::Retrying
            | Reason::BreakerOpen
            | Reason::Finished
            | Reason::Stopped
            | Reason::CrashedRestartOff
            | Reason::MachineRestarted
            | Reason::LeadEnded
            | Reason::Unlisted
            | Reason::TaskDone
            | Reason::FrozenByOrder,
        )
        | None => "retired",
    }
}

fn julian(state: State) -> &'static str {
    match state {
        State::Hatching => "hatching",
        State::Working | State::Waiting | State::HandingOff => "alive",
        State::Sleeping | State::Hibernating | State::Frozen | State::Crashed => "sleeping",
        State::Unknown | State::Waking => "unknown",
        // The seed has one terminal state, which hides the agent and deletes nothing.
        State::Dead | State::Expired => "expired",
    }
}

fn s3(condition: Condition) -> &'static str {
    match condition.state {
        State::Hatching | State::Waking | State::Working | State::Waiting | State::HandingOff => {
            "active"
        }
        State::Unknown => match condition.is_stale {
            true => "stale",
            false => "active",
        },
        State::Crashed => "crashed",
        State::Dead if condition.is_merged => "merged",
        State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
            "terminated"
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    fn present(state: State, reason: Reason) -> Condition {
        Condition { state, reason: Some(reason), is_stale: false, is_merged: false }
    }

    /// VO1, VO2
    #[test]
    fn every_state_has_a_word_and_every_word_means_a_state() {
        for (vocabulary, words) in [
            (Vocabulary::Haak, &["live", "frozen", "dead"][..]),
            (
                Vocabulary::Tavern,
                &[
                    "alive",
                    "working",
                    "waiting",
                    "hibernating",
                    "dead",
                    "retired",
                    "expired",
                    "reaped",
                    "failed",
                ],
            ),
            (Vocabulary::Julian, &["hatching", "unknown", "alive", "sleeping", "expired"]),
            (Vocabulary::S3, &["active", "stale", "crashed", "terminated", "merged"]),
            (Vocabulary::GasTown, &State::ALL.map(State::word)),
        ] {
            assert_eq!(vocabulary.state_words(), words, "{vocabulary:?}");
            for condition in conditions() {
                let said = vocabulary.state(condition);
                assert!(words.contains(&said.state), "{vocabulary:?} {condition:?}");
            }
            assert!(words.iter().all(|word| !vocabulary.states(word).is_empty()));
            assert!(vocabulary.states("no-such-word").is_empty());
        }
    }

    /// The paragraph of the model, word for word.
    #[test]
    fn the_model_says_the_same() {
        let idle = |state| present(state, Reason::Idle);
        let said = |vocabulary: Vocabulary, state| vocabulary.state(idle(state)).state;
        assert_eq!(Vocabulary::Julian.states("alive")[..2], [State::Working, State::Waiting]);
        for state in [State::Sleeping, State::Hibernating, State::Frozen, State::Crashed] {
            assert_eq!(said(Vocabulary::Julian, state), "sleeping");
        }
        for state in [State::Unknown, State::Waking] {
            assert_eq!(said(Vocabulary::Julian, state), "unknown");
        }
        assert_eq!(said(Vocabulary::S3, State::Unknown), "active");
        let stale = Condition { is_stale: true, ..idle(State::Unknown) };
        assert_eq!(Vocabulary::S3.state(stale).state, "stale");
        let merged = Condition { is_merged: true, ..present(State::Dead, Reason::Completed) };
        assert_eq!(Vocabulary::S3.state(merged).state, "merged");
        let done = Vocabulary::Tavern.state(present(State::Dead, Reason::Completed));
        assert_eq!(done, StateWord { state: "dead", detail: Some("expired") });
        let never = Vocabulary::Tavern.state(present(State::Expired, Reason::NeverNamed));
        assert_eq!(never, StateWord { state: "dead", detail: Some("failed") });
    }

    #[test]
    fn the_ends_of_a_life_in_each_seeds_words() {
        let merged = Condition { is_merged: true, ..present(State::Expired, Reason::NeverNamed) };
        assert_eq!(Vocabulary::S3.state(merged).state, "terminated", "nothing of it was merged");
        let gave_up = Vocabulary::Tavern.state(present(State::Dead, Reason::GaveUp));
        assert_eq!(gave_up, StateWord { state: "dead", detail: Some("failed") });
        let handing = present(State::HandingOff, Reason::HandoffAsked);
        assert_eq!(Vocabulary::Julian.state(handing).state, "alive");
    }
}

//! Words for the plain values of events, as they lie in the journal.
//!
//! The core may rename its own; a word here is never changed or given another meaning, since old
//! records hold it. `golden/words.json` has them all.

use std::borrow::Cow;

use perennial_core::checkpoint::CheckpointCause;
use perennial_core::context::{Source, Threshold};
use perennial_core::conversation::{Followed, Turn};
use perennial_core::escalation::{EscalationCause, EscalationEnd, Severity};
use perennial_core::exit::UnknownExit;
use perennial_core::handoff::{Answer, HandoffCause, TurnStands};
use perennial_core::hold::HeldFor;
use perennial_core::keeping::MissCause;
use perennial_core::launch::HostKind;
use perennial_core::legacy::LegacyKind;
use perennial_core::message::{Channel, Held, Priority, Withdrawer};
use perennial_core::reason::{Reason, Show, Verb};
use perennial_core::restart::Restart;
use perennial_core::role::{CycleUnit, Interesting, Span, Verify};
use perennial_core::session::Pace;
use perennial_core::signal::SignalKind;
use perennial_core::snapshot::{DropCause, SnapshotCause};
use perennial_core::state::{Cause, State};
use perennial_core::succession::{Afresh, Beginning};
use perennial_core::symptom::{Symptom, Urgency};
use perennial_core::task::BlockedOn;
use perennial_core::work::{Indicator, WorkPhase};
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

use crate::projection::MessageStep;

/// A value that is stored as one word.
pub(crate) trait Word: Copy + Sized + 'static {
    /// Every value with its word.
    const WORDS: &'static [(Self, &'static str)];

    fn word(self) -> &'static str;

    fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
    }
}

/// Reads and writes `T` as its word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worded<T>(pub T);

impl<T: Word> Serialize for Worded<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<'de, T: Word> Deserialize<'de> for Worded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Worded<T>, D::Error> {
        let word = Cow::<str>::deserialize(deserializer)?;
        let value = T::of_word(&word);
        value.map(Worded).ok_or_else(|| D::Error::custom(format_args!("unknown word {word:?}")))
    }
}

// One table for both directions; the match makes the compiler ask for a word of every new value.
macro_rules! words {
    ($of:ident: $($value:ident $word:literal),* $(,)?) => {
        impl Word for $of {
            const WORDS: &'static [($of, &'static str)] = &[$(($of::$value, $word)),*];

            fn word(self) -> &'static str {
                match self {
                    $($of::$value => $word),*
                }
            }
        }
    };
}

words! { State:
    Hatching "hatching", Waking "waking", Working "working", Waiting "waiting",
    Unknown "unknown", HandingOff "handing-off", Crashed "crashed", Sleeping "sleeping",
    Hibernating "hibernating", Frozen "frozen", Dead "dead", Expired "expired",
}

words! { Cause:
    Announced "announced", StartLimit "start-limit", NeverNamed "never-named",
    TurnBegan "turn-began", TurnEnded "turn-ended", ConfirmationLost "confirmation-lost",
    SeenWorking "seen-working", SeenWaiting "seen-waiting", EndedFinished "ended-finished",
    EndedRestartOff "ended-restart-off", EndedCrashed "ended-crashed", EndedAgain "ended-again",
    Retry "retry", GaveUp "gave-up", Wake "wake", Stop "stop", Unlisted "unlisted",
    Listed "listed", Unreported "unreported", HandoffAsked "handoff-asked",
    HandedOff "handed-off", Rested "rested", Completed "completed", TaskQueued "task-queued",
    Frozen "frozen", Approved "approved", Restarted "restarted", Reaped "reaped", Buried "buried", RebootedBusy "rebooted-busy",
    RebootedIdle "rebooted-idle", DialogSeen "dialog-seen", BackgroundWork "background-work",
}

words! { Reason:
    Starting "starting", Running "running", InTurn "in-turn", Idle "idle",
    NeedsPermission "needs-permission", NeedsAnswer "needs-answer", RateLimited "rate-limited",
    FirstRunDialog "first-run-dialog", DaemonStarted "daemon-started",
    HolderUnreachable "holder-unreachable", LeadSilent "lead-silent",
    RecordUnreadable "record-unreadable", HandoffAsked "handoff-asked", Retrying "retrying",
    BreakerOpen "breaker-open", Finished "finished", Stopped "stopped",
    CrashedRestartOff "crashed-restart-off", MachineRestarted "machine-restarted",
    LeadEnded "lead-ended", Unlisted "unlisted", TaskDone "task-done",
    FrozenByOrder "frozen-by-order", Completed "completed", Reaped "reaped", Retired "retired",
    GaveUp "gave-up", NeverNamed "never-named", ServiceFailed "service-failed", Silent "silent",
    BackgroundTasks "background-tasks", LimitReached "limit-reached",
    SilentAtStart "silent-at-start", StoppedInTurn "stopped-in-turn", HomeCopied "home-copied",
    RecordLost "record-lost",
}

words! { Verb:
    Look "look", Attach "attach", Send "send", Logs "logs", Spawn "spawn", Stop "stop",
    Wake "wake", Rename "rename", Bury "bury", Down "down", Report "report",
    Post "post", Restart "restart", Up "up", Set "set", Prune "prune", Clean "clean",
    Assume "assume", Transfer "transfer", Drop "drop", Mail "mail",
    Signal "signal", Escalate "escalate",
    Task "task", TaskWork "task-work", TaskAssign "task-assign", TaskVerify "task-verify",
    TaskDrop "task-drop", Snapshot "snapshot", Checkpoint "checkpoint", Handoff "handoff",
}

words! { LegacyKind: Board "board", Blog "blog", Autobiography "autobiography" }
words! { SnapshotCause: Asked "asked", BeforeRestore "before-restore", PlannedEnd "planned-end",
Crash "crash", Reboot "reboot", PhaseChange "phase-change", Commit "commit", Checkpoint "checkpoint" }
words! { DropCause: Number "number", Age "age" }
words! { MissCause: TookTooLong "took-too-long", NoWorkTree "no-work-tree",
Unsupported "unsupported", Failed "failed", HomeCopied "home-copied" }
words! { HandoffCause:
    Verb "verb", Agent "agent", Clock "clock", Units "units", Interesting "interesting", Symptom "symptom",
}
words! { Answer:
    Checkpoint "checkpoint", Word "word", TurnEnded "turn-ended", Ordered "ordered", Deaf "deaf",
}
words! { TurnStands: Idle "idle", Runs "runs", Asks "asks" }
words! { CycleUnit:
    Assignment "assignment", Round "round", Interaction "interaction", Merge "merge", Operator "operator",
}
words! { Interesting:
    LifecycleRequest "lifecycle-request", Remediation "remediation", Escalation "escalation",
    ComplexRebase "complex-rebase", Conflict "conflict",
}
words! {
    Symptom: Words "words", OwnWord "own-word", Compaction "compaction", Compacted "compacted",
    Thrash "thrash",
}
words! { Urgency: Low "low", Medium "medium", High "high" }
words! { CheckpointCause:
    AskedByAgent "agent", AskedByOperator "operator", Phase "phase", Commit "commit",
    PlannedEnd "planned-end", Crash "crash", Handoff "handoff", BeforeCompaction "before-compaction",
    Finished "finished",
}
words! { Span: Mortal "mortal", Persistent "persistent" }
words! { Verify: Word "word", Trust "trust" }
words! { BlockedOn: Work "work", Outside "outside", Rounds "rounds" }
words! { Pace: Graceful "graceful", AtOnce "at-once" }
words! { Restart: Never "never", OnCrash "on-crash", Always "always" }
words! { HostKind: Shim "shim", Tmux "tmux" }
words! { UnknownExit:
    HolderDied "holder-died", MachineRestarted "machine-restarted", NotStarted "not-started",
    HomeCopied "home-copied",
}

words! { Show:
    SessionBegan "session-began", TurnBegan "turn-began", TurnEnded "turn-ended",
    PermissionDialog "permission-dialog", Question "question", RateLimit "rate-limit",
    ServiceError "service-error", NothingAtFirst "nothing-at-first",
    NothingInTurn "nothing-in-turn", BackgroundWork "background-work",
    LimitReached "limit-reached", AccessRefused "access-refused", TooLong "too-long",
}

words! { Followed:
    Started "started", Resumed "resumed", Cleared "cleared", Compacted "compacted",
    Forked "forked",
}

words! {
    Beginning: Birth "birth", Crash "crash", Again "again", Wake "wake", Stop "stop", Restart "restart",
        Reboot "reboot", Handoff "handoff", Compaction "compaction"
}
words! { Afresh: Asked "asked", Handoff "handoff", Churn "churn", Thrash "thrash" }

words! { Turn: Over "over", Open "open", Stopped "stopped" }
words! { HeldFor: Verdict "verdict", Person "person", Damage "damage" }
words! { Threshold: Half "half", ThreeQuarters "three-quarters", NineTenths "nine-tenths" }
words! {
    Source: StatusLine "status-line", Transcript "transcript", Table "model-table",
        Reported "self-reported", Estimated "estimated"
}
words! { Priority: Low "low", Normal "normal", High "high", Urgent "urgent" }
words! { Channel: Typing "typing", HookReply "hook-reply", TurnEnd "turn-end" }
words! { Withdrawer: Person "person", Outdated "outdated" }
words! { Held:
    Draft "draft", Doubt "doubt", Dialog "dialog", Suspended "suspended", NotDrawn "not-drawn",
    NoEcho "no-echo", Leftover "leftover", Busy "busy", Full "full", OldHolder "old-holder", SessionEnded "session-ended",
    NotTaken "not-taken", Damaged "damaged", Unfit "unfit", LongLine "long-line",
    HomeCopied "home-copied", Blocked "blocked",
}
words! { MessageStep:
    Recorded "recorded", Offered "offered", Entered "entered", Held "held", Heard "heard",
    Seen "seen", Withdrawn "withdrawn", Returned "returned",
}
words! { WorkPhase:
    Investigation "investigation", Planning "planning", Implementation "implementation",
    Testing "testing", Completion "completion",
}
words! { Indicator:
    PlanTold "plan-told", TaskListMade "task-list-made", FileEdited "file-edited",
    WorkDelegated "work-delegated", TestsRun "tests-run", TestsDelegated "tests-delegated",
    TestsPassed "tests-passed", CompletionTold "completion-told", CommitMade "commit-made",
    LookedAround "looked-around", TrialRun "trial-run", TrialsRemoved "trials-removed",
}
words! { Severity: Low "low", Medium "medium", High "high", Critical "critical" }
words! { EscalationCause:
    Asked "asked", ScopeGrew "scope-grew", SplitHasDependants "split-has-dependants",
    BlockedOutside "blocked-outside", ChecksFailed "checks-failed",
}
words! { EscalationEnd: Seen "seen", Withdrawn "withdrawn" }
words! { SignalKind:
    NeedsReview "NEEDS_REVIEW", NeedsInput "NEEDS_INPUT", Violation "VIOLATION",
    OrchestratorStuck "ORCHESTRATOR_STUCK", OrchestratorCrashed "ORCHESTRATOR_CRASHED",
    NodeComplete "NODE_COMPLETE", ValidationPassed "VALIDATION_PASSED",
    ValidationFailed "VALIDATION_FAILED", InputResponse "INPUT_RESPONSE",
    KillOrchestrator "KILL_ORCHESTRATOR", Guidance "GUIDANCE",
    ValidationComplete "VALIDATION_COMPLETE", AgentRegistered "AGENT_REGISTERED",
    AgentCrashed "AGENT_CRASHED", AgentTerminated "AGENT_TERMINATED",
    HookUpdated "HOOK_UPDATED", MergeReady "MERGE_READY", MergeConflict "MERGE_CONFLICT",
    MergeComplete "MERGE_COMPLETE", ContextWarning "CONTEXT_WARNING",
    HandoffRequested "HANDOFF_REQUESTED", HandoffComplete "HANDOFF_COMPLETE",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn words<T: Word>() -> Vec<&'static str> {
        T::WORDS.iter().map(|(_, word)| *word).collect()
    }

    /// A word that changes here makes old records unreadable.
    #[test]
    fn words_are_those_of_the_golden_file() {
        let known = BTreeMap::from([
            ("state", words::<State>()),
            ("cause", words::<Cause>()),
            ("reason", words::<Reason>()),
            ("verb", words::<Verb>()),
            ("legacy-kind", words::<LegacyKind>()),
            ("snapshot-cause", words::<SnapshotCause>()),
            ("drop-cause", words::<DropCause>()),
            ("miss-cause", words::<MissCause>()),
            ("handoff-cause", words::<HandoffCause>()),
            ("handoff-answer", words::<Answer>()),
            ("turn-stands", words::<TurnStands>()),
            ("cycle-unit", words::<CycleUnit>()),
            ("interesting", words::<Interesting>()),
            ("symptom", words::<Symptom>()),
            ("urgency", words::<Urgency>()),
            ("checkpoint-cause", words::<CheckpointCause>()),
            ("span", words::<Span>()),
            ("verify", words::<Verify>()),
            ("blocked-on", words::<BlockedOn>()),
            ("pace", words::<Pace>()),
            ("restart", words::<Restart>()),
            ("host", words::<HostKind>()),
            ("unknown-exit", words::<UnknownExit>()),
            ("show", words::<Show>()),
            ("followed", words::<Followed>()),
            ("turn", words::<Turn>()),
            ("afresh", words::<Afresh>()),
            ("beginning", words::<Beginning>()),
            ("held-for", words::<HeldFor>()),
            ("threshold", words::<Threshold>()),
            ("source", words::<Source>()),
            ("work-phase", words::<WorkPhase>()),
            ("indicator", words::<Indicator>()),
            ("priority", words::<Priority>()),
            ("channel", words::<Channel>()),
            ("withdrawer", words::<Withdrawer>()),
            ("held", words::<Held>()),
            ("message-step", words::<MessageStep>()),
            ("severity", words::<Severity>()),
            ("escalation-cause", words::<EscalationCause>()),
            ("escalation-end", words::<EscalationEnd>()),
            ("signal-kind", words::<SignalKind>()),
        ]);
        let golden = include_str!("../../golden/words.json");
        assert_eq!(serde_json::to_string_pretty(&known).unwrap() + "\n", golden);
    }

    #[test]
    fn every_word_is_read_back() {
        fn check<T: Word + PartialEq + std::fmt::Debug>() {
            for (value, word) in T::WORDS {
                assert_eq!(T::of_word(word), Some(*value));
                assert_eq!(value.word(), *word);
            }
            assert_eq!(T::of_word("nonsense"), None);
        }
        check::<State>();
        check::<Cause>();
        check::<Reason>();
        check::<Verb>();
        check::<Verify>();
        check::<HandoffCause>();
        check::<Answer>();
        check::<TurnStands>();
        check::<CycleUnit>();
        check::<Interesting>();
        check::<Symptom>();
        check::<Urgency>();
        check::<BlockedOn>();
        check::<Pace>();
        check::<Restart>();
        check::<HostKind>();
        check::<UnknownExit>();
        check::<Show>();
        check::<Followed>();
        check::<Turn>();
        check::<Afresh>();
        check::<Beginning>();
        check::<HeldFor>();
        check::<Threshold>();
        check::<Source>();
        check::<WorkPhase>();
        check::<Indicator>();
        check::<Priority>();
        check::<Channel>();
        check::<Withdrawer>();
        check::<Held>();
        check::<Severity>();
        check::<EscalationCause>();
        check::<EscalationEnd>();
        check::<SignalKind>();
        assert_eq!(State::WORDS.len(), State::ALL.len());
        assert_eq!(Cause::WORDS.len(), Cause::ALL.len());
        assert_eq!(Reason::WORDS.len(), Reason::ALL.len());
        assert_eq!(Followed::WORDS.len(), Followed::ALL.len());
        assert_eq!(Threshold::WORDS.len(), Threshold::ALL.len());
        assert_eq!(WorkPhase::WORDS.len(), WorkPhase::ALL.len());
        assert_eq!(Indicator::WORDS.len(), Indicator::ALL.len());
    }
}

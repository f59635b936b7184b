//! The words for the kinds of events.

use super::What;

// A table; the match makes the compiler ask for a word of every new kind.
macro_rules! kinds {
    ($($case:ident $word:literal),* $(,)?) => {
        impl What {
            /// The word for its kind, as `kind` has it.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(What::$case { .. } => $word,)*
                    What::Handoff(handoff) => handoff.kind(),
                    What::Task(task) => task.kind(),
                }
            }
        }
    };
}

kinds! {
    Hatched "hatched",
    Moved "moved",
    Rehomed "rehomed",
    Held "held",
    HoldLifted "hold-lifted",
    SessionWanted "session-wanted",
    SessionStarting "session-starting",
    SessionRunning "session-running",
    SessionEnding "session-ending",
    SessionFound "session-found",
    SessionEnded "session-ended",
    SessionProgressed "session-progressed",
    ConversationFollowed "conversation-followed",
    WindowBegan "window-began",
    ClockPassed "clock-passed",
    ClockTold "clock-told",
    PhaseReported "phase-reported",
    PhaseFound "phase-found",
    Renamed "renamed",
    Summarised "summarised",
    LegacyLeft "legacy-left",
    BurialAsked "burial-asked",
    RestEarned "rest-earned",
    RestTakenBack "rest-taken-back",
    RoundPassed "round-passed",
    TookRole "took-role",
    LeftRole "left-role",
    SettingsChanged "settings-changed",
    PutOff "put-off",
    SnapshotTaken "snapshot-taken",
    SnapshotWanted "snapshot-wanted",
    SnapshotUnchanged "snapshot-unchanged",
    SnapshotMissed "snapshot-missed",
    RestoreBegun "restore-begun",
    RestoreEnded "restore-ended",
    SnapshotsDropped "snapshots-dropped",
    SnapshotsRemoved "snapshots-removed",
    CheckpointTaken "checkpoint-taken",
    DaemonStarted "daemon-started",
    DaemonStopped "daemon-stopped",
    JournalRestored "journal-restored",
    RecordsLost "records-lost",
    RecordingsPruned "recordings-pruned",
    AgentCleaned "agent-cleaned",
    Taken "taken",
    Left "left",
    MessageRecorded "message-recorded",
    MessageOffered "message-offered",
    MessageEntered "message-entered",
    MessageHeld "message-held",
    MessageBlocked "message-blocked",
    MessageHeard "message-heard",
    MessageSeen "message-seen",
    MessageWithdrawn "message-withdrawn",
    MessageReturned "message-returned",
    MessageForwarded "message-forwarded",
    MessageRead "message-read",
    PostWritten "post-written",
    PostVacancyAnnounced "post-vacancy-announced",
    RoleTaken "role-taken",
    RoleLeft "role-left",
    RoleVacated "role-vacated",
    RoleDismissed "role-dismissed",
    JobWanted "job-wanted",
    JobRunning "job-running",
    JobEnded "job-ended",
    SignalSent "signal-sent",
    EscalationOpened "escalation-opened",
    EscalationRaised "escalation-raised",
    EscalationEnded "escalation-ended",
    Unreadable "unreadable",
}

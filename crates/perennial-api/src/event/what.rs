//! What happened, kind by kind: `kind` and `data` of an event.
//!
//! Words (states, reasons, causes, …) are text: a newer daemon may know more of them.

mod kind;

use serde::{Deserialize, Serialize};

use super::of_handoff::HandoffWhat;
use super::of_task::TaskWhat;
use super::part::{
    Author, Claimed, Content, Evidence, Exit, Hatched, JobEnd, Moved, Opening, Process, Purpose,
    Sample, SettingsChanged, Text, Witness,
};
use crate::agent::Moment;
use crate::role::{Mandate, Vacancy};

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "data", rename_all = "kebab-case")]
pub enum What {
    /// An agent was born.
    Hatched(Box<Hatched>),
    /// An agent changed its state, or the reason for it.
    Moved(Moved),
    /// The agent's sessions run on this node from here on.
    Rehomed {
        node: String,
    },
    /// Nothing starts, prompts or ends the agent by itself from here on.
    Held {
        /// `verdict`, `person` or `damage`.
        held_for: String,
        evidence: Evidence,
        #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
        since: Moment,
    },
    HoldLifted {
        evidence: Evidence,
    },
    /// A session is to be started when its turn comes.
    SessionWanted {
        number: u32,
        opening: Opening,
    },
    /// The order to start a session was given.
    SessionStarting {
        number: u32,
        /// How long the agent has from here on to give a first sign of life.
        limit_seconds: f64,
    },
    /// The session's program was executed.
    SessionRunning {
        number: u32,
        process: Process,
    },
    /// A session was found running that the journal had no record of.
    SessionFound {
        number: u32,
        opening: Opening,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        process: Option<Process>,
    },
    SessionEnding {
        number: u32,
        /// `graceful` or `at-once`.
        pace: String,
    },
    SessionEnded {
        number: u32,
        exit: Exit,
    },
    /// The session's harness showed that work was done; told once for each session.
    SessionProgressed {
        number: u32,
    },
    /// The session's conversation is this one now.
    ConversationFollowed {
        number: u32,
        conversation: String,
        /// `started`, `resumed`, `cleared`, `compacted` or `forked`.
        how: String,
    },
    /// A new context window began.
    WindowBegan {
        number: u32,
    },
    /// The context window is used up to a threshold.
    ClockPassed {
        number: u32,
        /// `half`, `three-quarters` or `nine-tenths`.
        threshold: String,
        sample: Sample,
    },
    /// The session was told so.
    ClockTold {
        number: u32,
        threshold: String,
    },
    /// The agent said where its work stands.
    PhaseReported {
        phase: String,
    },
    /// What the session did or said shows where the agent's work stands.
    PhaseFound {
        number: u32,
        phase: String,
        /// What showed it, such as `file-edited` or `tests-run`.
        indicator: String,
        /// When that was, by its source.
        seen_at: Moment,
    },
    Renamed {
        name: String,
    },
    /// The agent, or whoever buried it, said in short what it does or leaves behind.
    Summarised {
        summary: String,
    },
    /// The agent left a text for those who come after it.
    LegacyLeft {
        /// `board`, `blog` or `autobiography`.
        kind: String,
        /// How the text begins.
        head: String,
        bytes: u64,
    },
    /// A snapshot of the agent's work tree was taken.
    SnapshotTaken {
        number: u32,
        /// `asked`, `before-restore`, `planned-end`, `crash`, `reboot`, `phase-change`, `commit` or `checkpoint`.
        why: String,
        commit: String,
        base: Option<String>,
        files: u64,
        bytes: u64,
        left_out: u32,
        torn: u32,
        evidence: Evidence,
    },
    /// A snapshot is to be taken; sessions may wait for it until then.
    SnapshotWanted {
        wish: u32,
        /// Why, as in `snapshot-taken`.
        why: String,
        until: String,
    },
    /// Nothing has changed since this snapshot.
    SnapshotUnchanged {
        wish: u32,
        why: String,
        number: u32,
    },
    /// No snapshot could be taken.
    SnapshotMissed {
        wish: u32,
        why: String,
        /// `took-too-long`, `no-work-tree`, `unsupported`, `failed` or `home-copied`.
        cause: String,
        told: String,
    },
    /// The files of a snapshot are about to be put back.
    RestoreBegun {
        number: u32,
        /// The snapshot of what was there before.
        present: u32,
        with_index: bool,
        evidence: Evidence,
    },
    /// A restore has ended; no session started in its work tree meanwhile.
    RestoreEnded {
        number: u32,
        /// The snapshot of what was there before.
        present: u32,
        written: u64,
        removed: u64,
        indexes: u32,
        /// Why it stopped before its end.
        failed: Option<String>,
        /// How many files were then neither written nor removed that should have been, and the first of them.
        left: u64,
        listed: Option<Vec<String>>,
    },
    /// These snapshots are not kept any longer.
    SnapshotsDropped {
        numbers: Vec<u32>,
        /// `number` or `age`.
        why: String,
    },
    /// The files of dropped snapshots are gone.
    SnapshotsRemoved {
        numbers: Vec<u32>,
        bytes: u64,
    },
    /// Where the agent's work stands was recorded.
    CheckpointTaken {
        number: u32,
        /// `agent`, `operator`, `phase`, `commit`, `planned-end`, `crash`, `finished`, `handoff` or
        /// `before-compaction`.
        why: String,
        session: u32,
        phase: String,
        /// Where the work stands, on one line.
        summary: Option<String>,
        /// The snapshot of its work tree that belongs to it.
        snapshot: Option<u32>,
        evidence: Evidence,
    },
    /// The agent asked to be buried when its turn has ended.
    BurialAsked {
        evidence: Evidence,
    },
    /// A task of the agent's was verified: it rests when nothing else is left for it to do.
    RestEarned {
        task: String,
    },
    /// Somebody has more for the agent: it does not rest.
    RestTakenBack {},
    /// A round of the agent's role was given to a session or taken back; the next interval begins.
    RoundPassed {
        round: u64,
    },
    /// The agent holds this role from here on, and no other.
    TookRole {
        role: String,
        mandate: Mandate,
        /// `mortal` or `persistent`.
        span: String,
        /// The agent that handed it over, by its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<String>,
        evidence: Evidence,
    },
    /// The agent holds no role from here on.
    LeftRole {
        /// The agent that it handed the role over to, by its id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        evidence: Evidence,
    },
    /// An agent's settings were changed: what is absent stayed as it was.
    SettingsChanged(SettingsChanged),
    /// Nobody could see the world for a while (the machine was suspended).
    PutOff {
        /// When the state ends by itself, now.
        #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
        until: Option<Moment>,
        unseen_seconds: f64,
    },
    DaemonStarted {
        epoch: u64,
        /// The machine's boot id.
        boot: String,
        version: String,
    },
    DaemonStopped {
        epoch: u64,
    },
    /// The journal can be written again; it could not be since then.
    JournalRestored {
        #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
        since: Moment,
    },
    /// The journal was known to reach the record `known`; it ended at `found`, or had another one there.
    RecordsLost {
        known: u64,
        found: u64,
    },
    /// What these sessions of an agent printed was removed from the machine.
    RecordingsPruned {
        /// The agent's id.
        agent: String,
        sessions: Vec<u64>,
        bytes: u64,
        /// A person, or the daemon by `keep_recordings_days`.
        by: Witness,
    },
    /// Our copies of these conversations of an agent in the cemetery were removed from the machine.
    AgentCleaned {
        /// The agent's id.
        agent: String,
        harness: String,
        conversations: Vec<String>,
        bytes: u64,
        by: Witness,
    },
    /// An agent has this name or conversation from here on.
    Taken(Claimed),
    /// The name or conversation is free again.
    Left(Claimed),
    /// A text for an agent was recorded.
    MessageRecorded {
        /// The agent's id; of mail also `role:NAME` or `operator`.
        to: String,
        /// `person`, `perennial` or `agent`.
        from: String,
        /// Left out for those who may not read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Content>,
    },
    /// The text was given to a session.
    MessageOffered {
        session: u32,
        attempt: u32,
    },
    /// The text was typed, and Enter pressed.
    MessageEntered {
        attempt: u32,
        /// Nothing more will be known of it: a bare command has it.
        last: bool,
    },
    /// The attempt came to nothing.
    MessageHeld {
        attempt: u32,
        why: String,
        /// It is not tried again before.
        #[cfg_attr(feature = "schema", schemars(extend("format" = "date-time")))]
        until: Moment,
    },
    /// A hook of the user's refused the text as a prompt, in these words. It is not typed again.
    MessageBlocked {
        attempt: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
    /// The agent CLI said that it has the text.
    MessageHeard {
        attempt: u32,
    },
    /// The conversation holds the text.
    MessageSeen {
        session: u32,
    },
    MessageWithdrawn {
        /// `person` or `outdated`.
        by: String,
    },
    /// The agent was buried before it had the text.
    MessageReturned {},
    /// Mail waits in another mailbox from here on.
    MessageForwarded {
        /// An agent's id, or `role:NAME`.
        to: String,
    },
    /// The recipient of a mail asked for it.
    MessageRead {
        /// Of the agent; none of the operator.
        session: Option<u32>,
    },
    PostWritten {
        by: Author,
        title: Option<String>,
        text: Text,
    },
    /// Perennial put it on the board: a role has no living holder any more.
    PostVacancyAnnounced(Vacancy),
    /// An agent took the role.
    RoleTaken {
        /// The agent's id.
        by: String,
        /// It is of the living roster.
        living: bool,
    },
    /// An agent left the role, or was buried.
    RoleLeft {
        /// The agent's id.
        by: String,
    },
    /// No living agent holds the role any more.
    RoleVacated(Vacancy),
    /// A person dismissed the role's vacancy.
    RoleDismissed {},
    /// A command that Perennial runs itself is to be run.
    JobWanted {
        /// Where it is run.
        node: String,
        purpose: Purpose,
        /// Left out for those who may not see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        argv: Option<Vec<String>>,
        dir: String,
        limit_seconds: f64,
    },
    JobRunning {
        number: u32,
        process: Process,
    },
    JobEnded {
        number: u32,
        end: JobEnd,
        /// The end of what it printed. Left out for those who may not see it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
    },
    /// Somebody sent a signal. What Perennial itself emits follows from other events.
    SignalSent {
        /// Its kind, such as `NEEDS_INPUT`.
        signal: String,
        /// The agent's id, or `person`.
        by: String,
        /// The agent's id, or `operator`.
        to: String,
        /// Left out for those who may not read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<serde_json::Map<String, serde_json::Value>>,
    },
    /// Somebody wants a matter looked at, or a rule does.
    EscalationOpened {
        /// The agent's id, or `person`.
        by: String,
        cause: String,
        severity: String,
        /// Left out for those who may not read it, as the text is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<Text>,
        /// The agent's id, `role:NAME` or `operator`.
        to: String,
        /// When it is raised unless it is seen; never from the operator.
        until: Option<Moment>,
    },
    /// Nobody had seen it: it is told one step higher.
    EscalationRaised {
        /// The agent's id, `role:NAME` or `operator`.
        to: String,
        until: Option<Moment>,
    },
    EscalationEnded {
        /// `seen` or `withdrawn`.
        how: String,
    },
    /// A record that can't be read: damaged, or of a newer program.
    Unreadable {
        /// What it calls itself, as far as that can be made out.
        stored_kind: String,
        form: u64,
        /// Left out for those who may not see it: it may quote the record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Something happened about a handoff of its session.
    #[serde(untagged)]
    Handoff(HandoffWhat),
    /// Something happened to a task.
    #[serde(untagged)]
    Task(TaskWhat),
}

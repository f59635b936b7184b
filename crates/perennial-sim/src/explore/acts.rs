//! What may happen to a world from outside, and how often each of it does.

/// Something that happens to a world from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Spawn,
    Stop,
    StopAll,
    Wake,
    Restart,
    /// Its restart policy or its parent is changed, and it may be given a session.
    Set,
    Rename,
    Bury,
    /// An agent says where its work stands.
    Report,
    /// An agent stops, wakes or restarts another, its own child or not.
    Interfere,
    AnswerDialog,
    /// Somebody who may not.
    Stranger,
    EndProgram,
    KillHolder,
    HangHolder,
    FreeHolder,
    CrashDaemon,
    StartDaemon,
    StopDaemon,
    RaceDaemons,
    Reboot,
    FillDisk,
    FreeDisk,
    JumpClock,
    /// The wall clock goes back, and with it the dates that agent CLIs write.
    SetClockBack,
    /// What was recorded can't be read any more, if no daemon runs.
    DamageRecord,
    /// A person sends a text, sometimes two at once.
    Send,
    Unsend,
    /// Somebody writes to an agent, a team, the operator or a role that nobody holds.
    Mail,
    /// A person begins a draft in an input line, or takes it away.
    Draft,
    /// Somebody adds a task, or does something with one.
    Task,
    /// Somebody escalates, or reads what was escalated.
    Escalate,
    /// A dead agent is cleaned, or somebody tries that.
    Clean,
    /// A person, the agent or its parent asks for a handoff, or ends the wait for one.
    Handoff,
}

/// Each act with its weight, and whether it is a fault that some seeds do without.
pub(super) const ACTS: [(Act, u64, bool); 34] = [
    (Act::Spawn, 10, false),
    (Act::Stop, 10, false),
    (Act::StopAll, 1, false),
    (Act::Wake, 14, false),
    (Act::Restart, 5, false),
    (Act::Handoff, 8, false),
    (Act::Set, 4, false),
    (Act::Rename, 3, false),
    (Act::Bury, 3, false),
    (Act::Report, 2, false),
    (Act::Interfere, 6, false),
    (Act::AnswerDialog, 6, false),
    (Act::Stranger, 1, false),
    (Act::EndProgram, 10, true),
    (Act::KillHolder, 6, true),
    (Act::HangHolder, 4, true),
    (Act::FreeHolder, 4, false),
    (Act::CrashDaemon, 10, true),
    (Act::StartDaemon, 12, false),
    (Act::StopDaemon, 2, true),
    (Act::RaceDaemons, 3, true),
    (Act::Reboot, 4, true),
    (Act::FillDisk, 4, true),
    (Act::FreeDisk, 8, false),
    (Act::JumpClock, 4, true),
    (Act::SetClockBack, 3, true),
    (Act::DamageRecord, 6, true),
    (Act::Send, 20, true),
    (Act::Unsend, 3, false),
    (Act::Mail, 20, true),
    (Act::Draft, 6, true),
    (Act::Task, 12, true),
    (Act::Escalate, 8, false),
    (Act::Clean, 4, false),
];

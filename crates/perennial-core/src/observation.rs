//! Reports from the world: facts, not wishes.
//!
//! A report about another session number than the agent's newest says nothing.

use std::time::Duration;

use crate::checkpoint::{CheckpointCause, CheckpointDraft};
use crate::context::Sample;
use crate::conversation::{ConversationId, Followed};
use crate::effect::Timer;
use crate::entity::Entity;
use crate::event::Birth;
use crate::exit::{Exit, UnknownExit};
use crate::id::{AgentId, BootId, Epoch, JobId, MessageId, SessionNumber};
use crate::job::JobReport;
use crate::keeping::KeepOutcome;
use crate::message::{Outcome, Trace};
use crate::retention::Recordings;
use crate::session::Process;
use crate::snapshot::{SnapshotCause, SnapshotReport};
use crate::symptom::Symptom;
use crate::text::TextBody;
use crate::time::Time;
use crate::work::Indicator;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observation {
    Session {
        agent: AgentId,
        number: SessionNumber,
        report: Report,
    },
    /// What the harness of a session shows: by its hooks, its files, its transcript.
    Harness {
        agent: AgentId,
        number: SessionNumber,
        sign: Sign,
    },
    /// A trace of texts in what a session shows.
    Traced {
        agent: AgentId,
        number: SessionNumber,
        trace: Trace,
    },
    /// The session should be reminded of its context clock, after `calls` tool calls.
    ReminderDue {
        agent: AgentId,
        number: SessionNumber,
        calls: u64,
        sample: Option<Sample>,
    },
    /// How an attempt to type a text went.
    Delivered {
        message: MessageId,
        attempt: u32,
        outcome: Outcome,
    },
    Job {
        job: JobId,
        number: u32,
        report: JobReport,
    },
    /// What an order to take a snapshot came to.
    Kept {
        agent: AgentId,
        wish: u32,
        why: SnapshotCause,
        outcome: KeepOutcome,
        /// The checkpoint that was composed with it.
        checkpoint: Option<Box<CheckpointDraft>>,
    },
    /// What was done for the snapshots of an agent.
    Snapshots {
        agent: AgentId,
        report: SnapshotReport,
    },
    /// A checkpoint was composed where no snapshot was wanted.
    Composed {
        agent: AgentId,
        why: CheckpointCause,
        draft: Box<CheckpointDraft>,
    },
    /// An agent has spent more; how much, the fleet was told (`Fleet::set_spent`).
    Spent {
        agent: AgentId,
    },
    /// A time that `plan` named for this entity has passed.
    Due {
        entity: Entity,
        timer: Timer,
    },
    /// The daemon began to run.
    Started {
        boot: BootId,
        version: String,
        /// The home was copied: what its records say to run is the original's.
        is_copy: bool,
        stocktaking: Stocktaking,
    },
    /// Holders obey a daemon of this epoch, which the journal does not know, and refuse this one.
    Outranked {
        by: Epoch,
        version: String,
    },
    /// The daemon is about to end in an orderly way.
    Stopping,
    /// The journal took nothing since then. That it did is recorded as soon as it takes something.
    JournalFailed {
        since: Time,
    },
    /// What lies on this machine of what sessions printed, for the time limit of the configuration.
    RecordingsFound(Vec<Recordings>),
    /// The wall clock moved ahead by this much while the machine was suspended.
    ClockJumped {
        by: Duration,
    },
}

/// How the journal and the world differ when a daemon starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stocktaking {
    /// The newest session of every holder that lives.
    pub living: Vec<LivingSession>,
    /// The journal was known to reach a record that it does not have.
    pub lost: Option<LostRecords>,
}

/// A session that a living holder has, whatever the journal says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LivingSession {
    pub agent: AgentId,
    pub number: SessionNumber,
    /// Its program, while that runs.
    pub process: Option<Process>,
    /// What lies beside the holder about the agent: a claim, of which nothing gives anybody a right.
    pub claim: Option<Box<Birth>>,
    /// Whether the journal has a record of the agent, in memory or not.
    pub has_records: bool,
}

impl LivingSession {
    /// Whether the claim says what the agent's sessions run.
    pub fn has_program(&self) -> bool {
        let launch = self.claim.as_ref().map(|claim| &claim.launch);
        launch.is_some_and(|launch| !launch.is_empty())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostRecords {
    /// The last record that was known.
    pub known: u64,
    /// The last one that there is.
    pub found: u64,
}

/// What the host says of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// Its program was executed.
    Executed(Process),
    /// It could not be started; it never ran.
    NotStarted(String),
    /// Its main process ended. For a session asked to end: its whole tree is gone.
    Exited(Exit),
    /// The same, with an exit that its harness has when all is well.
    Finished(Exit),
}

/// What a harness shows of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sign {
    /// It is up, with this conversation.
    Began {
        conversation: ConversationId,
        how: Followed,
    },
    TurnBegan,
    /// The turn has ended, and work that it began continues in the background.
    BackgroundWork,
    /// It reminds that it waits for input: no turn has ended by this.
    StillIdle,
    /// The turn has ended, or can't continue without a person.
    Waits(Wait),
    /// It got something done.
    Progressed,
    /// The window of this conversation, of which it may be one that was left meanwhile.
    Measured {
        conversation: Option<ConversationId>,
        sample: Sample,
    },
    /// In the conversation that it has: by a compaction, or a `/clear` that is told late.
    WindowBegan,
    /// The turn has used this much of the usable window so far, in percent: as much as a whole assignment does.
    LargeTurn {
        percent: u64,
    },
    /// It shows a symptom of a window that is running out, of which this is the last measure.
    Symptom {
        symptom: Symptom,
        sample: Option<Sample>,
    },
    /// Its status line was drawn, and measured nothing: a sign of life.
    Drawn,
    /// The vendor's own list has it so since then: in a turn, or what it waits for. Another opinion.
    VendorStatus {
        wait: Option<Wait>,
        since: Time,
    },
    /// In a turn, and nothing at all was heard of it for too long: it hangs.
    Hangs,
    /// Something showed where its work stands, then. It says nothing of its turn or its life.
    Worked {
        indicator: Indicator,
        at: Time,
    },
    /// There is a new commit in its work tree since then, by whomever.
    Committed {
        at: Time,
    },
}

/// What a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Input,
    Permission,
    Answer,
    /// The vendor's rate limit, until then if it said so; the harness tries again by itself.
    RateLimit(Option<Time>),
    /// The turn was given up at the vendor's limit, which ends then if it said so.
    LimitReached(Option<Time>),
    /// The turn ended with an error of the vendor's service.
    Failure,
    /// The turn ended because the vendor refused credentials, account or payment.
    Refused,
    /// The turn ended because the conversation no longer fits into the window.
    TooLong,
}

impl Observation {
    /// The texts that events of it may name for the first time.
    pub fn texts(&self) -> Vec<TextBody> {
        match self {
            Observation::Kept { checkpoint, .. } => {
                checkpoint.iter().map(|draft| draft.body.clone()).collect()
            }
            Observation::Composed { draft, .. } => vec![draft.body.clone()],
            Observation::Session { .. }
            | Observation::Harness { .. }
            | Observation::Snapshots { .. }
            | Observation::Traced { .. }
            | Observation::ReminderDue { .. }
            | Observation::Delivered { .. }
            | Observation::Job { .. }
            | Observation::Spent { .. }
            | Observation::Due { .. }
            | Observation::Started { .. }
            | Observation::Outranked { .. }
            | Observation::Stopping
            | Observation::JournalFailed { .. }
            | Observation::RecordingsFound(_)
            | Observation::ClockJumped { .. } => Vec::new(),
        }
    }
}

impl Report {
    pub fn exit(&self) -> Option<Exit> {
        match self {
            Report::Executed(_) => None,
            Report::NotStarted(_) => Some(Exit::Unknown(UnknownExit::NotStarted)),
            Report::Exited(exit) | Report::Finished(exit) => Some(*exit),
        }
    }
}

//! The life of one session: a single incarnation of one agent.
//!
//! Pure: no clock, no I/O; time arrives as an argument.
//!
//! Invariants
//! - S1  `Ended` is final.
//! - S2  Phases only go forward: wanted, starting, running, ending, ended.
//! - S3  A session is started at most once, crashes of the daemon included: its number is its fence.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::conversation::{ConversationId, Opening};
use crate::exit::{Exit, UnknownExit};
use crate::id::SessionNumber;
use crate::time::Time;

/// One incarnation of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    pub number: SessionNumber,
    pub phase: Phase,
    pub process: Option<Process>,
    pub wanted_at: Time,
    pub started_at: Option<Time>,
    pub ended_at: Option<Time>,
    pub exit: Option<Exit>,
    /// It ended as its program does when all is well.
    pub is_clean: bool,
    /// It was asked to end.
    pub was_asked: bool,
    pub opening: Opening,
    /// Its harness gave a sign of life.
    pub has_announced: bool,
    /// It got something done, as far as its harness shows.
    pub has_progressed: bool,
    /// For how much of its life the machine was suspended.
    pub unseen: Duration,
    /// When the world could be seen again, if it ever could not.
    pub seen_again_at: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// It waits for its turn to start.
    Wanted,
    /// The order to start it stands; nothing has confirmed it yet.
    Starting,
    /// Its program was executed.
    Running,
    /// It was asked to end; done when no process of it is left.
    Ending(Pace),
    Ended,
}

/// How a session is asked to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Pace {
    /// Interrupt, then TERM, then KILL.
    Graceful,
    /// KILL.
    AtOnce,
}

/// A process that cannot be mistaken for a later one with the same pid on the same boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Process {
    pub pid: i32,
    /// Clock ticks after boot, as /proc/PID/stat has it.
    pub start_ticks: u64,
}

/// What happens to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    Wanted,
    Starting,
    Running(Process),
    Ending(Pace),
    Ended { exit: Exit, is_clean: bool },
}

impl Session {
    pub fn wanted(number: SessionNumber, opening: Opening, at: Time) -> Session {
        Session {
            number,
            phase: Phase::Wanted,
            process: None,
            wanted_at: at,
            started_at: None,
            ended_at: None,
            exit: None,
            is_clean: false,
            was_asked: false,
            opening,
            has_announced: false,
            has_progressed: false,
            unseen: Duration::ZERO,
            seen_again_at: None,
        }
    }

    /// A session that a holder has and nobody recorded. What it showed before is not known, so that it
    /// is not waited for.
    pub fn found(
        number: SessionNumber,
        opening: Opening,
        process: Option<Process>,
        at: Time,
    ) -> Session {
        Session {
            phase: Phase::Running,
            process,
            started_at: Some(at),
            has_announced: true,
            ..Session::wanted(number, opening, at)
        }
    }

    /// The conversation that it was begun with.
    pub fn taken_up(&self) -> Option<&ConversationId> {
        match &self.opening {
            Opening::Bare => None,
            Opening::Fresh(own)
            | Opening::Resume { conversation: own, .. }
            | Opening::Anew { conversation: own, .. } => Some(own),
        }
    }

    /// From when on time counts that began then: a suspended machine does nothing.
    pub fn seen_since(&self, time: Time) -> Time {
        self.seen_again_at.map_or(time, |again| again.max(time))
    }

    /// Whether its program runs or ran, or it is known that it never will. One that was asked to end
    /// before that is not begun: the next one may be to come.
    pub fn has_begun(&self) -> bool {
        match self.phase {
            Phase::Wanted | Phase::Starting | Phase::Ending(_) => false,
            Phase::Running | Phase::Ended => true,
        }
    }

    /// Whether its program was executed, as far as anybody saw: one whose start failed, or that was withdrawn while it waited
    /// in line, did nothing that another could go on with.
    pub fn has_run(&self) -> bool {
        let has_ended_itself = match self.exit {
            Some(Exit::Code(_) | Exit::KillSignal(_)) => true,
            Some(Exit::Unknown(_)) | None => false,
        };
        self.has_announced || self.started_at.is_some() || has_ended_itself
    }

    /// Whether it ended without its program having been executed.
    pub fn could_not_start(&self) -> bool {
        self.exit == Some(Exit::Unknown(UnknownExit::NotStarted))
    }

    pub fn is_over(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Folds one event; one that would go back says nothing.
    pub fn evolve(mut self, event: &SessionEvent, at: Time) -> Session {
        match (event, self.phase) {
            (SessionEvent::Starting, Phase::Wanted) => self.phase = Phase::Starting,
            (SessionEvent::Running(process), Phase::Starting) => {
                self.phase = Phase::Running;
                self.process = Some(*process);
                self.started_at = Some(at);
            }
            (SessionEvent::Running(process), Phase::Running) if self.process.is_none() => {
                self.process = Some(*process);
            }
            // Asked to end before its start was confirmed: it goes on ending, with a face.
            (SessionEvent::Running(process), Phase::Ending(_)) => {
                self.process = Some(*process);
                self.started_at = Some(at);
            }
            (
                SessionEvent::Ending(pace),
                Phase::Wanted | Phase::Starting | Phase::Running | Phase::Ending(_),
            ) => {
                self.phase = Phase::Ending(*pace);
                self.was_asked = true;
            }
            (
                SessionEvent::Ended { exit, is_clean },
                Phase::Wanted | Phase::Starting | Phase::Running | Phase::Ending(_),
            ) => {
                self.phase = Phase::Ended;
                self.ended_at = Some(at);
                self.exit = Some(*exit);
                self.is_clean = *is_clean;
            }
            (SessionEvent::Wanted, _)
            | (SessionEvent::Starting, Phase::Starting | Phase::Running | Phase::Ending(_))
            | (SessionEvent::Running(_), Phase::Wanted | Phase::Running)
            | (_, Phase::Ended) => {}
        }
        self
    }

    /// How long it ran, as far as that is known at `now`. A suspended machine runs nothing.
    pub fn lived(&self, now: Time) -> Duration {
        match self.started_at {
            Some(started) => {
                self.ended_at.unwrap_or(now).since(started).saturating_sub(self.unseen)
            }
            None => Duration::ZERO,
        }
    }
}

//! What the judge knows of one agent, from the fields of its events alone.

use std::time::Duration;

use perennial_core::checkpoint::CheckpointEvent;
use perennial_core::context::Source;
use perennial_core::conversation::{Opening, Turn};
use perennial_core::event::{AgentEvent, Birth, Move};
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::{Finding, Reason, Show, Witness};
use perennial_core::restart::Restart;
use perennial_core::settings::{NewParent, Settings};
use perennial_core::snapshot::SnapshotEvent;
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;

use super::exit::{self, Ended};
use super::handoff::HandoffAccount;
use super::promise::Promise;
use super::restart::{HEALTHY, SessionProgress, Tries};
use super::{START_LIMIT, Verdict, broken};
use crate::keeping::Wishes;

#[derive(Debug)]
pub struct Account {
    /// In lower case, as names are compared.
    pub name: Option<String>,
    pub parent: Option<AgentId>,
    pub is_bare: bool,
    pub restart: Restart,
    pub state: State,
    pub reason: Reason,
    pub until: Option<Time>,
    pub number: SessionNumber,
    is_over: bool,
    pub is_started: bool,
    starting_at: Time,
    pub running_at: Option<Time>,
    pub is_ending: bool,
    /// Its harness gave a sign in this session.
    pub has_shown: bool,
    pub has_progressed: bool,
    /// Whether it was in a turn when last heard; `None`: the journal does not say.
    pub in_turn: Option<bool>,
    /// The clock jumped in this session, and the journal does not say by how much.
    pub is_suspended: bool,
    /// How long the machine slept in this session, by the journal.
    unseen: Duration,
    /// What its start limit has to give back for a suspended machine.
    pub given_back: Duration,
    /// `None`: not known until somebody wakes it.
    pub tries: Option<Tries>,
    pub promise: Promise,
    pub handoff: HandoffAccount,
    pub joins_line: bool,
    /// It came out of the line and has not announced itself yet.
    pub admitted: bool,
    pub has_gap: bool,
    pub wishes: Wishes,
    /// The number of its last checkpoint.
    checkpoints: u32,
    /// A session of it ended, or was asked to, and no checkpoint has told of that.
    pub owes_checkpoint: bool,
    end: Option<Ended>,
}

/// Whether who waits for this has a dialog in front of it.
pub fn asks(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::NeedsPermission
            | Reason::NeedsAnswer
            | Reason::FirstRunDialog
            | Reason::SilentAtStart
    )
}

impl Account {
    /// JU13
    pub fn checkpointed(&mut self, id: AgentId, event: &CheckpointEvent) -> Verdict {
        let CheckpointEvent::Taken(taken) = event;
        let last = std::mem::replace(&mut self.checkpoints, taken.number);
        self.owes_checkpoint = false;
        match taken.number == last + 1 || self.has_gap {
            true => Ok(()),
            false => broken("JU13: checkpoints have no gaps", format!("{} {last}", id.0)),
        }
    }

    pub fn born(birth: &Birth, at: Time) -> Account {
        Account {
            name: birth.name.as_ref().map(|name| name.as_str().to_ascii_lowercase()),
            parent: birth.parent,
            is_bare: birth.launch.is_bare(),
            restart: birth.restart,
            state: State::Hatching,
            reason: Reason::Starting,
            until: Some(birth.until),
            number: SessionNumber(0),
            is_over: true,
            is_started: false,
            starting_at: at,
            running_at: None,
            is_ending: false,
            has_shown: false,
            has_progressed: false,
            in_turn: Some(false),
            is_suspended: false,
            unseen: Duration::ZERO,
            given_back: Duration::ZERO,
            tries: Some(Tries::default()),
            promise: Promise::default(),
            handoff: HandoffAccount::default(),
            joins_line: false,
            admitted: false,
            has_gap: false,
            wishes: Wishes::default(),
            checkpoints: 0,
            owes_checkpoint: false,
            end: None,
        }
    }

    pub fn wishes(&mut self, id: AgentId, event: &SnapshotEvent) -> Verdict {
        let was_held_back = self.wishes.holds_back();
        let verdict = self.wishes.happened(id, event);
        self.handoff.is_kept |= was_held_back && !self.wishes.holds_back();
        if self.has_gap { Ok(()) } else { verdict }
    }

    pub fn is_in_cemetery(&self) -> bool {
        matches!(self.state, State::Dead | State::Expired)
    }

    pub fn held_name(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| !self.is_in_cemetery())
    }

    pub fn wanted(&mut self, number: SessionNumber, opening: &Opening) {
        self.number = number;
        self.is_over = false;
        self.is_started = false;
        self.running_at = None;
        self.is_ending = false;
        self.has_shown = false;
        self.has_progressed = false;
        self.is_suspended = false;
        self.unseen = Duration::ZERO;
        self.given_back = Duration::ZERO;
        match opening {
            // A turn that a person cut off is not open, in whichever conversation the work goes on.
            Opening::Resume { turn, .. } | Opening::Anew { turn, .. } => {
                self.in_turn = Some(*turn == Turn::Open);
            }
            Opening::Bare | Opening::Fresh(_) => {}
        }
        if let Some(end) = &mut self.end {
            end.has_next = true;
        }
    }

    /// JU10: a holder has this session, whatever was recorded before.
    pub fn found(&mut self, id: AgentId, number: SessionNumber, at: Time) -> Verdict {
        if number < self.number {
            return broken("JU10: what is found is the newest", format!("{}.{number}", id.0));
        }
        self.wanted(number, &Opening::Bare);
        self.starting(at);
        self.running_at = Some(at);
        self.tries = None;
        Ok(())
    }

    /// Whether this session runs, and was not asked to end.
    pub fn is_running(&self, number: SessionNumber) -> bool {
        let is_own = number == self.number && !self.is_over && !self.is_ending;
        is_own && self.running_at.is_some()
    }

    /// Whether keys would answer something.
    pub fn is_in_dialog(&self) -> bool {
        self.state == State::Waiting && asks(self.reason)
    }

    pub fn starting(&mut self, at: Time) {
        self.is_started = true;
        self.starting_at = at;
    }

    /// JU8
    pub fn has_session(&self) -> bool {
        !self.is_over
    }

    pub fn is_live(&self, id: AgentId, number: SessionNumber, event: &AgentEvent) -> Verdict {
        if self.has_gap || (number == self.number && !self.is_over) {
            return Ok(());
        }
        let what = format!("{}.{}, over: {}, {event:?}", id.0, self.number, self.is_over);
        broken("JU8: what is recorded is about the session that lives", what)
    }

    /// Something that only a harness can have shown.
    pub fn showed(&mut self, event: &AgentEvent) {
        self.has_progressed |= matches!(event, AgentEvent::SessionProgressed { .. });
        self.has_shown |= if let AgentEvent::ClockPassed { sample, .. } = event {
            // A file may tell of the session before.
            sample.source == Source::StatusLine
        } else {
            !matches!(event, AgentEvent::WindowBegan { .. })
        };
    }

    pub fn lived(&self, now: Time) -> Duration {
        let whole = self.running_at.map_or(Duration::ZERO, |from| now.since(from));
        whole.saturating_sub(self.unseen)
    }

    /// The session is over; what follows is in the same append.
    /// What ends takes up no place: a person who restarts an agent does not wait for the line.
    pub fn ending(&mut self) {
        self.is_ending = true;
        self.owes_checkpoint = true;
        self.admitted = false;
    }

    pub fn ended(&mut self, exit: Exit, at: Time) {
        self.end = Some(exit::read(self, exit, at));
        self.owes_checkpoint |= self.running_at.is_some() && !self.is_ending;
        let (lived, progress) = (self.lived(at), self.progress());
        if let Some(tries) = &mut self.tries {
            tries.session_ended(lived, progress, at);
        }
        // Whether a question that nobody answered is progress is for others to judge.
        let is_doubtful = progress == SessionProgress::Perhaps && lived >= HEALTHY;
        if self.is_suspended || is_doubtful {
            self.tries = None;
        }
        self.is_over = true;
        self.admitted = false;
    }

    /// JU1: the append that told of an end also told what follows from it.
    pub fn settle_end(&mut self, id: AgentId) -> Verdict {
        match self.end.take() {
            Some(end) if !self.has_gap => end.settle(id),
            Some(_) | None => Ok(()),
        }
    }

    /// JU9, and no retry before its time.
    pub fn keeps_time(&self, id: AgentId, moved: &Move, at: Time) -> Verdict {
        if self.has_gap {
            return Ok(());
        }
        let earliest = if moved.cause == Cause::StartLimit && self.state == State::Waking {
            Some(self.starting_at + START_LIMIT + self.given_back)
        } else {
            self.until.filter(|_| moved.cause == Cause::Retry)
        };
        match earliest {
            Some(earliest) if at < earliest => {
                let early = crate::span::print(earliest.since(at));
                broken("JU9: nothing comes before its time", format!("{} {early} early", id.0))
            }
            Some(_) | None => Ok(()),
        }
    }

    pub fn moved(&mut self, moved: &Move, at: Time) {
        let is_silence = matches!(moved.evidence.fact, Finding::Shown(Show::NothingAtFirst));
        self.has_shown |= moved.evidence.witness == Witness::Harness && !is_silence;
        match moved.to {
            State::Working => self.in_turn = Some(true),
            // Whether a question belongs to a turn is for others to judge.
            State::Waiting if moved.reason == Reason::Idle => self.in_turn = Some(false),
            State::Waiting if moved.cause != Cause::DialogSeen => self.in_turn = None,
            State::Hatching
            | State::Waking
            | State::Waiting
            | State::Unknown
            | State::HandingOff
            | State::Crashed
            | State::Sleeping
            | State::Hibernating
            | State::Frozen
            | State::Dead
            | State::Expired => {}
        }
        if moved.cause == Cause::Retry
            && let Some(tries) = &mut self.tries
        {
            tries.restarted(at);
        }
        if matches!(moved.cause, Cause::Wake | Cause::Restarted) {
            self.tries = Some(Tries::default()).filter(|_| !self.has_gap);
        }
        if matches!(moved.cause, Cause::Wake | Cause::Stop | Cause::Buried) {
            self.joins_line = false;
        }
        // A session that waits in the line keeps its place.
        self.joins_line &= moved.cause != Cause::Restarted || !self.is_over;
        self.joins_line |= moved.cause == Cause::RebootedBusy;
        self.admitted &= moved.to == State::Waking;
        self.promise.moved(moved);
        self.state = moved.to;
        self.reason = moved.reason;
        self.until = moved.until;
        if let Some(end) = &mut self.end {
            end.moves.push((moved.to, moved.reason));
        }
    }

    pub fn set(&mut self, settings: &Settings<AgentId>) {
        self.restart = settings.restart.unwrap_or(self.restart);
        match settings.parent {
            None => {}
            Some(NewParent::Nobody) => self.parent = None,
            Some(NewParent::Agent(parent)) => self.parent = Some(parent),
        }
    }

    pub fn jumped(&mut self, by: Duration, is_seen: bool) {
        self.is_suspended |= !self.is_over;
        if is_seen && !self.is_over && self.is_started && self.state == State::Waking {
            self.given_back += by;
        }
    }

    pub fn put_off(&mut self, until: Option<Time>, unseen: Duration) {
        self.until = until.or(self.until);
        self.unseen += unseen;
        self.is_suspended &= unseen.is_zero();
    }

    pub fn damaged(&mut self, is_held: bool) {
        self.has_gap = true;
        // What can't be read may have been its name.
        self.name = None;
        self.tries = None;
        self.promise.is_held |= is_held;
    }
}

//! The life of a handoff: the planned end of a session with a successor of the same agent.
//!
//! Pure. A session that is asked has until a deadline to save its work. Then it is ended like any other, by the order that
//! keeps snapshot and checkpoint, and the successor begins a conversation of its own. Who asks is a person, the agent, its
//! parent, or a rule of the agent's role (`rule.rs`).
//!
//! Invariants
//! - HA1  A handoff is asked of a session that runs, and is about that session alone. At most one is under way: exactly
//!   while the agent is `handing-off`.
//! - HA2  It ends. Whatever is heard, the session is asked to end at the deadline at the latest, and its end, however it
//!   comes about, brings the successor. A stop, a restart, a burial or a hold ends the handoff instead.
//! - HA3  `Completed` is recorded once for a handoff, after the snapshot and the checkpoint of that session are recorded, or
//!   are recorded as missed; so no signal says earlier that it is complete.
//! - HA4  The successor begins afresh, and never beside the session that hands off (G1).
//! - HA5  Subject and notes are in the agent's record, whatever becomes of the mail that has them too.
//! - HA6  Nobody is cycled unasked: only the terms of a declared role make a handoff due. Of all others the operator is
//!   told, once in each window.
//! - HA7  An overseer ends only what somebody else asked for.
//! - HA8  A rule asks at a boundary: when a turn has ended as it should, or was given up for good because compactions don't
//!   help; never in a dialog, at a limit, or while something stands in the session's input line.
//! - HA9  A session that was begun by a rule's handoff for its window's sake (a share, a symptom, a large turn, an event that
//!   the role lists) is handed off for such a cause again after `CHURN_WITHIN` at the earliest: it would spend tokens and
//!   do nothing. The operator is told, once in the session for each cause, and it is asked for when the time is over. Units
//!   are work that was done, and always count.

mod letters;
mod rule;
mod turn;
mod verb;

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::conversation::Opening;
use crate::event::{AgentEvent, Move};
use crate::id::{AgentId, SessionNumber};
use crate::reason::{Evidence, Witness};
use crate::role::CycleUnit;
use crate::session::{Phase, Session};
use crate::state::{Cause, Roster, State};
use crate::succession;
use crate::symptom::{Symptom, Urgency};
use crate::time::Time;

pub(crate) use letters::told;
pub use letters::{HandoffRequest, follow};
pub use rule::{due, due_at};
pub(crate) use rule::{interesting, large_turn, measured, showed, unit_done};
pub use turn::TurnStands;
use turn::completed;
pub(crate) use turn::{come_due, ends_at, saved, shown};
pub use verb::{HandoffOrder, decide};

/// How long a session has to save its work, unless somebody says otherwise.
pub const DEADLINE: Duration = Duration::from_secs(60);
pub const DEADLINE_LEAST: Duration = Duration::from_secs(1);
pub const DEADLINE_MOST: Duration = Duration::from_secs(3600);
/// A session that has saved its work in the middle of a turn may end the turn within this.
pub const LINGER: Duration = Duration::from_secs(15);
/// A turn that ended without a checkpoint counts as the agent's last word after this: what was heard may be late.
pub const QUIET: Duration = Duration::from_secs(3);
/// HA9
pub const CHURN_WITHIN: Duration = Duration::from_secs(600);

pub const SUBJECT_BYTES_MAX: usize = 200;
pub const NOTES_BYTES_MAX: usize = 2000;

/// What an agent's record has of handoffs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Handoffs {
    /// The newest, under way or over.
    pub last: Option<Box<Handoff>>,
    /// One is asked for at the next boundary.
    pub due: Option<DueHandoff>,
    /// Units of work that the agent's role counts, since its conversation began.
    pub units: u32,
    /// How often the session's conversation was compacted, or was about to be.
    pub compactions: u32,
    /// When a compaction was announced, or found, whose window has not begun yet in the record.
    pub announced: Option<Time>,
    /// How urgent the symptoms were that were told of in this window.
    pub warned: Option<Urgency>,
    /// The last symptom of the session, and when.
    pub noticed: Option<(Symptom, Urgency, Time)>,
    /// HA9: the causes of which the operator was told that the session is not handed off yet.
    pub put_off: BTreeSet<HandoffCause>,
    /// HA9: what was put off, with the time from which on it is asked for.
    pub later: Option<DueHandoff>,
}

/// A handoff that a rule asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueHandoff {
    pub cause: HandoffCause,
    pub subject: String,
    pub since: Time,
}

/// One handoff, as the successor's briefing needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// The session that it is about.
    pub number: SessionNumber,
    pub cause: HandoffCause,
    pub by: Witness,
    pub subject: String,
    pub notes: Option<String>,
    pub asked_at: Time,
    pub deadline: Time,
    /// Who may end the session, before the daemon does at the deadline.
    pub overseer: Option<AgentId>,
    /// When the session had read what it was asked.
    pub told_at: Option<Time>,
    pub stands: TurnStands,
    pub stands_since: Time,
    /// What ended the wait for the session, and when.
    pub answer: Option<(Answer, Time)>,
    /// What is stored of the session's work.
    pub stored: Option<Stored>,
    /// The session ended by it, and a successor follows.
    pub hands_over: bool,
}

/// Why a session is handed off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HandoffCause {
    /// A person or the agent's parent asked for it.
    Verb,
    /// The agent itself did.
    Agent,
    /// Its window is used up to the share that its role has.
    Clock,
    /// It did as many units of work as its role has for a session.
    Units,
    /// A turn or an event used up its budget.
    Interesting,
    /// It shows symptoms of a window that is running out.
    Symptom,
}

impl HandoffCause {
    pub const ALL: [HandoffCause; 6] = [
        HandoffCause::Verb,
        HandoffCause::Agent,
        HandoffCause::Clock,
        HandoffCause::Units,
        HandoffCause::Interesting,
        HandoffCause::Symptom,
    ];

    pub fn word(self) -> &'static str {
        match self {
            HandoffCause::Verb => "verb",
            HandoffCause::Agent => "agent",
            HandoffCause::Clock => "clock",
            HandoffCause::Units => "cycle",
            HandoffCause::Interesting => "interesting",
            HandoffCause::Symptom => "symptom",
        }
    }

    /// Why, as whoever reads a signal is told.
    pub fn description(self) -> &'static str {
        match self {
            HandoffCause::Verb => "asked for",
            HandoffCause::Agent => "asked for by itself",
            HandoffCause::Clock
            | HandoffCause::Units
            | HandoffCause::Interesting
            | HandoffCause::Symptom => self.word(),
        }
    }

    /// Whether the window is why, or what stands for a share of it: the next session may be no better off.
    fn is_of_window(self) -> bool {
        match self {
            HandoffCause::Clock | HandoffCause::Interesting | HandoffCause::Symptom => true,
            HandoffCause::Verb | HandoffCause::Agent | HandoffCause::Units => false,
        }
    }
}

/// What ended the wait for a session that was asked to save its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Answer {
    /// It recorded a checkpoint.
    Checkpoint,
    /// It said that it is done.
    Word,
    /// It read what it was asked, and ended its turn.
    TurnEnded,
    /// A person, its parent or its overseer ended the wait.
    Ordered,
    /// Nothing was heard of it by the deadline.
    Deaf,
}

impl Answer {
    pub const ALL: [Answer; 5] =
        [Answer::Checkpoint, Answer::Word, Answer::TurnEnded, Answer::Ordered, Answer::Deaf];

    pub fn word(self) -> &'static str {
        match self {
            Answer::Checkpoint => "checkpoint",
            Answer::Word => "word",
            Answer::TurnEnded => "turn-ended",
            Answer::Ordered => "ordered",
            Answer::Deaf => "deaf",
        }
    }
}

/// What is stored of a session's work when its handoff is complete.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stored {
    /// The numbers of its last checkpoint and snapshot, where there are any.
    pub checkpoint: Option<u32>,
    pub snapshot: Option<u32>,
    /// The commit that its work tree was at.
    pub commit: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandoffEvent {
    /// A rule of its role asks for a handoff at the next boundary.
    Due {
        number: SessionNumber,
        cause: HandoffCause,
        subject: String,
    },
    /// HA6: the operator is told instead.
    OperatorTold {
        number: SessionNumber,
        cause: HandoffCause,
        subject: String,
    },
    /// It did one unit of what its role counts.
    UnitDone {
        unit: CycleUnit,
    },
    Asked(HandoffAsked),
    /// The session has read what it was asked.
    Told {
        number: SessionNumber,
    },
    /// Where the turn of a session stands that is handing off.
    Turned {
        stands: TurnStands,
    },
    /// The wait for the session is over, with what it said to its successor.
    Answered {
        how: Answer,
        subject: Option<String>,
        notes: Option<String>,
    },
    /// HA3
    Completed {
        number: SessionNumber,
        stored: Stored,
    },
    /// A symptom of a window that is running out.
    Symptom {
        number: SessionNumber,
        symptom: Symptom,
        urgency: Urgency,
        /// One as urgent was told of in this window before.
        is_again: bool,
    },
}

/// A session is asked to save its work and to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffAsked {
    pub number: SessionNumber,
    pub cause: HandoffCause,
    pub subject: String,
    pub notes: Option<String>,
    pub deadline: Time,
    pub overseer: Option<AgentId>,
    pub evidence: Evidence,
}

impl HandoffEvent {
    pub fn of_agent(self) -> AgentEvent {
        AgentEvent::Handoff(Box::new(self))
    }
}

impl Agent {
    /// HA1: the handoff that is under way.
    pub fn handing_off(&self) -> Option<&Handoff> {
        let handoff = self.handoff.last.as_deref().filter(|_| self.state == State::HandingOff)?;
        let number = self.session.as_ref()?.number;
        (handoff.number == number).then_some(handoff)
    }

    /// The handoff by which its newest session has, or its next one will have, taken over.
    pub fn taken_over_by(&self) -> Option<&Handoff> {
        let newest = self.session.as_ref()?.number;
        let is_last = |it: &&Handoff| it.number == newest || Some(it.number) == newest.previous();
        self.handoff.last.as_deref().filter(|it| it.hands_over).filter(is_last)
    }

    /// HA3: a handoff whose session is over, and of which it is not recorded yet that its work is stored.
    pub fn handoff_to_complete(&self) -> Option<&Handoff> {
        let is_open = |last: &&Handoff| last.hands_over && last.stored.is_none();
        let open = self.handoff.last.as_deref().filter(is_open);
        open.filter(|_| self.state.roster() != Roster::Cemetery)
    }

    /// HA5: subject and notes for whoever takes over from its last session, or will. What somebody wrote for a session
    /// that was stopped instead is told to the next one all the same.
    pub fn handoff_notes(&self) -> Option<(&str, &str)> {
        let newest = self.session.as_ref()?.number;
        let is_last = |it: &&Handoff| it.number == newest || Some(it.number) == newest.previous();
        let last = self.handoff.last.as_deref().filter(is_last)?;
        let is_written =
            matches!(last.by, Witness::Operator | Witness::Agent(_)) || last.notes.is_some();
        let written = (last.subject.as_str(), last.notes.as_deref().unwrap_or_default());
        let is_blank = |text: &str| text.trim().is_empty();
        Some(written)
            .filter(|(subject, notes)| is_written && !(is_blank(subject) && is_blank(notes)))
    }

    /// Whether a session of it runs that could be handed off: a bare command has no conversation.
    fn has_session_to_hand_off(&self) -> Option<SessionNumber> {
        let is_one = |live: &&Session| live.phase == Phase::Running && !self.launch.is_bare();
        let session = self.live_session().filter(is_one)?;
        Some(session.number)
    }
}

/// Folds one event.
pub fn evolve(agent: &mut Agent, event: &HandoffEvent, at: Time) {
    match event {
        HandoffEvent::Due { cause, subject, .. } => {
            agent.clock.is_up |= *cause == HandoffCause::Clock;
            rule::evolve_by_due(agent, (*cause, subject), at);
        }
        // HA9
        HandoffEvent::OperatorTold { cause, subject, .. }
            if agent.role_terms.hands_off_at().is_some() =>
        {
            agent.handoff.put_off.insert(*cause);
            rule::evolve_by_due(agent, (*cause, subject), at);
        }
        // HA6: told once in a window, whichever it was.
        HandoffEvent::OperatorTold { cause, .. } => {
            agent.clock.is_up |= matches!(cause, HandoffCause::Clock | HandoffCause::Symptom);
        }
        HandoffEvent::UnitDone { .. } => {
            agent.handoff.units = agent.handoff.units.saturating_add(1);
        }
        HandoffEvent::Asked(asked) => ask(agent, asked, at),
        HandoffEvent::Symptom { symptom, urgency, .. } => {
            noticed(agent, *symptom, *urgency, at);
        }
        HandoffEvent::Told { .. }
        | HandoffEvent::Turned { .. }
        | HandoffEvent::Answered { .. }
        | HandoffEvent::Completed { .. } => {
            if let Some(last) = &mut agent.handoff.last {
                go_on(last, event, at);
            }
        }
    }
}

fn noticed(agent: &mut Agent, symptom: Symptom, urgency: Urgency, at: Time) {
    let known = &mut agent.handoff;
    known.compactions += u32::from(symptom.is_compaction());
    known.warned = known.warned.max(Some(urgency));
    known.noticed = Some((symptom, urgency, at));
    match symptom {
        // H24: a daemon that is killed before the window is recorded leaves the symptom. It is not news to the next one.
        Symptom::Compaction | Symptom::Compacted => known.announced = Some(at),
        Symptom::Thrash => succession::thrashed(agent),
        Symptom::Words | Symptom::OwnWord => {}
    }
}

fn ask(agent: &mut Agent, asked: &HandoffAsked, at: Time) {
    agent.handoff.last = Some(Box::new(Handoff {
        number: asked.number,
        cause: asked.cause,
        by: asked.evidence.witness,
        subject: asked.subject.clone(),
        notes: asked.notes.clone(),
        asked_at: at,
        deadline: asked.deadline,
        overseer: asked.overseer,
        told_at: None,
        stands: TurnStands::of(agent),
        stands_since: at,
        answer: None,
        stored: None,
        hands_over: false,
    }));
    (agent.handoff.due, agent.handoff.later) = (None, None);
}

fn go_on(last: &mut Handoff, event: &HandoffEvent, at: Time) {
    match event {
        HandoffEvent::Told { .. } => last.told_at = Some(at),
        HandoffEvent::Turned { stands } => (last.stands, last.stands_since) = (*stands, at),
        HandoffEvent::Answered { how, subject, notes } => {
            last.answer = Some((*how, at));
            if let Some(subject) = subject {
                last.subject.clone_from(subject);
            }
            last.notes = notes.clone().or(last.notes.take());
        }
        HandoffEvent::Completed { stored, .. } => last.stored = Some(stored.clone()),
        HandoffEvent::Due { .. }
        | HandoffEvent::OperatorTold { .. }
        | HandoffEvent::UnitDone { .. }
        | HandoffEvent::Asked(_)
        | HandoffEvent::Symptom { .. } => {}
    }
}

/// Folds a move: one that ends a handoff hands over, or not (HA2).
pub fn evolve_by_move(agent: &mut Agent, moved: &Move) {
    let ends = match moved.cause {
        Cause::HandedOff | Cause::RebootedBusy => true,
        Cause::Announced
        | Cause::StartLimit
        | Cause::DialogSeen
        | Cause::NeverNamed
        | Cause::TurnBegan
        | Cause::BackgroundWork
        | Cause::TurnEnded
        | Cause::ConfirmationLost
        | Cause::SeenWorking
        | Cause::SeenWaiting
        | Cause::EndedFinished
        | Cause::EndedRestartOff
        | Cause::EndedCrashed
        | Cause::EndedAgain
        | Cause::Retry
        | Cause::GaveUp
        | Cause::Wake
        | Cause::Stop
        | Cause::Unlisted
        | Cause::Listed
        | Cause::Unreported
        | Cause::HandoffAsked
        | Cause::Rested
        | Cause::Completed
        | Cause::TaskQueued
        | Cause::Frozen
        | Cause::Approved
        | Cause::Restarted
        | Cause::Reaped
        | Cause::RebootedIdle
        | Cause::Buried => false,
    };
    let is_under_way = agent.handing_off().is_some();
    if let Some(last) = agent.handoff.last.as_mut().filter(|_| is_under_way && ends) {
        last.hands_over = true;
    }
}

/// A session is to begin: a conversation of its own has a budget of its own.
pub fn evolve_by_session(agent: &mut Agent, opening: &Opening) {
    (agent.handoff.compactions, agent.handoff.noticed) = (0, None);
    agent.handoff.put_off.clear();
    match opening {
        Opening::Bare | Opening::Fresh(_) | Opening::Anew { .. } => {
            (agent.handoff.units, agent.handoff.due, agent.handoff.warned) = (0, None, None);
            (agent.handoff.announced, agent.handoff.later) = (None, None);
        }
        Opening::Resume { .. } => {}
    }
}

/// A context window began: what was due by the one before is not.
pub fn evolve_by_window(agent: &mut Agent) {
    (agent.handoff.warned, agent.handoff.announced) = (None, None);
    succession::recovered(agent);
    let Handoffs { due, later, .. } = &mut agent.handoff;
    for due in [due, later] {
        due.take_if(|due| due.cause == HandoffCause::Clock);
    }
}

//! The life of one agent: a persistent identity whose sessions come and go.
//!
//! Pure: no clock, no I/O; time arrives as an argument.
//!
//! Invariants
//! - G1  At most one session has not ended; the next one is requested only when the last has ended.
//! - G2  A report about another session number says nothing.
//! - G3  `decide` and `observe` make only moves that `state::next` allows.
//! - G4  `stop` leaves no retry behind: only the operator wakes an agent that the operator stopped, and the
//!   operator or an ancestor one that an ancestor stopped.

mod becoming;
mod burial;
mod decide;
mod evolve;
mod harness_signs;
mod loss;
mod observe;
mod outlook;
mod plan;
mod resting;
mod step;
mod unfinished;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointCause, CheckpointHead};
use crate::context::Clock;
use crate::conversation::{ConversationId, Conversations, FirstPrompt, Opening, Turn};
use crate::event::{Birth, Move};
use crate::exit::Exit;
use crate::handoff::{self, Handoffs};
use crate::hold::{HeldFor, Hold};
use crate::id::{AgentId, NodeId, SessionId, SessionNumber};
use crate::keeping::{Keeping, SnapshotRecord};
use crate::launch::Launch;
use crate::legacy::{LeftText, LegacyKind};
use crate::name::Name;
use crate::reason::{Evidence, Finding, Reason, Witness};
use crate::rest::Earned;
use crate::restart::{CHURN_LIMIT, History, Restart};
use crate::role::RoleTerms;
use crate::round::Rounds;
use crate::session::{Phase, Session};
use crate::settings::Pending;
use crate::situation::Situation;
use crate::state::{self, Cause, Roster, State};
use crate::succession::{Afresh, Beginning, Succession};
use crate::time::Time;
use crate::work::WorkState;

pub(crate) use becoming::Becoming;
pub use decide::{Start, bury, hatch, rename, report, restart, set, stop, wake};
pub use evolve::evolve;
pub use harness_signs::observe_harness;
pub use loss::{is_known, records_lost, session_found};
pub use observe::{due, home_copied, observe, put_off, rebooted};
pub use outlook::{Outlook, outlook};
pub use plan::plan;
pub use resting::{completed_or_rested, is_idle, woken_by_task};
pub(crate) use step::end_session;

/// A session's program must run within this. An agent CLI that runs and gives no sign of life for so
/// long needs the operator.
pub const START_LIMIT: Duration = Duration::from_secs(90);
/// A harness that gives no sign of life for this long may be showing a dialog.
pub const DIALOG_AFTER: Duration = Duration::from_secs(20);
/// An agent without a name must get one within this.
pub const HATCH_LIMIT: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub name: Option<Name>,
    /// When it took its name.
    pub named_at: Time,
    pub role: Option<String>,
    /// What the role asks of it, as that was declared when it took the role.
    pub role_terms: RoleTerms,
    pub rounds: Rounds,
    pub parent: Option<AgentId>,
    /// What it works on; the first is primary.
    pub situations: Vec<Situation>,
    /// Where its sessions run.
    pub node: NodeId,
    pub launch: Launch,
    pub restart: Restart,
    pub state: State,
    pub reason: Reason,
    pub evidence: Evidence,
    pub since: Time,
    /// When the state ends by itself, if it does.
    pub until: Option<Time>,
    /// The newest session, over or not.
    pub session: Option<Session>,
    /// How the session before it ended.
    pub previous_exit: Option<Exit>,
    pub history: History,
    /// Sessions that were started because the one before ended unasked.
    pub respawn_count: u32,
    pub created_at: Time,
    pub summary: Option<String>,
    /// Where its work stands.
    pub work: WorkState,
    pub conversations: Option<Conversations>,
    pub clock: Clock,
    /// Where its turn stood when it was last heard: what the next session takes up.
    pub turn: Turn,
    /// Why its last turn failed, until one succeeds: told again by each session that waits.
    pub unsettled: Option<Reason>,
    /// What keeps it as it is, if anything does.
    pub hold: Option<Box<Hold>>,
    /// Which of its environments counts; each change makes the next one.
    pub environment: u32,
    /// What was changed and the live session does not have.
    pub pending: Pending,
    /// What it left for those who come after it.
    pub legacies: BTreeMap<LegacyKind, LeftText>,
    /// It asked to be buried when its turn has ended.
    pub burial: Option<Evidence>,
    pub handoff: Handoffs,
    /// The task by which it may rest, once nothing else is left for it to do.
    pub rest: Option<Box<Earned>>,
    /// How many snapshots of its work tree were taken: the number of the last one.
    pub snapshots: u32,
    pub snapshot_record: SnapshotRecord,
    /// The snapshot that is wanted, if one is.
    pub keeping: Option<Keeping>,
    /// Its last checkpoint.
    pub checkpoint: Option<Box<CheckpointHead>>,
    /// What happened since then that a checkpoint is due for.
    pub checkpoint_due: Option<CheckpointCause>,
    /// What its next session goes on from.
    pub succession: Succession,
}

/// Whether the holder of a session is heard now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmation {
    Confirmed,
    /// Not since the daemon started.
    NotYet,
    /// It was, and no longer is.
    Lost,
}

/// Whether an agent with this state and reason needs the operator.
pub fn needs_operator(state: State, reason: Reason) -> bool {
    match reason {
        Reason::NeedsPermission
        | Reason::NeedsAnswer
        | Reason::FirstRunDialog
        | Reason::SilentAtStart
        | Reason::StoppedInTurn
        | Reason::LimitReached
        | Reason::RecordUnreadable
        | Reason::HomeCopied
        | Reason::RecordLost
        | Reason::HolderUnreachable
        | Reason::ServiceFailed
        | Reason::BreakerOpen => true,
        Reason::CrashedRestartOff => state == State::Sleeping,
        Reason::Starting
        | Reason::Running
        | Reason::InTurn
        | Reason::BackgroundTasks
        | Reason::Idle
        | Reason::RateLimited
        | Reason::DaemonStarted
        | Reason::LeadSilent
        | Reason::Silent
        | Reason::HandoffAsked
        | Reason::Retrying
        | Reason::Finished
        | Reason::Stopped
        | Reason::MachineRestarted
        | Reason::LeadEnded
        | Reason::Unlisted
        | Reason::TaskDone
        | Reason::FrozenByOrder
        | Reason::Completed
        | Reason::Reaped
        | Reason::Retired
        | Reason::GaveUp
        | Reason::NeverNamed => false,
    }
}

impl Agent {
    pub fn born(id: AgentId, birth: &Birth, at: Time) -> Agent {
        Agent {
            id,
            name: birth.name.clone(),
            named_at: at,
            role: birth.role.clone(),
            role_terms: RoleTerms::default(),
            rounds: Rounds { given: 0, since: at },
            parent: birth.parent,
            situations: Vec::new(),
            node: birth.node,
            launch: birth.launch.clone(),
            restart: birth.restart,
            state: State::Hatching,
            reason: Reason::Starting,
            evidence: birth.evidence.clone(),
            since: at,
            until: Some(birth.until),
            session: None,
            previous_exit: None,
            history: History::default(),
            respawn_count: 0,
            created_at: at,
            summary: None,
            work: WorkState::begun(at),
            conversations: None,
            clock: Clock::default(),
            turn: Turn::Over,
            unsettled: None,
            hold: None,
            environment: 0,
            pending: Pending::default(),
            legacies: BTreeMap::new(),
            burial: None,
            handoff: Handoffs::default(),
            rest: None,
            snapshots: 0,
            snapshot_record: SnapshotRecord::default(),
            keeping: None,
            checkpoint: None,
            checkpoint_due: None,
            succession: Succession::default(),
        }
    }

    /// The session that is not over, if there is one.
    pub fn live_session(&self) -> Option<&Session> {
        self.session.as_ref().filter(|session| !session.is_over())
    }

    /// Whether it is in the cemetery, its last session has ended, and no snapshot is wanted: it changes no more.
    pub fn is_over(&self) -> bool {
        let is_at_rest = self.live_session().is_none()
            && self.keeping.is_none()
            && self.snapshot_record.is_at_rest();
        self.state.roster() == Roster::Cemetery && is_at_rest
    }

    pub fn session_id(&self) -> Option<SessionId> {
        self.session.as_ref().map(|s| SessionId { agent: self.id, number: s.number })
    }

    pub fn predecessor(&self) -> Option<SessionId> {
        let number = self.session.as_ref()?.number.previous()?;
        Some(SessionId { agent: self.id, number })
    }

    /// The session that ended unexpectedly, if that is why its newest one was started.
    pub fn crashed_predecessor(&self) -> Option<SessionId> {
        self.predecessor().filter(|_| match self.succession.beginning {
            Beginning::Crash | Beginning::Reboot => true,
            Beginning::Birth
            | Beginning::Again
            | Beginning::Wake
            | Beginning::Stop
            | Beginning::Restart
            | Beginning::Handoff
            | Beginning::Compaction => false,
        })
    }

    /// Whether the rate limit that it is shown to wait for had ended by then.
    pub fn is_past_limit(&self, at: Time) -> bool {
        let is_limited = self.state == State::Waiting && self.reason == Reason::RateLimited;
        is_limited && self.until.is_some_and(|until| at > until)
    }

    /// Whether nothing may start or prompt it but a person.
    pub fn is_held(&self) -> bool {
        self.hold.is_some()
    }

    /// Whether its session is starting and has not announced itself: the line goes on when few do. One that
    /// is held takes up no place.
    pub fn is_out_of_line(&self) -> bool {
        let is_under_way = |session: &Session| match session.phase {
            Phase::Starting | Phase::Running => true,
            Phase::Wanted | Phase::Ending(_) | Phase::Ended => false,
        };
        let starts = matches!(self.state, State::Hatching | State::Waking);
        let is_starting = starts && self.session.as_ref().is_some_and(is_under_way);
        is_starting && self.hold.is_none()
    }

    /// Whether its session waits for its turn to start. One that is held has no place in the line.
    pub fn waits_in_line(&self) -> bool {
        let is_wanted = self.session.as_ref().is_some_and(|s| s.phase == Phase::Wanted);
        is_wanted && self.hold.is_none()
    }

    /// Whether a record of it can't be read.
    pub fn is_damaged(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| hold.held_for == HeldFor::Damage)
    }

    /// A record of it can't be read: it is unknown, and held. Not an event: it is found again at each
    /// start. What is frozen or in the cemetery stays so.
    pub fn mark_damaged(&mut self, why: &str, at: Time) {
        if matches!(self.state, State::Frozen | State::Dead | State::Expired) {
            return;
        }
        let fact = Finding::Unreadable(why.into());
        let evidence = Evidence { witness: Witness::Daemon, fact, at };
        self.state = State::Unknown;
        self.reason = Reason::RecordUnreadable;
        self.evidence = evidence.clone();
        self.since = at;
        self.until = None;
        let held_for = HeldFor::Damage;
        self.hold = Some(Box::new(Hold { held_for, evidence, since: at }));
    }

    /// Whether the journal lost records that may be about it, and no person has said since what is to
    /// become of it.
    pub fn awaits_word_on_loss(&self) -> bool {
        self.hold.as_ref().is_some_and(|hold| match hold.evidence.fact {
            Finding::SessionFound(_) | Finding::RecordsLost => true,
            Finding::Asked(_)
            | Finding::AskedFresh(_)
            | Finding::Executed(_)
            | Finding::NotStarted(_)
            | Finding::Exited(_)
            | Finding::Shown(_)
            | Finding::TimeCame
            | Finding::BootChanged
            | Finding::HomeCopied
            | Finding::Unreadable(_)
            | Finding::TaskVerified(_)
            | Finding::TaskGiven(_) => false,
        })
    }

    /// Whether its birth can't be read: there is no program that a session could be started with.
    pub fn is_unborn(&self) -> bool {
        self.launch.is_empty()
    }

    /// An agent whose birth can't be read: nothing but its id is known, and it is never forgotten.
    pub fn unborn(id: AgentId, at: Time) -> Agent {
        let launch = Launch::unknown();
        let fact = Finding::Unreadable("its birth".to_owned());
        let birth = Birth {
            name: None,
            role: None,
            parent: None,
            node: NodeId::HOME,
            launch,
            restart: Restart::Never,
            evidence: Evidence { witness: Witness::Daemon, fact, at },
            until: at,
        };
        let mut agent = Agent::born(id, &birth, at);
        agent.mark_damaged("its birth", at);
        agent
    }

    /// The state that is confirmed now: a running session whose holder does not answer is unknown.
    /// A view, never an event: the journal holds what happened, not what could not be seen.
    pub fn vouched(&self, confirmation: Confirmation) -> (State, Reason) {
        let runs = self.live_session().is_some_and(|s| s.process.is_some());
        let needs_confirmation = match self.state {
            State::Working | State::Waiting | State::HandingOff => runs,
            State::Hatching
            | State::Waking
            | State::Unknown
            | State::Crashed
            | State::Sleeping
            | State::Hibernating
            | State::Frozen
            | State::Dead
            | State::Expired => false,
        };
        match confirmation {
            Confirmation::NotYet if needs_confirmation => (State::Unknown, Reason::DaemonStarted),
            Confirmation::Lost if needs_confirmation => (State::Unknown, Reason::HolderUnreachable),
            Confirmation::Confirmed | Confirmation::NotYet | Confirmation::Lost => {
                (self.state, self.reason)
            }
        }
    }

    /// Whether a session that begins so has something to do. `is_lost`: nobody had its conversation.
    fn opens_with_a_prompt(&self, opening: &Opening, is_lost: bool) -> bool {
        match opening.first_prompt(is_lost, self.succession.has_worked) {
            FirstPrompt::Nothing => *opening == Opening::Bare,
            FirstPrompt::OfLaunch => self.launch.options.prompt.is_some(),
            FirstPrompt::GoOn | FirstPrompt::Briefing => true,
        }
    }

    /// The conversations that may hold what its sessions were told: those of the record, and the one
    /// that its session was begun with, in case nobody recorded that it took it up.
    pub fn to_read(&self) -> Option<Conversations> {
        let begun_with = self.session.as_ref().and_then(Session::taken_up);
        let Some(known) = &self.conversations else {
            let begun_with = begun_with?.clone();
            return Some(Conversations { current: begun_with, earlier: Vec::new() });
        };
        let mut known = known.clone();
        let is_missing =
            |id: &&ConversationId| known.current != **id && !known.earlier.contains(id);
        let missing = begun_with.filter(is_missing).cloned();
        known.earlier.extend(missing);
        Some(known)
    }

    fn was_stopped_by_operator(&self) -> bool {
        self.reason == Reason::Stopped && self.evidence.witness == Witness::Operator
    }

    /// How the next session begins: where the last one was, or with a new conversation if that keeps failing or
    /// somebody wants one.
    pub fn next_opening(&self, number: SessionNumber) -> Opening {
        if self.launch.is_bare() {
            return Opening::Bare;
        }
        let own = || ConversationId::of(SessionId { agent: self.id, number });
        let Some(known) = &self.conversations else { return Opening::Fresh(own()) };
        let churns = self.history.futile >= CHURN_LIMIT;
        let turn = self.turn;
        match self.succession.afresh.or(churns.then_some(Afresh::Churn)) {
            None => Opening::Resume { conversation: known.current.clone(), turn },
            // HA5: what was said at a handoff is told whatever was done before.
            Some(why) if self.has_something_to_tell() || why == Afresh::Handoff => {
                Opening::Anew { conversation: own(), turn, why }
            }
            // There is nothing yet to go on with.
            Some(_) => Opening::Fresh(own()),
        }
    }

    /// When a dialog is taken to be in the way of a session that shows nothing.
    fn dialog_at(&self) -> Option<Time> {
        let session =
            self.live_session().filter(|s| !s.has_announced && s.phase == Phase::Running)?;
        let starts = matches!(self.state, State::Hatching | State::Waking);
        let started = session.started_at.filter(|_| starts && !self.launch.is_bare())?;
        Some(started + DIALOG_AFTER + session.unseen)
    }

    /// When its state ends by itself. An agent CLI that runs has no limit for its start: somebody has to
    /// look at what it shows. Nor has a session that waits in line.
    fn ends_at(&self) -> Option<Time> {
        if self.handing_off().is_some() {
            return handoff::ends_at(self);
        }
        let waits = self.session.as_ref().is_some_and(|session| session.phase == Phase::Wanted);
        self.until.filter(|_| self.dialog_at().is_none() && !waits)
    }

    pub(crate) fn next_number(&self) -> SessionNumber {
        self.session.as_ref().map_or(SessionNumber::FIRST, |session| session.number.next())
    }

    /// A move by the table, or nothing where the table has none.
    fn moved(&self, cause: Cause, reason: Reason, evidence: Evidence) -> Option<Move> {
        let to = state::next(self.state, cause)?;
        Some(Move { cause, to, reason, evidence, until: None })
    }
}

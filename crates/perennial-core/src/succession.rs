//! How one session of an agent follows another: after what, and what it is told of the one before.
//!
//! Pure. Decides which form of a text a session gets, and when; the words are made elsewhere.
//!
//! Invariants
//! - SC1  A session that resumes its conversation and has nothing to do is given no prompt, so that no token is spent:
//!   what it has to know comes with the reply to one of its hooks.
//! - SC2  A session whose conversation begins anew after a turn, also one that was only read and answered in, or after a
//!   checkpoint, is told where the work stood.
//! - SC3  A wish for a new conversation stands until a session has begun one.
//! - SC4  What a session goes on from is the last one that ran. One whose start failed, or that was withdrawn, left nothing.

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::conversation::{FirstPrompt, Followed, Opening, Turn};
use crate::event::Move;
use crate::exit::Exit;
use crate::id::SessionNumber;
use crate::reason::{Finding, Reason, Show};
use crate::session::Session;
use crate::state::{Cause, State};

/// After what a session begins, or goes on with an empty window. Thawing, led agents, changed parameters and branches
/// get their values with the verbs that bring them about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Beginning {
    /// It is the first one.
    Birth,
    /// The last session ended unexpectedly.
    Crash,
    /// The last session ended by itself, and the restart policy asks for the next.
    Again,
    /// The agent slept or hibernated, and was woken.
    Wake,
    /// The agent was stopped, and was woken.
    Stop,
    /// The last session was ended by a restart.
    Restart,
    /// The machine restarted.
    Reboot,
    /// The last session handed its work over.
    Handoff,
    /// The same session, whose context was compacted.
    Compaction,
}

impl Beginning {
    pub const ALL: [Beginning; 9] = [
        Beginning::Birth,
        Beginning::Crash,
        Beginning::Again,
        Beginning::Wake,
        Beginning::Stop,
        Beginning::Restart,
        Beginning::Reboot,
        Beginning::Handoff,
        Beginning::Compaction,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Beginning::Birth => "birth",
            Beginning::Crash => "crash",
            Beginning::Again => "again",
            Beginning::Wake => "wake",
            Beginning::Stop => "stop",
            Beginning::Restart => "restart",
            Beginning::Reboot => "reboot",
            Beginning::Handoff => "handoff",
            Beginning::Compaction => "compaction",
        }
    }

    /// Whether somebody wanted the last session to end, or a session to begin.
    pub fn is_planned(self) -> bool {
        match self {
            Beginning::Birth
            | Beginning::Wake
            | Beginning::Stop
            | Beginning::Restart
            | Beginning::Handoff => true,
            Beginning::Crash | Beginning::Again | Beginning::Reboot | Beginning::Compaction => {
                false
            }
        }
    }

    pub fn of_word(word: &str) -> Option<Beginning> {
        Beginning::ALL.into_iter().find(|beginning| beginning.word() == word)
    }
}

/// Why a conversation is not resumed though the vendor has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Afresh {
    /// By `wake --fresh` or `restart --fresh`.
    Asked,
    Handoff,
    /// Its sessions get nothing done.
    Churn,
    /// Its window was full again right after each of several compactions.
    Thrash,
}

impl Afresh {
    pub const ALL: [Afresh; 4] = [Afresh::Asked, Afresh::Handoff, Afresh::Churn, Afresh::Thrash];

    pub fn word(self) -> &'static str {
        match self {
            Afresh::Asked => "asked",
            Afresh::Handoff => "handoff",
            Afresh::Churn => "churn",
            Afresh::Thrash => "thrash",
        }
    }
}

/// How much a session is told of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Form {
    /// It has its conversation: where the work stood, in a few lines.
    Note,
    /// All that is known of the work.
    Full,
}

/// What the next session of an agent goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Succession {
    /// After what its newest session begins, or the next one will.
    pub beginning: Beginning,
    /// The next session is to have a new conversation.
    pub afresh: Option<Afresh>,
    /// A session of it got something done or had a turn, as far as its harness shows: there is something to tell of.
    pub has_worked: bool,
    /// The session that the newest one goes on from, or the next one will (SC4).
    pub last: Option<LastSession>,
}

/// A session that ran, and is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastSession {
    pub number: SessionNumber,
    pub exit: Option<Exit>,
}

impl LastSession {
    fn of(session: &Session) -> Option<LastSession> {
        let last = LastSession { number: session.number, exit: session.exit };
        session.has_run().then_some(last)
    }
}

impl Default for Succession {
    fn default() -> Succession {
        Succession { beginning: Beginning::Birth, afresh: None, has_worked: false, last: None }
    }
}

/// Folds a move, before the agent's state is changed by it.
pub fn moved(agent: &mut Agent, moved: &Move) {
    agent.succession.has_worked |= had_turn(agent, moved);
    if moved.to != State::Waking {
        return;
    }
    if let Some(beginning) = beginning(agent, moved) {
        let last = agent.session.as_ref().and_then(LastSession::of);
        let Succession { beginning: known, last: before, .. } = &mut agent.succession;
        (*known, *before) = (beginning, last.or(*before));
    }
    let is_asked = matches!(moved.evidence.fact, Finding::AskedFresh(_));
    let is_handoff = moved.cause == Cause::HandedOff
        || agent.handing_off().is_some() && moved.cause == Cause::RebootedBusy;
    let why = match (is_asked, is_handoff) {
        (true, _) => Some(Afresh::Asked),
        (false, true) => Some(Afresh::Handoff),
        (false, false) => None,
    };
    agent.succession.afresh = why.or(agent.succession.afresh);
}

/// Whether the move shows that a session has or had a turn, and not only that it began.
fn had_turn(agent: &Agent, moved: &Move) -> bool {
    let is_beginning = moved.evidence.fact == Finding::Shown(Show::SessionBegan);
    let is_over = matches!(moved.cause, Cause::TurnEnded | Cause::SeenWaiting);
    let is_end = is_over && agent.turn == Turn::Open;
    !is_beginning && (is_end || moved.cause == Cause::TurnBegan)
}

/// SC3
pub fn followed(agent: &mut Agent) {
    let opening = agent.session.as_ref().map(|session| &session.opening);
    let is_new = matches!(opening, Some(Opening::Fresh(_) | Opening::Anew { .. }));
    if is_new {
        agent.succession.afresh = None;
    }
}

/// A conversation in which compactions don't help is not taken up again.
pub fn thrashed(agent: &mut Agent) {
    agent.succession.afresh.get_or_insert(Afresh::Thrash);
}

/// The window began anew after all: by a person's word, for a session that gave up compacts no more by itself.
pub fn recovered(agent: &mut Agent) {
    agent.succession.afresh.take_if(|why| *why == Afresh::Thrash);
}

/// A session was found that nobody recorded: nor is it known what it went on from.
pub fn found(agent: &mut Agent) {
    agent.succession.last = None;
}

/// After what the session begins that this move brings about; nothing if what is known still holds.
fn beginning(agent: &Agent, moved: &Move) -> Option<Beginning> {
    let known = agent.succession.beginning;
    // A bare command announces nothing: it has begun once its program runs.
    let runs = |session: &Session| agent.launch.is_bare() && session.process.is_some();
    let has_begun =
        agent.session.as_ref().is_some_and(|session| session.has_announced || runs(session));
    Some(match moved.cause {
        Cause::HandedOff => Beginning::Handoff,
        // The session that was to begin waits in line or failed to start: what it was to follow still holds.
        Cause::Retry | Cause::RebootedBusy if !has_begun && known != Beginning::Birth => {
            return None;
        }
        Cause::Restarted | Cause::Wake if agent.state == State::Waking => return None,
        Cause::Retry if agent.ended_by_itself() => Beginning::Again,
        Cause::Retry => Beginning::Crash,
        Cause::EndedAgain => Beginning::Again,
        Cause::RebootedBusy => Beginning::Reboot,
        Cause::Restarted if agent.live_session().is_some() => Beginning::Restart,
        Cause::Restarted | Cause::Wake | Cause::TaskQueued | Cause::Approved => woken(agent),
        // None of these leads to a session.
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
        | Cause::GaveUp
        | Cause::Stop
        | Cause::Unlisted
        | Cause::Listed
        | Cause::Unreported
        | Cause::HandoffAsked
        | Cause::Rested
        | Cause::Completed
        | Cause::Frozen
        | Cause::Reaped
        | Cause::Buried
        | Cause::RebootedIdle => return None,
    })
}

/// What an agent is woken after, by the state that it was in.
fn woken(agent: &Agent) -> Beginning {
    let Agent { state, reason, .. } = *agent;
    if state == State::Crashed && agent.ended_by_itself() {
        Beginning::Again
    } else if state == State::Crashed || reason == Reason::CrashedRestartOff {
        Beginning::Crash
    } else if reason == Reason::Stopped {
        Beginning::Stop
    } else if reason == Reason::MachineRestarted {
        Beginning::Reboot
    } else {
        Beginning::Wake
    }
}

impl Opening {
    /// What an agent CLI that begins so is told first. `is_lost`: nobody has the conversation any more, so the session
    /// begins it anew.
    pub fn first_prompt(&self, is_lost: bool, has_worked: bool) -> FirstPrompt {
        match (self, is_lost) {
            // Its argv says everything.
            (Opening::Bare, _) => FirstPrompt::Nothing,
            (Opening::Fresh(_), _) => FirstPrompt::OfLaunch,
            // SC2
            (Opening::Anew { .. }, _) => FirstPrompt::Briefing,
            (Opening::Resume { turn: Turn::Open, .. }, true) if has_worked => FirstPrompt::Briefing,
            // Cut off before anything was written: the session is told what the first one was told.
            (Opening::Resume { turn: Turn::Open, .. }, true) => FirstPrompt::OfLaunch,
            (Opening::Resume { turn: Turn::Open, .. }, false) => FirstPrompt::GoOn,
            // SC1: the turn had ended, or the operator stopped it, whose word it waits for.
            (Opening::Resume { turn: Turn::Over | Turn::Stopped, .. }, _) => FirstPrompt::Nothing,
        }
    }

    /// What a session that begins so is told beside its first prompt, with the reply to a hook.
    fn told_by_hook(&self, is_lost: bool, has_worked: bool) -> Option<Form> {
        match self {
            Opening::Bare | Opening::Fresh(_) | Opening::Anew { .. } => None,
            Opening::Resume { turn: Turn::Open, .. } => None,
            Opening::Resume { turn: Turn::Over | Turn::Stopped, .. } => {
                Some(if is_lost && has_worked { Form::Full } else { Form::Note })
            }
        }
    }
}

/// What the next session of an agent would begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foretold {
    pub beginning: Beginning,
    pub opening: Opening,
    pub first_prompt: FirstPrompt,
    /// What goes with the reply to a hook.
    pub by_hook: Option<Form>,
}

impl Agent {
    /// Whether there is something that a session with a new conversation has to be told (SC2).
    pub(crate) fn has_something_to_tell(&self) -> bool {
        let is_stopped = self.turn == Turn::Stopped;
        self.succession.has_worked || is_stopped || self.checkpoint.is_some()
    }

    /// Whether the newest session of an agent CLI ended as its program does when all is well, and not in a turn, so that no
    /// session is needed for what it was doing. Who always has a next one waits for it, as after a crash.
    pub(crate) fn ended_by_itself(&self) -> bool {
        let is_well =
            |session: &Session| session.is_clean && !session.was_asked && session.has_announced;
        self.turn == Turn::Over && self.session.as_ref().is_some_and(is_well)
    }

    /// What the next session would begin with if it began now, or after that; and with a new conversation if it is to be
    /// fresh. Of an agent that lives and does not hand off, nobody knows what will end its session: a crash is what nobody can
    /// prepare for.
    pub fn foretell(&self, after: Option<Beginning>, is_fresh: bool) -> Foretold {
        let mut agent = self.clone();
        let next = match (self.handing_off(), self.live_session()) {
            (Some(_), _) => Beginning::Handoff,
            (None, Some(_)) => Beginning::Crash,
            (None, None) => woken(self),
        };
        let beginning = after.unwrap_or(next);
        let is_handoff = beginning == Beginning::Handoff;
        let handoff = is_handoff.then_some(Afresh::Handoff);
        let wish = is_fresh.then_some(Afresh::Asked).or(handoff);
        agent.succession.afresh = wish.or(agent.succession.afresh);
        let is_stop = matches!(beginning, Beginning::Stop | Beginning::Restart);
        if is_stop && agent.turn == Turn::Open {
            agent.turn = Turn::Stopped;
        }
        let opening = agent.next_opening(agent.next_number());
        let has_worked = self.succession.has_worked;
        let (first_prompt, by_hook) = match beginning {
            Beginning::Compaction if opening != Opening::Bare => {
                (FirstPrompt::Nothing, Some(Form::Full))
            }
            Beginning::Birth
            | Beginning::Crash
            | Beginning::Again
            | Beginning::Wake
            | Beginning::Stop
            | Beginning::Restart
            | Beginning::Reboot
            | Beginning::Handoff
            | Beginning::Compaction => {
                (opening.first_prompt(false, has_worked), opening.told_by_hook(false, has_worked))
            }
        };
        Foretold { beginning, opening, first_prompt, by_hook }
    }

    /// What a session would go on from that began now.
    pub fn next_goes_on_from(&self) -> Option<LastSession> {
        self.session.as_ref().and_then(LastSession::of).or(self.succession.last)
    }

    /// Where the turn stood that the newest session follows, or that goes on in a new window. The first prompt of a session
    /// may come before anything can be told to it, and begins a turn of its own.
    pub fn turn_left(&self, beginning: Beginning) -> Turn {
        match self.session.as_ref().map(|session| &session.opening) {
            Some(Opening::Resume { turn, .. } | Opening::Anew { turn, .. })
                if beginning != Beginning::Compaction =>
            {
                *turn
            }
            Some(
                Opening::Resume { .. } | Opening::Anew { .. } | Opening::Fresh(_) | Opening::Bare,
            )
            | None => self.turn,
        }
    }

    /// Whether a session whose window begins so has to wait for the operator, who stopped the last one in a turn.
    pub fn awaits_operator_at_window(&self, how: Option<Followed>) -> bool {
        let turn = match how {
            Some(Followed::Started | Followed::Resumed | Followed::Forked) => {
                self.turn_left(self.succession.beginning)
            }
            // It may have had the operator's word since.
            Some(Followed::Compacted | Followed::Cleared) | None => self.turn,
        };
        turn == Turn::Stopped && !self.launch.is_bare()
    }

    /// What the live session is told of the work with the reply to a hook that begins a window, and after what.
    pub fn told_at_window(&self, how: Option<Followed>) -> Option<(Beginning, Form)> {
        let session = self.live_session()?;
        let Succession { beginning, has_worked, .. } = self.succession;
        if session.opening == Opening::Bare {
            return None;
        }
        match how {
            Some(Followed::Compacted) => Some((Beginning::Compaction, Form::Full)),
            // A person wanted it to forget.
            Some(Followed::Cleared) => None,
            Some(Followed::Started | Followed::Resumed | Followed::Forked) | None => {
                let was_to_resume = matches!(session.opening, Opening::Resume { .. });
                let is_lost = was_to_resume && how == Some(Followed::Started);
                let form = session.opening.told_by_hook(is_lost, has_worked)?;
                (beginning != Beginning::Birth).then_some((beginning, form))
            }
        }
    }
}

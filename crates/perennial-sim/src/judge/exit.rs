//! The model's exit table, read again from the model and not from the core.

use std::time::Duration;

use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::id::AgentId;
use perennial_core::reason::Reason;
use perennial_core::restart::Restart;
use perennial_core::state::State;
use perennial_core::time::Time;

use super::account::Account;
use super::{Verdict, broken};

/// How a session ended, as the table has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Clean,
    Else,
}

/// What follows an end that no verb asked for.
const TABLE: [(End, Restart, State, Reason); 6] = [
    (End::Clean, Restart::Never, State::Sleeping, Reason::Finished),
    (End::Clean, Restart::OnCrash, State::Sleeping, Reason::Finished),
    (End::Clean, Restart::Always, State::Waking, Reason::Starting),
    (End::Else, Restart::Never, State::Sleeping, Reason::CrashedRestartOff),
    (End::Else, Restart::OnCrash, State::Crashed, Reason::Retrying),
    (End::Else, Restart::Always, State::Crashed, Reason::Retrying),
];

/// One that ends cleanly and at once, again and again, waits as a crashed one does.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What has to follow from the end of a session, and what did.
#[derive(Debug)]
pub struct Ended {
    story: String,
    /// Any of these moves; empty: none.
    allowed: Vec<(State, Reason)>,
    /// The next session has to follow without a move of its own.
    owes_next: bool,
    pub moves: Vec<(State, Reason)>,
    pub has_next: bool,
}

/// What the model wants to follow from this end.
pub fn read(account: &Account, exit: Exit, at: Time) -> Ended {
    let lived = account.lived(at);
    let story = format!(
        "session {} ended {exit:?} after {lived:?}, {:?} {:?}, restart {:?}, bare: {}, shown: {}",
        account.number,
        account.state,
        account.reason,
        account.restart,
        account.is_bare,
        account.has_shown
    );
    let ended =
        |allowed| Ended { story, allowed, owes_next: false, moves: Vec::new(), has_next: false };
    let is_final = matches!(account.state, State::Frozen | State::Dead | State::Expired);
    match account.state {
        // JU12: by its own wish it is buried now, whatever ended its session.
        _ if account.promise.wants_burial && !account.promise.is_held && !is_final => {
            ended(vec![(State::Dead, Reason::Retired)])
        }
        // A verb asked for it: its state stands.
        State::Sleeping | State::Hibernating | State::Frozen | State::Dead | State::Expired => {
            ended(Vec::new())
        }
        _ if exit == Exit::Unknown(UnknownExit::MachineRestarted) => ended(after_reboot(account)),
        State::Crashed => match account.until {
            Some(until) if until <= at => ended(vec![(State::Waking, Reason::Starting)]),
            Some(_) | None => ended(Vec::new()),
        },
        // Woken while the last session was ending: the next one follows.
        State::Waking if account.is_ending => Ended { owes_next: true, ..ended(Vec::new()) },
        State::HandingOff => ended(vec![(State::Waking, Reason::Starting)]),
        State::Hatching | State::Waking | State::Working | State::Waiting | State::Unknown => {
            ended(unasked(account, exit, lived))
        }
    }
}

fn unasked(account: &Account, exit: Exit, lived: Duration) -> Vec<(State, Reason)> {
    let may_be_clean = account.is_bare || account.has_shown && !is_cut_off(account);
    let end = if exit == Exit::Code(0) && may_be_clean { End::Clean } else { End::Else };
    let row =
        |end: End| TABLE.into_iter().filter(move |row| (row.0, row.1) == (end, account.restart));
    let mut allowed: Vec<(State, Reason)> = row(end).map(|row| (row.2, row.3)).collect();
    let is_quick = lived < AT_ONCE || account.state == State::Hatching;
    if end == End::Clean && account.restart == Restart::Always && is_quick {
        allowed = vec![(State::Crashed, Reason::Retrying)];
    }
    // It was being ended for its silence: whether a clean end then is one, the model leaves open.
    if account.state == State::Unknown {
        allowed.extend(row(End::Else).map(|row| (row.2, row.3)));
    }
    // It never left the line: a restart that wants a new conversation puts another wish in its place.
    if exit == Exit::Unknown(UnknownExit::NotStarted) && !account.is_started {
        allowed.push((State::Waking, Reason::Starting));
    }
    // Which of the two it is, the restart policy says.
    if allowed.contains(&(State::Crashed, Reason::Retrying)) {
        allowed.push((State::Crashed, Reason::BreakerOpen));
    }
    allowed
}

/// In the middle of a turn no agent CLI ends well.
fn is_cut_off(account: &Account) -> bool {
    let works = account.state == State::Working && account.reason != Reason::BackgroundTasks;
    works || matches!(account.reason, Reason::NeedsPermission | Reason::NeedsAnswer)
}

/// Idle agents sleep, working ones resume, by policy.
fn after_reboot(account: &Account) -> Vec<(State, Reason)> {
    let sleeps = (State::Sleeping, Reason::MachineRestarted);
    let resumes = (State::Waking, Reason::Starting);
    match account.state {
        State::Crashed => Vec::new(),
        _ if account.restart == Restart::Never || account.promise.wants_burial => vec![sleeps],
        State::Hatching | State::Waking | State::Working | State::HandingOff => vec![resumes],
        State::Waiting if account.reason == Reason::Idle => vec![sleeps],
        // An open question, a silent turn: in a turn or not is for others to judge.
        State::Waiting
        | State::Unknown
        | State::Sleeping
        | State::Hibernating
        | State::Frozen
        | State::Dead
        | State::Expired => vec![sleeps, resumes],
    }
}

impl Ended {
    pub fn settle(self, id: AgentId) -> Verdict {
        let is_right = match self.moves.first() {
            None => self.allowed.is_empty() && self.has_next == self.owes_next,
            Some(first) => self.allowed.contains(first),
        };
        if is_right {
            return Ok(());
        }
        let Ended { story, allowed, moves, has_next, .. } = self;
        let what = format!(
            "{}: {story}; then {moves:?}, next: {has_next}; the table has {allowed:?}",
            id.0
        );
        broken("JU1: an end is read by the exit table", what)
    }
}

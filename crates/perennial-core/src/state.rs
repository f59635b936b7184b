//! The states of an agent, and the one table of legal moves between them.
//!
//! Causes of later work (tasks, freezing, verdicts, leads) are here too: the machine is complete,
//! whoever may pull its levers. `docs/states.md` is generated from `next`.
//!
//! Invariants
//! - A1  `frozen` is left only by an approval, or to `dead`.
//! - A2  `dead` is final.
//! - A3  Every state but `dead` can be brought to `dead` by the operator.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    Hatching,
    Waking,
    Working,
    Waiting,
    Unknown,
    HandingOff,
    Crashed,
    Sleeping,
    Hibernating,
    Frozen,
    Dead,
    Expired,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Roster {
    Living,
    Freezer,
    Cemetery,
}

impl State {
    pub const ALL: [State; 12] = [
        State::Hatching,
        State::Waking,
        State::Working,
        State::Waiting,
        State::Unknown,
        State::HandingOff,
        State::Crashed,
        State::Sleeping,
        State::Hibernating,
        State::Frozen,
        State::Dead,
        State::Expired,
    ];

    pub fn roster(self) -> Roster {
        use State::*;
        match self {
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed => {
                Roster::Living
            }
            Sleeping | Hibernating | Frozen => Roster::Freezer,
            Dead | Expired => Roster::Cemetery,
        }
    }

    pub fn word(self) -> &'static str {
        use State::*;
        match self {
            Hatching => "hatching",
            Waking => "waking",
            Working => "working",
            Waiting => "waiting",
            Unknown => "unknown",
            HandingOff => "handing-off",
            Crashed => "crashed",
            Sleeping => "sleeping",
            Hibernating => "hibernating",
            Frozen => "frozen",
            Dead => "dead",
            Expired => "expired",
        }
    }
}

impl Roster {
    pub fn word(self) -> &'static str {
        match self {
            Roster::Living => "living",
            Roster::Freezer => "freezer",
            Roster::Cemetery => "cemetery",
        }
    }
}

/// Why an agent moves: what was seen, asked or due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// The first sign of life of a session.
    Announced,
    /// No sign of life in time; the agent has a name.
    StartLimit,
    /// A session that runs shows nothing at first: a dialog may be in its way.
    DialogSeen,
    /// No name in time, or its process gone before it had one.
    NeverNamed,
    TurnBegan,
    /// The turn has ended, and work that it began continues.
    BackgroundWork,
    /// The turn has ended, or input is needed; also if what it waits for changes.
    TurnEnded,
    ConfirmationLost,
    SeenWorking,
    SeenWaiting,
    /// The session's end, as the exit table reads it.
    EndedFinished,
    EndedRestartOff,
    EndedCrashed,
    EndedAgain,
    /// A retry is due, or the breaker is half open.
    Retry,
    GaveUp,
    Wake,
    Stop,
    /// The lead's report, or the end of the lead's session, says it no longer runs.
    Unlisted,
    Listed,
    /// Led, unknown, and not reported in time.
    Unreported,
    HandoffAsked,
    /// Saved, or its deadline passed, or its session ended while handing off.
    HandedOff,
    Rested,
    Completed,
    TaskQueued,
    Frozen,
    Approved,
    /// By a verb or a verdict: its session ends, if it has one, and the next one follows.
    Restarted,
    Reaped,
    Buried,
    /// The machine restarted under a session that is resumed.
    RebootedBusy,
    /// The machine restarted under a session that is left asleep.
    RebootedIdle,
}

impl Cause {
    pub const ALL: [Cause; 33] = [
        Cause::Announced,
        Cause::StartLimit,
        Cause::DialogSeen,
        Cause::NeverNamed,
        Cause::TurnBegan,
        Cause::BackgroundWork,
        Cause::TurnEnded,
        Cause::ConfirmationLost,
        Cause::SeenWorking,
        Cause::SeenWaiting,
        Cause::EndedFinished,
        Cause::EndedRestartOff,
        Cause::EndedCrashed,
        Cause::EndedAgain,
        Cause::Retry,
        Cause::GaveUp,
        Cause::Wake,
        Cause::Stop,
        Cause::Unlisted,
        Cause::Listed,
        Cause::Unreported,
        Cause::HandoffAsked,
        Cause::HandedOff,
        Cause::Rested,
        Cause::Completed,
        Cause::TaskQueued,
        Cause::Frozen,
        Cause::Approved,
        Cause::Restarted,
        Cause::Reaped,
        Cause::Buried,
        Cause::RebootedBusy,
        Cause::RebootedIdle,
    ];

    pub fn word(self) -> &'static str {
        use Cause::*;
        match self {
            Announced => "announced",
            StartLimit => "start-limit",
            DialogSeen => "dialog-seen",
            NeverNamed => "never-named",
            TurnBegan => "turn-began",
            BackgroundWork => "background-work",
            TurnEnded => "turn-ended",
            ConfirmationLost => "confirmation-lost",
            SeenWorking => "seen-working",
            SeenWaiting => "seen-waiting",
            EndedFinished => "ended-finished",
            EndedRestartOff => "ended-restart-off",
            EndedCrashed => "ended-crashed",
            EndedAgain => "ended-again",
            Retry => "retry",
            GaveUp => "gave-up",
            Wake => "wake",
            Stop => "stop",
            Unlisted => "unlisted",
            Listed => "listed",
            Unreported => "unreported",
            HandoffAsked => "handoff-asked",
            HandedOff => "handed-off",
            Rested => "rested",
            Completed => "completed",
            TaskQueued => "task-queued",
            Cause::Frozen => "frozen",
            Approved => "approved",
            Restarted => "restarted",
            Reaped => "reaped",
            Buried => "buried",
            RebootedBusy => "rebooted-busy",
            RebootedIdle => "rebooted-idle",
        }
    }
}

/// Where `cause` takes an agent in `state`; `None`: it is no cause to move from there.
pub fn next(state: State, cause: Cause) -> Option<State> {
    use State::*;
    match cause {
        Cause::Announced => match state {
            Hatching | Waking => Some(Working),
            Working | Waiting | Unknown | HandingOff | Crashed | Sleeping | Hibernating
            | Frozen | Dead | Expired => None,
        },
        Cause::StartLimit => match state {
            Hatching | Waking => Some(Crashed),
            Working | Waiting | Unknown | HandingOff | Crashed | Sleeping | Hibernating
            | Frozen | Dead | Expired => None,
        },
        Cause::DialogSeen => match state {
            Hatching | Waking | Waiting => Some(Waiting),
            Working | Unknown | HandingOff | Crashed | Sleeping | Hibernating | Frozen | Dead
            | Expired => None,
        },
        Cause::NeverNamed => match state {
            Hatching => Some(Expired),
            Waking | Working | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::TurnBegan | Cause::BackgroundWork => match state {
            Working | Waiting => Some(Working),
            Hatching | Waking | Unknown | HandingOff | Crashed | Sleeping | Hibernating
            | Frozen | Dead | Expired => None,
        },
        Cause::TurnEnded => match state {
            Working | Waiting => Some(Waiting),
            Hatching | Waking | Unknown | HandingOff | Crashed | Sleeping | Hibernating
            | Frozen | Dead | Expired => None,
        },
        Cause::ConfirmationLost => match state {
            Hatching | Waking | Working | Waiting | HandingOff | Crashed => Some(Unknown),
            // A record that can't be read says nothing, also of one that was asleep or is taken up again.
            Sleeping | Hibernating | Unknown => Some(Unknown),
            Frozen | Dead | Expired => None,
        },
        Cause::SeenWorking => match state {
            Unknown => Some(Working),
            Hatching | Waking | Working | Waiting | HandingOff | Crashed | Sleeping
            | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::SeenWaiting => match state {
            Unknown => Some(Waiting),
            Hatching | Waking | Working | Waiting | HandingOff | Crashed | Sleeping
            | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::EndedFinished | Cause::EndedRestartOff => match state {
            Hatching | Waking | Working | Waiting | Unknown => Some(Sleeping),
            HandingOff | Crashed | Sleeping | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::EndedCrashed => match state {
            Hatching | Waking | Working | Waiting | Unknown => Some(Crashed),
            HandingOff | Crashed | Sleeping | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::EndedAgain => match state {
            Waking | Working | Waiting | Unknown => Some(Waking),
            Hatching | HandingOff | Crashed | Sleeping | Hibernating | Frozen | Dead | Expired => {
                None
            }
        },
        Cause::Retry => match state {
            Crashed => Some(Waking),
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Sleeping
            | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::GaveUp => match state {
            Crashed => Some(Dead),
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Sleeping
            | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::Wake => match state {
            // From `unknown` only where no session can be alive: an unreadable record.
            Crashed | Sleeping | Hibernating | Unknown => Some(Waking),
            Hatching | Waking | Working | Waiting | HandingOff | Frozen | Dead | Expired => None,
        },
        Cause::Stop => match state {
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Hibernating => Some(Sleeping),
            Frozen | Dead | Expired => None,
        },
        Cause::Unlisted => match state {
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed => {
                Some(Sleeping)
            }
            Sleeping | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::Listed => match state {
            Hatching | Waking | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Hibernating => Some(Working),
            Working | Frozen | Dead | Expired => None,
        },
        Cause::Unreported => match state {
            Unknown => Some(Sleeping),
            Hatching | Waking | Working | Waiting | HandingOff | Crashed | Sleeping
            | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::HandoffAsked => match state {
            Working | Waiting | Unknown => Some(HandingOff),
            Hatching | Waking | HandingOff | Crashed | Sleeping | Hibernating | Frozen | Dead
            | Expired => None,
        },
        Cause::HandedOff => match state {
            HandingOff => Some(Waking),
            Hatching | Waking | Working | Waiting | Unknown | Crashed | Sleeping | Hibernating
            | Frozen | Dead | Expired => None,
        },
        Cause::Rested => match state {
            Working | Waiting => Some(Hibernating),
            Hatching | Waking | Unknown | HandingOff | Crashed | Sleeping | Hibernating
            | Frozen | Dead | Expired => None,
        },
        Cause::Completed => match state {
            Working | Waiting => Some(Dead),
            Hatching | Waking | Unknown | HandingOff | Crashed | Sleeping | Hibernating
            | Frozen | Dead | Expired => None,
        },
        Cause::TaskQueued => match state {
            Hibernating => Some(Waking),
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Frozen | Dead | Expired => None,
        },
        Cause::Frozen => match state {
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Hibernating => Some(Frozen),
            Frozen | Dead | Expired => None,
        },
        Cause::Approved => match state {
            Frozen => Some(Waking),
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Hibernating | Dead | Expired => None,
        },
        Cause::Restarted => match state {
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Hibernating => Some(Waking),
            Frozen | Dead | Expired => None,
        },
        Cause::Reaped => match state {
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Hibernating | Frozen => Some(Dead),
            Dead | Expired => None,
        },
        Cause::Buried => match state {
            Hatching | Waking | Working | Waiting | Unknown | HandingOff | Crashed | Sleeping
            | Hibernating | Frozen => Some(Dead),
            Dead | Expired => None,
        },
        Cause::RebootedBusy => match state {
            // Those that wait or hang in the middle of a turn are busy too.
            Hatching | Waking | Working | Waiting | Unknown | HandingOff => Some(Waking),
            Crashed | Sleeping | Hibernating | Frozen | Dead | Expired => None,
        },
        Cause::RebootedIdle => match state {
            Hatching | Waking | Working | Waiting | Unknown | HandingOff => Some(Sleeping),
            Crashed | Sleeping | Hibernating | Frozen | Dead | Expired => None,
        },
    }
}

/// Every legal move, in the order of the tables above; what `docs/states.md` is made of.
pub fn moves() -> impl Iterator<Item = (State, Cause, State)> {
    Cause::ALL.into_iter().flat_map(|cause| {
        State::ALL.into_iter().filter_map(move |from| next(from, cause).map(|to| (from, cause, to)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: J-01
    #[test]
    fn frozen_is_left_only_by_an_approval_or_to_dead() {
        for (from, cause, to) in moves() {
            if from == State::Frozen {
                assert!(cause == Cause::Approved || to == State::Dead, "{cause:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn the_cemetery_is_final_and_a_burial_leads_there_from_everywhere_else() {
        for state in State::ALL {
            let is_final = state.roster() == Roster::Cemetery;
            assert_eq!(next(state, Cause::Buried) == Some(State::Dead), !is_final, "{state:?}");
            assert!(!is_final || moves().all(|(from, _, _)| from != state), "{state:?}");
        }
    }

    /// Every walk of up to five causes from birth stays inside the table, and no state outside the
    /// cemetery is a trap.
    #[test]
    fn short_walks_reach_every_state_and_none_is_stuck() {
        let mut reached = std::collections::BTreeSet::from([State::Hatching]);
        let mut edge = vec![State::Hatching];
        for _ in 0..5 {
            edge = edge
                .iter()
                .flat_map(|state| Cause::ALL.iter().filter_map(|cause| next(*state, *cause)))
                .filter(|state| reached.insert(*state))
                .collect();
        }
        assert_eq!(reached.len(), State::ALL.len());
        for state in State::ALL {
            let exits = Cause::ALL.iter().filter_map(|c| next(state, *c)).filter(|to| *to != state);
            assert_eq!(exits.count() == 0, state.roster() == Roster::Cemetery, "{state:?}");
        }
    }

    #[test]
    fn stop_reaches_sleeping_from_every_living_state_and_from_those_that_rest() {
        for state in State::ALL {
            let rests = matches!(state, State::Sleeping | State::Hibernating);
            let stops = state.roster() == Roster::Living || rests;
            assert_eq!(next(state, Cause::Stop) == Some(State::Sleeping), stops, "{state:?}");
        }
    }
}

//! What states and causes mean, for `docs/states.md`: every one of them, by name.

use perennial_core::state::{Cause, State};

/// What an agent in this state is, and what ends the state without a command.
pub fn state(state: State) -> (&'static str, &'static str) {
    match state {
        State::Hatching => ("just spawned; no sign of life yet", "first sign of life; start limit"),
        State::Waking => {
            ("its next session is starting and not yet confirmed", "first evidence; start limit")
        }
        State::Working => (
            "confirmed alive, in a turn or with background tasks still running",
            "the turn's end, exit, silence",
        ),
        State::Waiting => (
            "confirmed alive: idle, or needs input or permission, or its turn failed",
            "input, exit",
        ),
        State::Unknown => {
            ("can't be confirmed; that is a state, not an error", "evidence; limit for led agents")
        }
        State::HandingOff => ("asked to save and exit; a successor follows", "saved; deadline"),
        State::Crashed => ("its session exited unexpectedly", "retry; half-open breaker"),
        State::Sleeping => ("its session has ended; its identity is intact", "nothing: wake it"),
        State::Hibernating => ("its task is done and its queue empty", "a task on its queue"),
        State::Frozen => ("suspended on purpose", "nothing: only an approval wakes it"),
        State::Dead => ("retired for good; its name may be used again", "nothing: final"),
        State::Expired => ("did not get a name in time", "nothing: hidden, but kept"),
    }
}

/// What must happen for this cause to be given.
pub fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Announced => "first sign of life of a session",
        Cause::StartLimit => "its program did not start in time",
        Cause::DialogSeen => "it runs but gives no sign of life: after 20 s, and after 90 s",
        Cause::BackgroundWork => "a turn ends, and its background tasks continue",
        Cause::NeverNamed => "no name in time, or exited before it had one",
        Cause::TurnBegan => "a turn begins",
        Cause::TurnEnded => "a turn ends, or input is needed",
        Cause::ConfirmationLost => "its state can't be confirmed any more, or not yet",
        Cause::SeenWorking => "evidence that it works",
        Cause::SeenWaiting => "evidence that it waits",
        Cause::EndedFinished => "its session ended cleanly",
        Cause::EndedRestartOff => "its session crashed, restarts are off",
        Cause::EndedCrashed => "its session crashed, a retry follows",
        Cause::EndedAgain => "its session ended cleanly, the next one follows",
        Cause::Retry => "the retry is due, or the breaker half open",
        Cause::GaveUp => "the role's restart limit is reached",
        Cause::Wake => "`wake`",
        Cause::Stop => "`stop`",
        Cause::Unlisted => "the lead no longer lists it, or the lead's session ended",
        Cause::Listed => "the lead lists it as alive",
        Cause::Unreported => "led, unknown, and not reported in time",
        Cause::HandoffAsked => "a handoff is requested",
        Cause::HandedOff => "saved, deadline passed, or its session ended meanwhile",
        Cause::Rested => "task verified, queue empty, persistent role",
        Cause::Completed => "task verified, queue empty, mortal role",
        Cause::TaskQueued => "a task is put on its queue",
        Cause::Frozen => "it is frozen",
        Cause::Approved => "an operator's approval",
        Cause::Restarted => "verdict: restart",
        Cause::Reaped => "verdict: reap",
        Cause::Buried => "`bury`",
        Cause::RebootedBusy => "the machine restarted; it was busy and resumes",
        Cause::RebootedIdle => "the machine restarted; it is left asleep",
    }
}

//! What states and causes mean, for `docs/states.md`: every one of them, by name.

use perennial_core::state::{Cause, State};

/// What an agent in this state is, and what ends the state without anybody's word.
pub fn state(state: State) -> (&'static str, &'static str) {
    match state {
        State::Hatching => ("born now; nothing has announced itself yet", "announced; start limit"),
        State::Waking => (
            "a known agent's next session is wanted and not yet confirmed",
            "first evidence; start limit",
        ),
        State::Working => (
            "confirmed alive, in a turn or with background tasks that still run",
            "the turn's end, exit, silence",
        ),
        State::Waiting => (
            "confirmed alive: idle, or needs input or permission, or its turn failed",
            "input, exit",
        ),
        State::Unknown => (
            "confirmation is lost; not known is a state, not an error",
            "evidence; limit for led agents",
        ),
        State::HandingOff => ("asked to save and exit; a successor follows", "saved; deadline"),
        State::Crashed => ("its session ended and should not have", "retry; half-open breaker"),
        State::Sleeping => ("its session is over, the identity intact", "nothing: wake it"),
        State::Hibernating => ("its task is done and its queue empty", "a task on its queue"),
        State::Frozen => ("suspended on purpose", "nothing: only an approval wakes it"),
        State::Dead => ("over; its name may be used again", "nothing: final"),
        State::Expired => ("hatched past the limit without a name", "nothing: hidden, kept"),
    }
}

/// What must happen for this cause to be given.
pub fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Announced => "first sign of life of a session",
        Cause::StartLimit => "its program does not run in time",
        Cause::DialogSeen => "it runs and shows nothing: after 20 s, and after 90 s",
        Cause::BackgroundWork => "a turn ends, and work that it began goes on in the background",
        Cause::NeverNamed => "no name in time, or gone before it had one",
        Cause::TurnBegan => "a turn begins",
        Cause::TurnEnded => "a turn ends, or input is needed",
        Cause::ConfirmationLost => "nobody can say any more, or yet, what is so",
        Cause::SeenWorking => "evidence: it works",
        Cause::SeenWaiting => "evidence: it waits",
        Cause::EndedFinished => "session ended cleanly",
        Cause::EndedRestartOff => "session ended otherwise, restart is off",
        Cause::EndedCrashed => "session ended otherwise, a retry follows",
        Cause::EndedAgain => "session ended cleanly, the next one follows",
        Cause::Retry => "the retry is due, or the breaker half open",
        Cause::GaveUp => "the role's limit of retries is reached",
        Cause::Wake => "`wake`",
        Cause::Stop => "`stop`",
        Cause::Unlisted => "the lead no longer lists it, or the lead's session ended",
        Cause::Listed => "the lead lists it as alive",
        Cause::Unreported => "led, unknown, and not reported in time",
        Cause::HandoffAsked => "a handoff is asked for",
        Cause::HandedOff => "saved, deadline passed, or its session ended meanwhile",
        Cause::Rested => "task verified, queue empty, persistent role",
        Cause::Completed => "task verified, queue empty, mortal role",
        Cause::TaskQueued => "a task comes to its queue",
        Cause::Frozen => "it is frozen",
        Cause::Approved => "an operator's approval",
        Cause::Restarted => "verdict: restart",
        Cause::Reaped => "verdict: reap",
        Cause::Buried => "`bury`",
        Cause::RebootedBusy => "the machine restarted; it was busy and resumes",
        Cause::RebootedIdle => "the machine restarted; it is left asleep",
    }
}

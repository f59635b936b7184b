//! What showed a phase of work, in sentences for people.

use perennial_core::work::Indicator;

/// After "its phase is testing:".
pub fn indicated(indicator: Indicator) -> &'static str {
    match indicator {
        Indicator::PlanTold => "it told its plan",
        Indicator::TaskListMade => "it made a list of tasks",
        Indicator::FileEdited => "it edited a file",
        Indicator::WorkDelegated => "it delegated work",
        Indicator::TestsRun => "it ran tests",
        Indicator::TestsDelegated => "it delegated tests",
        Indicator::TestsPassed => "its tests passed",
        Indicator::CompletionTold => "it said that its work is complete",
        Indicator::CommitMade => "it made a commit",
        Indicator::LookedAround => "it looks around after a new prompt",
        Indicator::TrialRun => "it ran a script of its own that tries the work out",
        Indicator::TrialsRemoved => "it removed the scripts that it had tried the work out with",
    }
}

//! What shows that work went on to another phase, and the table that says to which.
//!
//! The indicators are those of the seed: a plan is told or a list of tasks is made, files are edited or work is
//! delegated, tests are run, tests pass, work is committed or summed up. Three are ours: who looks around after a new
//! prompt has begun something else; a script of the agent's own tries out what it changed; who removes such scripts is done.

use serde::{Deserialize, Serialize};

use super::WorkPhase;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Indicator {
    /// "Here is my plan."
    PlanTold,
    TaskListMade,
    FileEdited,
    WorkDelegated,
    TestsRun,
    TestsDelegated,
    TestsPassed,
    /// "All tests pass."
    CompletionTold,
    CommitMade,
    /// Its work was complete; it got another prompt and only reads since then.
    LookedAround,
    /// It ran a script of its own that tries the work out.
    TrialRun,
    /// It removed the scripts that it had tried the work out with.
    TrialsRemoved,
}

impl Indicator {
    pub const ALL: [Indicator; 12] = [
        Indicator::PlanTold,
        Indicator::TaskListMade,
        Indicator::FileEdited,
        Indicator::WorkDelegated,
        Indicator::TestsRun,
        Indicator::TestsDelegated,
        Indicator::TestsPassed,
        Indicator::CompletionTold,
        Indicator::CommitMade,
        Indicator::LookedAround,
        Indicator::TrialRun,
        Indicator::TrialsRemoved,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Indicator::PlanTold => "plan-told",
            Indicator::TaskListMade => "task-list-made",
            Indicator::FileEdited => "file-edited",
            Indicator::WorkDelegated => "work-delegated",
            Indicator::TestsRun => "tests-run",
            Indicator::TestsDelegated => "tests-delegated",
            Indicator::TestsPassed => "tests-passed",
            Indicator::CompletionTold => "completion-told",
            Indicator::CommitMade => "commit-made",
            Indicator::LookedAround => "looked-around",
            Indicator::TrialRun => "trial-run",
            Indicator::TrialsRemoved => "trials-removed",
        }
    }

    /// The phase that follows, if this shows another one than `now`. `has_edited`: the work has been in the
    /// implementation phase since it began.
    pub fn leads_from(self, now: WorkPhase, has_edited: bool) -> Option<WorkPhase> {
        use WorkPhase::{Completion, Implementation, Investigation, Planning, Testing};
        let next = match (self, now) {
            // Lists are kept up to date, and plans are spoken of, all through the work.
            (Indicator::PlanTold | Indicator::TaskListMade, Investigation | Completion) => Planning,
            (
                Indicator::PlanTold | Indicator::TaskListMade,
                Planning | Implementation | Testing,
            ) => {
                return None;
            }
            (Indicator::FileEdited, _) => Implementation,
            // Later on it may be anything that is delegated.
            (Indicator::WorkDelegated, Planning) => Implementation,
            (Indicator::WorkDelegated, Investigation | Implementation | Testing | Completion) => {
                return None;
            }
            (Indicator::TestsRun | Indicator::TestsDelegated, _) => Testing,
            // Tests that pass before anything was changed complete nothing.
            (Indicator::TestsPassed, Testing) if has_edited => Completion,
            (
                Indicator::TestsPassed,
                Investigation | Planning | Implementation | Testing | Completion,
            ) => return None,
            // Nothing is complete that was only looked at.
            (Indicator::CompletionTold, Implementation | Testing) => Completion,
            (Indicator::CompletionTold, Investigation | Planning | Completion) => return None,
            (Indicator::CommitMade, _) => Completion,
            (Indicator::LookedAround, Completion) => Investigation,
            (Indicator::LookedAround, Investigation | Planning | Implementation | Testing) => {
                return None;
            }
            // Before anything was changed, a trial finds out how things are.
            (Indicator::TrialRun, Implementation) => Testing,
            (Indicator::TrialRun, Investigation | Planning | Testing | Completion) => return None,
            (Indicator::TrialsRemoved, Implementation | Testing) if has_edited => Completion,
            (
                Indicator::TrialsRemoved,
                Investigation | Planning | Implementation | Testing | Completion,
            ) => return None,
        };
        (next != now).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seed's own transitions, one after the other.
    #[test]
    fn the_indicators_of_the_seed_lead_through_the_phases() {
        use WorkPhase::{Completion, Implementation, Investigation, Planning, Testing};
        for (indicator, from, to) in [
            (Indicator::PlanTold, Investigation, Planning),
            (Indicator::TaskListMade, Investigation, Planning),
            (Indicator::FileEdited, Planning, Implementation),
            (Indicator::WorkDelegated, Planning, Implementation),
            (Indicator::TestsRun, Implementation, Testing),
            (Indicator::TestsDelegated, Implementation, Testing),
            (Indicator::TestsPassed, Testing, Completion),
            (Indicator::CompletionTold, Testing, Completion),
            (Indicator::CommitMade, Testing, Completion),
            (Indicator::LookedAround, Completion, Investigation),
            (Indicator::TrialRun, Implementation, Testing),
            (Indicator::TrialsRemoved, Testing, Completion),
        ] {
            assert_eq!(indicator.leads_from(from, true), Some(to), "{indicator:?}");
        }
        assert_eq!(Indicator::TestsPassed.leads_from(Testing, false), None);
        assert_eq!(Indicator::TrialsRemoved.leads_from(Testing, false), None);
        for looks in [Investigation, Planning, Completion] {
            assert_eq!(Indicator::TrialRun.leads_from(looks, true), None);
        }
    }

    /// The whole table: to which phase each indicator leads from each, once something was edited.
    #[test]
    fn each_indicator_leads_where_it_leads() {
        let letter = |phase: Option<WorkPhase>| match phase {
            None => '.',
            Some(WorkPhase::Investigation) => 'i',
            Some(WorkPhase::Planning) => 'p',
            Some(WorkPhase::Implementation) => 'm',
            Some(WorkPhase::Testing) => 't',
            Some(WorkPhase::Completion) => 'c',
        };
        assert_eq!(WorkPhase::ALL.map(|phase| letter(Some(phase))), ['i', 'p', 'm', 't', 'c']);
        for (indicator, row) in [
            (Indicator::PlanTold, "p...p"),
            (Indicator::TaskListMade, "p...p"),
            (Indicator::FileEdited, "mm.mm"),
            (Indicator::WorkDelegated, ".m..."),
            (Indicator::TestsRun, "ttt.t"),
            (Indicator::TestsDelegated, "ttt.t"),
            (Indicator::TestsPassed, "...c."),
            (Indicator::CompletionTold, "..cc."),
            (Indicator::CommitMade, "cccc."),
            (Indicator::LookedAround, "....i"),
            (Indicator::TrialRun, "..t.."),
            (Indicator::TrialsRemoved, "..cc."),
        ] {
            let of = |has_edited| -> String {
                let leads = |phase| letter(indicator.leads_from(phase, has_edited));
                WorkPhase::ALL.into_iter().map(leads).collect()
            };
            assert_eq!(of(true), row, "{indicator:?}");
            let needs_edit = matches!(indicator, Indicator::TestsPassed | Indicator::TrialsRemoved);
            assert_eq!(of(false), if needs_edit { "....." } else { row }, "{indicator:?}");
        }
    }

    #[test]
    fn none_leads_to_the_phase_that_is_there_already() {
        for indicator in Indicator::ALL {
            for phase in WorkPhase::ALL {
                assert_ne!(indicator.leads_from(phase, true), Some(phase), "{indicator:?}");
            }
        }
    }
}

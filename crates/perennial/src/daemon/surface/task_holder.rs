//! Who has the task that something was refused about: the refusal itself names only the task.

use perennial_api::task::TaskAction;
use perennial_core::authority::Caller;
use perennial_core::id::TaskId;

use super::Surface;
use super::answer::ProblemResponse;
use crate::daemon::showing::problems::task as problems;

impl Surface {
    /// The same problem, with who has the task, where that is why.
    pub(super) async fn with_holder(
        &self,
        (caller, action, id): (Caller, TaskAction, TaskId),
        ProblemResponse(problem): ProblemResponse,
    ) -> ProblemResponse {
        let (kind, is_person) = (problem.kind.as_str(), caller == Caller::Person);
        if kind == "not-a-session" && is_person && action == TaskAction::Take {
            return ProblemResponse(problems::take_by_person(id));
        }
        if !["not-allowed", "task-state"].contains(&kind) {
            return ProblemResponse(problem);
        }
        let Ok(task) = self.known_task(id).await else { return ProblemResponse(problem) };
        let Ok(shown) = self.shown_tasks(caller, vec![task]).await else {
            return ProblemResponse(problem);
        };
        let holder = shown.into_iter().next().and_then(|task| task.assignee);
        ProblemResponse(problems::held_by(problem, holder.as_deref()))
    }
}

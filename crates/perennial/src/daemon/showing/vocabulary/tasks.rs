//! Tasks in the words of a seed. Shows nothing that `task show` would not.

use perennial_api::task::Task;
use perennial_core::vocabulary::{TaskCondition, TaskSource, Vocabulary};
use serde_json::{Value, json};

use super::Document;

pub fn document(vocabulary: Vocabulary, task: &Task) -> Document {
    let field =
        |(name, source): &(&'static str, TaskSource)| (*name, value(vocabulary, *source, task));
    Document(vocabulary.task_fields().iter().map(field).collect())
}

fn value(vocabulary: Vocabulary, source: TaskSource, task: &Task) -> Value {
    let condition = TaskCondition::of_words(&task.state, task.blocked_on.as_deref());
    // The words of this daemon's own tasks are all known.
    let said = vocabulary.task_state(condition.unwrap_or(TaskCondition::Open));
    let role =
        |whose: &str| whose.strip_prefix("role:").map(|role| vocabulary.role(role).to_owned());
    let named =
        |whose: &str| role(whose).map_or_else(|| whose.to_owned(), |role| format!("role:{role}"));
    match source {
        TaskSource::Id => json!(task.id),
        TaskSource::Title => json!(task.title),
        TaskSource::State => json!(said.state),
        TaskSource::StateDetail => json!(said.detail),
        TaskSource::Reason => json!(task.reason),
        TaskSource::Assignee => json!(task.assignee.as_deref().map(named)),
        TaskSource::Agent => {
            json!(task.assignee.as_deref().filter(|whose| !whose.starts_with("role:")))
        }
        TaskSource::Role => json!(task.queue.as_deref().and_then(role)),
        // Its tree: the project of a repository is known by its git directory.
        TaskSource::Project => json!(task.project.strip_suffix("/.git").unwrap_or(&task.project)),
        TaskSource::Steps => task
            .steps
            .iter()
            .map(|step| {
                let state = if step.done { "closed" } else { "open" };
                json!({ "step": step.text, "state": state })
            })
            .collect(),
        TaskSource::OpenStep => {
            json!(task.steps.iter().position(|step| !step.done).map(|at| at + 1))
        }
        TaskSource::Parent => json!(task.parent),
        TaskSource::Parts => json!(task.parts),
        TaskSource::DependsOn => json!(task.waits_for),
        TaskSource::Reference => json!(task.reference),
        TaskSource::AddedAt => json!(task.added_at),
        TaskSource::ChangedAt => json!(task.since),
        TaskSource::Rounds => json!(task.rounds),
        TaskSource::CheckResult => {
            let word = |passed| if passed { "passing" } else { "failing" };
            json!(task.last_check.as_ref().map(|check| word(check.passed)))
        }
        TaskSource::CheckOutput => {
            let failed = task.last_check.as_ref().filter(|check| !check.passed);
            json!(failed.map(|check| &check.output))
        }
        TaskSource::OpenLoop => json!(task.open_loop.as_ref().map(|it| &it.from)),
        TaskSource::Fixed(word) => json!(word),
    }
}

#[cfg(test)]
mod tests {
    use perennial_core::task::{BlockedOn, TaskState};

    use super::*;

    /// Every state of a task has a document in every vocabulary, in the order of its fields.
    #[test]
    fn every_state_of_a_task_is_printed_in_each_vocabulary() {
        let blocked_on = || BlockedOn::ALL.map(|on| Some(on.word())).into_iter().chain([None]);
        for vocabulary in Vocabulary::ALL {
            for (state, on) in
                TaskState::WORDS.into_iter().flat_map(|word| blocked_on().map(move |on| (word, on)))
            {
                let blocked_on = on.map(str::to_owned);
                let task = Task { state: state.to_owned(), blocked_on, ..Task::default() };
                let printed = serde_json::to_string(&document(vocabulary, &task));
                let printed = printed.expect("plain values");
                let read: Value = serde_json::from_str(&printed).expect("JSON");
                let fields = vocabulary.task_fields();
                let field = fields.iter().find(|(_, it)| *it == TaskSource::State);
                let (field, _) = field.expect("each has a state");
                let meant = vocabulary.task_conditions(read[field].as_str().expect("a word"));
                assert!(meant.iter().any(|one| one.our_word() == state), "{vocabulary:?} {state}");
                let place = |name| printed.find(&format!("\"{name}\":")).expect("every field");
                assert!(fields.iter().map(|(name, _)| place(name)).is_sorted(), "{printed}");
            }
        }
    }
}

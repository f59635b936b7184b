//! How much may be said of a task. What is beyond a bound is refused, and nothing is made to fit. Changes nothing.

use std::ops::RangeInclusive;

use super::{
    Brief, CHECK_LIMIT_MOST, CheckSpec, ESTIMATE_STEPS_MOST, ESTIMATE_TOKENS_MOST, Estimate,
    REASON_BYTES_MAX, REFERENCE_BYTES_MAX, ROUNDS_MOST, STEP_BYTES_MAX, StepWanted,
    TITLE_BYTES_MAX, TaskCommand, TaskRefusal,
};
use crate::id::TaskId;
use crate::refusal::Refusal;

/// The words and numbers of a command; lists are bounded where they are added to.
pub(super) fn checked(command: &TaskCommand) -> Result<(), Refusal> {
    let of = |task: TaskId| move |why| Refusal::Task { task, why };
    match command {
        TaskCommand::Add(draft) => of_brief(&draft.brief).map_err(of(draft.id)),
        TaskCommand::Import { tasks, .. } => {
            tasks.iter().try_for_each(|one| of_brief(&one.brief).map_err(of(one.id)))
        }
        TaskCommand::Step { task, step: StepWanted::Add(text) } => {
            line("step", text, STEP_BYTES_MAX).map_err(of(*task))
        }
        TaskCommand::Split { task, into } => {
            let mut titles = into.iter().map(|(_, title)| title);
            titles.try_for_each(|it| line("title", it, TITLE_BYTES_MAX)).map_err(of(*task))
        }
        TaskCommand::Block { task, reason, .. }
        | TaskCommand::Done { task, reason, .. }
        | TaskCommand::Verify { task, reason, .. }
        | TaskCommand::Reopen { task, reason, .. }
        | TaskCommand::Drop { task, reason, .. } => match reason.len() <= REASON_BYTES_MAX {
            true => Ok(()),
            false => {
                let (what, most) = ("reason", REASON_BYTES_MAX);
                Err(of(*task)(TaskRefusal::TooLong { what, most }))
            }
        },
        TaskCommand::Step { step: StepWanted::Done(_) | StepWanted::NotDone(_), .. }
        | TaskCommand::Take { .. }
        | TaskCommand::Assign { .. }
        | TaskCommand::Note { .. } => Ok(()),
    }
}

fn of_brief(brief: &Brief) -> Result<(), TaskRefusal> {
    line("title", &brief.title, TITLE_BYTES_MAX)?;
    brief.steps.iter().try_for_each(|step| line("step", &step.text, STEP_BYTES_MAX))?;
    if let Some(reference) = &brief.reference {
        line("reference", reference, REFERENCE_BYTES_MAX)?;
    }
    within("rounds", u64::from(brief.rounds_max), 1..=u64::from(ROUNDS_MOST))?;
    match &brief.check {
        Some(CheckSpec::Command { limit, .. }) => {
            within("check limit", limit.as_secs(), 1..=CHECK_LIMIT_MOST.as_secs())?;
        }
        Some(CheckSpec::Named(_)) | None => {}
    }
    match brief.estimate {
        Some(Estimate::Tokens(tokens)) => within("estimate", tokens, 1..=ESTIMATE_TOKENS_MOST),
        Some(Estimate::Steps(steps)) => within("estimate", steps, 1..=ESTIMATE_STEPS_MOST),
        None => Ok(()),
    }
}

/// Whether words are one line of at most this many bytes, without control characters.
pub fn is_line(text: &str, most: usize) -> bool {
    !text.trim().is_empty() && text.len() <= most && !text.chars().any(char::is_control)
}

fn line(what: &'static str, text: &str, most: usize) -> Result<(), TaskRefusal> {
    match is_line(text, most) {
        true => Ok(()),
        false => Err(TaskRefusal::NoLine { what, most }),
    }
}

fn within(what: &'static str, number: u64, range: RangeInclusive<u64>) -> Result<(), TaskRefusal> {
    match range.contains(&number) {
        true => Ok(()),
        false => Err(TaskRefusal::OutOfRange { what, least: *range.start(), most: *range.end() }),
    }
}

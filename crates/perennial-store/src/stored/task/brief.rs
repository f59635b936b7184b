//! What a task is to be, as it is stored.

use std::time::Duration;

use perennial_core::task::{Brief, CheckSpec, Estimate, Step};
use serde::{Deserialize, Serialize};

use super::super::part::{self, StoredText, agent};
use super::{StoredQueue, millis, task};
use crate::record::Damage;

#[derive(Serialize, Deserialize)]
pub(in crate::stored) struct StoredBrief {
    title: String,
    text: Option<StoredText>,
    project: String,
    steps: Vec<StoredStep>,
    dependencies: Vec<String>,
    parent: Option<String>,
    estimate: Option<StoredEstimate>,
    reference: Option<String>,
    scope: Vec<String>,
    check: Option<StoredCheck>,
    rounds_max: u32,
    queue: StoredQueue,
    reopens: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    had_by: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct StoredStep {
    text: String,
    done: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredEstimate {
    Tokens(u64),
    Steps(u64),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StoredCheck {
    Named(String),
    Command { argv: Vec<String>, limit_ms: u64 },
}

impl From<&Brief> for StoredBrief {
    fn from(brief: &Brief) -> StoredBrief {
        let step = |step: &Step| StoredStep { text: step.text.clone(), done: step.is_done };
        StoredBrief {
            title: brief.title.clone(),
            text: brief.text.as_ref().map(Into::into),
            project: brief.project.clone(),
            steps: brief.steps.iter().map(step).collect(),
            dependencies: brief.dependencies.iter().map(ToString::to_string).collect(),
            parent: brief.parent.map(|id| id.to_string()),
            estimate: brief.estimate.map(|estimate| match estimate {
                Estimate::Tokens(tokens) => StoredEstimate::Tokens(tokens),
                Estimate::Steps(steps) => StoredEstimate::Steps(steps),
            }),
            reference: brief.reference.clone(),
            scope: brief.scope.clone(),
            check: brief.check.as_ref().map(|check| match check {
                CheckSpec::Named(name) => StoredCheck::Named(name.to_string()),
                CheckSpec::Command { argv, limit } => {
                    StoredCheck::Command { argv: argv.clone(), limit_ms: millis(*limit) }
                }
            }),
            rounds_max: brief.rounds_max,
            queue: (&brief.queue).into(),
            reopens: brief.reopens.map(|id| id.to_string()),
            had_by: brief.had_by.iter().map(ToString::to_string).collect(),
        }
    }
}

impl TryFrom<StoredBrief> for Brief {
    type Error = Damage;

    fn try_from(stored: StoredBrief) -> Result<Brief, Damage> {
        let step = |step: StoredStep| Step { text: step.text, is_done: step.done };
        let tasks = |ids: Vec<String>| ids.iter().map(|id| task(id)).collect::<Result<_, _>>();
        Ok(Brief {
            title: stored.title,
            text: stored.text.map(TryInto::try_into).transpose()?,
            project: stored.project,
            steps: stored.steps.into_iter().map(step).collect(),
            dependencies: tasks(stored.dependencies)?,
            parent: stored.parent.as_deref().map(task).transpose()?,
            estimate: stored.estimate.map(|estimate| match estimate {
                StoredEstimate::Tokens(tokens) => Estimate::Tokens(tokens),
                StoredEstimate::Steps(steps) => Estimate::Steps(steps),
            }),
            reference: stored.reference,
            scope: stored.scope,
            check: match stored.check {
                None => None,
                Some(StoredCheck::Named(name)) => Some(CheckSpec::Named(part::name(&name)?)),
                Some(StoredCheck::Command { argv, limit_ms }) => {
                    Some(CheckSpec::Command { argv, limit: Duration::from_millis(limit_ms) })
                }
            },
            rounds_max: stored.rounds_max,
            queue: stored.queue.try_into()?,
            reopens: stored.reopens.as_deref().map(task).transpose()?,
            had_by: stored.had_by.iter().map(|id| agent(id)).collect::<Result<_, _>>()?,
        })
    }
}

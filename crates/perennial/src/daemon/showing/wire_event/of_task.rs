//! What happened to a task, as clients get it. What somebody wrote, and what a check printed, is for persons.

use perennial_api::event as wire;
use perennial_core::message::Sender;
use perennial_core::task::{Queue, TaskEvent};
use perennial_core::visibility::Private;

use super::{Writer, job_end};

fn by(sender: Sender) -> Option<String> {
    Some(match sender {
        Sender::Person => "operator".to_owned(),
        Sender::Perennial => "perennial".to_owned(),
        Sender::Agent(id) => id.to_string(),
    })
}

/// Where a task lies.
pub fn queue(queue: &Queue) -> String {
    match queue {
        Queue::Nobody => "nobody".to_owned(),
        Queue::Agent(id) => id.to_string(),
        Queue::Role(role) => format!("role:{role}"),
    }
}

impl Writer {
    pub(super) fn task(&mut self, event: &TaskEvent) -> wire::What {
        use wire::What;
        let it = wire::TaskHappened::default();
        match event {
            TaskEvent::Added { by: who, brief } => What::TaskAdded(wire::TaskHappened {
                by: by(*who),
                project: Some(brief.project.clone()),
                parent: brief.parent.map(|id| id.to_string()),
                queue: Some(queue(&brief.queue)),
                title: self.words("title", &brief.title),
                ..it
            }),
            TaskEvent::Queued { by: who, queue: on } => {
                What::TaskQueued(wire::TaskHappened { by: by(*who), queue: Some(queue(on)), ..it })
            }
            TaskEvent::Taken { by: who, agent, .. } => What::TaskTaken(wire::TaskHappened {
                by: by(*who),
                agent: Some(agent.to_string()),
                ..it
            }),
            TaskEvent::Noted { by: who, text } => What::TaskNoted(wire::TaskHappened {
                by: by(*who),
                reason: self.words("reason", &text.head),
                ..it
            }),
            TaskEvent::Stepped { by: who, step, text, is_done } => {
                let title = text.as_ref().and_then(|text| self.words("title", text));
                let (step, done) = (Some(*step), Some(*is_done));
                What::TaskStepped(wire::TaskHappened { by: by(*who), step, done, title, ..it })
            }
            TaskEvent::Blocked { by: who, on, reason } => What::TaskBlocked(wire::TaskHappened {
                by: by(*who),
                on: Some(on.word().to_owned()),
                reason: self.words("reason", reason),
                ..it
            }),
            TaskEvent::Claimed { by: who, reason, .. } => {
                let reason = self.words("reason", reason);
                What::TaskClaimed(wire::TaskHappened { by: by(*who), reason, ..it })
            }
            TaskEvent::CheckWanted { .. }
            | TaskEvent::CheckEnded { .. }
            | TaskEvent::Verified { .. } => self.task_check(event),
            TaskEvent::Returned { by: who, agent, reason, .. } => {
                What::TaskReturned(wire::TaskHappened {
                    by: by(*who),
                    agent: Some(agent.to_string()),
                    reason: self.words("reason", reason),
                    ..it
                })
            }
            TaskEvent::Reopened { by: who, queue: on, reason } => {
                What::TaskReopened(wire::TaskHappened {
                    by: by(*who),
                    queue: Some(queue(on)),
                    reason: self.words("reason", reason),
                    ..it
                })
            }
            TaskEvent::Split { by: who, into } => What::TaskSplit(wire::TaskHappened {
                by: by(*who),
                into: into.iter().map(ToString::to_string).collect(),
                ..it
            }),
            TaskEvent::Dropped { by: who, reason } => What::TaskDropped(wire::TaskHappened {
                by: by(*who),
                reason: self.words("reason", reason),
                ..it
            }),
            TaskEvent::Left { agent, queue: on, to, .. } => What::TaskLeft(wire::TaskHappened {
                agent: Some(agent.to_string()),
                queue: Some(queue(on)),
                to: Some(to.to_string()),
                ..it
            }),
            TaskEvent::Raised { to, .. } => {
                What::TaskRaised(wire::TaskHappened { to: Some(to.to_string()), ..it })
            }
        }
    }

    fn task_check(&mut self, event: &TaskEvent) -> wire::What {
        let mut it = wire::TaskHappened::default();
        match event {
            TaskEvent::CheckWanted { job, check, command, runs } => {
                it.job = Some(job.to_string());
                it.check = check.as_ref().map(ToString::to_string);
                it.runs = Some(*runs);
                it.argv = self.private(Private::Operator, "argv", command.argv.clone());
                wire::What::TaskCheckWanted(it)
            }
            TaskEvent::CheckEnded { job, agent, check, end, output } => {
                it.job = Some(job.to_string());
                it.agent = agent.map(|id| id.to_string());
                it.check = check.as_ref().map(ToString::to_string);
                it.end = Some(job_end(*end));
                it.output = self.private(Private::Operator, "output", output.clone());
                wire::What::TaskCheckEnded(it)
            }
            TaskEvent::Verified { by, agent } => {
                it.agent = agent.map(|id| id.to_string());
                it.verified_by = Some(by.word().to_owned());
                wire::What::TaskVerified(it)
            }
            TaskEvent::Added { .. }
            | TaskEvent::Queued { .. }
            | TaskEvent::Taken { .. }
            | TaskEvent::Noted { .. }
            | TaskEvent::Stepped { .. }
            | TaskEvent::Blocked { .. }
            | TaskEvent::Claimed { .. }
            | TaskEvent::Returned { .. }
            | TaskEvent::Reopened { .. }
            | TaskEvent::Split { .. }
            | TaskEvent::Dropped { .. }
            | TaskEvent::Left { .. }
            | TaskEvent::Raised { .. } => unreachable!("not about a check"),
        }
    }

    fn words(&mut self, member: &str, text: &str) -> Option<String> {
        self.private(Private::Operator, member, text.to_owned())
    }
}

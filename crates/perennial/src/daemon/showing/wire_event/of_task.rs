//! What happened to a task, as clients get it. What somebody wrote, and what a check printed, is for persons.

use perennial_api::event as wire;
use perennial_api::event::TaskWhat;
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
fn queue(queue: &Queue) -> Option<String> {
    Some(match queue {
        Queue::Nobody => "nobody".to_owned(),
        Queue::Agent(id) => id.to_string(),
        Queue::Role(role) => format!("role:{role}"),
    })
}

impl Writer {
    pub(super) fn task(&mut self, event: &TaskEvent) -> wire::What {
        let it = self.happened(event);
        wire::What::Task(match event {
            TaskEvent::Added { .. } => TaskWhat::Added(it),
            TaskEvent::Queued { .. } => TaskWhat::Queued(it),
            TaskEvent::Taken { .. } => TaskWhat::Taken(it),
            TaskEvent::Continued { .. } => TaskWhat::Continued(it),
            TaskEvent::Noted { .. } => TaskWhat::Noted(it),
            TaskEvent::Stepped { .. } => TaskWhat::Stepped(it),
            TaskEvent::Blocked { .. } => TaskWhat::Blocked(it),
            TaskEvent::Counted { .. } => TaskWhat::Counted(it),
            TaskEvent::Claimed { .. } => TaskWhat::Claimed(it),
            TaskEvent::CheckWanted { .. } => TaskWhat::CheckWanted(it),
            TaskEvent::CheckEnded { .. } => TaskWhat::CheckEnded(it),
            TaskEvent::Verified { .. } => TaskWhat::Verified(it),
            TaskEvent::Returned { .. } => TaskWhat::Returned(it),
            TaskEvent::Reopened { .. } => TaskWhat::Reopened(it),
            TaskEvent::Split { .. } => TaskWhat::Split(it),
            TaskEvent::PartAdded { .. } => TaskWhat::PartAdded(it),
            TaskEvent::Dropped { .. } => TaskWhat::Dropped(it),
            TaskEvent::Left { .. } => TaskWhat::Left(it),
            TaskEvent::Raised { .. } => TaskWhat::Raised(it),
        })
    }

    fn happened(&mut self, event: &TaskEvent) -> wire::TaskHappened {
        let mut it = wire::TaskHappened { by: author(event), ..wire::TaskHappened::default() };
        match event {
            TaskEvent::Added { brief, .. } => {
                it.project = Some(brief.project.clone());
                it.parent = brief.parent.map(|id| id.to_string());
                it.queue = queue(&brief.queue);
                it.title = self.words("title", &brief.title);
            }
            TaskEvent::Queued { queue: on, .. } => it.queue = queue(on),
            TaskEvent::Taken { agent, session, .. } => {
                it.agent = Some(agent.to_string());
                it.session = session.map(|number| number.0);
            }
            TaskEvent::Continued { agent, session, beginning } => {
                (it.agent, it.session) = (Some(agent.to_string()), Some(session.0));
                it.beginning = Some(beginning.word().to_owned());
            }
            TaskEvent::Noted { text, .. } => it.reason = self.words("reason", &text.head),
            TaskEvent::Stepped { step, text, is_done, .. } => {
                (it.step, it.done) = (Some(*step), Some(*is_done));
                it.title = text.as_ref().and_then(|text| self.words("title", text));
            }
            TaskEvent::Blocked { on, reason, .. } => {
                it.on = Some(on.word().to_owned());
                it.reason = self.words("reason", reason);
            }
            TaskEvent::Counted { agent, added, .. } => {
                (it.agent, it.tokens) = (Some(agent.to_string()), Some(*added));
            }
            TaskEvent::Claimed { reason, .. } | TaskEvent::Dropped { reason, .. } => {
                it.reason = self.words("reason", reason);
            }
            TaskEvent::CheckWanted { job, check, command, runs } => {
                (it.job, it.runs) = (Some(job.to_string()), Some(*runs));
                it.check = check.as_ref().map(ToString::to_string);
                it.argv = self.private(Private::Operator, "argv", command.argv.clone());
            }
            TaskEvent::CheckEnded { job, agent, check, end, output } => {
                (it.job, it.end) = (Some(job.to_string()), Some(job_end(*end)));
                it.agent = agent.map(|id| id.to_string());
                it.check = check.as_ref().map(ToString::to_string);
                it.output = self.words("output", output);
            }
            TaskEvent::Verified { by, agent } => {
                it.agent = agent.map(|id| id.to_string());
                it.verified_by = Some(by.word().to_owned());
            }
            TaskEvent::Returned { agent, reason, .. } => {
                it.agent = Some(agent.to_string());
                it.reason = self.words("reason", reason);
            }
            TaskEvent::Reopened { queue: on, reason, .. } => {
                (it.queue, it.reason) = (queue(on), self.words("reason", reason));
            }
            TaskEvent::Split { into, .. } => {
                it.into = into.iter().map(ToString::to_string).collect();
            }
            TaskEvent::PartAdded { part } => it.into = vec![part.to_string()],
            TaskEvent::Left { agent, queue: on, to, .. } => {
                (it.agent, it.queue) = (Some(agent.to_string()), queue(on));
                it.to = Some(to.to_string());
            }
            TaskEvent::Raised { to, .. } => it.to = Some(to.to_string()),
        }
        it
    }

    fn words(&mut self, member: &str, text: &str) -> Option<String> {
        self.private(Private::Operator, member, text.to_owned())
    }
}

/// Who did it, where somebody did.
fn author(event: &TaskEvent) -> Option<String> {
    match event {
        TaskEvent::Added { by: who, .. }
        | TaskEvent::Queued { by: who, .. }
        | TaskEvent::Taken { by: who, .. }
        | TaskEvent::Noted { by: who, .. }
        | TaskEvent::Stepped { by: who, .. }
        | TaskEvent::Blocked { by: who, .. }
        | TaskEvent::Claimed { by: who, .. }
        | TaskEvent::Returned { by: who, .. }
        | TaskEvent::Reopened { by: who, .. }
        | TaskEvent::Split { by: who, .. }
        | TaskEvent::Dropped { by: who, .. } => by(*who),
        TaskEvent::Continued { .. }
        | TaskEvent::PartAdded { .. }
        | TaskEvent::Counted { .. }
        | TaskEvent::CheckWanted { .. }
        | TaskEvent::CheckEnded { .. }
        | TaskEvent::Verified { .. }
        | TaskEvent::Left { .. }
        | TaskEvent::Raised { .. } => None,
    }
}

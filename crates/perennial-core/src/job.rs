//! The life of one job: a command that Perennial runs itself, for the operator or for a task.
//!
//! Pure. Held by a shim like a session, without a terminal; who calls from within it has no rights.
//!
//! Invariants
//! - O1  A job is run at most once per number: its number is its fence.
//! - O2  An end that nobody saw is `Unknown`; a notification is never run again after it. So is the
//!   end of a job of which a record can't be read.
//! - O3  A node runs at most `RUNNING_MAX` notifications at once, and one per agent, in the order in which they were
//!   wanted; and at most `CHECKS_MAX` checks of tasks, which take minutes and hold up no notification.
//! - O4  At most one notification about an agent's state waits for its turn, and only while what it tells is so;
//!   and at most one about its mail, with `URGENT_WAITING_MAX` more about urgent mail.

mod kind;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::effect::{Effect, JobAction, JobEffect, Plan};
use crate::entity::Entity;
use crate::fleet::Fleet;
use crate::id::{AgentId, JobId, MessageId, NodeId, TaskId};
use crate::message::{Content, Happened, Mailbox, MessageEvent, Priority, Sender};
use crate::name::Name;
use crate::reason::Reason;
use crate::session::Process;
use crate::time::Time;

/// A notification may take this long.
pub const NOTIFY_LIMIT: Duration = Duration::from_secs(10);

/// At most this many jobs are run at once; the others wait for the end of one. Each costs a holder and a tree
/// of processes, and a fleet that needs its operator wants a notification for every agent.
pub const RUNNING_MAX: usize = 8;

/// At most this many checks of tasks are run at once: builds and tests, which want a machine for themselves.
pub const CHECKS_MAX: usize = 4;

/// At most this many notifications of one agent's urgent mail wait, besides the one of its other mail.
pub const URGENT_WAITING_MAX: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    /// Where it is run.
    pub node: NodeId,
    pub purpose: Purpose,
    pub command: JobCommand,
    pub number: u32,
    pub phase: JobPhase,
    pub wanted_at: Time,
}

/// What a job is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// An agent needs the operator.
    Notify { agent: AgentId, name: String, reason: Reason },
    /// An agent has written to the operator.
    Mail {
        agent: AgentId,
        name: String,
        /// What we say of it: its priority, or that it came back. Empty of a usual one.
        note: String,
        /// The sender's own words.
        subject: String,
    },
    /// A task is claimed to be done.
    Check {
        task: TaskId,
        /// Who did it.
        agent: Option<AgentId>,
        /// A check of configuration; without one, the task's own command.
        check: Option<Name>,
    },
}

/// What is run. The argv is the operator's own; what the purpose adds to it is put behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCommand {
    pub argv: Vec<String>,
    /// Where, absolute.
    pub dir: String,
    /// Its whole tree is ended after this.
    pub limit: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobPhase {
    Wanted,
    Running(Process),
    Ended(JobEnd),
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobEnd {
    Code(i32),
    KillSignal(i32),
    /// It took too long, and its tree was ended.
    Limit,
    /// It could not be executed.
    NotStarted,
    /// Nobody saw its end: it may have run.
    Unknown,
    /// It was not run: what it was to tell was no longer so.
    Outdated,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobEvent {
    Wanted {
        node: NodeId,
        purpose: Purpose,
        command: JobCommand,
    },
    Running {
        number: u32,
        process: Process,
    },
    /// With the end of its output.
    Ended {
        number: u32,
        end: JobEnd,
        output: String,
    },
}

/// What the executor says of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobReport {
    Executed(Process),
    Ended { end: JobEnd, output: String },
}

/// The jobs that are not over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Jobs {
    all: BTreeMap<JobId, Arc<Job>>,
}

impl Jobs {
    /// These are all jobs that are not over.
    pub fn restore(jobs: impl IntoIterator<Item = Job>) -> Jobs {
        Jobs { all: jobs.into_iter().map(|job| (job.id, Arc::new(job))).collect() }
    }

    pub fn get(&self, id: JobId) -> Option<&Job> {
        self.all.get(&id).map(|job| &**job)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Job> {
        self.all.values().map(|job| &**job)
    }

    /// Takes over another fleet's copy of a job that is equal to this one's.
    pub fn share(&mut self, other: &Jobs, id: JobId) {
        if let Some(job) = other.all.get(&id) {
            self.all.insert(id, Arc::clone(job));
        }
    }

    /// Forgets a job that has ended and was released.
    pub fn retire(&mut self, id: JobId) {
        self.all.remove(&id);
    }

    /// Folds one event; returns what to plan again.
    pub fn evolve(&mut self, id: JobId, event: &JobEvent, at: Time) -> Vec<Entity> {
        match event {
            JobEvent::Wanted { node, purpose, command } => {
                let (purpose, command) = (purpose.clone(), command.clone());
                let (number, phase) = (1, JobPhase::Wanted);
                let job = Job { id, node: *node, purpose, command, number, phase, wanted_at: at };
                self.all.insert(id, Arc::new(job));
                // Of those of one moment it may have the place of another.
                let of_now = self.iter().filter(|job| job.wanted_at == at);
                return of_now.map(|job| Entity::Job(job.id)).collect();
            }
            JobEvent::Running { process, .. } => self.enter(id, JobPhase::Running(*process)),
            JobEvent::Ended { end, .. } => {
                self.enter(id, JobPhase::Ended(*end));
                // Its place is free for the next.
                return self.placed().chain([id]).map(Entity::Job).collect();
            }
        }
        vec![Entity::Job(id)]
    }

    /// O3: those that run, or may.
    fn placed(&self) -> impl Iterator<Item = JobId> {
        self.placed_of(|_| true)
    }

    fn placed_of(&self, is_there: impl Fn(&Job) -> bool) -> impl Iterator<Item = JobId> {
        let open = self.iter().filter(|job| !job.is_over() && is_there(job));
        let mut open: Vec<&Job> = open.collect();
        open.sort_unstable_by_key(|job| (job.wanted_at, job.id));
        let mut turns = BTreeSet::new();
        let first_of_turn = open.into_iter().filter(move |job| turns.insert(job.turn()));
        let mut placed: BTreeMap<(NodeId, bool), usize> = BTreeMap::new();
        let has_place = move |job: &&Job| {
            let placed = placed.entry((job.node, job.is_check())).or_default();
            *placed += 1;
            *placed <= if job.is_check() { CHECKS_MAX } else { RUNNING_MAX }
        };
        first_of_turn.filter(has_place).map(|job| job.id)
    }

    /// The notifications about an agent that wait for their turn: none of them was begun.
    pub fn waiting(&self, agent: AgentId) -> impl Iterator<Item = &Job> {
        let is_wanted = move |job: &&Job| {
            !job.is_check() && job.turn() == agent.0 && job.phase == JobPhase::Wanted
        };
        let mut wanted = self.iter().filter(is_wanted).peekable();
        let placed: Vec<JobId> =
            if wanted.peek().is_some() { self.placed().collect() } else { Vec::new() };
        wanted.filter(move |job| !placed.contains(&job.id))
    }

    /// Whether it may have been begun: one of its moment may be of a later append, and had no place before that was durable.
    fn had_place(&self, job: &Job) -> bool {
        let is_there = |one: &Job| one.wanted_at < job.wanted_at || one.id == job.id;
        self.placed_of(is_there).any(|id| id == job.id)
    }

    /// O2: a record of this job can't be read.
    pub fn mark_unreadable(&mut self, id: JobId) {
        if self.get(id).is_some_and(|job| !job.is_over()) {
            self.enter(id, JobPhase::Ended(JobEnd::Unknown));
        }
    }

    fn enter(&mut self, id: JobId, phase: JobPhase) {
        if let Some(job) = self.all.get_mut(&id) {
            Arc::make_mut(job).phase = phase;
        }
    }
}

/// O4: the end of each notification about an agent that waits for its turn, since what it tells is no
/// longer so. One that was wanted in this very moment is not ended: the next one of the moment has its
/// id, and takes its place.
pub fn outdated(jobs: &Jobs, agent: AgentId, now: Time) -> Vec<(JobId, JobEvent)> {
    let ended = |job: &Job| {
        let (number, end, output) = (job.number, JobEnd::Outdated, String::new());
        (job.id, JobEvent::Ended { number, end, output })
    };
    let of_now = notification(agent, now);
    let waiting = jobs.waiting(agent).filter(|job| job.tells_of_state());
    waiting.filter(|job| job.id != of_now && !jobs.had_place(job)).map(ended).collect()
}

/// O2: the end of a job that could not be seen here.
pub fn lost(job: &Job) -> JobEvent {
    JobEvent::Ended { number: job.number, end: JobEnd::Unknown, output: String::new() }
}

/// Takes note of what the executor says; one about another number says nothing (O1).
pub fn observe(job: &Job, number: u32, report: &JobReport) -> Option<JobEvent> {
    if job.number != number || job.is_over() {
        return None;
    }
    match (report, job.phase) {
        (JobReport::Executed(process), JobPhase::Wanted) => {
            Some(JobEvent::Running { number, process: *process })
        }
        (JobReport::Executed(_), JobPhase::Running(_) | JobPhase::Ended(_)) => None,
        (JobReport::Ended { end, output }, _) => {
            Some(JobEvent::Ended { number, end: *end, output: output.clone() })
        }
    }
}

/// What to do for a job. One that has no place yet waits until another has ended. One that is known to have
/// run is not run again (O1), whatever has become of its directory.
pub fn plan(jobs: &Jobs, id: JobId) -> Plan {
    let Some(job) = jobs.get(id) else { return Plan::default() };
    let what = || Box::new((job.purpose.clone(), job.command.clone()));
    let action = match job.phase {
        JobPhase::Wanted if !jobs.placed().any(|placed| placed == id) => return Plan::default(),
        JobPhase::Wanted => JobAction::Run(what()),
        JobPhase::Running(_) => JobAction::Hold(what()),
        JobPhase::Ended(_) => JobAction::Release,
    };
    let effect = Effect::Job(JobEffect { job: job.id, number: job.number, action });
    Plan { effects: vec![effect], timers: Vec::new() }
}

/// The operator is told that an agent needs them. The id follows from whom and when, so that a
/// replay agrees.
pub fn notify(
    argv: &[String],
    about: &Agent,
    name: String,
    reason: Reason,
    now: Time,
) -> (JobId, JobEvent) {
    let command = JobCommand { argv: argv.to_vec(), dir: "/".to_owned(), limit: NOTIFY_LIMIT };
    let agent = about.id;
    let purpose = Purpose::Notify { agent, name, reason };
    let wanted = JobEvent::Wanted { node: about.node, purpose, command };
    (notification(agent, now), wanted)
}

/// The operator is told that mail of theirs came back from a burial: once, however much it was.
pub fn notify_returned(
    fleet: &Fleet,
    dead: &Agent,
    left: &[Happened],
) -> Option<(JobId, JobEvent)> {
    let letter = |(id, event): &Happened| {
        let MessageEvent::Recorded { to: Mailbox::Operator, content, .. } = event else {
            return None;
        };
        let Content::Mail(mail) = content else { return None };
        (mail.priority != Priority::Low).then(|| (*id, mail.subject.clone()))
    };
    let letters: Vec<(MessageId, String)> = left.iter().filter_map(letter).collect();
    let (first, subject) = letters.first()?;
    let argv = fleet.policy().notify.clone();
    let who = dead.name.as_ref().map_or(dead.id.to_string(), ToString::to_string);
    let (note, subject) = match letters.len() {
        1 => (format!("mail returned, {who} was buried"), subject.clone()),
        count => (format!("{count} mails returned, {who} was buried"), String::new()),
    };
    let purpose = Purpose::Mail { agent: dead.id, name: "Perennial".to_owned(), note, subject };
    let command = JobCommand { argv, dir: "/".to_owned(), limit: NOTIFY_LIMIT };
    let wanted = JobEvent::Wanted { node: dead.node, purpose, command };
    (!fleet.policy().notify.is_empty()).then_some((JobId(first.0), wanted))
}

/// The operator is told that an agent has written to them, unless they are about to be told that already (O4) or
/// the mail can wait.
pub fn notify_mail(
    fleet: &Fleet,
    (id, from): (MessageId, Sender),
    content: &Content,
) -> Option<(JobId, JobEvent)> {
    let (Content::Mail(mail), Sender::Agent(sender)) = (content, from) else { return None };
    let (argv, agent) = (fleet.policy().notify.clone(), fleet.agent(sender)?);
    let waiting = fleet.jobs().waiting(sender).filter(|job| !job.tells_of_state()).count();
    let is_told = match mail.priority {
        Priority::Low => true,
        Priority::Normal | Priority::High => waiting > 0,
        Priority::Urgent => waiting > URGENT_WAITING_MAX,
    };
    if argv.is_empty() || is_told {
        return None;
    }
    let command = JobCommand { argv, dir: "/".to_owned(), limit: NOTIFY_LIMIT };
    let name = agent.name.as_ref().map_or(sender.to_string(), ToString::to_string);
    let note = match mail.priority {
        Priority::Low | Priority::Normal => "",
        Priority::High | Priority::Urgent => mail.priority.word(),
    };
    let (note, subject) = (note.to_owned(), mail.subject.clone());
    let purpose = Purpose::Mail { agent: sender, name, note, subject };
    Some((JobId(id.0), JobEvent::Wanted { node: agent.node, purpose, command }))
}

/// The job that tells the operator of what happened to this agent then, if there was one.
pub fn notification(agent: AgentId, at: Time) -> JobId {
    let spread = u128::from(at.0).wrapping_mul(0xda94_2042_e4dd_58b5_2545_f491_4f6c_dd1d);
    JobId(agent.0 ^ spread)
}

#[cfg(test)]
#[path = "job/tests.rs"]
mod tests;

//! Verbs that change something: one way in for HTTP, for the command line that speaks it, and for an
//! agent's own tools.
//!
//! A request is checked, becomes a command, is decided by the core, and is answered when that is durable
//! and has come as far as the verb promises. A new verb is one case of `Order` and one arm of
//! `carry_out`.

mod spawn;

use axum::http::StatusCode;
use perennial_api::agent::Agent;
use perennial_api::answer::{Buried, Down, Legacy, Message, Pruned, Reported};
use perennial_api::checkpoint::{CheckpointCard, TakeCheckpoint};
use perennial_api::cleaning::{Clean, Cleaned};
use perennial_api::escalation::{Escalate, Escalation};
use perennial_api::mail::Mail;
use perennial_api::post::Post;
use perennial_api::request;
use perennial_api::role::{RoleChanged, Vacancy};
use perennial_api::signal::{SendSignal, Signal};
use perennial_api::snapshot::{SnapshotRestored, SnapshotTaken};
use perennial_api::task::{Task, TaskRequest};
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Then};
use perennial_core::entity::Entity;
use perennial_core::handoff::HandoffOrder;
use perennial_core::id::{AgentId, MessageId, SessionNumber};
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::session::Session;
use perennial_core::task::TaskRefusal;
use perennial_core::visibility::Private;
use perennial_core::work::WorkPhase;
use perennial_engine::supervisor::Rejection;
use serde::Serialize;

use super::Surface;
use super::agents::gone;
use super::answer::{Answer, ProblemResponse, json_with};
use super::ended::Resolved;
use super::roles;
use crate::daemon::driving::awaited::Milestone;
use crate::daemon::driving::driver::{self, FleetView};
use crate::daemon::showing::{problems, role, view};
use crate::daemon::surface::checks;

/// What somebody wants changed. Targets are agents as people write them.
#[derive(Debug)]
pub enum Order {
    Spawn(Box<request::Spawn>),
    Stop(String, request::Stop),
    StopAll,
    Wake(String, request::Start),
    Restart(String, request::Start),
    Handoff(String, request::Handoff),
    Set(String, request::Set),
    Rename(String, request::Rename),
    Bury(String, request::Bury),
    Send(String, request::Send),
    /// Takes a message back, by its id.
    Withdraw(String),
    Post(request::Post),
    Assume(String, request::Assume),
    Transfer(String, request::Transfer),
    /// Takes an agent's role from it.
    Drop(String),
    /// Of a role.
    DismissVacancy(String),
    Leave(request::Legacy),
    Mail(Box<request::Mail>),
    /// Reads mails, which count as read if they are the caller's own.
    ReadMail(request::ReadMail),
    Task(Box<TaskRequest>),
    Report(request::Report),
    Prune(request::Prune),
    Down,
    /// Removes what takes up room of a dead agent.
    Clean(String, Clean),
    Signal(SendSignal),
    Escalate(Escalate),
    TakeSnapshot(String),
    RestoreSnapshot(String, request::Restore),
    Checkpoint(String, Box<TakeCheckpoint>),
}

/// What came of it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Done {
    Born(Box<Agent>),
    Agent(Box<Agent>),
    Agents(Vec<Agent>),
    Buried(Box<Buried>),
    Message(Message),
    Posted(Post),
    Mailed(Vec<Mail>),
    Mails(Vec<Mail>),
    Role(Box<RoleChanged>),
    Dismissed(Box<Vacancy>),
    Left(Vec<Legacy>),
    Tasks(Vec<Task>),
    Reported(Reported),
    Pruned(Pruned),
    Down(Down),
    Cleaned(Box<Cleaned>),
    Signalled(Signal),
    Escalated(Escalation),
    Snapshot(Box<SnapshotTaken>),
    Restored(Box<SnapshotRestored>),
    Checkpoint(Box<CheckpointCard>),
}

impl Done {
    pub fn answer(&self) -> Answer {
        let status = match self {
            Done::Born(_)
            | Done::Posted(_)
            | Done::Mailed(_)
            | Done::Signalled(_)
            | Done::Escalated(_)
            | Done::Snapshot(_)
            | Done::Checkpoint(_) => StatusCode::CREATED,
            Done::Agent(_)
            | Done::Agents(_)
            | Done::Buried(_)
            | Done::Message(_)
            | Done::Mails(_)
            | Done::Role(_)
            | Done::Dismissed(_)
            | Done::Left(_)
            | Done::Tasks(_)
            | Done::Reported(_)
            | Done::Pruned(_)
            | Done::Down(_)
            | Done::Cleaned(_)
            | Done::Restored(_) => StatusCode::OK,
        };
        json_with(status, self)
    }
}

/// What is asked of an agent's session, within its bounds.
fn handoff(target: String, asked: request::Handoff) -> Result<Command, ProblemResponse> {
    let request::Handoff { subject, notes, deadline_s, finish, session } = asked;
    let subject = subject.as_deref().map(checks::handoff_subject).transpose()?;
    let notes = notes.as_deref().map(checks::handoff_notes).transpose()?;
    let deadline = deadline_s.map(checks::handoff_deadline).transpose()?;
    let session = session.map(SessionNumber);
    let order = HandoffOrder { target, subject, notes, deadline, finish, session };
    Ok(Command::Handoff(Box::new(order)))
}

impl Surface {
    /// Carries an order out, or says why not.
    pub async fn carry_out(&self, caller: Caller, order: Order) -> Result<Done, ProblemResponse> {
        match order {
            Order::Spawn(spawn) => self.spawn(caller, &spawn).await,
            Order::Stop(target, stop) => self.stop(caller, target, &stop).await,
            Order::StopAll => self.stop_all(caller).await,
            Order::Wake(target, start) => {
                let (command, then) = match start.fresh {
                    true => (Command::WakeFresh(target.clone()), Then::WakeFresh),
                    false => (Command::Wake(target.clone()), Then::Wake),
                };
                self.start(caller, (target, start), (command, then)).await
            }
            Order::Restart(target, start) => {
                let (command, then) = match start.fresh {
                    true => (Command::RestartFresh(target.clone()), Then::RestartFresh),
                    false => (Command::Restart(target.clone()), Then::Restart),
                };
                self.start(caller, (target, start), (command, then)).await
            }
            Order::Handoff(target, asked) => {
                let id = self.command_agent(caller, handoff(target, asked)?).await?;
                self.shown_after(caller, id).await
            }
            Order::Set(target, set) => {
                let id = self.set(caller, target, set, Then::Nothing).await?;
                self.shown_after(caller, id).await
            }
            Order::Rename(target, request::Rename { name }) => {
                let name = checks::name(&name)?;
                let id = self.command_agent(caller, Command::Rename { target, name }).await?;
                self.shown_after(caller, id).await
            }
            Order::Bury(target, bury) => self.bury(caller, target, bury).await,
            Order::Send(target, send) => Ok(Done::Message(self.send(caller, target, &send).await?)),
            Order::Withdraw(id) => Ok(Done::Message(self.withdraw(caller, &id).await?)),
            Order::Post(request::Post { title, text }) => {
                Ok(Done::Posted(self.post(caller, title, &text).await?))
            }
            Order::Assume(target, assume) => {
                Ok(Done::Role(Box::new(self.assume(caller, target, assume).await?)))
            }
            Order::Transfer(target, transfer) => {
                Ok(Done::Role(Box::new(self.transfer(caller, target, transfer).await?)))
            }
            Order::Drop(target) => Ok(Done::Role(Box::new(self.drop_role(caller, target).await?))),
            Order::DismissVacancy(role) => {
                Ok(Done::Dismissed(Box::new(self.dismiss_vacancy(caller, &role).await?)))
            }
            Order::Leave(legacy) => Ok(Done::Left(self.leave(caller, legacy).await?)),
            Order::Mail(mail) => Ok(Done::Mailed(self.send_mail(caller, *mail).await?)),
            Order::ReadMail(read) => Ok(Done::Mails(self.read_mail(caller, &read.ids).await?)),
            Order::Task(task) => Ok(Done::Tasks(self.task(caller, *task).await?)),
            Order::Report(report) => self.report(caller, report).await,
            Order::Signal(signal) => Ok(Done::Signalled(self.send_signal(caller, signal).await?)),
            Order::Escalate(matter) => Ok(Done::Escalated(self.escalate(caller, matter).await?)),
            Order::Prune(prune) => Ok(Done::Pruned(self.prune(caller, prune).await?)),
            Order::TakeSnapshot(target) => self.take_snapshot(caller, target).await,
            Order::RestoreSnapshot(target, to) => self.restore_snapshot(caller, target, to).await,
            Order::Checkpoint(target, said) => self.take_checkpoint(caller, target, *said).await,
            Order::Down => self.down(caller).await,
            Order::Clean(target, clean) => {
                Ok(Done::Cleaned(Box::new(self.clean(caller, target, clean).await?)))
            }
        }
    }

    async fn stop(
        &self,
        caller: Caller,
        target: String,
        stop: &request::Stop,
    ) -> Result<Done, ProblemResponse> {
        let id = self.command_agent(caller, Command::Stop(target)).await?;
        if stop.wait {
            self.driver.reached(id, Milestone::Over).await?;
        }
        self.shown_after(caller, id).await
    }

    async fn stop_all(&self, caller: Caller) -> Result<Done, ProblemResponse> {
        let mut stopped = Vec::new();
        for entity in self.command(caller, Command::StopAll).await? {
            let Some(id) = entity.agent() else { continue };
            self.driver.reached(id, Milestone::Over).await?;
            stopped.push(self.find(caller, id.to_string()).await?);
        }
        Ok(Done::Agents(stopped))
    }

    /// Has the daemon end; sessions keep running.
    async fn down(&self, caller: Caller) -> Result<Done, ProblemResponse> {
        self.authorise(caller, Verb::Down, None).await?;
        self.ending.send_replace(true);
        Ok(Done::Down(Down {}))
    }

    /// Has the core decide, and returns what it was about once that is durable.
    pub async fn command(
        &self,
        caller: Caller,
        command: Command,
    ) -> Result<Vec<Entity>, ProblemResponse> {
        let request = Request { caller, command };
        match self.driver.request(request.clone()).await? {
            Ok(about) => Ok(about),
            Err(Rejection::Refused(Refusal::NoSuchAgent { target })) => {
                match self.resolve(target.clone()).await? {
                    Resolved::Ended(ended) => {
                        Err(ProblemResponse(self.refused(request, *ended).await?))
                    }
                    Resolved::InMemory(_) => Err(gone()),
                }
            }
            // One that has left memory is over; one that never was is not.
            Err(Rejection::Refused(Refusal::Task { task, why: TaskRefusal::NoSuchTask })) => {
                self.known_task(task).await?;
                Err(ProblemResponse(problems::task::over(task)))
            }
            Err(rejection) => {
                let problem = self
                    .driver
                    .look(move |view| problems::rejection(&rejection, view.supervisor.fleet()));
                Err(ProblemResponse(problem.await?))
            }
        }
    }

    /// The same, for a command that is about one agent.
    pub(super) async fn command_agent(
        &self,
        caller: Caller,
        command: Command,
    ) -> Result<AgentId, ProblemResponse> {
        let about = self.command(caller, command).await?;
        about.iter().find_map(Entity::agent).ok_or_else(gone)
    }

    async fn shown_after(&self, caller: Caller, id: AgentId) -> Result<Done, ProblemResponse> {
        Ok(Done::Agent(Box::new(self.find(caller, id.to_string()).await?)))
    }

    /// The agent once its session runs; one that came to nothing is a problem.
    pub(super) async fn begun(
        &self,
        caller: Caller,
        id: AgentId,
    ) -> Result<Agent, ProblemResponse> {
        self.driver.reached(id, Milestone::Begun).await?;
        let (agent, failed) = self
            .driver
            .look(move |view| {
                let known = view.supervisor.fleet().agent(id)?;
                let failed = known.session.as_ref().is_some_and(Session::could_not_start);
                Some((view::agent(known, view, caller), failed))
            })
            .await?
            .ok_or_else(gone)?;
        if failed {
            return Err(ProblemResponse(problems::not_started(&agent.name, &agent.evidence.fact)));
        }
        Ok(agent)
    }

    async fn bury(
        &self,
        caller: Caller,
        target: String,
        request::Bury { summary }: request::Bury,
    ) -> Result<Done, ProblemResponse> {
        let summary = summary.as_deref().map(checks::summary).transpose()?;
        let (vacant, unread) = (self.vacancies().await?, self.unread_of(&target).await?);
        let id = self.command_agent(caller, Command::Bury { target, summary }).await?;
        // An agent that waited here for its own burial would never end its turn.
        if caller == Caller::Agent(id) {
            let agent = self.find(caller, id.to_string()).await?;
            let look = move |view: &FleetView<'_>| role::to_be_vacant(view.supervisor.fleet(), id);
            let vacancy = self.driver.look(look).await?;
            return Ok(Done::Buried(Box::new(Buried { agent, vacancy, ..Buried::default() })));
        }
        self.driver.reached(id, Milestone::Over).await?;
        self.buried(caller, id, &vacant, unread).await
    }

    /// What a burial leaves; `vacant` is what was vacant before it, `unread` what the agent had not read.
    async fn buried(
        &self,
        caller: Caller,
        id: AgentId,
        vacant: &[Vacancy],
        unread: Vec<MessageId>,
    ) -> Result<Done, ProblemResponse> {
        let agent = self.find(caller, id.to_string()).await?;
        let sights = self.sights(caller, [id].into()).await?;
        let (returned, mail) = match sights.get(&id).is_some_and(|sight| sight.sees(Private::Texts))
        {
            true => (self.returned_texts(id).await?, self.left_mail(id, unread).await?),
            false => (Vec::new(), Vec::new()),
        };
        let vacancy = roles::left_by(&agent.id, vacant, self.vacancies().await?);
        Ok(Done::Buried(Box::new(Buried { agent, returned, mail, vacancy })))
    }

    async fn report(
        &self,
        caller: Caller,
        report: request::Report,
    ) -> Result<Done, ProblemResponse> {
        let request::Report { phase, summary, context_percent } = report;
        let summary = summary.as_deref().map(checks::summary).transpose()?;
        let phase = phase.map(work_phase);
        if context_percent.is_some_and(|percent| percent > 100) {
            return Err(ProblemResponse(problems::bad_percent()));
        }
        self.command(caller, Command::Report { phase, summary }).await?;
        if let (Some(percent), Caller::Agent(agent)) = (context_percent, caller) {
            self.driver.send(driver::Incoming::Reported { agent, percent })?;
        }
        Ok(Done::Reported(Reported {}))
    }
}

pub fn work_phase(phase: request::WorkPhase) -> WorkPhase {
    match phase {
        request::WorkPhase::Investigation => WorkPhase::Investigation,
        request::WorkPhase::Planning => WorkPhase::Planning,
        request::WorkPhase::Implementation => WorkPhase::Implementation,
        request::WorkPhase::Testing => WorkPhase::Testing,
        request::WorkPhase::Completion => WorkPhase::Completion,
    }
}

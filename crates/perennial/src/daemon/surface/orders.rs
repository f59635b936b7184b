//! Verbs that change something: one way in for HTTP, for the command line that speaks it, and for an
//! agent's own tools.
//!
//! A request is checked, becomes a command, is decided by the core, and is answered when that is durable
//! and has come as far as the verb promises. A new verb is one case of `Order` and one arm of
//! `carry_out`.

use std::path::{Path, PathBuf};

use axum::http::StatusCode;
use perennial_api::agent::Agent;
use perennial_api::answer::{Buried, Down, Legacy, Message, Pruned, Reported};
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
use perennial_core::command::{Command, Request, RoleWanted, Spawn, Then};
use perennial_core::conversation::ConversationId;
use perennial_core::entity::Entity;
use perennial_core::id::{AgentId, MessageId, SessionId, SessionNumber};
use perennial_core::launch::Launch;
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::session::Session;
use perennial_core::visibility::Private;
use perennial_core::work::WorkPhase;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::environment;
use perennial_engine::host::holders::Size;
use perennial_engine::host::protocol::ViewerTerms;
use perennial_engine::supervisor::Rejection;
use serde::Serialize;

use super::Surface;
use super::agents::gone;
use super::answer::{Answer, ProblemResponse, json_with};
use super::ended::Resolved;
use super::roles;
use super::tasks;
use crate::daemon::driving::awaited::Milestone;
use crate::daemon::driving::driver::{self, Closing, FleetView};
use crate::daemon::showing::{problems, role, view};
use crate::daemon::surface::checks;

/// A caller who does not come within this has the program run without them.
const VIEWER_WAIT_MS: u64 = 5_000;

/// What somebody wants changed. Targets are agents as people write them.
#[derive(Debug)]
pub enum Order {
    Spawn(Box<request::Spawn>),
    Stop(String, request::Stop),
    StopAll,
    Wake(String, request::Start),
    Restart(String, request::Start),
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
}

impl Done {
    pub fn answer(&self) -> Answer {
        let status = match self {
            Done::Born(_)
            | Done::Posted(_)
            | Done::Mailed(_)
            | Done::Signalled(_)
            | Done::Escalated(_)
            | Done::Snapshot(_) => StatusCode::CREATED,
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

impl Surface {
    /// Carries an order out, or says why not.
    pub async fn carry_out(&self, caller: Caller, order: Order) -> Result<Done, ProblemResponse> {
        match order {
            Order::Spawn(spawn) => self.spawn(caller, &spawn).await,
            Order::Stop(target, stop) => {
                let id = self.command_agent(caller, Command::Stop(target)).await?;
                if stop.wait {
                    self.driver.reached(id, Milestone::Over).await?;
                }
                self.shown_after(caller, id).await
            }
            Order::StopAll => self.stop_all(caller).await,
            Order::Wake(target, start) => {
                let id = match start.env.is_empty() {
                    true => self.command_agent(caller, Command::Wake(target)).await?,
                    false => self.set(caller, target, of_env(start), Then::Wake).await?,
                };
                Ok(Done::Agent(Box::new(self.begun(caller, id).await?)))
            }
            Order::Restart(target, start) => {
                let id = match start.env.is_empty() {
                    true => self.command_agent(caller, Command::Restart(target)).await?,
                    false => self.set(caller, target, of_env(start), Then::Restart).await?,
                };
                Ok(Done::Agent(Box::new(self.begun(caller, id).await?)))
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
            Order::Down => {
                self.authorise(caller, Verb::Down, None).await?;
                self.ending.send_replace(true);
                Ok(Done::Down(Down {}))
            }
            Order::Clean(target, clean) => {
                Ok(Done::Cleaned(Box::new(self.clean(caller, target, clean).await?)))
            }
        }
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
            Err(rejection) => {
                let problem = self
                    .driver
                    .look(move |view| problems::rejection(&rejection, view.supervisor.fleet()));
                Err(ProblemResponse(problem.await?))
            }
        }
    }

    /// The same, for a command that is about one agent.
    async fn command_agent(
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

    async fn spawn(&self, caller: Caller, body: &request::Spawn) -> Result<Done, ProblemResponse> {
        let (body, reach) = &self.as_child(caller, body).await?;
        let name = body.name.as_deref().map(checks::name).transpose()?;
        let role = body.role.as_deref().map(checks::new_role).transpose()?;
        let restart = checks::restart(body.restart.as_deref())?;
        let task = body.task.as_deref().map(tasks::task_id).transpose()?;
        let sets_restart = body.restart.is_none();
        let wanted_conversation = body.conversation.as_deref().map(checks::conversation);
        let wanted_conversation = wanted_conversation.transpose()?;
        let launch = checks::launch(body, &self.harnesses)?;
        let role = match role {
            Some(name) => {
                let declared = roles::declared(Path::new(&launch.project), &name).await?;
                Some(RoleWanted { name, declared, sets_restart })
            }
            None => None,
        };
        let id = AgentId(uuid::Uuid::now_v7().as_u128());
        let taken = self.taken_up(id, body, &launch, wanted_conversation).await?;
        let (conversation, copy) = taken.map_or((None, None), |(id, copy)| (Some(id), copy));
        let holder = HolderDirectory::new(&self.home.holders(), id);
        let parent = body.parent.clone();
        let situations = checks::situations(&body.situations)?;
        let spawn = Spawn { id, name, role, parent, launch, restart, conversation, situations };
        let spawn = Box::new(spawn);
        let command = match (task, reach) {
            (Some(task), reach) => Command::SpawnOn { spawn, reach: *reach, task },
            (None, Some(reach)) => Command::SpawnChild(spawn, *reach),
            (None, None) => Command::Spawn(spawn),
        };
        let birth = match settled(&holder, body) {
            Ok(()) => self.command(caller, command).await,
            Err(error) => Err(environment_not_kept(&error)),
        };
        if let Err(trouble) = birth {
            // Nobody was born: nothing of it stays.
            let _ = std::fs::remove_dir_all(holder.path());
            let _ = copy.map(std::fs::remove_file);
            return Err(trouble);
        }
        if body.attach.is_some() {
            // Its program waits for the caller.
            return Ok(Done::Born(Box::new(self.find(caller, id.to_string()).await?)));
        }
        let born = self.begun(caller, id).await;
        if let Some([rows, cols]) = body.size {
            self.holders.resize(id, SessionNumber::FIRST, Size { rows, cols });
        }
        Ok(Done::Born(Box::new(born?)))
    }

    /// The conversation that a new agent takes up: one that there is, or a copy that is made for it, with
    /// its file.
    async fn taken_up(
        &self,
        agent: AgentId,
        body: &request::Spawn,
        launch: &Launch,
        wanted: Option<ConversationId>,
    ) -> Result<Option<(ConversationId, Option<PathBuf>)>, ProblemResponse> {
        let Some(id) = wanted else {
            return match body.fork {
                true => Err(ProblemResponse(problems::fork_of_nothing())),
                false => Ok(None),
            };
        };
        if !self.harnesses.has_conversation(&launch.harness, &body.env, &id) {
            let other = self.harnesses.other_with(&launch.harness, &body.env, &id);
            let problem = problems::no_such_conversation(&id, &launch.harness, other.as_deref());
            return Err(ProblemResponse(problem));
        }
        if body.fork {
            return self.forked(agent, body, launch, id).await.map(Some);
        }
        match self.harnesses.writer_of(&launch.harness, &body.env, &id) {
            Some(process) if self.harnesses.is_server(&launch.harness, process) => {
                let harness = &launch.harness;
                Err(ProblemResponse(problems::conversation_served(&id, harness, process.pid)))
            }
            Some(process) => Err(ProblemResponse(problems::conversation_open(&id, process.pid))),
            None => Ok(Some((id, None))),
        }
    }

    async fn forked(
        &self,
        agent: AgentId,
        body: &request::Spawn,
        launch: &Launch,
        original: ConversationId,
    ) -> Result<(ConversationId, Option<PathBuf>), ProblemResponse> {
        let id = original.clone();
        let may = self.driver.look(move |view| {
            let fleet = view.supervisor.fleet();
            fleet.may_be_taken_up(&id).map_err(|refusal| problems::refusal(&refusal, fleet))
        });
        may.await?.map_err(ProblemResponse)?;
        let new = ConversationId::of(SessionId { agent, number: SessionNumber::FIRST });
        let (harnesses, env, launch) = (self.harnesses.clone(), body.env.clone(), launch.clone());
        // A transcript may be long.
        let copied = tokio::task::spawn_blocking(move || {
            let copied = harnesses.fork(&launch, &env, &original, &new);
            copied.map(|path| (new, Some(path))).map_err(|why| (original, why))
        });
        copied
            .await
            .map_err(|_| Closing)?
            .map_err(|(original, why)| ProblemResponse(problems::not_forked(&original, &why)))
    }

    /// The agent once its session runs; one that came to nothing is a problem.
    async fn begun(&self, caller: Caller, id: AgentId) -> Result<Agent, ProblemResponse> {
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

fn of_env(start: request::Start) -> request::Set {
    request::Set { env: start.env, ..request::Set::default() }
}

fn work_phase(phase: request::WorkPhase) -> WorkPhase {
    match phase {
        request::WorkPhase::Investigation => WorkPhase::Investigation,
        request::WorkPhase::Planning => WorkPhase::Planning,
        request::WorkPhase::Implementation => WorkPhase::Implementation,
        request::WorkPhase::Testing => WorkPhase::Testing,
        request::WorkPhase::Completion => WorkPhase::Completion,
    }
}

/// What an agent's first session needs on the disk before the agent is born.
fn settled(holder: &HolderDirectory, body: &request::Spawn) -> std::io::Result<()> {
    holder.create()?;
    environment::write(holder.path(), &body.env)?;
    match body.attach {
        Some(attach) => {
            let echoes = attach == request::Attach::Terminal;
            holder.write_viewer(ViewerTerms { wait_ms: VIEWER_WAIT_MS, echoes })
        }
        None => Ok(()),
    }
}

fn environment_not_kept(error: &std::io::Error) -> ProblemResponse {
    ProblemResponse(problems::not_recorded("the agent's environment", &error.to_string()))
}

//! Verbs that change something: one way in for HTTP, for the command line that speaks it, and for an
//! agent's own tools.
//!
//! A request is checked, becomes a command, is decided by the core, and is answered when that is durable
//! and has come as far as the verb promises. A new verb is one case of `Order` and one arm of
//! `carry_out`.

use axum::http::StatusCode;
use perennial_api::agent::Agent;
use perennial_api::answer::{Buried, Down, Message, Pruned};
use perennial_api::post::Post;
use perennial_api::request;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request, Spawn, Then};
use perennial_core::entity::Entity;
use perennial_core::id::{AgentId, SessionNumber};
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
use crate::daemon::driving::awaited::Milestone;
use crate::daemon::driving::driver;
use crate::daemon::showing::{problems, view};
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
    Report(request::Report),
    Prune(request::Prune),
    Down,
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
    Reported {},
    Pruned(Pruned),
    Down(Down),
}

impl Done {
    pub fn answer(&self) -> Answer {
        let status = match self {
            Done::Born(_) | Done::Posted(_) => StatusCode::CREATED,
            Done::Agent(_)
            | Done::Agents(_)
            | Done::Buried(_)
            | Done::Message(_)
            | Done::Reported {}
            | Done::Pruned(_)
            | Done::Down(_) => StatusCode::OK,
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
            Order::StopAll => {
                let mut stopped = Vec::new();
                for entity in self.command(caller, Command::StopAll).await? {
                    let Some(id) = entity.agent() else { continue };
                    self.driver.reached(id, Milestone::Over).await?;
                    stopped.push(self.find(caller, id.to_string()).await?);
                }
                Ok(Done::Agents(stopped))
            }
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
            Order::Bury(target, request::Bury { summary }) => {
                let summary = summary.as_deref().map(checks::summary).transpose()?;
                let id = self.command_agent(caller, Command::Bury { target, summary }).await?;
                self.driver.reached(id, Milestone::Over).await?;
                self.buried(caller, id).await
            }
            Order::Send(target, send) => Ok(Done::Message(self.send(caller, target, &send).await?)),
            Order::Withdraw(id) => Ok(Done::Message(self.withdraw(caller, &id).await?)),
            Order::Post(request::Post { title, text }) => {
                Ok(Done::Posted(self.post(caller, title, &text).await?))
            }
            Order::Report(report) => self.report(caller, report).await,
            Order::Prune(prune) => Ok(Done::Pruned(self.prune(caller, prune).await?)),
            Order::Down => {
                self.authorise(caller, Verb::Down, None).await?;
                self.ending.send_replace(true);
                Ok(Done::Down(Down {}))
            }
        }
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
        self.authorise(caller, Verb::Spawn, None).await?;
        let name = body.name.as_deref().map(checks::name).transpose()?;
        let role = body.role.as_deref().map(checks::role).transpose()?;
        let restart = checks::restart(body.restart.as_deref())?;
        let conversation = body.conversation.as_deref().map(checks::conversation).transpose()?;
        let launch = checks::launch(body, &self.harnesses)?;
        if let Some(id) = &conversation
            && !self.harnesses.has_conversation(&launch.harness, &body.env, id)
        {
            return Err(ProblemResponse(problems::no_such_conversation(id, &launch.harness)));
        }
        if let Some(id) = &conversation
            && let Some(process) = self.harnesses.writer_of(&launch.harness, &body.env, id)
        {
            return Err(ProblemResponse(problems::conversation_open(id, process.pid)));
        }
        let id = AgentId(uuid::Uuid::now_v7().as_u128());
        let holder = HolderDirectory::new(&self.home.holders(), id);
        holder
            .create()
            .and_then(|()| environment::write(holder.path(), &body.env))
            .map_err(|error| environment_not_kept(&error))?;
        if let Some(attach) = body.attach {
            let echoes = attach == request::Attach::Terminal;
            let terms = ViewerTerms { wait_ms: VIEWER_WAIT_MS, echoes };
            holder.write_viewer(terms).map_err(|error| environment_not_kept(&error))?;
        }
        let parent = body.parent.clone();
        let spawn = Spawn { id, name, role, parent, launch, restart, conversation };
        if let Err(trouble) = self.command(caller, Command::Spawn(Box::new(spawn))).await {
            // Nobody was born: nothing of it stays.
            let _ = std::fs::remove_dir_all(holder.path());
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

    async fn buried(&self, caller: Caller, id: AgentId) -> Result<Done, ProblemResponse> {
        let agent = self.find(caller, id.to_string()).await?;
        let sights = self.sights(caller, [id].into()).await?;
        let returned = match sights.get(&id).is_some_and(|sight| sight.sees(Private::Texts)) {
            true => self.returned_texts(id).await?,
            false => Vec::new(),
        };
        Ok(Done::Buried(Box::new(Buried { agent, returned })))
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
        Ok(Done::Reported {})
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

fn environment_not_kept(error: &std::io::Error) -> ProblemResponse {
    ProblemResponse(problems::not_recorded("the agent's environment", &error.to_string()))
}

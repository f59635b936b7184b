//! The birth of an agent: what is asked for is checked, what its first session needs is put in place, and the core
//! decides.

use std::path::{Path, PathBuf};

use perennial_api::request;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, RoleWanted, Spawn};
use perennial_core::conversation::ConversationId;
use perennial_core::id::{AgentId, SessionId, SessionNumber};
use perennial_core::launch::Launch;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::environment;
use perennial_engine::host::holders::Size;
use perennial_engine::host::protocol::ViewerTerms;

use super::Done;
use crate::daemon::driving::driver::Closing;
use crate::daemon::showing::problems;
use crate::daemon::surface::answer::ProblemResponse;
use crate::daemon::surface::waiting::on_waiting_thread;
use crate::daemon::surface::{Surface, checks, roles};

/// A caller who does not come within this has the program run without them.
const VIEWER_WAIT_MS: u64 = 5_000;

impl Surface {
    pub(super) async fn spawn(
        &self,
        caller: Caller,
        body: &request::Spawn,
    ) -> Result<Done, ProblemResponse> {
        let (body, reach) = &self.as_child(caller, body).await?;
        let name = body.name.as_deref().map(checks::name).transpose()?;
        let role = body.role.as_deref().map(checks::new_role).transpose()?;
        let restart = checks::restart(body.restart.as_deref())?;
        let task = match &body.task {
            Some(id) => Some(self.task_id(id).await?),
            None => None,
        };
        let sets_restart = body.restart.is_none();
        let wanted_conversation = body.conversation.as_deref().map(checks::conversation);
        let wanted_conversation = wanted_conversation.transpose()?;
        let launch = {
            let (body, harnesses) = (body.clone(), self.harnesses.clone());
            on_waiting_thread(move || checks::launch(&body, &harnesses)).await??
        };
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

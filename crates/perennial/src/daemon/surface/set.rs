//! `set`: changes of an agent's settings, and the variables of `wake` and `restart`.
//!
//! Values of variables are staged under the next revision before the core is asked, and put in place once the
//! event that names the revision is durable. So a value counts if, and only if, its event is recorded.

use std::collections::BTreeMap;
use std::ffi::OsString;

use perennial_api::request;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Set, Then};
use perennial_core::entity::Entity;
use perennial_core::id::AgentId;
use perennial_core::reason::Verb;
use perennial_core::settings::{NewParent, Place, Settings, VariableChange};
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::environment;

use super::agents::gone;
use super::answer::ProblemResponse;
use super::orders::Done;
use super::waiting::project_of_directory;
use super::{Surface, checks};
use crate::daemon::showing::problems;

impl Surface {
    /// Gives an agent a session: by a command, or along with variables that it is to have.
    pub async fn start(
        &self,
        caller: Caller,
        (target, start): (String, request::Start),
        (command, then): (Command, Then),
    ) -> Result<Done, ProblemResponse> {
        let set = request::Set { env: start.env, ..request::Set::default() };
        let id = match set.env.is_empty() {
            true => self.command_agent(caller, command).await?,
            false => self.set(caller, target, set, then).await?,
        };
        Ok(Done::Agent(Box::new(self.begun(caller, id).await?)))
    }

    /// Changes an agent's settings; which agent it was.
    pub async fn set(
        &self,
        caller: Caller,
        target: String,
        set: request::Set,
        then: Then,
    ) -> Result<AgentId, ProblemResponse> {
        let id = self.authorise(caller, Verb::Set, Some(target)).await?.ok_or_else(gone)?;
        checks::variables(&set.env)?;
        checks::chosen(set.env.keys())?;
        let restart = set.restart.as_deref().map(|word| checks::restart(Some(word))).transpose()?;
        let place = match set.dir {
            Some(dir) => Some(Place { project: project_of_directory(&dir).await?, dir }),
            None => None,
        };
        let parent = match (set.parent, set.no_parent) {
            (Some(parent), _) => Some(NewParent::Agent(parent)),
            (None, true) => Some(NewParent::Nobody),
            (None, false) => None,
        };
        let situations = set.situations.as_deref().map(checks::situations).transpose()?;
        // One at a time: each revision is made from the one before.
        let _one = self.setting.lock().await;
        let variables = self.staged(id, set.env, set.unset_env).await?;
        let revision = variables.as_ref().map(|variables| variables.revision);
        let settings = Settings { restart, place, variables, parent, situations };
        let set = Set { target: id.to_string(), settings, then };
        let answer = self.command(caller, Command::Set(Box::new(set))).await;
        if let Some(revision) = revision {
            let holder = HolderDirectory::new(&self.home.holders(), id);
            match &answer {
                // If this fails, the next start does it, or says why it can't.
                Ok(_) => _ = environment::settle(holder.path(), revision),
                Err(_) if !self.counts(id, revision).await => {
                    environment::discard(holder.path(), revision);
                }
                Err(_) => {}
            }
        }
        answer?.iter().find_map(Entity::agent).ok_or_else(gone)
    }

    /// Whether the agent's record has this revision, also if nobody could be told so.
    async fn counts(&self, id: AgentId, revision: u32) -> bool {
        let found = self.driver.look(move |view| {
            view.supervisor.fleet().agent(id).is_some_and(|agent| agent.environment == revision)
        });
        found.await.unwrap_or(true)
    }

    /// The next environment of an agent, kept until its revision is recorded.
    async fn staged(
        &self,
        id: AgentId,
        env: BTreeMap<String, String>,
        mut unset: Vec<String>,
    ) -> Result<Option<VariableChange>, ProblemResponse> {
        if env.is_empty() && unset.is_empty() {
            return Ok(None);
        }
        let current =
            self.driver.look(move |view| Some(view.supervisor.fleet().agent(id)?.environment));
        let current = current.await?.ok_or_else(gone)?;
        let holder = HolderDirectory::new(&self.home.holders(), id);
        let not_kept = |error: std::io::Error| {
            ProblemResponse(problems::not_recorded("the agent's environment", &error.to_string()))
        };
        environment::settle(holder.path(), current).map_err(not_kept)?;
        let mut all = environment::read(holder.path()).map_err(not_kept)?;
        let is_changed = |name: &OsString| {
            name.to_str()
                .is_some_and(|name| env.contains_key(name) || unset.iter().any(|one| one == name))
        };
        all.retain(|(name, _)| !is_changed(name));
        let set: Vec<String> = env.keys().cloned().collect();
        all.extend(env.into_iter().map(|(name, value)| (name.into(), value.into())));
        let bytes: usize = all.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
        if bytes > request::ENV_LIMIT {
            return Err(ProblemResponse(problems::large_environment()));
        }
        unset.retain(|name| !set.contains(name));
        let revision = current + 1;
        environment::stage(holder.path(), revision, &all).map_err(not_kept)?;
        Ok(Some(VariableChange { revision, set, unset }))
    }
}

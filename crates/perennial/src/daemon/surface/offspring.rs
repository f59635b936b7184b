//! What an agent asks for when it wants a child, as the world has it. The core decides by that.
//!
//! A child gets the environment of its parent, and what the core says that it inherits.

use std::collections::BTreeMap;
use std::path::Path;

use perennial_api::request;
use perennial_core::agent::Agent;
use perennial_core::authority::Caller;
use perennial_core::fleet::{Modes, Named, Reach, inherited, persons_choice};
use perennial_core::reason::Verb;
use perennial_engine::harness::session_texts;
use perennial_engine::harness::typing::Unsendable;
use perennial_engine::host::delivery::TEXT_BYTES_MAX;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::environment;

use super::Surface;
use super::agents::gone;
use super::answer::ProblemResponse;
use super::waiting::on_waiting_thread;
use crate::config::HOSTS;
use crate::daemon::driving::harness::Harnesses;
use crate::daemon::showing::{problems, view};

impl Surface {
    /// The request with what the child inherits, and what is to be known of it; for anybody but an agent,
    /// the request as it is.
    pub async fn as_child(
        &self,
        caller: Caller,
        body: &request::Spawn,
    ) -> Result<(request::Spawn, Option<Reach>), ProblemResponse> {
        self.authorise(caller, Verb::Spawn, None).await?;
        let Caller::Agent(own) = caller else { return Ok((body.clone(), None)) };
        // Before anything is looked up.
        persons_choice(named(body))
            .map_err(|refusal| ProblemResponse(problems::refusal_to(&refusal)))?;
        // As long as a text that is sent.
        if let Some(prompt) = body.prompt.as_ref().filter(|it| it.len() >= TEXT_BYTES_MAX) {
            let why = Unsendable::TooLong(prompt.len());
            return Err(ProblemResponse(problems::unsendable_prompt(&why)));
        }
        let own = self.driver.look(move |view| view.supervisor.fleet().agent(own).cloned());
        let own = own.await?.ok_or_else(gone)?;
        let holder = HolderDirectory::new(&self.home.holders(), own.id);
        let env = environment::settle(holder.path(), own.environment)
            .and_then(|()| environment::read(holder.path()))
            .map_err(|error| {
                ProblemResponse(problems::not_recorded(
                    "the agent's environment",
                    &error.to_string(),
                ))
            })?;
        let env = env.into_iter().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        // The directory that was looked at is the one that the child gets, not a path that leads elsewhere later.
        let (above, wanted) = (own.launch.dir.clone(), body.dir.clone());
        let dir = on_waiting_thread(move || within(&above, &wanted)).await?;
        Ok(as_asked(&own, body, (dir, env.collect()), &self.harnesses))
    }
}

fn named(body: &request::Spawn) -> Named {
    let has_host = body.host.as_deref().is_some_and(|host| host != HOSTS[0]);
    Named {
        conversation: body.conversation.is_some() || body.fork,
        host: has_host || body.tmux_socket.is_some(),
    }
}

fn as_asked(
    own: &Agent,
    body: &request::Spawn,
    (dir, env): (Option<String>, BTreeMap<String, String>),
    harnesses: &Harnesses,
) -> (request::Spawn, Option<Reach>) {
    let harness = body.harness.clone().unwrap_or_default();
    let modes = |name: &str| -> Vec<String> {
        let preset = harnesses.preset(name);
        preset
            .map(|preset| preset.permission.modes.iter().map(|it| it.word.clone()).collect())
            .unwrap_or_default()
    };
    let (own_modes, modes) = (modes(&own.launch.harness), modes(&harness));
    let (own_modes, modes) = (Modes(&own_modes), Modes(&modes));
    let asked = body.permission_mode.as_deref();
    let given = inherited(&own.launch, own_modes, (&harness, modes), asked);
    // Some agent CLIs would take such a model for an option of theirs.
    let is_option = body.model.as_ref().is_some_and(|model| model.starts_with('-'));
    let reach = Reach {
        is_dir_within: dir.is_some(),
        has_arguments: !body.argv.is_empty() || !body.set_env.is_empty() || is_option,
        own: given.own,
        wanted: given.wanted,
    };
    let set_env = own.launch.env_names.iter().filter(|name| env.contains_key(*name));
    // Without a word it is refused as everybody's.
    let is_said = |prompt: &&String| !prompt.trim().is_empty();
    let said = body.prompt.as_ref().filter(is_said);
    let prompt = said.map(|it| session_texts::first_prompt(&view::name(own), it));
    let child = request::Spawn {
        prompt: prompt.or_else(|| body.prompt.clone()),
        parent: Some(body.parent.clone().unwrap_or_else(|| own.id.to_string())),
        set_env: set_env.cloned().collect(),
        env,
        permission_mode: given.permission_mode,
        // What is above the parent's is refused with the birth, not left out without a word.
        trust: given.trust || body.trust,
        dir: dir.unwrap_or_else(|| body.dir.clone()),
        attach: None,
        host: None,
        tmux_socket: None,
        conversation: None,
        fork: false,
        ..body.clone()
    };
    (child, Some(reach))
}

/// Where a directory is, wherever links lead, if that is this one or below it.
fn within(own: &str, wanted: &str) -> Option<String> {
    let resolved = |path: &str| Path::new(path).canonicalize().ok();
    let wanted = resolved(wanted)?;
    let is_within = wanted.starts_with(resolved(own)?);
    is_within.then(|| wanted.into_os_string().into_string().ok()).flatten()
}

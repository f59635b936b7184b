//! Who an agent is, kept beside its holder: `agent.json`, in the stored form of its birth.
//!
//! For a daemon whose journal does not know the agent any more. Whoever runs as the same user can write the
//! file: what is read from it is a claim, checked and bounded, and gives nobody a right.

use perennial_core::agent::Agent;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Birth, What};
use perennial_core::id::AgentId;
use perennial_core::name::Name;
use perennial_engine::host::directory::HolderDirectory;
use perennial_store::stored;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const KIND: &str = "hatched";

#[derive(Serialize, Deserialize)]
struct ClaimFile<'a> {
    form: u64,
    #[serde(borrow)]
    hatched: &'a RawValue,
}

/// Writes down who the agent is; it is no failure of the agent's if that can't be done.
pub fn keep(directory: &HolderDirectory, agent: &Agent) {
    let birth = Birth {
        name: agent.name.clone(),
        role: agent.role.clone(),
        parent: agent.parent,
        node: agent.node,
        launch: agent.launch.clone(),
        restart: agent.restart,
        evidence: agent.evidence.clone(),
        until: agent.created_at,
    };
    let what = What::Agent(agent.id, AgentEvent::Hatched(Box::new(birth)));
    let written = stored::write(&what);
    let kept = serde_json::from_str(&written.payload)
        .and_then(|hatched| serde_json::to_vec(&ClaimFile { form: written.form.into(), hatched }))
        .map_err(std::io::Error::from)
        .and_then(|claim| directory.create().and_then(|()| directory.write_claim(&claim)));
    if let Err(error) = kept {
        tracing::warn!(agent = %agent.id, %error, "who the agent is can't be kept beside its holder");
    }
}

/// What the directory claims of the agent; nothing where that makes no sense.
pub fn read(directory: &HolderDirectory, agent: AgentId) -> Option<Box<Birth>> {
    let claim = directory.read_claim()?;
    let file: ClaimFile<'_> = serde_json::from_slice(&claim).ok()?;
    let hatched = file.hatched.get().as_bytes();
    let what = stored::read(&Entity::Agent(agent), KIND, file.form, hatched).ok()?;
    let What::Agent(_, AgentEvent::Hatched(birth)) = what else { return None };
    // A harness's name becomes the name of a file.
    let is_sound = birth.launch.harness.parse::<Name>().is_ok()
        && birth.launch.dir.starts_with('/')
        && birth.launch.project.starts_with('/');
    is_sound.then_some(birth)
}

//! The stored form of a change of settings.

use perennial_core::event::AgentEvent;
use perennial_core::id::AgentId;
use perennial_core::reason::Evidence;
use perennial_core::restart::Restart;
use perennial_core::settings::{NewParent, Place, Settings, VariableChange};
use perennial_core::situation::NotASituation;
use serde::{Deserialize, Serialize};

use super::malformed;
use super::part::{self, StoredEvidence};
use super::word::Worded;
use crate::record::Damage;

#[derive(Serialize, Deserialize)]
pub(super) struct StoredSettings {
    evidence: StoredEvidence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    restart: Option<Worded<Restart>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<StoredPlace>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    variables: Option<StoredVariables>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<StoredParent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    situations: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
struct StoredPlace {
    dir: String,
    project: String,
}

#[derive(Serialize, Deserialize)]
struct StoredVariables {
    revision: u32,
    set: Vec<String>,
    unset: Vec<String>,
}

/// Without an agent: nobody.
#[derive(Serialize, Deserialize)]
struct StoredParent {
    agent: Option<String>,
}

impl StoredSettings {
    pub fn of(settings: &Settings<AgentId>, evidence: &Evidence) -> StoredSettings {
        let Settings { restart, place, variables, parent, situations } = settings.clone();
        StoredSettings {
            evidence: evidence.into(),
            restart: restart.map(Worded),
            place: place.map(|Place { dir, project }| StoredPlace { dir, project }),
            variables: variables.map(|VariableChange { revision, set, unset }| StoredVariables {
                revision,
                set,
                unset,
            }),
            parent: parent.map(|parent| match parent {
                NewParent::Nobody => StoredParent { agent: None },
                NewParent::Agent(id) => StoredParent { agent: Some(id.to_string()) },
            }),
            situations: situations.map(|all| all.iter().map(ToString::to_string).collect()),
        }
    }

    pub fn read(self) -> Result<AgentEvent, Damage> {
        let StoredSettings { evidence, restart, place, variables, parent, situations } = self;
        let read = |all: Vec<String>| all.iter().map(|one| one.parse()).collect();
        let situations: Option<Result<_, NotASituation>> = situations.map(read);
        let situations = situations.transpose().map_err(|error| malformed(&error))?;
        let parent = match parent {
            None => None,
            Some(StoredParent { agent: None }) => Some(NewParent::Nobody),
            Some(StoredParent { agent: Some(id) }) => Some(NewParent::Agent(part::agent(&id)?)),
        };
        let settings =
            Settings {
                restart: restart.map(|restart| restart.0),
                place: place.map(|StoredPlace { dir, project }| Place { dir, project }),
                variables: variables.map(|StoredVariables { revision, set, unset }| {
                    VariableChange { revision, set, unset }
                }),
                parent,
                situations,
            };
        let evidence = evidence.try_into()?;
        Ok(AgentEvent::SettingsChanged { settings: Box::new(settings), evidence })
    }
}

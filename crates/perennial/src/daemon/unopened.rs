//! A journal that can't be opened: what runs all the same, and how a person goes on. Changes nothing.

use std::path::PathBuf;

use perennial_api::Home;
use perennial_engine::host::living::{self, LivingHolder};
use perennial_store::OpenError;
use perennial_store::sqlite::SchemaError;

use super::claim;

/// At most this many sessions are named; of others only the count is told.
const NAMED: usize = 20;

#[derive(Debug, thiserror::Error)]
#[error("can't open the journal")]
pub struct Unopened {
    pub journal: PathBuf,
    /// Which sessions run, for people.
    pub running: String,
    source: OpenError,
}

impl Unopened {
    /// The error as it is told: with a way out where the file itself is at fault.
    pub fn told(home: &Home, source: OpenError) -> anyhow::Error {
        match source {
            OpenError::Make { .. }
            | OpenError::Thread { .. }
            | OpenError::Schema { source: SchemaError::Newer { .. }, .. } => {
                anyhow::Error::new(source).context("can't open the journal")
            }
            OpenError::Incomplete { .. } | OpenError::Schema { .. } | OpenError::Store { .. } => {
                Unopened { journal: home.journal(), running: running(home), source }.into()
            }
        }
    }
}

fn running(home: &Home) -> String {
    let named = |holder: LivingHolder| {
        let pid = holder.process?.pid;
        let name = claim::read(&holder.directory, holder.agent).and_then(|claim| claim.name);
        let name = name.map_or_else(|| holder.agent.to_string(), |name| name.to_string());
        Some(format!("{name} (pid {pid})"))
    };
    let all: Vec<String> = living::holders(&home.holders()).into_iter().filter_map(named).collect();
    match all.len() {
        0 => "no session runs".to_owned(),
        count if count > NAMED => {
            format!("{} and {} others keep running", all[..NAMED].join(", "), count - NAMED)
        }
        1 => format!("{} keeps running", all[0]),
        _ => format!("{} keep running", all.join(", ")),
    }
}

//! A home as one file: a tar archive whose first entry, the manifest, lists all others with sizes and digests.
//!
//! Knows what belongs to a home and where it lies. Writing is `write.rs`, reading `read.rs`; neither asks a
//! daemon.
//!
//! Invariants
//! - AR1  An archive holds what `Place::of` names and nothing else: no other path can be read into a home.
//! - AR2  The manifest comes first, so that nothing is read that it does not announce.

pub mod read;
mod tar;
pub mod write;

use std::path::{Path, PathBuf};

use perennial_api::Home;
use perennial_core::conversation::ConversationId;
use perennial_core::id::AgentId;
use perennial_core::name::Name;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Counted up when an older program could not read an archive, or would misread it.
pub const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";
const JOURNAL: &str = "journal.db";
/// A manifest of some hundred thousand entries.
const MANIFEST_BYTES_MAX: u64 = 64 << 20;
const COPY_BYTES_AT_ONCE: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    /// The version that wrote it, for people.
    pub version: String,
    /// Records of the journal, and how many of them could not be read where it comes from.
    pub records: u64,
    pub unreadable: u64,
    pub with_secrets: bool,
    /// The agents that had an environment, whether it is among the entries or not.
    pub agents: Vec<String>,
    /// In the order in which they follow; the journal is the first.
    pub entries: Vec<ManifestEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestEntry {
    pub name: String,
    pub size: u64,
    pub sha256: String,
}

/// Where an entry belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Journal,
    Conversation,
    Configuration,
    /// May hold secrets.
    Environment,
    Recording,
}

impl Place {
    /// What an entry of this name is; nothing for a name that no home has (AR1).
    pub fn of(name: &str) -> Option<Place> {
        let parts: Vec<&str> = name.split('/').collect();
        let is_agent = |text: &str| text.parse::<AgentId>().is_ok_and(|id| id.to_string() == text);
        let is_name = |text: &str| text.parse::<Name>().is_ok();
        match parts[..] {
            [JOURNAL] => Some(Place::Journal),
            ["config.toml"] => Some(Place::Configuration),
            ["harness", file] if file.strip_suffix(".toml").is_some_and(is_name) => {
                Some(Place::Configuration)
            }
            ["conversations", harness, file] => {
                let id = file.strip_suffix(".jsonl").map(str::parse::<ConversationId>);
                (is_name(harness) && matches!(id, Some(Ok(_)))).then_some(Place::Conversation)
            }
            ["holders", agent, file] => {
                // With a number, it is the one that a change of settings has not put in place yet.
                let revision = file.strip_prefix("env.");
                let is_env = file == "env" || revision.is_some_and(is_number);
                (is_agent(agent) && is_env).then_some(Place::Environment)
            }
            ["holders", agent, session, file] => {
                let numbered = session.strip_prefix('s').is_some_and(is_number);
                let file = file.strip_suffix(".marks").unwrap_or(file);
                let recorded = file.strip_prefix("rec.").is_some_and(is_number);
                (is_agent(agent) && numbered && recorded).then_some(Place::Recording)
            }
            _ => None,
        }
    }

    /// The directory of the home that an entry's name is relative to.
    pub fn base(self, home: &Home) -> &Path {
        match self {
            Place::Journal | Place::Conversation => &home.data,
            Place::Configuration => &home.config,
            Place::Environment | Place::Recording => &home.state,
        }
    }
}

/// Decimal, as we write it.
fn is_number(text: &str) -> bool {
    text.parse::<u64>().is_ok_and(|number| number.to_string() == text)
}

/// What a home has that an import would have to replace.
pub fn occupied(home: &Home) -> Vec<PathBuf> {
    let log = home.data.join(format!("{JOURNAL}-wal"));
    // By that of another journal, records of the imported one would count as lost.
    let head = home.journal().with_extension("head");
    let configuration = crate::config::path(&home.config);
    let files = [home.journal(), log, head, configuration].into_iter().filter(|path| path.exists());
    let presets = perennial_engine::harness::preset::directory(&home.config);
    let directories = [home.conversations(), presets, home.holders()];
    let is_filled =
        |path: &PathBuf| std::fs::read_dir(path).is_ok_and(|mut all| all.next().is_some());
    files.chain(directories.into_iter().filter(is_filled)).collect()
}

fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_home_has_is_an_entry() {
        let agent = AgentId(7).to_string();
        for (name, place) in [
            ("journal.db".to_owned(), Place::Journal),
            ("config.toml".to_owned(), Place::Configuration),
            ("harness/claude.toml".to_owned(), Place::Configuration),
            ("conversations/claude/0a-b.c.jsonl".to_owned(), Place::Conversation),
            (format!("holders/{agent}/env"), Place::Environment),
            (format!("holders/{agent}/env.2"), Place::Environment),
            (format!("holders/{agent}/s1/rec.0"), Place::Recording),
            (format!("holders/{agent}/s12/rec.4096.marks"), Place::Recording),
        ] {
            assert_eq!(Place::of(&name), Some(place), "{name}");
        }
        for name in [
            "".to_owned(),
            "/journal.db".to_owned(),
            "./journal.db".to_owned(),
            "journal.db/".to_owned(),
            "journal.db-wal".to_owned(),
            "node.json".to_owned(),
            "manifest.json".to_owned(),
            "../config.toml".to_owned(),
            "harness/../config.toml".to_owned(),
            "harness/..toml".to_owned(),
            "conversations/../x.jsonl".to_owned(),
            "conversations/claude/..jsonl".to_owned(),
            "conversations/claude/x".to_owned(),
            "holders/bob/env".to_owned(),
            format!("holders/{}/env", agent.to_uppercase()),
            format!("holders/{agent}/lock"),
            format!("holders/{agent}/env.new"),
            format!("holders/{agent}/s01/rec.0"),
            format!("holders/{agent}/s1/rec.+1"),
            format!("holders/{agent}/s1/process.json"),
            format!("holders/{agent}/../rec.0"),
        ] {
            assert_eq!(Place::of(&name), None, "{name}");
        }
    }
}

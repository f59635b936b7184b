//! A script as a file: JSON, because a program in a prompt is the same JSON on one line.
//!
//! ```json
//! {
//!   "turns": [
//!     { "tools": [{ "name": "Bash", "input": { "command": "ls" } }] },
//!     { "text": "Nothing here.", "usage": { "input": 900, "cache_read": 300000 } },
//!     { "status": 429, "headers": { "retry-after": "30" } },
//!     { "status": 529, "repeat": 3 },
//!     { "status": 400, "message": "prompt is too long: 210000 tokens > 200000 maximum" },
//!     { "text": "Cut off in the mid", "cut": true },
//!     { "silent": true },
//!     { "match": "write the checkpoint", "text": "Written.", "repeat": "always" },
//!     { "to": "compaction", "text": "<summary>We counted.</summary>" },
//!     { "tools": [{ "name": "apply_patch", "input": "*** Begin Patch\n…" }] },
//!     { "text": "Held until POST /release/lunch.", "gate": "lunch" }
//!   ],
//!   "scripts": { "alice": [{ "text": "Only for /s/alice, or for the session of that id." }] }
//! }
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::turn::Turn;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// For every request that no script of its own is named for.
    pub turns: Vec<Turn>,
    /// By the name in the address, or by the client's session id.
    pub scripts: BTreeMap<String, Vec<Turn>>,
}

#[derive(Debug, Error)]
pub enum ScriptError {
    #[error("cannot read the script {path}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("the script {path} is not valid")]
    Invalid { path: PathBuf, source: serde_json::Error },
}

impl Script {
    pub fn new(turns: impl Into<Vec<Turn>>) -> Script {
        Script { turns: turns.into(), scripts: BTreeMap::new() }
    }

    pub fn read(path: &Path) -> Result<Script, ScriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ScriptError::Unreadable { path: path.into(), source })?;
        serde_json::from_str(&text)
            .map_err(|source| ScriptError::Invalid { path: path.into(), source })
    }
}

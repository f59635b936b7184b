//! What a snapshot knows about a work tree besides its files: `state`, a JSON file in the snapshot's tree.
//!
//! A stored form: fields are added, never changed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LeftOut;

/// Of one work tree. Paths are escaped (`path_text`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateFile {
    pub form: u32,
    /// In the snapshot's top work tree; empty for the top itself.
    pub path: String,
    /// The git directory whose ref keeps `base`; none for a directory that is no repository of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The file HEAD, as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_commit: Option<String>,
    /// The commit whose objects were not copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_modified_ns: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_index: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Files that changed while they were read, three times: their content is of no single moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub torn: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty_directories: Vec<String>,
    /// The modes that most have, in octal.
    pub file_mode: String,
    pub executable_mode: String,
    pub directory_mode: String,
    /// Those of the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modes: BTreeMap<String, String>,
    /// Staged objects that the repository itself lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub staged_missing: Vec<String>,
    /// Other repositories in this one: their path, and the name of their tree in `nested/`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nested: BTreeMap<String, String>,
    /// Why a nested repository was taken as plain files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain_because: Option<String>,
}

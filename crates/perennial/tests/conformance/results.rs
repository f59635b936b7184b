//! What the last whole runs of the suite saw: `results.json`, which `cargo xtask prove conformance` writes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Outcome, scenarios};

/// By harness.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Results(pub BTreeMap<String, Column>);

/// One harness's column of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub version: String,
    pub works: Vec<String>,
    pub not: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fails: Vec<String>,
}

impl Column {
    pub fn outcome(&self, scenario: &str) -> Option<Outcome> {
        let has = |names: &[String]| names.iter().any(|name| name == scenario);
        let lists = [
            (&self.works, Outcome::Works),
            (&self.not, Outcome::Not),
            (&self.fails, Outcome::Fails),
        ];
        lists.into_iter().find(|(names, _)| has(names)).map(|(_, outcome)| outcome)
    }

    pub fn add(&mut self, scenario: &str, outcome: Outcome) {
        match outcome {
            Outcome::Works => self.works.push(scenario.to_owned()),
            Outcome::Not => self.not.push(scenario.to_owned()),
            Outcome::Fails => self.fails.push(scenario.to_owned()),
        }
    }

    /// Names that no scenario has any more.
    pub fn unknown(&self) -> impl Iterator<Item = &String> {
        let is_known = |name: &str| scenarios::ALL.iter().any(|scenario| scenario.name == name);
        self.works.iter().chain(&self.not).chain(&self.fails).filter(move |name| !is_known(name))
    }
}

impl Results {
    fn path() -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "tests/conformance/results.json"].iter().collect()
    }

    pub fn read() -> Results {
        let text = std::fs::read_to_string(Results::path()).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub fn write(&self) {
        let text = serde_json::to_string_pretty(self).expect("JSON");
        std::fs::write(Results::path(), text + "\n").expect("written");
    }
}

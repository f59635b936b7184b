//! `<config>/config.toml`, the operator's own: never a project's or an agent's.
//!
//! One table names every key, with its default and what it is for; `config show` and `config explain` print
//! it. The command line and the daemon read the file by themselves, each the keys that are its own. A file
//! with a mistake is ignored as a whole.
//!
//! Invariant
//! - CF1  The table and the struct have the same keys and the same defaults.

mod keys;
mod numbers;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::escalation::UNSEEN_AFTER;
use perennial_core::fleet::{OffspringLimits, Policy};
use perennial_core::handoff;
use perennial_core::hearing::SILENT_AFTER;
use perennial_core::snapshot::SnapshotTerms;
use perennial_core::task::RAISED_AGAIN_AFTER;
use perennial_core::work::{RuleBook, RuleChanges};
use perennial_engine::host::holders::RECORD_LIMIT_BYTES;
use perennial_engine::regular_file::{self, Links};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::checks;
use crate::detach_keys::{BadKeys, DetachKeys};
use crate::roles::{self, Declared};

pub use keys::KEYS;

const DAY: Duration = Duration::from_secs(86_400);

/// A key of the file.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub used_by: UsedBy,
    /// The environment variable that comes before the file.
    pub variable: Option<&'static str>,
    /// One sentence.
    pub summary: &'static str,
    pub example: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A program and its arguments.
    Command,
    /// One key or two, such as `C-a d`.
    Keys,
    Number {
        least: u64,
        most: u64,
    },
    /// One of these words.
    Word(&'static [&'static str]),
    /// A table for each role.
    Roles,
    /// A command for each check.
    Checks,
    /// Lists of words, commands and tools.
    Phase,
}

/// Who reads a key, and so when a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsedBy {
    /// When it starts.
    Daemon,
    /// At every command.
    CommandLine,
}

/// A file that is longer is none of ours.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The usual one first.
pub const HOSTS: [&str; 2] = ["shim", "tmux"];
const DETACH_KEYS_VARIABLE: &str = "PERENNIAL_DETACH_KEYS";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub notify: Vec<String>,
    #[serde(deserialize_with = "numbers::silent_after_s")]
    pub silent_after_s: u64,
    #[serde(deserialize_with = "detach_keys")]
    pub detach_keys: String,
    #[serde(deserialize_with = "numbers::record_limit_mib")]
    pub record_limit_mib: u64,
    #[serde(deserialize_with = "numbers::keep_recordings_days")]
    pub keep_recordings_days: u64,
    #[serde(deserialize_with = "numbers::keep_snapshots")]
    pub keep_snapshots: u64,
    #[serde(deserialize_with = "numbers::keep_snapshots_days")]
    pub keep_snapshots_days: u64,
    #[serde(deserialize_with = "numbers::keep_asked_snapshots")]
    pub keep_asked_snapshots: u64,
    #[serde(deserialize_with = "host")]
    pub host: String,
    #[serde(deserialize_with = "numbers::children_max")]
    pub children_max: u64,
    #[serde(deserialize_with = "numbers::depth_max")]
    pub depth_max: u64,
    #[serde(deserialize_with = "numbers::max_running")]
    pub max_running: u64,
    #[serde(deserialize_with = "numbers::handoff_deadline_s")]
    pub handoff_deadline_s: u64,
    #[serde(deserialize_with = "numbers::escalate_after_s")]
    pub escalate_after_s: u64,
    #[serde(deserialize_with = "numbers::raise_loops_after_s")]
    pub raise_loops_after_s: u64,
    #[serde(deserialize_with = "roles::declared")]
    pub role: Declared,
    pub checks: checks::Declared,
    #[serde(deserialize_with = "roles::phase")]
    pub phase: RuleChanges,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            notify: Vec::new(),
            silent_after_s: SILENT_AFTER.as_secs(),
            detach_keys: "C-\\".to_owned(),
            record_limit_mib: RECORD_LIMIT_BYTES >> 20,
            keep_recordings_days: 0,
            keep_snapshots: 50,
            keep_snapshots_days: 30,
            keep_asked_snapshots: 200,
            host: HOSTS[0].to_owned(),
            children_max: OffspringLimits::default().children,
            depth_max: OffspringLimits::default().depth,
            max_running: 0,
            handoff_deadline_s: handoff::DEADLINE.as_secs(),
            escalate_after_s: UNSEEN_AFTER.as_secs(),
            raise_loops_after_s: RAISED_AGAIN_AFTER.as_secs(),
            role: Declared::new(),
            checks: checks::Declared::new(),
            phase: RuleChanges::default(),
        }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    Default,
    File,
    Environment,
}

/// What is wrong with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Counted from 1; a file that can't be read has none.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

pub fn path(config: &Path) -> PathBuf {
    config.join("config.toml")
}

impl Config {
    /// The file's values, or the defaults where there is no file.
    pub fn load(config: &Path) -> Result<Config, Mistake> {
        Config::read(&file(config)?)
    }

    /// The same with the environment before the file: what a command uses. A mistake keeps nobody from an agent's
    /// terminal: what has it is ignored, and told.
    pub fn for_command_line(config: &Path, variable: impl Fn(&str) -> Option<String>) -> Loaded {
        let read = file(config).and_then(|text| Ok((Config::read(&text)?, sources(&text))));
        let mut loaded = match read {
            Ok((config, sources)) => Loaded { config, sources, mistake: None },
            Err(mistake) => Loaded {
                config: Config::default(),
                sources: [Source::Default; KEYS.len()],
                mistake: Some(mistake),
            },
        };
        if let Some(value) = variable(DETACH_KEYS_VARIABLE).filter(|value| !value.is_empty()) {
            loaded.set_detach_keys(value);
        }
        loaded
    }

    /// What a file with this text says.
    pub fn read(text: &str) -> Result<Config, Mistake> {
        toml::from_str(text).map_err(|error| mistake(text, &error))
    }

    pub fn silent_after(&self) -> Option<Duration> {
        (self.silent_after_s > 0).then(|| Duration::from_secs(self.silent_after_s))
    }

    pub fn record_limit_bytes(&self) -> u64 {
        self.record_limit_mib << 20
    }

    /// For how long recordings are kept; without a limit: for ever.
    pub fn keep_recordings(&self) -> Option<Duration> {
        (self.keep_recordings_days > 0)
            .then(|| DAY * u32::try_from(self.keep_recordings_days).unwrap_or(u32::MAX))
    }

    /// Which snapshots of work trees are kept.
    fn snapshot_terms(&self) -> SnapshotTerms {
        let most = |most: u64| usize::try_from(most).ok().filter(|most| *most > 0);
        let days = u32::try_from(self.keep_snapshots_days).ok().filter(|days| *days > 0);
        SnapshotTerms {
            automatic: most(self.keep_snapshots),
            for_time: days.map(|days| DAY * days),
            asked: most(self.keep_asked_snapshots),
        }
    }

    /// What decisions are made by; `config` is the directory that has the file.
    pub fn policy(&self, config: &Path) -> Policy {
        Policy {
            notify: self.notify.clone(),
            keep_recordings: self.keep_recordings(),
            snapshots: self.snapshot_terms(),
            roles: roles::terms(&self.role, &path(config)),
            built_in_roles: roles::terms(&roles::built_in(), &path(config)),
            escalate_after: Some(Duration::from_secs(self.escalate_after_s)),
            raise_loops_after: Some(Duration::from_secs(self.raise_loops_after_s)),
            offspring: OffspringLimits { children: self.children_max, depth: self.depth_max },
            max_running: usize::try_from(self.max_running).ok().filter(|most| *most > 0),
            handoff_deadline: Some(Duration::from_secs(self.handoff_deadline_s)),
        }
    }

    /// What the phases of work are recognised by.
    pub fn rule_book(&self) -> RuleBook {
        RuleBook::new(&self.phase, &roles::phases(&self.role))
    }

    /// A key's value; every key of the table has one.
    pub fn value(&self, key: &Key) -> serde_json::Value {
        serde_json::to_value(self)
            .ok()
            .and_then(|all| all.get(key.name).cloned())
            .unwrap_or_default()
    }
}

/// The values that hold, and where each comes from.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    sources: [Source; KEYS.len()],
    /// Whatever has it is ignored: the file as a whole, or a variable.
    pub mistake: Option<Mistake>,
}

impl Loaded {
    fn set_detach_keys(&mut self, value: String) {
        match checked_keys(value) {
            Ok(value) => {
                self.config.detach_keys = value;
                for (key, source) in KEYS.iter().zip(&mut self.sources) {
                    if key.variable == Some(DETACH_KEYS_VARIABLE) {
                        *source = Source::Environment;
                    }
                }
            }
            Err(error) => {
                let message = format!("the variable {DETACH_KEYS_VARIABLE}: {error}");
                self.mistake.get_or_insert(Mistake { line: None, message });
            }
        }
    }

    /// Every key with its value and its source.
    pub fn entries(&self) -> impl Iterator<Item = (&'static Key, serde_json::Value, Source)> {
        KEYS.iter().zip(self.sources).map(|(key, source)| (key, self.config.value(key), source))
    }
}

fn file(config: &Path) -> Result<String, Mistake> {
    match regular_file::read_text(&path(config), Links::Follow, FILE_BYTES_MAX) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Mistake { line: None, message: error.to_string() }),
    }
}

fn sources(text: &str) -> [Source; KEYS.len()] {
    let written = toml::from_str::<toml::Table>(text).unwrap_or_default();
    KEYS.each_ref().map(|key| match written.contains_key(key.name) {
        true => Source::File,
        false => Source::Default,
    })
}

/// What is wrong, and where, on one line.
pub fn mistake(text: &str, error: &toml::de::Error) -> Mistake {
    let message = error.message().lines().collect::<Vec<_>>().join(" ");
    let before = error.span().and_then(|span| text.get(..span.start));
    Mistake { line: before.map(|before| before.matches('\n').count() + 1), message }
}

fn detach_keys<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    checked_keys(String::deserialize(from)?).map_err(D::Error::custom)
}

fn checked_keys(value: String) -> Result<String, BadKeys> {
    value.parse::<DetachKeys>().map(|_| value)
}

fn host<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let value = String::deserialize(from).ok().filter(|value| HOSTS.contains(&value.as_str()));
    value.ok_or_else(|| D::Error::custom(format!("host must be one of: {}", HOSTS.join(", "))))
}

#[cfg(test)]
mod tests;

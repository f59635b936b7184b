//! `<config>/config.toml`, the operator's own: never a project's or an agent's.
//!
//! One table names every key, with its default and what it is for; `config show` and `config explain` print
//! it. The command line and the daemon read the file by themselves, each the keys that are its own. A file
//! with a mistake is ignored as a whole.
//!
//! Invariant
//! - CF1  The table and the struct have the same keys and the same defaults.

mod numbers;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::escalation::UNSEEN_AFTER;
use perennial_core::fleet::{OffspringLimits, Policy};
use perennial_core::hearing::SILENT_AFTER;
use perennial_engine::host::holders::RECORD_LIMIT_BYTES;
use perennial_engine::regular_file::{self, Links};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::checks;
use crate::detach_keys::{BadKeys, DetachKeys};
use crate::roles::{self, Declared};

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

/// Every key, in the order in which they are shown.
pub const KEYS: [Key; 11] = [
    Key {
        name: "notify",
        kind: Kind::Command,
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "The command that is run when an agent waits for permission, for an answer or in a \
                  first-run dialog, or gives no sign of life when it starts, and when mail comes for the operator \
                  that is not of low priority; empty means none. It is not run for the other agents that \
                  `perennial ls` marks with !. Three arguments follow the command: the agent's name (or \
                  Perennial), the reason (a word such as needs-permission, or mail), and a sentence that tells it.",
        example: r#"notify = ["notify-send", "perennial"]"#,
    },
    Key {
        name: "silent_after_s",
        kind: Kind::Number { least: 0, most: u32::MAX as u64 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "After how many seconds of silence in a turn a session counts as hung; 0 means never.",
        example: "silent_after_s = 1800",
    },
    Key {
        name: "detach_keys",
        kind: Kind::Keys,
        used_by: UsedBy::CommandLine,
        variable: Some(DETACH_KEYS_VARIABLE),
        summary: "The keys that detach from an agent's terminal: a prefix, and the key after it; d if none \
                  is given. The prefix pressed twice detaches, too.",
        example: r#"detach_keys = "C-a d""#,
    },
    Key {
        name: "record_limit_mib",
        kind: Kind::Number { least: 1, most: 4096 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many MiB of a session's output are recorded; older output is dropped.",
        example: "record_limit_mib = 32",
    },
    Key {
        name: "keep_recordings_days",
        kind: Kind::Number { least: 0, most: 36_500 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "For how many days after its last output the recording of an ended session is kept; 0 \
                  means for ever. The recording of an agent's newest session stays until the agent is \
                  buried. Conversations and records are never removed.",
        example: "keep_recordings_days = 90",
    },
    Key {
        name: "host",
        kind: Kind::Word(&HOSTS),
        used_by: UsedBy::CommandLine,
        variable: None,
        summary: "What holds the terminals of the agents that `spawn` and `adopt` start: shim, the built-in \
                  holder, or tmux, a pane of your tmux. --host comes before it.",
        example: r#"host = "tmux""#,
    },
    Key {
        name: "children_max",
        kind: Kind::Number { least: 0, most: 1000 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many children an agent may have that it starts itself, those that sleep included, until \
                  they are buried; 0 means that agents start no agents.",
        example: "children_max = 4",
    },
    Key {
        name: "depth_max",
        kind: Kind::Number { least: 1, most: 100 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "How many agents there may be above an agent that an agent starts: 1 means that only \
                  agents without a parent start others.",
        example: "depth_max = 1",
    },
    Key {
        name: "escalate_after_s",
        kind: Kind::Number { least: 1, most: 31_536_000 },
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "After how many seconds an escalation of high severity that nobody has seen is raised one step \
                  higher. With severity medium it takes four times as long, with low sixteen times, with critical \
                  a quarter.",
        example: "escalate_after_s = 300",
    },
    Key {
        name: "role",
        kind: Kind::Roles,
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "A table for each role: mandate (a text of at most 1024 bytes) or mandate_file (a path), span \
                  (mortal or persistent), overseer (another role), restart (never, on-crash or always), \
                  single_holder, every (how often holders are asked for a round: a span such as 30m, from 1s to 365d, \
                  in a project's perennial.toml from 1m), cycle (a table: after, a number, and unit: assignment, \
                  round, interaction, merge, or operator without a number; interesting, a list of events), budget \
                  (a table: tokens, a number) and verify (word, or trust: a holder's tasks without a check need nobody's \
                  word; only in config.toml). A relative mandate_file starts at this file. The keys span, \
                  overseer, cycle and budget are read and have no effect yet. `perennial role ls` lists all roles.",
        example: "[role.architect]\nmandate_file = \"mandates/architect.txt\"\nsingle_holder = true",
    },
    Key {
        name: "checks",
        kind: Kind::Checks,
        used_by: UsedBy::Daemon,
        variable: None,
        summary: "A command for each check: a program and its arguments, or a table with command and limit (a span \
                  such as 10m). Checks of a project's perennial.toml have to be trusted first: `perennial config \
                  trust`. Tasks name them: `perennial task add --check`.",
        example: "[checks]\nunit = [\"cargo\", \"test\"]",
    },
];

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
    #[serde(deserialize_with = "host")]
    pub host: String,
    #[serde(deserialize_with = "numbers::children_max")]
    pub children_max: u64,
    #[serde(deserialize_with = "numbers::depth_max")]
    pub depth_max: u64,
    #[serde(deserialize_with = "numbers::escalate_after_s")]
    pub escalate_after_s: u64,
    #[serde(deserialize_with = "roles::declared")]
    pub role: Declared,
    pub checks: checks::Declared,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            notify: Vec::new(),
            silent_after_s: SILENT_AFTER.as_secs(),
            detach_keys: "C-\\".to_owned(),
            record_limit_mib: RECORD_LIMIT_BYTES >> 20,
            keep_recordings_days: 0,
            host: HOSTS[0].to_owned(),
            children_max: OffspringLimits::default().children,
            depth_max: OffspringLimits::default().depth,
            escalate_after_s: UNSEEN_AFTER.as_secs(),
            role: Declared::new(),
            checks: checks::Declared::new(),
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

    /// What decisions are made by; `config` is the directory that has the file.
    pub fn policy(&self, config: &Path) -> Policy {
        Policy {
            notify: self.notify.clone(),
            keep_recordings: self.keep_recordings(),
            roles: roles::terms(&self.role, &path(config)),
            built_in_roles: roles::terms(&roles::built_in(), &path(config)),
            escalate_after: Some(Duration::from_secs(self.escalate_after_s)),
            offspring: OffspringLimits { children: self.children_max, depth: self.depth_max },
        }
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
mod tests {
    use perennial_core::hearing::Limits;

    use super::*;

    #[test]
    fn the_table_and_the_struct_have_the_same_keys_in_the_same_order() {
        let text = serde_json::to_string(&Config::default()).unwrap();
        let positions: Vec<_> =
            KEYS.iter().map(|key| text.find(&format!("\"{}\":", key.name))).collect();
        assert!(positions.iter().all(Option::is_some) && positions.is_sorted(), "{text}");
        let all = serde_json::to_value(Config::default()).unwrap();
        assert_eq!(all.as_object().unwrap().len(), KEYS.len());
        assert_eq!(Config::default().silent_after(), Limits::default().silent_after);
    }

    #[test]
    fn defaults_and_examples_are_within_their_bounds() {
        for key in &KEYS {
            let read = Config::read(key.example).unwrap_or_else(|error| panic!("{error}"));
            assert_ne!(read, Config::default(), "{}: the example is another value", key.name);
            let value = Config::default().value(key);
            let text = format!("{} = {value}", key.name);
            assert_eq!(Config::read(&text), Ok(Config::default()), "{text}");
        }
    }

    #[test]
    fn what_is_not_written_has_its_default_and_a_misspelt_word_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Config::load(dir.path()), Ok(Config::default()));
        let write = |text| std::fs::write(path(dir.path()), text).unwrap();
        write("notify = [\"say\"]\nsilent_after_s = 0");
        let read = Config::load(dir.path()).unwrap();
        assert_eq!((read.notify.len(), read.silent_after()), (1, None));
        write("notifi = []");
        assert!(Config::load(dir.path()).unwrap_err().message.contains("notifi"));
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        for (text, line, word) in [
            (
                "notify = []\nsilent_after_s = \"x\"",
                2,
                "silent_after_s must be a number from 0 to 4294967295",
            ),
            ("record_limit_mib = 0", 1, "record_limit_mib must be a number from 1 to 4096"),
            ("\n\nrecord_limit_mib = 99999999", 3, "from 1 to 4096"),
            ("host = \"screen\"", 1, "host must be one of: shim, tmux"),
            ("detach_keys = \"d\"", 1, "Ctrl and a key"),
            ("detach_keys = \"C-a d e\"", 1, "Ctrl and a key"),
            ("detach_keys = \"C-a  \"", 1, "Ctrl and a key"),
        ] {
            let mistake = Config::read(text).unwrap_err();
            assert_eq!(mistake.line, Some(line), "{text}: {mistake}");
            assert!(mistake.message.contains(word), "{text}: {mistake}");
        }
    }

    #[test]
    fn the_environment_comes_before_the_file_and_the_file_before_the_default() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(path(dir.path()), "detach_keys = 'C-a d'\nnotify = []").unwrap();
        let load = |value: Option<&str>| {
            Config::for_command_line(dir.path(), |name| {
                value.filter(|_| name == "PERENNIAL_DETACH_KEYS").map(str::to_owned)
            })
        };
        let of = |loaded: &Loaded, name: &str| {
            let (_, value, source) =
                loaded.entries().find(|(key, ..)| key.name == name).expect("a key");
            (value.as_str().map(str::to_owned), source)
        };
        let loaded = load(None);
        assert_eq!(of(&loaded, "detach_keys"), (Some("C-a d".to_owned()), Source::File));
        assert_eq!(of(&loaded, "notify").1, Source::File);
        assert_eq!(of(&loaded, "record_limit_mib").1, Source::Default);
        let loaded = load(Some("C-b"));
        assert_eq!(of(&loaded, "detach_keys"), (Some("C-b".to_owned()), Source::Environment));
        let mistaken = load(Some("b"));
        assert_eq!(of(&mistaken, "detach_keys"), (Some("C-a d".to_owned()), Source::File));
        assert!(mistaken.mistake.unwrap().message.contains("PERENNIAL_DETACH_KEYS"));
        std::fs::write(path(dir.path()), "notify = 'x'\ndetach_keys = 'C-a d'").unwrap();
        let ignored = load(None);
        assert_eq!(ignored.config, Config::default());
        assert_eq!(ignored.mistake.unwrap().line, Some(1));
    }
}

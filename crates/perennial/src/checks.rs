//! Checks as they are declared: commands that verify somebody's work, each by a name. `[checks]` of the operator's
//! `config.toml`, which is trusted as it is, and of a project's `perennial.toml`, which is trusted only as it was
//! when a person said so (`trust.rs`).
//!
//! Runs nothing.
//!
//! Invariant
//! - CK1  A command is a list: a program and its arguments, never a line for a shell.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::name::Name;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::Mistake;
use crate::project_file::{self, ProjectFile};
use crate::span;
use crate::trust::Trusted;

/// No command is longer.
const WORDS_MAX: usize = 64;
const WORD_BYTES_MAX: usize = 4096;
const LIMIT_MOST_S: u64 = 86_400;

/// The checks of one file, by their names.
pub type Declared = BTreeMap<CheckName, Check>;

/// A command, and how long it may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub command: Vec<String>,
    pub limit: Option<Duration>,
}

/// A name that a check can have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CheckName(String);

impl CheckName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for CheckName {
    type Error = String;

    fn try_from(text: String) -> Result<CheckName, String> {
        match text.parse::<Name>() {
            Ok(_) => Ok(CheckName(text)),
            Err(_) => Err(format!("invalid check `{text}`: use letters, digits, - and _")),
        }
    }
}

impl From<CheckName> for String {
    fn from(name: CheckName) -> String {
        name.0
    }
}

impl<'de> Deserialize<'de> for Check {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Check, D::Error> {
        from.deserialize_any(CheckVisitor)
    }
}

struct CheckVisitor;

impl<'de> Visitor<'de> for CheckVisitor {
    type Value = Check;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a program and its arguments, such as [\"cargo\", \"test\"], or a table with command and limit")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<Check, A::Error> {
        let mut command = Vec::new();
        while let Some(word) = words.next_element()? {
            command.push(word);
        }
        Ok(Check { command: checked(command).map_err(A::Error::custom)?, limit: None })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut keys: A) -> Result<Check, A::Error> {
        let (mut command, mut limit) = (None, None);
        while let Some(key) = keys.next_key::<String>()? {
            match key.as_str() {
                "command" => command = Some(keys.next_value::<Vec<String>>()?),
                "limit" => {
                    let text = keys.next_value::<String>()?;
                    limit = Some(seconds(&text).map_err(A::Error::custom)?);
                }
                _ => return Err(A::Error::unknown_field(&key, &["command", "limit"])),
            }
        }
        let command = command.ok_or_else(|| A::Error::missing_field("command"))?;
        let command = checked(command).map_err(A::Error::custom)?;
        Ok(Check { command, limit: limit.map(Duration::from_secs) })
    }
}

fn checked(command: Vec<String>) -> Result<Vec<String>, String> {
    let is_good = |word: &String| word.len() <= WORD_BYTES_MAX && !word.contains('\0');
    match command.first() {
        None => Err("a command needs a program".to_owned()),
        Some(program) if program.is_empty() => Err("a command needs a program".to_owned()),
        Some(_) if command.len() > WORDS_MAX || !command.iter().all(is_good) => {
            Err(format!("a command may have at most {WORDS_MAX} words of {WORD_BYTES_MAX} bytes"))
        }
        Some(_) => Ok(command),
    }
}

fn seconds(text: &str) -> Result<u64, String> {
    let seconds = span::seconds(text).filter(|seconds| (1..=LIMIT_MOST_S).contains(seconds));
    seconds.ok_or_else(|| "limit must be a span from 1s to 1d, such as \"10m\"".to_owned())
}

/// As it is written in a file.
impl Serialize for Check {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Some(limit) = self.limit else {
            let mut list = to.serialize_seq(Some(self.command.len()))?;
            self.command.iter().try_for_each(|word| list.serialize_element(word))?;
            return list.end();
        };
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("command", &self.command)?;
        map.serialize_entry("limit", &format!("{}s", limit.as_secs()))?;
        map.end()
    }
}

/// Why a check may not be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoCheck {
    Unknown,
    /// The project declares it, and nobody trusts this file as it is.
    NotTrusted {
        file: PathBuf,
    },
}

/// The checks that somebody in a project may name.
#[derive(Debug, Clone)]
pub struct Checks {
    own: Declared,
    of_project: Declared,
    file: PathBuf,
    is_trusted: bool,
}

impl Checks {
    /// `own` are the operator's. The project's file is read once: what is trusted is what is parsed.
    pub fn of(own: &Declared, config: &Path, project: &Path) -> Result<Checks, Mistake> {
        let file = project_file::path(project);
        let text = project_file::text(&file)?;
        let ProjectFile { checks: of_project, .. } = project_file::parse(&text)?;
        let is_trusted = Trusted::load(config).has(&file, &text);
        Ok(Checks { own: own.clone(), of_project, file, is_trusted })
    }

    /// The check of this name that may be run: the operator's, else the project's, if that is trusted.
    pub fn trusted(&self, name: &str) -> Result<&Check, NoCheck> {
        let (own, theirs) = (find(&self.own, name), find(&self.of_project, name));
        match (own, theirs) {
            (Some(own), _) => Ok(own),
            (None, Some(theirs)) if self.is_trusted => Ok(theirs),
            (None, Some(_)) => Err(NoCheck::NotTrusted { file: self.file.clone() }),
            (None, None) => Err(NoCheck::Unknown),
        }
    }

    /// Whether the operator declares a check of this name: the project's has no effect then.
    pub fn is_own(&self, name: &CheckName) -> bool {
        self.own.contains_key(name)
    }

    /// All names, of the operator's and of the project's.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.own.keys().chain(self.of_project.keys()).map(CheckName::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Of the project, in the order of their names.
    pub fn of_project(&self) -> impl Iterator<Item = (&CheckName, &Check)> {
        self.of_project.iter()
    }

    /// Where the project declares its own.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

fn find<'d>(declared: &'d Declared, name: &str) -> Option<&'d Check> {
    declared.iter().find(|(one, _)| one.as_str() == name).map(|(_, check)| check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust;

    fn declared(text: &str) -> Declared {
        toml::from_str::<Declared>(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn a_check_is_a_list_or_a_table_with_a_limit() {
        let checks =
            declared("unit = ['cargo', 'test']\nslow = { command = ['make'], limit = '10m' }\n");
        let of = |name: &str| checks[&CheckName(name.to_owned())].clone();
        assert_eq!(of("unit"), Check { command: vec!["cargo".into(), "test".into()], limit: None });
        assert_eq!(of("slow").limit, Some(Duration::from_secs(600)));
        for (wrong, words) in [
            ("unit = 'cargo test'", "a program and its arguments"),
            ("unit = []", "needs a program"),
            ("unit = ['']", "needs a program"),
            ("unit = ['a', 1]", "expected a string"),
            ("'a b' = ['x']", "invalid check"),
            ("unit = { command = ['x'], limit = 'soon' }", "such as"),
            ("unit = { command = ['x'], limit = '2d' }", "1s to 1d"),
            ("unit = { command = ['x'], limit = '0s' }", "1s to 1d"),
            ("unit = ['x', \"a\\u0000b\"]", "at most 64 words"),
            ("unit = { limit = '2m' }", "command"),
            ("unit = { command = ['x'], shell = true }", "shell"),
        ] {
            let error = toml::from_str::<Declared>(wrong).expect_err(wrong).to_string();
            assert!(error.contains(words), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_command_has_a_bounded_number_of_words_and_bytes() {
        let words = |count: usize| vec!["x".to_owned(); count];
        assert!(checked(words(WORDS_MAX)).is_ok() && checked(words(WORDS_MAX + 1)).is_err());
        let long = |bytes: usize| vec!["x".to_owned(), "y".repeat(bytes)];
        assert!(
            checked(long(WORD_BYTES_MAX)).is_ok() && checked(long(WORD_BYTES_MAX + 1)).is_err()
        );
    }

    #[test]
    fn a_projects_check_may_be_run_only_as_it_was_when_a_person_trusted_it() {
        let home = tempfile::tempdir().expect("a directory");
        let project = tempfile::tempdir().expect("a directory");
        let own = declared("lint = ['own-lint']");
        let checks = || Checks::of(&own, home.path(), project.path()).expect("read");
        assert_eq!(checks().trusted("unit"), Err(NoCheck::Unknown));

        let file = project.path().join("perennial.toml");
        let text = "[checks]\nunit = ['make', 'test']\nlint = ['theirs']\n";
        std::fs::write(&file, text).expect("written");
        let refused = NoCheck::NotTrusted { file: file.clone() };
        assert_eq!(checks().trusted("unit"), Err(refused.clone()));
        // The operator's word counts before the project's, trusted or not.
        assert_eq!(checks().trusted("lint").expect("own").command, ["own-lint"]);

        trust::trust(home.path(), &file, text, "2026-11-18T00:00:00Z").expect("recorded");
        assert_eq!(checks().trusted("unit").expect("trusted").command, ["make", "test"]);
        assert_eq!(checks().trusted("lint").expect("own").command, ["own-lint"]);
        assert_eq!(checks().trusted("other"), Err(NoCheck::Unknown));
        let is_own = |name: &str| checks().is_own(&CheckName(name.to_owned()));
        assert!(is_own("lint") && !is_own("unit"));

        std::fs::write(&file, format!("{text}# changed\n")).expect("written");
        assert_eq!(checks().trusted("unit"), Err(refused));
        std::fs::write(&file, text).expect("written");
        assert!(checks().trusted("unit").is_ok(), "the same content again");
    }
}

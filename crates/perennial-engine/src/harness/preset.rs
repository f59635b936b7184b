//! What a harness is, as data: one TOML file each, built in or the owner's.
//!
//! `<config>/harness/NAME.toml` stands in for the built-in one, whole. A key that nobody knows is an
//! error that says where, since a preset that half works loses work.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use perennial_core::context::Source;
use serde::Deserialize;

use super::announcement::Announcement;
use super::conformance::Conformance;
use super::dialect::{self, Dialect};
use super::input::Input;
use super::path_rule::{PathRule, Placeholder};
use super::template::{Slot, Template};
use super::vendors::DIALECTS;
use crate::regular_file::{self, Links};

const PRESET_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    #[serde(skip)]
    pub name: String,
    /// What is started if the launch names no program.
    pub program: String,
    /// What makes it print its version.
    pub version_args: Vec<String>,
    /// The version that all of this was measured with.
    pub measured: String,
    /// Whose hooks, status line and files it has.
    #[serde(deserialize_with = "dialect::by_name")]
    pub dialect: &'static dyn Dialect,
    /// What a conversation is told that was cut off in the middle of a turn, after a note of where the work stood.
    pub resume_prompt: String,
    /// Arguments that the owner can't give, since we do.
    #[serde(default)]
    pub reserved: Vec<String>,
    pub argv: Argv,
    pub permission: Permission,
    pub end: EndRules,
    pub environment: Environment,
    pub conversation: ConversationFiles,
    pub hooks: Hooks,
    /// Absent: as the built-in preset of that dialect has it.
    pub input: Option<Input>,
    /// What it announces about itself by sequences for its terminal.
    #[serde(default, rename = "announcement")]
    pub announcements: Vec<Announcement>,
    pub context: ContextRules,
    #[serde(default)]
    pub limits: Limits,
    /// How it is run with a scripted model. Absent: as the built-in preset of that dialect has it.
    pub conformance: Option<Conformance>,
}

/// What the vendor does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    #[serde(default)]
    pub not: Vec<Limit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// What does not work with this harness.
    pub what: String,
    pub why: String,
    /// The scenario of the conformance suite that shows it.
    pub scenario: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argv {
    pub start: Template,
    pub resume: Template,
    /// Of no use: a preset that was copied from an earlier version has it.
    #[serde(default, rename = "fork")]
    _fork: Unused,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Permission {
    /// Absent: the harness chooses.
    pub default: Option<String>,
    /// From the least to the most that is allowed without asking.
    pub modes: Vec<Mode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mode {
    pub word: String,
    pub args: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndRules {
    /// Exit codes of a session that was not cut off.
    pub clean_codes: Vec<i32>,
    /// What it ends well on.
    pub kill_signal: KillSignal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum KillSignal {
    #[serde(rename = "INT")]
    Interrupt,
    #[serde(rename = "TERM")]
    Terminate,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    pub set: BTreeMap<String, String>,
    /// Set as well when the operator trusts the directory.
    pub trust: BTreeMap<String, String>,
    pub scrub: Vec<String>,
}

/// Where the vendor keeps conversations.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConversationFiles {
    /// The variable that moves them elsewhere.
    pub home_variable: Option<String>,
    /// Their place below the home directory.
    pub home: String,
    /// Below that, with `{conversation}`, and with `{dir}` or `*` where they differ.
    pub transcript: PathRule,
    /// A file that the program holds a lock on while it has the conversation open, with
    /// `{conversation}`.
    pub lock: Option<PathRule>,
    /// What is among the arguments of the vendor's own server: a process that has conversations open for
    /// several terminals, and after them.
    pub server_argument: Option<String>,
    /// Arguments of the program behind which stands the conversation that it has open: for a vendor who locks
    /// nothing.
    #[serde(default)]
    pub named_by: Vec<String>,
    /// The keys under which a transcript's lines name their conversation: what has another id in a copy that
    /// goes on by itself. Absent: as the built-in preset of that dialect has it.
    pub fork_keys: Option<Vec<String>>,
    /// While a turn runs, it is read this often: for a vendor whose hooks may not be heard.
    pub read_every_ms: Option<u64>,
    /// The vendor's own list of live sessions: a file for each, with `{pid}`.
    #[serde(default, deserialize_with = "list")]
    pub list: Option<PathRule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    pub timeout_s: u32,
    pub events: Vec<Hook>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    pub event: String,
    /// Which tools it is about; absent: all.
    pub matcher: Option<String>,
    /// Of a vendor that asks the owner about each hook: the others are named without this one, too.
    #[serde(default)]
    pub is_optional: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextRules {
    #[serde(deserialize_with = "source")]
    pub window_source: Source,
    /// How far before the window's end the harness compacts by itself.
    pub compaction_reserve_tokens: u64,
    /// The variable by which its owner makes that end come earlier.
    pub compaction_window_variable: Option<String>,
    /// The harness takes no smaller end. Absent: as the built-in preset of that dialect has it.
    pub compaction_window_min_tokens: Option<u64>,
    /// The windows of models, for when nobody tells: by the beginning of the model's id.
    #[serde(default)]
    pub windows: Vec<ModelWindow>,
    /// Of all other models.
    pub window_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelWindow {
    pub model: String,
    pub tokens: u64,
}

impl ContextRules {
    /// The window of a model by the table, the last resort.
    pub fn window(&self, model: &str) -> u64 {
        let named = self.windows.iter().find(|row| model.starts_with(&row.model));
        named.map_or(self.window_tokens, |row| row.tokens)
    }

    /// How much of a window can be used before the harness compacts by itself. `end` is what the
    /// owner set by the variable.
    pub fn usable(&self, window: u64, end: Option<u64>) -> u64 {
        let least = self.compaction_window_min_tokens.unwrap_or(0);
        let end = end.map_or(window, |end| end.max(least).min(window));
        // A window that is hardly more than the reserve is not one that this rule is about.
        end.saturating_sub(self.compaction_reserve_tokens).max(end / 2)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PresetError {
    #[error("no harness '{name}'; known harnesses: {}", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
    #[error("can't read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// The parser's own display is a drawing of several lines; its message is the sentence in it.
    #[error("{place}, line {line}: {}", error.message().split_whitespace().collect::<Vec<_>>().join(" "))]
    Malformed { place: String, line: usize, error: Box<toml::de::Error> },
    #[error("{place}: {flaw}")]
    Contradiction { place: String, flaw: Flaw },
}

impl PresetError {
    fn malformed(place: String, text: &str, error: toml::de::Error) -> PresetError {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        PresetError::Malformed { place, line, error: Box::new(error) }
    }
}

/// What does not fit together in a preset that reads well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("permission.default `{0}` is not in permission.modes")]
    NoSuchMode(String),
    #[error("conversation.transcript must name {{conversation}}")]
    NamelessTranscript,
    #[error("conversation.home must be a path below the home directory")]
    Outside,
    #[error("conversation.list must name {{pid}} in a file's name, and one directory")]
    ScatteredList,
    #[error("conversation.lock must name {{conversation}}")]
    NamelessLock,
    #[error("argv.resume must name {{conversation}}")]
    ResumesNothing,
    #[error("invalid hook event name {0}: use letters and digits")]
    BadEvent(String),
}

impl Preset {
    /// The first of these arguments that only we may give, as `--flag` or `--flag=value`.
    pub fn reserved_among<'a>(&self, arguments: &'a [String]) -> Option<&'a str> {
        let is_reserved = |argument: &&String| {
            let flag = argument.split('=').next().unwrap_or_default();
            self.reserved.iter().any(|one| one == flag)
        };
        arguments.iter().find(is_reserved).map(String::as_str)
    }

    /// The owner's preset of that name, else the built-in one.
    pub fn load(config: &Path, name: &str) -> Result<Preset, PresetError> {
        let path = path(config, name);
        let built_in = DIALECTS.into_iter().find(|dialect| dialect.name() == name);
        let unknown = || PresetError::Unknown { name: name.to_owned(), known: names(config) };
        // A name is never a path.
        if !is_name(name) {
            return Err(unknown());
        }
        match regular_file::read_text(&path, Links::Follow, PRESET_BYTES_MAX) {
            Ok(text) => Preset::read(name, &path.display().to_string(), &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dialect = built_in.ok_or_else(unknown)?;
                Preset::read(name, &format!("the built-in preset {name}"), dialect.preset())
            }
            Err(source) => Err(PresetError::Unreadable { path, source }),
        }
    }

    fn read(name: &str, place: &str, text: &str) -> Result<Preset, PresetError> {
        let place = || place.to_owned();
        let mut preset: Preset =
            toml::from_str(text).map_err(|error| PresetError::malformed(place(), text, error))?;
        name.clone_into(&mut preset.name);
        // Keys that presets of earlier versions do not have.
        let least = &mut preset.context.compaction_window_min_tokens;
        let is_earlier = preset.input.is_none() || preset.conversation.fork_keys.is_none();
        if is_earlier || least.is_none() || preset.conformance.is_none() {
            let built_in = Preset::built_in(preset.dialect)?;
            *least = least.or(built_in.context.compaction_window_min_tokens);
            preset.input = preset.input.or(built_in.input);
            preset.conformance = preset.conformance.or(built_in.conformance);
            let fork_keys = &mut preset.conversation.fork_keys;
            *fork_keys = fork_keys.take().or(built_in.conversation.fork_keys);
        }
        match preset.flaw() {
            Some(flaw) => Err(PresetError::Contradiction { place: place(), flaw }),
            None => Ok(preset),
        }
    }

    /// The preset that a dialect was measured with.
    fn built_in(dialect: &dyn Dialect) -> Result<Preset, PresetError> {
        let text = dialect.preset();
        toml::from_str(text).map_err(|error| {
            let place = format!("the built-in preset {}", dialect.name());
            PresetError::malformed(place, text, error)
        })
    }

    fn flaw(&self) -> Option<Flaw> {
        let Preset { permission, conversation, argv, hooks, .. } = self;
        let default = permission.default.as_ref().filter(|word| self.mode(word).is_none());
        if let Some(word) = default {
            return Some(Flaw::NoSuchMode(word.clone()));
        }
        if !conversation.transcript.names(Placeholder::Conversation) {
            return Some(Flaw::NamelessTranscript);
        }
        let inside = |part| matches!(part, std::path::Component::Normal(_));
        if !Path::new(&conversation.home).components().all(inside) {
            return Some(Flaw::Outside);
        }
        if conversation.list.as_ref().is_some_and(|list| !list.is_flat()) {
            return Some(Flaw::ScatteredList);
        }
        let lock = conversation.lock.as_ref();
        if lock.is_some_and(|lock| !lock.names(Placeholder::Conversation)) {
            return Some(Flaw::NamelessLock);
        }
        if !argv.resume.names(Slot::Conversation) {
            return Some(Flaw::ResumesNothing);
        }
        let named = |hook: &&Hook| hook.event.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let bad = hooks.events.iter().find(|hook| !named(hook) || hook.event.is_empty())?;
        Some(Flaw::BadEvent(bad.event.clone()))
    }

    /// The arguments of a permission mode, by the harness's own word.
    pub fn mode(&self, word: &str) -> Option<&Mode> {
        self.permission.modes.iter().find(|mode| mode.word == word)
    }
}

/// Which state of the owner's file a preset was read from; `None`: there is none.
pub type Version = Option<FileVersion>;

/// A file that is written again, replaced or touched has another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileVersion {
    inode: (u64, u64),
    bytes: u64,
    changed: (i64, i64),
}

/// What the preset of that name would be read from now; an error: it can't be said.
pub fn version(config: &Path, name: &str) -> io::Result<Version> {
    let seen = |meta: &Metadata| FileVersion {
        inode: (meta.dev(), meta.ino()),
        bytes: meta.len(),
        changed: (meta.ctime(), meta.ctime_nsec()),
    };
    match std::fs::metadata(directory(config).join(format!("{name}.toml"))) {
        Ok(meta) => Ok(Some(seen(&meta))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names of all presets that there are.
pub fn names(config: &Path) -> Vec<String> {
    let mut names: Vec<String> = DIALECTS.map(|dialect| dialect.name().to_owned()).to_vec();
    // An absent or unreadable directory adds none.
    for entry in std::fs::read_dir(directory(config)).into_iter().flatten().flatten() {
        let file = entry.file_name();
        let name = file.to_str().and_then(|file| file.strip_suffix(".toml"));
        names.extend(name.filter(|name| is_name(name)).map(str::to_owned));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The preset that is meant where a harness is needed and none is named.
pub fn usual() -> &'static str {
    DIALECTS[0].name()
}

/// The file of the owner's preset of that name.
pub fn path(config: &Path, name: &str) -> PathBuf {
    directory(config).join(format!("{name}.toml"))
}

/// Where the operator's own presets are.
pub fn directory(config: &Path) -> PathBuf {
    config.join("harness")
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(allowed)
}

/// A list that was said to be in a directory has a file `PID.json` for each session.
fn list<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<PathRule>, D::Error> {
    let mut rule = String::deserialize(deserializer)?;
    if !rule.contains("{pid}") {
        rule.push_str("/{pid}.json");
    }
    rule.try_into().map(Some).map_err(serde::de::Error::custom)
}

/// A value that is read and not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Unused;

impl<'de> Deserialize<'de> for Unused {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Unused, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Unused)
    }
}

fn source<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Source, D::Error> {
    let word = String::deserialize(deserializer)?;
    let all = [Source::StatusLine, Source::Table];
    all.into_iter().find(|source| source.word() == word).ok_or_else(|| {
        let words = all.map(Source::word).join(", ");
        serde::de::Error::custom(format!("`{word}` is none of {words}"))
    })
}

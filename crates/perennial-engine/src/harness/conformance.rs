//! How a harness is run with a scripted model, as data: `[conformance]` of a preset. The conformance suite
//! and the demo go by it.
//!
//! Data only. The places in its texts are filled once, and what is put in is never looked at again.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::preset::Preset;

/// Stands in the arguments of a tool for the shell command.
const COMMAND: &str = "{command}";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conformance {
    /// The scenarios that it is put through. Absent: all.
    pub claims: Option<Vec<String>>,
    /// Files by their path in the home directory, with what a person would have answered at the first
    /// start.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// On top of `HOME`, `PATH` and what every program needs.
    pub environment: BTreeMap<String, String>,
    /// The options of `spawn` with which it asks no questions.
    pub free: Vec<String>,
    /// How its model runs a shell command.
    pub shell: ShellTool,
    /// What its model calls a tool of our MCP server, with `{tool}` for the tool. Absent: it has none of them.
    pub own_tool: Option<String>,
    /// The arguments with which a person has one prompt answered outside of Perennial, with `{prompt}`.
    /// Absent: it can't be run so.
    pub once: Option<Vec<String>>,
    /// What makes it ask for permission. Absent: it never asks.
    pub asks: Option<Asking>,
    /// What a person types.
    #[serde(default)]
    pub keys: Keys,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellTool {
    pub tool: String,
    /// Its arguments, with `{command}` for the command.
    pub input: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asking {
    /// The options of `spawn` with which it asks before a shell command that writes.
    pub options: Vec<String>,
    /// Further arguments of that command.
    #[serde(default)]
    pub input: BTreeMap<String, Value>,
}

/// Keys by the names that `send --key` knows, and commands of the program's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// Stops a turn.
    pub interrupt: Option<String>,
    /// Begins another conversation.
    pub clear: Option<String>,
    /// Has the conversation summed up.
    pub compact: Option<String>,
    /// Ends the program in good order.
    pub quit: Option<String>,
}

/// Where a harness runs this time.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    pub preset: &'a Preset,
    /// `{home}`: the home directory that it sees.
    pub home: &'a Path,
    /// `{work}`: where it works.
    pub work: &'a Path,
    /// `{model_url}`: the scripted model.
    pub model_url: &'a str,
}

impl Surroundings<'_> {
    /// The files of the home directory.
    pub fn files(&self, conformance: &Conformance) -> BTreeMap<String, String> {
        self.filled(&conformance.files)
    }

    pub fn environment(&self, conformance: &Conformance) -> BTreeMap<String, String> {
        self.filled(&conformance.environment)
    }

    fn filled(&self, texts: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        texts.iter().map(|(name, text)| (name.clone(), self.fill(text))).collect()
    }

    /// A text with its places filled. A brace that begins none stays.
    fn fill(&self, text: &str) -> String {
        let places = [
            ("{home}", self.home.to_string_lossy()),
            ("{work}", self.work.to_string_lossy()),
            ("{model_url}", self.model_url.into()),
            ("{measured}", self.preset.measured.as_str().into()),
        ];
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let place = places.iter().find(|(name, _)| after.starts_with(&name[1..]));
            filled.push_str(place.map_or("{", |(_, value)| value));
            rest = place.map_or(after, |(name, _)| &after[name.len() - 1..]);
        }
        filled + rest
    }
}

impl ShellTool {
    /// The arguments of a call that runs this command.
    pub fn call(&self, command: &str) -> Value {
        self.input
            .iter()
            .map(|(name, value)| {
                let is_place = value.as_str() == Some(COMMAND);
                (name.clone(), if is_place { Value::from(command) } else { value.clone() })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::vendors::DIALECTS;
    use super::*;

    fn built_in(name: &str) -> Preset {
        Preset::load(Path::new("/proc/none"), name).expect("built in")
    }

    fn surroundings(preset: &Preset) -> Surroundings<'_> {
        let (home, work) = (Path::new("{work}"), Path::new("/w"));
        Surroundings { preset, home, work, model_url: "http://m" }
    }

    #[test]
    fn places_are_filled_once_and_other_braces_stay() {
        let preset = built_in(DIALECTS[0].name());
        let text = r#"{"a":"{home}","b":{"{work}":{"c":"{model_url}/v1 {measured} {d"}}}"#;
        let rest = format!(r#"{{"/w":{{"c":"http://m/v1 {} {{d"}}}}}}"#, preset.measured);
        let expected = format!(r#"{{"a":"{{work}}","b":{rest}"#);
        assert_eq!(surroundings(&preset).fill(text), expected);
    }

    #[test]
    fn every_built_in_preset_can_be_run_with_a_scripted_model() {
        for dialect in DIALECTS {
            let preset = built_in(dialect.name());
            let conformance = preset.conformance.as_ref().expect("it says how");
            let place = surroundings(&preset);
            let texts = place.environment(conformance).into_values();
            let texts = texts.chain(place.files(conformance).into_values());
            assert_eq!(texts.filter(|text| text.contains("http://m")).count(), 1, "{preset:?}");
            let call = conformance.shell.call("echo 1").to_string();
            assert!(call.contains("\"echo 1\"") && !call.contains(COMMAND), "{call}");
        }
    }
}

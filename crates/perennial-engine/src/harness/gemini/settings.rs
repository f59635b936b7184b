//! The files by which a session calls us: hooks in an extension, the MCP server in settings that are the
//! owner's but for a few keys. All in a home of the session's own.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::home_view::{self, DIRECTORY, EXTENSIONS, SETTINGS};
use crate::harness::dialect::{INPUT_BYTES, Wiring};
use crate::harness::prepare::{SessionFiles, Unprepared, write};
use crate::harness::preset::Preset;
use crate::regular_file::{self, Links};

/// The name of our extension, of its hooks and of our MCP server.
const NAME: &str = "perennial";

/// The variable that names the client's home.
const HOME_VARIABLE: &str = "GEMINI_CLI_HOME";

pub fn write_files(
    preset: &Preset,
    place: &SessionFiles<'_>,
    vendor_home: &Path,
) -> Result<Wiring, Unprepared> {
    let exe = text(place.exe)?;
    let owner = read(&vendor_home.join(DIRECTORY).join(SETTINGS));
    if let Some(switch) = switched_off(&owner) {
        return Err(Unprepared::HooksDisabled(switch));
    }
    let view = home_view::make(vendor_home, place.session_dir)?;
    let directory = view.join(DIRECTORY);
    let settings = settings(owner.clone(), exe);
    write(&directory, SETTINGS, settings.to_string().as_bytes())?;
    let extension = directory.join(EXTENSIONS).join(NAME);
    let described = json!({ "name": NAME, "version": env!("CARGO_PKG_VERSION") });
    write(&extension, "gemini-extension.json", described.to_string().as_bytes())?;
    let hooks = json!({ "hooks": hooks(preset, exe) });
    write(&extension.join("hooks"), "hooks.json", hooks.to_string().as_bytes())?;
    let mode = owner.pointer("/general/defaultApprovalMode");
    let home = text(&view)?.to_owned();
    Ok(Wiring {
        environment: BTreeMap::from([(HOME_VARIABLE.to_owned(), home)]),
        owner_has_mode: mode.is_some_and(Value::is_string),
        ..Wiring::default()
    })
}

/// What of the owner's settings keeps the session from calling us.
fn switched_off(owner: &Value) -> Option<&'static str> {
    let list = |path| owner.pointer(path).and_then(Value::as_array);
    let is_ours = |name: &Value| name.as_str() == Some(NAME);
    if owner.pointer("/hooksConfig/enabled").and_then(Value::as_bool) == Some(false) {
        return Some("hooksConfig.enabled");
    }
    if list("/hooksConfig/disabled").is_some_and(|names| names.iter().any(is_ours)) {
        return Some("hooksConfig.disabled");
    }
    let allowed = list("/security/allowedExtensions");
    allowed.is_some_and(|names| !names.is_empty()).then_some("security.allowedExtensions")
}

/// The owner's, with ours.
fn settings(owner: Value, exe: &str) -> Value {
    let mut settings = if owner.is_object() { owner } else { json!({}) };
    // A resume leaves a second file of its conversation; with this on, the next start of any session in
    // the directory deletes both.
    set(&mut settings, &["general", "sessionRetention"], json!({ "enabled": false }));
    // The title says whether the client works, waits or asks.
    set(&mut settings, &["ui", "hideWindowTitle"], json!(false));
    set(&mut settings, &["ui", "dynamicWindowTitle"], json!(true));
    let server = json!({
        "command": exe,
        "args": ["mcp"],
        // Our own tools only tell and report: no dialog for each of them.
        "trust": true,
        // The client fills it in; it gives servers no variable that looks like a secret.
        "env": { "PERENNIAL_SESSION": "$PERENNIAL_SESSION" },
    });
    set(&mut settings, &["mcpServers", NAME], server);
    settings
}

/// Puts a value where these keys lead; what stands in its way and is no object gives way.
fn set(settings: &mut Value, keys: &[&str], value: Value) {
    let Some((key, rest)) = keys.split_first() else {
        *settings = value;
        return;
    };
    if !settings.is_object() {
        *settings = json!({});
    }
    if let Value::Object(map) = settings {
        set(map.entry(*key).or_insert(Value::Null), rest, value);
    }
}

fn hooks(preset: &Preset, exe: &str) -> Value {
    let mut hooks = Map::new();
    for hook in &preset.hooks.events {
        // The vendor runs a shell string, always; only words of ours are in it. A client that the agent
        // itself starts has this variable from its parent and is not this session.
        let exe = format!("'{}'", exe.replace('\'', r"'\''"));
        let command = format!("test -n \"$GEMINI_CLI\" || exec {exe} hook {}", hook.event);
        let command = json!({
            "type": "command",
            "name": NAME,
            "command": command,
            "timeout": preset.hooks.timeout_s.saturating_mul(1000),
        });
        let mut entry = json!({ "hooks": [command] });
        if let Some(matcher) = &hook.matcher {
            entry["matcher"] = json!(matcher);
        }
        let entries = hooks.entry(hook.event.clone()).or_insert_with(|| json!([]));
        if let Value::Array(entries) = entries {
            entries.push(entry);
        }
    }
    Value::Object(hooks)
}

/// Settings of the owner's; what can't be read is as if it were not there. The client allows comments.
fn read(path: &Path) -> Value {
    match regular_file::read_text(path, Links::Follow, INPUT_BYTES as u64) {
        Ok(text) => serde_json::from_str(&without_comments(&text)).unwrap_or(Value::Null),
        Err(_) => Value::Null,
    }
}

/// JSON without comments, which settings files of the client may have.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some(first) = rest.chars().next() {
        let length = match (in_string, first) {
            (true, '\\') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (false, '/') if rest.starts_with("//") => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                continue;
            }
            (false, '/') if rest.starts_with("/*") => {
                rest = rest.find("*/").map_or("", |end| &rest[end + 2..]);
                continue;
            }
            (_, '"') => {
                in_string = !in_string;
                1
            }
            (_, other) => other.len_utf8(),
        };
        kept.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    kept
}

fn text(path: &Path) -> Result<&str, Unprepared> {
    path.to_str().ok_or_else(|| Unprepared::NotText(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_left_out_and_strings_are_not() {
        let text = r#"{ // one
            "a": "x // y", /* two */ "b": "\"/*", "c": 1 }"#;
        let value: Value = serde_json::from_str(&without_comments(text)).expect("JSON");
        assert_eq!(value, json!({ "a": "x // y", "b": "\"/*", "c": 1 }));
    }

    #[test]
    fn the_owners_settings_stay_in_force() {
        let owner = json!({
            "general": { "vimMode": true, "sessionRetention": { "enabled": true, "maxAge": "7d" } },
            "mcpServers": { "own": { "command": "x" } },
            "ui": "nonsense",
        });
        let both = settings(owner, "/bin/perennial");
        assert_eq!(both["general"]["vimMode"], true);
        assert_eq!(both["general"]["sessionRetention"], json!({ "enabled": false }));
        assert_eq!(both["mcpServers"]["own"]["command"], "x");
        assert_eq!(both["mcpServers"]["perennial"]["args"], json!(["mcp"]));
        assert_eq!(both["ui"]["dynamicWindowTitle"], true);
    }

    #[test]
    fn what_would_keep_a_session_silent_is_told() {
        let table = [
            (json!(null), None),
            (json!({ "hooksConfig": { "enabled": true, "disabled": ["x"] } }), None),
            (json!({ "hooksConfig": { "enabled": false } }), Some("hooksConfig.enabled")),
            (json!({ "hooksConfig": { "disabled": ["perennial"] } }), Some("hooksConfig.disabled")),
            (
                json!({ "security": { "allowedExtensions": ["^https:"] } }),
                Some("security.allowedExtensions"),
            ),
        ];
        for (owner, expected) in table {
            assert_eq!(switched_off(&owner), expected, "{owner}");
        }
    }
}

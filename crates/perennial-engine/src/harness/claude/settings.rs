//! The files by which a session calls us: hooks, status line, MCP server. Given by argument, added
//! to the owner's settings, which stay in force and are only read.

use std::path::Path;

use perennial_core::context::Source;
use perennial_core::launch::Launch;
use serde_json::{Map, Value, json};

use crate::harness::dialect::{INPUT_BYTES, Wiring};
use crate::harness::prepare::{SessionFiles, Unprepared, write};
use crate::harness::preset::Preset;
use crate::harness::template::{Slot, Values};
use crate::regular_file::{self, Links};

/// The name of our MCP server, which the names of its tools begin with.
const SERVER: &str = "perennial";

pub fn write_files(
    preset: &Preset,
    launch: &Launch,
    place: &SessionFiles<'_>,
    vendor_home: &Path,
) -> Result<Wiring, Unprepared> {
    let exe = text(place.exe)?;
    let dir = Path::new(&launch.dir).join(".claude");
    let owner = read(&vendor_home.join("settings.json"));
    // The strongest first, as the vendor has it.
    let all = [read(&dir.join("settings.local.json")), read(&dir.join("settings.json")), owner];
    let switch = all.iter().find_map(|settings| settings.get("disableAllHooks")?.as_bool());
    if switch == Some(true) {
        return Err(Unprepared::HooksDisabled("disableAllHooks"));
    }
    let mut settings = json!({
        "hooks": hooks(preset, exe),
        // Our own tools only tell and report: no dialog for each of them.
        "permissions": { "allow": [format!("mcp__{SERVER}")] },
    });
    if preset.context.window_source == Source::StatusLine {
        settings["statusLine"] = status_line(&all, exe, place)?;
    }
    if launch.options.trust {
        // The dialog before the mode that asks for nothing; the variable answers the other one.
        settings["skipDangerousModePermissionPrompt"] = json!(true);
    }
    let server = json!({ "type": "stdio", "command": exe, "args": ["mcp"] });
    let mcp = json!({ "mcpServers": { SERVER: server } });
    let settings = write(place.session_dir, "settings.json", settings.to_string().as_bytes())?;
    let mcp = write(place.session_dir, "mcp.json", mcp.to_string().as_bytes())?;
    let mode = all[2].pointer("/permissions/defaultMode");
    let values = Values::from([
        (Slot::Settings, vec![text(&settings)?.to_owned()]),
        (Slot::Mcp, vec![text(&mcp)?.to_owned()]),
    ]);
    let owner_has_mode = mode.is_some_and(Value::is_string);
    Ok(Wiring { values, owner_has_mode, ..Wiring::default() })
}

/// Our status line, which calls the owner's own.
fn status_line(all: &[Value], exe: &str, place: &SessionFiles<'_>) -> Result<Value, Unprepared> {
    let mut argv = vec![exe.to_owned(), "statusline".to_owned()];
    let theirs = all.iter().find_map(|settings| settings.get("statusLine")?.as_object());
    let command = theirs.and_then(|theirs| theirs.get("command")?.as_str());
    if let Some(command) = command {
        let chained = json!({ "command": command }).to_string();
        let path = write(place.session_dir, "statusline.json", chained.as_bytes())?;
        argv.push(text(&path)?.to_owned());
    }
    Ok(status_line_entry(theirs, &argv))
}

fn hooks(preset: &Preset, exe: &str) -> Value {
    let mut hooks = Map::new();
    for hook in &preset.hooks.events {
        // With `args` the vendor starts the program itself, without a shell.
        let command = json!({
            "type": "command",
            "command": exe,
            "args": ["hook", hook.event],
            "timeout": preset.hooks.timeout_s,
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

/// Ours in the place of theirs, with what else they said of it (padding, how often).
fn status_line_entry(theirs: Option<&Map<String, Value>>, argv: &[String]) -> Value {
    let mut entry = theirs.cloned().unwrap_or_default();
    entry.insert("type".to_owned(), json!("command"));
    entry.insert("command".to_owned(), json!(quoted(argv)));
    Value::Object(entry)
}

/// An argv for the vendor's shell, which a status line always goes through; only words of ours.
fn quoted(argv: &[String]) -> String {
    let quote = |word: &String| format!("'{}'", word.replace('\'', r"'\''"));
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// Settings of the owner's; what can't be read is as if it were not there.
fn read(path: &Path) -> Value {
    match regular_file::read(path, Links::Follow, INPUT_BYTES as u64) {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        Err(_) => Value::Null,
    }
}

fn text(path: &Path) -> Result<&str, Unprepared> {
    path.to_str().ok_or_else(|| Unprepared::NotText(path.to_owned()))
}

//! The arguments by which a session calls us: our tools, our word at a turn's end, and our hooks where
//! the owner lets them run. Added to the owner's configuration, which stays in force and is only read.

use std::fmt::Write;
use std::path::Path;

use perennial_core::launch::Launch;
use serde_json::json;
use toml::{Table, Value};

use super::consent::{self, OwnHook};
use crate::harness::dialect::{INPUT_BYTES, Wiring};
use crate::harness::prepare::{SessionFiles, Unprepared, write};
use crate::harness::preset::Preset;
use crate::harness::template::{Slot, Values};
use crate::regular_file::{self, Links};

/// The name of our MCP server, which the names of its tools begin with.
const SERVER: &str = "perennial";

/// The program hands only a few variables to such servers, and these when it is told to.
const SERVER_VARIABLES: [&str; 8] = [
    "PERENNIAL_HOME",
    "PERENNIAL_AGENT",
    "PERENNIAL_SESSION",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "TMPDIR",
];

pub fn wire(
    preset: &Preset,
    launch: &Launch,
    place: &SessionFiles<'_>,
    vendor_home: &Path,
) -> Result<Wiring, Unprepared> {
    let exe = place.exe.to_str().ok_or_else(|| Unprepared::NotText(place.exe.to_owned()))?;
    let config = read(&vendor_home.join("config.toml"));
    let extra = launch.argv.get(1..).unwrap_or_default();
    let mut arguments = Vec::new();
    let mut set = |key: &str, value: String| {
        arguments.extend(["-c".to_owned(), format!("{key}={value}")]);
    };
    // The question whether to update comes before everything else, and nobody answers it.
    set("check_for_update_on_startup", false.to_string());
    let commands = commands(preset, exe);
    let hooks: Vec<OwnHook<'_>> = own_hooks(preset, &commands);
    let hooks = consent::given(&hooks, &config, extra);
    let has_hooks = !hooks.is_empty();
    set(&format!("mcp_servers.{SERVER}"), server(exe, has_hooks));
    set("notify", notify(&config, exe, place)?);
    hooks.iter().for_each(|hook| set(&format!("hooks.{}", hook.event), entry(hook)));
    if launch.options.trust {
        let trust = table([("trust_level", text("trusted"))]);
        set("projects", table([(launch.dir.as_str(), trust)]));
    }
    let has_mode = |key: &str| config.contains_key(key);
    Ok(Wiring {
        values: Values::from([(Slot::Wiring, arguments)]),
        owner_has_mode: has_mode("approval_policy") || has_mode("sandbox_mode"),
        ..Wiring::default()
    })
}

/// Our own tools only tell and report: no dialog for each of them. Without hooks they bring the briefing.
fn server(exe: &str, has_hooks: bool) -> String {
    let briefing = (!has_hooks).then_some("--briefing");
    table([
        ("command", text(exe)),
        ("args", list(["mcp"].into_iter().chain(briefing).map(text))),
        ("env_vars", list(SERVER_VARIABLES.map(text))),
        ("default_tools_approval_mode", text("approve")),
    ])
}

/// Ours stands in the place of the owner's own, and calls it. The file is always written: that a session
/// has a directory shows that it was prepared before.
fn notify(config: &Table, exe: &str, place: &SessionFiles<'_>) -> Result<String, Unprepared> {
    let theirs = config.get("notify").and_then(Value::as_array).into_iter().flatten();
    let words: Vec<&str> = theirs.filter_map(Value::as_str).collect();
    let path = write(place.session_dir, "notify.json", json!(words).to_string().as_bytes())?;
    let path = path.to_str().ok_or_else(|| Unprepared::NotText(path.clone()))?;
    Ok(list([exe, "hook", "notify", "--then", path].map(text)))
}

/// One command for each hook of the preset. The program runs them by a shell; only words of ours.
fn commands(preset: &Preset, exe: &str) -> Vec<String> {
    let quoted = format!("'{}'", exe.replace('\'', r"'\''"));
    preset.hooks.events.iter().map(|hook| format!("{quoted} hook {}", hook.event)).collect()
}

fn own_hooks<'a>(preset: &'a Preset, commands: &'a [String]) -> Vec<OwnHook<'a>> {
    let hooks = preset.hooks.events.iter().zip(commands);
    let own = hooks.map(|(hook, command)| OwnHook {
        event: &hook.event,
        matcher: hook.matcher.as_deref(),
        command,
        timeout_s: consent::timeout_s(&hook.event, preset.hooks.timeout_s),
        is_optional: hook.is_optional,
    });
    own.collect()
}

fn entry(hook: &OwnHook<'_>) -> String {
    let command = table([
        ("type", text("command")),
        ("command", text(hook.command)),
        ("timeout", hook.timeout_s.to_string()),
    ]);
    let matcher = hook.matcher.map(|matcher| ("matcher", text(matcher)));
    list([table(matcher.into_iter().chain([("hooks", list([command]))]))])
}

/// A table in one line.
fn table<'a>(pairs: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let pairs = pairs.into_iter().map(|(key, value)| format!("{}={value}", text(key)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(","))
}

/// A text in quotes.
fn text(plain: &str) -> String {
    let mut quoted = String::with_capacity(plain.len() + 2);
    quoted.push('"');
    for character in plain.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The owner's configuration; what can't be read is as if it were not there.
fn read(path: &Path) -> Table {
    let text = regular_file::read_text(path, Links::Follow, INPUT_BYTES as u64);
    text.ok().and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_as_it_was_meant() {
        for plain in ["/usr/bin/x", "a \"b\" \\ c", "tab\tnew\nline\u{7f}", "grüße", ""] {
            let line = table([(plain, list([text(plain)]))]);
            let read: Table = format!("k={line}").parse().expect("TOML");
            let value = read["k"].get(plain).and_then(|value| value.get(0)?.as_str());
            assert_eq!(value, Some(plain), "{line}");
        }
        let hook = OwnHook {
            event: "Stop",
            matcher: Some("a|b"),
            command: "'x' hook",
            timeout_s: 5,
            is_optional: false,
        };
        let expected =
            r#"[{"matcher"="a|b","hooks"=[{"type"="command","command"="'x' hook","timeout"=5}]}]"#;
        assert_eq!(entry(&hook), expected);
    }
}

//! Presets: the built-in ones, the owner's, and what is wrong with one.

use std::error::Error;
use std::fs;
use std::path::Path;

use perennial_engine::harness::preset::{KillSignal, names, usual};
use perennial_engine::harness::vendors::{DIALECTS, PLAIN};
use perennial_engine::harness::{Preset, PresetError};
use tempfile::TempDir;

use crate::claude;

const BUILT_IN: &str = include_str!("../../src/harness/presets/claude.toml");

/// A configuration with this preset, and what comes of loading it.
fn load(text: &str) -> (TempDir, Result<Preset, PresetError>) {
    let config = tempfile::tempdir().expect("a directory");
    fs::create_dir(config.path().join("harness")).expect("a directory");
    fs::write(config.path().join("harness/claude.toml"), text).expect("written");
    let loaded = Preset::load(config.path(), "claude");
    (config, loaded)
}

/// The built-in preset with one change.
fn changed(from: &str, to: &str) -> String {
    assert!(BUILT_IN.contains(from), "the built-in preset has no {from}");
    BUILT_IN.replacen(from, to, 1)
}

fn whole_text(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", whole_text(source)),
        None => error.to_string(),
    }
}

#[track_caller]
fn check_refused(text: &str, parts: &[&str]) {
    let (config, loaded) = load(text);
    let told = whole_text(&loaded.expect_err("a broken preset"));
    let path = config.path().join("harness/claude.toml").display().to_string();
    for part in parts.iter().chain([&path.as_str()]) {
        assert!(told.contains(part), "{part} is missing in\n{told}");
    }
}

#[test]
fn the_built_in_preset_says_what_claude_code_can_do() {
    let preset = claude();
    assert_eq!((preset.name.as_str(), preset.program.as_str()), ("claude", "claude"));
    assert_eq!(preset.end.clean_codes, [0]);
    assert_eq!(preset.end.kill_signal, KillSignal::Interrupt);
    assert!(preset.mode("bypassPermissions").is_some() && preset.mode("yolo").is_none());
    let rank = |word| preset.permission.modes.iter().position(|mode| mode.word == word);
    assert!(rank("plan") < rank("manual") && rank("manual") < rank("bypassPermissions"));
    for left_by_a_parent in ["CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"] {
        assert!(preset.environment.scrub.iter().any(|name| name == left_by_a_parent));
    }
}

#[test]
fn every_dialect_has_a_preset_of_its_own() {
    for dialect in DIALECTS {
        let preset = Preset::load(Path::new("/proc/none"), dialect.name()).expect("built in");
        assert_eq!(preset.dialect, dialect);
    }
    assert_eq!(usual(), DIALECTS[0].name());
}

/// What a preset of somebody's own begins with is one, and no harness by itself.
#[test]
fn the_plain_preset_is_a_good_one_to_begin_with() {
    let text = PLAIN.preset();
    let (config, loaded) = load(text);
    let preset = loaded.expect("a good preset");
    assert!(preset.dialect == PLAIN && preset.input.is_none() && preset.conformance.is_none());
    assert!(!names(config.path()).iter().any(|name| name == PLAIN.name()));
    let unknown = text.replace("\"plain\"", "\"klingon\"");
    check_refused(
        &unknown,
        &["no dialect `klingon`; there is claude, codex, gemini, plain", "line "],
    );
    let misspelt = format!("{text}\n[conformance]\nfree = []\nclaim = []\n");
    check_refused(&misspelt, &["unknown field `claim`", "line "]);
}

#[test]
fn the_owners_preset_stands_in_for_the_built_in_one() {
    let (config, loaded) = load(&changed(r#"program = "claude""#, r#"program = "/opt/claude""#));
    assert_eq!(loaded.expect("a good preset").program, "/opt/claude");
    fs::write(config.path().join("harness/mine.toml"), BUILT_IN).expect("written");
    fs::write(config.path().join("harness/not a name.toml"), BUILT_IN).expect("written");
    fs::write(config.path().join("harness/README"), "").expect("written");
    assert_eq!(names(config.path()), ["claude", "codex", "gemini", "mine"]);
    assert_eq!(Preset::load(config.path(), "mine").expect("a good preset").name, "mine");
}

#[test]
fn a_harness_that_is_not_there_is_refused_with_those_that_are() {
    let nowhere = Path::new("/proc/none");
    for name in ["klingon", "../claude", "", "a/b", &"x".repeat(65)] {
        let error = Preset::load(nowhere, name).expect_err("no such harness");
        let known = "claude, codex, gemini";
        assert_eq!(error.to_string(), format!("no harness '{name}'; known harnesses: {known}"));
    }
}

#[test]
fn a_key_that_nobody_knows_is_an_error_that_says_where() {
    check_refused(&changed("[end]", "[end]\ncodes = [1]"), &["unknown field `codes`", "line "]);
    check_refused(&changed("program =", "programme ="), &["unknown field `programme`", "line "]);
    let group = changed("{ when = \"model\", args", "{ if = \"model\", args");
    check_refused(&group, &["unknown field `if`", "line "]);
    check_refused("program = ", &["line 1"]);
}

#[test]
fn placeholders_are_checked_when_the_preset_is_read() {
    let known = "{extra} {conversation} {settings} {mcp} {wiring} {model} {permission} {prompt}";
    check_refused(
        &changed("\"{conversation}\"", "\"{session}\""),
        &["no placeholder {session}", known],
    );
    check_refused(&changed("\"{extra}\"", "\"--x={extra}\""), &["must be one by itself"]);
    check_refused(&changed("={mcp}", "={mcp"), &["a `{` without its `}`", "line "]);
    check_refused(&changed("when = \"model\"", "when = \"mood\""), &["mood", "line "]);
}

#[test]
fn what_does_not_fit_together_is_refused() {
    check_refused(
        &changed("default = \"manual\"", "default = \"maybe\""),
        &["`maybe` is not in permission.modes"],
    );
    let resume = changed("\"--resume\", \"{conversation}\"", "\"--continue\"");
    check_refused(&resume, &["argv.resume must name {conversation}"]);
    for (from, to, flaw) in [
        ("home = \".claude\"", "home = \"/etc\"", "conversation.home must be a path below"),
        ("projects/{dir}/", "../{dir}/", "must be a path below the home directory"),
        ("projects/{dir}/", "projects/x{dir}/", "{dir} must be a whole component"),
        ("{dir}/{conversation}.jsonl", "{dir}/x.jsonl", "must name {conversation}"),
        (
            "sessions/{pid}.json",
            "*/{pid}.json",
            "conversation.list must name {pid} in a file's name",
        ),
        ("dialect = \"claude\"", "dialect = \"klingon\"", "no dialect `klingon`; there is"),
        ("event = \"Stop\"", "event = \"Stop; rm\"", "invalid hook event name"),
        ("window_source = \"status-line\"", "window_source = \"stars\"", "`stars` is none of"),
    ] {
        check_refused(&changed(from, to), &[flaw]);
    }
}

/// A preset that was copied from a version before these keys, and with one that is gone.
#[test]
fn a_preset_of_an_earlier_version_means_what_it_meant() {
    let earlier = changed("compaction_window_min_tokens = 100000\n", "");
    let input = earlier.find("[input]").expect("it has one");
    let context = earlier.find("[context]").expect("it has one");
    let earlier = format!("{}{}", &earlier[..input], &earlier[context..])
        .replace("sessions/{pid}.json", "sessions")
        .replace("[argv]\n", "[argv]\nfork = [\"--resume\", \"{parent}\", \"--fork-session\"]\n");
    let (_config, loaded) = load(&earlier);
    let (loaded, built_in) = (loaded.expect("a good preset"), claude());
    assert_eq!(loaded, built_in);
}

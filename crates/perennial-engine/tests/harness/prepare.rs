//! What a session of Claude Code is started with.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use perennial_core::conversation::{ConversationId, Opening, Turn};
use perennial_core::launch::{Host, Launch, Options};
use perennial_engine::harness::prepare::Continuity;
use perennial_engine::harness::{FirstWords, Prepared, SessionFiles, Unprepared, prepare};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::claude;

const ID: &str = "0193a1b2-0000-8000-8000-00000000002a";

/// A home directory, a work directory and ours.
struct Stage {
    root: TempDir,
    variables: Vec<(OsString, OsString)>,
    launch: Launch,
}

impl Stage {
    fn new() -> Stage {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("my work");
        fs::create_dir_all(&dir).expect("a directory");
        fs::create_dir_all(root.path().join("home/.claude")).expect("a directory");
        let dir = dir.to_str().expect("UTF-8").to_owned();
        let launch = Launch {
            harness: "claude".to_owned(),
            host: Host::Shim,
            argv: vec!["/opt/claude".to_owned()],
            dir: dir.clone(),
            env_names: Vec::new(),
            project: dir,
            options: Options::default(),
        };
        Stage { root, variables: Vec::new(), launch }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    fn write(&self, below: &str, text: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        fs::write(&path, text).expect("written");
        path
    }

    fn try_prepare(&self, opening: &Opening) -> Result<Prepared, Unprepared> {
        let place = SessionFiles {
            session_dir: &self.path("state/harness-1"),
            home: &self.path("home"),
            variables: &self.variables,
            exe: Path::new("/opt/it's here/perennial"),
            copies: &self.path("data/conversations"),
        };
        prepare(&claude(), &self.launch, opening, &place, &FirstWords::NONE)
    }

    fn prepare(&self, opening: &Opening) -> Prepared {
        self.try_prepare(opening).expect("prepared")
    }

    /// The arguments but for the program and our two files, which are the same everywhere.
    fn arguments(&self, opening: &Opening) -> (Vec<String>, Continuity) {
        let Prepared { argv, continuity, .. } = self.prepare(opening);
        let settings = self.path("state/harness-1/settings.json").display().to_string();
        let mcp = format!("--mcp-config={}", self.path("state/harness-1/mcp.json").display());
        let ours = ["/opt/claude", "--settings", &settings, &mcp];
        assert!(ours.iter().all(|ours| argv.iter().any(|argument| argument == ours)), "{argv:?}");
        let rest = argv.into_iter().filter(|argument| !ours.contains(&argument.as_str()));
        (rest.collect(), continuity)
    }

    fn settings(&self) -> Value {
        let text = fs::read(self.path("state/harness-1/settings.json")).expect("settings");
        serde_json::from_slice(&text).expect("JSON")
    }
}

fn id() -> ConversationId {
    ID.parse().expect("an id")
}

fn fresh() -> Opening {
    Opening::Fresh(id())
}

fn resume(turn: Turn) -> Opening {
    Opening::Resume { conversation: id(), turn }
}

const MANUAL: [&str; 2] = ["--permission-mode", "manual"];

#[test]
fn a_new_conversation_gets_our_id_and_the_first_prompt() {
    let mut stage = Stage::new();
    stage.launch.argv.extend(["--add-dir".to_owned(), "{prompt}".to_owned()]);
    stage.launch.options = Options {
        model: Some("opus".to_owned()),
        prompt: Some("-- {model} $(rm) 'x'".to_owned()),
        permission_mode: Some("acceptEdits".to_owned()),
        trust: false,
    };
    let (argv, continuity) = stage.arguments(&fresh());
    // What a person wrote is one argument, as it is, and no flag.
    let wanted = [
        "--add-dir",
        "{prompt}",
        "--session-id",
        ID,
        "--model",
        "opus",
        "--permission-mode",
        "acceptEdits",
        "--",
        "-- {model} $(rm) 'x'",
    ];
    assert_eq!((argv, continuity), (wanted.map(str::to_owned).to_vec(), Continuity::Begun));
    stage.launch.options = Options::default();
    stage.launch.argv.truncate(1);
    assert_eq!(stage.arguments(&fresh()).0, ["--session-id", ID, MANUAL[0], MANUAL[1]]);
}

#[test]
fn a_conversation_goes_on_with_a_prompt_only_where_a_turn_was_cut_off() {
    let stage = Stage::new();
    // Begun in another directory: the vendor finds it all the same.
    let theirs = stage.write(&format!("home/.claude/projects/-elsewhere/{ID}.jsonl"), "{}\n");
    let (argv, continuity) = stage.arguments(&resume(Turn::Over));
    assert_eq!(argv, ["--resume", ID, MANUAL[0], MANUAL[1]]);
    assert_eq!(continuity, Continuity::Kept);
    let (argv, _) = stage.arguments(&resume(Turn::Open));
    assert_eq!(argv[..5], ["--resume", ID, MANUAL[0], MANUAL[1], "--"]);
    assert!(argv[5].starts_with("Whatever was running then") && argv.len() == 6);
    assert_eq!(fs::read_to_string(theirs).expect("still there"), "{}\n");
}

#[test]
fn a_conversation_that_the_vendor_lost_is_put_back_from_our_copy() {
    let mut stage = Stage::new();
    stage.variables = vec![("CLAUDE_CONFIG_DIR".into(), stage.path("moved").into())];
    stage.write(&format!("data/conversations/claude/{ID}.jsonl"), "one\ntwo\n");
    let (argv, continuity) = stage.arguments(&resume(Turn::Open));
    assert_eq!(
        (&argv[..2], continuity),
        (&["--resume".to_owned(), ID.to_owned()][..], Continuity::Restored)
    );
    let name: String = stage
        .launch
        .dir
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    let back = stage.path("moved/projects").join(name);
    let read = |file: String| fs::read_to_string(back.join(file)).expect("put back");
    assert_eq!(read(format!("{ID}.jsonl")), "one\ntwo\n");
    // The next time it is there, and what the vendor wrote meanwhile stays.
    fs::write(back.join(format!("{ID}.jsonl")), "theirs\n").expect("written");
    assert_eq!(stage.arguments(&resume(Turn::Over)).1, Continuity::Kept);
    assert_eq!(read(format!("{ID}.jsonl")), "theirs\n");
}

#[test]
fn a_conversation_that_was_never_written_begins_under_the_same_id() {
    let mut stage = Stage::new();
    stage.launch.options.prompt = Some("tidy".to_owned());
    let (argv, continuity) = stage.arguments(&resume(Turn::Open));
    assert_eq!(argv, ["--session-id", ID, MANUAL[0], MANUAL[1], "--", "tidy"]);
    assert_eq!(continuity, Continuity::Gone);
    // It waited: nothing is said, no token spent.
    for turn in [Turn::Over, Turn::Stopped] {
        assert_eq!(stage.arguments(&resume(turn)).0, ["--session-id", ID, MANUAL[0], MANUAL[1]]);
    }
}

/// The client was killed before it wrote what was said: it refuses to resume that, and to begin it
/// again under its id while the file is there.
#[test]
fn a_transcript_in_which_nothing_was_said_is_put_aside() {
    let mut stage = Stage::new();
    stage.launch.options.prompt = Some("tidy".to_owned());
    let nothing = "{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"x\"}\n";
    let theirs = stage.write(&format!("home/.claude/projects/-elsewhere/{ID}.jsonl"), nothing);
    let ours = stage.write(&format!("data/conversations/claude/{ID}.jsonl"), nothing);
    let (argv, continuity) = stage.arguments(&resume(Turn::Open));
    assert_eq!(argv, ["--session-id", ID, MANUAL[0], MANUAL[1], "--", "tidy"]);
    assert_eq!(continuity, Continuity::Gone);
    assert!(!Path::new(&theirs).exists());
    let aside = Path::new(&theirs).with_extension("jsonl.aside-1");
    assert_eq!(fs::read_to_string(aside).expect("kept aside"), nothing);
    assert!(!ours.exists(), "the copy of what comes now begins anew");
    let earlier = ours.with_extension("earlier-1.jsonl");
    assert_eq!(fs::read_to_string(earlier).expect("kept"), nothing);
    // Asked again while the session has begun to write: its file stays where it is.
    fs::write(&theirs, nothing).expect("written");
    assert_eq!(stage.arguments(&resume(Turn::Open)).1, Continuity::Gone);
    assert!(theirs.exists());
}

#[test]
fn hooks_are_argv_lists_and_the_files_are_for_their_owner_only() {
    let stage = Stage::new();
    stage.prepare(&fresh());
    let settings = stage.settings();
    let hook = |event: &str| {
        json!({ "type": "command", "command": "/opt/it's here/perennial",
            "args": ["hook", event], "timeout": 5 })
    };
    for event in ["SessionStart", "UserPromptSubmit", "PermissionRequest", "PostToolBatch", "Stop"]
    {
        assert_eq!(settings["hooks"][event], json!([{ "hooks": [hook(event)] }]), "{event}");
    }
    assert!(settings["hooks"]["Notification"][0]["matcher"].is_string());
    let line = r"'/opt/it'\''s here/perennial' 'statusline'";
    assert_eq!(settings["statusLine"], json!({ "type": "command", "command": line }));
    let mcp = fs::read(stage.path("state/harness-1/mcp.json")).expect("written");
    let server = json!({ "type": "stdio", "command": "/opt/it's here/perennial", "args": ["mcp"] });
    let wanted = json!({ "mcpServers": { "perennial": server } });
    assert_eq!(serde_json::from_slice::<Value>(&mcp).expect("JSON"), wanted);
    for (path, mode) in [("", 0o700), ("/settings.json", 0o600), ("/mcp.json", 0o600)] {
        let path = stage.path(&format!("state/harness-1{path}"));
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, mode);
    }
    // Again, as after a restart of the daemon between the order and its receipt.
    assert_eq!(stage.prepare(&fresh()), stage.prepare(&fresh()));
    assert_eq!(fs::read_dir(stage.path("state/harness-1")).expect("there").count(), 2);
}

#[test]
fn the_owners_files_are_read_and_left_as_they_are() {
    let stage = Stage::new();
    let text = r#"{"statusLine":{"type":"command","command":"echo \"$USER\"","padding":2},
        "permissions":{"defaultMode":"plan","allow":["Bash"]},"disableAllHooks":false}"#;
    let settings = stage.write("home/.claude/settings.json", text);
    let state = stage.write("home/.claude.json", r#"{"projects":{}}"#);
    // Their own mode stands: none is given.
    assert_eq!(stage.arguments(&fresh()).0, ["--session-id", ID]);
    let line = &stage.settings()["statusLine"];
    assert_eq!(line["padding"], 2);
    let chained = stage.path("state/harness-1/statusline.json");
    let command = line["command"].as_str().expect("a command");
    assert!(command.ends_with(&format!("'statusline' '{}'", chained.display())), "{command}");
    let chained: Value = serde_json::from_slice(&fs::read(chained).expect("there")).expect("JSON");
    assert_eq!(chained, json!({ "command": "echo \"$USER\"" }));
    assert_eq!(fs::read_to_string(settings).expect("there"), text);
    assert_eq!(fs::read_to_string(state).expect("there"), r#"{"projects":{}}"#);
    // A project's status line is the stronger one, as it is for the vendor.
    stage.write("my work/.claude/settings.json", r#"{"statusLine":{"command":"project"}}"#);
    stage.prepare(&fresh());
    let chained = fs::read_to_string(stage.path("state/harness-1/statusline.json"));
    assert_eq!(chained.expect("there"), r#"{"command":"project"}"#);
}

#[test]
fn settings_that_cannot_be_read_are_as_if_there_were_none() {
    let stage = Stage::new();
    for text in ["", "[]", "{", "{\"statusLine\":7,\"permissions\":[]}", "{\"statusLine\":{}}"] {
        stage.write("home/.claude/settings.json", text);
        let (argv, _) = stage.arguments(&fresh());
        assert_eq!(argv, ["--session-id", ID, MANUAL[0], MANUAL[1]], "{text}");
    }
}

#[test]
fn consent_is_given_only_where_the_operator_gave_it() {
    let mut stage = Stage::new();
    let Prepared { env_set, env_remove, .. } = stage.prepare(&fresh());
    assert!(env_set.is_empty());
    // An agent that is trusted must not hand its trust on to what it spawns.
    assert!(env_remove.contains(&"CLAUDE_CODE_SANDBOXED".to_owned()));
    assert!(stage.settings().get("skipDangerousModePermissionPrompt").is_none());
    stage.launch.options.trust = true;
    let set = stage.prepare(&fresh()).env_set;
    assert_eq!(set.get("CLAUDE_CODE_SANDBOXED").map(String::as_str), Some("1"));
    assert_eq!(stage.settings()["skipDangerousModePermissionPrompt"], true);
}

#[test]
fn what_cannot_be_started_is_refused_with_the_reason() {
    let mut stage = Stage::new();
    let refused = |stage: &Stage, opening| {
        stage.try_prepare(&opening).expect_err("must be refused").to_string()
    };
    assert!(refused(&stage, Opening::Bare).contains("bare command"));
    stage.launch.options.permission_mode = Some("yolo".to_owned());
    assert!(refused(&stage, fresh()).starts_with("no permission mode `yolo`; known modes: plan, "));
    stage.launch.options = Options::default();
    for flag in ["--settings=x", "--session-id", "-p", "--permission-mode=plan"] {
        stage.launch.argv = vec!["claude".to_owned(), flag.to_owned()];
        assert!(refused(&stage, fresh()).contains(flag), "{flag}");
    }
    stage.launch.argv.truncate(1);
    stage.launch.options.prompt = Some("x".repeat(131_072));
    assert!(refused(&stage, fresh()).contains("131072 bytes; the limit is 131071"));
    stage.launch.options.prompt = Some("a\0b".to_owned());
    assert!(refused(&stage, fresh()).contains("NUL byte"));
    stage.launch.options.prompt = None;
    stage.write("home/.claude/settings.json", r#"{"disableAllHooks":true}"#);
    assert!(refused(&stage, fresh()).contains("disableAllHooks"));
    stage.write("home/.claude/settings.json", "{}");
    fs::remove_dir_all(stage.path("state")).expect("gone");
    stage.write("state", "in the way");
    assert!(refused(&stage, fresh()).starts_with("can't write "));
}

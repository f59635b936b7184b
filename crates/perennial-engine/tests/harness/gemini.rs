//! Gemini CLI: what its hooks mean, and what a session is started with.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use perennial_core::conversation::{ConversationId, Followed, Opening, Turn};
use perennial_core::fact::{Fact, Seen};
use perennial_core::launch::{Host, Launch, Options};
use perennial_engine::harness::dialect::{Dialect, NotUnderstood};
use perennial_engine::harness::gemini::Gemini;
use perennial_engine::harness::prepare::Continuity;
use perennial_engine::harness::typing::{self, fingerprint};
use perennial_engine::harness::{
    FirstWords, Prepared, Preset, SessionFiles, Unprepared, conversation, prepare,
};
use serde_json::{Value, json};

use crate::GEMINI_HOOKS;

fn preset() -> Preset {
    Preset::load(Path::new("/proc/none"), "gemini").expect("the built-in preset")
}

/// What the recorded hooks of this event tell.
fn facts(event: &str) -> Vec<Fact> {
    let all = GEMINI_HOOKS.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let own = all.filter(|sample: &Value| sample["hook_event_name"] == event);
    own.filter_map(|sample| {
        let call = Gemini.hook(event, sample.to_string().as_bytes()).expect("understood");
        assert!(!call.is_partial);
        call.fact
    })
    .collect()
}

#[test]
fn each_recorded_hook_is_a_fact() {
    let seen = |event: &str| facts(event).into_iter().map(|fact| fact.seen).collect::<Vec<_>>();
    assert_eq!(seen("SessionStart"), [Seen::SessionBegan(Followed::Started)]);
    let prompt = Seen::PromptSubmitted { text: fingerprint("please go") };
    assert_eq!(seen("BeforeAgent"), [prompt]);
    assert_eq!(seen("BeforeTool"), [Seen::ToolBegan]);
    let finished = Seen::ToolsFinished { calls: Vec::new(), in_subagent: false };
    assert_eq!(seen("AfterTool"), [finished]);
    let tool = Some("Confirm Shell Command".to_owned());
    assert_eq!(seen("Notification"), [Seen::PermissionAsked { tool }]);
    let ended = Seen::ReplyEnded { background_tasks: 0 };
    assert_eq!(seen("AfterAgent"), [Seen::TurnOver, ended.clone(), ended]);
    let announced = |is_certain| Seen::CompactionAnnounced { is_certain };
    assert!(seen("PreCompress").iter().all(|seen| *seen == announced(false)));
    let manual = br#"{"session_id":"c-1","trigger":"manual"}"#;
    let call = Gemini.hook("PreCompress", manual).expect("understood");
    assert_eq!(call.fact.map(|fact| fact.seen), Some(announced(true)));
    let began = &facts("SessionStart")[0];
    assert!(began.conversation.is_some() && !began.is_answerable);
    assert!(facts("BeforeAgent")[0].is_answerable && facts("AfterTool")[0].is_answerable);
}

#[test]
fn a_question_of_the_models_is_told_from_a_permission() {
    let asked = |details: Value| {
        let input = json!({ "notification_type": "ToolPermission", "details": details });
        let call = Gemini.hook("Notification", input.to_string().as_bytes()).expect("understood");
        call.fact.expect("a fact").seen
    };
    assert_eq!(asked(json!({ "type": "ask_user" })), Seen::QuestionAsked);
    assert_eq!(asked(json!({ "type": "edit" })), Seen::PermissionAsked { tool: None });
    assert_eq!(asked(json!("nonsense")), Seen::PermissionAsked { tool: None });
    let told = Gemini.hook("SessionStart", b"{\"source\":\"clear\"}");
    assert_eq!(told, Err(NotUnderstood::NoConversation));
    assert_eq!(Gemini.hook("AfterTool", b"[]"), Err(NotUnderstood::NotAnObject));
}

#[test]
fn only_replies_that_reach_the_model_are_given() {
    for event in ["BeforeAgent", "AfterTool"] {
        let reply = Gemini.reply(event, "a \"text\"").expect("a reply");
        let reply: Value = serde_json::from_slice(&reply).expect("JSON");
        assert_eq!(reply["hookSpecificOutput"]["additionalContext"], "a \"text\"");
        assert_eq!(reply["hookSpecificOutput"]["hookEventName"], event);
    }
    // The turn goes on with it.
    let denied = Gemini.reply("AfterAgent", "a text").expect("a reply");
    let denied: Value = serde_json::from_slice(&denied).expect("JSON");
    assert_eq!(denied, serde_json::json!({ "decision": "deny", "reason": "a text" }));
    for event in ["SessionStart", "Notification", "BeforeTool"] {
        assert_eq!(Gemini.reply(event, "text"), None, "{event}");
    }
}

#[test]
fn prompts_that_a_resume_would_leave_out_are_not_typed() {
    let input = preset().input.expect("an input line");
    for text in ["/etc/passwd is", "? what", "!ls", "/help", " ?x"] {
        assert!(typing::clean(text, &input).is_err(), "{text}");
    }
    assert!(typing::clean("what is /etc/passwd?", &input).is_ok());
}

/// A directory with an owner's home, and what a session in it is prepared with.
struct Owner(tempfile::TempDir);

impl Owner {
    fn new(settings: &Value) -> Owner {
        let owner = Owner(tempfile::tempdir().expect("a directory"));
        let directory = owner.0.path().join("home/.gemini");
        fs::create_dir_all(directory.join("extensions/theirs")).expect("made");
        fs::create_dir_all(directory.join("commands")).expect("made");
        fs::write(directory.join("memory"), "theirs").expect("written");
        fs::write(directory.join("settings.json"), settings.to_string()).expect("written");
        owner
    }

    fn prepare(&self, opening: &Opening) -> Result<Prepared, Unprepared> {
        let home = self.0.path().join("home");
        let variables: Vec<(OsString, OsString)> = Vec::new();
        let files = SessionFiles {
            session_dir: &self.0.path().join("session"),
            home: &home,
            variables: &variables,
            exe: Path::new("/opt/it's/perennial"),
            copies: &self.0.path().join("copies"),
        };
        prepare(&preset(), &launch(), opening, &files, &FirstWords::NONE)
    }
}

impl Owner {
    fn copy(&self) -> std::path::PathBuf {
        self.0.path().join(format!("copies/gemini/{}.jsonl", id()))
    }
}

fn launch() -> Launch {
    Launch {
        harness: "gemini".to_owned(),
        host: Host::Shim,
        argv: vec!["gemini".to_owned()],
        dir: "/abs/work".to_owned(),
        env_names: Vec::new(),
        project: "/abs/work".to_owned(),
        options: Options { prompt: Some("-x do it".to_owned()), ..Options::default() },
    }
}

fn id() -> ConversationId {
    "bbbbbbbb-2222-4222-8222-222222222222".parse().expect("an id")
}

#[test]
fn a_session_has_a_home_that_leads_to_the_owners_files() {
    let owner = Owner::new(&json!({ "general": { "vimMode": true } }));
    let prepared = owner.prepare(&Opening::Fresh(id())).expect("prepared");
    assert_eq!(prepared.continuity, Continuity::Begun);
    let expected = ["gemini", "--session-id", id().as_str(), "--prompt-interactive=-x do it"]
        .map(str::to_owned);
    assert_eq!(prepared.argv, expected);
    assert_eq!(prepared.env_set["GEMINI_CLI_NO_RELAUNCH"], "true");
    let view = Path::new(&prepared.env_set["GEMINI_CLI_HOME"]).join(".gemini");
    let theirs = owner.0.path().join("home/.gemini");
    for name in ["memory", "commands", "tmp", "history", "extensions/theirs"] {
        let led = fs::read_link(view.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(led, theirs.join(name));
    }
    let settings: Value =
        serde_json::from_slice(&fs::read(view.join("settings.json")).expect("read")).expect("JSON");
    assert_eq!(settings["general"]["vimMode"], true);
    assert_eq!(settings["general"]["sessionRetention"]["enabled"], false);
    let hooks = fs::read(view.join("extensions/perennial/hooks/hooks.json")).expect("read");
    let hooks: Value = serde_json::from_slice(&hooks).expect("JSON");
    let command = hooks["hooks"]["BeforeAgent"][0]["hooks"][0]["command"].as_str().expect("text");
    assert_eq!(
        command,
        r#"test -n "$GEMINI_CLI" || exec '/opt/it'\''s/perennial' hook BeforeAgent"#
    );
    let untouched = fs::read_to_string(theirs.join("settings.json")).expect("read");
    assert_eq!(untouched, r#"{"general":{"vimMode":true}}"#);
    // Asked again, it gives the same.
    let again = owner.prepare(&Opening::Fresh(id())).expect("prepared");
    assert_eq!(again, prepared);
}

#[test]
fn a_session_that_could_not_be_followed_is_not_started() {
    let owner = Owner::new(&json!({ "hooksConfig": { "enabled": false } }));
    let refused = owner.prepare(&Opening::Fresh(id()));
    assert!(matches!(refused, Err(Unprepared::HooksDisabled("hooksConfig.enabled"))));
}

#[test]
fn a_lost_conversation_is_put_back_and_a_resume_without_any_begins_anew() {
    let owner = Owner::new(&json!({}));
    let resume = Opening::Resume { conversation: id(), turn: Turn::Open };
    let gone = owner.prepare(&resume).expect("prepared");
    assert_eq!(gone.continuity, Continuity::Gone);
    assert!(gone.argv.contains(&"--session-id".to_owned()));
    let project = owner.0.path().join("home/.gemini/tmp/work");
    let copy = owner.0.path().join(format!("copies/gemini/{}.jsonl", id()));
    fs::create_dir_all(project.join("chats")).expect("made");
    fs::create_dir_all(copy.parent().expect("below")).expect("made");
    let place = ".gemini/tmp/work/chats/session-2026-11-17T07-47-bbbbbbbb.jsonl";
    fs::write(copy.with_extension("place"), place).expect("written");
    let sample = "tests/transcript/samples/gemini/session-2026-11-17T07-47-bbbbbbbb.jsonl";
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(sample), copy).expect("copied");
    let restored = owner.prepare(&resume).expect("prepared");
    assert_eq!(restored.continuity, Continuity::Restored);
    assert!(project.join("chats/session-2026-11-17T07-47-bbbbbbbb.jsonl").is_file());
    assert_eq!(restored.argv[1..3], ["--resume", id().as_str()].map(str::to_owned));
    assert!(restored.argv[3].contains("Whatever was running then"), "{:?}", restored.argv);
    assert_eq!(owner.prepare(&resume).expect("prepared").continuity, Continuity::Kept);
}

const PLACE: &str = ".gemini/tmp/work/chats/session-2026-11-17T07-47-bbbbbbbb.jsonl";

/// As the client leaves it when its first turn is cancelled with Esc: it refuses to resume that, and to begin it
/// again under its id while the file is there.
fn cancelled() -> String {
    let header = json!({ "sessionId": id().as_str(), "projectHash": "x", "kind": "main" });
    let context =
        json!({ "id": "c", "type": "user", "content": [{ "text": "<session_context>x" }] });
    let prompt = json!({ "id": "p", "type": "user", "content": [{ "text": "do it" }] });
    let info = json!({ "id": "i", "type": "info", "content": "Request cancelled." });
    let history = json!({ "$set": { "messages": [context] } });
    [header, history.clone(), prompt, info, history].map(|line| format!("{line}\n")).concat()
}

#[test]
fn a_conversation_whose_first_turn_was_cancelled_begins_anew_and_its_copy_is_kept() {
    let owner = Owner::new(&json!({}));
    let (theirs, ours) = (owner.0.path().join("home").join(PLACE), owner.copy());
    for path in [&theirs, &ours] {
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        fs::write(path, cancelled()).expect("written");
    }
    fs::write(ours.with_extension("place"), PLACE).expect("written");
    let resume = Opening::Resume { conversation: id(), turn: Turn::Over };
    let gone = owner.prepare(&resume).expect("prepared");
    assert_eq!(gone.continuity, Continuity::Gone);
    // The turn was over: nothing is to be said again.
    assert_eq!(gone.argv, ["gemini", "--session-id", id().as_str()].map(str::to_owned));
    assert!(!theirs.exists() && !ours.exists());
    let earlier = conversation::earlier_copies("gemini", &owner.0.path().join("copies"), &id());
    let [earlier] = &earlier[..] else { panic!("{earlier:?}") };
    assert_eq!(fs::read_to_string(earlier).expect("kept"), cancelled());
}

/// The client that found its file cut has appended to it.
#[test]
fn our_copy_takes_the_place_of_a_file_that_was_cut_so_far_that_nothing_is_left_to_resume() {
    let owner = Owner::new(&json!({}));
    let (theirs, ours) = (owner.0.path().join("home").join(PLACE), owner.copy());
    let sample = "tests/transcript/samples/gemini/session-2026-11-17T07-47-bbbbbbbb.jsonl";
    let whole = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(sample)).expect("it");
    let header = whole.lines().next().expect("a line");
    for (path, text) in [
        (&theirs, format!("{header}\n{{\"$set\":{{\"messages\":[{{\"id\":\"{header}\n")),
        (&ours, whole.clone()),
    ] {
        fs::create_dir_all(path.parent().expect("below")).expect("made");
        fs::write(path, text).expect("written");
    }
    fs::write(ours.with_extension("place"), PLACE).expect("written");
    let resume = Opening::Resume { conversation: id(), turn: Turn::Over };
    assert_eq!(owner.prepare(&resume).expect("prepared").continuity, Continuity::Restored);
    assert_eq!(fs::read_to_string(theirs).expect("put back"), whole);
    assert!(ours.exists());
}

#[test]
fn where_a_conversation_lies_is_noted_anew_when_it_is_begun_in_another_place() {
    let owner = Owner::new(&json!({}));
    let home = owner.0.path().join("home");
    let copies = owner.0.path().join("copies");
    fs::create_dir_all(copies.join("gemini")).expect("made");
    for place in [PLACE, &PLACE.replace("07-47", "07-48")] {
        conversation::remember_place(&preset(), &home, &copies, &id(), &home.join(place))
            .expect("noted");
        let noted = fs::read_to_string(owner.copy().with_extension("place")).expect("a note");
        assert_eq!(noted, place);
    }
}

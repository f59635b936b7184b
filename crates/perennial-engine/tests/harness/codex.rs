//! What Codex's hooks mean, what is replied, and what a session of it is started with. The inputs were
//! recorded with Codex 0.166.0 and given other paths.

use std::ffi::OsString;
use std::path::Path;

use perennial_core::conversation::{ConversationId, FirstPrompt, Followed, Opening, Turn};
use perennial_core::fact::{CallName, Origin, Seen};
use perennial_core::launch::{Host, Launch, Options};
use perennial_engine::harness::codex::Codex;
use perennial_engine::harness::dialect::NotUnderstood;
use perennial_engine::harness::prepare::Unprepared;
use perennial_engine::harness::typing::{Unsendable, clean, fingerprint};
use perennial_engine::harness::{Dialect, FirstWords, Preset, SessionFiles, prepare};
use serde::de::IgnoredAny;

use crate::mutations::Dice;

const ID: &str = "01a1e878-9954-7d60-9069-a3efa15dc214";

/// Event and input.
const HOOKS: [(&str, &str); 9] = [
    (
        "SessionStart",
        r#"{"session_id":"01a1e878-9954-7d60-9069-a3efa15dc214","transcript_path":"/h/sessions/r.jsonl","cwd":"/w","hook_event_name":"SessionStart","model":"gpt-5.5","permission_mode":"default","source":"startup"}"#,
    ),
    (
        "UserPromptSubmit",
        r#"{"session_id":"01a1e878-9954-7d60-9069-a3efa15dc214","turn_id":"t","cwd":"/w","hook_event_name":"UserPromptSubmit","model":"gpt-5.5","permission_mode":"default","prompt":"first prompt"}"#,
    ),
    (
        "PreToolUse",
        r#"{"session_id":"01a1e878-9954-7d60-9069-a3efa15dc214","turn_id":"t","hook_event_name":"PreToolUse","tool_name":"request_user_input","tool_input":{},"tool_use_id":"call_6"}"#,
    ),
    (
        "PermissionRequest",
        r#"{"session_id":"01a1e878-9954-7d60-9069-a3efa15dc214","turn_id":"t","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"touch x","description":"need it"}}"#,
    ),
    (
        "PostToolUse",
        r#"{"session_id":"01a1e878-9954-7d60-9069-a3efa15dc214","turn_id":"t","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"echo h"},"tool_response":"h\n","tool_use_id":"call_6e"}"#,
    ),
    (
        "PostCompact",
        r#"{"session_id":"01a1e878-9954-7d60-9069-a3efa15dc214","turn_id":"t","hook_event_name":"PostCompact","model":"gpt-5.5","trigger":"auto"}"#,
    ),
    (
        "Stop",
        r#"{"session_id":"01a1e878-9954-7d60-9069-a3efa15dc214","turn_id":"t","cwd":"/w","hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"done one"}"#,
    ),
    (
        "Interrupt",
        r#"{"session_id":"01a1e878-9954-7d60-9069-a3efa15dc214","turn_id":"t","hook_event_name":"Interrupt"}"#,
    ),
    (
        "notify",
        r#"{"type":"agent-turn-complete","thread-id":"01a1","turn-id":"t","cwd":"/w","client":"codex-tui","input-messages":["run"],"last-assistant-message":"x"}"#,
    ),
];

fn preset() -> Preset {
    Preset::load(Path::new("/proc/none"), "codex").expect("the built-in preset")
}

#[test]
fn a_hook_says_what_happened_in_which_conversation() {
    let expected = [
        Some(Seen::SessionBegan(Followed::Started)),
        Some(Seen::PromptSubmitted { text: fingerprint("first prompt") }),
        Some(Seen::QuestionAsked),
        Some(Seen::PermissionAsked { tool: Some("Bash".to_owned()) }),
        Some(Seen::ToolsFinished {
            calls: vec![CallName("call_6e".to_owned())],
            in_subagent: false,
        }),
        Some(Seen::Compacted),
        Some(Seen::ReplyEnded { background_tasks: 0 }),
        Some(Seen::Interrupted),
        None,
    ];
    for ((event, input), expected) in HOOKS.into_iter().zip(expected) {
        let call = Codex.hook(event, input.as_bytes()).expect("understood");
        assert!(!call.is_partial, "{event}");
        assert_eq!(call.fact.as_ref().map(|fact| fact.seen.clone()), expected, "{event}");
        if let Some(fact) = call.fact {
            assert_eq!(fact.origin, Origin::Hook);
            assert_eq!(fact.conversation.as_ref().map(ConversationId::as_str), Some(ID), "{event}");
            let is_answered = fact.is_answerable || fact.may_go_on;
            assert_eq!(is_answered, Codex.reply(event, "x").is_some(), "{event}");
        }
    }
    assert_eq!(Codex.hook("SessionStart", b"{}"), Err(NotUnderstood::NoConversation));
    assert_eq!(Codex.hook("Stop", b"[]"), Err(NotUnderstood::NotAnObject));
    let reply = Codex.reply("PostToolUse", "a \"text\"").expect("it reaches the model");
    let expected = r#"{"hookSpecificOutput":{"additionalContext":"a \"text\"","hookEventName":"PostToolUse"}}"#;
    assert_eq!(String::from_utf8(reply).expect("text"), expected);
    // At the end of a turn only a refusal to end it is read.
    let reply = Codex.reply("Stop", "x").map(String::from_utf8);
    assert_eq!(reply, Some(Ok(r#"{"decision":"block","reason":"x"}"#.to_owned())));
}

#[test]
fn no_input_makes_us_panic_and_a_broken_one_is_marked() {
    let mut dice = Dice(0x5eed_0004);
    let (mut broken, mut understood) = (0_u32, 0_u32);
    for round in 0..100_000 {
        let (event, sample) = HOOKS[dice.roll(HOOKS.len())];
        let mut input = sample.as_bytes().to_vec();
        for _ in 0..=dice.roll(3) {
            dice.mutate(&mut input);
        }
        let is_json = serde_json::from_slice::<IgnoredAny>(&input).is_ok();
        broken += u32::from(!is_json);
        if let Ok(call) = Codex.hook(event, &input) {
            assert!(is_json || call.is_partial, "round {round}");
            understood += u32::from(call.fact.is_some());
        }
    }
    assert!(broken > 20_000 && understood > 20_000, "{broken} broken, {understood} told");
}

struct Place {
    dir: tempfile::TempDir,
    variables: Vec<(OsString, OsString)>,
}

impl Place {
    fn new(config: &str) -> Place {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join(".codex")).expect("made");
        std::fs::write(dir.path().join(".codex/config.toml"), config).expect("written");
        Place { dir, variables: Vec::new() }
    }

    fn argv(&self, extra: &[&str], opening: &Opening) -> Result<Vec<String>, Unprepared> {
        let files = SessionFiles {
            session_dir: &self.dir.path().join("session"),
            home: self.dir.path(),
            variables: &self.variables,
            exe: Path::new("/opt/perennial"),
            copies: &self.dir.path().join("copies"),
        };
        let argv = ["codex"].iter().chain(extra).map(|&word| word.to_owned()).collect();
        let mut launch = Launch {
            harness: "codex".to_owned(),
            host: Host::Shim,
            argv,
            dir: "/w".to_owned(),
            env_names: Vec::new(),
            project: "/w".to_owned(),
            options: Options::default(),
        };
        launch.options.prompt = Some("do it".to_owned());
        launch.options.permission_mode = Some("auto".to_owned());
        prepare(&preset(), &launch, opening, &files, &FirstWords::NONE)
            .map(|prepared| prepared.argv)
    }
}

fn fresh() -> Opening {
    Opening::Fresh("ours".parse().expect("an id"))
}

#[test]
fn a_session_is_started_without_a_daemon_and_its_hooks_only_where_the_owner_wants_them() {
    let place = Place::new("notify = [\"notify-send\", \"a b\"]\n");
    let argv = place.argv(&["--search"], &fresh()).expect("prepared");
    assert_eq!(argv[..3], ["codex", "--search", "--no-daemon"]);
    assert_eq!(argv[argv.len() - 2..], ["--", "do it"]);
    assert!(argv.windows(2).any(|pair| pair == ["--sandbox", "workspace-write"]));
    assert!(!argv.iter().any(|word| word.contains("ours")), "the program chooses the id: {argv:?}");
    assert!(!argv.iter().any(|word| word.starts_with("hooks.")), "nobody trusts them: {argv:?}");
    let notify = argv.iter().find(|word| word.starts_with("notify=")).expect("ours");
    assert!(
        notify.starts_with(r#"notify=["/opt/perennial","hook","notify","--then","#),
        "{notify}"
    );
    let theirs = std::fs::read_to_string(place.dir.path().join("session/notify.json"));
    assert_eq!(theirs.expect("written"), r#"["notify-send","a b"]"#);
    let asked = place.argv(&["--enable", "hooks"], &fresh()).expect("prepared");
    assert_eq!(asked.iter().filter(|word| word.starts_with("hooks.")).count(), 9, "{asked:?}");
    for reserved in ["resume", "--no-daemon", "--model", "--sandbox=read-only"] {
        let refused = place.argv(&[reserved], &fresh());
        assert!(matches!(refused, Err(Unprepared::Reserved(_))), "{reserved}");
    }
}

#[test]
fn a_conversation_is_resumed_by_the_programs_own_id_and_a_lost_file_is_put_back() {
    let place = Place::new("");
    let conversation: ConversationId = ID.parse().expect("an id");
    let opening = Opening::Resume { conversation: conversation.clone(), turn: Turn::Open };
    // Nobody has it: it begins anew, with what the agent was to do.
    let argv = place.argv(&[], &opening).expect("prepared");
    assert!(!argv.contains(&"resume".to_owned()), "{argv:?}");
    assert_eq!(opening.first_prompt(false, true), FirstPrompt::GoOn);
    let rollout = format!(".codex/sessions/2026/11/17/rollout-2026-11-17T07-46-20-{ID}.jsonl");
    let theirs = place.dir.path().join(rollout);
    let copies = place.dir.path().join("copies");
    std::fs::create_dir_all(copies.join("codex")).expect("made");
    std::fs::write(copies.join(format!("codex/{ID}.jsonl")), "a line of a version to come\n")
        .expect("written");
    let vendor_home = place.dir.path().join(".codex");
    perennial_engine::harness::conversation::remember_place(
        &preset(),
        &vendor_home,
        &copies,
        &conversation,
        &theirs,
    )
    .expect("kept");
    std::fs::remove_dir_all(place.dir.path().join("session")).expect("another session");
    let argv = place.argv(&[], &opening).expect("prepared");
    let at = argv.iter().position(|word| word == "resume").expect("resumed");
    assert_eq!(argv[at + 1], ID);
    assert!(argv[at + 3].starts_with("Whatever was running then"), "{argv:?}");
    assert!(theirs.is_file(), "our copy is not in its place");
    // A note that leads elsewhere is not followed.
    std::fs::remove_file(&theirs).expect("lost again");
    std::fs::write(copies.join(format!("codex/{ID}.place")), "../../etc/passwd").expect("written");
    let argv = place.argv(&[], &opening).expect("prepared");
    assert!(!argv.contains(&"resume".to_owned()), "{argv:?}");
}

#[test]
fn what_is_no_prompt_there_is_refused_and_a_skill_is_not_completed() {
    let input = preset().input.expect("an input line");
    assert_eq!(clean("!ls", &input), Err(Unsendable::Shell('!')));
    assert_eq!(clean("/new", &input), Err(Unsendable::Command("/new".to_owned())));
    assert_eq!(clean("use $skill", &input).expect("typed").text, "use $skill ");
    assert_eq!(clean("costs 5$", &input).expect("typed").text, "costs 5$");
    assert_eq!(clean("/etc/passwd is", &input).expect("typed").text, "/etc/passwd is");
}

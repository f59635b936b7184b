//! A harness of the owner's own: heard from its first moment, ended as its preset says.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use perennial_api::Agent;

use crate::sealed::{PROGRAM, Sealed, ended};
use crate::terminal::Terminal;
use crate::watch::Watch;

const BUILT_IN: &str = include_str!("../../../perennial-engine/src/harness/presets/claude.toml");
const SESSIONS: usize = 60;

/// A harness of the owner's own: a script that calls its hook before it does anything else.
pub fn own_harness(sealed: &Sealed, then: &str, change: impl Fn(&str) -> String) {
    let harness = sealed.dir.join("hasty");
    let words = r#"{"session_id":"talk-'$$'","source":"startup"}"#;
    let script = format!("#!/bin/sh\necho '{words}' | {PROGRAM} hook SessionStart\n{then}\n");
    std::fs::write(&harness, script).expect("written");
    std::fs::set_permissions(&harness, PermissionsExt::from_mode(0o755)).expect("executable");
    let presets = sealed.home.config.join("harness");
    std::fs::create_dir_all(&presets).expect("made");
    let program = format!("program = {:?}", harness.display().to_string());
    let preset = change(&BUILT_IN.replace("program = \"claude\"", &program));
    std::fs::write(presets.join("claude.toml"), preset).expect("written");
}

pub fn heard(watch: &mut Watch, name: &str) {
    watch.wait(&format!("the first word of {name}"), |seen| {
        let is_it =
            seen.event.kind == "conversation-followed" && seen.event.agent.as_deref() == Some(name);
        is_it.then_some(())
    });
}

#[test]
fn a_hook_in_the_first_moment_of_a_session_is_its_own() {
    let sealed = Sealed::up();
    own_harness(&sealed, "read x", str::to_owned);
    let mut watch = sealed.watch();
    for number in 0..SESSIONS {
        let name = format!("hasty-{number}");
        sealed.ok(["spawn", &name, "--harness", "claude"]);
        heard(&mut watch, &name);
    }
}

/// A person types a line: this program has no input line that a text could be proven in.
fn type_line(sealed: &Sealed, name: &str, line: &str) {
    let mut terminal = Terminal::run(sealed.command(["attach", name]));
    terminal.wait("detach:");
    terminal.type_keys(&format!("{line}\r"));
    terminal.wait(line);
    terminal.detach();
}

/// What a clean end is, and how an orderly one begins, is for the preset to say.
#[test]
fn a_preset_says_how_its_harness_ends() {
    let sealed = Sealed::up();
    let script = "trap 'exit 7' TERM; trap '' INT\n\
        while :; do read x; case \"$x\" in *nine*) exit 9;; *eight*) exit 8;; esac; done";
    own_harness(&sealed, script, |preset| {
        preset
            .replace("clean_codes = [0]", "clean_codes = [0, 9]")
            .replace("kill_signal = \"INT\"", "kill_signal = \"TERM\"")
    });
    let mut watch = sealed.watch();
    let mut spawn = |name: &str| {
        sealed.ok(["spawn", name, "--harness", "claude"]);
        heard(&mut watch, name);
    };
    spawn("well");
    spawn("badly");
    spawn("asked");
    type_line(&sealed, "well", "nine");
    type_line(&sealed, "badly", "eight");
    watch.moved("well", "sleeping", "finished");
    watch.moved("badly", "crashed", "retrying");
    sealed.ok(["stop", "asked"]);
    let (_, exit) = watch.ended("asked", 1);
    assert_eq!(exit, serde_json::json!({ "code": 7 }));
}

/// C15: why it died before its conversation began stands on its terminal only.
#[test]
fn logs_of_one_that_died_before_its_conversation_show_its_terminal() {
    let sealed = Sealed::up();
    own_harness(&sealed, "echo no such model; exit 1", str::to_owned);
    let mut watch = sealed.watch();
    sealed.run(["spawn", "ada", "--harness", "claude", "--restart", "never"]);
    watch.moved("ada", "sleeping", "crashed-restart-off");
    let ran = sealed.run(["logs", "ada"]);
    assert!(ran.code == 0 && ran.stdout.contains("no such model"), "{ran:?}");
    assert!(ran.stderr.contains("exited before its conversation began"), "{ran:?}");
    let ran = sealed.run(["logs", "ada", "--json"]);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("perennial screen ada"), "{ran:?}");
}

/// Where nothing is measured the agent's own word counts, and where it says none what it said.
// covers: H-05
#[test]
fn the_clock_goes_by_the_best_source_that_there_is() {
    let sealed = Sealed::up();
    // Two fifths of the window, at four bytes a token; then its own word.
    let said = r#"{"type":"user","uuid":"a","message":{"role":"user","content":"'$(
        head -c 1600000 /dev/zero | tr '\0' x)'"}}"#;
    let report = r#"{"id":1,"method":"tools/call","params":
        {"name":"report","arguments":{"context_percent":60}}}"#;
    let script = format!(
        "mkdir -p $HOME/.claude/projects/x; echo '{said}' > $HOME/.claude/projects/x/talk-$$.jsonl\n\
         words() {{ echo '{{\"session_id\":\"talk-'$$'\"}}' | {PROGRAM} hook \"$1\"; }}\n\
         words UserPromptSubmit; read x; echo '{}' | {PROGRAM} mcp; read x",
        report.replace('\n', ""),
    );
    own_harness(&sealed, &script, |preset| {
        preset.replace("window_source = \"status-line\"", "window_source = \"model-table\"")
    });
    let mut watch = sealed.watch();
    sealed.ok(["spawn", "ada", "--harness", "claude"]);
    heard(&mut watch, "ada");
    let context = sealed.context("ada", |context| context.source == "estimated");
    assert_eq!((context.tokens, context.percent), (400_000, 40));
    type_line(&sealed, "ada", "go on");
    watch.wait("half of the window", |seen| (seen.event.kind == "clock-passed").then_some(()));
    let context = sealed.context("ada", |context| context.source == "self-reported");
    assert_eq!((context.percent, context.passed), (60, Some(50)));
}

/// A status line is a program's own word: what can't be is shown as what can.
#[test]
fn a_window_is_never_fuller_than_full() {
    let sealed = Sealed::up();
    own_harness(&sealed, "read x", str::to_owned);
    let mut watch = sealed.watch();
    let eve: Agent = sealed.json(&["spawn", "eve", "--harness", "claude"]);
    heard(&mut watch, "eve");
    for (tokens, window) in [("18446744073709551615", "167"), ("11045954535155420", "200000")] {
        let words = format!(
            r#"{{"context_window":{{"context_window_size":{window},"current_usage":{{"input_tokens":{tokens}}}}}}}"#
        );
        let mut command = sealed.command(["statusline"]);
        command.env("PERENNIAL_SESSION", format!("{}.1", eve.id));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(words.as_bytes()).expect("written");
        drop(stdin);
        assert_eq!(ended(child, "statusline").code, 0);
        let context = sealed.context("eve", |context| context.window.to_string() == window);
        assert_eq!((context.percent, context.tokens), (100, context.window));
        assert!(context.usable_percent <= 100, "{context:?}");
    }
}

/// A hook is a session's own word: it may name what is new or of its agent's own directory, and nothing else.
#[test]
fn a_session_does_not_take_its_agent_to_a_conversation_of_another_directory() {
    let sealed = Sealed::up();
    let script = format!(
        "while read id; do echo '{{\"session_id\":\"'$id'\",\"source\":\"resume\"}}' | {PROGRAM} hook SessionStart
         echo '{{\"session_id\":\"'$id'\"}}' | {PROGRAM} hook UserPromptSubmit; done"
    );
    own_harness(&sealed, &script, str::to_owned);
    let own =
        sealed.dir.to_str().expect("a path").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    for (folder, id) in [("-somewhere-else", "theirs"), (&own, "resumed")] {
        let folder = sealed.dir.join(".claude/projects").join(folder);
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join(format!("{id}.jsonl")), "").expect("written");
    }
    // What only our copy is left of is the one's whose it was.
    let copies = sealed.home.conversations().join("claude");
    std::fs::create_dir_all(&copies).expect("made");
    std::fs::write(copies.join("buried.jsonl"), "").expect("written");
    let mut watch = sealed.watch();
    sealed.ok(["spawn", "eve", "--harness", "claude"]);
    heard(&mut watch, "eve");
    let first = sealed.show("eve").conversations[0].clone();
    for id in ["theirs", "buried", "resumed", "cleared"] {
        sealed.ok(["send", "eve", "--no-enter", id, "--key", "Enter"]);
    }
    sealed.until("the last one is followed", || sealed.show("eve").conversations[0] == "cleared");
    assert_eq!(sealed.show("eve").conversations, ["cleared", "resumed", &first]);
    assert_eq!(sealed.log().matches("named a conversation of another directory").count(), 1);
}

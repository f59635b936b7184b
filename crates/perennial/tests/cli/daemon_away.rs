//! The daemon is away for a moment, as in a restart: sessions that start meanwhile are whole all the same.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use perennial_api::Agent;

use serde_json::json;

use crate::claude::{kind, state};
use crate::own_harness::own_harness;
use crate::sealed::{PROGRAM, Sealed};

/// In place of an agent CLI: waits for the gate to open, and becomes the agent CLI.
fn gated(sealed: &Sealed, name: &str, program: &Path) {
    let bin = sealed.dir.join("bin");
    std::fs::create_dir_all(&bin).expect("made");
    let (gate, program) = (sealed.dir.join("gate"), program.display());
    let text = format!(
        "#!/bin/sh\nuntil test -e '{}'; do sleep 0.05; done\nexec '{program}' \"$@\"\n",
        gate.display()
    );
    let script = bin.join(name);
    std::fs::write(&script, text).expect("written");
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("set");
    open(sealed);
}

fn open(sealed: &Sealed) {
    std::fs::write(sealed.dir.join("gate"), "").expect("written");
}

/// The second session of an idle agent starts while no daemon runs. It is sent a text in which its model
/// calls a tool of ours.
fn starts_alone(sealed: &Sealed, agent: &Agent, text: &str) {
    let mut watch = sealed.watch();
    std::fs::remove_file(sealed.dir.join("gate")).expect("removed");
    sealed.ok(["restart", &agent.name]);
    sealed.kill_daemon();
    open(sealed);
    let kept = sealed.holder(agent).join("s2/unheard-hooks.jsonl");
    sealed.until("its first word is kept", || kept.exists());
    sealed.start_daemon();
    watch.resume();
    state(&mut watch, &agent.name, "waiting", "idle");
    sealed.ok(["send", &agent.name, text]);
    kind(&mut watch, &agent.name, "phase-reported", 1);
    assert_eq!(sealed.show(&agent.name).session.map(|session| session.number), Some(2));
    assert!(!sealed.ok(["doctor"]).contains("were lost"));
}

/// A hook that found no daemon may keep what it said after the next daemon has looked for that: its turn was once open until
/// the hook after it.
#[test]
fn what_a_hook_keeps_late_is_heard_with_the_next_look() {
    let sealed = Sealed::up();
    let script = format!(
        "say() {{ echo '{{\"session_id\":\"talk-'$$'\"}}' | {PROGRAM} hook \"$1\"; }}
         say UserPromptSubmit; until test -e look; do sleep 0.05; done; say SubagentStart; read x"
    );
    own_harness(&sealed, &script, str::to_owned);
    let ada: Agent = sealed.json(&["spawn", "ada", "--harness", "claude"]);
    sealed.until("it is in a turn", || sealed.show("ada").reason == "in-turn");
    let named = sealed.show("ada").conversations[0].clone();
    let at = jiff::Timestamp::now().as_microsecond();
    let input = json!({ "session_id": named }).to_string();
    let kept = json!({ "event": "Stop", "at": at, "input": input });
    let file = sealed.holder(&ada).join("s1/unheard-hooks.jsonl");
    std::fs::write(&file, format!("{kept}\n")).expect("written");
    std::fs::write(sealed.dir.join("look"), "").expect("written");
    sealed.until("its turn is over", || sealed.show("ada").reason == "idle");
    assert!(!file.exists());
}

mod agent_clis {
    use serde_json::json;

    use super::{gated, starts_alone};
    use crate::claude::{self, state, turns};
    use crate::gemini;

    // covers: G-01
    #[test]
    fn claude_starts_while_no_daemon_runs_and_has_its_tools_and_its_texts() {
        let stage = claude::Stage::new();
        gated(&stage.sealed, "claude", &claude::Stage::claude());
        let mut watch = stage.sealed.watch();
        let begun = turns(&json!([{ "text": "Begun." }]));
        let ada = stage.spawn("ada", &["--permission-mode", "manual"], &begun);
        state(&mut watch, "ada", "waiting", "idle");
        let report = json!([{ "name": "mcp__perennial__report", "input": { "phase": "testing" } }]);
        starts_alone(
            &stage.sealed,
            &ada,
            &turns(&json!([{ "tools": report }, { "text": "Said." }])),
        );
    }

    // covers: G-01
    #[test]
    fn gemini_starts_while_no_daemon_runs_and_has_its_tools_and_its_texts() {
        let stage = gemini::Stage::new();
        gated(&stage.sealed, "gemini", &gemini::Stage::program());
        let mut watch = stage.sealed.watch();
        let ada = stage.spawn("ada", &gemini::FREE, &json!([{ "text": "Begun." }]));
        state(&mut watch, "ada", "waiting", "idle");
        let report = json!([{ "name": "mcp_perennial_report", "input": { "phase": "testing" } }]);
        starts_alone(
            &stage.sealed,
            &ada,
            &turns(&json!([{ "tools": report }, { "text": "Said." }])),
        );
    }
}

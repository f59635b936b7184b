//! What a harness says in the first moment of its session is heard as its own.

use std::os::unix::fs::PermissionsExt;

use crate::sealed::{PROGRAM, Sealed};

const BUILT_IN: &str = include_str!("../../../perennial-engine/src/harness/presets/claude.toml");
const SESSIONS: usize = 60;

/// A harness of the owner's own that calls its hook before it does anything else.
#[test]
fn a_hook_in_the_first_moment_of_a_session_is_its_own() {
    let sealed = Sealed::up();
    let harness = sealed.dir.join("hasty");
    let words = r#"{"session_id":"talk-'$$'","source":"startup"}"#;
    let script = format!("#!/bin/sh\necho '{words}' | {PROGRAM} hook SessionStart\nread x\n");
    std::fs::write(&harness, script).expect("written");
    std::fs::set_permissions(&harness, PermissionsExt::from_mode(0o755)).expect("executable");
    let presets = sealed.home.config.join("harness");
    std::fs::create_dir_all(&presets).expect("made");
    let preset = BUILT_IN
        .replace("program = \"claude\"", &format!("program = {:?}", harness.display().to_string()));
    std::fs::write(presets.join("claude.toml"), preset).expect("written");
    let mut watch = sealed.watch();
    for number in 0..SESSIONS {
        let name = format!("hasty-{number}");
        sealed.ok(["spawn", &name, "--harness", "claude"]);
        watch.wait(&format!("the first word of {name}"), |seen| {
            let is_it = seen.event.kind == "conversation-followed"
                && seen.event.agent.as_deref() == Some(name.as_str());
            is_it.then_some(())
        });
    }
}

//! Whose conversation it is: the user's own, a copy, a neighbour's.

use std::process::Command;

use perennial_engine::harness::conversation;
use serde_json::{Value, json};

use super::persons::never;
use crate::conformance::Seen;
use crate::conformance::stage::{NAME, Stage, prompt};

const OTHER: &str = "bob";

pub fn adopt(stage: &mut Stage) -> Seen {
    let Some(arguments) = stage.conformance.once.clone() else { return never("is run once") };
    let said = prompt(&json!([{ "text": "Early-answer." }]));
    // With the environment that its agent will have, outside of Perennial.
    let template = stage.command(&[]);
    let mut plain = Command::new(stage.sealed.dir.join("bin").join(&stage.preset.program));
    plain.current_dir(&stage.work).env_clear();
    plain.envs(template.get_envs().filter_map(|(key, value)| Some((key, value?))));
    plain.args(arguments.iter().map(|word| word.replace("{prompt}", &said)));
    let output = plain.stdin(std::process::Stdio::null()).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let home = conversation::home(&stage.preset.conversation, &stage.sealed.dir, |_| None);
    let files = conversation::all(&stage.preset, &home);
    let id = files.first().expect("a conversation").conversation.clone();
    let calls = stage.requests().len();
    stage.adopt(NAME, &id, &[]);
    stage.idle();
    assert_eq!(stage.conversation(), id);
    assert_eq!(stage.requests().len(), calls, "a model was called for nothing");
    stage.send(&json!([{ "text": "Later-answer." }]));
    stage.told("Later-answer.");
    let last = stage.last_request();
    assert!(last.request.contains("Early-answer."), "the model has forgotten: {last:#?}");
    Ok(())
}

pub fn fork(stage: &mut Stage) -> Seen {
    stage.spawn_idle("First-answer.");
    let original = stage.conversation();
    let theirs = stage.transcript().expect("the vendor's file");
    let before = std::fs::read_to_string(&theirs).expect("read");
    let calls = stage.requests().len();
    // Its agent has it open meanwhile.
    stage.adopt(OTHER, &original, &["--fork"]);
    stage.watch.moved(OTHER, "waiting", "idle");
    let copy = stage.conversation_of(OTHER);
    assert_ne!(copy, original);
    assert_eq!(stage.requests().len(), calls, "a model was called for nothing");
    // Before anything was said in it, it outlives its session.
    crate::processes::kill(crate::processes::running(crate::sealed::pid(
        &stage.sealed.show(OTHER),
    )));
    stage.watch.running(OTHER, 2);
    send(stage, OTHER, &json!([{ "text": "Fork-answer." }]));
    stage.told("Fork-answer.");
    let last = stage.last_request();
    assert!(last.request.contains("First-answer."), "the copy has forgotten: {last:#?}");
    assert_eq!(stage.conversation_of(OTHER), copy);
    // Its own agent CLI may still have added a date.
    let after = std::fs::read_to_string(&theirs).expect("read");
    let added = after.strip_prefix(&before).expect("the original was changed");
    assert!(!added.contains("Fork-answer."), "the original was written to: {added}");
    send(stage, NAME, &json!([{ "text": "Own-answer." }]));
    stage.told("Own-answer.");
    let last = stage.last_request();
    assert!(last.request.contains("First-answer."), "{last:#?}");
    assert!(!last.request.contains("Fork-answer."), "the copy is the original: {last:#?}");
    assert_eq!(stage.conversation(), original);
    Ok(())
}

/// Born in the same second, in the same directory.
pub fn neighbours(stage: &mut Stage) -> Seen {
    let says =
        |text: &str| prompt(&json!([{ "text": text, "usage": { "input": 10, "output": 5 } }]));
    let free = stage.conformance.free.clone();
    stage.spawn_named(NAME, &free, Some(&says("Ada-answer.")));
    stage.spawn_named(OTHER, &free, Some(&says("Bob-answer.")));
    for name in [NAME, OTHER] {
        stage.watch.moved(name, "waiting", "idle");
        stage.until("its transcript is read", || {
            stage.sealed.show(name).usage.is_some_and(|usage| usage.output == 5)
        });
    }
    assert_ne!(stage.conversation_of(NAME), stage.conversation_of(OTHER));
    for name in [NAME, OTHER] {
        crate::processes::kill(crate::processes::running(crate::sealed::pid(
            &stage.sealed.show(name),
        )));
        stage.watch.running(name, 2);
    }
    for (name, own, others) in
        [(NAME, "Ada-answer.", "Bob-answer."), (OTHER, "Bob-answer.", "Ada-answer.")]
    {
        let marked = format!("next-of-{name}");
        send(stage, name, &json!([{ "text": marked }]));
        stage.told(&marked);
        let last = stage.last_request();
        assert!(last.request.contains(own), "{name} has forgotten: {last:#?}");
        assert!(!last.request.contains(others), "{name} has the other's: {last:#?}");
    }
    Ok(())
}

fn send(stage: &Stage, name: &str, turns: &Value) {
    stage.sealed.ok(["send", name, &prompt(turns)]);
}

//! What a person does at the terminal, and what the agent CLI asks them.

use serde_json::{Value, json};
use understudy::Kind;

use crate::conformance::stage::{NAME, Stage, prompt};
use crate::conformance::{Instead, Seen};

pub fn permission(stage: &mut Stage) -> Seen {
    let Some(asks) = stage.conformance.asks.clone() else { return never("asks for permission") };
    let made = stage.work.join("made");
    let mut call = stage.shell(&format!("touch {}", made.display()));
    let Value::Object(input) = &mut call[0]["input"] else { panic!("{call}") };
    input.extend(asks.input);
    let turns = json!([{ "tools": call }, { "text": "Made." }]);
    stage.spawn_with(&asks.options, Some(&prompt(&turns)));
    stage.looks_for("permission", "a dialog", || stage.show().reason == "needs-permission")?;
    assert!(stage.sealed.ls()[0].needs_you);
    stage.sealed.ok(["send", NAME, "not-a-choice"]);
    stage.until("the text waits for the dialog", || {
        stage.sealed.ok(["sent", NAME, "-n", "1", "--json"]).contains("dialog")
    });
    assert!(!made.exists(), "the dialog was answered");
    Ok(())
}

pub fn interrupt(stage: &mut Stage) -> Seen {
    let Some(key) = stage.conformance.keys.interrupt.clone() else {
        return never("is interrupted");
    };
    // Half of the answer is said: what comes back into the input line before that is another matter.
    let long = "These words are said, and then the model pauses for a very long time. ".repeat(3);
    stage.spawn(&json!([{ "text": long, "gate": "held", "gate_at": "middle" }]));
    stage.moved("working", "in-turn");
    stage.model.wait_until_held("held").expect("a turn");
    stage.until("half of the answer", || stage.screen().contains("These words"));
    stage.press(&key);
    stage.looks_for("interrupt", "that it waits for input", || stage.show().reason == "idle")?;
    stage.send(&json!([{ "text": "Something else." }]));
    stage.looks_for("interrupt", "an answer to the next text", || {
        let last = stage.requests().pop();
        last.is_some_and(|last| last.request.contains("Something else."))
            && stage.show().reason == "idle"
    })?;
    assert_eq!(stage.show().session.map(|session| session.number), Some(1));
    Ok(())
}

pub fn clear(stage: &mut Stage) -> Seen {
    let Some(command) = stage.conformance.keys.clear.clone() else { return never("is cleared") };
    stage.spawn_idle("Old-answer.");
    let old = stage.conversation();
    stage.type_command("clear", &command, "that the screen is cleared", || {
        !stage.screen().contains("Old-answer.")
    })?;
    // Some vendors begin the new conversation with its first prompt only.
    stage.send(&json!([{ "text": "New-answer.", "usage": { "input": 2000, "output": 5 } }]));
    stage.told("New-answer.");
    stage.looks_for("clear", "the new conversation", || stage.conversation() != old)?;
    let new = stage.conversation();
    assert_eq!(stage.show().conversations, [new.clone(), old]);
    assert!(!stage.last_request().request.contains("Old-answer."), "the model remembers");
    stage.looks_for("clear", "the end of its first turn", || stage.show().reason == "idle")?;
    stage.settled("New-answer.");
    stage.kill();
    stage.watch.running(NAME, 2);
    stage.send(&json!([{ "text": "After-the-crash." }]));
    stage.told("After-the-crash.");
    let last = stage.last_request();
    assert!(last.request.contains("New-answer."), "{last:#?}");
    assert!(!last.request.contains("Old-answer."), "{last:#?}");
    assert_eq!(stage.conversation(), new);
    Ok(())
}

pub fn compaction(stage: &mut Stage) -> Seen {
    let Some(command) = stage.conformance.keys.compact.clone() else {
        return never("is compacted");
    };
    stage.spawn_idle("First-answer.");
    stage.look_ahead();
    stage.send(&json!([{ "text": "Second-answer.", "usage": { "input": 100_000, "output": 5 } }]));
    stage.told("Second-answer.");
    stage.idle();
    stage.settled("Second-answer.");
    let conversation = stage.conversation();
    stage.look_ahead();
    stage.type_command("compaction", &command, "a request for a summary", || {
        let requests = stage.model.requests();
        requests.iter().any(|record| record.request.kind == Kind::Compaction)
    })?;
    // Some agent CLIs tell nobody: their file is read when somebody asks.
    let began = |stage: &Stage| {
        stage.show();
        stage.sealed.ok(["events", "--json"]).contains("window-began")
    };
    stage.looks_for("compaction", "a new window", || began(stage))?;
    stage.looks_for("compaction", "that it waits for input", || stage.show().reason == "idle")?;
    let context = stage.show().context;
    assert!(context.as_ref().is_none_or(|context| context.tokens < 100_000), "{context:?}");
    stage.send(&json!([{ "text": "Third-answer." }]));
    stage.told("Third-answer.");
    assert_eq!(stage.show().conversations, [conversation]);
    Ok(())
}

pub fn quit(stage: &mut Stage) -> Seen {
    let Some(command) = stage.conformance.keys.quit.clone() else {
        return never("is ended by a command");
    };
    stage.spawn_idle("Hello.");
    stage.type_command("quit", &command, "that it sleeps", || stage.show().state == "sleeping")?;
    let ada = stage.show();
    assert_eq!((ada.reason.as_str(), ada.respawn_count), ("finished", 0), "{ada:#?}");
    Ok(())
}

/// A preset that has no keys for it says that there is no such thing.
pub fn never(what: &str) -> Seen {
    Err(Instead(format!("its preset does not say how it {what}")))
}

//! How sessions end, and how the next one takes the conversation up.

use serde_json::json;

use crate::conformance::Seen;
use crate::conformance::stage::{NAME, Stage, count};
use crate::processes::{is_alive, running};
use crate::sealed::pid;

pub fn stop(stage: &mut Stage) -> Seen {
    let ada = stage.spawn_idle("Hello.");
    let program = running(pid(&ada));
    stage.sealed.ok(["stop", NAME]);
    stage.moved("sleeping", "stopped");
    let (_, exit) = stage.watch.ended(NAME, 1);
    assert!(!is_alive(program) && stage.sealed.marked(&ada).is_empty(), "something is left");
    let ada = stage.show();
    assert_eq!((ada.state.as_str(), ada.respawn_count), ("sleeping", 0));
    assert!(!exit.to_string().contains("KILL"), "{exit}");
    Ok(())
}

pub fn resume(stage: &mut Stage) -> Seen {
    stage.spawn_idle("Hello.");
    let conversation = stage.conversation();
    stage.sealed.ok(["stop", NAME]);
    stage.moved("sleeping", "stopped");
    stage.sealed.ok(["wake", NAME]);
    goes_on(stage, &conversation);
    Ok(())
}

pub fn kill_idle(stage: &mut Stage) -> Seen {
    stage.spawn_idle("Hello.");
    let conversation = stage.conversation();
    stage.kill();
    goes_on(stage, &conversation);
    Ok(())
}

pub fn lost_file(stage: &mut Stage) -> Seen {
    stage.spawn_idle("Hello.");
    let conversation = stage.conversation();
    let theirs = stage.transcript().expect("the vendor's file");
    std::fs::remove_file(&theirs).expect("lost");
    stage.kill();
    goes_on(stage, &conversation);
    assert!(theirs.is_file(), "our copy is not in its place");
    Ok(())
}

/// The second session has the conversation, nobody was asked for that, and the model knows what was said.
fn goes_on(stage: &mut Stage, conversation: &str) {
    stage.watch.running(NAME, 2);
    stage.idle();
    assert_eq!(stage.conversation(), conversation);
    assert_eq!(stage.requests().len(), 1, "a model was called for nothing");
    stage.send(&json!([{ "text": "Again." }]));
    stage.told("Again.");
    let last = stage.last_request();
    assert!(last.request.contains("Hello."), "the model has forgotten: {last:#?}");
    assert_eq!(count(&last, "Whatever was running then is gone"), 0, "{last:#?}");
    assert_eq!(stage.conversation(), conversation);
}

pub fn kill_in_tool(stage: &mut Stage) -> Seen {
    // The tool says who it is by a pipe, which is waited for.
    let pipe = stage.pipe("pipe");
    // Killed before the program wrote the call down, it is called again, and has nothing to do then.
    let tool = "test -e begun && exit; touch begun; echo $$ > pipe; exec sleep 300";
    let call = stage.shell(&format!("sh -c '{tool}'"));
    stage.spawn(&json!([{ "tools": call }, { "text": "Back again." }]));
    stage.moved("working", "in-turn");
    let said = std::fs::read_to_string(&pipe).expect("the tool's pid");
    let tool = running(said.trim().parse().expect("a pid"));
    stage.until("the prompt is written", || {
        stage.transcript().is_some() && !stage.steps().is_empty()
    });
    let conversation = stage.conversation();
    stage.look_ahead();
    stage.kill();
    stage.watch.running(NAME, 2);
    assert!(!is_alive(tool), "the tool outlived its session");
    stage.told("ended unexpectedly");
    stage.idle();
    assert_eq!(stage.conversation(), conversation);
    let last = stage.last_request();
    let (prompts, notes) = (count(&last, understudy::MARK), count(&last, "ended unexpectedly"));
    assert_eq!((prompts, notes), (1, 1), "{last:#?}");
    Ok(())
}

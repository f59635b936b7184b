//! Life in a pane of the owner's tmux.

use perennial_api::Agent;
use serde_json::json;

use crate::conformance::Seen;
use crate::conformance::stage::{NAME, Stage, count, prompt};
use crate::sealed::finish;
use crate::tmux::Tmux;

const SESSION: &str = "perennial-ada";

pub fn tmux(stage: &mut Stage) -> Seen {
    let call = stage.shell("echo from-the-tool");
    spawn(stage, &prompt(&json!([{ "tools": call }, { "text": "Hello." }])));
    stage.idle();
    stage.settled("Hello.");
    stage.told("from-the-tool");
    let conversation = stage.conversation();
    let tmux = Tmux::of(&stage.sealed);
    assert!(tmux.is_inside(&stage.show()), "the shim is not in the pane");
    assert!(tmux.shown(SESSION).contains("Hello."), "{}", tmux.shown(SESSION));
    // What a person types in the pane is a draft, and no text is put into it.
    tmux.type_keys(SESSION, &["-l", "mine"]);
    stage.until("the draft is seen", || stage.screen().contains("mine"));
    stage.send(&json!([{ "text": "Held." }]));
    stage.until("the text waits for the draft", || is_held_by_draft(stage));
    tmux.type_keys(SESSION, &["BSpace", "BSpace", "BSpace", "BSpace"]);
    stage.told("Held.");
    stage.idle();
    let last = stage.last_request();
    assert_eq!((count(&last, "Held."), count(&last, "mine")), (1, 0), "{last:#?}");
    stage.settled("Held.");
    // Killed, it goes on in the same pane.
    let pane = Tmux::of(&stage.sealed).pane(SESSION);
    let asked = stage.requests().len();
    stage.look_ahead();
    stage.kill();
    stage.watch.running(NAME, 2);
    stage.idle();
    let tmux = Tmux::of(&stage.sealed);
    assert!(tmux.pane(SESSION) == pane && tmux.is_inside(&stage.show()), "it is in another place");
    assert_eq!((stage.conversation(), stage.requests().len()), (conversation, asked));
    stage.send(&json!([{ "text": "Again." }]));
    stage.told("Again.");
    let last = stage.last_request();
    assert!(last.request.contains("Hello.") && last.request.contains("Held."), "{last:#?}");
    let tmux = Tmux::of(&stage.sealed);
    stage.until("the pane shows the answer", || tmux.shown(SESSION).contains("Again."));
    Ok(())
}

#[track_caller]
fn spawn(stage: &Stage, prompt: &str) {
    let mut arguments =
        vec!["--json", "spawn", NAME, "--host", "tmux", "--harness", &stage.preset.name];
    arguments.extend(stage.conformance.free.iter().map(String::as_str));
    arguments.extend(["--prompt", prompt]);
    let mut command = stage.command(&arguments);
    command.env("TMUX_TMPDIR", Tmux::of(&stage.sealed).dir());
    let ran = finish(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ada: Agent = serde_json::from_str(&ran.stdout).expect("an agent");
    assert_eq!(ada.tmux_session.as_deref(), Some(SESSION));
}

fn is_held_by_draft(stage: &Stage) -> bool {
    let sent = stage.sealed.ok(["sent", NAME, "--json"]);
    sent.contains("the input line may hold text that was typed")
}

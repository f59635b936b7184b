//! Mail by every way that it can come, and past what a person has half typed.

use perennial_api::mail::{Mail, MailList};
use serde_json::{Value, json};

use crate::conformance::Seen;
use crate::conformance::stage::{NAME, Stage, count};
use crate::sealed::PROGRAM;

const DRAFT: &str = "half a line";

/// The only mail in the mailbox.
fn mail(stage: &Stage) -> Mail {
    let mut list: MailList = stage.sealed.json(&["mail", "ls", NAME]);
    assert_eq!(list.mails.len(), 1, "{list:?}");
    list.mails.remove(0)
}

fn send(stage: &Stage, text: &str) {
    stage.sealed.ok(["mail", "send", NAME, "-m", text]);
}

/// How the model writes a mail to its own agent: by our tool, or by the command line where it has none.
fn writes(stage: &Stage, text: &str) -> Value {
    match &stage.conformance.own_tool {
        Some(tool) => {
            let input = json!({ "to": NAME, "text": text });
            json!([{ "name": tool.replace("{tool}", "mail_send"), "input": input }])
        }
        None => stage.shell(&format!("{PROGRAM} mail send {NAME} -m '{text}'")),
    }
}

/// As a mail is told: on a line of its own, or in a sentence where an input line has no second one. The model's own
/// words are neither.
fn as_told(text: &str) -> [String; 2] {
    [format!("| {text}"), format!("it begins: “{text}”")]
}

fn was_told(stage: &Stage, text: &str) -> bool {
    let is_told =
        |words: &String| stage.requests().iter().any(|record| record.request.contains(words));
    as_told(text).iter().any(is_told)
}

/// What goes with the reply to a hook is never entered.
fn was_typed(stage: &Stage) -> bool {
    let (events, id) = (stage.sealed.ok(["events", "--json"]), mail(stage).id);
    events.lines().any(|line| line.contains("message-entered") && line.contains(&id))
}

/// It was told once, and is known to have been.
fn once(stage: &mut Stage, text: &str) -> Seen {
    stage.until("the mail is seen, and the turn is over", || {
        mail(stage).state == "seen" && stage.show().reason == "idle"
    });
    let last = stage.last_request();
    let times: usize = as_told(text).iter().map(|words| count(&last, words)).sum();
    assert_eq!(times, 1, "{last:#?}");
    Ok(())
}

pub fn in_turn(stage: &mut Stage) -> Seen {
    let text = "written in the turn";
    stage.spawn(&json!([
        // With some vendors the first result carries who the agent is.
        { "tools": stage.shell("true") },
        { "tools": writes(stage, text) },
        { "tools": stage.shell("true") },
        { "text": "Almost done.", "gate": "held" },
    ]));
    stage.model.wait_until_held("held").expect("the last answer");
    assert!(!was_typed(stage), "typed into a turn");
    stage.looks_for("mail-in-turn", "mail with a result", || was_told(stage, text))?;
    stage.model.release("held");
    once(stage, text)
}

pub fn at_end(stage: &mut Stage) -> Seen {
    let text = "written at its end";
    stage.spawn(&json!([{ "text": "Almost done.", "gate": "held" }, { "text": "Went on." }]));
    stage.model.wait_until_held("held").expect("the last answer");
    send(stage, text);
    stage.model.release("held");
    stage.looks_for("mail-at-end", "that the turn goes on with the mail", || {
        was_told(stage, text) && !was_typed(stage)
    })?;
    once(stage, text)
}

pub fn idle(stage: &mut Stage) -> Seen {
    let text = "written to an idle agent";
    stage.spawn_idle("Hello.");
    send(stage, text);
    stage.looks_for("mail-idle", "a turn that the mail begins", || was_told(stage, text))?;
    assert!(was_typed(stage), "it came with no hook");
    once(stage, text)
}

pub fn draft(stage: &mut Stage) -> Seen {
    let text = "written past a draft";
    stage.spawn_idle("Hello.");
    stage.sealed.ok(["send", NAME, "--no-enter", DRAFT]);
    stage.until("the draft", || stage.screen().contains(DRAFT));
    send(stage, text);
    stage.looks_for("mail-draft", "that the mail waits for the draft", || {
        mail(stage).why.is_some_and(|why| why.contains("typed but not sent"))
    })?;
    assert!(stage.screen().contains(DRAFT), "{}", stage.screen());
    assert!(!was_told(stage, text), "told past the draft");
    // The person sends their line: the mail is not in it, and follows.
    stage.press("Enter");
    stage.told(DRAFT);
    stage.until("the mail is told", || was_told(stage, text));
    once(stage, text)
}

//! What each recorded hook means.

use perennial_core::conversation::Followed;
use perennial_core::observation::{Sign, Wait};
use perennial_core::time::Time;
use perennial_engine::harness::claude::{Heard, INPUT_BYTES, NotUnderstood, hook, reply};
use serde_json::{Value, json};

use crate::HOOKS;

/// The recorded input of this event whose field has this value.
fn sample(event: &str, field: &str, value: &str) -> Value {
    let all = HOOKS.lines().map(|line| serde_json::from_str(line).expect("a sample is JSON"));
    let mut fitting = all.filter(|sample: &Value| {
        sample["hook_event_name"] == event && (field.is_empty() || sample[field] == value)
    });
    fitting.next().unwrap_or_else(|| panic!("no sample of {event} with {field} {value}"))
}

fn heard(event: &str, input: &Value) -> Heard {
    hook(event, input.to_string().as_bytes()).expect("understood")
}

#[track_caller]
fn check(event: &str, field: &str, value: &str, signs: &[Sign]) -> Heard {
    let heard = heard(event, &sample(event, field, value));
    assert_eq!(heard.signs, signs, "{event} {value}");
    assert!(!heard.is_partial);
    assert!(heard.conversation.is_some());
    heard
}

#[test]
fn a_session_that_starts_names_its_conversation_and_how_it_came_to_it() {
    for (source, how) in [
        ("startup", Followed::Started),
        ("resume", Followed::Resumed),
        ("clear", Followed::Cleared),
        ("compact", Followed::Compacted),
    ] {
        let input = sample("SessionStart", "source", source);
        let conversation = input["session_id"].as_str().expect("an id").parse().expect("an id");
        let heard = check("SessionStart", "source", source, &[Sign::Began { conversation, how }]);
        assert!(heard.may_reply);
    }
    // Forks were not recorded; what is not known yet begins no window.
    let mut input = sample("SessionStart", "source", "resume");
    for (source, how) in [("fork", Followed::Forked), ("teleport", Followed::Resumed)] {
        input["source"] = json!(source);
        let signs = heard("SessionStart", &input).signs;
        assert!(matches!(&signs[..], [Sign::Began { how: told, .. }] if *told == how), "{source}");
    }
}

#[test]
fn a_turn_is_told_from_its_beginning_to_its_end() {
    check("UserPromptSubmit", "", "", &[Sign::TurnBegan]);
    let batch = check("PostToolBatch", "", "", &[Sign::TurnBegan, Sign::Progressed]);
    assert_eq!((batch.tool_calls, batch.may_reply), (1, true));
    let stop = check("Stop", "", "", &[Sign::Waits(Wait::Input)]);
    // A reply there would make the turn go on.
    assert_eq!((stop.tool_calls, stop.may_reply), (0, false));
    let two = HOOKS.lines().find(|line| line.matches("\"tool_use_id\"").count() == 2);
    let two = hook("PostToolBatch", two.expect("a batch of two").as_bytes()).expect("understood");
    assert_eq!(two.tool_calls, 2);
}

#[test]
fn a_dialog_is_a_wait_for_permission_and_a_question_one_for_an_answer() {
    let permission = [Sign::Waits(Wait::Permission)];
    check("PermissionRequest", "tool_name", "Bash", &permission);
    check("PermissionRequest", "tool_name", "ExitPlanMode", &permission);
    let answer = [Sign::Waits(Wait::Answer)];
    check("PermissionRequest", "tool_name", "AskUserQuestion", &answer);
    // It comes for the question as well, six seconds later: it must not turn it into a permission.
    check("Notification", "notification_type", "permission_prompt", &[]);
    let mut idle = sample("Notification", "", "");
    idle["notification_type"] = json!("idle_prompt");
    assert_eq!(heard("Notification", &idle).signs, [Sign::StillIdle]);
}

#[test]
fn a_rate_limit_is_not_a_failure() {
    check("StopFailure", "error", "rate_limit", &[Sign::Waits(Wait::LimitReached(None))]);
    for error in ["server_error", "authentication_failed", "unknown"] {
        check("StopFailure", "error", error, &[Sign::Waits(Wait::Failure)]);
    }
    let mut limit = sample("StopFailure", "error", "rate_limit");
    for (text, until) in [
        ("Claude AI usage limit reached|1794785397", Some(Time(1_794_785_397_000_000))),
        ("You've hit your session limit · resets 3pm (Europe/Berlin)", None),
        ("limit|17947853979999999999999", None),
        ("limit|12", None),
    ] {
        limit["last_assistant_message"] = json!(text);
        assert_eq!(heard("StopFailure", &limit).signs, [Sign::Waits(Wait::LimitReached(until))]);
    }
}

#[test]
fn what_a_subagent_does_is_progress_and_no_turn_of_the_agent() {
    for event in ["PostToolBatch", "Stop", "UserPromptSubmit", "StopFailure"] {
        let mut input = sample(event, "", "");
        input["agent_id"] = json!("a52");
        let heard = heard(event, &input);
        let signs = if event == "PostToolBatch" { vec![Sign::Progressed] } else { Vec::new() };
        assert_eq!((heard.signs, heard.tool_calls, heard.may_reply), (signs, 0, false), "{event}");
    }
    // Its dialog stands on the agent's screen all the same.
    let mut input = sample("PermissionRequest", "tool_name", "Bash");
    input["agent_id"] = json!("a52");
    assert_eq!(heard("PermissionRequest", &input).signs, [Sign::Waits(Wait::Permission)]);
}

#[test]
fn events_that_say_nothing_and_events_nobody_knows_are_heard_without_a_sign() {
    for event in ["SessionEnd", "PreCompact", "SubagentStop", "Dreaming", ""] {
        let heard = heard(event, &sample("Stop", "", ""));
        assert_eq!((heard.signs, heard.may_reply), (Vec::new(), false), "{event}");
    }
}

#[test]
fn what_breaks_off_is_read_as_far_as_it_goes() {
    let whole = sample("PostToolBatch", "", "");
    let long = json!([{ "tool_response": "x".repeat(3 * INPUT_BYTES) }]);
    // The fields as the vendor orders them: who it is stands before what it did.
    let text = format!(r#"{{"session_id":{},"tool_calls":{long}}}"#, whole["session_id"]);
    let heard = hook("PostToolBatch", text.as_bytes()).expect("the beginning is enough");
    assert!(heard.is_partial);
    assert_eq!(heard.conversation.expect("kept").as_str(), whole["session_id"]);
    assert_eq!((heard.tool_calls, &heard.signs[..]), (1, &[Sign::TurnBegan, Sign::Progressed][..]));
}

#[test]
fn what_is_no_object_or_names_no_conversation_is_not_understood() {
    for input in ["", " ", "[]", "7", "\"{\"", "null", "\u{feff}{}"] {
        assert_eq!(hook("Stop", input.as_bytes()), Err(NotUnderstood::NotAnObject), "{input}");
    }
    for id in [json!("../../etc"), json!(7), json!(null), json!("")] {
        let input = json!({ "session_id": id, "source": "startup" });
        let heard = hook("SessionStart", input.to_string().as_bytes());
        assert_eq!(heard, Err(NotUnderstood::NoConversation), "{id}");
        assert_eq!(self::heard("Stop", &input).conversation, None);
    }
}

#[test]
fn a_reply_has_the_form_that_reaches_the_model() {
    let text = "quote \" and\nline";
    for event in ["SessionStart", "UserPromptSubmit", "PostToolBatch", "Stop"] {
        let bytes = reply(event, text).expect("it can be answered");
        let reply: Value = serde_json::from_slice(&bytes).expect("JSON");
        let specific = json!({ "hookEventName": event, "additionalContext": text });
        assert_eq!(reply, json!({ "hookSpecificOutput": specific }));
    }
    for event in ["Notification", "SessionEnd", "PermissionRequest", "StopFailure", "PreCompact"] {
        assert_eq!(reply(event, text), None, "{event}");
    }
}

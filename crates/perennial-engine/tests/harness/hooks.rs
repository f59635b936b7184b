//! What each recorded hook means.

use perennial_core::conversation::Followed;
use perennial_core::fact::{CallName, Fact, Failure, Origin, Seen};
use perennial_core::time::Time;
use perennial_engine::harness::claude::Claude;
use perennial_engine::harness::dialect::{Dialect, INPUT_BYTES, NotUnderstood};
use perennial_engine::harness::typing::fingerprint;
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

/// The fact that a hook with this input tells.
fn fact(event: &str, input: &Value) -> Option<Fact> {
    let call = Claude.hook(event, input.to_string().as_bytes()).expect("understood");
    assert!(!call.is_partial);
    call.fact
}

#[track_caller]
fn check(event: &str, field: &str, value: &str, seen: Seen) -> Fact {
    let input = sample(event, field, value);
    let fact = fact(event, &input).expect("a fact");
    assert_eq!((fact.origin, fact.seen.clone()), (Origin::Hook, seen), "{event} {value}");
    let conversation = fact.conversation.as_ref().expect("its conversation");
    assert_eq!(conversation.as_str(), input["session_id"]);
    fact
}

fn ended(background_tasks: u32) -> Seen {
    Seen::ReplyEnded { background_tasks }
}

/// Of two long prompts that begin alike each is itself.
#[test]
fn a_prompt_is_recognised_by_all_of_it() {
    let told = |prompt: &str| {
        let mut input = sample("UserPromptSubmit", "", "");
        input["prompt"] = json!(prompt);
        fact("UserPromptSubmit", &input).expect("a fact")
    };
    let long = "word ".repeat(10_000);
    let (one, other) = (told(&long), told(&format!("{long}and more")));
    assert_eq!(one.seen, Seen::PromptSubmitted { text: fingerprint(&long) });
    assert_ne!(one.seen, other.seen);
    assert_eq!(one.older_text, other.older_text);
    assert_eq!(told("short").older_text, None);
}

#[test]
fn a_session_that_starts_names_its_conversation_and_how_it_came_to_it() {
    for (source, how) in [
        ("startup", Followed::Started),
        ("resume", Followed::Resumed),
        ("clear", Followed::Cleared),
        ("compact", Followed::Compacted),
    ] {
        let fact = check("SessionStart", "source", source, Seen::SessionBegan(how));
        assert!(fact.is_answerable);
    }
    // Forks were not recorded; what is not known yet begins no window.
    let mut input = sample("SessionStart", "source", "resume");
    for (source, how) in [("fork", Followed::Forked), ("teleport", Followed::Resumed)] {
        input["source"] = json!(source);
        let fact = fact("SessionStart", &input).expect("a fact");
        assert_eq!(fact.seen, Seen::SessionBegan(how), "{source}");
    }
}

#[test]
fn a_turn_is_told_from_its_beginning_to_its_end() {
    let prompt = Seen::PromptSubmitted { text: fingerprint("tidy the cellar") };
    check("UserPromptSubmit", "", "", prompt);
    let calls = vec![CallName("toolu_f42d214e2eb24bafb15b".to_owned())];
    let batch = Seen::ToolsFinished { calls, in_subagent: false };
    assert!(check("PostToolBatch", "", "", batch).is_answerable);
    // A reply there would make the turn go on.
    assert!(!check("Stop", "", "", ended(0)).is_answerable);
    let two = HOOKS.lines().find(|line| line.matches("\"tool_use_id\"").count() == 2);
    let two =
        Claude.hook("PostToolBatch", two.expect("a batch of two").as_bytes()).expect("understood");
    let seen = two.fact.map(|fact| fact.seen);
    assert!(matches!(seen, Some(Seen::ToolsFinished { calls, .. }) if calls.len() == 2));
}

/// C6: the Agent tool and background commands run on after the reply.
#[test]
fn tasks_in_the_background_are_counted() {
    let mut input = sample("Stop", "", "");
    for (tasks, count) in [
        (json!([]), 0),
        (json!([{ "id": "b1", "type": "local_bash" }, { "id": "a2" }]), 2),
        (json!(null), 0),
    ] {
        input["background_tasks"] = tasks.clone();
        let call = Claude.hook("Stop", input.to_string().as_bytes()).expect("understood");
        assert_eq!(call.fact.map(|fact| fact.seen), Some(ended(count)), "{tasks}");
    }
}

#[test]
fn a_dialog_asks_for_permission_and_for_which_tool_and_a_question_is_none() {
    for tool in ["Bash", "ExitPlanMode"] {
        let asked = Seen::PermissionAsked { tool: Some(tool.to_owned()) };
        check("PermissionRequest", "tool_name", tool, asked);
    }
    check("PermissionRequest", "tool_name", "AskUserQuestion", Seen::QuestionAsked);
    // It comes for the question as well, six seconds later: it must not turn it into a permission.
    let notified = sample("Notification", "notification_type", "permission_prompt");
    assert_eq!(fact("Notification", &notified), None);
    let mut idle = sample("Notification", "", "");
    idle["notification_type"] = json!("idle_prompt");
    assert_eq!(fact("Notification", &idle).map(|fact| fact.seen), Some(Seen::IdleTold));
}

#[test]
fn a_rate_limit_is_not_a_failure_and_a_refusal_is_one_of_its_own() {
    let limit = |until| Seen::CallFailed(Failure::RateLimit { until });
    check("StopFailure", "error", "rate_limit", limit(None));
    for (error, failure) in [
        ("server_error", Failure::Other),
        ("authentication_failed", Failure::Refused),
        ("unknown", Failure::Other),
    ] {
        check("StopFailure", "error", error, Seen::CallFailed(failure));
    }
    let mut input = sample("StopFailure", "error", "rate_limit");
    for (text, until) in [
        ("Claude AI usage limit reached|1794785397", Some(Time(1_794_785_397_000_000))),
        ("You've hit your session limit · resets 3pm (Europe/Berlin)", None),
        ("limit|17947853979999999999999", None),
        ("limit|12", None),
    ] {
        input["last_assistant_message"] = json!(text);
        assert_eq!(fact("StopFailure", &input).map(|fact| fact.seen), Some(limit(until)));
    }
}

#[test]
fn a_compaction_is_announced_and_one_that_does_not_help_is_a_failure_of_its_own() {
    for trigger in ["auto", "manual"] {
        let input = json!({ "session_id": "c-1", "trigger": trigger, "custom_instructions": "x" });
        let fact = fact("PreCompact", &input).expect("a fact");
        assert_eq!(fact.seen, Seen::CompactionAnnounced { is_certain: true });
        assert!(!fact.is_answerable && fact.conversation.is_some());
    }
    let mut input = sample("StopFailure", "error", "server_error");
    input["error"] = json!("invalid_request");
    input["last_assistant_message"] = json!("Autocompact is thrashing: the context refilled");
    let seen = fact("StopFailure", &input).map(|fact| fact.seen);
    assert_eq!(seen, Some(Seen::CallFailed(Failure::Thrash)));
}

#[test]
fn what_a_subagent_does_is_told_as_its_own() {
    for event in ["PostToolBatch", "Stop", "UserPromptSubmit", "StopFailure"] {
        let mut input = sample(event, "", "");
        input["agent_id"] = json!("a52");
        let fact = fact(event, &input);
        if event == "PostToolBatch" {
            let fact = fact.expect("progress");
            assert!(matches!(fact.seen, Seen::ToolsFinished { in_subagent: true, .. }));
            assert_eq!((fact.conversation, fact.is_answerable), (None, false));
        } else {
            assert_eq!(fact, None, "{event}");
        }
    }
    // Its dialog stands on the agent's screen all the same.
    let mut input = sample("PermissionRequest", "tool_name", "Bash");
    input["agent_id"] = json!("a52");
    let seen = fact("PermissionRequest", &input).map(|fact| fact.seen);
    assert_eq!(seen, Some(Seen::PermissionAsked { tool: Some("Bash".to_owned()) }));
}

#[test]
fn events_that_say_nothing_and_events_nobody_knows_are_no_facts() {
    for event in ["SessionEnd", "SubagentStop", "Dreaming", ""] {
        assert_eq!(fact(event, &sample("Stop", "", "")), None, "{event}");
    }
}

#[test]
fn what_breaks_off_is_read_as_far_as_it_goes() {
    let whole = sample("PostToolBatch", "", "");
    let long = json!([{ "tool_response": "x".repeat(3 * INPUT_BYTES) }]);
    // The fields as the vendor orders them: who it is stands before what it did.
    let text = format!(r#"{{"session_id":{},"tool_calls":{long}}}"#, whole["session_id"]);
    let call = Claude.hook("PostToolBatch", text.as_bytes()).expect("the beginning is enough");
    assert!(call.is_partial);
    let fact = call.fact.expect("a fact");
    assert_eq!(fact.conversation.expect("kept").as_str(), whole["session_id"]);
    // Calls that can't be named are counted by the transcript.
    assert_eq!(fact.seen, Seen::ToolsFinished { calls: Vec::new(), in_subagent: false });
}

#[test]
fn what_is_no_object_or_names_no_conversation_is_not_understood() {
    for input in ["", " ", "[]", "7", "\"{\"", "null", "\u{feff}{}"] {
        assert_eq!(
            Claude.hook("Stop", input.as_bytes()),
            Err(NotUnderstood::NotAnObject),
            "{input}"
        );
    }
    for id in [json!("../../etc"), json!(7), json!(null), json!("")] {
        let input = json!({ "session_id": id, "source": "startup" });
        let call = Claude.hook("SessionStart", input.to_string().as_bytes());
        assert_eq!(call, Err(NotUnderstood::NoConversation), "{id}");
        assert_eq!(fact("Stop", &input).expect("a fact").conversation, None);
    }
}

#[test]
fn a_reply_has_the_form_that_reaches_the_model() {
    let text = "quote \" and\nline";
    for event in ["SessionStart", "UserPromptSubmit", "PostToolBatch", "Stop"] {
        let bytes = Claude.reply(event, text).expect("it can be answered");
        let reply: Value = serde_json::from_slice(&bytes).expect("JSON");
        let specific = json!({ "hookEventName": event, "additionalContext": text });
        assert_eq!(reply, json!({ "hookSpecificOutput": specific }));
    }
    for event in ["Notification", "SessionEnd", "PermissionRequest", "StopFailure", "PreCompact"] {
        assert_eq!(Claude.reply(event, text), None, "{event}");
    }
}

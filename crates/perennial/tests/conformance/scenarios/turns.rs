//! What happens in a turn that nobody disturbs.

use serde_json::json;

use crate::conformance::Seen;
use crate::conformance::stage::{NAME, Stage, count, prompt as with_turns};

pub fn start(stage: &mut Stage) -> Seen {
    stage.spawn_with(&stage.conformance.free, None);
    stage.idle();
    assert!(stage.requests().is_empty(), "a model was called for nothing");
    let listed = &stage.sealed.ls()[0];
    assert_eq!((listed.state.as_str(), listed.reason.as_str()), ("waiting", "idle"));
    assert!(!stage.sealed.ok(["why", NAME]).is_empty());
    Ok(())
}

pub fn prompt(stage: &mut Stage) -> Seen {
    stage.spawn(&json!([{ "text": "All done." }]));
    stage.moved("working", "in-turn");
    stage.idle();
    let requests = stage.requests();
    assert_eq!(requests.len(), 1, "{requests:#?}");
    assert_eq!(count(&requests[0], understudy::MARK), 1, "{:#?}", requests[0]);
    stage.settled("All done.");
    let kinds: Vec<String> = stage.steps().into_iter().map(|step| step.kind).collect();
    assert_eq!(kinds, ["prompt", "text"]);
    Ok(())
}

pub fn tool_call(stage: &mut Stage) -> Seen {
    let call = stage.shell("printf 'hello-%s' 42");
    stage.spawn(&json!([{ "tools": call }, { "text": "All done." }]));
    stage.moved("working", "in-turn");
    stage.told("hello-42");
    stage.idle();
    stage.settled("All done.");
    let steps = stage.steps();
    let kinds: Vec<&str> = steps.iter().map(|step| step.kind.as_str()).collect();
    assert_eq!(kinds, ["prompt", "tool-call", "tool-result", "text"]);
    assert_eq!(steps[1].tool.as_ref(), Some(&stage.conformance.shell.tool));
    assert!(steps[2].text.as_ref().is_some_and(|text| text.contains("hello-42")), "{steps:#?}");
    Ok(())
}

pub fn usage(stage: &mut Stage) -> Seen {
    let call = stage.shell("true");
    stage.spawn(&json!([
        { "tools": call, "usage": { "input": 1_000, "output": 5, "cache_read": 9_000 } },
        { "text": "All done.", "usage": { "input": 14_000, "output": 7 } },
    ]));
    stage.idle();
    stage.looks_for("usage", "the tokens of both answers", || {
        let usage = stage.show().usage;
        usage.is_some_and(|usage| {
            (usage.input, usage.output, usage.cache_read) == (15_000, 12, 9_000)
        })
    })?;
    // Some vendors count what the model said for the next request.
    stage.looks_for("usage", "a figure of the clock", || {
        stage.show().context.is_some_and(|context| (14_000..=14_007).contains(&context.tokens))
    })
}

pub fn send(stage: &mut Stage) -> Seen {
    stage.spawn_idle("Hello.");
    let text = with_turns(&json!([{ "text": "Noted." }]));
    let text = format!("second-text {text}");
    stage.sealed.ok(["send", NAME, &text]);
    stage.looks_for("send", "a text that was seen", || {
        stage.sealed.ok(["sent", NAME, "-n", "1", "--json"]).contains("\"seen\"")
    })?;
    stage.told("second-text");
    stage.idle();
    let last = stage.last_request();
    assert_eq!(count(&last, "second-text"), 1, "{last:#?}");
    assert!(last.request.contains("Hello."), "{last:#?}");
    Ok(())
}

//! What Perennial says to an agent, and what the agent asks of it.

use serde_json::json;
use understudy::{Kind, Record};

use super::persons::never;
use crate::conformance::Seen;
use crate::conformance::stage::{NAME, Stage, count, prompt};

/// The first words of a briefing.
const BRIEFING: &str = "You are the agent ada";

pub fn briefing(stage: &mut Stage) -> Seen {
    stage.spawn_idle("Hello.");
    stage.looks_for("briefing", "a briefing of the model", || {
        let requests = stage.requests();
        let is_told = |record: &Record| {
            record.request.contains(BRIEFING) || record.request.is_described(BRIEFING)
        };
        requests.last().is_some_and(is_told)
    })
}

pub fn notices(stage: &mut Stage) -> Seen {
    let context = &stage.preset.context;
    let usable = context.window_tokens - context.compaction_reserve_tokens;
    let full = |percent: u64| {
        let usage = json!({ "input": usable / 100 * percent, "output": 5 });
        prompt(&json!([{ "text": format!("Full to {percent}."), "usage": usage }]))
    };
    stage.spawn_with(&stage.conformance.free, Some(&full(60)));
    stage.idle();
    for (passed, next) in [(50, 80), (75, 95), (90, 96)] {
        stage.until("a threshold has passed", || {
            let context = stage.show().context;
            context.is_some_and(|context| context.passed == Some(passed))
        });
        stage.look_ahead();
        stage.sealed.ok(["send", NAME, &full(next)]);
        stage.told(&format!("Full to {next}."));
        let words = format!("Perennial clock: {passed} %");
        stage.looks_for("notices", &words, || stage.last_request().request.contains(&words))?;
        stage.idle();
    }
    let last = stage.last_request();
    let told = [50, 75, 90].map(|passed| count(&last, &format!("Perennial clock: {passed} %")));
    assert_eq!(told, [1, 1, 1], "{last:#?}");
    Ok(())
}

pub fn tools(stage: &mut Stage) -> Seen {
    let Some(tool) = stage.conformance.own_tool.clone() else { return never("calls our tools") };
    let tool = tool.replace("{tool}", "report");
    let call = json!([{ "name": tool, "input": { "phase": "testing", "summary": "counting" } }]);
    stage.spawn(&json!([{ "tools": call }, { "text": "Reported." }]));
    stage
        .looks_for("tools", "a report", || stage.show().work_phase.as_deref() == Some("testing"))?;
    stage.idle();
    Ok(())
}

pub fn cost(stage: &mut Stage) -> Seen {
    stage.spawn_idle("Hello.");
    stage.looks_for("cost", "a price", || {
        stage.show().usage.is_some_and(|usage| usage.cost_usd.is_some_and(|cost| cost > 0.0))
    })
}

/// Requests for titles and the like are the vendor's own business.
pub fn side_calls(stage: &mut Stage) -> Seen {
    let text = "Say something that deserves a title, and then something else, please. ".repeat(4);
    let answer = json!([{ "text": "Said.", "usage": { "input": 700, "output": 30 } }]);
    stage.spawn_with(&stage.conformance.free, Some(&format!("{text}{}", prompt(&answer))));
    stage.idle();
    stage.settled("Said.");
    let usage = stage.show().usage.expect("read");
    assert_eq!((usage.input, usage.output), (700, 30), "{usage:?}");
    let all = stage.model.requests();
    let main = all.iter().filter(|record| record.request.kind == Kind::Main).count();
    assert_eq!(main, 1, "{all:#?}");
    Ok(())
}

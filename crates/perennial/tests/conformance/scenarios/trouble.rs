//! The model's service in trouble.

use serde_json::json;
use understudy::{Repeat, Turn};

use crate::conformance::Seen;
use crate::conformance::stage::{NAME, Stage};

pub fn rate_limit(stage: &mut Stage) -> Seen {
    // Prompts without an answer between them come as one: the newer words are looked for first.
    stage.model_says([
        Turn::text("Better.").matching("once more").repeat(Repeat::ALWAYS),
        Turn::rate_limited(1).repeat(Repeat::ALWAYS),
    ]);
    stage.spawn_with(&stage.conformance.free, Some("try it"));
    stage.looks_for("rate-limit", "that a limit was reached", || {
        matches!(stage.show().reason.as_str(), "limit-reached" | "rate-limited")
    })?;
    let ada = stage.show();
    assert_eq!((ada.state.as_str(), ada.respawn_count), ("waiting", 0), "{ada:#?}");
    stage.sealed.ok(["send", NAME, "once more"]);
    stage.told("once more");
    stage.looks_for("rate-limit", "the end of the next turn", || stage.show().reason == "idle")?;
    assert_eq!(stage.show().session.map(|session| session.number), Some(1));
    Ok(())
}

pub fn failed_call(stage: &mut Stage) -> Seen {
    // Some vendors ask a second time.
    let failing = Turn { status: Some(400), ..Turn::default() };
    stage.model_says([
        Turn::text("Better.").matching("once more").repeat(Repeat::ALWAYS),
        failing.repeat(Repeat::ALWAYS),
    ]);
    stage.spawn_with(&stage.conformance.free, Some("try it"));
    stage.looks_for("failed-call", "that the call failed", || {
        stage.show().reason == "service-failed"
    })?;
    let ada = stage.show();
    assert_eq!((ada.state.as_str(), ada.respawn_count), ("waiting", 0), "{ada:#?}");
    stage.look_ahead();
    stage.sealed.ok(["send", NAME, "once more"]);
    stage.told("once more");
    stage.idle();
    assert_eq!(stage.show().session.map(|session| session.number), Some(1));
    Ok(())
}

pub fn silence(stage: &mut Stage) -> Seen {
    stage.configure("silent_after_s = 2\n");
    stage.spawn(&json!([{ "silent": true }, { "text": "Better." }]));
    stage.moved("working", "in-turn");
    stage.moved("unknown", "silent");
    stage.watch.running(NAME, 2);
    stage.told("ended unexpectedly");
    stage.idle();
    Ok(())
}

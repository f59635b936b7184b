//! The status line's figures, and the registry's words.

use perennial_core::context::{Sample, Source};
use perennial_core::fact::{Fact, Listed, Origin, Seen};
use perennial_core::session::Process;
use perennial_core::time::Time;
use perennial_engine::harness::claude::Claude;
use perennial_engine::harness::dialect::{Dialect, Listing, NotUnderstood};
use serde_json::{Value, json};

use crate::{STATUS_LINES, claude};

fn samples() -> impl Iterator<Item = Value> {
    STATUS_LINES.lines().map(|line| serde_json::from_str(line).expect("a sample is JSON"))
}

#[test]
fn the_percentage_is_the_vendors_own() {
    let context = claude().context;
    let mut seen = Vec::new();
    for input in samples() {
        let line =
            Claude.status_line(input.to_string().as_bytes(), &context, None).expect("understood");
        let vendor = input["context_window"]["used_percentage"].as_u64();
        assert!(line.conversation.is_some());
        let Seen::StatusLine { model, sample } = line.seen else { panic!("{:?}", line.seen) };
        assert_eq!(sample.map(|sample| sample.percent()), vendor);
        assert_eq!(model.as_deref(), Some("claude-opus-5-5"));
        seen.push(vendor);
    }
    seen.sort_unstable();
    // Before the first answer, right after a compaction, small, middling, large.
    assert_eq!(seen, [None, Some(0), Some(0), Some(5), Some(30)]);
}

#[test]
fn what_can_be_used_ends_where_the_vendor_compacts() {
    let context = claude().context;
    for (window, moved, usable) in [
        (1_000_000, None, 967_000),
        (200_000, None, 167_000),
        // Measured: compaction above 67,000, and the same for less than the vendor takes.
        (1_000_000, Some(100_000), 67_000),
        (1_000_000, Some(50_000), 67_000),
        (200_000, Some(1_000_000), 167_000),
        (40_000, None, 20_000),
        (0, None, 0),
    ] {
        assert_eq!(context.usable(window, moved), usable, "{window} {moved:?}");
    }
}

#[test]
fn odd_figures_are_no_sample_and_no_panic() {
    let context = claude().context;
    let line = |input: Value| Claude.status_line(input.to_string().as_bytes(), &context, None);
    let usage = |tokens: Value, window: Value| {
        json!({ "context_window": {
            "context_window_size": window,
            "current_usage": { "input_tokens": tokens, "cache_read_input_tokens": u64::MAX },
        }})
    };
    let sample = |input| match line(input).expect("an object").seen {
        Seen::StatusLine { sample, .. } => sample,
        other => panic!("{other:?}"),
    };
    assert_eq!(sample(usage(json!(null), json!(9))), None);
    assert_eq!(sample(usage(json!(-1), json!(9))), None);
    assert_eq!(sample(usage(json!("1"), json!(9))), None);
    assert_eq!(sample(usage(json!(1), json!(0))), None);
    let most = Sample { tokens: u64::MAX, window: 9, usable: 4, source: Source::StatusLine };
    assert_eq!(sample(usage(json!(1), json!(9))), Some(most));
    assert_eq!(line(json!([])), Err(NotUnderstood::NotAnObject));
    assert_eq!(Claude.status_line(b"{", &context, None), Err(NotUnderstood::NotAnObject));
}

#[test]
fn the_registry_tells_what_no_hook_does() {
    let process = Process { pid: 3094, start_ticks: 105_653 };
    for (status, waiting_for, listed) in [
        ("busy", None, Some(Listed::Busy)),
        ("idle", None, Some(Listed::Idle)),
        ("waiting", Some("permission prompt"), Some(Listed::Permission)),
        ("waiting", Some("input needed"), Some(Listed::Question)),
        ("waiting", Some("dialog open"), Some(Listed::Menu)),
        ("asleep", None, None),
    ] {
        let entry = json!({ "pid": 3094, "sessionId": "a", "procStart": "105653",
            "status": status, "statusUpdatedAt": 7, "waitingFor": waiting_for });
        let fact = |listed| {
            let fact = Fact::new(Origin::List, Seen::Listed(listed)).at(Some(Time(7000)));
            fact.within("a".parse().ok())
        };
        let conversation = "a".parse().ok();
        let listing = Listing { process, conversation, fact: listed.map(fact) };
        assert_eq!(
            Claude.listing(entry.to_string().as_bytes()),
            Some(listing),
            "{status} {waiting_for:?}"
        );
    }
    // Just begun: it says who has the conversation open, and not yet what it does.
    let begun = json!({ "pid": 3094, "sessionId": "a", "procStart": "105653" });
    let listing = Listing { process, conversation: "a".parse().ok(), fact: None };
    assert_eq!(Claude.listing(begun.to_string().as_bytes()), Some(listing));
    // Half written.
    assert_eq!(
        Claude.listing(br#"{"pid":3094,"procStart":"1","statusUpdatedAt":7,"status":"bu"#),
        None
    );
}

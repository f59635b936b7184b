//! A program that dies at once: retries with growing waits, then the breaker; `stop` cancels, `wake`
//! tries again.

use perennial_api::Agent;
use perennial_api::answer::{Chapter, Why};

use crate::sealed::Sealed;
use crate::watch::time;

#[test]
fn a_program_that_dies_at_once_opens_the_breaker_after_five_restarts() {
    let sealed = Sealed::up();
    sealed.spawn("dies", "exit 3");
    let mut watch = sealed.watch();
    let opened = watch.moved("dies", "crashed", "breaker-open");
    let ends: Vec<_> = (1..=6).map(|number| watch.ended("dies", number).0).collect();
    for (pair, least) in ends.windows(2).zip([1, 1, 2, 4, 8]) {
        let gap = time(&pair[1].event.at).duration_since(time(&pair[0].event.at)).expect("later");
        assert!(gap.as_secs() >= least, "restart after {gap:?}, not {least} s");
    }
    assert!(opened.event.seq > ends[5].event.seq - 2, "opened by the sixth end");
    let agent = sealed.show("dies");
    assert_eq!((agent.state.as_str(), agent.reason.as_str()), ("crashed", "breaker-open"));
    assert_eq!((agent.respawn_count, agent.needs_you), (5, true));
    let half_open = agent.until.expect("a breaker half opens by itself");
    let wait = time(&half_open).duration_since(time(&agent.since)).expect("later").as_secs();
    assert_eq!(wait, 300);

    let story: Why = sealed.json(&["why", "dies", "--all"]);
    let told = |kind: &str, text: &str| {
        let is_told = |one: &&Chapter| one.kind == kind && one.text.contains(text);
        story.story.iter().filter(is_told).count()
    };
    assert_eq!(told("session-ended", "exit code 3"), 6, "{story:#?}");
    assert_eq!(told("moved", "crashed too often"), 1, "{story:#?}");
    let text = sealed.ok(["why", "dies"]);
    assert!(text.contains("exit code 3") && text.contains("too often"), "{text}");

    sealed.ok(["wake", "dies"]);
    let (_, exit) = watch.ended("dies", 7);
    assert_eq!(exit, serde_json::json!({"code": 3}));
    sealed.until("it crashed again", || sealed.show("dies").state == "crashed");
}

//
#[test]
fn a_stop_during_backoff_cancels_the_retry() {
    let sealed = Sealed::up();
    sealed.spawn("dies", "exit 3");
    let mut watch = sealed.watch();
    watch.moved("dies", "crashed", "retrying");
    let stopped: Agent = sealed.json(&["stop", "dies"]);
    assert_eq!((stopped.state.as_str(), stopped.reason.as_str()), ("sleeping", "stopped"));
    assert_eq!(stopped.until, None);
    // The clock runs past the time of the retry, which was a second and a fifth at most.
    sealed.spawn_with(&["clock", "--restart", "never"], &["sleep", "3"]);
    watch.ended("clock", 1);
    let now = sealed.show("dies");
    assert_eq!((&now.session, now.state.as_str()), (&stopped.session, "sleeping"));
    assert!(sealed.marked(&now).is_empty());
}

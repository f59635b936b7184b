//! A session's process is killed: its end is recorded, the next session runs at once.

use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::json;

use crate::processes::{running, signal};
use crate::sealed::{Sealed, pid};
use crate::watch::{is, time};

const AGENTS: usize = 50;
/// Of the median: what a busy machine does to one of fifty is not ours.
const LIMIT: Duration = Duration::from_millis(100);

// covers: G-01, S-03, X-02
#[test]
fn each_of_50_killed_sessions_is_followed_by_the_next_at_once() {
    let sealed = Sealed::up();
    let agents: Vec<_> = (0..AGENTS)
        .map(|n| sealed.spawn_with(&[&format!("agent-{n}")], &["sleep", "1000"]))
        .collect();
    // A session that lived for a second is followed at once; this one is the clock that says so.
    sealed.spawn_with(&["clock", "--restart", "never"], &["sleep", "1.1"]);
    let mut watch = sealed.watch();
    watch.ended("clock", 1);

    let mut waits = Vec::new();
    for agent in &agents {
        let process = running(pid(agent));
        let (killed_at, begun) = (SystemTime::now(), Instant::now());
        assert!(signal(process, Signal::KILL));
        let next = watch.running(&agent.name, 2);
        let recorded = time(&next.event.at).duration_since(killed_at).expect("after the kill");
        waits.push((recorded, next.arrived - begun));
    }

    waits.sort();
    let (recorded, heard) = waits[AGENTS / 2];
    println!("recorded, heard: median {recorded:?}, {heard:?}, slowest {:?}", waits[AGENTS - 1]);
    assert!(recorded < LIMIT && heard < LIMIT, "{recorded:?} recorded, {heard:?} heard");
    for agent in &agents {
        let (ended, exit) = watch.ended(&agent.name, 1);
        assert_eq!(exit, json!({"signal": 9}), "{}", agent.name);
        let next = watch.wait("the next session is requested", |seen| {
            is(&seen.event, &agent.name, "session-wanted", 2).then(|| seen.event.at.clone())
        });
        assert_eq!(next, ended.event.at, "{}: requested in the moment of the end", agent.name);
        let now = sealed.show(&agent.name);
        let session = now.session.expect("a session");
        assert_eq!((session.number, session.phase.as_str()), (2, "running"));
        assert_eq!(now.predecessor_id, agent.session.as_ref().map(|first| first.id.clone()));
        assert_eq!(now.previous_exit.and_then(|exit| exit.signal), Some(9));
        assert_eq!((now.respawn_count, now.state.as_str()), (1, "working"));
    }
    sealed.assert_nobody_doubled();
}

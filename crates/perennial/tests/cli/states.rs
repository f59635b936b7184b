//! States as they are seen from outside, and how a session's end is read.

use perennial_api::{Agent, EventView};
use perennial_core::event::{AgentEvent, Birth};
use perennial_core::id::{AgentId, NodeId};
use perennial_core::launch::{BARE_COMMAND, Host, Launch};
use perennial_core::reason::{Evidence, Finding, Witness};
use perennial_core::restart::Restart;
use perennial_core::time::Time;

use crate::record;
use crate::sealed::Sealed;
use crate::vocabulary::is_told;

// covers: J-01
#[test]
fn states_are_explicit_from_hatching_to_expired() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("ada", "read x");
    assert_eq!((agent.state.as_str(), agent.roster.as_str()), ("working", "living"));
    assert_eq!((agent.reason.as_str(), agent.evidence.witness.as_str()), ("running", "kernel"));
    let events: Vec<EventView> = sealed
        .client()
        .get("/v1/events?agent=ada")
        .and_then(|answer| answer.read())
        .expect("events");
    let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
    let order = ["hatched", "session-wanted", "session-starting", "session-running", "moved"];
    let places: Vec<_> = order.map(|kind| kinds.iter().position(|seen| *seen == kind)).to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{kinds:?}");
    sealed.ok(["stop", "ada"]);
    let asleep = sealed.show("ada");
    assert_eq!((asleep.state.as_str(), asleep.roster.as_str()), ("sleeping", "freezer"));
    let woken: Agent = sealed.json(&["wake", "ada"]);
    assert_eq!(woken.state, "working");
    sealed.watch().wait("it was waking in between", |seen| {
        (seen.event.kind == "moved" && seen.event.data["to"] == "waking").then_some(())
    });

    // Hatched past its limit without a name, as a lead's report could bring about: expired, hidden,
    // kept.
    let id = AgentId(7);
    sealed.ok(["down"]);
    record::append(&sealed, id, |at| vec![AgentEvent::Hatched(Box::new(nameless(&sealed, at)))]);
    sealed.start_daemon();
    sealed.watch().wait("it is expired", |seen| {
        (seen.event.data["to"] == "expired" && seen.event.kind == "moved").then_some(())
    });
    let expired: Vec<Agent> = sealed.json(&["ls", "--state", "expired"]);
    assert_eq!(expired.len(), 1, "{expired:?}");
    assert_eq!(
        (expired[0].roster.as_str(), expired[0].reason.as_str()),
        ("cemetery", "never-named")
    );
    assert_eq!(sealed.ls().len(), 1, "hidden unless asked for");
    is_told(&sealed, &expired[0].id, "expired", Some("failed"));
    // The store has it when it has left memory.
    sealed.ok(["down"]);
    sealed.start_daemon();
    assert_eq!(sealed.json::<Vec<Agent>>(&["ls", "--state", "expired"]).len(), 1);
    assert!(sealed.json::<Vec<Agent>>(&["ls", "--all"]).iter().all(|agent| agent.name == "ada"));
    assert_eq!(sealed.show(&expired[0].id).state, "expired");
}

fn nameless(sealed: &Sealed, at: Time) -> Birth {
    Birth {
        name: None,
        role: None,
        parent: None,
        node: NodeId::HOME,
        launch: Launch {
            harness: BARE_COMMAND.to_owned(),
            host: Host::Shim,
            argv: vec!["true".to_owned()],
            dir: sealed.dir.display().to_string(),
            env_names: Vec::new(),
            project: sealed.dir.display().to_string(),
            options: Default::default(),
        },
        restart: Restart::Never,
        evidence: Evidence { witness: Witness::Daemon, fact: Finding::TimeCame, at },
        until: at,
    }
}

#[test]
fn a_sessions_end_is_read_by_the_table() {
    let sealed = Sealed::up();
    for (name, restart, script, state, reason) in [
        ("clean-never", "never", "exit 0", "sleeping", "finished"),
        ("clean-on-crash", "on-crash", "exit 0", "sleeping", "finished"),
        ("crash-never", "never", "exit 3", "sleeping", "crashed-restart-off"),
        ("killed-never", "never", "kill -9 $$", "sleeping", "crashed-restart-off"),
    ] {
        sealed.spawn_with(&[name, "--restart", restart], &["/bin/sh", "-c", script]);
        sealed.watch().ended(name, 1);
        let agent = sealed.show(name);
        assert_eq!((agent.state.as_str(), agent.reason.as_str()), (state, reason), "{name}");
        assert_eq!(agent.session.map(|session| session.number), Some(1), "{name}");
    }
    // Clean, and always on: the next session follows.
    sealed.spawn_with(&["clean-always", "--restart", "always"], &["/bin/sh", "-c", "exit 0"]);
    let mut watch = sealed.watch();
    let (_, exit) = watch.ended("clean-always", 2);
    assert_eq!(exit, serde_json::json!({"code": 0}));
    sealed.ok(["stop", "clean-always"]);
}

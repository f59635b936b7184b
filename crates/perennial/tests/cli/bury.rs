//! `bury`: an agent is retired for good, its record stays, and its name can be used again.

use perennial_api::Agent;

use crate::sealed::Sealed;
use crate::send::{WITNESS, send_waiting, sent, state};

// covers: J-12
#[test]
fn a_buried_agent_is_kept_and_its_name_can_be_used_again() {
    let sealed = Sealed::up();
    let first = sealed.spawn("bob", "echo first; read x");
    let buried: Agent = sealed.json(&["bury", "bob", "--summary", "parser done"]);
    assert_eq!((buried.state.as_str(), buried.roster.as_str()), ("dead", "cemetery"));
    assert_eq!(buried.summary.as_deref(), Some("parser done"));
    assert!(sealed.marked(&first).is_empty(), "its session is over");
    for args in [
        &["wake", "bob"][..],
        &["stop", "bob"],
        &["send", "bob", "x"],
        &["bury", "bob", "--summary", "again"],
    ] {
        sealed.refused(3, args);
    }
    let second = sealed.spawn("bob", "read x");
    sealed.ok(["bury", "bob", "--summary", "second"]);
    let third = sealed.spawn("BOB", "read x");
    for (target, id) in [
        ("bob", &third.id),
        ("bob~0", &third.id),
        ("bob~1", &second.id),
        ("bob~2", &first.id),
        (first.id.as_str(), &first.id),
    ] {
        assert_eq!(&sealed.show(target).id, id, "{target}");
    }
    sealed.refused(4, &["show", "bob~3"]);
    assert!(sealed.ok(["logs", "bob~2"]).contains("first"), "what it printed is kept");
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.show("bob~2").summary.as_deref(), Some("parser done"));
    assert_eq!(sealed.json::<Vec<Agent>>(&["ls", "--roster", "cemetery"]).len(), 2);
}

#[test]
fn texts_that_it_has_not_seen_are_returned_and_listed() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    let id = send_waiting(&sealed, "bob", "do it now");
    let buried = sealed.ok(["bury", "bob", "--summary", "done"]);
    assert!(buried.contains(&format!("{id}  do it now")), "{buried}");
    assert_eq!(state(&sent(&sealed, "bob")[0]), ("returned", ""));
}

//! `rename` and `bury`: names pass on, identities stay.

use perennial_api::Agent;

use crate::sealed::{Sealed, pid};

#[test]
fn a_renamed_agent_is_the_same_one() {
    let sealed = Sealed::up();
    let bob = sealed.spawn("bob", "read x");
    sealed.spawn("eve", "read x");
    let robert: Agent = sealed.json(&["rename", "bob", "Robert"]);
    assert_eq!((robert.name.as_str(), &robert.id), ("Robert", &bob.id));
    assert_eq!(pid(&robert), pid(&bob));
    assert_eq!(sealed.show("robert").id, bob.id);
    assert_eq!(sealed.refused(3, &["rename", "robert", "EVE"]).kind, "name-taken");
    assert_eq!(sealed.show(&bob.id).name, "Robert");
    // Its old name is free, and the new one survives the daemon.
    sealed.spawn("bob", "read x");
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.show("robert").id, bob.id);
}

// covers: J-12
#[test]
fn a_buried_agent_is_kept_and_its_name_passes_on() {
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

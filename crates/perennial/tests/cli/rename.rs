//! `rename`: an agent gets another name and stays the same agent.

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
    assert_eq!(sealed.ok(["rename", "eve", "why"]), "eve is now called why\n");
    assert_eq!(sealed.ok(["rename", "why", "eve"]), "why is now called eve\n");
    assert_eq!(sealed.ok(["rename", "eve", "eve"]), "eve already has that name\n");
    assert_eq!(sealed.refused(3, &["rename", "robert", "EVE"]).kind, "name-taken");
    assert_eq!(sealed.show(&bob.id).name, "Robert");
    // Its old name is free, and the new one survives the daemon.
    sealed.spawn("bob", "read x");
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.show("robert").id, bob.id);
}

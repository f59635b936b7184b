//! A frozen agent, before there is a verb that freezes: its record is written while no daemon runs.

use perennial_core::event::{AgentEvent, Move};
use perennial_core::id::AgentId;
use perennial_core::reason::{Evidence, Finding, Reason, Witness};
use perennial_core::state::{Cause, State};

use crate::sealed::{Sealed, pid};
use crate::{processes, record};

/// Stops an agent, writes into the journal that it was frozen, and starts the next daemon.
pub fn freeze(sealed: &Sealed, name: &str) {
    let id: AgentId = sealed.show(name).id.parse().expect("an id");
    sealed.ok(["stop", name]);
    sealed.ok(["down"]);
    record::append(sealed, id, |at| {
        vec![AgentEvent::Moved(Move {
            cause: Cause::Frozen,
            to: State::Frozen,
            reason: Reason::FrozenByOrder,
            evidence: Evidence { witness: Witness::Daemon, fact: Finding::TimeCame, at },
            until: None,
        })]
    });
    sealed.start_daemon();
    assert_eq!(sealed.show(name).state, "frozen");
}

#[test]
fn nothing_wakes_a_frozen_agent() {
    let sealed = Sealed::up();
    sealed.spawn("cold", "read x");
    sealed.spawn("warm", "read x");
    freeze(&sealed, "cold");
    sealed.refused(6, &["wake", "cold"]);
    // A text is recorded, and waits: it wakes nobody.
    let sent = sealed.ok(["send", "cold", "x", "--json"]);
    assert!(sent.contains("has no running session"), "{sent}");
    // Neither a kill of the daemon nor everybody else's life changes it.
    processes::kill(processes::running(pid(&sealed.show("warm"))));
    sealed.watch().running("warm", 2);
    sealed.kill_daemon();
    sealed.start_daemon();
    let cold = sealed.show("cold");
    assert_eq!((cold.state.as_str(), cold.roster.as_str()), ("frozen", "freezer"));
    assert!(sealed.marked(&cold).is_empty());
    sealed.ok(["bury", "cold", "--summary", "no stuck state"]);
}

//! `why`: evidence, history, what happens next, what the reader can do.

use crate::sealed::Sealed;
use crate::send::{WITNESS, send_waiting};

#[test]
fn what_happens_next_follows_the_restart_policy() {
    let sealed = Sealed::up();
    for (restart, next) in [("never", "it sleeps"), ("always", "it is restarted")] {
        let agent = sealed.spawn_with(&[restart, "--restart", restart], &["/bin/cat"]);
        assert_eq!(agent.next, format!("{next} when its program ends"));
        assert!(sealed.ok(["why", restart]).contains(&agent.next));
    }
    sealed.ok(["stop", "never"]);
    assert_eq!(sealed.show("never").next, "it sleeps until it is woken");
}

#[test]
fn history_evidence_and_advice_have_headings() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    sealed.ok(["stop", "bob"]);
    let why = sealed.ok(["why", "bob"]);
    for part in [
        "evidence: stopped by the operator (person, ",
        "\nHistory:\n",
        "session 1 requested",
        "session 1 starting",
        "sleeping: stopped by the operator",
        "\nWhat happens next: it sleeps until it is woken\n",
        "\nWhat you can do:\n  perennial wake bob ",
    ] {
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn waiting_texts_are_listed_with_the_reason() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    let id = send_waiting(&sealed, "bob", "do it now");
    let why = sealed.ok(["why", "bob"]);
    for part in ["Waiting texts:", &id, "do it now", "the agent has no running session"] {
        assert!(why.contains(part), "{part}: {why}");
    }
}

//! `unsend`: withdraws a text that is still waiting.

use serde_json::Value;

use crate::sealed::Sealed;
use crate::send::{WITNESS, heard, send_waiting, sent, state};

#[test]
fn a_withdrawn_text_is_never_typed_and_an_unknown_one_is_not_found() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    let id = send_waiting(&sealed, "bob", "withdrawn");
    send_waiting(&sealed, "bob", "kept");
    assert_eq!(sealed.ok(["unsend", &id]), format!("withdrawn: {id}\n"));
    let over = sealed.refused(3, &["unsend", &id]);
    assert_eq!((over.detail.as_str(), over.next.as_str()), ("it has already been withdrawn", ""));
    sealed.ok(["wake", "bob"]);
    sealed.until("the other text is read", || heard(&sealed) == ["kept"]);
    assert_eq!(state(&sent(&sealed, "bob")[1]).0, "withdrawn");
    for unknown in ["msg_nonsense", "msg_00000000000000000000000001"] {
        assert_eq!(sealed.refused(4, &["unsend", unknown]).kind, "no-such-message");
    }
}

/// A line that the terminal will never accept needs a person, and everything that lists it says so.
#[test]
fn a_text_that_can_not_be_delivered_is_marked_as_needing_a_person() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "cat > /dev/null");
    let sent: Value = sealed.json(&["send", "bob", &"x".repeat(5000)]);
    let id = sent["id"].as_str().expect("an id");
    sealed.until("it was tried", || sealed.show("bob").needs_you);
    assert!(sealed.ok(["ls"]).lines().any(|line| line.starts_with("!  bob")));
    let why = sealed.ok(["why", "bob"]);
    assert!(why.contains(&format!("perennial unsend {id}")), "{why}");
    let card = sealed.ok(["show", "bob"]);
    assert!(card.contains("1 waiting; see perennial sent bob"), "{card}");
    sealed.ok(["unsend", id]);
    assert!(!sealed.show("bob").needs_you);
}

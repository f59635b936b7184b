//! `send`, `sent` and `unsend` with bare commands: recorded first, typed once, told how far they came.

use serde_json::Value;

use crate::sealed::Sealed;

/// Writes each line that it reads to a file.
const WITNESS: &str = "while read -r line; do echo \"$line\" >> heard; done";

fn heard(sealed: &Sealed) -> Vec<String> {
    let text = std::fs::read_to_string(sealed.dir.join("heard")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn sent(sealed: &Sealed, name: &str) -> Vec<Value> {
    serde_json::from_str(&sealed.ok(["sent", name, "--json"])).expect("a list")
}

fn state(message: &Value) -> (&str, &str) {
    let text = |key: &str| message[key].as_str().unwrap_or_default();
    (text("state"), text("why"))
}

#[test]
fn a_bare_command_gets_each_text_once_and_in_order() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    for number in 0..20 {
        sealed.ok(["send", "bob", &format!("text {number}")]);
    }
    let all: Vec<String> = (0..20).map(|number| format!("text {number}")).collect();
    sealed.until("all texts are read", || heard(&sealed) == all);
    let told = sealed.ok(["send", "bob", "--wait", "the last"]);
    assert!(told.contains("can't show that it read it"), "{told}");
    assert!(sent(&sealed, "bob").iter().all(|message| state(message).0 == "offered"));
}

#[test]
fn a_text_to_an_agent_without_a_session_waits_for_the_next_one() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    sealed.ok(["send", "bob", "first"]);
    let waits = sealed.ok(["send", "bob", "taken back", "--json"]);
    let id: Value = serde_json::from_str(&waits).expect("a message");
    let id = id["id"].as_str().expect("an id").to_owned();
    assert_eq!(state(&sent(&sealed, "bob")[1]), ("waiting", "the agent has no running session"));
    sealed.ok(["unsend", &id]);
    sealed.refused(3, &["unsend", &id]);
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.ok(["wake", "bob"]);
    sealed.until("it is read", || heard(&sealed) == ["first"]);
    let states: Vec<String> =
        sent(&sealed, "bob").iter().map(|message| state(message).0.to_owned()).collect();
    assert_eq!(states, ["withdrawn", "offered"]);
}

/// What was acknowledged is typed, and typed once, whatever the daemon's death cut off.
#[test]
fn a_killed_daemon_loses_and_doubles_nothing() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    let mut all = Vec::new();
    for round in 0..6 {
        for number in 0..3 {
            let text = format!("round {round} text {number}");
            sealed.ok(["send", "bob", &text]);
            all.push(text);
        }
        sealed.kill_daemon();
        sealed.start_daemon();
    }
    sealed.until("all texts are read", || heard(&sealed).len() >= all.len());
    sealed.ok(["send", "bob", "--wait", "the last"]);
    all.push("the last".to_owned());
    sealed.until("the last is read", || heard(&sealed).last() == all.last());
    assert_eq!(heard(&sealed), all);
}

#[test]
fn what_can_not_be_sent_is_refused_with_the_reason() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.refused(4, &["send", "nobody", "x"]);
    sealed.refused(2, &["unsend", "msg_nonsense"]);
    sealed.refused(4, &["unsend", "msg_00000000000000000000000001"]);
    sealed.ok(["bury", "bob", "--summary", "done"]);
    sealed.refused(3, &["send", "bob", "x"]);
    assert_eq!(sent(&sealed, "bob"), Vec::<Value>::new());
}

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
    let over = sealed.refused(3, &["unsend", &id]);
    assert!(!over.next.is_empty(), "{over:?}");
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
    let empty = sealed.refused(3, &["send", "bob", ""]);
    assert_eq!(empty.kind, "unsendable");
    assert!(empty.detail.contains("empty"), "{empty:?}");
    assert!(empty.next.contains("perennial send bob TEXT"), "{empty:?}");
    let long = sealed.refused(2, &["send", "bob", &"x".repeat(61_440)]);
    assert!(long.next.contains("file"), "{long:?}");
    sealed.refused(2, &["sent", "bob", "-n", "0"]);
    sealed.refused(4, &["unsend", "msg_nonsense"]);
    sealed.refused(4, &["unsend", "msg_00000000000000000000000001"]);
    sealed.ok(["bury", "bob", "--summary", "done"]);
    sealed.refused(3, &["send", "bob", "x"]);
    assert_eq!(sent(&sealed, "bob"), Vec::<Value>::new());
}

/// Sends a text to an agent without a session; its id.
fn send_waiting(sealed: &Sealed, name: &str, text: &str) -> String {
    let sent: Value = sealed.json(&["send", name, text]);
    assert_eq!(state(&sent), ("waiting", "the agent has no running session"));
    sent["id"].as_str().expect("an id").to_owned()
}

#[test]
fn waiting_ends_when_the_time_is_up_and_the_text_stays() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    let ran = sealed.run(["send", "bob", "--wait", "--timeout", "1", "later"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.stdout.starts_with("recorded for bob: msg_"), "{ran:?}");
    assert!(ran.stderr.contains("not seen within 1 s; it still waits"), "{ran:?}");
    sealed.refused(2, &["send", "bob", "--timeout", "1", "without --wait"]);
    sealed.ok(["wake", "bob"]);
    sealed.until("it is read", || heard(&sealed) == ["later"]);
}

#[test]
fn a_text_that_waits_is_shown_by_ls_and_why_and_told_of_at_burial() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    assert!(!sealed.ok(["ls"]).contains("TEXTS"));
    let id = send_waiting(&sealed, "bob", "do it now");
    assert_eq!(sealed.show("bob").texts_waiting, 1);
    assert!(sealed.ok(["ls"]).contains("TEXTS"));
    let why = sealed.ok(["why", "bob"]);
    for part in ["Texts that wait:", &id, "do it now", "the agent has no running session"] {
        assert!(why.contains(part), "{part}: {why}");
    }
    let buried = sealed.ok(["bury", "bob", "--summary", "done"]);
    assert!(buried.contains(&format!("{id}  do it now")), "{buried}");
    assert_eq!(state(&sent(&sealed, "bob")[0]), ("returned", ""));
}

/// A text whose body is lost, and one whose record can't be read, say so, and hold up nobody's wait.
#[test]
fn a_damaged_text_says_so() {
    let sealed = Sealed::up();
    for name in ["body", "record"] {
        sealed.spawn(name, "read x");
        sealed.ok(["stop", name]);
    }
    let body = send_waiting(&sealed, "body", "the body is lost");
    let record = send_waiting(&sealed, "record", "the record is damaged");
    sealed.kill_daemon();
    let journal = rusqlite::Connection::open(sealed.home.journal()).expect("a database");
    let lost = "DELETE FROM text WHERE body = 'the body is lost'";
    let damaged = "UPDATE event SET payload = '{' WHERE kind = 'message-recorded'
        AND payload LIKE '%the record is damaged%'";
    for change in [lost, damaged] {
        assert_eq!(journal.execute(change, []).expect("sql"), 1, "{change}");
    }
    drop(journal);
    sealed.start_daemon();
    let of_record = sent(&sealed, "record");
    let (waits, why) = state(&of_record[0]);
    assert!(waits == "waiting" && why.contains("it will not be delivered"), "{of_record:?}");
    assert_eq!(of_record[0]["is_final"], true);
    sealed.ok(["unsend", &record]);
    assert_eq!(state(&sent(&sealed, "record")[0]).0, "withdrawn");
    sealed.ok(["wake", "body"]);
    let reason = "its text can't be read from the journal; take it back and send it again";
    sealed.until("it says why", || state(&sent(&sealed, "body")[0]) == ("waiting", reason));
    sealed.ok(["unsend", &body]);
}

/// The kernel would cut the line and tell nobody.
#[test]
fn a_line_that_its_terminal_would_cut_waits_and_says_why() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    let sent_long: Value = sealed.json(&["send", "bob", &"x".repeat(5000)]);
    let id = sent_long["id"].as_str().expect("an id").to_owned();
    sealed.until("it says why", || state(&sent(&sealed, "bob")[0]).1.contains("4,095 bytes"));
    sealed.ok(["unsend", &id]);
    let fits = "y".repeat(4095);
    sealed.ok(["send", "bob", &fits]);
    sealed.until("it is read", || heard(&sealed) == [fits.as_str()]);
}

/// A line that its terminal will never take waits for a person, and everything that lists it says so.
#[test]
fn a_text_that_only_a_person_can_move_is_told_as_such() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "cat > /dev/null");
    let sent: Value = sealed.json(&["send", "bob", &"x".repeat(5000)]);
    let id = sent["id"].as_str().expect("an id");
    sealed.until("it was tried", || sealed.show("bob").needs_you);
    assert!(sealed.ok(["ls"]).lines().any(|line| line.starts_with("!  bob")));
    let why = sealed.ok(["why", "bob"]);
    assert!(why.contains(&format!("perennial unsend {id}")), "{why}");
    let card = sealed.ok(["show", "bob"]);
    assert!(card.contains("1 waits: perennial sent bob"), "{card}");
    sealed.ok(["unsend", id]);
    assert!(!sealed.show("bob").needs_you);
}

#[test]
fn an_unknown_option_before_the_text_is_named_and_not_typed() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    for option in ["--wiat", "-x"] {
        let problem = sealed.refused(2, &["send", "bob", option, "hello"]);
        assert!(problem.title.contains(option), "{problem:?}");
    }
    sealed.ok(["send", "bob", "--", "-x"]);
    sealed.until("it is read", || heard(&sealed) == ["-x"]);
}

//! `send` with bare commands: a text is recorded first, and typed once.

use serde_json::Value;

use crate::sealed::Sealed;

/// Writes each line that it reads to a file.
pub const WITNESS: &str = "while read -r line; do echo \"$line\" >> heard; done";

pub fn heard(sealed: &Sealed) -> Vec<String> {
    let text = std::fs::read_to_string(sealed.dir.join("heard")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

pub fn sent(sealed: &Sealed, name: &str) -> Vec<Value> {
    serde_json::from_str(&sealed.ok(["sent", name, "--json"])).expect("a list")
}

pub fn state(message: &Value) -> (&str, &str) {
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
    assert!(told.contains("can't confirm that it has read the text"), "{told}");
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

/// An acknowledged text is typed exactly once, whenever the daemon is killed.
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
fn a_text_that_can_not_be_sent_is_refused_with_the_reason() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.refused(4, &["send", "nobody", "x"]);
    let empty = sealed.refused(2, &["send", "bob", ""]);
    assert_eq!(empty.kind, "no-text");
    assert!(empty.detail.contains("empty"), "{empty:?}");
    assert!(empty.next.contains("perennial send bob '"), "{empty:?}");
    let long = sealed.refused(2, &["send", "bob", &"x".repeat(61_440)]);
    assert!(long.next.contains("file"), "{long:?}");
    sealed.refused(2, &["sent", "bob", "-n", "0"]);
    sealed.ok(["bury", "bob", "--summary", "done"]);
    sealed.refused(3, &["send", "bob", "x"]);
    assert_eq!(sent(&sealed, "bob"), Vec::<Value>::new());
}

/// Sends a text to an agent without a session; its id.
pub fn send_waiting(sealed: &Sealed, name: &str, text: &str) -> String {
    let sent: Value = sealed.json(&["send", name, text]);
    assert_eq!(state(&sent), ("waiting", "the agent has no running session"));
    sent["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_timeout_ends_the_wait_and_the_text_keeps_waiting() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    let ran = sealed.run(["send", "bob", "--wait", "--timeout", "1", "later"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert!(ran.stdout.starts_with("not seen within 1 s; the text is still waiting"), "{ran:?}");
    assert!(ran.stdout.contains("perennial wake bob"), "{ran:?}");
    let all = ran.stdout + &ran.stderr;
    assert_eq!(all.matches("recorded: msg_").count(), 1, "{all}");
    sealed.refused(2, &["send", "bob", "--timeout", "1", "without --wait"]);
    sealed.ok(["wake", "bob"]);
    sealed.until("it is read", || heard(&sealed) == ["later"]);
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

/// Keys are a person's, not messages: nothing is recorded, and what they leave in the line is a draft.
#[test]
fn keys_reach_the_terminal_at_once_and_are_a_persons_draft() {
    let sealed = Sealed::up();
    sealed.spawn("bob", &format!("trap 'echo interrupted >> heard' INT; {WITNESS}"));
    let told = sealed.ok(["send", "bob", "--no-enter", "half a line"]);
    assert_eq!(told, "typed into bob's terminal (session 1)\n");
    sealed.ok(["send", "bob", "a text"]);
    sealed.until("it waits for the draft", || state(&sent(&sealed, "bob")[0]).0 == "waiting");
    assert!(heard(&sealed).is_empty(), "no Enter was pressed");
    let pressed: Value = sealed.json(&["send", "bob", "--key", "!", "--key", "Enter"]);
    assert_eq!((&pressed["session"], &pressed["bytes"]), (&1.into(), &2.into()));
    sealed.until("both are read", || heard(&sealed) == ["half a line!", "a text"]);
    assert_eq!(sent(&sealed, "bob").len(), 1, "keys are no messages");
    // Text and keys in one go.
    sealed.ok([
        "send",
        "bob",
        "--no-enter",
        "abX",
        "--key",
        "BSpace",
        "--key",
        "c",
        "--key",
        "Enter",
    ]);
    sealed.until("it is read", || heard(&sealed).last().is_some_and(|line| line == "abc"));
    sealed.ok(["send", "bob", "--key", "C-c"]);
    sealed.until("it is interrupted", || heard(&sealed).contains(&"interrupted".to_owned()));
}

#[test]
fn keys_that_make_no_sense_are_refused_and_nobody_is_typed_into() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    let long = "x".repeat(5000);
    for args in [
        &["send", "bob", "--key", "Entr"][..],
        &["send", "bob", "text", "--key", "Enter"],
        &["send", "bob", "--no-enter", "two\nlines"],
        &["send", "bob", "--no-enter", ""],
        &["send", "bob", "--no-enter", &long],
        &["send", "bob", "--no-enter", "x", "--wait"],
        &["send", "bob"],
    ] {
        assert_eq!(sealed.run(args).code, 2, "{args:?}");
    }
    let unknown = sealed.run(["send", "bob", "--key", "Entr"]).stderr;
    assert!(unknown.contains("BSpace") && unknown.contains("F12"), "{unknown}");
    sealed.ok(["send", "bob", "--key", "Enter"]);
    sealed.until("one empty line is read", || heard(&sealed) == [""]);
    sealed.ok(["stop", "bob"]);
    sealed.refused(3, &["send", "bob", "--key", "Enter"]);
}

#[test]
fn a_text_comes_from_a_file_or_standard_input_if_it_is_text() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    let path = |name: &str| sealed.dir.join(name).display().to_string();
    std::fs::write(path("good"), "from a file").expect("written");
    sealed.ok(["send", "bob", "--file", "good"]);
    let mut command = sealed.command(["send", "bob", "-"]);
    let stdin = std::fs::File::open(path("good")).expect("it is there");
    command.stdin(stdin).stdout(std::process::Stdio::null());
    assert!(command.status().expect("the binary runs").success());
    sealed.until("both are read", || heard(&sealed) == ["from a file", "from a file"]);
    for (name, bytes) in [("nul", &b"a\0b"[..]), ("latin", b"caf\xe9")] {
        std::fs::write(path(name), bytes).expect("written");
        assert_eq!(sealed.refused(1, &["send", "bob", "--file", name]).kind, "not-text");
    }
    std::fs::write(path("huge"), vec![b'x'; 3 << 20]).expect("written");
    assert_eq!(sealed.run(["send", "bob", "--file", "huge"]).code, 2);
    assert_eq!(sealed.refused(1, &["send", "bob", "--file", "absent"]).kind, "no-text");
    assert_eq!(sent(&sealed, "bob").len(), 2);
}

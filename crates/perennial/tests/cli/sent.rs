//! `sent`: the texts of an agent, and what each waits for.

use serde_json::Value;

use crate::sealed::Sealed;
use crate::send::{WITNESS, heard, send_waiting, sent, state};

#[test]
fn waiting_texts_are_counted_by_ls_and_show() {
    let sealed = Sealed::up();
    sealed.spawn("bob", WITNESS);
    sealed.ok(["stop", "bob"]);
    assert!(!sealed.ok(["ls"]).contains("TEXTS"));
    assert_eq!(sealed.ok(["sent", "bob"]), "no texts sent\n");
    send_waiting(&sealed, "bob", "do it now");
    assert_eq!(sealed.show("bob").texts_waiting, 1);
    assert!(sealed.ok(["ls"]).contains("TEXTS"));
}

/// A text whose body is lost and one whose record is damaged both say so.
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
    assert!(waits == "waiting" && why.contains("it will not be typed again"), "{of_record:?}");
    assert_eq!(of_record[0]["is_final"], true);
    sealed.ok(["unsend", &record]);
    assert_eq!(state(&sent(&sealed, "record")[0]).0, "withdrawn");
    sealed.ok(["wake", "body"]);
    let reason = "the text can't be read from the journal; withdraw it with `perennial unsend` and send it again";
    sealed.until("it says why", || state(&sent(&sealed, "body")[0]) == ("waiting", reason));
    sealed.ok(["unsend", &body]);
}

/// The kernel would cut the line without a word.
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

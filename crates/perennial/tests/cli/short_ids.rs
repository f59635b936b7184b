//! Ids by their end: what lists show can be pasted back wherever an id is asked for.

use perennial_api::escalation::Escalation;
use perennial_api::mail::{Mail, MailList};
use perennial_api::signal::SignalList;

use crate::sealed::{Sealed, finish};
use crate::task::{add, show};

/// The first column of a table's first row, on a terminal of 80 columns, or of 40.
#[track_caller]
fn first_id(sealed: &Sealed, words: &[&str], columns: &str) -> String {
    let mut command = sealed.command(words);
    command.env("COLUMNS", columns);
    let ran = finish(command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut lines = ran.stdout.lines();
    let titles = lines.next().expect("titles");
    assert!(titles.starts_with("ID "), "{}", ran.stdout);
    lines.next().expect("a row").split_whitespace().next().expect("an id").to_owned()
}

#[test]
fn what_a_list_shows_is_accepted_wherever_an_id_is() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "bob", "--", "sleep", "1000000"]);
    let task = add(&sealed, "fix it", &[]);
    for columns in ["80", "40"] {
        let id = first_id(&sealed, &["task", "ls"], columns);
        assert!(task.id.ends_with(&id) && id.len() == 10, "{id}");
        for typed in [id.clone(), id[2..].to_owned(), format!("tsk_{id}"), id.to_uppercase()] {
            assert_eq!(show(&sealed, &typed).id, task.id, "{typed}");
        }
    }
    let end = &task.id[task.id.len() - 8..];
    sealed.ok(["task", "note", end, "-m", "seen"]);
    let waits = add(&sealed, "later", &["--depends-on", end, "--parent", end]);
    assert_eq!((&waits.depends_on[0], waits.parent.as_ref()), (&task.id, Some(&task.id)));
    sealed.ok(["task", "ls", "--before", end]);
    sealed.ok(["spawn", "eve", "--task", end, "--", "sleep", "1000000"]);
    assert_eq!(show(&sealed, end).assignee.as_deref(), Some("eve"));
    sealed.ok(["task", "drop", end, "-m", "no longer needed"]);
    assert_eq!(show(&sealed, end).state, "dropped");
    // Too short, or nobody's: not found, and what is expected is said.
    for typed in [&end[1..], "zzzzzzzz", "tsk_", "bob"] {
        let problem = sealed.refused(4, &["task", "show", typed]);
        assert_eq!(problem.kind, "no-such-task");
        assert!(problem.detail.contains("last 8 characters"), "{problem:?}");
    }

    let mails: Vec<Mail> = sealed.json(&["mail", "send", "operator", "-s", "hi", "-m", "there"]);
    for columns in ["80", "40"] {
        let id = first_id(&sealed, &["mail", "ls"], columns);
        assert!(mails[0].id.ends_with(&id), "{id}");
        assert!(sealed.ok(["mail", "read", &id]).contains("there"));
        let thread: MailList = sealed.json(&["mail", "ls", "--thread", &id]);
        assert_eq!(thread.mails[0].id, mails[0].id);
    }
    let signals: SignalList = sealed.json(&["signal", "ls"]);
    let id = first_id(&sealed, &["signal", "ls"], "40");
    assert!(signals.signals[0].id.ends_with(&id));
    let older: SignalList = sealed.json(&["signal", "ls", "--before", &id]);
    assert_eq!(older.signals.len(), signals.signals.len() - 1);
    let raised: Escalation =
        sealed.json(&["escalate", "--to", "operator", "-s", "look", "-m", "now"]);
    let id = first_id(&sealed, &["escalations"], "40");
    assert!(raised.id.ends_with(&id));
    let older: Vec<Escalation> = sealed.json(&["escalations", "--before", &id]);
    assert!(older.is_empty());
}

/// A mail that Perennial sends back has its id from the one that came back: eight digits are not enough for the two.
#[test]
fn an_end_that_two_have_is_refused_with_both() {
    let sealed = Sealed::up();
    sealed.ok(["spawn", "bob", "--", "sleep", "1000000"]);
    let sent: Vec<Mail> = sealed.json(&["mail", "send", "bob", "-s", "hi", "-m", "there"]);
    sealed.ok(["bury", "bob"]);
    let came_back = || -> Option<Mail> {
        let list: MailList = sealed.json(&["mail", "ls"]);
        list.mails.into_iter().find(|mail| mail.subject.contains("hi"))
    };
    sealed.until("returned", || came_back().is_some());
    let (sent, back) = (&sent[0].id, came_back().expect("a mail").id);
    let end = &sent[sent.len() - 8..];
    assert!(back.ends_with(end), "{sent} {back}");
    let problem = sealed.refused(3, &["mail", "read", end]);
    assert_eq!(problem.kind, "ambiguous-id");
    assert!(problem.detail.contains(sent) && problem.detail.contains(&back), "{problem:?}");
    for id in [sent, &back] {
        sealed.ok(["mail", "read", &id[id.len() - 10..]]);
    }
}

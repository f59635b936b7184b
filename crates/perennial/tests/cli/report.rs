//! `report`: an agent without tools says where its work stands, from outside.

use crate::mail::{within, worker};
use crate::sealed::{PROGRAM, Sealed};
use crate::task::{add, show};

#[test]
fn an_agent_reports_on_itself_and_nobody_else_does() {
    let sealed = Sealed::up();
    let script = "\"$0\" report --phase testing --summary 'the tests run' > said; read x";
    sealed.ok(["spawn", "bob", "--", "/bin/sh", "-c", script, PROGRAM]);
    sealed.until("it is reported", || sealed.show("bob").work_phase.as_deref() == Some("testing"));
    assert_eq!(sealed.show("bob").summary.as_deref(), Some("the tests run"));
    sealed.until("it is told", || {
        std::fs::read_to_string(sealed.dir.join("said")).is_ok_and(|said| said == "recorded\n")
    });
    let problem = sealed.refused(3, &["report", "--summary", "by a person"]);
    assert_eq!(problem.kind, "not-a-session");
    for wrong in [&["report"][..], &["report", "--phase", "x"], &["report", "--context", "101"]] {
        assert_eq!(sealed.run(wrong).code, 2, "{wrong:?}");
    }
}

/// A bare command's window is its session: what one session reported of its own says nothing of the next.
#[test]
fn a_new_session_of_a_bare_command_begins_a_new_window() {
    let sealed = Sealed::up();
    worker(&sealed, "bob", &[]);
    let report = |percent: u64| {
        let said = within(&sealed, "bob", &format!("{PROGRAM} report --context {percent}"));
        assert_eq!(said, "recorded\n");
    };
    let refused = || {
        let problem = sealed.refused(3, &["task", "add", "one more", "--to", "bob"]);
        assert_eq!(problem.kind, "clock-nearly-out", "{problem:?}");
    };
    let first = add(&sealed, "first", &["--to", "bob"]);
    let second = add(&sealed, "second", &["--to", "bob"]);
    assert_eq!((first.state.as_str(), second.state.as_str()), ("taken", "open"));
    report(92);
    refused();
    // Thresholds pass once per window: a lower figure does not take one back.
    report(10);
    refused();
    sealed.ok(["task", "done", &first.id]);
    assert_eq!(show(&sealed, &second.id).state, "open", "nothing is given at 90 %");
    // What waited for the new window is given with it.
    sealed.ok(["restart", "bob"]);
    let given = show(&sealed, &second.id);
    assert_eq!((given.state.as_str(), given.assignee.as_deref()), ("taken", Some("bob")));
    assert_eq!(given.last_sessions[0].number, 2);
    sealed.ok(["task", "done", &second.id]);
    assert_eq!(add(&sealed, "third", &["--to", "bob"]).state, "taken");
    // The same after a stop, and by a daemon that has read it all from the journal.
    report(95);
    refused();
    sealed.ok(["stop", "bob"]);
    refused();
    sealed.ok(["wake", "bob"]);
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(add(&sealed, "fourth", &["--to", "bob"]).state, "open", "it has the third");
    report(91);
    refused();
}

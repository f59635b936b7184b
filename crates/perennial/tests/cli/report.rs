//! `report`: an agent without tools says where its work stands, from outside.

use crate::sealed::{PROGRAM, Sealed};

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

//! `doctor`: what it checks, with and without a daemon. And every exit code.

use serde_json::Value;

use crate::claude::Stage;
use crate::sealed::Sealed;

#[test]
fn doctor_works_with_and_without_a_daemon() {
    let sealed = Sealed::new();
    let ran = sealed.run(["doctor", "--json"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    sealed.start_daemon();
    let report: Value = sealed.json(&["doctor"]);
    let findings = report["findings"].as_array().expect("findings");
    let verdict = |what: &str| {
        findings
            .iter()
            .find(|finding| finding["what"] == what)
            .map(|finding| finding["verdict"].clone())
    };
    for what in ["home", "daemon", "store", "agents", "identity"] {
        assert_eq!(verdict(what), Some("ok".into()), "{what}: {report:#}");
    }
    // Whether there are cgroups depends on the machine; doctor says which.
    assert!(verdict("cgroup").is_some());
    assert_eq!(report["health"]["identity"]["you"], "person");
    assert!(sealed.ok(["doctor"]).contains("identified as: person"));
}

/// Which agent CLIs there are, their versions, what works with each; and a configuration's faults.
#[test]
fn doctor_knows_agent_clis_and_reads_the_configuration() {
    let stage = Stage::with_config("notifi = []\n");
    let asked = stage.command(&["doctor", "--json"]).output().expect("it runs");
    let report: Value = serde_json::from_slice(&asked.stdout).expect("a report");
    let text = |what: &str| {
        let findings = report["findings"].as_array().expect("findings");
        let found = findings.iter().find(|finding| finding["what"] == what);
        found.map(|finding| finding["text"].to_string()).unwrap_or_default()
    };
    let cli = text("agent cli");
    for word in ["claude 2.1.325: ", "resume", "hooks", "context clock (status-line)"] {
        assert!(cli.contains(word), "no {word:?} in {cli}");
    }
    assert!(text("config").contains("notifi"), "{report:#}");
}

#[test]
fn every_exit_code_but_7_can_be_seen() {
    let sealed = Sealed::new();
    assert_eq!(sealed.refused(5, &["ls"]).kind, "no-daemon");
    assert_eq!(sealed.run(["--help"]).code, 0);
    assert_eq!(sealed.run(["--version"]).code, 0);
    assert_eq!(sealed.run(["no-such-verb"]).code, 2);
    assert_eq!(sealed.run(["spawn"]).code, 2);
    // A home that can't be created.
    std::fs::write(&sealed.root, "in the way").expect("a file");
    assert_eq!(sealed.run(["up"]).code, 1);
    std::fs::remove_file(&sealed.root).expect("a file");
    sealed.start_daemon();
    sealed.spawn("bob", "read x");
    assert_eq!(sealed.refused(4, &["show", "no-one"]).kind, "no-such-agent");
    assert_eq!(sealed.refused(3, &["wake", "bob"]).kind, "running");
    crate::frozen::freeze(&sealed, "bob");
    assert_eq!(sealed.refused(6, &["wake", "bob"]).kind, "needs-approval");
}

/// A holder whose session has ended is no longer connected to.
#[test]
fn only_holders_of_running_sessions_are_counted() {
    let sealed = Sealed::up();
    for name in ["ada", "bob", "cid"] {
        sealed.spawn(name, "read x");
    }
    assert_eq!(sealed.health().holders_connected, 3);
    sealed.ok(["stop", "ada"]);
    sealed.ok(["bury", "bob", "--summary", "done"]);
    assert_eq!(sealed.health().holders_connected, 1);
    sealed.ok(["wake", "ada"]);
    assert_eq!(sealed.health().holders_connected, 2);
}

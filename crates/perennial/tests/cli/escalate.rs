//! `escalate` and `escalations`: a matter is raised step by step until somebody sees it.

use perennial_api::escalation::Escalation;
use perennial_api::mail::MailList;
use serde_json::json;

use crate::claude::{Stage, state, turns};
use crate::mail::{within, worker};
use crate::sealed::{PROGRAM, Sealed};

fn up(escalate_after_s: u64) -> Sealed {
    let sealed = Sealed::new();
    let path = sealed.home.config.join("config.toml");
    std::fs::create_dir_all(&sealed.home.config).expect("a directory");
    let text = format!("escalate_after_s = {escalate_after_s}\n");
    std::fs::write(path, text).expect("written");
    sealed.start_daemon();
    sealed
}

fn one(sealed: &Sealed) -> Escalation {
    sealed.json::<Vec<Escalation>>(&["escalations"]).swap_remove(0)
}

// covers: G-08
#[test]
fn what_nobody_sees_is_raised_and_what_is_seen_is_not() {
    let sealed = up(1);
    worker(&sealed, "boss", &[]);
    worker(&sealed, "lead", &["--parent", "boss"]);
    worker(&sealed, "kid", &["--parent", "lead"]);
    let escalate = |severity: &str| {
        let command = format!(
            "{PROGRAM} --json escalate --to parent --severity {severity} -s 'the API changed' -m 'see v2'"
        );
        let told = within(&sealed, "kid", &command);
        serde_json::from_str::<Escalation>(&told).unwrap_or_else(|_| panic!("{told}"))
    };
    // Seen by the first who is told: it ends there.
    let seen = escalate("low");
    assert_eq!((seen.state.as_str(), &seen.steps[..]), ("open", &["lead".to_owned()][..]));
    assert!(within(&sealed, "lead", &format!("{PROGRAM} mail read")).contains("see v2"));
    assert_eq!(one(&sealed).state, "seen");
    // Seen by nobody: up to the operator, who is told by whom it was not seen.
    let raised = escalate("critical");
    sealed.until("it is raised to the operator", || one(&sealed).steps.len() == 3);
    let told = one(&sealed);
    assert_eq!(
        (told.id, told.steps),
        (raised.id, ["lead", "boss", "operator"].map(Into::into).into())
    );
    assert_eq!((told.state.as_str(), told.raised_at), ("open", None));
    let mail: MailList = sealed.json(&["mail", "ls", "--unread"]);
    assert_eq!(mail.mails[0].subject, "escalation (critical, not seen by boss): the API changed");
    assert_eq!((mail.mails[0].priority.as_str(), &mail.mails[0].from[..]), ("urgent", "kid"));
    assert!(
        sealed.ok(["events"]).contains("escalation raised to operator, since nobody had seen it")
    );
    // It outlives the daemon, and ends when the operator reads it.
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(sealed.json::<Vec<Escalation>>(&["escalations", "--open"]).len(), 1);
    sealed.ok(["mail", "read"]);
    assert_eq!(one(&sealed).state, "seen");
    assert_eq!(sealed.json::<Vec<Escalation>>(&["escalations", "--open"]).len(), 0);
    let table = sealed.ok(["escalations"]);
    assert!(table.contains("lead, boss, operator") && table.contains("the API changed"), "{table}");
}

#[test]
fn addresses_and_texts_are_checked() {
    let sealed = up(900);
    sealed.ok(["spawn", "ada", "--role", "architect", "--", "sleep", "1000000"]);
    let one: Escalation =
        sealed.json(&["escalate", "--to", "role:architect", "-s", "two designs", "-m", "which?"]);
    assert_eq!((&one.steps[..], one.severity.as_str()), (&["ada".to_owned()][..], "medium"));
    assert!(one.raised_at.is_some());
    for (to, code, kind) in [
        ("parent", 2, "bad-address"),
        ("ada", 2, "bad-address"),
        ("role:ghost", 4, "no-such-role"),
        ("role:a b", 2, "bad-role"),
    ] {
        let problem = sealed.refused(code, &["escalate", "--to", to, "-s", "x"]);
        assert_eq!(problem.kind, kind, "{to}");
    }
    let long = "x".repeat(151);
    sealed.refused(2, &["escalate", "--to", "operator", "-s", &long]);
    for subject in [" ", "two\nlines"] {
        let words = ["escalate", "--to", "operator", "-s", subject, "-m", "a text"];
        assert_eq!(sealed.refused(2, &words).kind, "bad-subject", "{subject:?}");
    }
    // A holder who is buried leaves it to the role's next one.
    sealed.ok(["bury", "ada"]);
    let waiting: MailList = sealed.json(&["mail", "ls", "role:architect"]);
    assert_eq!(waiting.mails[0].subject, "escalation (medium): two designs");
    assert_eq!(self::one(&sealed).state, "open");
    sealed.ok(["unsend", &waiting.mails[0].id]);
    assert_eq!(self::one(&sealed).state, "withdrawn");
}

/// The model itself escalates; its parent is silent, and the operator reads it in the end.
// covers: G-08
#[test]
fn claude_code_escalates_and_is_heard_late() {
    let stage = Stage::with_config("escalate_after_s = 2\n");
    let mut watch = stage.sealed.watch();
    stage.sealed.ok(["spawn", "lead", "--", "sleep", "1000000"]);
    let input = json!({ "action": "escalate", "to": "parent", "severity": "high",
        "subject": "blocked", "text": "nobody answers" });
    let program = json!([
        { "tools": [{ "name": "mcp__perennial__signal", "input": input }] },
        { "text": "Escalated." },
    ]);
    stage.spawn("ada", &["--permission-mode", "manual", "--parent", "lead"], &turns(&program));
    state(&mut watch, "ada", "waiting", "idle");
    stage.sealed.until("it is raised", || {
        let all: Vec<Escalation> = stage.sealed.json(&["escalations", "--open"]);
        all.first().is_some_and(|one| one.steps == ["lead", "operator"])
    });
    let read = stage.sealed.ok(["mail", "read"]);
    assert!(read.contains("escalation (high, not seen by lead): blocked"), "{read}");
    assert!(read.contains("> nobody answers"), "{read}");
    assert_eq!(one(&stage.sealed).state, "seen");
}

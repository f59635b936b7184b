//! Tables in a terminal of 60 columns: no line is longer, and what a row is called stays.

use perennial_api::checkpoint::Checkpoint;
use perennial_api::escalation::Escalation;
use perennial_api::mail::{Mail, MailList};
use perennial_api::signal::{Signal, SignalList};
use perennial_api::snapshot::Snapshot;
use perennial_api::task::{Task, TaskList, TaskLoop, TaskStep};
use serde_json::json;

use super::paint::Paint;
use super::roster::Canvas;
use super::{checkpoint, escalation, mail, signal, snapshot, task, text, time};

const LONG: &str = "a-name-as-long-as-names-may-be-0123456789-0123456789-0123456789x";
const WORDS: &str =
    "words that go on and on, far beyond what a narrow terminal has room for in one line";
const AT: &str = "2026-11-01T12:00:00Z";

fn id(kind: &str) -> String {
    format!("{kind}_06c2fmmct2xk8e0mmct2xk8e0z")
}

fn tasks() -> TaskList {
    let step = TaskStep { text: WORDS.to_owned(), done: false };
    let open_loop = TaskLoop {
        from: LONG.to_owned(),
        to: LONG.to_owned(),
        raised: 12,
        next_at: Some("2026-12-01T12:00:00Z".to_owned()),
        ..TaskLoop::default()
    };
    let one = Task {
        id: id("tsk"),
        title: WORDS.to_owned(),
        state: "verified".to_owned(),
        reason: WORDS.to_owned(),
        assignee: Some(LONG.to_owned()),
        steps: vec![step; 100],
        added_at: AT.to_owned(),
        sessions: 12,
        open_loop: Some(open_loop),
        ..Task::default()
    };
    TaskList { tasks: vec![one], has_older: false }
}

fn signals() -> SignalList {
    let payload = json!({ "identity_name": LONG, "question": WORDS });
    let one = Signal {
        id: id("sig"),
        at: AT.to_owned(),
        kind: "ORCHESTRATOR_STUCK_FOREVER".to_owned(),
        from: LONG.to_owned(),
        to: LONG.to_owned(),
        payload: payload.as_object().expect("an object").clone(),
        ..Signal::default()
    };
    SignalList { signals: vec![one], ..SignalList::default() }
}

fn mails() -> MailList {
    let one = Mail {
        id: id("msg"),
        at: AT.to_owned(),
        from: LONG.to_owned(),
        to: LONG.to_owned(),
        state: "withdrawn".to_owned(),
        subject: WORDS.to_owned(),
        ..Mail::default()
    };
    MailList { mails: vec![one], unread: 3, ..MailList::default() }
}

fn tables(canvas: &Canvas<'_>) -> Vec<(&'static str, &'static str, String)> {
    let escalated = Escalation {
        id: id("esc"),
        at: AT.to_owned(),
        from: LONG.to_owned(),
        severity: "critical".to_owned(),
        subject: WORDS.to_owned(),
        state: "withdrawn".to_owned(),
        steps: vec![LONG.to_owned(), "operator".to_owned()],
        ..Escalation::default()
    };
    let taken = Checkpoint {
        number: 1234,
        at: AT.to_owned(),
        why: "before-compaction".to_owned(),
        phase: "implementation".to_owned(),
        summary: Some(WORDS.to_owned()),
        snapshot: Some(1234),
        ..Checkpoint::default()
    };
    let kept = Snapshot {
        number: 1234,
        at: AT.to_owned(),
        why: "before-restore".to_owned(),
        files: 1_234_567,
        bytes: 999_000_000,
        left_out: 12_345,
        base: Some("3f2c1a9d8b7e6f5a4c3b2a190817263544536271".to_owned()),
        ..Snapshot::default()
    };
    let (tasks, signals, mails) = (tasks(), signals(), mails());
    let asked = mail::Asked::default();
    vec![
        ("task ls", "ID", task::table(&tasks, "", canvas)),
        ("loops", "ID", task::loops(&tasks, canvas)),
        ("signal ls", "ID", signal::list(&signals, "", canvas)),
        ("escalations", "ID", escalation::list(&[escalated], 9, "", canvas)),
        ("checkpoints", "N", checkpoint::list(&[taken], 9, canvas)),
        ("snapshot ls", "N", snapshot::list(&[kept], None, canvas)),
        ("mail ls", "ID", mail::inbox(&mails, asked, canvas)),
        ("mail ls --sent", "ID", mail::outbox(&mails, asked, canvas)),
    ]
}

#[test]
fn tables_fit_narrow_terminals_and_keep_their_ids() {
    let clock = time::fixed();
    for width in [60, 70, 80] {
        let canvas = Canvas { clock: &clock, paint: Paint::OFF, width: Some(width), user: None };
        for (verb, first, shown) in tables(&canvas) {
            let titles = shown.lines().next().expect("titles").split_whitespace();
            let titles: Vec<&str> = titles.collect();
            assert_eq!(titles.first(), Some(&first), "{verb} at {width}: {shown}");
            let row = shown.lines().nth(1).expect("a row");
            let named = row.split_whitespace().next().expect("what it is called");
            assert!(["k8e0mmct2xk8e0z", "1234"].iter().any(|id| id.ends_with(named)), "{shown}");
            for line in shown.lines() {
                assert!(text::width(line) <= width, "{verb} at {width}: {line:?}\n{shown}");
            }
        }
    }
}

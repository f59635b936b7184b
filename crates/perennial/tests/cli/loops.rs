//! `loops`: the work of the buried, from outside.

use perennial_api::task::TaskList;

use crate::mail::{within, worker};
use crate::sealed::{PROGRAM, Sealed};
use crate::task::{add, show, subjects};

fn loops(sealed: &Sealed) -> Vec<(String, String, u64)> {
    let list: TaskList = sealed.json(&["loops"]);
    let open_loop = |task: perennial_api::task::Task| {
        let it = task.open_loop.expect("an open loop");
        (task.title, it.to, it.raised)
    };
    list.tasks.into_iter().map(open_loop).collect()
}

// covers: T-14
#[test]
fn the_work_of_the_buried_goes_to_their_parent_and_then_to_the_operator() {
    let sealed = Sealed::up();
    worker(&sealed, "ada", &[]);
    sealed.ok(["spawn", "bob", "--parent", "ada", "--", "sleep", "1000000"]);
    let first = add(&sealed, "first", &["--to", "bob"]);
    add(&sealed, "second", &["--to", "bob"]);
    assert_eq!(loops(&sealed), []);
    assert!(sealed.ok(["loops"]).contains("no open loops"));
    sealed.ok(["bury", "bob"]);
    assert_eq!(subjects(&sealed, "ada"), ["open loops of bob: 2"]);
    let told = |title: &str, to: &str, raised| (title.to_owned(), to.to_owned(), raised);
    assert_eq!(loops(&sealed), [told("second", "ada", 1), told("first", "ada", 1)]);
    let listed = sealed.ok(["loops"]);
    assert!(listed.contains("LEFT BY") && listed.contains("told again in"), "{listed}");
    // A killed daemon forgets none of it, and tells nobody twice.
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(loops(&sealed).len(), 2);
    assert_eq!(subjects(&sealed, "ada").len(), 1);
    // Whoever was told may take one; the other comes back when they are buried too.
    let taken = within(&sealed, "ada", &format!("{PROGRAM} task take {}", first.id));
    assert!(taken.contains("taken"), "{taken}");
    assert_eq!(loops(&sealed), [told("second", "ada", 1)]);
    sealed.ok(["bury", "ada"]);
    let mut left = loops(&sealed);
    left.sort();
    assert_eq!(left, [told("first", "operator", 1), told("second", "operator", 2)]);
    assert_eq!(subjects(&sealed, "operator").len(), 2);
    // Moved or closed, nobody is told any more.
    sealed.ok(["task", "drop", &first.id]);
    sealed.ok(["spawn", "eve", "--", "sleep", "1000000"]);
    let second = show(&sealed, &sealed.json::<TaskList>(&["loops"]).tasks[0].id);
    sealed.ok(["task", "assign", &second.id, "eve"]);
    assert_eq!(loops(&sealed), []);
    assert_eq!(sealed.show("eve").task.map(|task| task.title).as_deref(), Some("second"));
}

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

fn up(raise_loops_after_s: u64) -> Sealed {
    let sealed = Sealed::new();
    std::fs::create_dir_all(&sealed.home.config).expect("a directory");
    let text = format!("raise_loops_after_s = {raise_loops_after_s}\n");
    std::fs::write(sealed.home.config.join("config.toml"), text).expect("written");
    sealed.start_daemon();
    sealed
}

/// By the clock: again, at twice the time, also by the next daemon, until somebody takes it.
// covers: T-14
#[test]
fn the_work_of_the_buried_is_raised_until_it_is_taken() {
    let sealed = up(1);
    worker(&sealed, "ada", &[]);
    sealed.ok(["spawn", "bob", "--parent", "ada", "--", "sleep", "1000000"]);
    let task = add(&sealed, "half done", &["--to", "bob"]);
    sealed.ok(["bury", "bob"]);
    let raised = || show(&sealed, &task.id).open_loop.map(|it| it.raised);
    assert!(raised() >= Some(1));
    sealed.until("it is raised", || raised() >= Some(2));
    assert!(subjects(&sealed, "ada").len() >= 2, "{:?}", subjects(&sealed, "ada"));
    assert!(sealed.ok(["events"]).contains("told again"));
    // The times are in the record: a daemon that is started with another setting keeps them.
    let config = sealed.home.config.join("config.toml");
    std::fs::write(config, "raise_loops_after_s = 86400\n").expect("written");
    sealed.kill_daemon();
    let before = raised_before(&sealed, &task.id);
    sealed.until("the next daemon raises it", || raised() > Some(before));
    // From there on the new setting holds; taken, nobody is told any more.
    let next = show(&sealed, &task.id).open_loop.and_then(|it| it.next_at).expect("a time");
    let listed = sealed.ok(["loops"]);
    assert!(listed.contains("told again in") && next.starts_with("20"), "{listed}");
    let taken = within(&sealed, "ada", &format!("{PROGRAM} task take {}", task.id));
    assert!(taken.contains("taken"), "{taken}");
    assert_eq!((raised(), loops(&sealed)), (None, Vec::new()));
}

/// Starts the daemon; how often the loop had been raised by then.
fn raised_before(sealed: &Sealed, task: &str) -> u64 {
    sealed.start_daemon();
    show(sealed, task).open_loop.map_or(0, |it| it.raised)
}

/// Who has left memory with a restart is known by name, and as dead.
#[test]
fn the_dead_keep_their_names_in_tasks_and_in_refusals() {
    let sealed = Sealed::up();
    worker(&sealed, "kai", &[]);
    let task = add(&sealed, "done", &["--to", "kai"]);
    let open = add(&sealed, "open", &[]);
    sealed.ok(["task", "verify", &task.id]);
    let first = sealed.show("kai").id;
    sealed.ok(["bury", "kai"]);
    sealed.kill_daemon();
    sealed.start_daemon();
    assert_eq!(show(&sealed, &task.id).assignee.as_deref(), Some("kai"));
    let all: TaskList = sealed.json(&["task", "ls", "--all"]);
    assert_eq!(all.tasks.last().and_then(|task| task.assignee.as_deref()), Some("kai"));
    let said = sealed.refused(3, &["task", "assign", &open.id, "kai"]);
    assert!(format!("{said:?}").contains("kai can't be given a task"), "{said:?}");
    sealed.ok(["spawn", "kai", "--", "sleep", "1000000"]);
    let said = format!("{:?}", sealed.refused(3, &["wake", "kai~1"]));
    assert!(said.contains(&format!("perennial show {first}")), "{said}");
    let said = format!("{:?}", sealed.refused(4, &["task", "show", ""]));
    assert!(said.contains("no task ''"), "{said}");
}

//! `up`: starts the daemon, or says that it is already running. Races are in `daemon_races`.

use crate::sealed::Sealed;

#[test]
fn a_running_daemon_is_left_alone() {
    let sealed = Sealed::new();
    let first = sealed.ok(["up"]);
    assert!(first.starts_with("the daemon is running (pid "), "{first}");
    assert!(first.contains("perennial demo"), "without agents it says what to try: {first}");
    let pid = sealed.health().pid;
    sealed.spawn("bob", "read x");
    let second = sealed.ok(["up"]);
    assert!(second.starts_with("the daemon is already running"), "{second}");
    assert!(second.contains("1 living"), "{second}");
    assert_eq!(sealed.health().pid, pid);
}

#[test]
fn a_home_that_can_not_be_created_is_named() {
    let sealed = Sealed::new();
    std::fs::write(&sealed.root, "in the way").expect("a file");
    let ran = sealed.run(["up"]);
    let root = sealed.root.display().to_string();
    assert!(ran.code == 1 && ran.stderr.contains("why: "), "{ran:?}");
    assert!(ran.stderr.contains(&root), "{ran:?}");
    std::fs::remove_file(&sealed.root).expect("a file");
}

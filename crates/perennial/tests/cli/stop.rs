//! `stop`: the whole tree is gone, and stays gone.

use std::time::{Duration, Instant};

use perennial_api::Agent;

use crate::processes;
use crate::sealed::Sealed;

/// Every process of it ignores TERM, INT and HUP; two of them left by double fork and setsid, one of
/// those without its environment.
const STUBBORN: &str = "trap '' TERM INT HUP
    stay='trap \"\" TERM INT HUP; echo here >> \"$0\"; while :; do sleep 1; done'
    (setsid /bin/sh -c \"$stay\" \"$0\" &)
    (env -i setsid /bin/sh -c \"$stay\" \"$0\" &)
    echo here >> \"$0\"
    while :; do sleep 1; done";
const LIMIT: Duration = Duration::from_secs(15);

//
#[test]
fn a_stubborn_tree_is_gone_within_15_s_and_stays_gone() {
    let sealed = Sealed::up();
    let agent = stubborn(&sealed);
    let begun = Instant::now();
    sealed.ok(["stop", "stubborn"]);
    let took = begun.elapsed();
    println!("stopped in {took:?}");
    assert!(took < LIMIT, "{took:?}");
    assert_gone(&sealed, &agent);
    // The clock: whatever would come back on its own had its time.
    sealed.spawn_with(&["clock", "--restart", "never"], &["sleep", "2.5"]);
    sealed.watch().ended("clock", 1);
    assert_gone(&sealed, &agent);
    let now = sealed.show("stubborn");
    assert_eq!((now.state.as_str(), now.reason.as_str()), ("sleeping", "stopped"));
    assert_eq!((now.until, now.respawn_count), (None, 0));
}

/// Spawns it, and waits until all three of its shells are there.
fn stubborn(sealed: &Sealed) -> Agent {
    let here = sealed.dir.join("here");
    let path = here.display().to_string();
    let agent = sealed.spawn_with(&["stubborn"], &["/bin/sh", "-c", STUBBORN, &path]);
    sealed.until("the tree has grown", || {
        std::fs::read_to_string(&here).is_ok_and(|text| text.lines().count() == 3)
    });
    agent
}

fn assert_gone(sealed: &Sealed, agent: &Agent) {
    let left = sealed.marked(agent);
    assert!(left.is_empty(), "{left:#?}");
    // Those without an environment are known by their argument.
    let here = sealed.dir.join("here").display().to_string();
    let mut argvs = perennial_engine::host::process::pids().map(processes::argv);
    assert_eq!(argvs.find(|argv| argv.contains(&here)), None);
    sealed.until("its shim is gone too", || {
        let dir = sealed.holder(agent).display().to_string();
        !sealed.processes().iter().any(|one| one.argv.contains(&dir))
    });
}

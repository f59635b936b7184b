//! Whole trees end: double forks, own kernel sessions, ignored kill signals, killed shims.

use std::path::{Path, PathBuf};

use perennial_core::conversation::Opening;
use perennial_core::effect::{Action, SessionEffect};
use perennial_core::exit::{Exit, UnknownExit};
use perennial_core::session::Pace;
use perennial_engine::host::cgroup;
use perennial_engine::host::holders::Program;
use rustix::process::Signal;

use crate::fixture::{Fixture, N1, N2, is_alive, kill, launch, until};

/// Ten processes: each ignores what can be ignored, half are double-forked, each in a kernel session
/// of its own, some without a mark in their environment. They write their pids.
const HOSTILE: &str = r#"
trap '' INT TERM HUP
child='trap "" INT TERM HUP; echo $$ >> pids; while :; do sleep 1000; done'
for i in 1 2 3; do setsid sh -c "$child" & done
for i in 1 2 3; do (setsid sh -c "$child" &); done
for i in 1 2 3; do (env -i PATH=/usr/bin:/bin setsid sh -c "$child" &); done
echo $$ >> pids
while :; do sleep 1000; done
"#;
const HOSTILE_COUNT: usize = 10;

fn pids(dir: &Path) -> Vec<i32> {
    let text = std::fs::read_to_string(dir.join("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Runs the hostile tree and waits until all of it is there.
fn hostile(fixture: &mut Fixture) -> (perennial_core::id::AgentId, Vec<i32>) {
    let agent = fixture.agent();
    fixture.run(agent, N1, HOSTILE);
    until("the tree is there", || pids(fixture.path()).len() == HOSTILE_COUNT);
    (agent, pids(fixture.path()))
}

fn assert_gone(pids: &[i32]) {
    let left: Vec<&i32> = pids.iter().filter(|pid| is_alive(**pid)).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn cgroup_root() -> Option<PathBuf> {
    let root = cgroup::available();
    if let Err(why) = &root {
        eprintln!("not tried: {why}");
    }
    root.ok()
}

fn end_takes_all(mut fixture: Fixture, pace: Pace) {
    let (agent, pids) = hostile(&mut fixture);
    fixture.end(agent, N1, pace);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(9));
    assert_gone(&pids);
}

#[test]
fn a_hostile_tree_ends_without_a_cgroup() {
    end_takes_all(Fixture::new(), Pace::Graceful);
    end_takes_all(Fixture::new(), Pace::AtOnce);
}

#[test]
fn a_hostile_tree_ends_with_a_cgroup() {
    let Some(root) = cgroup_root() else { return };
    for pace in [Pace::Graceful, Pace::AtOnce] {
        end_takes_all(Fixture::with(|settings| settings.cgroup = Some(root.clone())), pace);
    }
}

#[test]
fn a_session_is_in_its_cgroup_and_takes_it_along() {
    let Some(root) = cgroup_root() else { return };
    let mut fixture = Fixture::with(|settings| settings.cgroup = Some(root.clone()));
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec sleep 1000");
    let (shim, id) = fixture.connected(agent);
    let of = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).expect("readable");
    assert!(of(process.pid).contains(&format!("{agent}.1")));
    assert!(!of(shim.pid).contains(&agent.to_string()), "the shim is outside");
    let dir = std::fs::read_dir(&root)
        .expect("readable")
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().ends_with(&format!("{agent}.1")));
    let dir = dir.expect("its directory").path();
    use std::os::unix::fs::MetadataExt;
    assert_eq!(id, Some(std::fs::metadata(&dir).expect("is there").ino()));
    fixture.end(agent, N1, Pace::AtOnce);
    fixture.exited(agent, N1);
    assert!(!dir.exists());
}

#[test]
fn what_a_crashed_session_left_is_gone_before_the_next_begins() {
    let mut fixture = Fixture::new();
    let (agent, pids) = hostile(&mut fixture);
    let process = {
        fixture.order(agent, N1, perennial_core::effect::Action::Hold);
        fixture.executed(agent, N1)
    };
    kill(process.pid, Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(9));
    fixture.run(agent, N2, "exec sleep 1000");
    assert_gone(&pids);
}

/// A chain of children, each the parent of the next: it takes a moment to end, and the next session
/// looks at once whether any of it is left.
const CHAIN: &str = r#"
cat > chain.sh <<'END'
trap '' HUP INT TERM
echo $$ >> pids
if [ "$1" -gt 0 ]; then sh chain.sh $(($1 - 1)) & fi
while :; do sleep 1000; done
END
exec sh chain.sh 80
"#;
const CHAIN_COUNT: usize = 81;
const LOOK: &str = r#"
for pid in $(cat pids); do if [ -d /proc/$pid ]; then echo $pid >> left; fi; done
echo looked
exec sleep 1000
"#;

#[test]
fn the_next_session_does_not_begin_beside_a_long_chain_of_the_last_one() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, CHAIN);
    until("the chain is there", || pids(fixture.path()).len() == CHAIN_COUNT);
    kill(process.pid, Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(9));
    fixture.run(agent, N2, LOOK);
    fixture.await_output(agent, N2, "looked");
    let left = std::fs::read_to_string(fixture.path().join("left")).unwrap_or_default();
    assert_eq!(left, "", "pids of session 1 that lived when session 2 began");
}

fn killed_shim_takes_all(mut fixture: Fixture) {
    let (agent, pids) = hostile(&mut fixture);
    kill(fixture.shim_pid(agent).expect("a shim"), Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::Unknown(UnknownExit::HolderDied));
    assert_gone(&pids);
    fixture.run(agent, N2, "exec sleep 1000");
}

#[test]
fn a_killed_shims_tree_ends_without_a_cgroup() {
    killed_shim_takes_all(Fixture::new());
}

#[test]
fn a_killed_shims_tree_ends_with_a_cgroup() {
    let Some(root) = cgroup_root() else { return };
    killed_shim_takes_all(Fixture::with(|settings| settings.cgroup = Some(root)));
}

#[test]
fn a_shim_killed_while_no_daemon_ran_leaves_nobody() {
    let mut fixture = Fixture::new();
    let (agent, pids) = hostile(&mut fixture);
    let shim = fixture.shim_pid(agent).expect("a shim");
    fixture.stop_daemon();
    kill(shim, Signal::KILL);
    until("the shim is gone", || fixture.shim_pid(agent).is_none());
    fixture.start_daemon();
    fixture.order(agent, N1, perennial_core::effect::Action::Hold);
    assert_eq!(fixture.exited(agent, N1), Exit::Unknown(UnknownExit::HolderDied));
    assert_gone(&pids);
}

#[test]
fn a_killed_shim_that_was_not_ours_leaves_nobody() {
    let dir = tempfile::tempdir().expect("a directory");
    let holders_dir = dir.path().join("holders");
    let place = dir.path().display();
    // One with the mark and a kernel session of its own, one without the mark in the session's.
    let child = "trap '' HUP; echo $$ >> pids; while :; do sleep 1000; done";
    let script = format!(
        "cd {place}; (setsid sh -c \"{child}\" &); (env -i sh -c \"{child}\" &); exec sleep 1000",
        child = child.replace('$', "\\$"),
    );
    let (agent, main) = crate::adoption::killed_daemon(&holders_dir, &script);
    until("the tree is there", || pids(dir.path()).len() == 2);
    let pids = pids(dir.path());
    let mut fixture = Fixture::with(|settings| {
        settings.holders_dir = holders_dir;
        settings.epoch = perennial_core::id::Epoch(10);
    });
    fixture.adopt(agent);
    fixture.order(agent, N1, perennial_core::effect::Action::Hold);
    assert_eq!(fixture.executed(agent, N1).pid, main);
    kill(fixture.shim_pid(agent).expect("a shim"), Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::Unknown(UnknownExit::HolderDied));
    assert_gone(&pids);
}

#[test]
fn a_sweep_spares_everybody_else() {
    let mut fixture = Fixture::new();
    let (dies, lives) = (fixture.agent(), fixture.agent());
    fixture.run(dies, N1, "exec sleep 1000");
    let other = fixture.run(lives, N1, "exec sleep 1000");
    let mut own = std::process::Command::new("sleep").arg("1000").spawn().expect("starts");
    kill(fixture.shim_pid(dies).expect("a shim"), Signal::KILL);
    fixture.exited(dies, N1);
    assert!(is_alive(other.pid));
    assert!(own.try_wait().expect("ours to wait for").is_none());
    own.kill().expect("killed");
    own.wait().expect("reaped");
}

#[test]
fn term_to_the_shim_ends_the_session_in_good_order() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "trap 'exit 9' INT; echo ready; while :; do sleep 0.01; done");
    fixture.await_output(agent, N1, "ready");
    kill(fixture.shim_pid(agent).expect("a shim"), Signal::TERM);
    assert_eq!(fixture.exited(agent, N1), Exit::Code(9));
}

/// Also of an agent CLI of whose input line nothing is known: it says itself how it ends.
#[test]
fn term_to_the_shim_hangs_up_on_bare_commands_only() {
    let script =
        "trap '' TERM; trap 'sleep 0.5; exit 9' INT; echo ready; while :; do sleep 0.01; done";
    for (is_bare, exit) in [(true, Exit::KillSignal(1)), (false, Exit::Code(9))] {
        let mut fixture = Fixture::new();
        let agent = fixture.agent();
        let launch = launch(fixture.path(), &["sh", "-c", script]);
        let program = Program { is_bare, ..Program::bare(&launch) };
        let action = Action::Start(Box::new(launch), Opening::Bare);
        let effect = SessionEffect { agent, number: N1, recorded: None, action };
        fixture.holders().order_start(effect, program);
        fixture.await_output(agent, N1, "ready");
        kill(fixture.shim_pid(agent).expect("a shim"), Signal::TERM);
        assert_eq!(fixture.exited(agent, N1), exit, "{is_bare}");
    }
}

//! `stop`: the whole tree is gone, and stays gone.

use std::process::Stdio;
use std::time::{Duration, Instant};

use perennial_api::Agent;

use crate::sealed::{Sealed, ended, pid};
use crate::terminal::Terminal;
use crate::{namespace, processes};

/// Every process of it ignores TERM, INT and HUP; two of them left by double fork and setsid, one of
/// those without its environment.
const STUBBORN: &str = "trap '' TERM INT HUP
    stay='trap \"\" TERM INT HUP; echo here >> \"$0\"; while :; do sleep 1; done'
    (setsid /bin/sh -c \"$stay\" \"$0\" &)
    (env -i setsid /bin/sh -c \"$stay\" \"$0\" &)
    echo here >> \"$0\"
    while :; do sleep 1; done";
const LIMIT: Duration = Duration::from_secs(15);

// covers: X-10
#[test]
fn a_stubborn_tree_is_gone_within_15_s_and_stays_gone() {
    check_stubborn(&Sealed::up());
}

#[test]
fn without_cgroups_a_stubborn_tree_is_gone_too() {
    if namespace::inside("stop::without_cgroups_a_stubborn_tree_is_gone_too") {
        namespace::cover_cgroups();
        let sealed = Sealed::up();
        assert!(!sealed.health().cgroup.available, "{:?}", sealed.health());
        check_stubborn(&sealed);
    }
}

fn check_stubborn(sealed: &Sealed) {
    let agent = stubborn(sealed);
    let begun = Instant::now();
    sealed.ok(["stop", "stubborn"]);
    let took = begun.elapsed();
    println!("stopped in {took:?}");
    assert!(took < LIMIT, "{took:?}");
    assert_gone(sealed, &agent);
    assert!(sealed.cgroups().is_empty(), "{:?}", sealed.cgroups());
    // The clock: whatever would come back on its own had its time.
    sealed.spawn_with(&["clock", "--restart", "never"], &["sleep", "2.5"]);
    sealed.watch().ended("clock", 1);
    assert_gone(sealed, &agent);
    let now = sealed.show("stubborn");
    assert_eq!((now.state.as_str(), now.reason.as_str()), ("sleeping", "stopped"));
    assert_eq!((now.until, now.respawn_count), (None, 0));
}

#[test]
fn stopping_everybody_takes_as_long_as_the_most_stubborn() {
    let sealed = Sealed::up();
    let agents: Vec<Agent> = (0..10)
        .map(|n| sealed.spawn(&format!("deaf-{n}"), "trap '' INT TERM; while :; do sleep 1; done"))
        .collect();
    let begun = Instant::now();
    let stopped: Vec<Agent> = sealed.json(&["stop", "--all"]);
    let took = begun.elapsed();
    assert_eq!(stopped.len(), agents.len());
    assert!(took < LIMIT, "{took:?}");
    assert!(stopped.iter().all(|agent| agent.state == "sleeping"), "{stopped:?}");
    for agent in &agents {
        assert!(sealed.marked(agent).is_empty());
    }
    assert!(sealed.cgroups().is_empty(), "{:?}", sealed.cgroups());
    assert!(sealed.ok(["stop", "--all"]).contains("no running agents"));
}

#[test]
fn a_polite_program_ends_at_the_first_word() {
    let sealed = Sealed::up();
    let said = sealed.dir.join("said");
    let script = "trap 'echo asked > \"$0\"; exit 0' INT; while :; do sleep 0.05; done";
    let path = said.display().to_string();
    sealed.spawn_with(&["polite"], &["/bin/sh", "-c", script, &path]);
    // Stopped by two at once: both wait for the end, neither fails.
    let verbs = [0, 1].map(|_| {
        let mut command = sealed.command(["stop", "polite"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary runs")
    });
    for verb in verbs {
        assert_eq!(ended(verb, "stop").code, 0);
    }
    assert_eq!(std::fs::read_to_string(said).expect("it was asked").trim(), "asked");
    let now = sealed.show("polite");
    assert_eq!(now.session.and_then(|session| session.exit).and_then(|exit| exit.code), Some(0));
    // Woken, it is another session of the same agent.
    let woken: Agent = sealed.json(&["wake", "polite"]);
    let session = woken.session.expect("a session");
    assert_eq!((session.number, woken.state.as_str()), (2, "working"));
}

/// N9: an interactive shell ignores TERM, and a hang-up ends it, its jobs included.
#[test]
fn an_interactive_shell_and_its_jobs_end_at_once() {
    let sealed = Sealed::up();
    let agent = sealed.spawn_with(&["shell"], &["bash", "--norc", "-i"]);
    let mut terminal = Terminal::run(sealed.command(["attach", "shell"]));
    terminal.wait("detach:");
    terminal.type_keys("sleep 1000 & sleep 1001\r");
    sealed.until("both jobs run", || sealed.marked(&agent).len() == 3);
    terminal.detach();
    let begun = Instant::now();
    sealed.ok(["stop", "shell"]);
    let took = begun.elapsed();
    println!("stopped in {took:?}");
    assert!(took < Duration::from_millis(1500), "{took:?}");
    assert!(sealed.marked(&agent).is_empty());
    // At its prompt, too, and where it was suspended.
    for is_suspended in [false, true] {
        let woken: Agent = sealed.json(&["wake", "shell"]);
        sealed.until("it ignores TERM", || {
            let main = pid(&woken).cast_signed();
            perennial_engine::host::process::ignores(main, rustix::process::Signal::TERM)
        });
        if is_suspended {
            assert!(processes::signal(
                processes::running(pid(&woken)),
                rustix::process::Signal::STOP
            ));
        }
        let begun = Instant::now();
        sealed.ok(["stop", "shell"]);
        let took = begun.elapsed();
        println!("stopped in {took:?}, suspended: {is_suspended}");
        assert!(took < Duration::from_millis(1500), "{took:?}");
    }
}

/// A hang-up is only for those who can't be asked otherwise: who handles the interrupt has its time.
#[test]
fn who_takes_its_time_after_an_interrupt_is_not_hung_up_on() {
    let sealed = Sealed::up();
    let said = sealed.dir.join("said").display().to_string();
    let script = "trap 'sleep 0.5; echo cleaned > \"$0\"; exit 0' INT; echo ready; \
        while :; do sleep 0.05; done";
    sealed.spawn_with(&["careful"], &["/bin/sh", "-c", script, &said]);
    sealed.until("it is ready", || sealed.ok(["logs", "careful"]).contains("ready"));
    sealed.ok(["stop", "careful"]);
    assert_eq!(std::fs::read_to_string(said).expect("it cleaned up").trim(), "cleaned");
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

/// Who stops an agent that crashed and is not restarted has seen it: it no longer needs them.
#[test]
fn a_stop_acknowledges_a_crash_that_is_not_restarted() {
    let sealed = Sealed::up();
    sealed.spawn_with(&["bob", "--restart", "never"], &["false"]);
    sealed.watch().ended("bob", 1);
    assert!(sealed.show("bob").needs_you);
    sealed.ok(["stop", "bob"]);
    let bob = sealed.show("bob");
    assert_eq!((bob.needs_you, bob.reason.as_str()), (false, "stopped"));
}

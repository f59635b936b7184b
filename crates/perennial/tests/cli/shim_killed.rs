//! A shim is killed: the tree of its session is gone before the next session starts, and an exit is
//! recorded; never two sessions, never an orphan.

use std::process::Stdio;
use std::time::Duration;

use perennial_api::Agent;
use perennial_engine::host::cgroup;
use rustix::process::Signal;
use serde_json::json;

use crate::namespace;
use crate::processes::{self, Found, running, signal, wait_end};
use crate::sealed::{Sealed, ended, pid};
use crate::watch::Watch;

const AGENTS: usize = 5;

/// A shell with some processes below it. They hold a lock for as long as any of them lives; a session
/// that begins before the last tree is gone ends with 99.
struct Tree {
    script: &'static str,
    sleeps: usize,
}

/// One is in a kernel session of its own, and one threw its environment away as well.
const TREE: Tree = Tree {
    script: "exec 9> \"$0\"; flock --nonblock 9 || exit 99
        setsid sleep 1000 &
        (env -i setsid sleep 1000 &)
        sleep 1000",
    sleeps: 3,
};

/// All of it can be found by its marks.
const MARKED_TREE: Tree = Tree {
    script: "exec 9> \"$0\"; flock --nonblock 9 || exit 99
        (setsid sleep 1000 &)
        sleep 1000",
    sleeps: 2,
};

/// What the next daemon can find when shim and daemon were killed. Without a cgroup it goes by the marks in
/// environments: what threw these away as well is out of reach, and `doctor` says that there is no cgroup.
fn findable_tree() -> &'static Tree {
    if cgroup::available().is_ok() { &TREE } else { &MARKED_TREE }
}

fn plant(sealed: &Sealed, tree: &Tree) -> Vec<Agent> {
    let spawn = |n: usize| {
        let name = format!("tree-{n}");
        let lock = sealed.dir.join(format!("{name}.lock")).display().to_string();
        let agent = sealed.spawn_with(&[&name], &["/bin/sh", "-c", tree.script, &lock]);
        sealed.until("the tree has grown", || below(sealed, &agent) == tree.sleeps + 1);
        agent
    };
    (0..AGENTS).map(spawn).collect()
}

/// How many programs of the tree run below an agent's shim; what is about to become one is none.
fn below(sealed: &Sealed, agent: &Agent) -> usize {
    let is_program = |pid: &i32| {
        let argv = processes::argv(*pid);
        argv.first().is_some_and(|word| word == "sleep" || word == "/bin/sh")
    };
    processes::descendants(sealed.shim(agent).pid).iter().filter(|pid| is_program(pid)).count()
}

/// The old trees are gone, to the last process, and each agent has one new session.
fn check(sealed: &Sealed, watch: &mut Watch, agents: &[Agent], tree: &Tree) {
    let exit = json!({"unknown": "holder-died"});
    for agent in agents {
        let (_, seen) = watch.ended(&agent.name, 1);
        assert_eq!(seen, exit, "{}", agent.name);
        watch.running(&agent.name, 2);
        sealed.until("the second tree has grown", || below(sealed, agent) == tree.sleeps + 1);
        let now = sealed.show(&agent.name);
        assert_eq!((now.state.as_str(), now.respawn_count), ("working", 1), "{now:?}");
    }
    // A shell that is about to become the last program of its tree is none yet.
    sealed.until("as many programs as the new trees have, and no orphan", || {
        let is_sleep = |one: &Found| one.argv.first().is_some_and(|word| word == "sleep");
        sealed.processes().iter().filter(|one| is_sleep(one)).count() == tree.sleeps * agents.len()
    });
    sealed.assert_nobody_doubled();
}

#[test]
fn with_the_daemon_up_the_tree_goes_before_the_next_session() {
    check_with_daemon(&Sealed::up());
}

#[test]
fn without_cgroups_the_tree_goes_before_the_next_session() {
    if namespace::inside("shim_killed::without_cgroups_the_tree_goes_before_the_next_session") {
        namespace::cover_cgroups();
        check_with_daemon(&Sealed::up());
    }
}

fn check_with_daemon(sealed: &Sealed) {
    let agents = plant(sealed, &TREE);
    let mut watch = sealed.watch();
    let first: Vec<_> = agents.iter().map(|agent| running(pid(agent))).collect();
    for agent in &agents {
        assert!(signal(sealed.shim(agent), Signal::KILL));
    }
    check(sealed, &mut watch, &agents, &TREE);
    assert!(first.into_iter().all(|process| !processes::is_alive(process)));
}

#[test]
fn with_the_daemon_down_the_next_daemon_ends_the_tree() {
    check_without_daemon();
}

fn check_without_daemon() {
    let (sealed, tree) = (Sealed::up(), findable_tree());
    let agents = plant(&sealed, tree);
    let mut watch = sealed.watch();
    sealed.kill_daemon();
    for agent in &agents {
        processes::kill(sealed.shim(agent));
    }
    sealed.start_daemon();
    watch.resume();
    check(&sealed, &mut watch, &agents, tree);
}

#[test]
fn without_cgroups_and_daemon_the_next_daemon_ends_what_is_marked() {
    let name = "shim_killed::without_cgroups_and_daemon_the_next_daemon_ends_what_is_marked";
    if namespace::inside(name) {
        namespace::cover_cgroups();
        check_without_daemon();
    }
}

#[test]
fn killed_together_with_the_daemon() {
    let (sealed, tree) = (Sealed::up(), findable_tree());
    let agents = plant(&sealed, tree);
    let mut watch = sealed.watch();
    let daemon = sealed.daemon();
    let shims: Vec<_> = agents.iter().map(|agent| sealed.shim(agent)).collect();
    // The daemon in the middle: it has seen some of the ends, and not others.
    let (before, after) = shims.split_at(AGENTS / 2);
    for one in before.iter().chain([&daemon]).chain(after) {
        assert!(signal(*one, Signal::KILL));
    }
    assert!(wait_end(daemon, Duration::from_secs(10)));
    sealed.start_daemon();
    watch.resume();
    check(&sealed, &mut watch, &agents, tree);
}

#[test]
fn everything_is_killed_and_five_daemons_start_at_once() {
    let (sealed, tree) = (Sealed::up(), findable_tree());
    let agents = plant(&sealed, tree);
    let mut watch = sealed.watch();
    let mut found = sealed.processes();
    // Sessions, shims and the daemon, in no order that anybody chose.
    found.sort_by_key(|one| one.process.start_ticks % 7);
    let is_ours = |argv: &[String]| argv.first().is_some_and(|word| word != "sleep");
    for one in found.iter().filter(|one| is_ours(&one.argv)) {
        signal(one.process, Signal::KILL);
    }
    for one in found.iter().filter(|one| is_ours(&one.argv)) {
        assert!(wait_end(one.process, Duration::from_secs(10)));
    }
    let ups: Vec<_> = (0..5)
        .map(|_| {
            let mut command = sealed.command(["up"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().expect("the binary runs")
        })
        .collect();
    for up in ups {
        let ran = ended(up, "up");
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    watch.resume();
    for agent in &agents {
        // The true end if its shim lived to see it, else unknown.
        let (_, exit) = watch.ended(&agent.name, 1);
        let known = [json!({"signal": 9}), json!({"unknown": "holder-died"})];
        assert!(known.contains(&exit), "{exit}");
        watch.running(&agent.name, 2);
        sealed.until("the second tree has grown", || below(&sealed, agent) == tree.sleeps + 1);
    }
    // One that has not yet become a `sleep` is counted a moment later; an orphan would stay.
    sealed.until("no orphan sleeps", || {
        let all = sealed.processes();
        all.iter().filter(|one| one.argv[0] == "sleep").count() == tree.sleeps * agents.len()
    });
    sealed.assert_nobody_doubled();
}

#[test]
fn a_code_that_was_written_before_is_the_true_one() {
    let sealed = Sealed::up();
    let agent =
        sealed.spawn_with(&["ends", "--restart", "never"], &["/bin/sh", "-c", "read x; exit 7"]);
    let mut watch = sealed.watch();
    let (shim, session) = (sealed.shim(&agent), running(pid(&agent)));
    sealed.kill_daemon();
    // Its end of file: the terminal hangs up for the shell only.
    assert!(signal(session, Signal::INT));
    assert!(wait_end(session, Duration::from_secs(10)));
    sealed.until("the exit is on disk", || sealed.holder(&agent).join("s1/exit.json").exists());
    processes::signal(shim, Signal::KILL);
    assert!(wait_end(shim, Duration::from_secs(10)));
    sealed.start_daemon();
    watch.resume();
    let (_, exit) = watch.ended("ends", 1);
    assert_eq!(exit, json!({"signal": 2}));
    assert_eq!(sealed.show("ends").state, "sleeping");
}

//! The machine restarts: another boot id, no process left. Those who worked resume two at a time,
//! the others sleep.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;
use understudy::{Repeat, Turn};

use crate::claude::{Stage, state};
use crate::sealed::Sealed;
use crate::{namespace, processes};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// From now on this namespace has another boot id.
fn restart_machine(sealed: &Sealed, boot: &str) {
    // Everything dies at once, and nobody sees it: those who would tell go first.
    let mut found = sealed.processes();
    found.sort_by_key(|one| (!one.is_daemon(), !one.is_shim()));
    for one in &found {
        processes::signal(one.process, Signal::KILL);
    }
    for one in &found {
        assert!(processes::wait_end(one.process, std::time::Duration::from_secs(10)));
    }
    let file = sealed.dir.join(boot);
    std::fs::write(&file, format!("{boot}\n")).expect("a file");
    let status = Command::new("mount").arg("--bind").arg(&file).arg(BOOT_ID).status();
    assert!(status.expect("mount").success(), "a file can't be mounted here");
    assert_eq!(std::fs::read_to_string(BOOT_ID).expect("an id").trim(), boot);
}

#[test]
fn after_a_reboot_workers_resume_two_at_a_time_and_others_sleep() {
    let name = "reboot::after_a_reboot_workers_resume_two_at_a_time_and_others_sleep";
    if !namespace::inside(name) {
        return;
    }
    let sealed = Sealed::up();
    let workers: Vec<String> = (0..7).map(|n| format!("worker-{n}")).collect();
    for worker in &workers {
        sealed.spawn(worker, "read x");
    }
    sealed.spawn_with(&["once", "--restart", "never"], &["/bin/sh", "-c", "read x"]);
    sealed.spawn("stopped", "read x");
    sealed.ok(["stop", "stopped"]);
    let mut watch = sealed.watch();
    watch.ended("stopped", 1);
    restart_machine(&sealed, "00000000-0000-4000-8000-000000000001");
    sealed.start_daemon();
    watch.resume();
    for worker in &workers {
        let (_, exit) = watch.ended(worker, 1);
        assert_eq!(exit, json!({"unknown": "machine-restarted"}), "{worker}");
        watch.running(worker, 2);
    }
    let started = watch.seen.iter().rposition(|seen| seen.event.kind == "daemon-started");
    let mut starting = 0;
    for seen in &watch.seen[started.expect("it started")..] {
        match seen.event.kind.as_str() {
            "session-starting" => starting += 1,
            "session-running" => starting -= 1,
            _ => {}
        }
        assert!(starting <= 2, "{starting} at once at event {}", seen.event.seq);
    }
    let states = ["once", "stopped"].map(|name| {
        let agent = sealed.show(name);
        (agent.state, agent.reason, agent.session.map(|session| session.number))
    });
    let asleep = |reason: &str| ("sleeping".to_owned(), reason.to_owned(), Some(1));
    assert_eq!(states, [asleep("machine-restarted"), asleep("stopped")]);
    sealed.assert_nobody_doubled();

    // The same boot again is no reboot.
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.until("all are confirmed", || {
        let working = sealed.ls().iter().filter(|agent| agent.state == "working").count();
        working == workers.len()
    });
    assert!(Path::new(BOOT_ID).exists());
}

/// The name ends up in the group of tests that run real agent CLIs.
mod agent_clis {
    use super::*;

    /// One was in a turn and is told what happened to it, and where its work stood; the other waited and sleeps, without a model
    /// call. Woken, it is told with its first prompt.
    // covers: S-06
    #[test]
    fn claude_is_told_that_the_machine_restarted() {
        let name = "reboot::agent_clis::claude_is_told_that_the_machine_restarted";
        if !namespace::inside(name) {
            return;
        }
        let stage = Stage::saying([
            Turn::text("Back again.").matching("when the machine restarted."),
            Turn::text("Never said.").gate("held").matching("a long way"),
            Turn::text("Here.").repeat(Repeat::ALWAYS),
        ]);
        let sealed = &stage.sealed;
        let mut watch = sealed.watch();
        for name in ["eve", "ada"] {
            stage.spawn(name, &[], "Say hello.");
            state(&mut watch, name, "waiting", "idle");
            // Without a line of it there is no conversation to resume.
            sealed.until("the turn is written", || sealed.ok(["logs", name]).contains("Here."));
        }
        sealed.ok(["send", "ada", "Go a long way."]);
        stage.model.wait_until_held("held").expect("a turn");
        restart_machine(sealed, "00000000-0000-4000-8000-000000000002");
        let before = stage.main_requests().len();
        sealed.start_daemon();
        watch.resume();
        stage.told("You are a continuation of session 1 of ada");
        state(&mut watch, "ada", "waiting", "idle");
        let told = stage.main_requests().pop().expect("asked");
        for words in [
            "You are a continuation of session 1 of ada, which ended in the middle of a turn when the machine restarted.",
            "Resume from phase: investigation.",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        let eve = sealed.show("eve");
        assert_eq!((eve.state.as_str(), eve.reason.as_str()), ("sleeping", "machine-restarted"));
        assert_eq!(stage.main_requests().len(), before + 1, "a model was called for nothing");
        sealed.ok(["wake", "eve"]);
        state(&mut watch, "eve", "waiting", "idle");
        sealed.ok(["send", "eve", "Where were we?"]);
        stage.told("Where were we?");
        let told = stage.main_requests().pop().expect("asked");
        let words =
            "You are a continuation of session 1 of eve, which ended when the machine restarted.";
        assert!(told.contains(words), "{told}");
    }
}

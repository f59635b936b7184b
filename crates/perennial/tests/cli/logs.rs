//! `logs --follow`: what comes, over a restart in place and the daemon's death.

use std::io::Read;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Instant;

use crate::processes::{kill, running};
use crate::sealed::{Sealed, ended, pid};
use crate::watch::PATIENCE;

#[test]
fn followed_logs_go_on_over_restarts_and_without_a_daemon() {
    let sealed = Sealed::up();
    let script = "stty -echo; echo begun; while read line; do echo \"said $line\"; done";
    let agent = sealed.spawn("talks", script);
    let mut command = sealed.command(["logs", "talks", "--follow"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut follower = command.spawn().expect("the binary runs");
    let mut stdout = follower.stdout.take().expect("piped");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stdout.read(&mut buffer) {
            let _over = sender.send(buffer[..count].to_vec());
        }
    });
    let mut seen = Vec::new();
    let mut wait = |text: &str| {
        let deadline = Instant::now() + PATIENCE;
        while !String::from_utf8_lossy(&seen).contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            let bytes = receiver.recv_timeout(left);
            seen.extend(bytes.unwrap_or_else(|_| panic!("never printed: {text}")));
        }
    };
    wait("begun\r\n");
    sealed.ok(["send", "talks", "one"]);
    wait("said one\r\n");
    kill(running(pid(&agent)));
    sealed.watch().running("talks", 2);
    sealed.until("it reads", || sealed.run(["send", "talks", "two"]).code == 0);
    wait("said two\r\n");
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.until("its holder is there", || sealed.run(["send", "talks", "three"]).code == 0);
    wait("said three\r\n");
    sealed.ok(["stop", "talks"]);
    let ended = ended(follower, "logs --follow");
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stderr.contains("session 2") && ended.stderr.contains("ended: "), "{ended:?}");
}

#[test]
fn options_about_steps_are_refused_for_a_bare_command() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "echo hello; read x");
    for args in [&["logs", "bob", "--tail", "3"][..], &["logs", "bob", "--full"], &["logs", "bob"]]
    {
        // The last one by --json, which `refused` adds.
        let problem = sealed.refused(2, args);
        assert_eq!(problem.kind, "no-steps", "{args:?}: {problem:?}");
    }
    let none = sealed.refused(4, &["logs", "bob", "--session", "7"]);
    assert!(none.title == "bob has no session 7" && !none.next.is_empty(), "{none:?}");
}

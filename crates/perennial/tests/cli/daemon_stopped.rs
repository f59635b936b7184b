//! A daemon that is stopped (SIGSTOP) answers nobody: commands say so instead of waiting for it.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::processes;
use crate::sealed::Sealed;

#[test]
fn verbs_say_that_the_daemon_is_stopped_and_how_to_continue_it() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "read x");
    let daemon = sealed.daemon();
    processes::signal(daemon, Signal::STOP);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        // One that reads, one that changes something, and one that follows.
        for args in [&["ls"][..], &["rename", "bob", "rob"], &["events", "--follow"]] {
            let sealed = &sealed;
            scope.spawn(move || {
                let problem = sealed.refused(7, args);
                assert_eq!(problem.kind, "daemon-stopped", "{args:?}");
                assert!(problem.detail.contains(&format!("pid {}", daemon.pid)), "{problem:?}");
                assert!(
                    problem.next.contains(&format!("kill -CONT {}", daemon.pid)),
                    "{problem:?}"
                );
            });
        }
    });
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    processes::signal(daemon, Signal::CONT);
    assert!(sealed.ok(["ls"]).contains("bob") || sealed.ok(["ls"]).contains("rob"));
}

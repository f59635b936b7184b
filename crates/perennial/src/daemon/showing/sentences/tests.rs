//! Sentences name the limits and the exits that they are about.

use perennial_core::agent::{DIALOG_AFTER, START_LIMIT};

use super::*;

#[test]
fn reasons_name_the_limits_that_the_core_uses() {
    for (silent, limit) in
        [(Reason::FirstRunDialog, DIALOG_AFTER), (Reason::SilentAtStart, START_LIMIT)]
    {
        let told = reason(silent);
        assert!(told.contains(&format!("for {} s", limit.as_secs())), "{told}");
    }
}

#[test]
fn a_crash_and_a_finish_name_the_exit() {
    let evidence =
        |exit| Evidence { witness: Witness::Kernel, fact: Finding::Exited(exit), at: Time(0) };
    let killed = evidence(Exit::KillSignal(9));
    for (why, evidence, text) in [
        (Reason::Finished, evidence(Exit::Code(0)), "finished (exit 0)"),
        (Reason::Retrying, killed.clone(), "exited unexpectedly (SIGKILL)"),
        (
            Reason::CrashedRestartOff,
            killed.clone(),
            "exited unexpectedly (SIGKILL); restarts are off",
        ),
        (Reason::BreakerOpen, killed, "crashed too often (SIGKILL)"),
        // Under `--restart always` this is no accident.
        (Reason::Retrying, evidence(Exit::Code(0)), "exited (exit 0)"),
    ] {
        assert_eq!(explained(why, &evidence), text);
    }
}

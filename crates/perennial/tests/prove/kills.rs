//! `up-after-kill`: the daemon is killed, `up` follows at once, and everybody goes on.

use std::time::Duration;

use perennial_api::Agent;
use rustix::process::Signal;

use crate::processes;
use crate::proof::{Proof, within};
use crate::sealed::{Sealed, pid};

const AGENTS: usize = 5;
const TRIALS: usize = 50;
const CONFIRMED: Duration = Duration::from_secs(20);

pub fn up_after_kill(proof: &mut Proof) {
    while proof.goes_on() {
        proof.home(|proof| {
            let sealed = Sealed::up();
            for number in 0..AGENTS {
                sealed.spawn(&format!("agent-{number}"), "exec sleep 1000000");
            }
            let before = sealed.ls();
            for _ in 0..TRIALS {
                if !proof.goes_on() {
                    break;
                }
                proof.begin_trial();
                proof.pass_up_to(50);
                trial(proof, &sealed, &before);
            }
        });
    }
}

fn trial(proof: &mut Proof, sealed: &Sealed, before: &[Agent]) {
    // Not waited for: `up` comes while the old daemon may still be dying.
    processes::signal(sealed.daemon(), Signal::KILL);
    let up = sealed.run(["up"]);
    if up.code != 0 {
        proof.violated(&format!("up failed: {}", up.stderr.trim()));
        sealed.start_daemon();
    }
    // `up` has returned: nobody who is well is unknown.
    let unconfirmed = sealed.ls().into_iter().filter(|one| one.state == "unknown").count();
    if up.code == 0 && unconfirmed > 0 {
        proof.violated(&format!("{unconfirmed} agents are unknown right after up"));
    }
    let is_same = |old: &Agent| {
        let now = sealed.show(&old.id);
        now.state == "working" && now.session.is_some() && pid(&now) == pid(old)
    };
    if !within(CONFIRMED, || before.iter().all(is_same)) {
        let now: Vec<_> = sealed.ls().into_iter().map(|one| (one.name, one.state)).collect();
        proof.violated(&format!("not everybody goes on: {now:?}"));
    }
}

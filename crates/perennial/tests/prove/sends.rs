//! `sends`: texts to an agent while its CLI, its shim or the daemon is killed at random moments.

use rustix::process::Signal;

use crate::conversation::Conversation;
use crate::processes;
use crate::proof::Proof;
use crate::sealed::Sealed;

/// The breaker opens at the fifth restart: before that the home is exchanged.
const CRASHES: usize = 4;
const TRIALS: usize = 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Victim {
    Nobody,
    Cli,
    Daemon,
    Shim,
}

pub fn sends(proof: &mut Proof) {
    while proof.goes_on() {
        proof.home(|proof| {
            let mut conversation = Conversation::start();
            let mut crashes = 0;
            for _ in 0..TRIALS {
                if crashes == CRASHES || !proof.goes_on() {
                    break;
                }
                let victim = trial(proof, &mut conversation);
                crashes += usize::from(matches!(victim, Victim::Cli | Victim::Shim));
            }
            conversation.judge(proof);
        });
    }
}

fn trial(proof: &mut Proof, conversation: &mut Conversation) -> Victim {
    proof.begin_trial();
    if proof.below(2) == 0 {
        conversation.begin_turn("2");
    }
    let (token, taken) = conversation.send("count the sheep");
    let victim = [Victim::Nobody, Victim::Cli, Victim::Daemon, Victim::Shim];
    let victim = victim[proof.below(4) as usize];
    proof.pass_up_to(600);
    kill(&conversation.stage.sealed, victim);
    if taken {
        conversation.arrives(&token);
    }
    victim
}

/// Kills it where it is alive at that moment, and has a daemon again.
fn kill(sealed: &Sealed, victim: Victim) {
    let ada = || sealed.show("ada");
    let process = match victim {
        Victim::Nobody => None,
        Victim::Cli => ada().session.and_then(|session| session.pid).and_then(processes::find),
        Victim::Daemon => Some(sealed.daemon()),
        Victim::Shim => {
            let is_it = |one: &processes::Found| {
                one.is_shim() && one.argv.get(2).is_some_and(|dir| dir.ends_with(&ada().id))
            };
            sealed.processes().into_iter().find(is_it).map(|one| one.process)
        }
    };
    match process {
        // Waited for: `up` beside a dying daemon is the row `up-after-kill`.
        Some(process) if victim == Victim::Daemon => {
            processes::kill(process);
            sealed.start_daemon();
        }
        Some(process) => drop(processes::signal(process, Signal::KILL)),
        None => {}
    }
}

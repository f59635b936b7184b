//! Problems of agents that live in tmux.

use std::io;
use std::path::Path;

use perennial_api::Problem;

use super::{failed, usage};
use crate::cli::render::text::plain;

pub fn no_tmux() -> Problem {
    failed("no-tmux", "tmux was not found in PATH")
        .because("the agent's terminal is to be in a pane of your tmux")
        .next("install tmux, or leave out --host tmux: perennial attach shows the terminal without it")
}

pub fn tmux_not_run(program: &Path, error: &io::Error) -> Problem {
    failed("tmux-failed", format!("can't run {}", plain(&program.to_string_lossy())))
        .because(error.to_string())
        .next("check that you may run it, or leave out --host tmux")
}

/// `said` is what tmux printed.
pub fn tmux_failed(socket: &Path, said: &str) -> Problem {
    failed("tmux-failed", "tmux did not open a pane")
        .because(format!("with the socket {}: {}", plain(&socket.to_string_lossy()), plain(said)))
        .next("check that `tmux new-session` works (tmux 3.2 or later), or leave out --host tmux")
}

pub fn session_taken(session: &str) -> Problem {
    let session = plain(session);
    Problem::new(409, "tmux-session-taken", format!("a tmux session {session} exists already"))
        .because(
            "an agent's pane is in a tmux session of its name, and this one is not the agent's",
        )
        .next("choose another name for the agent, or give the tmux session another name")
}

pub fn pane_silent(session: &str, why: &str) -> Problem {
    failed("pane-silent", format!("the pane in the tmux session {} can't be used", plain(session)))
        .because(plain(why))
        .next("try again, or leave out --host tmux")
}

/// `run` names its agent after the program, which is known to the daemon only.
pub fn nameless_pane() -> Problem {
    usage("nameless-in-tmux", "--host tmux needs a name for the agent")
        .because("its tmux session is named after it")
        .next("name it, for example: perennial run --host tmux --name bob -- bash")
}

/// Its pane was closed by the burial; another one would show nothing, ever.
pub fn buried(who: &str) -> Problem {
    Problem::new(409, "wrong-state", format!("{who} is buried, and has no pane any more"))
        .because("a buried agent has no further session that a pane could show")
        .next(format!("see what it printed with: perennial logs {who}"))
}

pub fn not_in_tmux(who: &str) -> Problem {
    Problem::new(409, "not-in-tmux", format!("{who} has no tmux session"))
        .because("it was not started with --host tmux")
        .next(format!("see its terminal with: perennial attach {who}"))
}

//! `run`: a new agent and its terminal in one step.

use crate::attach::{DETACH, ECHO};
use crate::processes::{running, signal};
use crate::sealed::{Sealed, pid};
use crate::terminal::Terminal;

#[test]
fn run_names_the_agent_and_attaches() {
    let sealed = Sealed::up();
    for name in ["sh", "sh-2"] {
        let mut terminal = Terminal::run(sealed.command(["run", "--", "/bin/sh", "-c", ECHO]));
        terminal.wait("detach:");
        terminal.wait("ready");
        terminal.type_keys(DETACH);
        assert_eq!(terminal.end().code, 0);
        assert_eq!(sealed.show(name).state, "working");
    }
    // Without a terminal both are refused, and no agent is made.
    assert_eq!(sealed.refused(2, &["run", "--", "true"]).kind, "no-terminal");
    assert_eq!(sealed.refused(2, &["attach", "sh"]).kind, "no-terminal");
    assert_eq!(sealed.ls().len(), 2);
    let session = running(pid(&sealed.show("sh")));
    assert!(signal(session, rustix::process::Signal::HUP));
}

//! `attach`: a person at an agent's terminal.

use crate::processes::{kill, running};
use crate::sealed::{Sealed, pid};
use crate::terminal::Terminal;

/// Repeats every line that it reads.
pub const ECHO: &str = "stty -echo; echo ready; while read line; do echo \"got <$line>\"; done";
pub const DETACH: &str = "\x1c\x1c";

/// Attached once what was printed before is shown: keys typed earlier are the terminal's, not the
/// agent's.
fn attach(sealed: &Sealed, name: &str) -> Terminal {
    let mut terminal = Terminal::run(sealed.command(["attach", name]));
    terminal.wait("detach:");
    terminal.wait("ready");
    terminal
}

#[test]
fn a_person_types_sees_and_detaches_and_the_agent_runs_on() {
    let sealed = Sealed::deep();
    sealed.start_daemon();
    let agent = sealed.spawn("shell", ECHO);
    let mut terminal = attach(&sealed, "shell");
    terminal.type_keys("hello there\r");
    terminal.wait("got <hello there>");
    terminal.type_keys(DETACH);
    let ended = terminal.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("keeps running"), "{ended:?}");
    assert_eq!(pid(&sealed.show("shell")), pid(&agent));
    // Two at once see the same.
    let (mut one, mut two) = (attach(&sealed, "shell"), attach(&sealed, "shell"));
    one.type_keys("from one\r");
    one.wait("got <from one>");
    two.wait("got <from one>");
    one.type_keys(DETACH);
    assert_eq!(one.end().code, 0);
    two.type_keys("from two\r");
    two.wait("got <from two>");
    two.type_keys(DETACH);
    assert_eq!(two.end().code, 0);
}

#[test]
fn an_attached_person_survives_the_daemon() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("shell", ECHO);
    let mut terminal = attach(&sealed, "shell");
    sealed.kill_daemon();
    terminal.type_keys("without a daemon\r");
    terminal.wait("got <without a daemon>");
    sealed.start_daemon();
    terminal.type_keys("with the next one\r");
    terminal.wait("got <with the next one>");
    terminal.type_keys(DETACH);
    assert_eq!(terminal.end().code, 0);
    assert_eq!(pid(&sealed.show("shell")), pid(&agent));
}

#[test]
fn an_attached_person_stays_over_a_restart_in_place() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("shell", ECHO);
    let mut terminal = attach(&sealed, "shell");
    kill(running(pid(&agent)));
    terminal.wait("session 2");
    terminal.wait("ready");
    terminal.type_keys("to the second\r");
    terminal.wait("got <to the second>");
    // A stop ends it for good, and the person is told.
    sealed.ok(["stop", "shell"]);
    let ended = terminal.end();
    assert!(ended.code == 0 && ended.stdout.contains("[session 2 ended: "), "{ended:?}");
}

#[test]
fn the_session_has_the_size_of_the_persons_terminal() {
    let sealed = Sealed::up();
    sealed.spawn("size", "echo ready; while read line; do stty size; done");
    let mut terminal = attach(&sealed, "size");
    terminal.type_keys("x\r");
    terminal.wait("30 100");
    terminal.type_keys(DETACH);
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn text_is_sent_with_enter_and_waits_while_a_person_has_a_draft() {
    let sealed = Sealed::up();
    sealed.spawn("shell", ECHO);
    let mut terminal = attach(&sealed, "shell");
    sealed.ok(["send", "shell", "by a program"]);
    terminal.wait("got <by a program>");
    terminal.type_keys("half a sen");
    let waits = |text: &str| {
        sealed.ok(["send", "shell", text]);
        // The first of those that wait says so; the others wait for it.
        let sent = sealed.ok(["sent", "shell", "-n", "1000", "--json"]);
        sent.contains("the input line may hold text that was typed")
    };
    sealed.until("the draft is known", || waits("in between"));
    terminal.type_keys("tence\r");
    // What a program sent before the draft was known may stand before it, never inside it.
    let before = terminal.wait("half a sentence>");
    assert!(!before.contains("half"), "{before:?}");
    // What waited comes by itself once the draft is sent.
    terminal.wait("got <in between>");
    sealed.ok(["send", "shell", "--", "-n after"]);
    terminal.wait("got <-n after>");
    terminal.type_keys("another draft");
    terminal.type_keys(DETACH);
    assert_eq!(terminal.end().code, 0);
}

#[test]
fn a_terminal_that_goes_away_leaves_the_agent_running() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("shell", ECHO);
    drop(attach(&sealed, "shell"));
    let mut next = attach(&sealed, "shell");
    next.type_keys("still there\r");
    next.wait("got <still there>");
    next.type_keys(DETACH);
    assert_eq!(next.end().code, 0);
    assert_eq!(pid(&sealed.show("shell")), pid(&agent));
}

//! `attach`: a person at an agent's terminal.

use std::process::Command;

use crate::processes::{kill, running, signal};
use crate::sealed::{Sealed, finish, pid};
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

/// Without a daemon nothing is restarted: the person is told so, and how to return.
#[test]
fn an_end_while_no_daemon_runs_is_told_with_the_way_back() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("shell", ECHO);
    let terminal = attach(&sealed, "shell");
    sealed.kill_daemon();
    kill(running(pid(&agent)));
    let ended = terminal.end();
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stdout.contains("no daemon is running") && ended.stdout.contains("attach shell"));
    sealed.start_daemon();
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

/// Prints without end, and tells of SIGQUIT, which Ctrl-\ would be to it.
const TALKATIVE: &str = "trap 'echo asked to quit' QUIT; echo ready; \
    (while :; do echo tick; sleep 0.03; done) & while :; do read -r key && echo \"key $key\"; done";
/// What is shown after the prefix.
const HINT: &str = "q: send Ctrl-\\";

fn talkative(sealed: &Sealed) -> (perennial_api::Agent, Terminal) {
    let agent = sealed.spawn_with(&["talk"], &["/bin/bash", "-c", TALKATIVE]);
    let terminal = attach(sealed, "talk");
    (agent, terminal)
}

/// N1: twice Ctrl-\, slowly, at a program that prints all the time.
#[test]
fn the_prefix_pressed_twice_slowly_detaches_and_kills_nothing() {
    let sealed = Sealed::up();
    let (agent, mut terminal) = talkative(&sealed);
    terminal.type_keys("\x1c");
    terminal.wait(HINT);
    terminal.type_keys("\x1c");
    let ended = terminal.end();
    assert_eq!(ended.code, 0, "{ended:?}");
    // The alternate screen with the hint is left, and the screen of the program is as it was.
    assert!(ended.stdout.contains("\x1b[?1049l"), "{ended:?}");
    assert!(ended.stdout.contains("to return: perennial attach talk"), "{ended:?}");
    assert_eq!(pid(&sealed.show("talk")), pid(&agent));
    assert!(!sealed.ok(["logs", "talk"]).contains("asked to quit"));
}

#[test]
fn the_prefix_alone_is_forgotten_and_reaches_the_program_only_with_q() {
    let sealed = Sealed::up();
    let (agent, mut terminal) = talkative(&sealed);
    terminal.type_keys("\x1c");
    terminal.wait(HINT);
    // The hint goes by itself, though the program prints on.
    let meanwhile = terminal.wait("\x1b[?1049l");
    assert!(!meanwhile.contains("tick"), "the hint was drawn over: {meanwhile:?}");
    terminal.wait("tick");
    // Any other key is typed; the prefix before it is not.
    terminal.type_keys("\x1cx\r");
    terminal.wait("key x");
    terminal.type_keys("\x1b[200~\x1c\x1cd\x1b[201~\r");
    terminal.wait("asked to quit");
    // The shell loses a signal that comes while it answers the one before.
    terminal.wait("tick");
    sealed.until("it is asked again", || {
        terminal.type_keys("\x1cq");
        terminal.wait("tick");
        terminal.shows("asked to quit")
    });
    terminal.type_keys("\x1b[92;5ud");
    assert_eq!(terminal.end().code, 0);
    assert_eq!(pid(&sealed.show("talk")), pid(&agent));
}

#[test]
fn a_full_screen_program_gives_up_a_row_for_the_hint_and_gets_it_back() {
    let sealed = Sealed::up();
    sealed.spawn_with(
        &["full"],
        &[
            "/bin/bash",
            "-c",
            "printf '\\033[?1049h'; echo ready; while :; do now=$(stty size); \
            [ \"$now\" = \"$last\" ] || echo \"size $now\"; last=$now; sleep 0.02; done",
        ],
    );
    let mut terminal = attach(&sealed, "full");
    terminal.type_keys("\x1c");
    terminal.wait(HINT);
    sealed.until("the program has drawn itself", || {
        sealed.ok(["logs", "full"]).contains("size 29 100")
    });
    terminal.type_keys("x\r");
    terminal.wait("size 29 100");
    terminal.wait("size 30 100");
    terminal.type_keys("\x1cd");
    let ended = terminal.end();
    assert_eq!(ended.code, 0);
    assert!(ended.stdout.contains("\x1b[?1049l"), "{ended:?}");
}

#[test]
fn other_detach_keys_are_taken_and_nonsense_is_refused() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("shell", ECHO);
    let keys = ["attach", "shell", "--detach-keys", "C-a d"];
    let mut terminal = Terminal::run(sealed.command(keys));
    terminal.wait("detach: Ctrl-A d]");
    terminal.wait("ready");
    terminal.type_keys("\x01xy\r");
    terminal.wait("got <xy>");
    terminal.type_keys("\x01d");
    assert_eq!(terminal.end().code, 0);
    assert_eq!(pid(&sealed.show("shell")), pid(&agent));
    for bad in ["C-c", "C-a dd", ""] {
        assert_eq!(sealed.run(["attach", "shell", "--detach-keys", bad]).code, 2, "{bad:?}");
    }
}

/// N7: while the next session is waited for, the keys leave, and no kill signal dumps a core.
#[test]
fn waiting_for_a_retry_is_left_by_the_same_keys_and_by_control_c() {
    let sealed = Sealed::up();
    let waits = |name: &str| {
        let _crashed = sealed.run(["spawn", name, "--", "/bin/sh", "-c", "exit 1"]);
        let mut terminal = Terminal::run(sealed.command(["attach", name]));
        terminal.wait("to leave: Ctrl-C or Ctrl-\\ d]");
        terminal
    };
    for (name, keys) in [("prefix", "\x1c\x1c"), ("letter", "\x1cd"), ("interrupt", "\x03")] {
        let mut terminal = waits(name);
        terminal.type_keys(keys);
        let ended = terminal.end();
        assert!(ended.code == 0 && ended.stdout.contains("[detached"), "{name}: {ended:?}");
    }
    let terminal = waits("quit");
    assert!(signal(running(terminal.pid()), rustix::process::Signal::QUIT));
    assert_eq!(terminal.end().code, 1);
}

#[test]
fn a_client_that_is_told_to_end_restores_the_terminal_and_one_that_is_killed_ends_nothing() {
    let sealed = Sealed::up();
    let modes = "printf '\\033[?1049h\\033[?2004h'; ";
    let agent = sealed.spawn("shell", &format!("{modes}{ECHO}"));
    for by in [rustix::process::Signal::HUP, rustix::process::Signal::TERM] {
        let terminal = attach(&sealed, "shell");
        assert!(signal(running(terminal.pid()), by));
        let ended = terminal.end();
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.stdout.contains("\x1b[?1049l\x1b[?2004l"), "{ended:?}");
    }
    let killed = attach(&sealed, "shell");
    kill(running(killed.pid()));
    let mut next = attach(&sealed, "shell");
    next.type_keys("still there\r");
    next.wait("got <still there>");
    next.type_keys(DETACH);
    assert_eq!(next.end().code, 0);
    assert_eq!(pid(&sealed.show("shell")), pid(&agent));
    drop(killed);
}

/// The last one who typed has the size, and storms of sizes end with the last.
#[test]
fn two_people_a_storm_of_sizes_and_a_terminal_of_one_cell() {
    let sealed = Sealed::up();
    sealed.spawn("size", "stty -echo; echo ready; while read line; do echo \"$(stty size)\"; done");
    let (mut one, mut two) = (attach(&sealed, "size"), attach(&sealed, "size"));
    two.resize(10, 40);
    two.type_keys("x\r");
    two.wait("10 40");
    one.type_keys("x\r");
    one.wait("30 100");
    for rows in 1..200 {
        one.resize(rows, 2 * rows);
    }
    one.resize(1, 1);
    one.type_keys("\x1c");
    one.wait("\x1b[?1049h");
    one.type_keys("x\r");
    sealed.until("the last size holds", || {
        one.type_keys("x\r");
        one.shows("1 1\r\n")
    });
    one.type_keys(DETACH);
    assert_eq!(one.end().code, 0);
    // Without a key of the one who stays.
    let terminal = format!("/proc/{}/fd/0", pid(&sealed.show("size")));
    let size = || {
        let mut stty = Command::new("stty");
        stty.args(["-F", &terminal, "size"]);
        finish(stty).stdout
    };
    sealed.until("the other's size holds", || size() == "10 40\n");
    two.type_keys(DETACH);
    assert_eq!(two.end().code, 0);
}

/// C9's rest: a program that a kill signal has stopped is told as such, with the way on, and texts wait.
#[test]
fn a_suspended_program_is_told_with_the_way_to_continue_it() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("shell", ECHO);
    sealed.until("it is ready", || sealed.ok(["logs", "shell"]).contains("ready"));
    let main = running(pid(&agent));
    assert!(signal(main, rustix::process::Signal::STOP));
    sealed.until("it is told", || sealed.show("shell").reason == "suspended");
    let way = format!("kill -CONT {}", pid(&agent));
    assert_eq!(sealed.show("shell").state, "working");
    assert!(sealed.ok(["why", "shell"]).contains(&way));
    assert!(sealed.ok(["ls"]).contains("suspended by SIGSTOP"));
    sealed.ok(["send", "shell", "while it sleeps"]);
    sealed.until("the text waits for that", || {
        sealed.ok(["sent", "shell"]).contains("the program is suspended")
    });
    // The next daemon knows it, too.
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.until("it is told again", || sealed.show("shell").reason == "suspended");
    assert!(signal(main, rustix::process::Signal::CONT));
    sealed.until("it goes on", || sealed.show("shell").reason == "running");
    sealed.until("the text has come", || {
        sealed.ok(["logs", "shell"]).contains("got <while it sleeps>")
    });
}

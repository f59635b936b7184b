//! `screen`: what is on a terminal now, and was at the end.

use perennial_api::answer::{Cursor, Screen};

use crate::callers::{Who, ask_one};
use crate::sealed::Sealed;
use crate::terminal::Terminal;

const DRAWS: &str =
    "printf '\\033[?1049h\\033[2J\\033[H\\033[1;31mRed\\033[0m \\346\\227\\245\\346\\234\\254'
    printf '\\033[3;2Hthird\\033[?25l'; read x; printf '\\033[?25h\\033[2Kgone'; exit 0";

fn drawn(sealed: &Sealed, name: &str, text: &str) -> Screen {
    sealed.until(text, || sealed.ok(["screen", name]).contains(text));
    sealed.json(&["screen", name])
}

#[test]
fn the_screen_is_shown_now_and_as_it_was_at_the_end() {
    let sealed = Sealed::up();
    sealed.spawn_with(&["bob", "--restart", "never"], &["/bin/sh", "-c", DRAWS]);
    let screen = drawn(&sealed, "bob", "third");
    assert_eq!(screen.lines[..3], ["Red 日本", "", " third"]);
    assert_eq!((screen.rows, screen.columns, screen.lines.len()), (24, 80, 24));
    assert_eq!(screen.cursor, Cursor { row: 2, column: 6, is_hidden: true });
    assert!(screen.is_alternate && !screen.is_over && !screen.may_be_incomplete, "{screen:?}");
    assert_eq!((screen.session, screen.agent.as_str()), (1, "bob"));
    assert_eq!(sealed.ok(["screen", "bob"]), "Red 日本\n\n third\n");
    let coloured = sealed.ok(["screen", "bob", "--ansi"]);
    assert_eq!(coloured, "\x1b[0;1;38;5;1mRed\x1b[0m 日本\n\n third\n");
    let mut watch = sealed.watch();
    sealed.ok(["send", "bob", "x"]);
    watch.ended("bob", 1);
    let ran = sealed.run(["screen", "bob"]);
    assert!(ran.stdout.contains("gone") && ran.stderr.contains("has ended"), "{ran:?}");
    let screen: Screen = sealed.json(&["screen", "bob", "--session", "1"]);
    assert!(screen.is_over && !screen.cursor.is_hidden, "{screen:?}");
    // Its recording outlives it.
    sealed.ok(["bury", "bob", "--summary", "done"]);
    assert!(sealed.ok(["screen", "bob"]).contains("gone"));
    assert_eq!(sealed.refused(4, &["screen", "bob", "--session", "2"]).kind, "no-such-session");
}

#[test]
fn the_screen_has_the_size_of_the_persons_terminal() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "stty -echo; while read x; do stty size; done");
    let mut terminal = Terminal::run(sealed.command(["attach", "bob"]));
    terminal.wait("session 1");
    terminal.type_keys("x\r");
    terminal.wait("30 100");
    let screen: Screen = sealed.json(&["screen", "bob"]);
    assert_eq!((screen.rows, screen.columns), (30, 100), "{screen:?}");
    assert_eq!(terminal.detach().code, 0);
}

#[test]
fn only_a_person_may_look_at_it() {
    let sealed = Sealed::up();
    let lead = sealed.spawn("lead", "read x");
    let bob = sealed.spawn_with(&["bob", "--parent", "lead"], &["/bin/cat"]);
    for path in ["screen", "recording", "logs"] {
        let path = format!("/v1/agents/bob/{path}");
        for who in [Who::Agent(&bob), Who::Agent(&lead), Who::Viewer] {
            let answer = ask_one(&sealed, who, &path);
            assert_eq!(answer.status, 403, "{who:?} {path}: {answer:?}");
        }
    }
}

//! Texts for a program with an input line: typed once where the line is free, else held and told why.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};

use perennial_core::conversation::Opening;
use perennial_core::effect::{Action, SessionEffect};
use perennial_core::id::AgentId;
use perennial_engine::host::HostReport;
use perennial_engine::host::attach::Attachment;
use perennial_engine::host::holders::{
    Delivery, Focus, HeldRecord, HostRefusal, LineReport, Mode, Outcome,
};
use perennial_engine::host::protocol::{Order, ShimReport};

use rustix::process::Signal;

use crate::fixture::{Fixture, LONG, N1, N2, Wire, kill, launch, until};
use crate::tui::{self, Manner, program};

const ENTERED: Result<Outcome, HostRefusal> = Ok(Outcome::Entered);

fn held(why: HeldRecord) -> Result<Outcome, HostRefusal> {
    Ok(Outcome::Held(why))
}

/// A session that runs the program, which has drawn itself.
fn stage(manner: Manner) -> (Fixture, AgentId) {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let pipe = fixture.path().join("go");
    let status = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(status.success());
    let action = Action::Start(Box::new(launch(fixture.path(), &["tui"])), Opening::Bare);
    let mut program = program(fixture.path(), manner);
    if let (Manner::Ignores | Manner::Asks, Some(rules)) = (manner, &mut program.input) {
        rules.enter_again_ms = AGAIN_MS;
    }
    if let (Manner::NewRow, Some(rules)) = (manner, &mut program.input) {
        rules.enter_again_ms = AGAIN_MS;
        rules.is_caret_upward = true;
        rules.hints = vec![tui::HINT.to_owned()];
    }
    fixture
        .holders()
        .order_start(SessionEffect { agent, number: N1, recorded: None, action }, program);
    fixture.executed(agent, N1);
    line_is(&mut fixture, agent, LineReport::default());
    match manner {
        Manner::Undrawn | Manner::ClassicUndrawn => {}
        Manner::Classic | Manner::Swallows => fixture.await_output(agent, N1, "\x1b[?2004h"),
        Manner::NewRow => fixture.await_output(agent, N1, "\x1b[2A\x1b[3G"),
        Manner::Echoes
        | Manner::Menu
        | Manner::Gated
        | Manner::Appends
        | Manner::PutsBack
        | Manner::Ignores
        | Manner::Blocks
        | Manner::Asks => {
            fixture.await_output(agent, N1, "\x1b[22;3H");
        }
    }
    (fixture, agent)
}

fn order(
    fixture: &Fixture,
    agent: AgentId,
    (message, attempt): (&str, u32),
    text: &str,
) -> Receiver<Result<Outcome, HostRefusal>> {
    let (sender, answers) = channel();
    let columns = text.split('\n').map(|line| line.chars().count() as u32).collect();
    let (message, text) = (message.to_owned(), text.to_owned());
    let delivery = Delivery { message, attempt, text, columns };
    fixture.holders().deliver(agent, N1, delivery, move |answer| {
        let _test_over = sender.send(answer);
    });
    answers
}

fn deliver(
    fixture: &Fixture,
    agent: AgentId,
    which: (&str, u32),
    text: &str,
) -> Result<Outcome, HostRefusal> {
    order(fixture, agent, which, text).recv_timeout(LONG).expect("an answer")
}

fn attach(fixture: &Fixture, agent: AgentId) -> Attachment {
    let ticket = fixture.ticket(agent, N1, Mode::Attach).expect("a ticket");
    Attachment::attach(&ticket.socket, &ticket.token, (24, 80), None).expect("attached")
}

fn line_is(fixture: &mut Fixture, agent: AgentId, expected: LineReport) {
    fixture.wait(&format!("{expected:?}"), |report| match report {
        HostReport::Line { agent: a, number: N1, line } if (*a, *line) == (agent, expected) => {
            Some(())
        }
        _ => None,
    });
}

fn await_file(fixture: &Fixture, name: &str) -> PathBuf {
    let path = fixture.path().join(name);
    until(name, || path.exists());
    path
}

fn await_sent(fixture: &Fixture, expected: &[&str]) {
    until(&format!("{expected:?} is sent"), || tui::sent(fixture.path()).len() >= expected.len());
    assert_eq!(tui::sent(fixture.path()), expected);
}

/// Time enough for a person to type something.
const AGAIN_MS: u16 = 500;

const CLEAR: LineReport =
    LineReport { draft: false, doubt: false, suspended: false, paused: false, stopped: false };
const DRAFT: LineReport = LineReport { draft: true, ..CLEAR };
const DOUBT: LineReport = LineReport { doubt: true, ..CLEAR };
const STOPPED: LineReport = LineReport { stopped: true, ..CLEAR };
const SUSPENDED: LineReport = LineReport { suspended: true, ..CLEAR };

#[test]
fn a_text_is_typed_into_a_free_line() {
    let (fixture, agent) = stage(Manner::Echoes);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "hello big world"), ENTERED);
    await_sent(&fixture, &["hello big world"]);
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "y"), ENTERED);
    await_sent(&fixture, &["hello big world", "y"]);
}

#[test]
fn the_same_try_is_made_once_also_for_the_next_daemon() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    for _ in 0..3 {
        assert_eq!(deliver(&fixture, agent, ("m1", 1), "once"), ENTERED);
    }
    fixture.stop_daemon();
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    fixture.executed(agent, N1);
    line_is(&mut fixture, agent, LineReport::default());
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "once"), ENTERED);
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "twice"), ENTERED);
    await_sent(&fixture, &["once", "twice"]);
}

/// The order for an earlier text may come again behind those that followed it.
#[test]
fn a_try_is_not_made_again_after_others_nor_one_before_it() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    let sent = ["one", "two", "two again", "three"];
    let tries = [("m1", 1), ("m2", 1), ("m2", 2), ("m3", 1)];
    for (which, text) in tries.into_iter().zip(sent) {
        assert_eq!(deliver(&fixture, agent, which, text), ENTERED);
    }
    fixture.stop_daemon();
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    fixture.executed(agent, N1);
    line_is(&mut fixture, agent, LineReport::default());
    for (which, text) in tries.into_iter().zip(sent) {
        assert_eq!(deliver(&fixture, agent, which, text), ENTERED);
    }
    assert_eq!(deliver(&fixture, agent, ("m4", 1), "four"), ENTERED);
    await_sent(&fixture, &["one", "two", "two again", "three", "four"]);
}

#[test]
fn a_draft_holds_a_text_back_also_when_its_typist_has_left() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    let mut client = attach(&fixture, agent);
    client.send(b"rm -rf the ").expect("typed");
    line_is(&mut fixture, agent, DRAFT);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "two words"), held(HeldRecord::Draft));
    drop(client);
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "two words"), held(HeldRecord::Draft));
    let mut client = attach(&fixture, agent);
    client.send(b"house\r").expect("typed");
    line_is(&mut fixture, agent, LineReport::default());
    await_sent(&fixture, &["rm -rf the house"]);
    fixture.holders().heard(agent, N1);
    assert_eq!(deliver(&fixture, agent, ("m1", 3), "two words"), ENTERED);
    await_sent(&fixture, &["rm -rf the house", "two words"]);
}

/// The caret is still where it was before the person typed.
#[test]
fn a_line_that_the_program_has_not_read_yet_is_not_free() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    let running = fixture.directory(agent).read_process(N1).expect("it runs").process;
    let pid = perennial_core::session::Process::from(running).pid;
    kill(pid, Signal::STOP);
    line_is(&mut fixture, agent, STOPPED);
    let mut client = attach(&fixture, agent);
    client.send(b"by hand").expect("typed");
    line_is(&mut fixture, agent, LineReport { draft: true, ..STOPPED });
    client.send(b"\r").expect("typed");
    line_is(&mut fixture, agent, STOPPED);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::NotDrawn));
    kill(pid, Signal::CONT);
    await_sent(&fixture, &["by hand"]);
    fixture.holders().heard(agent, N1);
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), ENTERED);
    await_sent(&fixture, &["by hand", "text"]);
}

#[test]
fn a_mode_that_nobody_tells_of_holds_a_text_back_until_it_is_left() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    let mut client = attach(&fixture, agent);
    client.send(b"\x12").expect("typed");
    line_is(&mut fixture, agent, DOUBT);
    drop(client);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::Doubt));
    let mut client = attach(&fixture, agent);
    client.send(b"\x1b").expect("typed");
    line_is(&mut fixture, agent, LineReport::default());
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), ENTERED);
    await_sent(&fixture, &["text"]);
}

#[test]
fn a_prompt_that_was_taken_ends_a_doubt() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    let mut client = attach(&fixture, agent);
    client.send(b"\x07").expect("typed");
    line_is(&mut fixture, agent, DOUBT);
    fixture.holders().heard(agent, N1);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::Doubt));
    client.send(b"\r").expect("typed");
    until("the key is taken", || !tui::sent(fixture.path()).is_empty());
    fixture.holders().heard(agent, N1);
    line_is(&mut fixture, agent, LineReport::default());
}

#[test]
fn a_menu_gets_no_enter() {
    let (fixture, agent) = stage(Manner::Menu);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::NoEcho));
    await_file(&fixture, "pasted");
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::NoEcho), "as before");
    assert!(!fixture.path().join("chosen").exists());
    fixture.holders().focus(agent, N1, Focus::Dialog);
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), held(HeldRecord::Dialog));
}

#[test]
fn an_echo_that_comes_late_gets_no_enter_and_the_text_is_erased_before_the_next() {
    let (fixture, agent) = stage(Manner::Gated);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "late"), held(HeldRecord::NoEcho));
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    // The echo is there, and nobody enters it.
    fixture.await_output(agent, N1, "late");
    assert_eq!(tui::sent(fixture.path()), Vec::<String>::new());
    let answer = order(&fixture, agent, ("m2", 1), "next");
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    assert_eq!(answer.recv_timeout(LONG).expect("an answer"), ENTERED);
    await_sent(&fixture, &["next"]);
}

#[test]
fn a_text_behind_something_else_gets_no_enter_and_nothing_is_erased_for_it() {
    let (mut fixture, agent) = stage(Manner::Appends);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "the cat"), held(HeldRecord::NoEcho));
    line_is(&mut fixture, agent, DRAFT);
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "the cat"), held(HeldRecord::Draft));
    let mut client = attach(&fixture, agent);
    client.send(b"\r").expect("typed");
    await_sent(&fixture, &["rm -rf the cat"]);
    line_is(&mut fixture, agent, LineReport::default());
    // What was entered may be that very text: its prompt is heard first.
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "the cat"), held(HeldRecord::Busy));
    fixture.holders().heard(agent, N1);
    assert_eq!(deliver(&fixture, agent, ("m1", 3), "the cat"), ENTERED);
    await_sent(&fixture, &["rm -rf the cat", "the cat"]);
}

/// As an interrupted turn does it.
#[test]
fn keys_in_a_line_that_the_program_filled_hold_a_text_back() {
    let (mut fixture, agent) = stage(Manner::PutsBack);
    let mut client = attach(&fixture, agent);
    client.send(b"\x1b").expect("typed");
    fixture.await_output(agent, N1, "back");
    client.send(b"\x1b[H").expect("typed");
    line_is(&mut fixture, agent, DRAFT);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::Draft));
    client.send(b"\x03").expect("typed");
    line_is(&mut fixture, agent, LineReport::default());
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), ENTERED);
    await_sent(&fixture, &["text"]);
}

#[test]
fn what_keys_reach_is_not_known_once_the_daemon_has_gone_that_told_it() {
    let (mut fixture, agent) = stage(Manner::Classic);
    let mut client = attach(&fixture, agent);
    fixture.holders().focus(agent, N1, Focus::Dialog);
    // Answered behind the order.
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::Dialog));
    fixture.stop_daemon();
    client.send(b"word").expect("typed");
    fixture.await_output(agent, N1, "word");
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    fixture.executed(agent, N1);
    line_is(&mut fixture, agent, DRAFT);
    fixture.holders().focus(agent, N1, Focus::Line);
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), held(HeldRecord::Draft));
}

#[test]
fn a_dialog_between_paste_and_enter_gets_no_enter() {
    let (fixture, agent) = stage(Manner::Gated);
    let answer = order(&fixture, agent, ("m1", 1), "text");
    await_file(&fixture, "pasted");
    fixture.holders().focus(agent, N1, Focus::Dialog);
    assert_eq!(answer.recv_timeout(LONG).expect("an answer"), held(HeldRecord::Dialog));
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    fixture.await_output(agent, N1, "text");
    assert_eq!(tui::sent(fixture.path()), Vec::<String>::new());
}

#[test]
fn a_persons_keys_between_paste_and_enter_follow_the_enter() {
    let (mut fixture, agent) = stage(Manner::Gated);
    let mut client = attach(&fixture, agent);
    let answer = order(&fixture, agent, ("m1", 1), "text");
    await_file(&fixture, "pasted");
    client.send(b"x").expect("typed");
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    assert_eq!(answer.recv_timeout(LONG).expect("an answer"), ENTERED);
    line_is(&mut fixture, agent, DRAFT);
    client.send(b"yz\r").expect("typed");
    await_sent(&fixture, &["text", "xyz"]);
}

#[test]
fn for_a_persons_keys_a_text_that_is_not_seen_is_erased() {
    let (mut fixture, agent) = stage(Manner::Gated);
    let mut client = attach(&fixture, agent);
    let answer = order(&fixture, agent, ("m1", 1), "text");
    await_file(&fixture, "pasted");
    client.send(b"x").expect("typed");
    client.send(b"y").expect("typed");
    assert_eq!(answer.recv_timeout(LONG).expect("an answer"), held(HeldRecord::NoEcho));
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    line_is(&mut fixture, agent, DRAFT);
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), held(HeldRecord::Draft));
    client.send(b"\r").expect("typed");
    await_sent(&fixture, &["xy"]);
    line_is(&mut fixture, agent, LineReport::default());
    std::fs::write(fixture.path().join("open"), "").expect("written");
    assert_eq!(deliver(&fixture, agent, ("m1", 3), "text"), ENTERED);
    await_sent(&fixture, &["xy", "text"]);
}

/// Nobody else was told of the suspension, so a text that was held for it would wait.
#[test]
fn the_end_of_a_suspension_is_told_also_while_somebody_is_attached() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    let mut client = attach(&fixture, agent);
    client.send(b"x\x7f").expect("typed");
    client.send(b"y").expect("typed");
    line_is(&mut fixture, agent, DRAFT);
    fixture.await_output(agent, N1, "y");
    client.send(b"\x7f").expect("typed");
    line_is(&mut fixture, agent, LineReport::default());
    client.send(b"\x1a").expect("typed");
    await_file(&fixture, "suspended");
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::Suspended));
    fixture.holders().continue_session(agent, N1);
    line_is(&mut fixture, agent, LineReport::default());
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), ENTERED);
    await_sent(&fixture, &["text"]);
}

#[test]
fn a_suspended_program_is_told_of_and_continued_on_order() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    let mut client = attach(&fixture, agent);
    client.send(b"\x1a").expect("typed");
    fixture.await_output(agent, N1, "\x1b[?2004l");
    // While somebody is at the terminal it is theirs; nobody is told before they leave.
    drop(client);
    line_is(&mut fixture, agent, SUSPENDED);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::Suspended));
    fixture.holders().continue_session(agent, N1);
    line_is(&mut fixture, agent, LineReport::default());
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), ENTERED);
    await_sent(&fixture, &["text"]);
}

#[test]
fn nothing_is_typed_before_the_line_is_drawn() {
    let (fixture, agent) = stage(Manner::Undrawn);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "text"), held(HeldRecord::NotDrawn));
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    fixture.await_output(agent, N1, "\x1b[22;3H");
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "text"), ENTERED);
    await_sent(&fixture, &["text"]);
}

#[test]
fn two_at_once_are_one_after_the_other() {
    let (fixture, agent) = stage(Manner::Gated);
    let first = order(&fixture, agent, ("m1", 1), "one");
    await_file(&fixture, "pasted");
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "two"), held(HeldRecord::Busy));
    let again = order(&fixture, agent, ("m1", 1), "one");
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    assert_eq!(first.recv_timeout(LONG).expect("an answer"), ENTERED);
    assert_eq!(again.recv_timeout(LONG).expect("an answer"), ENTERED);
    // Busy was no try: the same one may still be made.
    let second = order(&fixture, agent, ("m2", 1), "two");
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    assert_eq!(second.recv_timeout(LONG).expect("an answer"), ENTERED);
    await_sent(&fixture, &["one", "two"]);
}

#[test]
fn a_line_without_a_caret_is_proven_by_a_row_of_its_own() {
    let (fixture, agent) = stage(Manner::Classic);
    std::fs::write(fixture.path().join("open"), "").expect("written");
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "a text that is long enough"), ENTERED);
    await_sent(&fixture, &["a text that is long enough"]);
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "y"), ENTERED);
    await_sent(&fixture, &["a text that is long enough", "y"]);
}

#[test]
fn an_enter_that_the_program_did_nothing_with_is_pressed_again_while_the_line_shows_the_text() {
    let (fixture, agent) = stage(Manner::Ignores);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "some words"), ENTERED);
    await_sent(&fixture, &["some words"]);
    assert_eq!(std::fs::read(fixture.path().join("ignored")).expect("noted").len(), 2);
    // Nothing more is pressed in the empty line: the next text is the next thing that is sent.
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "more words"), ENTERED);
    await_sent(&fixture, &["some words", "more words"]);
}

/// Previously the new row was taken for an empty line, and the next text was pasted behind the first.
#[test]
fn an_enter_that_became_a_new_row_is_pressed_again_there() {
    let (fixture, agent) = stage(Manner::NewRow);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "some words"), ENTERED);
    await_sent(&fixture, &["some words\n"]);
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "more words"), ENTERED);
    await_sent(&fixture, &["some words\n", "more words"]);
}

#[test]
fn a_persons_enter_that_became_a_new_row_leaves_a_draft() {
    let (mut fixture, agent) = stage(Manner::NewRow);
    let mut person = attach(&fixture, agent);
    person.send(b"hello").expect("typed");
    line_is(&mut fixture, agent, LineReport { draft: true, ..LineReport::default() });
    person.send(b"\r").expect("typed");
    await_file(&fixture, "broken");
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "some words"), held(HeldRecord::Draft));
    assert_eq!(tui::sent(fixture.path()), Vec::<String>::new());
}

#[test]
fn no_enter_is_pressed_again_in_a_dialog_nor_behind_a_persons_keys() {
    let (fixture, agent) = stage(Manner::Asks);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "some words"), ENTERED);
    await_file(&fixture, "asked");
    let (other, second) = stage(Manner::Ignores);
    let mut person = attach(&other, second);
    assert_eq!(deliver(&other, second, ("m1", 1), "some words"), ENTERED);
    person.send(b"x").expect("typed");
    // As long as two more looks take.
    let (third, last) = stage(Manner::Ignores);
    assert_eq!(deliver(&third, last, ("m1", 1), "some words"), ENTERED);
    await_sent(&third, &["some words"]);
    assert!(!fixture.path().join("chosen").exists(), "the dialog was answered");
    // A person who types late may find our text sent, but not what they type.
    let sent = tui::sent(other.path());
    assert!(!sent.iter().any(|text| text.contains('x')), "a person's words were sent: {sent:?}");
}

/// D10: a hook of the user's blocked it so quickly that the line was never drawn empty.
#[test]
fn a_prompt_that_was_heard_and_stands_in_the_line_is_erased_for_the_next_text() {
    let (fixture, agent) = stage(Manner::Blocks);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "forbidden fruit"), ENTERED);
    await_file(&fixture, "blocked");
    fixture.holders().heard(agent, N1);
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "the next"), ENTERED);
    await_sent(&fixture, &["the next"]);
}

/// What was entered and not taken still stands in the line.
#[test]
fn without_a_caret_a_text_whose_enter_was_swallowed_is_not_glued_to_itself() {
    let (fixture, agent) = stage(Manner::Swallows);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "number two"), ENTERED);
    await_file(&fixture, "swallowed");
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "number two"), ENTERED);
    await_sent(&fixture, &["number two"]);
    fixture.holders().heard(agent, N1);
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "number three"), ENTERED);
    await_sent(&fixture, &["number two", "number three"]);
}

#[test]
fn keys_from_before_the_line_was_drawn_hold_a_text_back_until_the_line_is_cleared() {
    let (mut fixture, agent) = stage(Manner::ClassicUndrawn);
    let mut client = attach(&fixture, agent);
    client.send(b"/theme\r").expect("typed");
    line_is(&mut fixture, agent, DRAFT);
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    fixture.await_output(agent, N1, "/theme");
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "a longer text"), held(HeldRecord::Draft));
    client.send(b"\x03").expect("typed");
    line_is(&mut fixture, agent, LineReport::default());
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "a longer text"), ENTERED);
    await_sent(&fixture, &["a longer text"]);
}

/// Erased and typed again in one frame, the same text changes nothing on the screen.
#[test]
fn without_a_caret_a_text_whose_echo_came_late_is_erased_before_it_is_typed_again() {
    let two_rows = "a text of more than one row ".repeat(4);
    for text in ["remember the milk", two_rows.trim_end()] {
        let (fixture, agent) = stage(Manner::Classic);
        assert_eq!(deliver(&fixture, agent, ("m1", 1), text), held(HeldRecord::NoEcho));
        std::fs::write(fixture.path().join("open"), "").expect("written");
        std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
        fixture.await_output(agent, N1, text.split(' ').next_back().expect("a word"));
        assert_eq!(deliver(&fixture, agent, ("m1", 2), text), ENTERED);
        await_sent(&fixture, &[text]);
    }
}

#[test]
fn a_program_that_reads_late_gets_one_text_and_not_two() {
    let (fixture, agent) = stage(Manner::Gated);
    // It waits behind this paste, and reads nothing more.
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "first"), held(HeldRecord::NoEcho));
    assert_eq!(deliver(&fixture, agent, ("m1", 2), "second"), held(HeldRecord::NoEcho));
    let third = order(&fixture, agent, ("m1", 3), "third");
    std::fs::write(fixture.path().join("open"), "").expect("written");
    std::fs::write(fixture.path().join("go"), "\n").expect("the program reads");
    assert_eq!(third.recv_timeout(LONG).expect("an answer"), ENTERED);
    await_sent(&fixture, &["third"]);
}

#[test]
fn after_a_delivery_a_persons_keys_are_their_own_again() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "ours"), ENTERED);
    await_sent(&fixture, &["ours"]);
    fixture.holders().heard(agent, N1);
    let mut client = attach(&fixture, agent);
    client.send(b"x").expect("typed");
    line_is(&mut fixture, agent, DRAFT);
    client.send(b"\x7f").expect("typed");
    line_is(&mut fixture, agent, LineReport::default());
}

#[test]
fn a_bare_command_gets_its_text_and_enter() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "stty -echo; echo ready; read line; echo \"got <$line>\"; exec cat");
    fixture.await_output(agent, N1, "ready");
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "a text"), Ok(Outcome::Written));
    assert_eq!(deliver(&fixture, agent, ("m1", 1), "a text"), Ok(Outcome::Written));
    fixture.await_output(agent, N1, "got <a text>");
    let seen = String::from_utf8_lossy(&fixture.output(agent, N1)).into_owned();
    assert!(!seen.contains("a text>\r\na text"), "written once: {seen:?}");
    let mut client = attach(&fixture, agent);
    client.send(b"x").expect("typed");
    line_is(&mut fixture, agent, DRAFT);
    assert_eq!(deliver(&fixture, agent, ("m2", 1), "more"), held(HeldRecord::Draft));
}

/// A terminal that edits lines itself cuts one at 4,095 bytes, and tells nobody.
#[test]
fn a_line_that_the_terminal_would_cut_is_not_typed() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(
        agent,
        N1,
        "stty -echo; echo ready; head -n 2 | wc -c; stty -icanon; echo raw; exec cat",
    );
    fixture.await_output(agent, N1, "ready");
    let long = "x".repeat(4096);
    assert_eq!(deliver(&fixture, agent, ("m1", 1), &long), held(HeldRecord::LongLine));
    let two = format!("{0}\n{0}", "y".repeat(4095));
    assert_eq!(deliver(&fixture, agent, ("m2", 1), &two), Ok(Outcome::Written));
    fixture.await_output(agent, N1, "8192");
    fixture.await_output(agent, N1, "raw");
    assert_eq!(deliver(&fixture, agent, ("m1", 2), &long), Ok(Outcome::Written));
}

#[test]
fn a_text_for_another_session_is_not_typed() {
    let (fixture, agent) = stage(Manner::Echoes);
    let (sender, answers) = channel();
    let delivery = Delivery { message: "m".into(), attempt: 1, text: "x".into(), columns: vec![1] };
    fixture.holders().deliver(agent, N2, delivery, move |answer| {
        let _test_over = sender.send(answer);
    });
    assert_eq!(answers.recv_timeout(LONG).expect("an answer"), Err(HostRefusal::NotRunning));
    let long = "x".repeat(64 << 10);
    assert_eq!(deliver(&fixture, agent, ("m", 1), &long), Err(HostRefusal::TooLong));
}

#[test]
fn an_escape_in_a_text_does_not_end_the_paste() {
    let (mut fixture, agent) = stage(Manner::Echoes);
    fixture.stop_daemon();
    let (mut wire, _) = Wire::daemon(&fixture.directory(agent).socket(), 99);
    let order = perennial_engine::host::delivery::DeliverOrder {
        number: 1,
        message: "m".to_owned(),
        attempt: 1,
        text: "a\x1b[201~\x03b".to_owned(),
        columns: vec![7],
    };
    wire.say(&Order::Deliver(order));
    let outcome = loop {
        if let ShimReport::Delivered { outcome, .. } = wire.hear().expect("a report") {
            break outcome;
        }
    };
    assert_eq!(outcome, Outcome::Held(HeldRecord::NoEcho));
    let pasted = std::fs::read_to_string(await_file(&fixture, "pasted")).expect("read");
    assert_eq!(pasted, "a[201~\x03b\0");
    fixture.settings.epoch.0 = 99;
    fixture.start_daemon();
}

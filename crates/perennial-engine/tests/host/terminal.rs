//! The terminal: recording, typing, attaching, floods, questions.

use perennial_core::conversation::Opening;
use perennial_core::effect::{Action, SessionEffect};
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::session::Pace;
use perennial_engine::host::HostReport;
use perennial_engine::host::announcement::{Announced, AnnouncementRule};
use perennial_engine::host::attach::{AttachError, Attachment, News, SessionExit};
use perennial_engine::host::holders::{HeldRecord, HostRefusal, Mode, Outcome, Program};
use perennial_engine::host::recording::Recording;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;

use crate::fixture::{Fixture, N1, N2, is_alive, kill, launch, resident_bytes, until};

/// A shim of a debug build; what it must not do is grow with the output.
const RESIDENT_MAX: u64 = 12 << 20;

fn attach(fixture: &Fixture, agent: AgentId, number: SessionNumber) -> Attachment {
    let ticket = fixture.ticket(agent, number, Mode::Attach).expect("a ticket");
    Attachment::attach(&ticket.socket, &ticket.token, (33, 111), None).expect("attached")
}

/// Reads until `is_enough` says so of all news so far.
pub fn read_until(client: &mut Attachment, is_enough: impl Fn(&[News]) -> bool) -> Vec<News> {
    let mut all = Vec::new();
    while !is_enough(&all) {
        let ready = {
            let mut fds = [PollFd::new(client, PollFlags::IN)];
            poll(&mut fds, Some(&rustix::time::Timespec { tv_sec: 20, tv_nsec: 0 })).expect("polls")
        };
        assert!(ready > 0, "nothing came; so far {all:?}");
        all.extend(client.read().expect("connected"));
    }
    all
}

pub fn text(news: &[News]) -> String {
    let bytes: Vec<u8> = news
        .iter()
        .filter_map(|news| match news {
            News::Output(bytes) => Some(bytes.as_slice()),
            News::Session(_) | News::Ended(_) | News::TooSlow => None,
        })
        .flatten()
        .copied()
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn everything_printed_is_recorded_also_the_last_word() {
    let mut fixture = Fixture::with(|settings| settings.record_limit_bytes = 1 << 20);
    let agent = fixture.agent();
    fixture.run(agent, N1, "stty -onlcr; seq 1 20000; printf end");
    assert_eq!(fixture.exited(agent, N1), Exit::Code(0));
    // The exit is told at once; the terminal is read to its end right after.
    fixture.await_output(agent, N1, "end");
    let expected: String = (1..=20000).map(|n| format!("{n}\n")).collect::<String>() + "end";
    assert!(fixture.output(agent, N1) == expected.into_bytes(), "byte for byte");
}

#[test]
fn last_words_of_a_killed_session_are_recorded() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    for number in (1..=40).map(SessionNumber) {
        // Printed while the shim is held, so that words and death reach it together.
        fixture.run(agent, number, "mkfifo go; echo ready; read x < go; printf last; kill -9 $$");
        fixture.await_output(agent, number, "ready");
        let shim = fixture.shim_pid(agent).expect("a shim");
        kill(shim, Signal::STOP);
        std::fs::write(fixture.path().join("go"), "\n").expect("the session reads");
        fixture.order(agent, number, Action::Hold);
        let process = fixture.executed(agent, number);
        until("the session is dead", || !is_alive(process.pid));
        kill(shim, Signal::CONT);
        assert_eq!(fixture.exited(agent, number), Exit::KillSignal(9));
        fixture.await_output(agent, number, "last");
        std::fs::remove_file(fixture.path().join("go")).expect("removed");
    }
}

#[test]
fn a_flood_of_one_line_and_nuls_stays_bounded() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let script = "head -c 30000000 /dev/zero; head -c 30000000 /dev/zero | tr '\\0' x; echo done";
    fixture.run(agent, N1, script);
    let shim = fixture.shim_pid(agent).expect("a shim");
    fixture.exited(agent, N1);
    fixture.await_output(agent, N1, "done");
    assert!(resident_bytes(shim) < RESIDENT_MAX, "{}", resident_bytes(shim));
    let recording = Recording::open(&fixture.session_dir(agent, N1)).expect("opens");
    assert!(recording.end() >= 60_000_000);
    assert!(recording.end() - recording.start() <= fixture.settings.record_limit_bytes);
}

#[test]
fn a_client_that_does_not_read_slows_nobody() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "read line; head -c 20000000 /dev/zero; echo done; exec sleep 1000");
    let mut hung = attach(&fixture, agent, N1);
    let shim = fixture.shim_pid(agent).expect("a shim");
    hung.send(b"go\r").expect("typed");
    fixture.await_output(agent, N1, "done");
    assert!(resident_bytes(shim) < RESIDENT_MAX, "{}", resident_bytes(shim));
    let news = read_until(&mut hung, |news| news.contains(&News::TooSlow));
    assert!(text(&news).len() < 1 << 20);
    // A new client sees the present.
    let mut client = attach(&fixture, agent, N1);
    read_until(&mut client, |news| text(news).contains("done"));
}

#[test]
fn a_person_types_sees_and_stays_over_a_restart() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "echo hello; cat");
    fixture.await_output(agent, N1, "hello");
    let mut client = attach(&fixture, agent, N1);
    read_until(&mut client, |news| text(news).contains("hello"));
    client.send(b"typed\r").expect("sent");
    read_until(&mut client, |news| text(news).matches("typed").count() == 2);
    kill(process.pid, Signal::KILL);
    fixture.exited(agent, N1);
    fixture.run(agent, N2, "stty size; exec sleep 1000");
    let news = read_until(&mut client, |news| text(news).contains("33 111"));
    assert!(news.contains(&News::Session(2)), "{news:?}");
    assert_eq!(client.session(), 2);
    fixture.end(agent, N2, Pace::Graceful);
    fixture.exited(agent, N2);
    fixture.order(agent, N2, Action::Release);
    let news = read_until(&mut client, |news| matches!(news.last(), Some(News::Ended(_))));
    assert_eq!(news.last(), Some(&News::Ended(Some(SessionExit::KillSignal(2)))));
}

#[test]
fn the_last_typists_size_wins_and_programs_are_told() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "trap 'stty size' WINCH; echo ready; while :; do read line; done");
    fixture.await_output(agent, N1, "ready");
    let mut first = attach(&fixture, agent, N1);
    read_until(&mut first, |news| text(news).contains("33 111"));
    let mut second = attach(&fixture, agent, N1);
    second.resize(44, 222).expect("sent");
    read_until(&mut second, |news| text(news).contains("44 222"));
    let seen = text(&read_until(&mut first, |news| text(news).contains("44 222")));
    assert!(seen.contains("44 222"));
    first.send(b"\r").expect("sent");
    read_until(&mut first, |news| text(news).contains("33 111"));
}

#[test]
fn a_client_resumes_where_it_was() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "stty -echo; echo one; read line; echo two; exec sleep 1000");
    let mut client = attach(&fixture, agent, N1);
    read_until(&mut client, |news| text(news).contains("one"));
    let offset = client.offset();
    drop(client);
    fixture.type_line(agent, N1, "");
    fixture.await_output(agent, N1, "two");
    let ticket = fixture.ticket(agent, N1, Mode::Watch).expect("a ticket");
    let mut client =
        Attachment::watch(&ticket.socket, &ticket.token, Some(offset)).expect("watches");
    let seen = text(&read_until(&mut client, |news| text(news).contains("two")));
    assert!(!seen.contains("one"), "{seen:?}");
}

#[test]
fn a_ticket_opens_one_door_once() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "exec cat");
    let ticket = fixture.ticket(agent, N1, Mode::Watch).expect("a ticket");
    let as_typist = Attachment::attach(&ticket.socket, &ticket.token, (24, 80), None);
    assert!(matches!(as_typist, Err(AttachError::Refused(_))), "a watcher's ticket");
    let again = Attachment::watch(&ticket.socket, &ticket.token, None);
    assert!(matches!(again, Err(AttachError::Refused(_))), "used up by the attempt");
    let ticket = fixture.ticket(agent, N1, Mode::Watch).expect("a ticket");
    let mut watcher = Attachment::watch(&ticket.socket, &ticket.token, None).expect("watches");
    watcher.send(b"from a watcher\r").expect("sent");
    let guess = Attachment::watch(&ticket.socket, "0000", None);
    assert!(matches!(guess, Err(AttachError::Refused(_))));
    fixture.type_line(agent, N1, "from the daemon");
    read_until(&mut watcher, |news| text(news).contains("from the daemon"));
    assert!(!String::from_utf8_lossy(&fixture.output(agent, N1)).contains("from a watcher"));
    assert_eq!(fixture.ticket(agent, N2, Mode::Attach).err(), Some(HostRefusal::NotRunning));
}

#[test]
fn a_persons_draft_is_left_alone() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "exec cat");
    let mut client = attach(&fixture, agent, N1);
    // A terminal's own answer is no draft.
    client.send(b"\x1b[?62;22c").expect("sent");
    client.send(b"x").expect("sent");
    read_until(&mut client, |news| text(news).contains('x'));
    let draft = Ok(Outcome::Held(HeldRecord::Draft));
    assert_eq!(fixture.deliver(agent, N1, "y"), draft);
    client.send(b"\r").expect("sent");
    read_until(&mut client, |news| text(news).contains('\n'));
    fixture.type_line(agent, N1, "y");
    client.send(b"z").expect("sent");
    read_until(&mut client, |news| text(news).contains('z'));
    drop(client);
    // C8: it outlives its typist.
    let mut client = attach(&fixture, agent, N1);
    assert_eq!(fixture.deliver(agent, N1, "y"), draft);
    client.send(b"\x03").expect("sent");
    // The program ends of it, too.
    until("it is taken back", || fixture.deliver(agent, N1, "y") != draft);
}

#[test]
fn a_program_that_does_not_read_blocks_nobody() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "stty raw; echo ready; exec sleep 1000");
    fixture.await_output(agent, N1, "ready");
    let chunk = "x".repeat(32 << 10);
    let full = Ok(Outcome::Held(HeldRecord::Full));
    until("the queue is full", || fixture.deliver(agent, N1, &chunk) == full);
    let long = "x".repeat(65 << 10);
    assert_eq!(fixture.deliver(agent, N1, &long), Err(HostRefusal::TooLong));
    fixture.end(agent, N1, Pace::Graceful);
    fixture.exited(agent, N1);
}

#[test]
fn questions_to_the_terminal_are_answered_while_nobody_is_there() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let script = r"stty raw -echo; printf '\033[c\033]11'; printf ';?\007'; head -c 34 | od -An -c";
    fixture.run(agent, N1, script);
    fixture.exited(agent, N1);
    fixture.await_output(agent, N1, "2   2   c");
    let seen = String::from_utf8_lossy(&fixture.output(agent, N1)).into_owned();
    assert!(seen.contains("1   1   ;"), "{seen}");
}

#[test]
fn an_attached_person_survives_the_daemon() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec cat");
    let mut client = attach(&fixture, agent, N1);
    fixture.stop_daemon();
    client.send(b"alone\r").expect("sent");
    read_until(&mut client, |news| text(news).matches("alone").count() == 2);
    kill(process.pid, Signal::KILL);
    let news = read_until(&mut client, |news| matches!(news.last(), Some(News::Ended(_))));
    assert_eq!(news.last(), Some(&News::Ended(Some(SessionExit::KillSignal(9)))));
    until("the shim goes", || fixture.shim_pid(agent).is_none());
    assert!(!is_alive(process.pid));
}

#[test]
fn a_long_paste_arrives_whole() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    // The reader begins only when everything that can wait is waiting.
    let script =
        "stty raw -echo; mkfifo go; echo ready; read x < go; head -c 300000 > got; echo done";
    fixture.run(agent, N1, script);
    fixture.await_output(agent, N1, "ready");
    let mut client = attach(&fixture, agent, N1);
    let paste: Vec<u8> = (0..300_000u32).map(|n| b'a' + (n % 23) as u8).collect();
    let expected = paste.clone();
    let typist = std::thread::spawn(move || {
        client.send(&paste).expect("typed");
        client
    });
    std::fs::write(fixture.path().join("go"), "\n").expect("the session reads");
    fixture.await_output(agent, N1, "done");
    drop(typist.join().expect("typed all"));
    assert!(std::fs::read(fixture.path().join("got")).expect("written") == expected);
}

#[test]
fn what_a_program_announces_is_told_when_it_changes_and_to_the_next_daemon() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let rule = |begins: &str, means| AnnouncementRule {
        osc: vec![7501],
        is: None,
        begins: Some(begins.to_owned()),
        contains: None,
        ends: None,
        means,
    };
    let announcements =
        vec![rule("state=working", Announced::Busy), rule("state=done", Announced::Idle)];
    let script = r"printf '\033]7501;state=working\033\\'; read x; printf '\033]7501;state=done\007'; \
                   read x; exit 0";
    let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
    let dir = fixture.path().to_string_lossy().into_owned();
    let program = Program { argv, dir, announcements, ..Program::default() };
    let action = Action::Start(Box::new(launch(fixture.path(), &["sh"])), Opening::Bare);
    let effect = SessionEffect { agent, number: N1, recorded: None, action };
    fixture.holders().order_start(effect, program);
    let announced = |fixture: &mut Fixture| {
        fixture.wait("an announcement", |report| match report {
            HostReport::Announced { agent: a, number: N1, state } if *a == agent => Some(*state),
            _ => None,
        })
    };
    assert_eq!(announced(&mut fixture), Announced::Busy);
    fixture.type_line(agent, N1, "on");
    assert_eq!(announced(&mut fixture), Announced::Idle);
    fixture.stop_daemon();
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    assert_eq!(announced(&mut fixture), Announced::Idle);
}

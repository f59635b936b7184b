//! Whoever else finds a shim's socket: garbage, floods of connections, old daemons, agents.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use perennial_core::effect::Action;
use perennial_core::exit::Exit;
use perennial_core::session::Pace;
use perennial_engine::host::attach::Attachment;
use perennial_engine::host::holders::Mode;
use perennial_engine::host::protocol::{Order, PaceRecord, Refused, ShimReport};
use rustix::process::Signal;

use crate::fixture::{Fixture, LONG, N1, N2, Wire, is_alive, kill, resident_bytes, until};

/// A small generator, so that a failure can be repeated.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn garbage_harms_nobody() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec cat");
    let socket = fixture.directory(agent).socket();
    let shim = fixture.shim_pid(agent).expect("a shim");
    let mut seed = 0x5eed;
    for round in 0..300 {
        let mut stream = UnixStream::connect(&socket).expect("connects");
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        let length = random(&mut seed) % 9000;
        let mut bytes: Vec<u8> = (0..length).map(|_| random(&mut seed) as u8).collect();
        match round % 4 {
            // A frame that begins well.
            0 => bytes.splice(0..0, [1, 10, 0, 0, 0, b'{']).for_each(drop),
            // One that promises more than it may.
            1 => bytes.splice(0..0, [1, 255, 255, 255, 255]).for_each(drop),
            // Well-formed JSON of no known shape.
            2 => bytes.splice(0..0, *b"\x01\x02\x00\x00\x00{}").for_each(drop),
            _ => {}
        }
        let _closed = stream.write_all(&bytes);
        let _closed = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _reset = stream.read_to_end(&mut answer);
    }
    assert!(is_alive(process.pid) && is_alive(shim));
    fixture.type_line(agent, N1, "still here");
    fixture.await_output(agent, N1, "still here");
}

#[test]
fn a_thousand_idle_connections_keep_nobody_out() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec cat");
    let socket = fixture.directory(agent).socket();
    let shim = fixture.shim_pid(agent).expect("a shim");
    let before = resident_bytes(shim);
    let mut crowd = Vec::new();
    for _ in 0..1000 {
        let mut stream = UnixStream::connect(&socket).expect("connects");
        let _closed = stream.write_all(&[1, 0, 8, 0, 0, b'{']);
        crowd.push(stream);
    }
    fixture.stop_daemon();
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    assert_eq!(fixture.executed(agent, N1), process);
    assert!(resident_bytes(shim) < before + (2 << 20));
}

#[test]
fn the_newest_daemon_is_obeyed_and_an_older_one_refused() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec sleep 1000");
    let socket = fixture.directory(agent).socket();
    fixture.stop_daemon();
    let (mut newer, hello) = Wire::daemon(&socket, 7);
    assert_eq!(hello.refused, None);
    assert_eq!(hello.session.and_then(|session| session.process).map(|p| p.pid), Some(process.pid));
    let line: ShimReport = newer.hear().expect("each new daemon is told of the input line");
    assert!(matches!(line, ShimReport::Line { number: 1, .. }));
    let (mut older, hello) = Wire::daemon(&socket, 6);
    assert!(hello.refused.is_some_and(|why| why.contains("epoch 7")));
    older.say(&Order::End {
        number: 1,
        pace: PaceRecord::AtOnce,
        interrupt_ms: 0,
        term_ms: 0,
        hang_up: false,
    });
    assert!(older.hear::<ShimReport>().is_none(), "closed");
    let (mut newest, _) = Wire::daemon(&socket, 8);
    let line: ShimReport = newest.hear().expect("as the one before");
    assert!(matches!(line, ShimReport::Line { number: 1, .. }));
    assert!(newer.hear::<ShimReport>().is_none(), "closed for the newest");
    // Orders of another number, and orders that nobody knows, change nothing.
    newest.say(&Order::End {
        number: 2,
        pace: PaceRecord::AtOnce,
        interrupt_ms: 0,
        term_ms: 0,
        hang_up: false,
    });
    newest.say(&serde_json::json!({"order": "of a later version", "number": 1}));
    newest.say(&Order::Send { number: 1, request: 5, bytes: b"x".to_vec() });
    let answer: ShimReport = newest.hear().expect("an answer");
    assert!(matches!(answer, ShimReport::Answer { request: 5, refused: None }));
    assert!(is_alive(process.pid));
    drop(newest);
    fixture.settings.epoch.0 = 8;
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    fixture.executed(agent, N1);
}

#[test]
fn a_kill_signal_of_another_version_reaches_the_main_process() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "trap 'exit 33' USR1; echo ready; while :; do sleep 0.01; done");
    fixture.await_output(agent, N1, "ready");
    fixture.stop_daemon();
    let (mut wire, _) = Wire::daemon(&fixture.directory(agent).socket(), 7);
    wire.say(&Order::KillSignal { number: 1, signal: Signal::USR1.as_raw() });
    fixture.settings.epoch.0 = 8;
    fixture.start_daemon();
    fixture.order(agent, N1, Action::Hold);
    assert_eq!(fixture.exited(agent, N1), Exit::Code(33));
}

/// This daemon orders no bare bytes to be typed; one of an older version may adopt the shim.
#[test]
fn bytes_that_an_older_daemon_sends_keep_clear_of_a_draft() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "stty -echo; while read line; do echo \"[$line]\"; done");
    let ticket = fixture.ticket(agent, N1, Mode::Attach).expect("a ticket");
    let mut client =
        Attachment::attach(&ticket.socket, &ticket.token, (24, 80), None).expect("attached");
    fixture.stop_daemon();
    let (mut older, _) = Wire::daemon(&fixture.directory(agent).socket(), 7);
    let line_with = |wire: &mut Wire, draft: bool| {
        let told = |report| matches!(report, ShimReport::Line { line, .. } if line.draft == draft);
        while !told(wire.hear().expect("a report")) {}
    };
    let refusal = |wire: &mut Wire, request: u64, bytes: &[u8]| {
        wire.say(&Order::Send { number: 1, request, bytes: bytes.to_vec() });
        loop {
            if let ShimReport::Answer { request: answered, refused } =
                wire.hear().expect("a report")
            {
                assert_eq!(answered, request);
                return refused;
            }
        }
    };
    client.send(b"a person's").expect("typed");
    line_with(&mut older, true);
    assert!(matches!(refusal(&mut older, 1, b" and ours\r"), Some(Refused::Draft)));
    client.send(b"\r").expect("typed");
    line_with(&mut older, false);
    assert!(refusal(&mut older, 2, b"ours\r").is_none());
    fixture.await_output(agent, N1, "[a person's]\r\n[ours]");
}

/// The daemon's side lets no order about an earlier session through; the shim itself must not obey one
/// either.
#[test]
fn the_shim_obeys_no_order_about_an_earlier_session() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    fixture.run(agent, N1, "exit 0");
    fixture.exited(agent, N1);
    let process = fixture.run(agent, N2, "exec sleep 1000");
    let socket = fixture.directory(agent).socket();
    fixture.stop_daemon();
    let (mut wire, hello) = Wire::daemon(&socket, 7);
    assert_eq!(hello.session.map(|session| session.number), Some(2));
    wire.say(&serde_json::json!({
        "order": "start", "number": 1, "argv": ["sh", "-c", "echo again > again; exec sleep 1000"],
        "dir": fixture.path(), "record_limit": 1000,
    }));
    for pace in [PaceRecord::Graceful, PaceRecord::AtOnce] {
        wire.say(&Order::End { number: 1, pace, interrupt_ms: 0, term_ms: 0, hang_up: false });
    }
    wire.say(&Order::KillSignal { number: 1, signal: Signal::KILL.as_raw() });
    wire.say(&Order::Release { number: 1 });
    wire.say(&Order::Send { number: 1, request: 5, bytes: b"x".to_vec() });
    let answer = |wire: &mut Wire, wanted: u64| loop {
        match wire.hear().expect("the shim lives") {
            ShimReport::Answer { request, refused } if request == wanted => break refused,
            ShimReport::Executed { number, .. } => assert_ne!(number, 1, "started again"),
            ShimReport::Exited { number, .. } => assert_ne!(number, 2, "session 2 ended"),
            ShimReport::Answer { .. }
            | ShimReport::NotMine { .. }
            | ShimReport::Delivered { .. }
            | ShimReport::Line { .. }
            | ShimReport::Announced { .. }
            | ShimReport::Unknown => {}
        }
    };
    assert_eq!(answer(&mut wire, 5), Some(Refused::Stale));
    wire.say(&Order::Send { number: 2, request: 6, bytes: b"x".to_vec() });
    assert_eq!(answer(&mut wire, 6), None);
    // Orders are obeyed one after the other: those before have been.
    assert!(is_alive(process.pid));
    assert!(!fixture.path().join("again").exists());
    drop(wire);
    fixture.settings.epoch.0 = 7;
    fixture.start_daemon();
    fixture.order(agent, N2, Action::Hold);
    assert_eq!(fixture.executed(agent, N2), process);
}

/// Not a test of its own: what a process of a session tries.
#[test]
#[ignore = "run inside a session by an_agent_gives_no_orders"]
fn an_agent() {
    let Some(socket) = std::env::args().nth(5) else { return };
    let (_, hello) = Wire::daemon(socket.as_ref(), 1000);
    println!("answer: {}", hello.refused.unwrap_or_default());
}

#[test]
fn an_agent_gives_no_orders() {
    let mut fixture = Fixture::new();
    let (inside, other) = (fixture.agent(), fixture.agent());
    fixture.run(other, N1, "exec sleep 1000");
    let program = fixture.settings.program.display().to_string();
    for (number, target) in (1..).zip([inside, other]) {
        let number = perennial_core::id::SessionNumber(number);
        let socket = fixture.directory(target).socket().display().to_string();
        let try_it = format!("{program} --exact stranger::an_agent --ignored --nocapture {socket}");
        // Also from a double-forked process that left the kernel session.
        let script = format!("{try_it}; (setsid {try_it} > late 2>&1; mv late done) & wait");
        fixture.run(inside, number, &script);
        fixture.exited(inside, number);
        fixture.await_output(inside, number, "answer: a process of a session");
        let late = std::fs::read_to_string(fixture.path().join("done")).expect("written");
        assert!(late.contains("answer: a process of a session"), "{late}");
        std::fs::remove_file(fixture.path().join("done")).expect("removed");
    }
}

#[test]
fn a_second_shim_for_the_same_agent_goes_away() {
    let mut fixture = Fixture::new();
    let agent = fixture.agent();
    let process = fixture.run(agent, N1, "exec sleep 1000");
    let shim = fixture.shim_pid(agent);
    let directory = fixture.directory(agent);
    use std::os::unix::process::CommandExt;
    let status = std::process::Command::new(&fixture.settings.program)
        .arg0("perennial")
        .arg("shim")
        .arg(directory.path())
        .stdin(std::process::Stdio::null())
        .status()
        .expect("runs");
    assert_eq!(status.code(), Some(1));
    assert_eq!(fixture.shim_pid(agent), shim);
    fixture.type_line(agent, N1, "x");
    kill(process.pid, Signal::KILL);
    assert_eq!(fixture.exited(agent, N1), Exit::KillSignal(9));
    fixture.end(agent, N1, Pace::AtOnce);
    until("told again", || fixture.exited(agent, N1) == Exit::KillSignal(9));
}

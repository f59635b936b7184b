//! `logs --follow`: what comes, over a restart in place and the daemon's death.

use std::io::Read;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Instant;

use crate::processes::{kill, running};
use crate::sealed::{Sealed, ended, pid};
use crate::watch::PATIENCE;

#[test]
fn followed_logs_go_on_over_restarts_and_without_a_daemon() {
    let sealed = Sealed::up();
    let script = "stty -echo; echo begun; while read line; do echo \"said $line\"; done";
    let agent = sealed.spawn("talks", script);
    let mut command = sealed.command(["logs", "talks", "--follow"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut follower = command.spawn().expect("the binary runs");
    let mut stdout = follower.stdout.take().expect("piped");
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stdout.read(&mut buffer) {
            let _over = sender.send(buffer[..count].to_vec());
        }
    });
    let mut seen = Vec::new();
    let mut wait = |text: &str| {
        let deadline = Instant::now() + PATIENCE;
        while !String::from_utf8_lossy(&seen).contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            let bytes = receiver.recv_timeout(left);
            seen.extend(bytes.unwrap_or_else(|_| panic!("never printed: {text}")));
        }
    };
    wait("begun\n");
    sealed.ok(["send", "talks", "one"]);
    wait("said one\n");
    kill(running(pid(&agent)));
    sealed.watch().running("talks", 2);
    sealed.until("it reads", || sealed.run(["send", "talks", "two"]).code == 0);
    wait("said two\n");
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.until("its holder is there", || sealed.run(["send", "talks", "three"]).code == 0);
    wait("said three\n");
    sealed.ok(["stop", "talks"]);
    let ended = ended(follower, "logs --follow");
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stderr.contains("session 2") && ended.stderr.contains("ended: "), "{ended:?}");
}

#[derive(Debug, serde::Deserialize)]
struct LineRecord {
    session: u64,
    at: Option<String>,
    text: String,
    cut_bytes: Option<u64>,
}

fn lines(sealed: &Sealed, args: &[&str]) -> Vec<LineRecord> {
    let text = sealed.ok([&["--json", "logs"], args].concat());
    text.lines().map(|line| serde_json::from_str(line).expect("a line each")).collect()
}

fn texts(lines: &[LineRecord]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

/// `-n`, `--since` and `--json` mean the same for a bare command as for an agent CLI.
#[test]
fn lines_of_a_bare_command_are_counted_timed_and_plain() {
    let sealed = Sealed::up();
    let script = "i=1; while [ $i -le 40 ]; do printf 'line \\033[3%dm%d\\033[0m\\n' $((i % 8)) $i
        i=$((i + 1)); done; printf '10%%\\r100%%\\n'; read x; echo late; read x";
    sealed.spawn("bob", script);
    sealed.until("it has printed", || sealed.ok(["logs", "bob"]).ends_with("100%\n"));
    let all = sealed.ok(["logs", "bob"]);
    assert_eq!(all.lines().count(), 41, "{all}");
    assert!(all.starts_with("line 1\nline 2\n") && !all.contains('\x1b'), "{all:?}");
    assert_eq!(sealed.ok(["logs", "bob", "-n", "2"]), "line 40\n100%\n");
    assert_eq!(sealed.ok(["logs", "bob", "--tail", "1"]), "100%\n");
    assert_eq!(sealed.ok(["logs", "bob", "--lines", "0"]), "");
    let told = lines(&sealed, &["bob"]);
    assert_eq!((told.len(), told[0].session, told[0].text.as_str()), (41, 1, "line 1"));
    assert!(told.iter().all(|line| line.at.is_some() && line.cut_bytes.is_none()), "{told:?}");
    // Marks are a second apart, so the second line that is asked for is later by that.
    let begun = std::time::Instant::now();
    sealed.until("a second", || begun.elapsed().as_millis() > 1100);
    sealed.ok(["send", "bob", "go on"]);
    sealed.until("it goes on", || sealed.ok(["logs", "bob", "-n", "1"]) == "late\n");
    let at = lines(&sealed, &["bob", "-n", "1"])[0].at.clone().expect("a time");
    assert_eq!(texts(&lines(&sealed, &["bob", "--since", &at]))[1..], ["late"], "{at}");
    assert_eq!(lines(&sealed, &["bob", "--since", "1h"]).len(), 43);
    assert_eq!(sealed.refused(2, &["logs", "bob", "--since", "soon"]).kind, "usage");
}

#[test]
fn a_full_screen_program_is_read_as_the_screen_that_it_left() {
    let sealed = Sealed::up();
    let script = "echo before
        printf '\\033[?1049h\\033[H\\033[2Jold\\033[H\\033[2J\\033[2;3Hmenu\\033[4;1Hstatus'
        read x; printf '\\033[?1049l'; echo after; read x";
    sealed.spawn("tui", script);
    sealed.until("it is drawn", || sealed.ok(["logs", "tui"]).contains("status"));
    assert_eq!(sealed.ok(["logs", "tui"]), "before\n\n  menu\n\nstatus\n");
    sealed.ok(["send", "tui", "x"]);
    sealed.until("it has left", || sealed.ok(["logs", "tui"]).contains("after"));
    let all = sealed.ok(["logs", "tui"]);
    assert!(all.starts_with("before\n\n  menu\n\nstatus") && all.ends_with("after\n"), "{all:?}");
    assert!(!all.contains("old"), "{all:?}");
}

/// The daemon keeps the newest part of a recording; that something is missing is told.
#[test]
fn a_recording_that_was_cut_says_so() {
    let sealed = Sealed::up();
    let agent = sealed.spawn("bob", "echo hello; read x");
    sealed.until("it has printed", || !sealed.ok(["logs", "bob"]).is_empty());
    let dir = sealed.holder(&agent).join("s1");
    std::fs::rename(dir.join("rec.0"), dir.join("rec.5000")).expect("renamed");
    std::fs::remove_file(dir.join("rec.0.marks")).expect("removed");
    let ran = sealed.run(["logs", "bob"]);
    assert!(ran.stdout == "hello\n" && ran.stderr.contains("5000 bytes"), "{ran:?}");
    let ran = sealed.run(["logs", "bob", "--since", "1m"]);
    assert!(ran.stdout == "hello\n" && ran.stderr.contains("times"), "{ran:?}");
    let told = lines(&sealed, &["bob"]);
    assert!(told[0].cut_bytes == Some(5000) && told[0].at.is_none(), "{told:?}");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let sealed = Sealed::up();
    sealed.spawn("bob", "echo hello; read x");
    let problem = sealed.refused(2, &["logs", "bob", "--full"]);
    assert_eq!(problem.kind, "not-applicable", "{problem:?}");
    // By --json, which `refused` adds.
    assert_eq!(sealed.refused(2, &["logs", "bob", "--raw"]).kind, "not-applicable");
    for args in [&["--raw", "-n", "3"][..], &["--raw", "--since", "1m"]] {
        assert_eq!(sealed.refused(2, &[&["logs", "bob"], args].concat()).kind, "usage", "{args:?}");
    }
    let none = sealed.refused(4, &["logs", "bob", "--session", "7"]);
    assert!(none.title == "bob has no session 7" && !none.next.is_empty(), "{none:?}");
    let raw = crate::terminal::Terminal::run(sealed.command(["logs", "bob", "--raw"])).end();
    assert!(raw.code == 2 && raw.stdout.contains("--raw does not print to a terminal"), "{raw:?}");
}

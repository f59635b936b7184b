//! `run`: a new agent and its terminal in one step, seen from its first byte.

use std::io::Write;
use std::process::Stdio;

use crate::attach::{DETACH, ECHO};
use crate::own_harness::own_harness;
use crate::processes::{running, signal};
use crate::sealed::{Ran, Sealed, ended, pid};
use crate::terminal::Terminal;

/// Runs it in a terminal, to its end.
fn in_terminal(sealed: &Sealed, args: &[&str]) -> Ran {
    Terminal::run(sealed.command([&["run"], args].concat())).end()
}

/// Runs it with this on its standard input.
fn with_input(sealed: &Sealed, args: &[&str], input: &str) -> Ran {
    let mut command = sealed.command([&["run"], args].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let (mut stdin, input) = (child.stdin.take().expect("a pipe"), input.to_owned());
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let ran = ended(child, "run");
    feeder.join().expect("it ends").expect("it is taken");
    ran
}

#[test]
fn run_names_the_agent_and_attaches() {
    let sealed = Sealed::up();
    for name in ["sh", "sh-2"] {
        let mut terminal = Terminal::run(sealed.command(["run", "--", "/bin/sh", "-c", ECHO]));
        terminal.wait(&format!("[{name}, session 1; detach: "));
        terminal.wait("ready");
        terminal.type_keys(DETACH);
        let ended = terminal.end();
        assert_eq!(ended.code, 0);
        let back = format!("to return: perennial attach {name}]");
        assert!(ended.stdout.contains(&back), "{ended:?}");
        sealed.until("it is known to run", || sealed.show(name).state == "working");
    }
    assert_eq!(sealed.refused(2, &["attach", "sh"]).kind, "no-terminal");
    let session = running(pid(&sealed.show("sh")));
    assert!(signal(session, rustix::process::Signal::HUP));
}

/// N2: the output of the shortest program is shown, and its exit code passed on.
#[test]
fn the_output_is_shown_from_the_first_byte_and_the_exit_code_passed_on() {
    let sealed = Sealed::up();
    assert_eq!(in_terminal(&sealed, &["--", "true"]).code, 0);
    let ran = in_terminal(&sealed, &["--name", "crasher", "--", "bash", "-c", "echo hi; exit 3"]);
    assert!(ran.code == 3 && ran.stdout.contains("hi\r\n"), "{ran:?}");
    assert!(ran.stdout.contains("[crasher, session 1; detach: "), "{ran:?}");
    // It is not restarted.
    let crasher = sealed.show("crasher");
    assert_eq!((crasher.state.as_str(), crasher.restart.as_str()), ("sleeping", "never"));
    let ran = in_terminal(&sealed, &["--", "bash", "-c", "stty size; kill -KILL $$"]);
    assert!(ran.code == 128 + 9 && ran.stdout.contains("30 100"), "{ran:?}");
    // A name that is taken is refused, and nothing runs.
    assert_eq!(in_terminal(&sealed, &["--name", "crasher", "--", "true"]).code, 3);
    let ran = in_terminal(&sealed, &["--", "no-such-program"]);
    assert!(ran.code == 3 && ran.stdout.contains("not found in PATH"), "{ran:?}");
}

#[test]
fn with_rm_the_agent_is_buried_at_its_end() {
    let sealed = Sealed::up();
    let ran = in_terminal(&sealed, &["--rm", "--name", "gone", "--", "bash", "-c", "exit 4"]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert_eq!(sealed.show("gone").state, "dead");
    // Who detaches keeps the agent.
    let mut terminal = Terminal::run(
        sealed.command(["run", "--rm", "--name", "kept", "--", "/bin/sh", "-c", ECHO]),
    );
    terminal.wait("ready");
    terminal.type_keys(DETACH);
    let left = terminal.end();
    assert_eq!(left.code, 0);
    assert!(left.stdout.contains("kept is not buried: "), "{left:?}");
    sealed.until("it is known to run", || sealed.show("kept").state == "working");
}

#[test]
fn without_a_terminal_output_and_input_are_passed_through() {
    let sealed = Sealed::up();
    let ran =
        sealed.run(["run", "--name", "plain", "--", "bash", "-c", "echo hi; echo ho; exit 5"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (5, "hi\nho\n"), "{ran:?}");
    assert!(ran.stderr.contains("[plain, session 1; "), "{ran:?}");
    let lines = with_input(&sealed, &["--", "cat"], "one\ntwo \u{3}\nthree");
    assert_eq!((lines.code, lines.stdout.as_str()), (0, "one\ntwo \u{3}\nthree"), "{lines:?}");
    let count = with_input(&sealed, &["--rm", "--", "wc", "-l"], &"line\n".repeat(5_000));
    assert_eq!((count.code, count.stdout.trim()), (0, "5000"), "{count:?}");
    // Told to end, it leaves the agent running and says how to return.
    let mut command = sealed.command(["run", "--name", "long", "--", "/bin/sh", "-c", ECHO]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("the binary runs");
    sealed.until("it runs", || {
        let state = sealed.run(["show", "long", "--json"]).stdout;
        state.contains("\"working\"")
    });
    assert!(signal(running(child.id()), rustix::process::Signal::TERM));
    let ran = ended(child, "run");
    assert!(ran.code == 1 && ran.stderr.contains("to return: perennial attach long"), "{ran:?}");
    assert_eq!(sealed.show("long").state, "working");
}

/// A program may end before its input does: its output, its exit code and `--rm` count all the same.
#[test]
fn input_that_is_not_used_up_costs_nothing() {
    let sealed = Sealed::up();
    let endless = |args: &[&str]| {
        let mut command = sealed.command([&["run"], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let feeder = std::thread::spawn(move || while stdin.write_all(b"y\n").is_ok() {});
        let ran = ended(child, "run");
        feeder.join().expect("it ends with its reader");
        ran
    };
    let ran = endless(&["--rm", "--name", "ys", "--", "head", "-3"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "y\ny\ny\n"), "{ran:?}");
    assert_eq!(sealed.show("ys").state, "dead");
    let script = "read a; echo got $a; seq 20000; exit 4";
    let ran = endless(&["--rm", "--", "sh", "-c", script]);
    assert_eq!(ran.code, 4, "{ran:?}");
    assert!(ran.stdout.starts_with("got y\n1\n") && ran.stdout.ends_with("\n20000\n"), "{ran:?}");
    // Input and output at the same time, both more than any buffer has room for.
    let text = "0123456789\n".repeat(40_000);
    let ran = with_input(&sealed, &["--rm", "--", "cat"], &text);
    assert!(ran.code == 0 && ran.stdout == text, "{} bytes", ran.stdout.len());
}

#[test]
fn long_lines_are_passed_whole() {
    let sealed = Sealed::up();
    let text = format!("{}\nb\n{}", "a".repeat(9_000), "c".repeat(4_000));
    for program in [&["cat"] as &[&str], &["sh", "-c", "read a; echo $a; read b; echo $b; cat"]] {
        let ran = with_input(&sealed, &[&["--rm", "--"], program].concat(), &text);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, text.as_str()), "{program:?}");
    }
}

#[test]
fn an_input_that_has_ended_is_an_end_for_the_program() {
    let sealed = Sealed::up();
    // Standard input is /dev/null here.
    let ran = sealed.run(["run", "--rm", "--name", "empty", "--", "sh", "-c", "cat; exit 6"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""), "{ran:?}");
    assert!(ran.stderr.contains("its output is kept: perennial logs empty]"), "{ran:?}");
}

/// Standard output may be a pipe while a person types.
#[test]
fn lines_that_a_person_types_reach_a_program_whose_output_is_piped() {
    let sealed = Sealed::up();
    let run = sealed.command(["run", "--rm", "--", "sh", "-c", "read a; echo \"got <$a>\""]);
    let mut piped = std::process::Command::new("sh");
    piped.args(["-c", "\"$0\" \"$@\" | cat"]).arg(run.get_program()).args(run.get_args());
    piped.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    piped.current_dir(&sealed.dir);
    let mut terminal = Terminal::run(piped);
    terminal.wait("lines that you type are sent to it");
    terminal.type_keys("hello\r");
    terminal.wait("got <hello>");
    assert_eq!(terminal.end().code, 0);
}

/// N2: the exit code does not depend on a daemon.
#[test]
fn without_a_daemon_the_exit_code_is_passed_on_and_the_burial_left() {
    let sealed = Sealed::up();
    let script = "echo ready; read line; exit 7";
    let mut command = sealed.command(["run", "--rm", "--name", "late", "--", "sh", "-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    sealed.until("it is ready", || sealed.run(["logs", "late"]).stdout.contains("ready"));
    sealed.kill_daemon();
    drop(child.stdin.take());
    let ran = ended(child, "run");
    assert_eq!(ran.code, 7, "{ran:?}");
    let note = "late was not buried: no daemon is running";
    assert!(ran.stderr.contains(note), "{ran:?}");
}

/// A program that waits for a viewer who never comes, or is stopped meanwhile.
#[test]
fn a_program_waits_for_its_viewer_only_so_long_and_can_be_stopped() {
    let sealed = Sealed::up();
    let spawn = |name: &str| {
        let mut request = perennial_api::request::Spawn {
            name: Some(name.to_owned()),
            dir: sealed.dir.display().to_string(),
            argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), "echo ran; exec cat".to_owned()],
            ..Default::default()
        };
        request.attach = Some(perennial_api::request::Attach::Terminal);
        let answer = sealed.client().post("/v1/agents", &request).expect("an agent");
        answer.read::<perennial_api::Agent>().expect("an agent")
    };
    let stopped = spawn("stopped");
    assert_eq!(stopped.state, "hatching");
    sealed.ok(["stop", "stopped"]);
    assert!(sealed.marked(&stopped).is_empty());
    let alone = spawn("alone");
    assert_eq!(alone.state, "hatching");
    // Another daemon finds it waiting, and it begins by itself.
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.until("it begins alone", || sealed.show("alone").state == "working");
    sealed.until("it ran", || sealed.ok(["logs", "alone"]).contains("ran"));
}

#[test]
fn a_harness_is_run_like_a_program() {
    let sealed = Sealed::up();
    own_harness(&sealed, "echo from the harness; exit 6", str::to_owned);
    let ran = in_terminal(&sealed, &["--harness", "claude", "--trust"]);
    assert!(ran.stdout.contains("[claude, session 1; detach: "), "{ran:?}");
    assert!(ran.code == 6 && ran.stdout.contains("from the harness"), "{ran:?}");
}

/// A program that crashes at once is restarted; none of its sessions goes unseen, however short.
#[test]
fn sessions_that_end_at_once_are_shown_over_restarts() {
    let sealed = Sealed::up();
    let script = "echo x >> runs; n=$(wc -l < runs); echo run $n; [ $((n % 3)) = 0 ] || exit 3";
    let args = ["--restart", "on-crash", "--", "sh", "-c", script];
    let piped = with_input(&sealed, &args, "");
    assert_eq!((piped.code, piped.stdout.as_str()), (0, "run 1\nrun 2\nrun 3\n"), "{piped:?}");
    let shown = in_terminal(&sealed, &args);
    let runs: Vec<_> = shown.stdout.lines().filter(|line| line.starts_with("run ")).collect();
    assert_eq!((shown.code, runs), (0, vec!["run 4", "run 5", "run 6"]), "{shown:?}");
}

//! Every problem that the command line reports by itself: what, why, what to do next.
//!
//! The only place where it makes them; those of the daemon are in `daemon/showing/problems.rs`.
//! `docs/messages.md` lists them all. `next` never suggests anything destructive: agents do what
//! error texts suggest.

use std::error::Error;
use std::io;
use std::path::Path;

use perennial_api::request::POST_TEXT_LIMIT;
use perennial_api::{ExitCode, Problem};

use super::render::text::plain;
use crate::error_chain::chain;

/// A problem with how the command was called.
fn usage(kind: &str, title: impl Into<String>) -> Problem {
    Problem::new(400, kind, title)
}

/// A problem of this process, not of the daemon.
fn failed(kind: &str, title: impl Into<String>) -> Problem {
    Problem::new(500, kind, title)
}

// The command line itself.

/// What is wrong in the parser's words, its tips, and where to look.
pub fn misused(title: &str, detail: String, next: &str) -> Problem {
    usage("usage", title).because(detail).next(next)
}

/// `rest` is what was written after `spawn`.
pub fn nameless_spawn(rest: &str) -> Problem {
    usage("usage", "the agent's name is missing")
        .next(format!("name the agent, for example: perennial spawn bob {}", plain(rest)))
}

pub fn output(error: &io::Error) -> Problem {
    failed("output", "can't write the output")
        .because(error.to_string())
        .next("check the file or program that the output goes to")
}

pub fn no_home(why: &dyn Error) -> Problem {
    failed("no-home", why.to_string()).next("set PERENNIAL_HOME to a directory of yours")
}

const NOT_TERMINALS: &str = "stdin and stdout must both be terminals";

pub fn no_terminal_to_run() -> Problem {
    usage("no-terminal", "run needs a terminal")
        .because(NOT_TERMINALS)
        .next("use `perennial spawn` to start an agent without a terminal")
}

pub fn no_terminal_to_attach(target: &str) -> Problem {
    usage("no-terminal", "attach needs a terminal")
        .because(NOT_TERMINALS)
        .next(format!("`perennial logs {}` prints its output", plain(target)))
}

// Options of spawn, run and adopt.

pub fn own_variable(name: &str) -> Problem {
    usage("bad-variable", format!("--env can't set {}", plain(name)))
        .because("variables that begin with PERENNIAL_ tell a session which agent it belongs to")
        .next("choose another name for the variable")
}

/// The value may be a secret whose name was forgotten, so it is not repeated.
pub fn nameless_variable() -> Problem {
    usage("bad-variable", "--env needs a name and a value").next("write it as in --env CI=1")
}

pub fn no_directory(error: &io::Error) -> Problem {
    usage("bad-directory", "can't use the directory")
        .because(error.to_string())
        .next("use --dir to give a directory that exists and that you may enter")
}

pub fn directory_not_unicode(path: &str) -> Problem {
    usage("bad-directory", format!("the path {} is not Unicode", plain(path)))
        .because("paths are passed to the daemon as JSON")
        .next("use --dir to choose a directory whose path is Unicode")
}

pub fn prompt_for_adopted(name: &str) -> Problem {
    let name = plain(name);
    usage("bad-prompt", "adopt does not take --prompt")
        .because("an adopted conversation continues where it was left")
        .next(format!("adopt it without a prompt, then run `perennial send {name} 'go on'`"))
}

pub fn preset_unusable(why: &dyn Error) -> Problem {
    // Refused, as by the daemon: the command line itself is well formed.
    Problem::new(422, "no-harness", why.to_string())
        .next("run `perennial doctor` to see which agent CLIs were found")
}

pub fn no_home_variable() -> Problem {
    failed("no-home", "the variable HOME is not set")
        .because("agent CLIs keep their conversations in the home directory")
        .next("set HOME to your home directory")
}

// The daemon's start and end.

const SEE_DOCTOR: &str = "run `perennial doctor` to see what is wrong";

pub fn daemon_not_started(error: &io::Error) -> Problem {
    failed("not-started", "can't start the daemon").because(error.to_string()).next(SEE_DOCTOR)
}

pub fn daemon_not_awaited(error: &io::Error) -> Problem {
    failed("not-started", "can't wait for the daemon to start")
        .because(error.to_string())
        .next("run `perennial doctor` to see whether it has started")
}

/// It ended before it was ready, and did not say why.
pub fn daemon_failed_silently(log: &Path) -> Problem {
    failed("daemon-failed", "the daemon exited before it was ready")
        .next(format!("read its log: {}", log.display()))
}

/// It ended before it was ready; what it said becomes the rest of the problem.
pub fn daemon_failed() -> Problem {
    failed("daemon-failed", "the daemon exited before it was ready").next(SEE_DOCTOR)
}

/// The daemon's own error, with its causes.
pub fn daemon_error(error: &str, causes: String) -> Problem {
    failed("daemon-failed", error).because(causes).next(SEE_DOCTOR)
}

pub fn home_unusable(path: &Path, error: &io::Error) -> Problem {
    failed("home-unusable", "can't use the home directory")
        .because(format!("{}: {error}", path.display()))
        .next("set PERENNIAL_HOME to a directory of yours that you can write to")
}

pub fn own_program_unknown(error: &io::Error) -> Problem {
    failed("no-program", "perennial can't find its own executable")
        .because(error.to_string())
        .next("run it by its full path")
}

pub fn nothing_to_shut_down() -> Problem {
    Problem::new(503, "no-daemon", "no daemon is running")
        .because("there is nothing to shut down; sessions keep running without a daemon")
        .exiting(ExitCode::NoDaemon)
}

pub fn daemon_still_running(pid: u32, seconds: u64) -> Problem {
    failed("still-there", "the daemon is still running")
        .because(format!("pid {pid} was asked to shut down {seconds} s ago"))
        .next("run `perennial doctor` to see whether it still answers")
}

// Terminals.

pub fn terminal_unusable(error: &io::Error) -> Problem {
    failed("terminal", "can't use this terminal")
        .because(error.to_string())
        .next("run it in another terminal")
}

pub fn holder_unreachable(target: &str, why: &dyn Error) -> Problem {
    let target = plain(target);
    let why = chain(why);
    failed("holder-unreachable", format!("can't reach the terminal of {target}"))
        .because(why)
        .next(format!("`perennial why {target}` shows whether its holder answers"))
}

pub fn too_slow(target: &str) -> Problem {
    failed("too-slow", "the output was not read fast enough")
        .because("the session does not wait for its readers")
        .next(format!("`perennial logs {}` prints the recording", plain(target)))
}

/// An option of `logs` that is about steps, where there are only bytes.
pub fn no_steps(option: &str, why: &str) -> Problem {
    usage("no-steps", format!("{option} does not apply here"))
        .because(why)
        .next(format!("leave out {option}"))
}

// Texts and posts.

pub fn stdin_not_text(error: &io::Error) -> Problem {
    failed("no-text", "can't read the text from standard input")
        .because(error.to_string())
        .next("send UTF-8 text; for anything else, send a file's path")
}

pub fn blank_title() -> Problem {
    usage("bad-title", "the title is blank").next("give a title, or leave it out")
}

pub fn nothing_to_post() -> Problem {
    usage("no-text", "there is nothing to post")
        .next("give a text: perennial board post 'the build is green again'")
}

pub fn post_too_long(source: &str) -> Problem {
    usage("too-long", "the text is too long")
        .because(format!("{source} has more than {POST_TEXT_LIMIT} bytes"))
        .next("post a summary, and say where to find the full text")
}

pub fn post_not_text(source: &str) -> Problem {
    usage("not-text", format!("can't post {source}"))
        .because("it is not UTF-8 text")
        .next("post a description, and say where to find the file")
}

pub fn post_unreadable(source: &str, error: &io::Error) -> Problem {
    failed("unreadable", format!("can't read {source}"))
        .because(error.to_string())
        .next("check that the file exists and that you may read it")
}

// The demo.

pub fn no_stage(path: &Path, error: &io::Error) -> Problem {
    failed("no-stage", format!("can't create {}", path.display()))
        .because(error.to_string())
        .next("set TMPDIR to a directory that you can write to")
}

pub fn stage_not_removed(path: &Path, error: &io::Error) -> Problem {
    failed("not-removed", format!("can't remove the demo's home {}", path.display()))
        .because(error.to_string())
        .next("it is no longer needed; nothing else is affected")
}

pub fn demo_untrue(what: &str) -> Problem {
    failed("demo-untrue", format!("the demo did not go as planned: {what}"))
        .next("run `perennial doctor`; if it finds nothing, please report it as a bug")
}

pub fn bad_pid(pid: u32) -> Problem {
    failed("bad-pid", format!("{pid} is not a process id")).next(SEE_DOCTOR)
}

pub fn not_killed(pid: u32, error: &dyn Error) -> Problem {
    failed("not-killed", format!("can't kill process {pid}"))
        .because(error.to_string())
        .next(SEE_DOCTOR)
}

pub fn not_watched(pid: u32, error: &dyn Error) -> Problem {
    failed("no-process", format!("can't watch process {pid}"))
        .because(error.to_string())
        .next(SEE_DOCTOR)
}

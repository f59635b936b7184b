//! Every problem that the command line reports by itself: what, why, what to do next.
//!
//! The only place where it makes them; those of the daemon are in `daemon/showing/problems.rs`.
//! `docs/messages.md` lists them all. `next` never suggests anything destructive: agents do what
//! error texts suggest.

pub mod house;
pub mod init;
pub mod pane;
pub mod task;

use std::error::Error;
use std::io;
use std::path::Path;

use perennial_api::mail::TEXT_LIMIT;
use perennial_api::request::POST_TEXT_LIMIT;
use perennial_api::{ExitCode, Problem};

use super::render::text::plain;
use crate::error_chain::chain;
use crate::similar::did_you_mean;

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

/// `path` is the program and the verb above the one that was `typed`.
pub fn no_such_verb(path: &str, typed: &str, similar: &[&str], next: &str) -> Problem {
    let above = path.strip_prefix("perennial ").map(|verb| format!("{verb} ")).unwrap_or_default();
    usage("usage", format!("no such verb: {above}{}", plain(typed)))
        .because(did_you_mean(similar))
        .next(next)
}

/// Options alone ask for nothing.
pub fn no_verb(path: &str, next: &str) -> Problem {
    let title = match path.strip_prefix("perennial ") {
        Some(verb) => format!("{verb} needs a verb of its own"),
        None => "a verb is missing".to_owned(),
    };
    usage("usage", title).next(next)
}

/// Neither a command nor a harness was named; `known` are the harnesses that would do.
pub fn no_agent_cli(known: &[String]) -> Problem {
    usage("no-agent-cli", "no command was given, and no agent CLI is installed")
        .because(format!("none of these is in PATH: {}", plain(&known.join(", "))))
        .next("install one of them, or write a command after --, for example: perennial spawn bob -- bash")
}

/// The same where `names` are installed, and nobody can be asked.
pub fn which_agent_cli(names: &[String]) -> Problem {
    let first = names.first().map(|name| format!(", for example: --harness {}", plain(name)));
    usage("which-agent-cli", "several agent CLIs are installed")
        .because(plain(&names.join(", ")))
        .next(format!("name one{}", first.unwrap_or_default()))
}

/// `rest` is what was written after `spawn`.
pub fn nameless_spawn(rest: &str) -> Problem {
    usage("usage", "the agent's name is missing")
        .next(format!("name the agent, for example: perennial spawn bob {}", plain(rest)))
}

/// `rest` is what belongs after `spawn`.
pub fn spawn_names_first(rest: &str) -> Problem {
    usage("usage", "spawn does not take --name")
        .because("the agent's name is its first word")
        .next(format!("write the name first: perennial spawn {}", plain(rest)))
}

pub fn output(error: &io::Error) -> Problem {
    failed("output", "can't write the output")
        .because(error.to_string())
        .next("check the file or program that the output goes to")
}

pub fn no_home(why: &dyn Error) -> Problem {
    failed("no-home", why.to_string()).next("set PERENNIAL_HOME to a directory of yours")
}

pub fn no_such_path(name: &str, similar: &[&str]) -> Problem {
    Problem::new(404, "no-such-path", format!("no path is called '{}'", plain(name)))
        .because(did_you_mean(similar))
        .next("run `perennial paths` to list them")
}

pub fn unusable_directory(path: &str) -> Problem {
    Problem::new(400, "bad-directory", format!("'{}' can't be used", plain(path)))
        .because("the path is not UTF-8, or there is no current directory")
        .next("name another directory")
}

/// Nobody outside the cemetery has a name like that; `similar` are names that may have been meant.
pub fn no_match(pattern: &str, similar: &[&str]) -> Problem {
    let why = match similar {
        [] => "patterns match the names of agents that are not in the cemetery".to_owned(),
        _ => did_you_mean(similar),
    };
    Problem::new(404, "no-match", format!("no agent matches '{}'", plain(pattern)))
        .because(why)
        .next("`perennial ls` lists the agents")
}

pub fn no_such_entity(what: &str) -> Problem {
    Problem::new(404, "no-such-entity", format!("nothing in the entity graph is called '{what}'"))
        .next("`perennial graph show` lists the entities")
}

/// The person at the terminal did not say yes. No next step: they know what they want.
pub fn not_confirmed() -> Problem {
    Problem::new(409, "not-confirmed", "nothing was changed")
        .because("the question was not answered with y")
}

const NOT_TERMINALS: &str = "stdin and stdout must both be terminals";

pub fn program_not_started(who: &str, why: &str) -> Problem {
    let who = plain(who);
    failed("not-started", format!("can't start the program of {who}"))
        .because(plain(why))
        .next(format!("`perennial why {who}` shows what happens next"))
}

pub fn end_unknown(who: &str) -> Problem {
    let who = plain(who);
    failed("end-unknown", format!("how the program of {who} ended is not known"))
        .because("its holder is gone")
        .next(format!("`perennial why {who}` shows what was seen"))
}

pub fn no_terminal_to_watch() -> Problem {
    usage("no-terminal", "ls --watch needs a terminal")
        .because(NOT_TERMINALS)
        .next("add --json to get one line for each agent that changes")
}

pub fn no_terminal_to_attach(target: &str) -> Problem {
    usage("no-terminal", "attach needs a terminal")
        .because(NOT_TERMINALS)
        .next(format!("`perennial logs {}` prints its output", plain(target)))
}

// Options of spawn, run and adopt.

/// The value may be a secret whose name was forgotten, so it is not repeated.
pub fn nameless_variable() -> Problem {
    usage("bad-variable", "--env needs a name before the =").next("write it as in --env CI=1")
}

/// `--env NAME` takes the value from here. A word that does not look like a name may be a secret, so it is
/// not repeated.
pub fn variable_not_set(word: &str) -> Problem {
    let is_name = |byte: u8| matches!(byte, b'A'..=b'Z' | b'_' | b'0'..=b'9');
    let is_like_a_name =
        word.bytes().all(is_name) && !word.starts_with(|c: char| c.is_ascii_digit());
    let title = match is_like_a_name {
        true => format!("--env {word}: that variable is not set"),
        false => "--env names a variable that is not set".to_owned(),
    };
    usage("bad-variable", title)
        .because("without a =, the value is taken from your own environment")
        .next("write the value, as in --env CI=1, or export the variable first")
}

pub fn no_directory(error: &io::Error) -> Problem {
    usage("bad-directory", "can't use the directory")
        .because(error.to_string())
        .next("use --dir to give a directory that exists and that you may enter")
}

pub fn no_such_directory(dir: &Path, error: &io::Error) -> Problem {
    let title = format!("can't use the directory '{}'", plain(&dir.to_string_lossy()));
    Problem::new(404, "no-directory", title)
        .because(error.to_string())
        .next("name a directory of the project")
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

/// What agents are told in place of a command.
pub const ASK_TO_START: &str = "ask your operator to start it";

/// No daemon for agents: one that an agent starts lives below its shim, and ends with it.
pub fn no_daemon_from_here() -> Problem {
    Problem::new(403, "not-allowed", "the daemon can't be started from here")
        .because(
            "this is a process of a session or job, or that can't be ruled out: the daemon would end \
             with the session",
        )
        .next(ASK_TO_START)
}

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

/// Sessions run without a daemon, and none can start.
pub fn journal_unopenable(causes: &str, running: &str, journal: &Path) -> Problem {
    failed("journal-unopenable", "can't open the journal")
        .because(format!("{causes}; {running}"))
        .next(format!(
            "restore a backup of it; or move {}* to another directory and run `perennial up`: what \
             runs is then listed, as unknown, and held",
            journal.display()
        ))
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

/// An option of `logs` that means nothing for what is asked for.
pub fn not_applicable(option: &str, why: &str) -> Problem {
    usage("not-applicable", format!("{option} does not apply here"))
        .because(why)
        .next(format!("leave out {option}"))
}

/// Raw bytes would act on the reader's terminal.
pub fn raw_to_terminal(target: &str) -> Problem {
    usage("raw-to-terminal", "--raw does not print to a terminal")
        .because("the recorded bytes would act on your terminal")
        .next(format!("redirect it to a file, or use `perennial screen {} --ansi`", plain(target)))
}

// Texts and posts.

pub fn text_unreadable(source: &str, error: &io::Error) -> Problem {
    failed("no-text", format!("can't read the text from {}", plain(source)))
        .because(error.to_string())
        .next("check that it exists and that you may read it")
}

pub fn not_text(source: &str) -> Problem {
    failed("not-text", format!("can't send {}", plain(source)))
        .because("it is not UTF-8 text, or it contains NUL characters")
        .next("send a text that says where to find the file")
}

/// No answer came, so nobody knows whether the text was recorded.
pub fn maybe_recorded(target: &str, no_answer: Problem) -> Problem {
    no_answer.next(format!("`perennial sent {}` shows whether it was recorded", plain(target)))
}

pub fn text_beside_keys() -> Problem {
    usage("bad-keys", "--key and a text need --no-enter")
        .because("a text without it is recorded, and typed when the input line is free")
        .next("add --no-enter to type the text before the keys, or send it by itself")
}

pub fn control_in_keys() -> Problem {
    usage("bad-keys", "can't type control characters or line ends with --no-enter")
        .next("press them by name, for example: --key Enter")
}

pub fn bad_key_count(bytes: usize, most: usize) -> Problem {
    usage("bad-keys", "can't type this many keys at once, or none")
        .because(format!("they are {bytes} bytes; between 1 and {most} can be typed"))
        .next("leave out --no-enter to send a longer text")
}

pub fn no_such_role(role: &str) -> Problem {
    Problem::new(404, "no-such-role", format!("no role '{role}'"))
        .because("it is not declared, and nobody holds it")
        .next("`perennial role ls` lists the roles")
}

pub fn agent_missing() -> Problem {
    usage("no-agent", "no agent given").next("name an agent; `perennial ls` lists them")
}

pub fn role_words(example: &str) -> Problem {
    usage("usage", "expected one or two arguments")
        .next(format!("for example: perennial role {example}"))
}

pub fn blank_title() -> Problem {
    usage("bad-title", "the title is blank").next("give a title, or leave it out")
}

pub fn nothing_to_post() -> Problem {
    usage("no-text", "there is nothing to post")
        .next("give a text: perennial board post 'the build is green again'")
}

pub fn nothing_to_mail() -> Problem {
    usage("no-text", "there is nothing to send")
        .next("give a text: perennial mail send bob -m 'the build is green again'")
}

pub fn payload_not_an_object() -> Problem {
    usage("bad-payload", "the payload is not a JSON object")
        .because("it is an object with the fields of the signal, between braces")
        .next("`perennial signal schema` lists the fields of each kind")
}

pub fn field_without_value(field: &str) -> Problem {
    usage("bad-field", format!("'{}' has no value", plain(field)))
        .because("a field is written as a name, = and a value")
        .next("for example: --field question='which port?'")
}

pub fn no_signal_in_time(seconds: u64) -> Problem {
    Problem::new(504, "no-signal", format!("no signal within {seconds} s"))
        .exiting(ExitCode::NotYet)
        .next("`perennial signal ls` lists the signals so far")
}

pub fn mail_too_long(source: &str) -> Problem {
    usage("too-long", "the text is too long")
        .because(format!("{source} has more than {TEXT_LIMIT} bytes"))
        .next("send a summary, and say where to find the full text")
}

pub fn mail_not_text(source: &str) -> Problem {
    failed("not-text", format!("can't send {source}"))
        .because("it is not UTF-8 text")
        .next("send a description, and say where to find the file")
}

pub fn post_too_long(source: &str) -> Problem {
    usage("too-long", "the text is too long")
        .because(format!("{source} has more than {POST_TEXT_LIMIT} bytes"))
        .next("post a summary, and say where to find the full text")
}

pub fn post_not_text(source: &str) -> Problem {
    failed("not-text", format!("can't post {source}"))
        .because("it is not UTF-8 text")
        .next("post a description, and say where to find the file")
}

pub fn post_unreadable(source: &str, error: &io::Error) -> Problem {
    failed("unreadable", format!("can't read {source}"))
        .because(error.to_string())
        .next("check that the file exists and that you may read it")
}

// The demo.

pub fn demo_is_no_json() -> Problem {
    usage("not-applicable", "demo does not take --json")
        .because("it is a story for people to read")
        .next("leave out --json; with --once, the exit code says whether it went as planned")
}

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

pub fn bad_deadline(text: &str) -> Problem {
    usage("bad-deadline", format!("invalid deadline '{text}'"))
        .because("a deadline is a time from 1s to 1h")
        .next("give it as 30s or 5m")
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

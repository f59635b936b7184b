//! Requests that can't be carried out as they were written: what is wrong with them, and what to
//! write instead.
//!
//! Text that a caller wrote is quoted sanitised and bounded.

use std::path::Path;
use std::time::Duration;

use perennial_api::Problem;
use perennial_api::request;
use perennial_core::name::BadName;
use perennial_core::state::State;
use perennial_core::vocabulary::Vocabulary;
use perennial_engine::harness::preset;
use perennial_engine::harness::typing::Unsendable;

use crate::daemon::surface::checks::sanitised;
use crate::similar::{did_you_mean, similar};

pub fn bad_name(name: &str, why: &dyn std::error::Error) -> Problem {
    let title = format!("invalid agent name '{}'", sanitised(name));
    Problem::new(400, "bad-name", title)
        .because(why.to_string())
        .next("choose another name, such as bob-2")
}

/// A tool needs another argument for what it is to do.
pub fn argument_missing(name: &str) -> Problem {
    Problem::new(400, "argument-missing", format!("the argument '{name}' is missing"))
        .next(format!("call the tool again with '{name}'"))
}

/// What a project declares can't be read.
pub fn bad_project_file(file: &Path, mistake: &str) -> Problem {
    let file = sanitised(&file.to_string_lossy());
    Problem::new(409, "bad-project-file", format!("{file} has a mistake"))
        .because(sanitised(mistake))
        .next("correct the file, or leave the role out")
}

/// A role is written as a name is.
pub fn bad_role(role: &str, why: BadName) -> Problem {
    let why = match why {
        BadName::Empty => "a role needs at least one character",
        BadName::TooLong => "a role may have at most 64 characters",
        BadName::Character => "a role may contain only ASCII letters, digits, - and _",
        BadName::LeadingDash => "a role may not begin with -",
        BadName::LooksLikeAnId => "a role may not begin with agt_ or msg_, the prefixes of ids",
        BadName::Reserved => "the name is reserved",
    };
    Problem::new(400, "bad-role", format!("invalid role '{}'", sanitised(role)))
        .because(why)
        .next("choose another role, such as code-reviewer")
}

/// Without a turn to begin, the agent would wait for one that never comes.
pub fn empty_prompt() -> Problem {
    Problem::new(400, "bad-prompt", "the prompt is blank")
        .because("an agent CLI begins no turn with it")
        .next("write a prompt, or leave out --prompt: the agent then waits for one")
}

/// A prompt that the conversation would not keep.
pub fn unsendable_prompt(why: &Unsendable) -> Problem {
    Problem::new(422, "unsendable", "the prompt can't be sent")
        .because(why.to_string())
        .next("put a word in front of it")
}

/// An argument that would take away what Perennial starts and resumes the agent CLI with.
pub fn reserved_argument(argument: &str, harness: &str) -> Problem {
    let title = format!("the argument '{}' is reserved for Perennial", sanitised(argument));
    Problem::new(400, "reserved-argument", title)
        .because(format!("Perennial itself starts and resumes {harness} with such arguments"))
        .next(
            "leave it out; `perennial spawn --help` lists --model, --prompt and --permission-mode",
        )
}

pub fn empty_summary() -> Problem {
    Problem::new(400, "no-summary", "the summary is empty")
        .because("the summary is what people read about the agent later")
        .next("say in one line what the agent leaves behind")
}

pub fn long_summary(bytes: usize) -> Problem {
    Problem::new(400, "too-long", "the summary is too long")
        .because(format!("it has {bytes} bytes; the limit is {}", request::SUMMARY_LIMIT))
        .next("shorten it")
}

pub fn long_title(bytes: usize) -> Problem {
    Problem::new(400, "too-long", "the title is too long")
        .because(format!("it has {bytes} bytes; the limit is {}", request::POST_TITLE_LIMIT))
        .next("shorten the title, and put the rest into the text")
}

pub fn blank_title() -> Problem {
    Problem::new(400, "bad-title", "the title is blank").next("give a title, or leave it out")
}

pub fn bad_title(title: &str) -> Problem {
    Problem::new(400, "bad-title", format!("invalid title '{}'", sanitised(title)))
        .because("a title is one line without control characters")
        .next("put further lines into the text")
}

pub fn long_post(bytes: usize) -> Problem {
    Problem::new(400, "too-long", "the text is too long")
        .because(format!("it has {bytes} bytes; the limit is {}", request::POST_TEXT_LIMIT))
        .next("post a summary, and say where to find the full text")
}

pub fn empty_post() -> Problem {
    Problem::new(400, "no-text", "there is nothing to post")
        .because("the text is empty")
        .next("give a text: perennial board post 'the build is green again'")
}

pub fn empty_legacy() -> Problem {
    Problem::new(400, "no-text", "there is nothing to leave behind")
        .because("the text is empty")
        .next("give a text: perennial legacy write --kind blog 'what I learned'")
}

pub fn bad_legacy_kind(word: &str) -> Problem {
    Problem::new(400, "bad-kind", format!("invalid kind of legacy '{}'", sanitised(word)))
        .next("use board, blog or autobiography")
}

pub fn bad_beginning(word: &str) -> Problem {
    let what = format!("invalid kind of beginning '{}'", sanitised(word));
    Problem::new(400, "bad-beginning", what)
        .next("use crash, again, wake, stop, restart, reboot, handoff, compaction or fresh")
}

pub fn bad_restart(word: &str) -> Problem {
    Problem::new(400, "bad-restart", format!("invalid restart policy '{}'", sanitised(word)))
        .next("use never, on-crash or always")
}

pub fn bad_host(word: &str) -> Problem {
    Problem::new(400, "bad-host", format!("invalid host '{}'", sanitised(word)))
        .next("use shim or tmux")
}

pub fn nameless_in_tmux() -> Problem {
    Problem::new(400, "nameless-in-tmux", "the host tmux needs a name for the agent")
        .because("its tmux session is named after it")
        .next("name the agent")
}

pub fn tmux_without_place() -> Problem {
    Problem::new(400, "tmux-without-place", "the host tmux needs the socket of a tmux server")
        .because("tmux_socket must be an absolute path")
        .next("use perennial spawn --host tmux, which opens the pane and says where it is")
}

pub fn place_without_tmux() -> Problem {
    Problem::new(400, "place-without-tmux", "a tmux socket needs the host tmux")
        .next("leave out tmux_socket, or set host to tmux")
}

pub fn needs_harness(option: &str) -> Problem {
    Problem::new(400, "needs-harness", format!("{option} needs --harness"))
        .because("the option is for an agent CLI; a bare command can't use it")
        .next(format!(
            "name the agent CLI, such as --harness {}, or leave the option out",
            preset::usual()
        ))
}

/// `known` is empty where a preset exists but can't be read; `why` then says so.
pub fn no_harness(name: &str, known: &[String], why: &str) -> Problem {
    let title = format!("no usable preset for harness '{}'", sanitised(name));
    Problem::new(422, "no-harness", title)
        .because(match known {
            [] => why.to_owned(),
            known => format!("the known harnesses are: {}", known.join(", ")),
        })
        .next("run `perennial doctor` to see which agent CLIs were found")
}

pub fn no_such_mode(word: &str, known: &[&str]) -> Problem {
    Problem::new(422, "no-such-mode", format!("no permission mode '{}'", sanitised(word)))
        .next(format!("use one of {}", known.join(", ")))
}

pub fn bad_roster(word: &str) -> Problem {
    Problem::new(400, "bad-roster", format!("no roster '{}'", sanitised(word)))
        .next("use living, freezer or cemetery")
}

pub fn bad_state(word: &str) -> Problem {
    let known = State::ALL.map(State::word).join(", ");
    let problem = Problem::new(400, "bad-state", format!("no state '{}'", sanitised(word)));
    let has_it = |one: &Vocabulary| one.state_words().contains(&word);
    match Vocabulary::ALL.into_iter().find(has_it) {
        Some(vocabulary) => problem
            .because(format!("{} has a state of that name", vocabulary.title()))
            .next(format!("add `--vocabulary {}`, or use one of {known}", vocabulary.word())),
        None => problem
            .because(did_you_mean(&similar(word, State::ALL.map(State::word))))
            .next(format!("use one of {known}")),
    }
}

pub fn bad_conversation(id: &str) -> Problem {
    Problem::new(400, "bad-conversation", format!("invalid conversation id '{}'", sanitised(id)))
        .next("use the agent CLI's own id: the name of its transcript file")
}

pub fn no_program() -> Problem {
    Problem::new(400, "no-program", "there is no program to run")
        .next("put it after --, as in: perennial run -- bash")
}

pub fn long_command_line() -> Problem {
    let (words, bytes) = (request::ARGV_COUNT_LIMIT, request::ARGV_LIMIT);
    Problem::new(400, "too-long", "the command line is too long")
        .because(format!("the limit is {words} arguments and {bytes} bytes"))
        .next("put the arguments into a script, and run that")
}

pub fn large_environment() -> Problem {
    Problem::new(400, "too-long", "the environment is too large")
        .because(format!("the limit is {} bytes", request::ENV_LIMIT))
        .next("unset large variables and try again")
}

pub fn nul_in_argument() -> Problem {
    Problem::new(400, "bad-argument", "an argument contains a NUL byte")
        .because("a program can't be given such an argument")
        .next("leave the NUL byte out, or pass the data in a file")
}

pub fn bad_variable(name: &str) -> Problem {
    let title = format!("invalid environment variable '{}'", sanitised(name));
    Problem::new(400, "bad-variable", title)
        .because("a name is not empty and has no '='; neither name nor value contains a NUL byte")
        .next("correct the variable or leave it out")
}

/// One that `--env` names; those that a caller happens to have are left out by the command line.
pub fn own_variable(name: &str) -> Problem {
    let title = format!("environment variable '{}' can't be set", sanitised(name));
    Problem::new(400, "bad-variable", title)
        .because("variables that begin with PERENNIAL_ tell a session which agent it belongs to")
        .next("choose another name for the variable")
}

pub fn variable_without_value(name: &str) -> Problem {
    let title = format!("environment variable '{}' has no value", sanitised(name));
    Problem::new(400, "bad-variable", title)
        .because("the request lists it in `set_env` but gives no value in `env`")
        .next("give its value in `env`, or leave it out of `set_env`")
}

pub fn no_directory(path: &str, why: &str) -> Problem {
    Problem::new(404, "no-directory", format!("can't use the directory '{}'", sanitised(path)))
        .because(why)
        .next("use --dir to give a directory that exists and that you may enter")
}

/// Why a program can't be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotRunnable {
    /// There is none, or it can't be reached.
    Missing(String),
    /// There is a file, but it may not be executed.
    NotExecutable(String),
}

/// `harness` is the preset that names the program, if one does.
pub fn program_not_runnable(program: &str, why: &NotRunnable, harness: Option<&str>) -> Problem {
    let program = sanitised(program);
    let (why, next) = match (why, harness) {
        (NotRunnable::NotExecutable(why), _) => {
            (why, "make the file executable, or give another program".to_owned())
        }
        (NotRunnable::Missing(why), None) => {
            (why, "check the spelling, or give the program's full path".to_owned())
        }
        (NotRunnable::Missing(why), Some(name)) => (
            why,
            format!(
                "install {program} or add its directory to PATH: --harness {} runs it",
                sanitised(name)
            ),
        ),
    };
    Problem::new(422, "no-program", format!("can't run '{program}'")).because(why).next(next)
}

/// `target` is the agent as the caller named it.
pub fn unsendable(why: &Unsendable, target: &str) -> Problem {
    let target = sanitised(target);
    let (status, kind, next) = match why {
        Unsendable::TooLong(_) => {
            (400, "too-long", "put the text into a file, and send the file's path".to_owned())
        }
        Unsendable::Empty => {
            (400, "no-text", format!("give a text: perennial send {target} 'run the tests'"))
        }
        Unsendable::EndsProgram(_)
        | Unsendable::Shell(_)
        | Unsendable::Command(_)
        | Unsendable::OwnMark(_) => {
            (422, "unsendable", format!("type it yourself in `perennial attach {target}`"))
        }
        Unsendable::Forgotten(_) => {
            (422, "unsendable", "put a word in front of it, and send that".to_owned())
        }
    };
    Problem::new(status, kind, "the text can't be sent").because(why.to_string()).next(next)
}

pub fn bad_place() -> Problem {
    Problem::new(400, "bad-place", "invalid place in the conversation")
        .next("start without `from`, then pass the `next` of each answer")
}

pub fn bad_request(why: &dyn std::error::Error) -> Problem {
    Problem::new(400, "bad-request", "the request can't be read")
        .because(why.to_string())
        .next("/v1/openapi.json lists the members of each request")
}

pub fn bad_path(why: &str) -> Problem {
    Problem::new(400, "bad-path", "the path of the request can't be read")
        .because(sanitised(why))
        .next("write it in UTF-8, percent-encoded")
}

pub fn bad_query(why: &str) -> Problem {
    Problem::new(400, "bad-query", "the query of the request can't be read")
        .because(sanitised(why))
        .next("/v1/openapi.json lists the parameters of each route")
}

pub fn bad_body(why: &dyn std::error::Error) -> Problem {
    Problem::new(400, "bad-body", "the body of the request can't be read")
        .because(sanitised(&why.to_string()))
        .next("send the request again")
}

pub fn bad_time(text: &str) -> Problem {
    Problem::new(400, "bad-time", format!("invalid time '{}'", sanitised(text)))
        .next("give a time like 2026-11-17T14:30:00Z")
}

/// The newest sessions of all agents are too much to remove by one word.
pub fn newest_of_all() -> Problem {
    Problem::new(
        400,
        "newest-of-all",
        "the newest recordings of all agents can't be removed at once",
    )
    .because("each shows how the last session of its agent ended")
    .next("name the agents whose newest recording is meant")
}

pub fn bad_percent() -> Problem {
    Problem::new(400, "bad-percent", "context_percent is more than 100")
        .next("give a whole number from 0 to 100")
}

/// `part` is the head or the body.
pub fn half_sent(part: &str, patience: Duration) -> Problem {
    Problem::new(408, "half-sent", "the request did not arrive completely")
        .because(format!("the {part} of a request has to arrive within {} s", patience.as_secs()))
        .next("send the whole request at once")
}

pub fn large_body(limit: usize) -> Problem {
    Problem::new(413, "too-large", "the request is too large")
        .because(format!("the limit for its body is {limit} bytes"))
        .next("put long texts into a file, and send the file's path")
}

pub fn large_head(limit: usize) -> Problem {
    Problem::new(431, "too-large", "the request is too large")
        .because(format!("the limit for its head is {limit} bytes"))
        .next("shorten the path, the query or the headers")
}

pub fn harness_not_understood(why: &dyn std::error::Error) -> Problem {
    Problem::new(422, "not-understood", "what the agent CLI sent can't be read")
        .because(why.to_string())
        .next("compare its version with the one in `perennial doctor`")
}

pub fn no_such_route(path: &str) -> Problem {
    Problem::new(404, "no-such-route", format!("nothing is served at {}", sanitised(path)))
        .because("a newer version of perennial may serve it")
        .next("compare `perennial --version` with `perennial doctor`")
}

pub fn no_such_method(path: &str) -> Problem {
    let title = format!("{} does not support this method", sanitised(path));
    Problem::new(405, "no-such-method", title)
        .next("/v1/openapi.json lists the methods of each route")
}

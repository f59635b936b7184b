//! Requests by somebody else: this test program runs itself again as an agent's process, or as one of
//! which nothing can be shown, and asks from there.
//!
//! A session's mark in the environment is enough to be taken for that agent: evidence only lowers
//! rights. A process too deep below pid 1 is a viewer.

use std::process::Command;

use perennial_api::{Agent, Client, ClientError, Home};
use serde_json::{Value, json};

use crate::sealed::{Sealed, finish};
use crate::watch::PATIENCE;

const HOME: &str = "PERENNIAL_TEST_CALL_HOME";
const PATHS: &str = "PERENNIAL_TEST_CALL_PATHS";
const ANSWERS: &str = "PERENNIAL_TEST_CALL_ANSWERS";

/// Calls itself as often as it is told to, each time in a process of its own, then runs the rest.
const DEEP: &str = "n=$1; shift
    d() { if [ \"$n\" -gt 0 ]; then n=$((n - 1)); (d \"$@\"; exit $?); else \"$@\"; fi; }
    d \"$@\"";

#[derive(Debug, Clone, Copy)]
pub enum Who<'a> {
    Person,
    Agent(&'a Agent),
    Viewer,
}

/// What was answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Who<'_> {
    /// A command that this one runs.
    pub fn runs(self, command: Command) -> Command {
        match self {
            Who::Person => command,
            Who::Agent(agent) => {
                let mut command = command;
                command.env("PERENNIAL_SESSION", format!("{}.1", agent.id));
                command
            }
            Who::Viewer => {
                let mut deep = Command::new("/bin/sh");
                deep.args(["-c", DEEP, "sh", "80"]).arg(command.get_program());
                deep.args(command.get_args()).env_clear();
                deep.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
                deep
            }
        }
    }
}

/// Asks for these paths, one after the other; one that begins with `feed` is followed until it has told
/// of an event of that kind (`feed:KIND /v1/feed…`); one that begins with `post` has a body behind it.
#[track_caller]
pub fn ask(sealed: &Sealed, who: Who<'_>, paths: &[&str]) -> Vec<Answer> {
    let answers = tempfile::NamedTempFile::new().expect("a file");
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "callers::asks_for_another_test", "--ignored"]).env_clear();
    command.env(HOME, &sealed.root).env(PATHS, paths.join("\n")).env(ANSWERS, answers.path());
    let ran = finish(who.runs(command));
    assert_eq!(ran.code, 0, "{who:?}: {ran:?}");
    let text = std::fs::read_to_string(answers.path()).expect("answers");
    let read = |line: &str| serde_json::from_str::<Value>(line).expect("an answer");
    let answers = text.lines().map(read).map(|mut answer| Answer {
        status: answer["status"].as_u64().and_then(|it| it.try_into().ok()).expect("a status"),
        body: answer["body"].take(),
    });
    answers.collect()
}

#[track_caller]
pub fn ask_one(sealed: &Sealed, who: Who<'_>, path: &str) -> Answer {
    ask(sealed, who, &[path]).pop().expect("one answer")
}

#[test]
#[ignore = "the other process of `ask`"]
fn asks_for_another_test() {
    let Some(home) = std::env::var_os(HOME) else { return };
    let client = Client::new(&Home::at(home)).patience(PATIENCE);
    let paths = std::env::var(PATHS).expect("paths");
    let answers = paths.lines().map(|path| {
        let answer = match path.strip_prefix("feed:").and_then(|rest| rest.split_once(' ')) {
            Some((kind, path)) => json!({ "status": 200, "body": followed(&client, path, kind) }),
            None => asked(&client, path),
        };
        answer.to_string() + "\n"
    });
    let text: String = answers.collect();
    std::fs::write(std::env::var(ANSWERS).expect("a file"), text).expect("written");
}

fn asked(client: &Client, path: &str) -> Value {
    let answer = match path.strip_prefix("post ").and_then(|rest| rest.split_once(' ')) {
        Some((path, body)) => client.post_bytes(path, body.as_bytes()),
        None => client.get(path),
    };
    match answer {
        Ok(answer) => {
            let body = serde_json::from_slice::<Value>(&answer.body);
            let text = || String::from_utf8_lossy(&answer.body).into();
            json!({ "status": answer.status(), "body": body.unwrap_or_else(|_| text()) })
        }
        Err(ClientError::Problem(problem)) => {
            json!({ "status": problem.status, "body": *problem })
        }
        Err(error) => panic!("{path}: {error}"),
    }
}

/// The messages of a feed up to the first event of a kind.
fn followed(client: &Client, path: &str, kind: &str) -> Value {
    let mut feed = client.follow(path, None).expect("a feed");
    let mut seen = Vec::new();
    loop {
        let message = feed.next_message().expect("a feed").expect("it goes on");
        let data: Value = serde_json::from_str(&message.data).expect("JSON");
        let is_last = data["kind"] == kind;
        seen.push(json!({ "event": message.event, "id": message.id, "data": data }));
        if is_last {
            return seen.into();
        }
    }
}

//! `run`: starts a new agent, named after its program, and attaches to its terminal.

use perennial_api::{Agent, ClientError, client};

use super::attach;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::launch::{self, Options};
use crate::cli::problems;
use crate::cli::terminal;

/// Start a new agent and attach to its terminal
#[derive(Debug, clap::Args)]
#[command(override_usage = "perennial run [OPTIONS] -- <COMMAND>...
       perennial run --harness <HARNESS> [OPTIONS] [-- <ARGUMENTS>...]")]
#[command(after_help = "\
Examples: perennial run -- bash
          perennial run --harness claude --dir ~/src

Press Ctrl-\\ twice to detach; the agent keeps running. It is named after its program.")]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// The program and its arguments; with --harness, extra arguments for
    /// the agent CLI
    #[arg(required_unless_present = "harness", trailing_var_arg = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

/// Two callers may choose the same free name at once: the loser chooses again.
const ATTEMPTS: usize = 5;

pub fn run(args: Args, context: &Context) -> VerbResult {
    if !terminal::is_interactive() {
        return Err(problems::no_terminal_to_run().into());
    }
    let mut request = launch::request(String::new(), args.options, args.argv)?;
    let program = request.harness.as_ref().or(request.argv.first()).cloned().unwrap_or_default();
    let path = client::path(&["agents"], &[]);
    let mut attempt = 1;
    let agent: Agent = loop {
        let name = free_name(&stem(&program), &names(context)?);
        request.name = Some(name);
        match context.client.post(&path, &request) {
            Ok(answer) => break answer.read()?,
            Err(error) if attempt < ATTEMPTS && is_taken(&error) => attempt += 1,
            Err(error) => return Err(error.into()),
        }
    };
    attach::to(&agent.id, attach::DETACH_KEY, context)
}

/// Whether somebody else got the name first.
fn is_taken(error: &ClientError) -> bool {
    matches!(error, ClientError::Problem(problem) if problem.kind == "name-taken")
}

/// Names that can't be used, in lower case.
fn names(context: &Context) -> Result<Vec<String>, Failure> {
    let agents: Vec<Agent> = context.client.get(&client::path(&["agents"], &[]))?.read()?;
    Ok(agents
        .into_iter()
        .filter(|agent| agent.roster != "cemetery")
        .map(|agent| agent.name.to_ascii_lowercase())
        .collect())
}

/// The program's own name, as far as an agent's name may have its letters.
fn stem(program: &str) -> String {
    let last = program.rsplit('/').next().unwrap_or_default();
    let stem: String = last
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' => char::from(byte),
            b'A'..=b'Z' => char::from(byte.to_ascii_lowercase()),
            _ => '-',
        })
        .take(40)
        .collect();
    let stem = stem.trim_matches('-');
    if stem.is_empty() || stem.starts_with("agt_") { "agent".to_owned() } else { stem.to_owned() }
}

fn free_name(stem: &str, taken: &[String]) -> String {
    let is_free = |name: &String| !taken.contains(name);
    std::iter::once(stem.to_owned())
        .chain((2_u32..).map(|number| format!("{stem}-{number}")))
        .find(is_free)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_from_programs() {
        for (program, name) in [
            ("/usr/bin/bash", "bash"),
            ("./My Tool.sh", "my-tool-sh"),
            ("日本", "agent"),
            ("", "agent"),
            ("--", "agent"),
            ("agt_x", "agent"),
        ] {
            assert_eq!(stem(program), name, "{program:?}");
        }
        assert!(stem(&"x".repeat(100)).len() <= 40);
    }

    #[test]
    fn only_a_lost_name_is_a_reason_to_choose_again() {
        let of = |kind: &str| {
            ClientError::Problem(Box::new(perennial_api::Problem::new(409, kind, "refused")))
        };
        assert!(is_taken(&of("name-taken")));
        assert!(!is_taken(&of("no-directory")));
        assert!(!is_taken(&ClientError::NoAnswer(30)));
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let taken = ["bash", "bash-2", "bash-4"].map(str::to_owned);
        assert_eq!(free_name("bash", &taken), "bash-3");
        assert_eq!(free_name("zsh", &taken), "zsh");
    }
}

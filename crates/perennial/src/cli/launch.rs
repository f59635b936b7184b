//! What `spawn` and `run` ask for: a program with its directory, environment and restart rule.

use std::path::{Path, PathBuf};

use perennial_api::request::Spawn;

use super::environment::{self, Inherited};
use super::failure::{Failure, usage};
use super::render::text::plain;
use super::terminal;

/// The options that `spawn` and `run` share.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The mandate that it holds, such as builder or reviewer
    #[arg(long)]
    role: Option<String>,
    /// The agent that it answers to
    #[arg(long, value_name = "AGENT")]
    parent: Option<String>,
    /// Where it works [default: here]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// What follows when its program ends by itself [default: on-crash]
    #[arg(long, value_name = "WHEN", value_parser = ["never", "on-crash", "always"])]
    restart: Option<String>,
    /// The agent CLI to run, by its preset's name, such as claude; without it: a bare command
    #[arg(long)]
    harness: Option<String>,
    /// The model that the agent CLI is asked to use
    #[arg(long)]
    model: Option<String>,
    /// What the agent is told first
    #[arg(long)]
    prompt: Option<String>,
    /// What it may do without asking, in the agent CLI's own word
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
    /// You consent to the agent CLI's first-run dialogs for this directory
    #[arg(long)]
    trust: bool,
    /// A variable of its environment, on top of yours; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
}

/// The request, with the caller's environment scrubbed.
pub fn request(name: String, options: Options, argv: Vec<String>) -> Result<Spawn, Failure> {
    let Inherited { mut variables, unspeakable } = environment::inherited(std::env::vars_os());
    for name in unspeakable {
        eprintln!("note: the variable {} is not Unicode and is left out", plain(&name));
    }
    let mut set_env = Vec::new();
    for pair in options.env {
        let (name, value) = variable(&pair)?;
        variables.insert(name.to_owned(), value.to_owned());
        set_env.push(name.to_owned());
    }
    Ok(Spawn {
        name: Some(name),
        role: options.role,
        parent: options.parent,
        dir: directory(options.dir.as_deref())?,
        restart: options.restart,
        env: variables,
        set_env,
        argv,
        size: terminal::any_size().map(|size| [size.rows, size.cols]),
        harness: options.harness,
        model: options.model,
        prompt: options.prompt,
        permission_mode: options.permission_mode,
        trust: options.trust,
        conversation: None,
    })
}

fn variable(pair: &str) -> Result<(&str, &str), Failure> {
    match pair.split_once('=') {
        Some((name, _)) if name.starts_with("PERENNIAL_") => {
            Err(usage("bad-variable", format!("--env {name} can't be given"))
                .because("names that begin with PERENNIAL_ tell a session who it is")
                .into())
        }
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        // The value may be a secret that lost its name: it is not repeated.
        Some(_) | None => Err(usage("bad-variable", "a variable after --env has no name")
            .next("write --env NAME=VALUE")
            .into()),
    }
}

/// Absolute; whether it exists is the daemon's to say.
fn directory(dir: Option<&Path>) -> Result<String, Failure> {
    let dir = std::path::absolute(dir.unwrap_or(Path::new("."))).map_err(|error| {
        usage("bad-directory", "the directory can't be found").because(error.to_string())
    })?;
    // `absolute` keeps "..", which would be wrong after a rename or through a link.
    let dir = dir.canonicalize().unwrap_or(dir);
    dir.into_os_string().into_string().map_err(|dir| {
        let title = format!("the directory {} is not Unicode", plain(&dir.to_string_lossy()));
        usage("bad-directory", title).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_a_name_and_are_not_ours() {
        assert_eq!(variable("A=b=c").unwrap(), ("A", "b=c"));
        assert_eq!(variable("A=").unwrap(), ("A", ""));
        for bad in ["", "=secret", "secret", "PERENNIAL_AGENT=agt_1"] {
            let shown = variable(bad).unwrap_err().to_string();
            assert!(!shown.contains("secret"), "{shown}");
        }
    }
}

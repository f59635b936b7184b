//! The request of `spawn`, `run` and `adopt`: a program with its directory, environment and restart
//! policy.

use std::path::{Path, PathBuf};

use perennial_api::request::Spawn;

use super::environment::{self, Inherited};
use super::failure::Failure;
use super::problems;
use super::render::text::plain;
use super::terminal;

/// The options that `spawn` and `run` share.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The agent's role, such as builder or reviewer
    #[arg(long)]
    role: Option<String>,
    /// The parent agent, to which the new one reports
    #[arg(long, value_name = "AGENT")]
    parent: Option<String>,
    /// The agent's working directory [default: the current one]
    #[arg(long)]
    dir: Option<PathBuf>,
    /// When to restart the program [default: on-crash]
    #[arg(long, value_name = "WHEN", value_parser = ["never", "on-crash", "always"])]
    restart: Option<String>,
    /// The agent CLI to run, by preset name, such as claude
    #[arg(long)]
    harness: Option<String>,
    /// The model for the agent CLI to use
    #[arg(long)]
    model: Option<String>,
    /// The first prompt
    #[arg(long)]
    prompt: Option<String>,
    /// The permission mode of the agent CLI: what it may do without asking
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<String>,
    /// Accept the agent CLI's first-run dialogs for this directory
    #[arg(long)]
    trust: bool,
    /// Set an environment variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
}

/// The request, with the caller's environment scrubbed.
pub fn request(name: String, options: Options, argv: Vec<String>) -> Result<Spawn, Failure> {
    let Inherited { mut variables, unspeakable } = environment::inherited(std::env::vars_os());
    for name in unspeakable {
        eprintln!("note: skipping the variable {}: it is not Unicode", plain(&name));
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
            Err(problems::own_variable(name).into())
        }
        Some((name, value)) if !name.is_empty() => Ok((name, value)),
        Some(_) | None => Err(problems::nameless_variable().into()),
    }
}

/// Absolute; whether it exists is the daemon's to say.
fn directory(dir: Option<&Path>) -> Result<String, Failure> {
    let dir = std::path::absolute(dir.unwrap_or(Path::new(".")))
        .map_err(|error| problems::no_directory(&error))?;
    // `absolute` keeps "..", which would be wrong after a rename or through a link.
    let dir = dir.canonicalize().unwrap_or(dir);
    dir.into_os_string()
        .into_string()
        .map_err(|dir| problems::directory_not_unicode(&dir.to_string_lossy()).into())
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

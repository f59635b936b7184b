//! The request of `spawn`, `run` and `adopt`: a program with its directory, environment and restart
//! policy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use perennial_api::request::Spawn;
use perennial_api::{Agent, Response, client};

use super::context::Context;
use super::environment::{self, Inherited};
use super::failure::Failure;
use super::harness_choice;
use super::problems;
use super::render::text::plain;
use super::vocabulary::Words;
use super::{person, terminal, tmux};
use crate::config::HOSTS;

/// The options that `spawn` and `run` share.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The agent's role, such as builder or reviewer
    #[arg(long)]
    role: Option<String>,
    /// The parent agent, to which the new one reports
    #[arg(long, value_name = "AGENT")]
    parent: Option<String>,
    /// What the agent works on; may be repeated, the first is primary
    /// [default: what its parent works on]
    #[arg(long, value_name = "SITUATION")]
    situation: Vec<String>,
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
    /// What holds the agent's terminal: the built-in holder, or a pane of
    /// your tmux [default: shim]
    #[arg(long, value_parser = HOSTS)]
    host: Option<String>,
    /// Set an environment variable; without a value, take yours; may be
    /// repeated
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// The task that the agent is on from its birth, by id
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    #[command(flatten)]
    words: Words,
}

impl Options {
    /// The same with a harness, where neither one nor a command was named.
    pub fn with_harness(mut self, argv: &[String], context: &Context) -> Result<Options, Failure> {
        if self.harness.is_none() && argv.is_empty() {
            self.harness = Some(harness_choice::choose(context)?);
        }
        Ok(self)
    }
}

/// The request, with the caller's environment scrubbed. Without a name, the daemon chooses one.
pub fn request(
    name: Option<String>,
    options: Options,
    argv: Vec<String>,
) -> Result<Spawn, Failure> {
    let Inherited { mut variables, unspeakable } = environment::inherited(std::env::vars_os());
    for name in unspeakable {
        eprintln!("note: skipping the variable {}: it is not Unicode", plain(&name));
    }
    let mut set_env = Vec::new();
    for pair in options.env {
        let (name, value) = variable(&pair, |name| std::env::var(name).ok())?;
        set_env.push(name.clone());
        variables.insert(name, value);
    }
    Ok(Spawn {
        name,
        role: options.role.map(|role| options.words.our_role(role)),
        parent: options.parent,
        situations: options.situation,
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
        host: options.host,
        tmux_socket: None,
        conversation: None,
        fork: false,
        attach: None,
        task: options.task,
    })
}

/// The same with the host of the configuration, where none was named. That default is the operator's own: the children
/// of agents are in no pane.
pub fn with_usual_host(request: Spawn, context: &Context) -> Spawn {
    let is_usual = request.host.is_none();
    let host = request.host.clone().unwrap_or_else(|| context.config().config.host);
    let is_in_tmux = host != HOSTS[0];
    let is_theirs = !is_in_tmux || !is_usual || person::required("open a pane", context).is_ok();
    Spawn { host: Some(host).filter(|_| is_in_tmux && is_theirs), ..request }
}

/// Has the agent made that a request asks for; with the host `tmux`, in a pane that is opened first.
pub fn born(mut request: Spawn, context: &Context) -> Result<(Agent, Response), Failure> {
    let mut pane = None;
    if request.host.as_deref() == Some("tmux") {
        let name = request.name.as_deref().ok_or_else(problems::pane::nameless_pane)?;
        let (socket, opened) = tmux::open_for(name, context)?;
        request.tmux_socket = Some(socket.to_string_lossy().into_owned());
        pane = opened;
    }
    let answer = context.client.post(&client::path(&["agents"], &[]), &request)?;
    let agent: Agent = answer.read()?;
    if let Some(pane) = pane {
        pane.keep(&agent);
    }
    Ok((agent, answer))
}

/// What `--env` asks for, by name.
pub fn variables(pairs: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    pairs.iter().map(|pair| variable(pair, |name| std::env::var(name).ok())).collect()
}

/// The name and value of `NAME=VALUE`, or of `NAME` with the caller's own value.
fn variable(
    pair: &str,
    own: impl FnOnce(&str) -> Option<String>,
) -> Result<(String, String), Failure> {
    let (name, value) = match pair.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (pair, None),
    };
    if name.is_empty() {
        return Err(problems::nameless_variable().into());
    }
    let value = value.or_else(|| own(name)).ok_or_else(|| problems::variable_not_set(name))?;
    Ok((name.to_owned(), value))
}

/// Absolute; whether it exists is the daemon's to say.
pub fn directory(dir: Option<&Path>) -> Result<String, Failure> {
    let dir = std::path::absolute(dir.unwrap_or(Path::new(".")))
        .map_err(|error| problems::no_directory(&error))?;
    // `absolute` keeps "..", which would be wrong after a rename or through a link.
    let dir = dir.canonicalize().unwrap_or(dir);
    dir.into_os_string()
        .into_string()
        .map_err(|dir| problems::directory_not_unicode(&dir.to_string_lossy()).into())
}

/// The same, of one that is there: whose project is looked up.
pub fn existing_directory(dir: Option<&Path>) -> Result<String, Failure> {
    match dir.map(|dir| (dir, dir.canonicalize())) {
        Some((dir, Err(error))) => Err(problems::no_such_directory(dir, &error).into()),
        Some((_, Ok(_))) | None => directory(dir),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_a_name() {
        let own = |name: &str| (name == "CI").then(|| "1".to_owned());
        let read = |pair| variable(pair, own).map(|(name, value)| format!("{name}:{value}"));
        for (pair, name_and_value) in [("A=b=c", "A:b=c"), ("A=", "A:"), ("CI", "CI:1")] {
            assert_eq!(read(pair).unwrap(), name_and_value);
        }
        for bad in ["", "=secret", "secret"] {
            let shown = read(bad).unwrap_err().to_string();
            assert!(!shown.contains("secret"), "{shown}");
        }
        assert!(read("NO_SUCH1").unwrap_err().to_string().contains("NO_SUCH1"));
        assert!(!read("1SECRET").unwrap_err().to_string().contains("SECRET"));
    }
}

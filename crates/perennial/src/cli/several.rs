//! Verbs about several agents: names and patterns become agents, all are asked at the same time, and each
//! is answered in its order.
//!
//! A failure of one agent stops nothing for the others; the exit code is the highest of all. With
//! `--json`, one agent that was named is printed as an object. Everything else is an array of those that
//! worked, and the problems of the others go to standard error, one line each.

use std::collections::HashSet;
use std::sync::Mutex;

use perennial_api::{Agent, Client, ClientError, ExitCode, Response, client};
use serde::de::DeserializeOwned;

use super::context::Context;
use super::failure::{Failure, VerbResult};
use super::pattern::Pattern;
use super::problems;
use super::progress;
use super::tell;
use crate::similar::similar;

/// At most this many are asked at the same time: fewer than the daemon lets one agent have under way.
const AT_ONCE: usize = 24;

/// The agents that a verb is about, as they were written.
#[derive(Debug, clap::Args)]
pub struct Targets {
    /// Names, ids or quoted patterns such as 'web-*'
    #[arg(value_name = "AGENT", required = true)]
    pub names: Vec<String>,
}

/// One agent, or why there is none.
pub type Found = Result<String, Failure>;

impl Targets {
    /// The one agent that is named, if it is one and no pattern.
    pub fn single(&self) -> Option<&str> {
        match self.names.as_slice() {
            [name] if Pattern::of(name).is_none() => Some(name),
            _ => None,
        }
    }

    pub fn has_pattern(&self) -> bool {
        self.names.iter().any(|name| Pattern::of(name).is_some())
    }

    /// Every agent once, in the order of the words and, within a pattern, of names. Patterns match agents
    /// outside the cemetery.
    pub fn agents(&self, context: &Context) -> Result<Vec<Found>, Failure> {
        let mut agents: Vec<Agent> = context.client.get(&client::path(&["agents"], &[]))?.read()?;
        agents.sort_by_cached_key(|agent| agent.name.to_ascii_lowercase());
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for word in &self.names {
            let Some(pattern) = Pattern::of(word) else {
                // Whoever is not in the list, as the dead are not, is known by the word alone.
                let named = agents.iter().find(|agent| is_meant(agent, word));
                if seen
                    .insert(named.map_or_else(|| word.to_ascii_lowercase(), |one| one.id.clone()))
                {
                    found.push(Ok(named.map_or_else(|| word.clone(), |one| one.name.clone())));
                }
                continue;
            };
            let mut matching =
                agents.iter().filter(|agent| pattern.matches(&agent.name)).peekable();
            if matching.peek().is_none() {
                let letters = word.replace(['*', '?'], "");
                let meant = similar(&letters, agents.iter().map(|agent| agent.name.as_str()));
                found.push(Err(problems::no_match(word, &meant).into()));
            }
            let fresh = matching.filter(|agent| seen.insert(agent.id.clone()));
            found.extend(fresh.map(|agent| Ok(agent.name.clone())));
        }
        Ok(found)
    }
}

/// Whether a word that is no pattern means this agent.
fn is_meant(agent: &Agent, word: &str) -> bool {
    [&agent.name, &agent.target, &agent.id].into_iter().any(|name| name.eq_ignore_ascii_case(word))
}

/// Asks for each agent, with `what` shown while that takes long, and draws each answer by `draw`.
pub fn ask<T: DeserializeOwned>(
    targets: &Targets,
    context: &Context,
    what: &str,
    order: impl Fn(&str) -> Result<Response, ClientError> + Sync,
    draw: impl Fn(&T) -> String,
) -> VerbResult {
    if let Some(name) = targets.single() {
        let answer = progress::told(&format!("waiting for {name} to {what}"), || order(name))?;
        context.show(&answer, draw)?;
        return Ok(ExitCode::Done);
    }
    let agents = targets.agents(context)?;
    let waiting = format!("waiting for {} agents to {what}", agents.len());
    let answers = progress::told(&waiting, || at_once(agents, &order));
    let mut outcome = Outcome::default();
    let mut bodies = Vec::new();
    for answer in answers {
        match answer {
            Ok(answer) if context.json => bodies.push(answer.body),
            Ok(answer) => context.print(&draw(&answer.read()?))?,
            Err(failure) => outcome.failed(failure, context)?,
        }
    }
    if context.json {
        let bodies = bodies.join(&b","[..]);
        context.print_json(&[b"[", bodies.as_slice(), b"]"].concat())?;
    }
    Ok(outcome.code)
}

/// What came of all so far.
#[derive(Debug)]
pub struct Outcome {
    pub code: ExitCode,
}

impl Default for Outcome {
    fn default() -> Outcome {
        Outcome { code: ExitCode::Done }
    }
}

impl Outcome {
    /// Tells what did not work for one agent, and goes on; output that can't be written ends it.
    pub fn failed(&mut self, failure: Failure, context: &Context) -> Result<(), Failure> {
        let Failure::Problem(problem) = failure else { return Err(failure) };
        tell(&problem, context.json);
        self.code = self.code.max(problem.exit());
        Ok(())
    }
}

/// The answers in the order of the agents, however long each takes.
fn at_once(
    agents: Vec<Found>,
    order: &(impl Fn(&str) -> Result<Response, ClientError> + Sync),
) -> Vec<Result<Response, Failure>> {
    let workers = agents.len().min(AT_ONCE);
    let mut answers: Vec<Option<Result<Response, Failure>>> = Vec::new();
    answers.resize_with(agents.len(), || None);
    let answers = Mutex::new(answers);
    let next = Mutex::new(agents.into_iter().enumerate());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some((position, agent)) = locked(&next).next() else { return };
                    let answer = agent.and_then(|name| Ok(order(&name)?));
                    locked(&answers)[position] = Some(answer);
                }
            });
        }
    });
    let answers = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    answers.into_iter().flatten().collect()
}

/// A worker that panics is joined by the scope, which panics in turn.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A client that waits as long as sessions may take to end.
pub fn patient(context: &Context) -> Client {
    context.client.clone().patience(progress::ENDING_PATIENCE)
}

//! Asks before something that can't be undone.
//!
//! Only a person at a terminal is asked. Without one (a script, a pipe, an agent's tool) nothing is asked and
//! the verb goes on: whoever may do it is decided by the daemon, not by a question.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use super::context::Context;
use super::failure::Failure;
use super::problems;
use super::render::text::wrapped;

/// The option that answers the question beforehand.
#[derive(Debug, clap::Args)]
pub struct Confirmation {
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

/// No answer is longer.
const LONGEST: u64 = 100;
/// At most this many names are listed in a question.
const NAMES: usize = 8;

impl Confirmation {
    /// Whether somebody is there to be asked, and has not answered yet.
    pub fn is_due(&self, context: &Context) -> bool {
        !self.yes && !context.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Whether it was answered beforehand.
    pub fn is_given(&self) -> bool {
        self.yes
    }

    /// Goes on if the answer is yes; call it only if one is due.
    pub fn ask(&self, question: &str, context: &Context) -> Result<(), Failure> {
        let question = context.draw(|canvas| {
            // The answer stands on the last line.
            let width = canvas.width.map(|width| width.saturating_sub(" [y/N] yes".len()));
            wrapped(question, 0, 0, width)
        });
        let mut err = io::stderr().lock();
        // Where the question can't be shown, it is not answered either.
        let _ = write!(err, "{question} [y/N] ");
        let _ = err.flush();
        let mut answer = String::new();
        let read = io::stdin().lock().take(LONGEST).read_line(&mut answer);
        let is_yes = ["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str());
        match read.is_ok() && is_yes {
            true => Ok(()),
            false => Err(problems::not_confirmed().into()),
        }
    }
}

/// `ada`, `ada and bob`, `ada, bob and 7 more`.
pub fn listed(names: &[String]) -> String {
    match names {
        [] => "nobody".to_owned(),
        [only] => only.clone(),
        [first @ .., last] if names.len() <= NAMES => format!("{} and {last}", first.join(", ")),
        _ => format!("{} and {} more", names[..NAMES].join(", "), names.len() - NAMES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_those_it_is_about() {
        let names: Vec<String> = (1..=10).map(|number| format!("a{number}")).collect();
        assert_eq!(listed(&names[..1]), "a1");
        assert_eq!(listed(&names[..3]), "a1, a2 and a3");
        assert_eq!(listed(&names), "a1, a2, a3, a4, a5, a6, a7, a8 and 2 more");
    }
}

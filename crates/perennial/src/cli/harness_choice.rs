//! Which agent CLI is meant where neither a harness nor a command is named: the only one that is installed, else
//! the one that a person at the terminal picks.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use super::context::Context;
use super::failure::Failure;
use super::{installed, problems};

/// No answer is longer.
const ANSWER_BYTES_MAX: u64 = 100;

/// The harness to run; a problem that names those that there are, if nobody can be asked.
pub fn choose(context: &Context) -> Result<String, Failure> {
    let mut names = installed::agent_clis(&context.home.config);
    match names.len() {
        0 => Err(problems::no_agent_cli(&installed::known_agent_clis(&context.home.config)).into()),
        1 => Ok(names.remove(0)),
        _ if !context.json && io::stdin().is_terminal() && io::stderr().is_terminal() => {
            ask(&names)
        }
        _ => Err(problems::which_agent_cli(&names).into()),
    }
}

fn ask(names: &[String]) -> Result<String, Failure> {
    let mut question = "several agent CLIs are installed:\n".to_owned();
    for (index, name) in names.iter().enumerate() {
        question.push_str(&format!("  {}  {name}\n", index + 1));
    }
    let mut err = io::stderr().lock();
    let _ = write!(err, "{question}which one? ");
    let _ = err.flush();
    let mut answer = String::new();
    // Where it can't be read there is no answer.
    let _ = io::stdin().lock().take(ANSWER_BYTES_MAX).read_line(&mut answer);
    picked(answer.trim(), names).ok_or_else(|| problems::which_agent_cli(names).into())
}

/// The name that was typed, or the one behind the number.
fn picked(answer: &str, names: &[String]) -> Option<String> {
    let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let by_number = number.and_then(|index| names.get(index));
    by_number.or_else(|| names.iter().find(|name| name.eq_ignore_ascii_case(answer))).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_a_number_picks_one_and_anything_else_none() {
        let names = ["claude".to_owned(), "codex".to_owned()];
        for (answer, name) in
            [("1", Some("claude")), ("2", Some("codex")), ("Codex", Some("codex"))]
        {
            assert_eq!(picked(answer, &names).as_deref(), name, "{answer}");
        }
        for answer in ["", "0", "3", "gemini", "-1"] {
            assert_eq!(picked(answer, &names), None, "{answer}");
        }
    }
}

//! A command line that can't be parsed, as a problem: what is wrong, and where to find help.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use perennial_api::Problem;

use super::{Cli, problems};
use crate::command_line::quoted;

/// Whether a command line that could not be parsed asks for JSON. Words after `--` do not count:
/// they belong to the agent's program.
pub fn asks_for_json(words: &[OsString]) -> bool {
    words
        .iter()
        .find(|word| *word == "--json" || *word == "--")
        .is_some_and(|word| word == "--json")
}

/// The parser's first paragraph says what is wrong, its tips say more about it. What it adds (how the
/// verb is used, where to find help) is said in our own words.
pub fn misused(error: &clap::Error, words: &[OsString]) -> Problem {
    let text = error.render().to_string();
    let paragraph = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs: Vec<String> = text.trim().split("\n\n").map(paragraph).collect();
    let title = paragraphs.first().map_or("can't parse the command line", String::as_str);
    let title = title.strip_prefix("error: ").unwrap_or(title);
    let tips = paragraphs.iter().filter_map(|part| part.strip_prefix("tip: "));
    let tips = tips.map(|tip| tip.replace(" tip: ", "; ")).collect::<Vec<_>>().join("; ");
    let help = format!("{} --help", verb(words));
    match detached_value(error, words) {
        Some(value) => problems::misused(
            title,
            "the value of --stale is optional, so it is written behind =".to_owned(),
            &format!("write --stale={value}"),
        ),
        None => problems::misused(title, tips, &help),
    }
}

/// The program and the verb that is meant.
fn verb(words: &[OsString]) -> String {
    let mut command = Cli::command();
    let mut path = command.get_name().to_owned();
    let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    for word in words.iter().skip(1).skip_while(is_option) {
        let Some(verb) = command.find_subcommand(word) else { break };
        path.push_str(&format!(" {}", verb.get_name()));
        command = verb.clone();
    }
    path
}

/// A value of `--stale` that was written as a word of its own.
fn detached_value(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(unexpected)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_it = |pair: &[OsString]| pair[0] == "--stale" && pair[1] == unexpected.as_str();
    let is_number = unexpected.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && words.windows(2).any(is_it)).then(|| unexpected.clone())
}

/// `spawn` without a name before `--`: the parser would take the program for the name.
pub fn nameless_spawn(words: &[OsString]) -> Option<Problem> {
    let end = words.iter().position(|word| word == "--")?;
    let error = Cli::command().try_get_matches_from(&words[..end]).err()?;
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_spawn = verb(words) == "perennial spawn";
    (is_spawn && missing.iter().any(|argument| argument == "<NAME>")).then(|| {
        let after = words.iter().skip_while(|word| *word != "spawn").skip(1);
        let after: Vec<String> = after.map(|word| word.to_string_lossy().into_owned()).collect();
        problems::nameless_spawn(&quoted(&after))
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use perennial_api::ExitCode;

    use super::*;

    fn words(line: &[&str]) -> Vec<OsString> {
        ["perennial"].iter().chain(line).map(OsString::from).collect()
    }

    #[track_caller]
    fn problem(line: &[&str]) -> Problem {
        let words = words(line);
        misused(&Cli::try_parse_from(&words).expect_err("a wrong line"), &words)
    }

    #[test]
    fn a_command_line_that_can_not_be_read_is_a_problem() {
        let count = problem(&["--json", "sent", "bob", "-n", "0"]);
        assert_eq!((count.kind.as_str(), count.exit()), ("usage", ExitCode::Usage));
        assert!(count.title.starts_with("invalid value '0' for '--limit"), "{count:?}");
        assert!(asks_for_json(&words(&["ls", "--json"])));
        assert!(!asks_for_json(&words(&["spawn", "x", "--", "claude", "--json"])));
    }

    #[test]
    fn the_help_of_the_verb_comes_next() {
        for (line, next) in [
            (&["ls", "--stat", "dead"][..], "perennial ls --help"),
            (&["board", "post"], "perennial board post --help"),
            (&["send", "bob"], "perennial send --help"),
            (&["--json", "sent", "bob", "-n", "0"], "perennial sent --help"),
            (&["board", "ls", "-n", "0"], "perennial board ls --help"),
            (&["no-such-verb"], "perennial --help"),
            (&["spawn", "bob"], "perennial spawn --help"),
        ] {
            assert_eq!(problem(line).next, next, "{line:?}");
        }
        let misspelt = problem(&["ls", "--stat", "dead"]);
        assert!(misspelt.detail.contains("--state"), "{misspelt:?}");
        assert!(!misspelt.detail.contains("Usage"), "{misspelt:?}");
    }

    #[test]
    fn limits_are_told_in_numbers_that_people_use() {
        let session = problem(&["logs", "bob", "--session", "0"]);
        assert!(session.title.ends_with("sessions are numbered from 1"), "{session:?}");
    }

    #[test]
    fn a_value_of_stale_is_written_behind_an_equals_sign() {
        assert_eq!(problem(&["ls", "--stale", "5"]).next, "write --stale=5");
        assert_eq!(problem(&["ls", "5"]).next, "perennial ls --help");
    }

    #[test]
    fn a_program_is_not_taken_for_the_missing_name() {
        for (line, next) in [
            (&["spawn", "--", "bash"][..], "perennial spawn bob -- bash"),
            (&["spawn", "--role", "r", "--", "ls", "-l"], "perennial spawn bob --role r -- ls -l"),
            (
                &["--json", "spawn", "--harness", "claude", "--", "-d"],
                "perennial spawn bob --harness claude -- -d",
            ),
        ] {
            let problem = nameless_spawn(&words(line)).expect("no name");
            assert_eq!(problem.title, "the agent's name is missing");
            assert_eq!(problem.next, format!("name the agent, for example: {next}"), "{line:?}");
            assert_eq!(problem.exit(), ExitCode::Usage);
        }
        for line in [
            &["spawn", "bob", "--", "bash"][..],
            &["spawn", "bob", "bash"],
            &["spawn", "--harness", "claude", "bob", "--", "-c"],
            &["run", "--", "bash"],
            &["send", "bob", "--", "-x"],
            &["adopt", "--", "bob"],
        ] {
            assert_eq!(nameless_spawn(&words(line)), None, "{line:?}");
        }
    }
}

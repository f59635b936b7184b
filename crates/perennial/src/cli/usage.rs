//! A command line that can't be parsed, as a problem: what is wrong, and where to find help.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory};
use perennial_api::Problem;

use super::{Cli, problems};
use crate::command_line::quoted;
use crate::similar::{did_you_mean, similar};

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
    let (path, command) = verb(words);
    let tips = paragraphs.iter().filter_map(|part| part.strip_prefix("tip: "));
    let tips = tips.flat_map(|tip| tip.split(" tip: ")).collect::<Vec<_>>().join("; ");
    let help = format!("{path} --help");
    if let Some(value) = detached_value(error, words) {
        return problems::misused(
            title,
            "the value of --stale is optional, so it is written behind =".to_owned(),
            &format!("write --stale={value}"),
        );
    }
    if error.kind() == ErrorKind::MissingSubcommand {
        return verb_missing(words);
    }
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) {
        return problems::no_such_verb(&path, typed, &meant(typed, &command), &help);
    }
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg)
    {
        return match name_option(&path, typed, words) {
            Some(line) => problems::spawn_names_first(&line),
            None => problems::misused(title, option_meant(typed, &path, &command), &help),
        };
    }
    problems::misused(title, value_meant(error).unwrap_or(tips), &help)
}

/// A verb, or the verb of a verb as in `board post`, is missing.
pub fn verb_missing(words: &[OsString]) -> Problem {
    let (path, _) = verb(words);
    problems::no_verb(&path, &format!("{path} --help"))
}

/// What may have been meant by an option that the verb does not have.
fn option_meant(typed: &str, path: &str, command: &Command) -> String {
    let verb = path.rsplit(' ').next().unwrap_or_default();
    let long = typed.strip_prefix("--").unwrap_or_default();
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let near = similar(long, shown.filter_map(Arg::get_long));
    if !near.is_empty() && !DESTRUCTIVE.contains(&verb) {
        let near: Vec<String> = near.iter().map(|name| format!("--{name}")).collect();
        return did_you_mean(&near.iter().map(String::as_str).collect::<Vec<_>>());
    }
    match path {
        // Their words are texts, which may begin with anything.
        "perennial send" | "perennial board post" if typed.starts_with('-') => {
            "-- comes before a text that begins with -".to_owned()
        }
        "perennial send" | "perennial board post" => {
            "a text of several words is put in quotes".to_owned()
        }
        _ => String::new(),
    }
}

/// `spawn --name joe …` as it should have been written.
fn name_option(path: &str, typed: &str, words: &[OsString]) -> Option<String> {
    if path != "perennial spawn" || typed != "--name" {
        return None;
    }
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let mut words = words.skip_while(|word| word != "spawn").skip(1);
    let (mut name, mut rest) = ("bob".to_owned(), Vec::new());
    while let Some(word) = words.next() {
        match (word.strip_prefix("--name"), word.strip_prefix("--name=")) {
            (_, Some(value)) => name = value.to_owned(),
            (Some(""), None) => name = words.next().unwrap_or(name),
            (_, None) => rest.push(word),
        }
    }
    Some(quoted(&[vec![name], rest].concat()))
}

/// Verbs that end or remove something: an error text never suggests one, because agents do what error
/// texts suggest.
const DESTRUCTIVE: &[&str] = &[
    "stop",
    "kill",
    "bury",
    "rm",
    "down",
    "restart",
    "unsend",
    "prune",
    "import",
    "uninstall",
    "clean",
];

/// What other programs call our verbs; nothing that ends or removes something.
const USUAL_WORDS: &[(&str, &[&str])] = &[
    ("list", &["ls"]),
    ("top", &["ls"]),
    ("agents", &["ls"]),
    ("start", &["wake", "up"]),
    ("resume", &["wake"]),
    ("create", &["spawn", "run"]),
    ("new", &["spawn", "run"]),
    ("info", &["show"]),
    ("inspect", &["show"]),
    ("log", &["logs"]),
    ("tail", &["logs"]),
    ("history", &["events", "why"]),
    ("message", &["send"]),
    ("connect", &["attach"]),
    ("backup", &["export"]),
    ("version", &["--version"]),
];

/// The verbs that may have been meant; none if the nearest is destructive. Hidden ones are never meant.
fn meant<'a>(typed: &str, command: &'a Command) -> Vec<&'a str> {
    let usual = USUAL_WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(typed));
    if let Some((_, verbs)) = usual.filter(|_| command.get_name() == "perennial") {
        return verbs.to_vec();
    }
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let names =
        verbs.flat_map(|verb| std::iter::once(verb.get_name()).chain(verb.get_all_aliases()));
    let mut near = similar(typed, names);
    if near.first().is_some_and(|verb| DESTRUCTIVE.contains(verb)) {
        near.clear();
    }
    near.retain(|verb| !DESTRUCTIVE.contains(verb));
    near
}

/// What may have been meant by a value that is not among the possible ones.
fn value_meant(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidValue) else {
        return None;
    };
    let Some(ContextValue::Strings(possible)) = error.get(ContextKind::ValidValue) else {
        return None;
    };
    let meant = did_you_mean(&similar(typed, possible.iter().map(String::as_str)));
    Some(meant).filter(|meant| !meant.is_empty())
}

/// The program and the verb that is meant, as written and as declared.
fn verb(words: &[OsString]) -> (String, Command) {
    let mut command = Cli::command();
    let mut path = command.get_name().to_owned();
    let is_option = |word: &&OsString| word.as_encoded_bytes().starts_with(b"-");
    for word in words.iter().skip(1).skip_while(is_option) {
        let Some(verb) = command.find_subcommand(word) else { break };
        path.push_str(&format!(" {}", verb.get_name()));
        command = verb.clone();
    }
    (path, command)
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
    let is_spawn = verb(words).0 == "perennial spawn";
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
        ] {
            assert_eq!(problem(line).next, next, "{line:?}");
        }
        let misspelt = problem(&["ls", "--stat", "dead"]);
        assert!(misspelt.detail.contains("--state"), "{misspelt:?}");
        assert!(!misspelt.detail.contains("Usage"), "{misspelt:?}");
    }

    #[test]
    fn a_misspelt_verb_is_recognised_unless_it_is_internal_or_ends_something() {
        for (typed, meant) in [
            ("attac", "did you mean attach?"),
            ("sned", "did you mean send?"),
            ("hok", ""),
            ("demon", "did you mean demo?"),
            ("stauts", "did you mean status?"),
            ("shmi", ""),
            ("stopp", ""),
            ("bry", ""),
            ("rmm", ""),
            ("kil", ""),
            ("unsnd", ""),
            ("list", "did you mean ls?"),
            ("start", "did you mean wake or up?"),
            ("version", "did you mean --version?"),
            ("info", "did you mean show?"),
            ("xyzzy", ""),
        ] {
            let problem = problem(&[typed]);
            assert_eq!(problem.title, format!("no such verb: {typed}"));
            assert_eq!(problem.detail, meant, "{typed}");
            assert_eq!(problem.next, "perennial --help");
        }
        let nested = problem(&["board", "pots"]);
        assert_eq!(
            (nested.title.as_str(), nested.detail.as_str()),
            ("no such verb: board pots", "did you mean post?")
        );
        let roster = problem(&["ls", "--roster", "Livin"]);
        assert_eq!(roster.detail, "did you mean living?");
        let missing = problem(&["--json"]);
        assert_eq!(missing.title, "a verb is missing");
    }

    #[test]
    fn usual_words_lead_to_verbs_that_exist_and_end_nothing() {
        let root = Cli::command();
        for verb in USUAL_WORDS.iter().flat_map(|(_, verbs)| *verbs) {
            assert!(!DESTRUCTIVE.contains(verb), "{verb}");
            assert!(root.find_subcommand(verb).is_some() || *verb == "--version", "{verb}");
        }
        for (word, _) in USUAL_WORDS {
            assert!(root.find_subcommand(word).is_none(), "{word} is a verb");
        }
    }

    #[test]
    fn two_dashes_are_suggested_only_where_the_words_are_a_text() {
        for (line, detail) in [
            (&["kill", "-9", "bob"][..], ""),
            (&["rm", "-f", "bob"], ""),
            (&["run", "-it", "--", "bash"], ""),
            (&["wake", "--all"], ""),
            (&["stop", "--al"], ""),
            (&["send", "bob", "-x"], "-- comes before a text that begins with -"),
            (&["board", "post", "-x"], "-- comes before a text that begins with -"),
            (&["send", "bob", "run", "the", "tests"], "a text of several words is put in quotes"),
        ] {
            assert_eq!(problem(line).detail, detail, "{line:?}");
        }
        for line in [&["run", "--name", "-x", "--", "true"][..], &["logs", "bob", "-n", "-1"]] {
            let problem = problem(line);
            assert!(!format!("{problem:?}").contains("use '-- "), "{problem:?}");
        }
    }

    #[test]
    fn spawn_takes_its_name_first() {
        for (line, next) in [
            (&["spawn", "--name", "joe", "--", "bash"][..], "perennial spawn joe -- bash"),
            (
                &["spawn", "--name=joe", "--role", "r", "--", "ls"],
                "perennial spawn joe --role r -- ls",
            ),
        ] {
            let words = words(line);
            let problem = nameless_spawn(&words).unwrap_or_else(|| problem(line));
            assert_eq!(problem.next, format!("write the name first: {next}"), "{line:?}");
        }
    }

    #[test]
    fn limits_are_told_in_numbers_that_people_use() {
        for line in [
            &["board", "ls", "-n", "0"][..],
            &["board", "ls", "-n", "-1"],
            &["board", "ls", "-n", "ten"],
            &["board", "ls", "-n", "99999999999999999999"],
        ] {
            let told = problem(line).title;
            assert!(told.ends_with("give a whole number from 1 to 10000"), "{line:?}: {told}");
        }
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

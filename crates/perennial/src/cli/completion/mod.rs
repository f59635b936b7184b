//! What the last word of a command line may become, from the tree of verbs and from what the fleet knows.
//!
//! The shells' scripts only ask: which words there are is decided here, so that a script never gets old.
//! Hidden verbs and options are never offered. Where nothing is offered, the shell offers files.

use clap::{Arg, Command};

pub const BASH: &str = include_str!("perennial.bash");
pub const ZSH: &str = include_str!("perennial.zsh");
pub const FISH: &str = include_str!("perennial.fish");

/// A word, and what it means.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    pub word: String,
    pub help: String,
}

/// Words that the tree of verbs does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known<'a> {
    Agents(Whose<'a>),
    /// Ids of texts that can be withdrawn.
    WaitingTexts,
    Posts,
    /// To whom mail is sent: agents, roles, teams, the operator; what is typed of it.
    Addresses(&'a str),
    /// Ids of mails.
    Mails,
    Roles,
    /// Names of keys that `send` presses.
    Keys,
    /// Numbers of the sessions of the agent that the line names.
    SessionsOf(&'a str),
    Harnesses,
    ConfigKeys,
    Paths,
}

/// The agents that a verb does not refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// All that are not in the cemetery.
    Undead,
    /// Those that have a session.
    Running,
    /// Those that have none.
    Resting,
    /// The dead too, whose names begin with this; of nothing, none.
    AlsoDead(&'a str),
}

/// `words` begin with the program and end with the word to complete, which may be empty.
pub fn candidates(
    root: &Command,
    words: &[String],
    known: impl FnOnce(Known<'_>) -> Vec<Candidate>,
) -> Vec<Candidate> {
    let (words, split_off) = joined(words);
    let Some((typed, before)) = words.split_last() else { return Vec::new() };
    let Some(line) = Line::read(root, before.get(1..).unwrap_or_default()) else {
        return Vec::new();
    };
    // Bash breaks words at =, so the option may stand by itself: then so does its value.
    let (option, prefix, typed) = match (typed.split_once('='), line.pending) {
        (Some(("", value)), _) if line.last_option.is_some() => (line.last_option, "", value),
        (_, Some(option)) => (Some(option), "", typed.as_str()),
        (Some((name, value)), None) if typed.starts_with("--") => {
            let option = line.option(name);
            (option, &typed[..=name.len()], value)
        }
        (_, None) => (None, "", typed.as_str()),
    };
    let offered = match option {
        Some(option) => values(option, &line, typed, known),
        None if typed.starts_with('-') => options(line.command),
        None => {
            let count = line.positionals.len();
            let mut offered = if count == 0 { verbs(root, line.command) } else { Vec::new() };
            if let Some(arg) = line.positional(count) {
                offered.extend(values(arg, &line, typed, known));
            }
            offered
        }
    };
    let fits =
        |word: &str| word.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed));
    let mut offered: Vec<Candidate> =
        offered.into_iter().filter(|candidate| fits(&candidate.word)).collect();
    for candidate in &mut offered {
        candidate.word.insert_str(0, prefix);
        candidate.word.drain(..split_off);
    }
    offered
}

/// Bash breaks words at `:`, too: an address is put together again. Of one that is the last word, the shell has the
/// beginning already: this many bytes.
fn joined(words: &[String]) -> (Vec<String>, usize) {
    let mut all: Vec<String> = Vec::new();
    let mut split_off = 0;
    for word in words {
        let is_kind = |last: &String| matches!(last.as_str(), "role" | "team");
        let is_open = |last: &String| matches!(last.as_str(), "role:" | "team:");
        match all.last_mut() {
            Some(last) if word == ":" && is_kind(last) => {
                last.push(':');
                split_off = last.len();
            }
            Some(last) if is_open(last) && split_off > 0 => last.push_str(word),
            _ => {
                split_off = 0;
                all.push(word.clone());
            }
        }
    }
    (all, split_off)
}

/// What the words before the last one say.
struct Line<'a> {
    command: &'a Command,
    positionals: Vec<&'a str>,
    last_option: Option<&'a Arg>,
    /// The option whose value comes next.
    pending: Option<&'a Arg>,
}

impl<'a> Line<'a> {
    /// Nothing if the last word belongs to the agent's program.
    fn read(root: &'a Command, words: &'a [String]) -> Option<Line<'a>> {
        let mut line =
            Line { command: root, positionals: Vec::new(), last_option: None, pending: None };
        for word in words {
            if word == "--" {
                return None;
            }
            line.take(word);
        }
        let is_program =
            |count: usize| line.positional(count).is_some_and(Arg::is_trailing_var_arg_set);
        (!line.positionals.len().checked_sub(1).is_some_and(is_program)).then_some(line)
    }

    fn take(&mut self, word: &'a str) {
        if word == "=" && self.last_option.is_some() {
            self.pending = self.last_option;
        } else if self.pending.take().is_some() {
            self.last_option = None;
        } else if word.starts_with('-') && word.len() > 1 {
            let name = word.split_once('=').map_or(word, |(name, _)| name);
            self.last_option = self.option(name);
            let takes_next = |option: &&Arg| {
                let least = option.get_num_args().map_or(0, |range| range.min_values());
                option.get_action().takes_values() && least > 0 && !word.contains('=')
            };
            self.pending = self.last_option.filter(takes_next);
        } else if let Some(verb) = self.command.find_subcommand(word) {
            self.command = verb;
        } else {
            self.last_option = None;
            self.positionals.push(word);
        }
    }

    fn option(&self, name: &str) -> Option<&'a Arg> {
        let (long, short) = (name.strip_prefix("--"), name.strip_prefix('-'));
        self.command.get_arguments().find(|arg| match long {
            Some(long) => {
                let aliases = arg.get_all_aliases().unwrap_or_default();
                arg.get_long() == Some(long) || aliases.contains(&long)
            }
            None => arg.get_short().is_some_and(|own| short.is_some_and(|it| it.ends_with(own))),
        })
    }

    /// The argument that a word without a dash is, after `count` others.
    fn positional(&self, count: usize) -> Option<&'a Arg> {
        let takes_many =
            |arg: &&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
        let last = || self.command.get_positionals().last().filter(takes_many);
        self.command.get_positionals().nth(count).or_else(last)
    }
}

/// The verbs below a command, without their aliases.
fn verbs(root: &Command, command: &Command) -> Vec<Candidate> {
    // `help` has copies of all verbs below it, of the hidden ones too.
    let parent = if command.get_name() == "help" { root } else { command };
    let shown = parent.get_subcommands().filter(|verb| !verb.is_hide_set());
    shown.map(|verb| candidate(verb.get_name(), verb.get_about())).collect()
}

fn options(command: &Command) -> Vec<Candidate> {
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let named = shown.filter_map(|arg| Some((arg.get_long()?, arg.get_help())));
    named.map(|(name, help)| candidate(&format!("--{name}"), help)).collect()
}

fn values(
    arg: &Arg,
    line: &Line<'_>,
    typed: &str,
    known: impl FnOnce(Known<'_>) -> Vec<Candidate>,
) -> Vec<Candidate> {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return shown.map(|value| candidate(value.get_name(), value.get_help())).collect();
    }
    let name = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    let verb = line.command.get_name();
    let wanted = match (arg.get_id().as_str(), name) {
        (_, "AGENT") => Known::Agents(match verb {
            "attach" => Whose::Running,
            "wake" => Whose::Resting,
            "show" | "why" | "logs" | "sent" | "screen" | "prune" | "legacy" | "clean" => {
                Whose::AlsoDead(typed)
            }
            _ => Whose::Undead,
        }),
        (_, "AGENT ROLE") if line.positionals.is_empty() => Known::Agents(Whose::Undead),
        ("role", _) | (_, "AGENT ROLE") => Known::Roles,
        ("to" | "mailbox", _) => Known::Addresses(typed),
        ("ids" | "thread", _) => Known::Mails,
        ("id", _) if verb == "reply" => Known::Mails,
        ("harness", _) => Known::Harnesses,
        ("key", _) if verb == "send" => Known::Keys,
        ("key", _) => Known::ConfigKeys,
        ("id", _) if verb == "unsend" => Known::WaitingTexts,
        ("id", _) if verb == "show" => Known::Posts,
        ("name", _) if verb == "paths" => Known::Paths,
        ("session", _) => match line.positionals.first() {
            Some(agent) => Known::SessionsOf(agent),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    known(wanted)
}

fn candidate(word: &str, help: Option<&impl ToString>) -> Candidate {
    let help = help.map(ToString::to_string).unwrap_or_default();
    Candidate { word: word.to_owned(), help }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    /// What the fleet knows is offered as `<…>`.
    fn offered(line: &[&str]) -> Vec<String> {
        let mut root = Cli::command();
        root.build();
        let words = ["perennial"].iter().chain(line).map(|word| (*word).to_owned());
        let known = |wanted: Known<'_>| {
            vec![Candidate { word: format!("<{wanted:?}>"), help: String::new() }]
        };
        let offered = candidates(&root, &words.collect::<Vec<_>>(), known);
        offered.into_iter().map(|candidate| candidate.word).collect()
    }

    #[test]
    fn verbs_options_and_values_come_from_the_tree() {
        for (line, words) in [
            (&["wa"][..], &["wake"][..]),
            (&["he"], &["help"]),
            (&["help", "wa"], &["wake"]),
            (&["help", "ho"], &[]),
            (&["board", "p"], &["post"]),
            (&["ls", "--ros"], &["--roster"]),
            (&["ls", "--roster", ""], &["living", "freezer", "cemetery"]),
            (&["ls", "--roster=c"], &["--roster=cemetery"]),
            (&["ls", "--roster", "=", "c"], &["cemetery"]),
            (&["ls", "--roster", "="], &["living", "freezer", "cemetery"]),
            (&["ps", "--state", "w"], &["waking", "working", "waiting"]),
            (&["spawn", "bob", "--restart", "n"], &["never"]),
            (&["completions", "z"], &["zsh"]),
        ] {
            assert_eq!(offered(line), words, "{line:?}");
        }
        let verbs = offered(&[""]);
        for hidden in ["hook", "shim", "daemon", "mcp", "complete", "statusline", "ps", "rm"] {
            assert!(!verbs.contains(&hidden.to_owned()), "{hidden}");
        }
    }

    #[test]
    fn the_rest_is_asked_for_and_a_programs_words_are_left_alone() {
        for (line, words) in [
            (&["attach", ""][..], &["<Agents(Running)>"][..]),
            (&["wake", ""], &["<Agents(Resting)>"]),
            (&["stop", "bob", ""], &["<Agents(Undead)>"]),
            (&["show", ""], &["<Agents(AlsoDead(\"\"))>"]),
            (&["send", "bob", "--key", ""], &["<Keys>"]),
            (&["unsend", ""], &["<WaitingTexts>"]),
            (&["board", "show", ""], &["<Posts>"]),
            (&["mail", "send", ""], &["<Addresses(\"\")>"]),
            (&["mail", "ls", ""], &["<Addresses(\"\")>"]),
            (&["mail", "ls", "--thread", ""], &["<Mails>"]),
            (&["mail", "read", "msg_1", ""], &["<Mails>"]),
            (&["mail", "reply", ""], &["<Mails>"]),
            (&["role", "show", ""], &["<Roles>"]),
            (&["role", "assume", ""], &["<Agents(Undead)>"]),
            (&["role", "assume", "bob", ""], &["<Roles>"]),
            (&["role", "transfer", "bob", ""], &["<Agents(Undead)>"]),
            (&["role", "drop", ""], &["<Agents(Undead)>"]),
            (&["spawn", "bob", "--role", ""], &["<Roles>"]),
            (&["legacy", ""], &["write", "help", "<Agents(AlsoDead(\"\"))>"]),
            (&["ls", "--all", ""], &[]),
            (&["events", "--agent", ""], &["<Agents(Undead)>"]),
            (&["logs", "bob", "--session", ""], &["<SessionsOf(\"bob\")>"]),
            (&["run", "--harness", ""], &["<Harnesses>"]),
            (&["config", "explain", ""], &["<ConfigKeys>"]),
            (&["paths", ""], &["<Paths>"]),
            (&["send", "bob", ""], &[]),
            (&["spawn", "bob", "--", ""], &[]),
            (&["spawn", "bob", "bash", "--j"], &[]),
            (&["run", "--", "perennial", "attach", ""], &[]),
            (&["no-such-verb", ""], &[]),
        ] {
            assert_eq!(offered(line), words, "{line:?}");
        }
    }
}

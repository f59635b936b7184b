//! The command line: one verb, one file in `commands/`.
//!
//! Asks the daemon and draws its answers. What agents do is decided by the daemon; decided here is only
//! what concerns the caller: what a new agent inherits, how long to wait, what to suggest. `doctor`,
//! `tokens` and `demo` also do work of their own. Results go to standard output, everything else to
//! standard error.

pub mod archive;
mod arrival;
mod checklist;
mod command_line;
mod commands;
mod completion;
mod confirm;
mod context;
mod environment;
mod failure;
mod harness_choice;
mod installed;
mod launch;
mod listener;
mod next_session;
mod number;
mod own_session;
mod pager;
mod pattern;
mod person;
mod phase;
mod piped;
pub mod problems;
mod progress;
pub mod render;
mod several;
mod since;
mod stay;
mod terminal;
mod text_source;
mod tmux;
mod usage;
mod vocabulary;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};
use perennial_api::{ExitCode, Problem};

use crate::build_id;
use commands::*;
use context::Context;
use failure::{Failure, VerbResult};
use pager::{LongOutput, Pager};
use render::paint::Paint;
use render::text::{self, plain, wrapped};

const AFTER_HELP: &str = "\
New here?  perennial demo          watch a small fleet survive being killed
           perennial up            start the daemon
           perennial run -- bash   start a shell that outlives its terminal
           perennial ls            list agents, those that need you first

Exit codes: 0 success
            1 failure, for example a file that can't be read
            2 usage error, or a text that is empty or too long
            3 refused: not allowed, or not in this state
            4 not found: no such agent, text, post, path or key
            5 no daemon
            6 needs the operator
            7 timed out

Files are kept in PERENNIAL_HOME if it is set, otherwise in the XDG directories.";

/// Keep your AI coding agents alive through crashes, restarts and full context windows
#[derive(Debug, Parser)]
#[command(name = "perennial", version = build_id::version_and_build(), after_help = AFTER_HELP)]
#[command(max_term_width = 80, arg_required_else_help = true)]
struct Cli {
    /// Print JSON: results to stdout, problems to stderr
    #[arg(long, global = true, display_order = 1000)]
    json: bool,
    /// Print long output without a pager
    #[arg(long, global = true, display_order = 1000)]
    no_pager: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Up(up::Args),
    Down(down::Args),
    Spawn(spawn::Args),
    Run(run::Args),
    Adopt(adopt::Args),
    #[command(visible_aliases = ["ps", "status"])]
    Ls(ls::Args),
    Show(show::Args),
    Why(why::Args),
    Logs(logs::Args),
    Screen(screen::Args),
    Attach(attach::Args),
    Pane(pane::Args),
    Send(send::Args),
    Sent(sent::Args),
    Unsend(unsend::Args),
    #[command(visible_alias = "kill")]
    Stop(stop::Args),
    Wake(wake::Args),
    Restart(restart::Args),
    Handoff(handoff::Args),
    Set(set::Args),
    Rename(rename::Args),
    #[command(visible_alias = "rm")]
    Bury(bury::Args),
    Events(events::Args),
    Board(board::Args),
    Mail(mail::Args),
    Signal(signal::Args),
    Escalate(escalate::Args),
    Escalations(escalations::Args),
    Task(task::Args),
    Loops(loops::Args),
    Role(role::Args),
    Legacy(legacy::Args),
    Graph(graph::Args),
    Report(report::Args),
    Prime(prime::Args),
    Briefing(briefing::Args),
    Handoffs(handoffs::Args),
    Checkpoint(checkpoint::Args),
    Checkpoints(checkpoints::Args),
    Snapshot(snapshot::Args),
    Tokens(tokens::Args),
    Doctor(doctor::Args),
    Paths(paths::Args),
    Config(config::Args),
    Service(service::Args),
    Prune(prune::Args),
    Clean(clean::Args),
    Init(init::Args),
    Export(export::Args),
    Import(import::Args),
    Demo(demo::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Complete(complete::Args),
    #[command(hide = true)]
    Hook(hook::Args),
    #[command(hide = true)]
    Statusline(statusline::Args),
    #[command(hide = true)]
    Mcp(mcp::Args),
    #[command(hide = true)]
    Daemon(daemon::Args),
    #[command(hide = true)]
    DemoAgent(demo_agent::Args),
    #[command(hide = true)]
    PaneProcess(pane_process::Args),
    #[command(hide = true)]
    Shim(shim::Args),
}

pub fn main() -> std::process::ExitCode {
    let cli = match hook::Args::plain(std::env::args_os()) {
        Some(args) => Cli { json: false, no_pager: false, verb: Verb::Hook(args) },
        None => match parsed(&std::env::args_os().collect::<Vec<_>>()) {
            Ok(cli) => cli,
            Err(code) => return code.into(),
        },
    };
    let json = cli.json;
    match Context::from_env(json, cli.no_pager).and_then(|context| cli.verb.run(&context)) {
        Ok(code) => code.into(),
        Err(Failure::Problem(problem)) => {
            tell(&problem, json);
            problem.exit().into()
        }
        Err(Failure::Program(code)) => code.into(),
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::Done.into()
        }
        Err(Failure::Output(error)) => {
            tell(&problems::output(&error), json);
            ExitCode::Failed.into()
        }
    }
}

/// The command line; otherwise what it asked to read, or what is wrong with it, has been printed.
fn parsed(words: &[OsString]) -> Result<Cli, ExitCode> {
    let misused = |problem: &Problem| {
        tell(problem, usage::asks_for_json(words));
        Err(ExitCode::Usage)
    };
    if let Some(problem) = usage::nameless_spawn(words) {
        return misused(&problem);
    }
    match Cli::try_parse_from(words) {
        Ok(cli) => Ok(cli),
        // Help and version are not errors: they go to standard output and end with 0.
        Err(error) if !error.use_stderr() => {
            let is_json = usage::asks_for_json(words);
            match error.kind() == ErrorKind::DisplayVersion && is_json {
                true => println!("{}", build_id::as_json()),
                false => read(&error),
            }
            Err(ExitCode::Done)
        }
        // Without any word, the help is printed as an error.
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            if usage::asks_for_json(words) {
                return misused(&usage::verb_missing(words));
            }
            let _ = error.print();
            Err(ExitCode::Usage)
        }
        Err(error) => misused(&usage::misused(&error, words)),
    }
}

/// Help on standard output, through a pager if it is long.
fn read(help: &clap::Error) {
    let paint = Paint::choose(io::stdout().is_terminal(), |name| std::env::var(name).ok());
    let text = match paint {
        Paint::OFF => help.render().to_string(),
        _ => help.render().ansi().to_string(),
    };
    let mut out = LongOutput::begin(Pager::choose(|name| std::env::var(name).ok()));
    // A reader that has gone has read enough.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.finish());
}

impl Verb {
    fn run(self, context: &Context) -> VerbResult {
        match self {
            Verb::Up(args) => up::run(&args, context),
            Verb::Down(args) => down::run(&args, context),
            Verb::Spawn(args) => spawn::run(args, context),
            Verb::Run(args) => run::run(args, context),
            Verb::Adopt(args) => adopt::run(args, context),
            Verb::Hook(args) => hook::run(&args, context),
            Verb::Statusline(args) => statusline::run(&args, context),
            Verb::Mcp(args) => mcp::run(&args, context),
            Verb::Ls(args) => ls::run(&args, context),
            Verb::Show(args) => show::run(&args, context),
            Verb::Why(args) => why::run(&args, context),
            Verb::Logs(args) => logs::run(args, context),
            Verb::Screen(args) => screen::run(&args, context),
            Verb::Attach(args) => attach::run(&args, context),
            Verb::Pane(args) => pane::run(&args, context),
            Verb::PaneProcess(args) => pane_process::run(&args, context),
            Verb::Send(args) => send::run(&args, context),
            Verb::Sent(args) => sent::run(&args, context),
            Verb::Unsend(args) => unsend::run(&args, context),
            Verb::Stop(args) => stop::run(args, context),
            Verb::Wake(args) => wake::run(&args, context),
            Verb::Restart(args) => restart::run(&args, context),
            Verb::Handoff(args) => handoff::run(&args, context),
            Verb::Set(args) => set::run(args, context),
            Verb::Rename(args) => rename::run(args, context),
            Verb::Bury(args) => bury::run(args, context),
            Verb::Events(args) => events::run(&args, context),
            Verb::Board(args) => board::run(args, context),
            Verb::Mail(args) => mail::run(args, context),
            Verb::Signal(args) => signal::run(args, context),
            Verb::Escalate(args) => escalate::run(args, context),
            Verb::Escalations(args) => escalations::run(&args, context),
            Verb::Task(args) => task::run(args, context),
            Verb::Loops(args) => loops::run(&args, context),
            Verb::Role(args) => role::run(args, context),
            Verb::Legacy(args) => legacy::run(args, context),
            Verb::Report(args) => report::run(args, context),
            Verb::Prime(args) => prime::run(args, context),
            Verb::Briefing(args) => briefing::run(args, context),
            Verb::Handoffs(args) => handoffs::run(&args, context),
            Verb::Tokens(args) => tokens::run(&args, context),
            Verb::Doctor(args) => doctor::run(&args, context),
            Verb::Paths(args) => paths::run(&args, context),
            Verb::Config(args) => config::run(&args, context),
            Verb::Service(args) => service::run(&args, context),
            Verb::Checkpoint(args) => checkpoint::run(args, context),
            Verb::Checkpoints(args) => checkpoints::run(args, context),
            Verb::Snapshot(args) => snapshot::run(args, context),
            Verb::Prune(args) => prune::run(args, context),
            Verb::Init(args) => init::run(&args, context),
            Verb::Export(args) => export::run(&args, context),
            Verb::Import(args) => import::run(&args, context),
            Verb::Demo(args) => demo::run(&args, context),
            Verb::Completions(args) => completions::run(&args, context),
            Verb::Clean(args) => clean::run(&args, context),
            Verb::Graph(args) => graph::run(args, context),
            Verb::Complete(args) => complete::run(&args, context),
            Verb::Daemon(args) => daemon::run(&args, context),
            Verb::DemoAgent(args) => demo_agent::run(&args, context),
            Verb::Shim(args) => shim::run(&args),
        }
    }
}

/// Prints a problem to standard error: what, why, what to do next.
fn tell(problem: &Problem, json: bool) {
    // If standard error can't be written, there is no one left to tell.
    let _ = io::stderr().lock().write_all(told(problem, json, terminal::error_width()).as_bytes());
}

/// A problem as JSON, or as lines for a screen of this width.
pub fn told(problem: &Problem, json: bool, width: Option<usize>) -> String {
    if json {
        return text::json(&serde_json::to_string(problem).unwrap_or_default()).into_owned() + "\n";
    }
    let lines = [("error", &problem.title), ("why", &problem.detail), ("next", &problem.next)];
    let mut text = String::new();
    for (label, value) in lines.into_iter().filter(|(_, value)| !value.is_empty()) {
        let indent = label.len() + 2;
        let value = wrapped(&plain(value), indent, indent, width);
        text.push_str(&format!("{label}: {value}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use render::text::width;

    use super::*;

    #[test]
    fn the_tree_of_verbs_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_verb_that_is_shown_has_an_example_in_its_help() {
        for verb in Cli::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            let name = verb.get_name();
            assert!(help.contains(&format!("perennial {name}")), "{name}: {help:?}");
            assert!(verb.get_about().is_some(), "{name}");
        }
    }

    #[test]
    fn every_verb_has_a_file_of_tests_from_outside() {
        let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
        for verb in Cli::command().get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let file = tests.join(format!("{}.rs", verb.get_name()));
            assert!(file.exists(), "{} is missing", file.display());
        }
    }

    /// Every verb that is shown, with its own verbs, as `--help` prints it on 80 columns.
    #[test]
    fn help_of_every_verb() {
        fn add(command: &clap::Command, path: &[&str], all: &mut String) {
            let words = path.iter().copied().chain(["--help"]);
            let shown = Cli::command().term_width(80).try_get_matches_from(words);
            let help = shown.expect_err("help").render().to_string();
            for line in help.lines() {
                assert!(width(line) <= 80, "{path:?}: {line}");
            }
            all.push_str(&format!("$ {} --help\n{help}\n\n", path.join(" ")));
            for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
                add(verb, &[path, &[verb.get_name()]].concat(), all);
            }
        }
        let mut all = String::new();
        add(&Cli::command(), &["perennial"], &mut all);
        insta::assert_snapshot!(all);
    }

    #[test]
    fn a_program_takes_every_word_after_its_name() {
        let words = |line: &[&str]| {
            let line = ["perennial"].iter().chain(line);
            format!("{:?}", Cli::try_parse_from(line).map(|cli| cli.verb))
        };
        for line in [
            &["spawn", "bob", "--role", "r", "--", "claude", "--json", "-c"][..],
            &["spawn", "bob", "--role", "r", "claude", "--json", "-c"],
            &["run", "--role", "r", "claude", "--json", "-c"],
            &["run", "--harness", "claude", "--", "claude", "--json", "-c"],
        ] {
            let parsed = words(line);
            assert!(parsed.contains(r#"argv: ["claude", "--json", "-c"]"#), "{parsed}");
        }
        // A misspelt option is not a program.
        assert!(words(&["spawn", "bob", "--rol", "r", "--", "claude"]).starts_with("Err"));
        assert!(words(&["run", "--rol", "claude"]).starts_with("Err"));
        // A harness brings its own program.
        assert!(words(&["run", "--harness", "claude"]).starts_with("Ok"));
        // An option that is misspelt before a text is not the text.
        assert!(words(&["send", "bob", "--wiat", "x"]).contains("--wiat"));
        assert!(words(&["send", "bob", "--", "-x"]).contains(r#"text: Some("-x")"#));
        assert!(words(&["send", "bob", "-"]).contains(r#"text: Some("-")"#));
    }

    #[test]
    fn problems_are_told_in_three_lines_or_as_json() {
        let problem = Problem::new(404, "no-such-agent", "no agent b\x1bob")
            .because("nobody has that name")
            .next("perennial ls");
        assert_eq!(
            told(&problem, false, None),
            "error: no agent b\\u{1b}ob\nwhy: nobody has that name\nnext: perennial ls\n"
        );
        let read: Problem = serde_json::from_str(&told(&problem, true, None)).unwrap();
        assert_eq!(read, problem);
    }
}

//! `run`: starts a new agent, named after its program, and attaches to its terminal before the program
//! begins.

use std::io::{self, IsTerminal};

use perennial_api::answer::Buried;
use perennial_api::request::{Attach, Bury};
use perennial_api::{Agent, ExitCode, client};
use perennial_engine::host::attach::SessionExit;

use super::attach;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::launch::{self, Options};
use crate::cli::render::roster::name;
use crate::cli::stay::{Over, Stay, Stayed, stay};
use crate::cli::{piped, problems, terminal};
use crate::detach_keys::DetachKeys;

/// Start a new agent, attach to its terminal and pass on its exit code
#[derive(Debug, clap::Args)]
#[command(override_usage = "perennial run [OPTIONS] [-- <COMMAND>...]
       perennial run --harness <HARNESS> [OPTIONS] [-- <ARGUMENTS>...]")]
#[command(after_help = "\
Examples: perennial run -- bash
          perennial run --rm --name tests -- make test
          perennial run --harness claude --dir ~/src

Without --harness and a command, the agent CLI that is installed is run; if there are several, you are asked \
which one. The agent is named after its program, unless --name names it, and is not restarted, unless --restart says \
so. To detach, press Ctrl-\\ and then d; the agent keeps running.

The exit code is the program's, or 128 plus the signal number if a signal killed it. If perennial itself fails, \
it prints an error and exits with a code of its own. Processes that the program leaves in the background end with it.

Without a terminal, output goes to standard output, and standard input is typed for the program, line by \
line; /dev/null is an input that has ended.

Commands that you run inside the agent's terminal act as that agent, and may not attach, for example. Detach \
first.")]
#[command(mut_arg("restart", |arg| arg.help("When to restart the program [default: never]")))]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// The agent's name [default: the program's]
    #[arg(long)]
    name: Option<String>,
    /// Bury the agent when its program has ended, if you are still
    /// attached
    #[arg(long)]
    rm: bool,
    /// The prefix, such as C-], or the prefix and the key that detaches,
    /// such as 'C-a d' [default: C-\ d]
    #[arg(long, value_name = "KEYS")]
    detach_keys: Option<DetachKeys>,
    /// The program and its arguments; with --harness, extra arguments for
    /// the agent CLI
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    argv: Vec<String>,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    let is_interactive = terminal::is_interactive();
    let keys = attach::detach_keys(args.detach_keys, context);
    let options = args.options.with_harness(&args.argv, context)?;
    let mut request = launch::request(args.name, options, args.argv)?;
    request.restart.get_or_insert_with(|| "never".to_owned());
    request.attach = Some(if is_interactive { Attach::Terminal } else { piped::input() });
    let (agent, _) = launch::born(request, context)?;
    let stayed = if is_interactive {
        let stayed = stay(&agent.id, keys, context)?;
        let who = if stayed.was_attached { stayed.who } else { name(&agent) };
        Stayed { who, ..stayed }
    } else {
        if !context.json {
            eprintln!("{}", note(&name(&agent)));
        }
        let (stay, was_attached) = piped::pass(&agent, context)?;
        Stayed { who: name(&agent), stay, was_attached }
    };
    let who = stayed.who.clone();
    let ended = match stayed.stay {
        Stay::Over(Over { exit, .. }) => {
            if args.rm {
                bury(&agent, context);
            }
            return passed_on(&name(&agent), exit);
        }
        Stay::Left | Stay::Told | Stay::Cut(_) if is_interactive => stayed.tell(context),
        Stay::Left | Stay::Told | Stay::Cut(_) => {
            eprintln!("[{}]", stayed.farewell());
            Ok(ExitCode::Failed)
        }
    };
    if args.rm {
        eprintln!("[{who} is not buried: --rm does that only while you are attached]");
    }
    ended
}

/// What a caller without a terminal is told at the beginning.
fn note(who: &str) -> String {
    let typed = match io::stdin().is_terminal() {
        true if piped::passes_input() => "; lines that you type are sent to it",
        true => "; its input is not connected",
        false => "",
    };
    format!("[{who}, session 1{typed}; its output is kept: perennial logs {who}]")
}

/// The program has ended, so its exit code counts more than a burial that could not be.
fn bury(agent: &Agent, context: &Context) {
    let path = client::path(&["agents", &agent.id, "bury"], &[]);
    let buried =
        context.client.post(&path, &Bury::default()).and_then(|answer| answer.read::<Buried>());
    if let Err(error) = buried {
        let who = name(agent);
        eprintln!("note: {who} was not buried: {error}");
    }
}

/// The end of this command for the end of the program.
fn passed_on(who: &str, exit: Option<SessionExit>) -> VerbResult {
    match exit {
        Some(SessionExit::Code(0)) => Ok(ExitCode::Done),
        Some(SessionExit::Code(code)) => Err(Failure::Program(u8::try_from(code).unwrap_or(1))),
        Some(SessionExit::KillSignal(signal)) => {
            Err(Failure::Program(u8::try_from(128 + signal).unwrap_or(u8::MAX)))
        }
        Some(SessionExit::NotStarted(why)) => Err(problems::program_not_started(who, &why).into()),
        None => Err(problems::end_unknown(who).into()),
    }
}

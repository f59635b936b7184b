//! `attach`: an agent's terminal in this one, straight from its holder.

use perennial_api::answer::Ticket;
use perennial_api::request::Mode;

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::problems;
use crate::cli::stay::{self, stay};
use crate::cli::terminal;
use crate::detach_keys::DetachKeys;

/// Use an agent's terminal; press Ctrl-\ and then d to detach
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial attach bob
          perennial attach bob --detach-keys 'C-a d'

The agent keeps running when you detach or close this terminal. You stay attached when its program \
restarts and when the daemon stops. Several people may be attached at once: all see the same, and the terminal \
has the size of whoever typed last.

Ctrl-\\ is never sent to the program: after it, press d, or Ctrl-\\ once more, to detach, or q to send \
Ctrl-\\ itself. Any other key is sent as usual; after 2 s without one, Ctrl-\\ is forgotten. The key \
detach_keys in config.toml sets other keys.

Exit codes: 0 you detached, or the last session has ended, whatever its exit code
            1 the connection or this terminal was lost
            2 wrong usage, or no terminal
            3 refused, for example because the agent has no session
            4 no such agent
            5 no daemon")]
pub struct Args {
    /// The agent's name or id
    #[arg(value_name = "AGENT")]
    target: String,
    /// The prefix, such as C-], or the prefix and the key that detaches,
    /// such as 'C-a d' [default: C-\ d]
    #[arg(long, value_name = "KEYS")]
    detach_keys: Option<DetachKeys>,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if !terminal::is_interactive() {
        return Err(problems::no_terminal_to_attach(&args.target).into());
    }
    let keys = detach_keys(args.detach_keys, context);
    stay(&args.target, keys, context)?.tell(context)
}

/// Those that were given, else those of the configuration.
pub fn detach_keys(given: Option<DetachKeys>, context: &Context) -> DetachKeys {
    given.unwrap_or_else(|| context.config().config.detach_keys.parse().unwrap_or_default())
}

pub fn ticket(target: &str, mode: Mode, context: &Context) -> Result<Ticket, Failure> {
    Ok(stay::ticket(target, mode, &context.client)?)
}

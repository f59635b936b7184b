//! `completions`: prints a shell's completion script.

use clap::CommandFactory;
use clap_complete::Shell;
use perennial_api::ExitCode;

use crate::cli::Cli;
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: source <(perennial completions bash)
          perennial completions zsh > ~/.zfunc/_perennial
          perennial completions fish > ~/.config/fish/completions/perennial.fish")]
pub struct Args {
    /// The shell to print the script for
    shell: Shell,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "perennial", &mut script);
    context.print_bytes(&script)?;
    Ok(ExitCode::Done)
}

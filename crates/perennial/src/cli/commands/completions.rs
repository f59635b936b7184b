//! `completions`: prints a shell's completion script.

use clap::ValueEnum;
use perennial_api::ExitCode;
use serde_json::json;

use crate::cli::completion::{BASH, FISH, ZSH};
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: source <(perennial completions bash)
          perennial completions zsh > ~/.zfunc/_perennial
          perennial completions fish > ~/.config/fish/completions/perennial.fish

The script asks perennial for verbs, options, agents, states, harnesses and session numbers as you \
type, so it never needs to be renewed.")]
pub struct Args {
    /// The shell to print the script for
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let script = match args.shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
    };
    match context.json {
        true => context.print_json(json!({ "script": script }).to_string().as_bytes())?,
        false => context.print(script)?,
    }
    Ok(ExitCode::Done)
}

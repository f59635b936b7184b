//! `config trust`: a person says that the commands of a project's `perennial.toml` may be run, as the file is now.
//!
//! Never for an agent. What is shown, what is asked about and what is recorded is one reading of the file.

use std::path::PathBuf;

use jiff::Timestamp;
use perennial_api::ExitCode;
use serde_json::json;

use super::project;
use crate::cli::confirm::Confirmation;
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::person;
use crate::cli::problems;
use crate::cli::render::text::plain;
use crate::project_file;
use crate::trust::{self, Trusted};

/// Trust the commands in a project's perennial.toml, as the file is now
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial config trust
          perennial config trust ~/src/app/perennial.toml

Shows the commands and asks, on a terminal; a script uses --yes. Whenever the file changes, it has to be trusted \
again. Roles need no trust: they are texts. Agents can't trust a file.

Exit codes: 0 trusted, or nothing to trust, 1 a mistake in the file, 2 no terminal to ask on, 3 not confirmed, or \
not allowed.")]
pub struct Args {
    /// The file to trust [default: the perennial.toml of the project in the current directory]
    file: Option<PathBuf>,
    #[command(flatten)]
    confirmation: Confirmation,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    person::required("trust a project's commands", context)?;
    let file = args.file.clone().unwrap_or_else(project::file);
    let mistaken = |mistake| problems::house::checked_config_mistake(&file, &mistake);
    file.metadata().map_err(|error| problems::house::config_unreadable(&file, &error))?;
    let text = project_file::text(&file).map_err(mistaken)?;
    let declared = project_file::parse(&text).map_err(mistaken)?;
    let (shown, sha256) = (plain(&file.to_string_lossy()), trust::sha256(&text));
    let is_known = Trusted::load(&context.home.config).has(&file, &text);
    if declared.checks.is_empty() || is_known {
        let what = if is_known { "already trusted" } else { "has no commands; nothing to trust" };
        return told(&file, &sha256, what, context);
    }
    if !context.json {
        context.print(&format!("{shown} (SHA-256 {sha256}) names these commands:\n"))?;
        for (name, check) in &declared.checks {
            context.print(&format!(
                "  {} = {}\n",
                plain(name.as_str()),
                project::command(check)
            ))?;
        }
    }
    if args.confirmation.is_due(context) {
        let question = "Perennial may run them with your rights, as long as the file does not change. Trust it?";
        args.confirmation.ask(question, context)?;
    } else if !args.confirmation.is_given() {
        return Err(problems::house::trust_needs_a_terminal().into());
    }
    let not_recorded = |error| problems::house::not_trusted(&file, &error);
    context.home.create().map_err(not_recorded)?;
    let at = Timestamp::now().to_string();
    trust::trust(&context.home.config, &file, &text, &at).map_err(not_recorded)?;
    told(&file, &sha256, "trusted", context)
}

fn told(file: &std::path::Path, sha256: &str, what: &str, context: &Context) -> VerbResult {
    match context.json {
        true => {
            let body = json!({ "file": file, "sha256": sha256, "result": what });
            context.print_json(body.to_string().as_bytes())?;
        }
        false => context.print(&format!("{}: {what}\n", plain(&file.to_string_lossy())))?,
    }
    Ok(ExitCode::Done)
}

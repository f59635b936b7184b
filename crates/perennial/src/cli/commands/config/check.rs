//! `config check`: looks for mistakes in the operator's `config.toml`, or in a project's `perennial.toml`.

use std::io;
use std::path::{Path, PathBuf};

use perennial_api::ExitCode;
use serde_json::json;

use super::project;
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::problems;
use crate::cli::render::text::plain;
use crate::config::{self, Config};
use crate::project_file;
use crate::roles;

/// Check the configuration file, or another one, for mistakes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial config check
          perennial config check ./config.toml
          perennial config check perennial.toml

A file called perennial.toml is checked as a project's: its roles and its checks, and whether those are trusted.

Exit codes: 0 no mistakes, 1 a mistake, told with its line, a mandate without its file, or a file that can't be read.")]
pub struct Args {
    /// The file to check [default: the home's config.toml]
    file: Option<PathBuf>,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let file = args.file.as_deref();
    let own = config::path(&context.home.config);
    let path = file.unwrap_or(&own);
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && file.is_none() => {
            return checked(
                path,
                "there is no configuration file; every key has its default",
                "",
                context,
            );
        }
        Err(error) => return Err(problems::house::config_unreadable(path, &error).into()),
    };
    if path.file_name().is_some_and(|name| name == project_file::NAME) {
        return of_project(path, &text, context);
    }
    match (Config::read(&text), file) {
        (Ok(config), _) => {
            mandates(&config.role, path)?;
            checked(path, "no mistakes", "", context)
        }
        (Err(mistake), None) => Err(problems::house::config_mistake(path, &mistake).into()),
        (Err(mistake), Some(file)) => {
            Err(problems::house::checked_config_mistake(file, &mistake).into())
        }
    }
}

fn of_project(path: &Path, text: &str, context: &Context) -> VerbResult {
    let file = project_file::parse(text)
        .map_err(|mistake| problems::house::checked_config_mistake(path, &mistake))?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    mandates(&file.role, &path)?;
    let own = context.config();
    let checks = project::checks(&own.config, &path, context);
    let listed = checks.map(|checks| project::listed(&checks, context)).unwrap_or_default();
    checked(&path, "no mistakes", &listed, context)
}

/// Every mandate's file is there.
fn mandates(declared: &roles::Declared, file: &Path) -> Result<(), perennial_api::Problem> {
    match &roles::missing_mandates(declared, file)[..] {
        [] => Ok(()),
        missing => Err(problems::house::mandates_missing(file, missing)),
    }
}

fn checked(path: &Path, what: &str, more: &str, context: &Context) -> VerbResult {
    match context.json {
        true => context.print_json(json!({ "file": path, "ok": true }).to_string().as_bytes())?,
        false => context.print(&format!("{}: {what}\n{more}", plain(&path.to_string_lossy())))?,
    }
    Ok(ExitCode::Done)
}

//! `import`: reads what `export` wrote into an empty home. Never changes a home that has a journal, nor one
//! whose daemon runs.

use std::path::{Path, PathBuf};

use perennial_api::{ExitCode, Home};
use perennial_core::id::AgentId;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::environment;
use serde_json::json;

use crate::cli::archive::read::{Archive, ReadError, Staging};
use crate::cli::archive::{self, Manifest};
use crate::cli::context::Context;
use crate::cli::environment::inherited;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::person;
use crate::cli::problems;
use crate::cli::progress;
use crate::cli::render::text::plain;
use crate::daemon::lock::Lock;

/// Read an exported home into an empty one
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial import ~/fleet.tar
          PERENNIAL_HOME=~/copy perennial import ~/fleet.tar

The whole file is checked before anything is put in place. The home is a copy: agents that had a session \
wait for you, because the original may still run it. Import only files that you trust, since a home says \
which programs run.")]
pub struct Args {
    /// A file that `perennial export` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    person::required("import a home", context)?;
    let home = &context.home;
    let manifest = progress::told("importing", || import(&args.file, home))?;
    let environments = match manifest.with_secrets {
        true => "as they were",
        false => "yours",
    };
    if context.json {
        let body = json!({
            "file": args.file.to_string_lossy(), "journal": home.journal().to_string_lossy(),
            "files": manifest.entries.len(), "records": manifest.records,
            "unreadable": manifest.unreadable, "environments": environments, "next": "perennial up",
        });
        context.print_json(body.to_string().as_bytes())?;
        return Ok(ExitCode::Done);
    }
    let file = plain(&args.file.to_string_lossy());
    let variables = match manifest.with_secrets {
        true => "the agents have the environment variables that they had",
        false => {
            "the agents have the environment variables of this shell; theirs were not exported"
        }
    };
    context.print(&format!(
        "imported {} events from {file}\n{variables}\n\
         next: `perennial up` starts the daemon; agents that had a session wait for you\n",
        manifest.records
    ))?;
    Ok(ExitCode::Done)
}

fn import(file: &Path, home: &Home) -> Result<Manifest, Failure> {
    let unsound = |error| Failure::from(problems::house::not_an_archive(file, &error));
    let unusable = |error| Failure::from(problems::house::not_imported(&error));
    let mut archive = Archive::open(file).map_err(|error| match error {
        ReadError::Io(_, error) => problems::house::archive_unread(file, &error).into(),
        error => unsound(error),
    })?;
    check_is_empty(home)?;
    home.create().map_err(unusable)?;
    // While they are held, no daemon starts here, nor one of an earlier version.
    let _locks = [home.earlier_lock(), home.lock()]
        .map(|path| Lock::take(&path))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| problems::house::home_in_use(&crate::error_chain::chain(&error)))?;
    check_is_empty(home)?;
    let staging = Staging::beside(home).map_err(unusable)?;
    archive.unpack(&staging.home).map_err(unsound)?;
    if !archive.manifest.with_secrets {
        give_environments(&archive.manifest, &staging.home).map_err(unusable)?;
    }
    staging.put_in_place(home).map_err(unusable)?;
    Ok(archive.manifest)
}

fn check_is_empty(home: &Home) -> Result<(), Failure> {
    match archive::occupied(home).as_slice() {
        [] => Ok(()),
        occupied => Err(problems::house::home_not_empty(occupied).into()),
    }
}

/// Agents whose variables were left behind get those of whoever imports them, as if they were spawned here.
fn give_environments(manifest: &Manifest, staging: &Home) -> std::io::Result<()> {
    let own = inherited(std::env::vars_os()).variables;
    for agent in manifest.agents.iter().filter_map(|id| id.parse::<AgentId>().ok()) {
        let holder = HolderDirectory::new(&staging.holders(), agent);
        holder.create()?;
        environment::write(holder.path(), &own)?;
    }
    Ok(())
}

//! `snapshot`: what an agent's work tree was at a moment, and how to get it back.

use std::path::{Path, PathBuf};

use perennial_api::snapshot::{
    Snapshot, SnapshotCard, SnapshotDiff, SnapshotRestored, SnapshotTaken,
};
use perennial_api::{Agent, ExitCode, client, request};
use perennial_engine::git::{GitError, repository};

use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::number::counted;
use crate::cli::problems;
use crate::cli::progress;
use crate::cli::render::snapshot;
use crate::cli::several;

/// Take, list, compare and restore snapshots of an agent's work tree
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial snapshot take bob
          perennial snapshot ls bob
          perennial snapshot diff bob
          perennial snapshot restore bob 3

A snapshot holds the tracked, staged and untracked files of the git work tree that the agent's directory is in, byte by \
byte, and the index; ignored files are not in it. Untracked files whose names say that they hold secrets (.env, *.pem, \
…), files over 64 MiB, pipes and sockets are left out and listed. Nothing of the repository is run: no hook, no filter, \
no git. Snapshots are kept in bare repositories of their own (see `perennial paths`); in yours, a ref below refs/perennial \
keeps the commit that they build on.")]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Take(TakeArgs),
    Ls(LsArgs),
    Show(ShowArgs),
    Diff(DiffArgs),
    Restore(RestoreArgs),
}

/// Take a snapshot now
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: perennial snapshot take bob

If nothing changed since the last snapshot, none is taken.")]
pub struct TakeArgs {
    /// The agent's name or id
    agent: String,
}

/// List an agent's snapshots, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: perennial snapshot ls bob")]
pub struct LsArgs {
    /// The agent's name or id
    agent: String,
}

/// Show one snapshot: branch, unfinished operation, what was left out
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial snapshot show bob
          perennial snapshot show bob 3")]
pub struct ShowArgs {
    /// The agent's name or id
    agent: String,
    /// The snapshot's number [default: the newest]
    #[arg(value_name = "N", value_parser = counted)]
    number: Option<u32>,
}

/// Show what changed in the work tree since a snapshot
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial snapshot diff bob
          perennial snapshot diff bob 3 --names")]
pub struct DiffArgs {
    /// The agent's name or id
    agent: String,
    /// The snapshot's number [default: the newest]
    #[arg(value_name = "N", value_parser = counted)]
    number: Option<u32>,
    /// Only the names of the files
    #[arg(long)]
    names: bool,
}

/// Put the files of a snapshot back
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial snapshot restore bob
          perennial snapshot restore bob 3 --index
          perennial snapshot restore bob 3 --to /tmp/then

A snapshot of the present is taken first, so a restore can be undone by another one. Files that the snapshot does not \
have are removed, unless git ignores them or they were left out. HEAD, branches and stashes stay as they are. It is refused \
while a session runs in the work tree, and if files that no snapshot holds are in the way. It is refused, too, if \
another repository has taken the place of the one that the snapshot is of. The exit code is 1 if files are missing, \
because the project's repository has lost them, or were left, because somebody changed them while the restore went on.")]
pub struct RestoreArgs {
    /// The agent's name or id
    agent: String,
    /// The snapshot's number [default: the newest]
    #[arg(value_name = "N", value_parser = counted)]
    number: Option<u32>,
    /// Write the files to this directory, which is empty or does not exist; the work tree stays as it is
    #[arg(long, value_name = "DIR", conflicts_with = "index")]
    to: Option<PathBuf>,
    /// Restore the index, too: what is staged, and conflicts
    #[arg(long)]
    index: bool,
}

pub fn run(args: Args, context: &Context) -> VerbResult {
    match args.verb {
        Verb::Take(args) => take(&args, context),
        Verb::Ls(args) => list(&args, context),
        Verb::Show(args) => show(&args, context),
        Verb::Diff(args) => diff(&args, context),
        Verb::Restore(args) => restore(args, context),
    }
}

fn take(args: &TakeArgs, context: &Context) -> VerbResult {
    let path = client::path(&["agents", &args.agent, "snapshots"], &[]);
    let client = several::patient(context);
    let answer = progress::told("taking a snapshot", || client.post(&path, &()))?;
    context.show(&answer, |taken: &SnapshotTaken| {
        context.draw(|canvas| snapshot::taken(taken, canvas))
    })?;
    Ok(ExitCode::Done)
}

fn list(args: &LsArgs, context: &Context) -> VerbResult {
    let answer = context.client.get(&client::path(&["agents", &args.agent, "snapshots"], &[]))?;
    let all: Vec<Snapshot> = answer.read()?;
    let why_none = if all.is_empty() { not_supported(&args.agent, context)? } else { None };
    context.show(&answer, |all: &Vec<Snapshot>| {
        context.draw(|canvas| snapshot::list(all, why_none.as_deref(), canvas))
    })?;
    Ok(ExitCode::Done)
}

/// Why an agent's repository has no snapshots, if it is one that is not read.
fn not_supported(agent: &str, context: &Context) -> Result<Option<String>, Failure> {
    let agent: Agent = context.client.get(&client::path(&["agents", agent], &[]))?.read()?;
    Ok(match repository::find(Path::new(&agent.dir)) {
        Err(error @ GitError::Unsupported(_)) => Some(error.to_string()),
        Ok(_) | Err(_) => None,
    })
}

fn show(args: &ShowArgs, context: &Context) -> VerbResult {
    let number = args.number.map(|number| number.to_string());
    let query = [("number", number.as_deref())];
    let path = client::path(&["agents", &args.agent, "snapshot"], &query);
    let answer = context.client.get(&path)?;
    context
        .show(&answer, |card: &SnapshotCard| context.draw(|canvas| snapshot::card(card, canvas)))?;
    Ok(ExitCode::Done)
}

fn diff(args: &DiffArgs, context: &Context) -> VerbResult {
    let number = args.number.map(|number| number.to_string());
    let query = [("number", number.as_deref()), ("patch", (!args.names).then_some("true"))];
    let path = client::path(&["agents", &args.agent, "snapshot", "diff"], &query);
    let client = several::patient(context);
    let answer = progress::told("comparing", || client.get(&path))?;
    context
        .show(&answer, |diff: &SnapshotDiff| context.draw(|canvas| snapshot::diff(diff, canvas)))?;
    Ok(ExitCode::Done)
}

fn restore(args: RestoreArgs, context: &Context) -> VerbResult {
    let to = match args.to {
        None => None,
        // The daemon is somewhere else.
        Some(to) => {
            let absolute = std::path::absolute(&to).ok();
            let text = absolute.as_ref().and_then(|path| path.to_str()).map(str::to_owned);
            Some(text.ok_or_else(|| problems::unusable_directory(&to.to_string_lossy()))?)
        }
    };
    let body = request::Restore { number: args.number, to, index: args.index };
    let path = client::path(&["agents", &args.agent, "restore"], &[]);
    let client = several::patient(context);
    let answer = progress::told("restoring", || client.post(&path, &body))?;
    let agent = args.agent;
    context.show(&answer, |restored: &SnapshotRestored| {
        context.draw(|canvas| snapshot::restored(restored, &agent, canvas))
    })?;
    let restored: SnapshotRestored = answer.read()?;
    let is_whole = restored.missing_count == 0 && restored.changed_count == 0;
    Ok(if is_whole { ExitCode::Done } else { ExitCode::Failed })
}

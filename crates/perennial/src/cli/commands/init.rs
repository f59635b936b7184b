//! `init`: puts the readable mirror of a project into its own work tree.
//!
//! Makes `.perennial/` with a `.gitignore` that ignores all of it, and a file in the mirror that points there. The
//! daemon need not run. Nothing that is not ours is changed: a link, a file or another program's directory is
//! refused.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_api::ExitCode;
use perennial_engine::mirror::{IN_PROJECT, SUBDIRECTORIES, directory_name, pointer};
use perennial_engine::regular_file::{self, Links};
use serde_json::json;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::person;
use crate::cli::problems;
use crate::cli::render::text::plain;
use crate::daemon::surface::project;

/// By this line `init` knows its own directory again.
const IGNORED: &str = "# Made by `perennial init`: a readable mirror, written by the daemon.\n*\n";
const IGNORE_FILE: &str = ".gitignore";
/// The directory has this name until it is complete: one that is half made would be known to nobody.
const NEW: &str = ".perennial.new";

/// Keep this project's readable mirror in its work tree, at .perennial
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial init
          perennial init ~/work/site
          perennial init --undo

.perennial has roster.jsonl, tasks.jsonl, board.md, identities/, work/ and signals/: files that can be read while the daemon is down. \
Git ignores all of it. --undo moves the mirror back to where `perennial paths` shows it; other files in .perennial \
stay where they are.")]
pub struct Args {
    /// A directory of the project [default: the current one]
    dir: Option<PathBuf>,
    /// Move the mirror back
    #[arg(long)]
    undo: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    person::required("move a project's mirror", context)?;
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from("."));
    let dir = dir.canonicalize().map_err(|error| problems::init::no_directory(&dir, &error))?;
    let project = project::of(&dir);
    let tree = work_tree(&project).ok_or_else(|| problems::init::no_work_tree(&project))?;
    let project = project.to_string_lossy().into_owned();
    let place = Place {
        own: tree.join(IN_PROJECT),
        mirror: context.home.mirror().join(directory_name(&project)),
        pointer: pointer(&context.home.mirror(), &project),
    };
    let done = match args.undo {
        true => undo(&place)?,
        false => begin(&place)?,
    };
    match context.json {
        true => {
            let told = json!({ "dir": place.own, "done": done });
            context.print_json(&serde_json::to_vec(&told).unwrap_or_default())?;
        }
        false => context.print(&format!("{}: {done}\n", plain(&place.own.to_string_lossy())))?,
    }
    Ok(ExitCode::Done)
}

struct Place {
    own: PathBuf,
    mirror: PathBuf,
    pointer: PathBuf,
}

/// The main work tree of a project, whose git directory is `.git` in it; a directory without git is its own.
fn work_tree(project: &Path) -> Option<PathBuf> {
    if project.ends_with(".git") {
        return project.parent().map(Path::to_owned);
    }
    (!project.join("HEAD").is_file()).then(|| project.to_owned())
}

fn begin(place: &Place) -> Result<&'static str, perennial_api::Problem> {
    let failed = |error: io::Error| problems::init::not_made(&place.own, &error);
    match fs::symlink_metadata(&place.own) {
        Ok(found) if !found.is_dir() => return Err(problems::init::in_the_way(&place.own)),
        Ok(_) if !is_ours(&place.own) => return Err(problems::init::in_the_way(&place.own)),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(&place.own).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    let is_new = !place.pointer.exists();
    let parent = place.pointer.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(failed)?;
    let temporary = place.pointer.with_extension("place.tmp");
    let text = format!("{}\n", place.own.display());
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, &place.pointer))
        .map_err(failed)?;
    carry_over(&place.mirror, &place.own).map_err(failed)?;
    Ok(if is_new { "the mirror is here now" } else { "the mirror is here already" })
}

fn make(own: &Path) -> io::Result<()> {
    let new = own.with_file_name(NEW);
    // Left by one that was killed: only what it had made goes.
    let is_directory = fs::symlink_metadata(&new).is_ok_and(|found| found.is_dir());
    if is_directory && ignored(&new).is_none_or(|text| IGNORED.starts_with(&text)) {
        let _ = fs::remove_file(new.join(IGNORE_FILE));
        let _ = fs::remove_dir(&new);
    }
    fs::DirBuilder::new().mode(0o700).create(&new)?;
    fs::write(new.join(IGNORE_FILE), IGNORED)?;
    fs::rename(&new, own)
}

fn undo(place: &Place) -> Result<&'static str, perennial_api::Problem> {
    let failed = |error: io::Error| problems::init::not_made(&place.own, &error);
    match fs::remove_file(&place.pointer) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok("the mirror is not here");
        }
        Err(error) => return Err(failed(error)),
    }
    if is_ours(&place.own) {
        carry_over(&place.own, &place.mirror).map_err(failed)?;
        // If anything else is in it, it stays as it was made: ignored by git, and known again.
        let others = fs::read_dir(&place.own).map_err(failed)?.flatten();
        if others.into_iter().all(|entry| entry.file_name() == IGNORE_FILE) {
            let _ = fs::remove_file(place.own.join(IGNORE_FILE));
            let _ = fs::remove_dir(&place.own);
        }
    }
    Ok("the mirror was moved back")
}

fn is_ours(own: &Path) -> bool {
    let is_directory = fs::symlink_metadata(own).is_ok_and(|found| found.is_dir());
    is_directory && ignored(own).is_some_and(|text| text == IGNORED)
}

/// What the ignore file of a directory says, if it is a file that can be read.
fn ignored(directory: &Path) -> Option<String> {
    let most = IGNORED.len() as u64;
    regular_file::read_text(&directory.join(IGNORE_FILE), Links::Refuse, most).ok()
}

/// Moves the mirror's own files: those with names that it gives, and no links.
fn carry_over(from: &Path, to: &Path) -> io::Result<()> {
    for part in [""].into_iter().chain(SUBDIRECTORIES) {
        let (from, to) = (from.join(part), to.join(part));
        let is_directory = |path: &Path| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir());
        if !is_directory(&from) {
            continue;
        }
        fs::create_dir_all(&to)?;
        if !is_directory(&to) {
            return Err(io::Error::other("a link is in the way"));
        }
        for entry in fs::read_dir(&from)?.flatten() {
            let name = entry.file_name();
            let ends = [".json", ".jsonl", ".md"];
            let is_page =
                name.to_str().is_some_and(|name| ends.iter().any(|end| name.ends_with(end)));
            if !is_page || !entry.file_type()?.is_file() {
                continue;
            }
            // The daemon may have written a newer one, which counts.
            if !to.join(&name).exists() {
                let temporary = to.join(format!("{}.tmp", name.to_string_lossy()));
                // A link that lies there is not followed.
                let _ = fs::remove_file(&temporary);
                let mut page = regular_file::open(&entry.path(), Links::Refuse)?;
                let mut options = fs::OpenOptions::new();
                let copy = options.write(true).create_new(true).mode(0o600).open(&temporary);
                io::copy(&mut page, &mut copy?)?;
                fs::rename(&temporary, to.join(&name))?;
            }
            fs::remove_file(entry.path())?;
        }
        if !part.is_empty() {
            let _ = fs::remove_dir(&from);
        }
    }
    Ok(())
}

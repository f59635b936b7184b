//! `export`: a home as one file. Asks no daemon; one may run meanwhile.

use std::path::PathBuf;

use perennial_api::ExitCode;
use serde_json::json;

use crate::cli::archive::write::{self, Options};
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::cli::person;
use crate::cli::problems;
use crate::cli::progress;
use crate::cli::render::text::{plain, size};

/// Write all agents, their history and their conversations to one file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: perennial export ~/fleet.tar
          perennial export ~/fleet.tar --recordings
          tar tf ~/fleet.tar

The daemon and all sessions may keep running. The file has the journal, our copies of conversations, \
config.toml and your own presets. Texts and commands that agents were given are part of the journal. Only \
you can read the file. `perennial import` reads it into an empty home.")]
pub struct Args {
    /// The file to write; it must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Include the agents' environment variables, which may contain secrets
    #[arg(long)]
    with_secrets: bool,
    /// Include what sessions printed
    #[arg(long)]
    recordings: bool,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    person::required("export a home", context)?;
    if args.file.as_os_str() == "-" {
        return Err(problems::house::export_needs_a_file().into());
    }
    // Without a directory in its name, the file is made in this one.
    let directory = args.file.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        return Err(problems::house::no_directory_for_export(directory).into());
    }
    if args.file.symlink_metadata().is_ok() {
        return Err(problems::house::export_exists(&args.file).into());
    }
    if !context.home.journal().exists() {
        return Err(problems::house::nothing_to_export(&context.home.journal()).into());
    }
    let options = Options { recordings: args.recordings, secrets: args.with_secrets };
    let written = progress::told("exporting", || write::write(&context.home, &args.file, options))
        .map_err(|error| problems::house::not_exported(&args.file, &error))?;
    let (files, manifest) = (written.manifest.entries.len(), &written.manifest);
    if context.json {
        let body = json!({
            "file": args.file.to_string_lossy(), "bytes": written.bytes, "files": files,
            "records": manifest.records, "with_secrets": manifest.with_secrets,
            "with_recordings": args.recordings, "left_out": written.left_out,
        });
        context.print_json(body.to_string().as_bytes())?;
        return Ok(ExitCode::Done);
    }
    let file = plain(&args.file.to_string_lossy());
    let (events, bytes) = (manifest.records, size(written.bytes));
    let mut text = format!("exported {events} events to {file} ({bytes})\n");
    text.push_str(match args.with_secrets {
        true => "it contains the agents' environment variables: treat it as a secret\n",
        false => "without the agents' environment variables; --with-secrets adds them\n",
    });
    for name in &written.left_out {
        let name = plain(name);
        text.push_str(&format!("left out, as a link or because tar can't hold it: {name}\n"));
    }
    context.print(&text)?;
    Ok(ExitCode::Done)
}

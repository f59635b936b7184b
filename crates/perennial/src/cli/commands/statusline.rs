//! `statusline` (hidden): what an agent CLI draws below its prompt, and the daemon's best measure of
//! how full a context window is.
//!
//! The owner's own status line is drawn if there is one; ours only where there is none.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use perennial_api::{ExitCode, client};
use serde::Deserialize;

use crate::cli::commands::hook::{called_at, session};
use crate::cli::context::Context;
use crate::cli::failure::VerbResult;

const PATIENCE: Duration = Duration::from_secs(1);
const LONGEST_INPUT: u64 = 1 << 20;

/// Draw a session's status line
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file with the owner's own status line command, drawn in place of ours
    own: Option<PathBuf>,
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let at = called_at();
    let mut input = Vec::new();
    let _ = io::stdin().lock().take(LONGEST_INPUT).read_to_end(&mut input);
    let client = context.client.clone().patience(PATIENCE);
    let session = session();
    let query = [("session", session.as_deref()), ("at", Some(at.as_str()))];
    let path = client::path(&["statusline"], &query);
    let ours = client.post_bytes(&path, &input);
    let own = args.own.as_deref().and_then(|file| drawn_by_owner(file, &input));
    let line = own.unwrap_or_else(|| ours.map(|answer| answer.body).unwrap_or_default());
    let _ = io::stdout().lock().write_all(&line);
    Ok(ExitCode::Done)
}

#[derive(Deserialize)]
struct Own {
    command: String,
}

/// What the owner's own command draws. It is a shell's line by the vendor's rule and the owner's
/// word, taken from their own settings; it ends when the harness ends us.
fn drawn_by_owner(file: &Path, input: &[u8]) -> Option<Vec<u8>> {
    let own: Own = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    let mut child = Command::new("sh")
        .args(["-c", &own.command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    // One that does not read all of it has drawn something all the same.
    let _ = child.stdin.take()?.write_all(input);
    Some(child.wait_with_output().ok()?.stdout)
}

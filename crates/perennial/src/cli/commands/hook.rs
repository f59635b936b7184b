//! `hook` (hidden): what an agent CLI calls at its own events. One round trip, and never in its way.
//!
//! Fails open: without a daemon it says nothing and ends with 0, and what it was told is kept for
//! the next daemon to count.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Duration;

use perennial_api::{ExitCode, Home, client};

use crate::cli::context::Context;
use crate::cli::failure::Ending;

/// A harness waits for its hooks: so long at the most.
const PATIENCE: Duration = Duration::from_secs(2);
/// What a harness may send.
const LONGEST_INPUT: u64 = 8 << 20;
/// Events that no daemon heard are noted up to here.
const LONGEST_NOTE: u64 = 1 << 20;

/// Tell the daemon what an agent CLI does
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The harness's own name of the event
    event: String,
}

pub fn run(args: &Args, context: &Context) -> Ending {
    let mut input = Vec::new();
    let read = io::stdin().lock().take(LONGEST_INPUT).read_to_end(&mut input);
    let path = client::path(&["hook"], &[("event", Some(args.event.as_str()))]);
    let client = context.client.clone().patience(PATIENCE);
    match read.map(|_| client.post_bytes(&path, &input)) {
        Ok(Ok(answer)) => {
            let mut output = io::stdout().lock();
            let _ = output.write_all(&answer.body).and_then(|()| output.flush());
        }
        Ok(Err(_)) | Err(_) => note(&context.home, &args.event),
    }
    Ok(ExitCode::Done)
}

/// Keeps that an event was not heard; the daemon tells of it when it comes back.
fn note(home: &Home, event: &str) {
    let session = std::env::var("PERENNIAL_SESSION").unwrap_or_default();
    let line = serde_json::json!({ "event": event, "session": session });
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(home.hooks_missed());
    if let Ok(mut file) = file
        && file.metadata().is_ok_and(|meta| meta.len() < LONGEST_NOTE)
    {
        let _ = writeln!(file, "{line}");
    }
}

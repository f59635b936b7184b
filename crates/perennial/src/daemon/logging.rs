//! The daemon's log: one file in the state directory, for its owner only, bounded at each start.
//!
//! `PERENNIAL_LOG` is the filter, in the syntax of `tracing`; the default is `info`.

use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use perennial_engine::regular_file;
use tracing_subscriber::EnvFilter;

/// A log that is larger at a start is put aside, in place of the one before.
const LARGEST_BYTES: u64 = 8 << 20;

pub fn start(path: &Path) -> anyhow::Result<()> {
    if path.metadata().is_ok_and(|meta| meta.len() > LARGEST_BYTES) {
        let _ = std::fs::rename(path, path.with_extension("log.1"));
    }
    let file = regular_file::open_to_append(path)
        .with_context(|| format!("the log {} can't be written", path.display()))?;
    let filter =
        EnvFilter::try_from_env("PERENNIAL_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        // A line that can't be written is lost: telling so on a full disk would fail, too.
        .log_internal_errors(false)
        .with_writer(Mutex::new(file))
        .try_init()
        .map_err(|error| anyhow::anyhow!("the log can't be started: {error}"))
}

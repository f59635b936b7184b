//! The daemon: placeholder until it lands.

use perennial_api::{ExitCode, Home};

/// Runs the daemon in this process until it is told to end. `ready` is called once, when the socket
/// answers: `perennial up` waits for it.
pub fn run(_home: &Home, _ready: impl FnOnce()) -> anyhow::Result<ExitCode> {
    anyhow::bail!("this build has no daemon yet")
}

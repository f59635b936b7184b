//! `up --upgrade`: replaces a daemon of another build by one of this build, while sessions keep running.
//!
//! Sessions and attached people don't notice: shims hold them. Whoever calls the daemon in between waits for
//! the next one (`Client::outlasted_swap`).

use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use perennial_api::answer::Health;
use perennial_api::home::SocketAddress;
use perennial_api::{ExitCode, Home};
use perennial_store::SqliteJournal;

use super::start;
use crate::build_id;
use crate::cli::commands::down;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::problems;

/// Ends the daemon and starts one of this build; how that start went.
pub fn swap(health: &Health, context: &Context) -> Result<ExitCode, Failure> {
    check_store(health, context)?;
    let swap = Swap::begin(&context.home);
    down::shut_down(health, context)?;
    start::start_detached(&context.home, move || drop(swap))
}

/// Refuses while the old daemon still runs if this build could not read what that one wrote. Records that
/// the old one is known not to read either are no reason.
fn check_store(health: &Health, context: &Context) -> Result<(), Failure> {
    let path = context.home.journal();
    let refused = |why: String| {
        let running = build_id::shown(&health.version, &health.build);
        Err(problems::house::store_is_newer(&running, build_id::version_and_build(), &why).into())
    };
    let known = health.store.unreadable_seqs.as_deref().unwrap_or_default();
    match SqliteJournal::inspect(&path) {
        Ok(found) => {
            match found.records.unreadable.iter().find(|one| !known.contains(&one.seq.0)) {
                Some(unreadable) => refused(unreadable.to_string()),
                None => Ok(()),
            }
        }
        Err(error) => refused(crate::error_chain::chain(&error)),
    }
}

/// While it lives, callers who find no daemon wait instead of failing. If this process dies, the kernel lets
/// them go on.
#[derive(Debug)]
struct Swap {
    path: PathBuf,
    _listener: Option<UnixListener>,
}

impl Swap {
    /// Where it can't be made, callers fail for a moment as they would after `down`.
    fn begin(home: &Home) -> Swap {
        let path = home.swap_socket();
        let _absent = std::fs::remove_file(&path);
        let address = SocketAddress::of(&path);
        let listener = address.and_then(|address| UnixListener::bind(address.path()));
        Swap { path, _listener: listener.ok() }
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _absent = std::fs::remove_file(&self.path);
    }
}

//! Whether whoever listens on the daemon's socket is where a daemon can be: visible from here, below no shim, and the
//! holder of this home's lock.
//!
//! An agent of the same user can put a listener of its own in the daemon's place. What a person sends may hold a whole
//! environment, and what a person is told is believed. An agent's own commands (its hooks, its tools) don't look: they
//! may run in a sandbox that does not show the daemon, and have no more to lose than the agent.

use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::Duration;

use perennial_api::Client;
use perennial_api::home::Misplaced;
use perennial_core::owner::Owner;
use perennial_engine::host::{ancestry, process};
use perennial_engine::regular_file::{self, Links};

/// How often a lock is looked at, and how long after the last time.
const LOOKS: usize = 25;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The same client, asking that of every listener before it sends anything.
pub fn trusting(client: Client) -> Client {
    let is_marked = Owner::MARKS.iter().any(|mark| std::env::var_os(mark).is_some());
    if is_marked { client } else { client.inspecting(inspect) }
}

fn inspect(connection: BorrowedFd<'_>, locks: &[PathBuf]) -> Result<(), Misplaced> {
    let pid = process::peer(connection).map_or(0, |peer| peer.pid);
    // Its pid is its own during the walk only if it lives after it.
    let handle = process::peer_handle(connection);
    let placed = match ancestry::is_below_shim(pid) {
        _ if pid == 0 => Err(Misplaced::Unseen),
        Ok(false) if locks.is_empty() || holds_one(pid, locks) => Ok(()),
        Ok(false) => Err(Misplaced::AnotherHome { pid }),
        Ok(true) => Err(Misplaced::InSession { pid }),
        Err(_) => Err(Misplaced::Unseen),
    };
    let is_over = match handle {
        Some(handle) => process::is_over(handle),
        // A process that was reaped has no handle, and no entry.
        None => pid > 0 && process::stat(pid).is_none(),
    };
    if is_over { Err(Misplaced::Ended) } else { placed }
}

/// Whether this process holds one of the locks. A lock that was removed is taken again by its daemon, in a moment.
fn holds_one(pid: i32, locks: &[PathBuf]) -> bool {
    let holds = |path: &PathBuf| {
        let file = regular_file::open(path, Links::Refuse);
        file.is_ok_and(|file| process::whole_file_locker(&file) == Some(pid))
    };
    (0..LOOKS).any(|look| {
        if look > 0 {
            std::thread::park_timeout(LOOK_AGAIN_AFTER);
        }
        locks.iter().any(holds)
    })
}

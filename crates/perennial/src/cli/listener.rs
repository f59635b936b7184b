//! Whether whoever listens on the daemon's socket is where a daemon can be: visible from here, and below no shim.
//!
//! An agent of the same user can put a listener of its own in the daemon's place. What a person sends may hold a whole
//! environment, and what a person is told is believed. An agent's own commands (its hooks, its tools) don't look: they
//! may run in a sandbox that does not show the daemon, and have no more to lose than the agent.

use std::os::fd::BorrowedFd;

use perennial_api::Client;
use perennial_api::home::Misplaced;
use perennial_core::owner::Owner;
use perennial_engine::host::{ancestry, process};

/// The same client, asking that of every listener before it sends anything.
pub fn trusting(client: Client) -> Client {
    let is_marked = Owner::MARKS.iter().any(|mark| std::env::var_os(mark).is_some());
    if is_marked { client } else { client.inspecting(inspect) }
}

fn inspect(connection: BorrowedFd<'_>) -> Result<(), Misplaced> {
    let pid = process::peer(connection).map_or(0, |peer| peer.pid);
    // Its pid is its own during the walk only if it lives after it.
    let handle = process::peer_handle(connection);
    let placed = match ancestry::is_below_shim(pid) {
        _ if pid == 0 => Err(Misplaced::Unseen),
        Ok(false) => Ok(()),
        Ok(true) => Err(Misplaced::InSession { pid }),
        Err(_) => Err(Misplaced::Unseen),
    };
    if handle.is_some_and(process::is_over) { Err(Misplaced::Unseen) } else { placed }
}

//! The host with real processes, real terminals and real kills.
//!
//! The shim of these tests is this test program itself: linking `early` makes it one when it is run as
//! `perennial shim DIRECTORY`.

mod adoption;
mod chaos;
mod deliver;
mod disk;
mod fixture;
mod jobs;
mod life;
mod stranger;
mod terminal;
mod tree;
mod tui;

use perennial_engine::host::shim::early;

/// Keeps the branch before `main` in this program.
#[test]
fn the_early_branch_is_linked() {
    early::link();
}

//! One contract for the real and the simulated: the same tables run against both, so that what the
//! exploration finds to hold rests on holders and journals that behave like the real ones.
//!
//! The shim of the real host is this test program itself: linking `early` makes it one when it is run
//! as `perennial shim DIRECTORY`.

mod host;
mod journal;
mod real_host;

use perennial_engine::host::shim::early;

/// Keeps the branch before `main` in this program.
#[test]
fn the_early_branch_is_linked() {
    early::link();
}

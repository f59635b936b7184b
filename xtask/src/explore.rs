//! `cargo xtask explore`: seeded exploration of the simulation.

use crate::failure::Failure;

/// Stands in until the simulation is a crate of this workspace.
pub fn run(_options: &[&str]) -> Result<(), Failure> {
    Err(Failure::NotBuilt { what: "there is no simulation in this workspace yet" })
}

//! Snapshots of real work trees: git itself makes the states and judges what is left of them; the snapshots are taken
//! without it.

mod fixture;
mod hostile;
mod keeping;
mod restoring;
mod states;

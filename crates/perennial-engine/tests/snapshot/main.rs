//! Snapshots of real work trees: git itself makes the states and judges what is left of them; the snapshots are taken
//! without it.

mod against_head;
mod fixture;
mod hostile;
mod hostile_git_files;
mod hostile_packs;
mod hostile_time;
mod keeping;
mod losses;
mod random_trees;
mod restoring;
mod states;

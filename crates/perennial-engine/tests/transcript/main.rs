//! The transcript reader, with files as agent CLIs write them.
//!
//! `samples/` is written by hand, in the shapes of Claude Code 2.1.39 and 2.1.325.

mod codex;
mod damage;
mod figures;
mod fixture;
mod page;
mod reference;
mod steps;
mod tail;
mod tree;

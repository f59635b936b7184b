//! Deterministic simulation: the real supervisor's step against simulated time, journal, holders,
//! programs and faults.
//!
//! Never real time, real processes or real chance: a world is wholly determined by its seed, and a
//! violation can be run again from it. The properties are the model's invariants.

#![forbid(unsafe_code)]

mod checks;
mod cli;
mod contract;
mod daemon;
mod damage;
mod explore;
mod facts;
mod faults;
mod heard;
mod holders;
mod jobs;
mod journal;
mod judge;
mod keeping;
mod ledger;
mod machine;
mod mails;
mod mutation;
mod nodes;
mod operator;
mod pauses;
mod program;
mod random;
mod reader;
mod rest;
mod script;
mod settle;
mod shim;
mod signs;
mod span;
mod tasks;
mod texts;
mod typing;
mod violation;
#[cfg(test)]
mod walk;
mod words;
mod world;

pub use contract::{SimulatedHost, SimulatedJournal};
pub use explore::{Summary, explore, explore_mail, explore_mutated, explore_one};
pub use journal::NotTaken;
pub use mutation::Mutation;
pub use nodes::{NodeMutation, NodeSummary, explore_nodes};
pub use script::{Mistake, Wrong, play};
pub use violation::Violation;

//! How things look in a terminal: pure functions from wire types to text.
//!
//! Invariant
//! - V1  Text that others wrote (names of directories, summaries, programs) reaches the terminal only
//!   through `text::plain`, in lines of output through `recording::coloured`, and in JSON through
//!   `text::json`: it can move or hide nothing.

pub mod advice;
pub mod board;
pub mod card;
pub mod checkpoint;
pub mod document;
pub mod escalation;
pub mod graph;
pub mod handoffs;
pub mod lines;
pub mod mail;
#[cfg(test)]
mod narrow;
pub mod paint;
pub mod recording;
pub mod role;
pub mod roster;
pub mod signal;
pub mod snapshot;
pub mod steps;
pub mod story;
pub mod table;
pub mod task;
pub mod text;
pub mod time;
pub mod work;

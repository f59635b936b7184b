//! What people and programs are shown: core types as wire types, and as sentences.
//!
//! Reads, and changes nothing. Who may see what is decided by the surface that asks.

pub mod briefing;
pub mod pages;
pub mod problems;
pub mod sentences;
pub mod view;
pub mod wire_step;

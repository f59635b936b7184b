//! The loop: one thread feeds the supervisor's step, and executors carry its effects out.
//!
//! Decides nothing: that is the core's part. Reads no vendor's words: that is `hearing`.

pub mod awaited;
pub mod deliver;
pub mod driver;
pub mod effects;
pub mod first_words;
pub mod harness;
pub mod holding;
pub mod jobs;
pub mod keeping;
pub mod mirrored;
pub mod ordering;
pub mod presence;
pub mod projections;
pub mod snapshots;

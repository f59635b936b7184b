//! What people and programs are shown: core types as wire types, and as sentences.
//!
//! Reads, and changes nothing. Who may see what is the core's rule (`visibility.rs`), applied here.

pub mod agent_word;
pub mod briefing;
pub mod checkpoint;
pub mod pages;
pub mod problems;
pub mod role;
pub mod screen;
pub mod sentences;
pub mod session_start;
pub mod signal;
pub mod task;
pub mod view;
pub mod vocabulary;
pub mod wire_event;
pub mod wire_step;
pub mod work;

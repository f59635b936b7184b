//! What an agent is and may become.
//!
//! Pure: no clock, no I/O, no randomness, no async. Time and ids arrive as arguments. Four verbs
//! carry everything: `decide` answers a command, `observe` takes note of a report, `evolve` folds
//! one event, `plan` says what the world should look like.

#![forbid(unsafe_code)]
#![warn(clippy::wildcard_enum_match_arm)]

pub mod admission;
pub mod agent;
pub mod agents;
pub mod allowance;
pub mod authority;
pub mod caller;
pub mod checkpoint;
pub mod cleaning;
pub mod command;
mod consequence;
pub mod context;
pub mod conversation;
pub mod effect;
pub mod entity;
pub mod escalation;
pub mod event;
pub mod exit;
pub mod fact;
pub mod fleet;
pub mod graph;
pub mod handoff;
pub mod hearing;
pub mod hold;
pub mod id;
pub mod job;
pub mod keeping;
pub mod launch;
pub mod legacy;
pub mod message;
pub mod name;
pub mod observation;
pub mod owner;
pub mod post;
pub mod reason;
pub mod refusal;
pub mod rest;
pub mod restart;
pub mod retention;
pub mod role;
pub mod round;
pub mod session;
pub mod settings;
pub mod signal;
pub mod situation;
pub mod snapshot;
pub mod state;
pub mod succession;
pub mod symptom;
pub mod task;
pub mod text;
pub mod time;
pub mod visibility;
pub mod vocabulary;
pub mod work;

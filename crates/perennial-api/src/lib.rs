//! What daemon and clients say to each other: wire types, a small blocking client, exit codes, and
//! where a home's files are.
//!
//! Never depends on core, store or engine, and starts no runtime: hooks and other short-lived
//! processes use it too. Reading is tolerant (unknown fields are ignored, missing ones are empty),
//! so that a client and a daemon of different versions understand each other.
//!
//! With the feature `schema` it also makes OpenAPI and the schemas of an agent's tools from these types;
//! only `cargo xtask docs` needs that, and the product is built without.

#![forbid(unsafe_code)]

pub mod agent;
pub mod answer;
pub mod attended;
pub mod checkpoint;
pub mod cleaning;
pub mod client;
pub mod escalation;
pub mod event;
pub mod exit_code;
pub mod graph;
pub mod handoffs;
pub mod home;
mod http;
pub mod mail;
#[cfg(feature = "schema")]
pub mod openapi;
pub mod post;
pub mod problem;
pub mod query;
pub mod request;
pub mod role;
pub mod route;
pub mod signal;
pub mod snapshot;
pub mod sse;
pub mod state;
pub mod step;
pub mod task;
pub mod tool;
pub mod work;

pub use agent::Agent;
pub use client::{Client, ClientError, Response};
pub use event::{Event, EventView};
pub use exit_code::ExitCode;
pub use home::Home;
pub use problem::Problem;

/// The variants of an enum without fields, as its source has them: what a list by hand is compared with.
#[cfg(test)]
fn variants(source: &str, name: &str) -> Vec<String> {
    let start = format!("pub enum {name} {{");
    let (_, rest) = source.split_once(&start).expect("the enum is in this source");
    let (body, _) = rest.split_once("\n}").expect("it ends");
    let lines = body.lines().map(str::trim);
    lines.filter_map(|line| line.strip_suffix(',')).map(str::to_owned).collect()
}

//! Git repositories, read by our own code: the index, objects, refs and ignore rules; and snapshots of work trees.
//!
//! No git process is started, and nothing of a repository is executed: no hook, no filter, no `fsmonitor`, no
//! `include` of a configuration. What is not understood is refused, never guessed.
//!
//! Invariants
//! - GT1  A repository's bytes are input of strangers: every reader is bounded and returns an error for what it does
//!   not understand. Files are read, never mapped: a file that shrinks must not end the daemon.
//! - GT2  In the owner's repository only `refs/perennial/base/` is written; `restore --index` also writes the index
//!   and the staged objects that are missing. Never HEAD, a branch, a reflog or the configuration.

pub mod base_ref;
pub mod configuration;
pub mod error;
pub mod id_set;
pub mod ignore;
pub mod index;
pub mod object;
pub mod object_store;
pub mod pack_file;
pub mod reflog;
pub mod repository;
pub mod snapshot;
pub mod split_index;
pub mod wildmatch;

pub use error::{GitError, Unsupported};

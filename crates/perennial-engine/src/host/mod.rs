//! What holds sessions and jobs: the shim, a small process that is the parent of a session and
//! outlives the daemon, and `Holders`, the daemon's side of all shims.
//!
//! A holder directory, `<state>/holders/<agent id>/` or `<state>/jobs/<job id>/`, is where both sides
//! meet (`directory`). A run of a job is held like a session, without a terminal (`jobs`).
//!
//! Invariants
//! - HS1  A session number is claimed once, by exclusive creation of its directory.
//! - HS2  An exit is told only with its true status, or as unknown with the reason.
//! - HS3  A next session begins only when no process of the one before is left.
//! - HS4  No process is signalled by a bare pid: it is our own unreaped child, or a pidfd whose start
//!   time was compared.

pub mod ancestry;
pub mod announcement;
pub mod attach;
pub mod cgroup;
mod connection;
pub mod delivery;
pub mod directory;
pub mod environment;
pub mod holders;
pub mod jobs;
pub mod living;
pub mod monotonic;
pub mod owner;
pub mod pane;
pub mod process;
pub mod protocol;
pub mod recording;
pub mod shim;
pub mod sight;
mod socket;
pub mod traffic;

pub use holders::{Holders, HostReport, Ladder, Settings};
pub use jobs::{JobExit, JobReport, JobSpec, Jobs};

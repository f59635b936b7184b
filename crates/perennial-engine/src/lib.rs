//! Carries out what the core decides: the supervisor's step, the ports to the world, the host that
//! holds sessions, snapshots of work trees, the readable mirror.
//!
//! No async runtime, no HTTP, no policy: every choice was made in `perennial-core`.

pub mod briefing;
pub mod git;
pub mod harness;
pub mod host;
pub mod interpret;
pub mod mirror;
pub mod regular_file;
pub mod supervisor;
pub mod timers;
pub mod timestamp;
pub mod transcript;
pub mod watch;
pub mod work;

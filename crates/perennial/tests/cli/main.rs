//! The product from outside: the built binary in sealed homes, one file for each verb or theme.
//!
//! Tests wait for events, never for a time that has to pass, and end by pid what they started.

mod breaker;
mod chance;
mod daemon_killed;
mod daemon_races;
mod processes;
mod sealed;
mod session_killed;
mod shim_killed;
mod stop;
mod watch;

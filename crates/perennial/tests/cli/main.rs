//! The product from outside: the built binary in sealed homes, one file for each verb or theme.
//!
//! Tests wait for events, never for a time that has to pass, and end by pid what they started.

mod authority;
mod breaker;
mod chance;
mod daemon_killed;
mod daemon_races;
mod disk_full;
mod hostile;
mod namespace;
mod output;
mod processes;
mod sealed;
mod session_killed;
mod shim_killed;
mod stop;
mod terminal;
mod watch;

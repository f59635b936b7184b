//! The one binary: command line, daemon, and (before `main` begins) the shim.
//!
//! No business rules here: the daemon carries out what `perennial-core` decides, the command line
//! asks the daemon.

mod build_id;
mod checks;
mod cli;
mod command_line;
mod config;
mod daemon;
mod detach_keys;
mod emulator;
mod error_chain;
mod kill_signal;
mod mcp_messages;
#[cfg(test)]
mod messages;
mod project_file;
mod roles;
mod signal_schema;
mod similar;
mod span;
mod trust;
mod unheard_hook;

fn main() -> std::process::ExitCode {
    perennial_engine::host::shim::early::link();
    cli::main()
}

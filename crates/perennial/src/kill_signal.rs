//! Unix signals as people know them: SIGKILL, not 9.

/// The name of a signal; its number, if it has none.
pub fn name(signal: i32) -> String {
    match nix::sys::signal::Signal::try_from(signal) {
        Ok(known) => known.as_str().to_owned(),
        Err(_) => format!("signal {signal}"),
    }
}

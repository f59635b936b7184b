//! How many descriptors the daemon may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A daemon of a thousand sessions needs some thousand descriptors; sessions get the old limit.
pub fn raise_limit() -> Option<u64> {
    let old = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: old.maximum, maximum: old.maximum };
    setrlimit(Resource::Nofile, raised).ok().and(old.current)
}

/// How many descriptors this daemon may open.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

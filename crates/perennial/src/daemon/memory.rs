//! The daemon's memory: given back when much of it is no longer used.

/// Gives memory that is no longer used back to the machine: the allocator keeps it otherwise.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointer, and locks what it looks at.
    unsafe {
        libc::malloc_trim(0)
    };
}

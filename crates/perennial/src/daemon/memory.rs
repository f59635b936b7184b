//! The daemon's memory: given back when much of it is no longer used.

/// Has all threads allocate from one heap: what one of them frees another one uses. Called before there are others.
pub fn share_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointer, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1)
    };
}

/// Gives memory that is no longer used back to the machine: the allocator keeps it otherwise.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointer, and locks what it looks at.
    unsafe {
        libc::malloc_trim(0)
    };
}

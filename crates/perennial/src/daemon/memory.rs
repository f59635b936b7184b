//! The daemon's memory: given back when much of it is no longer used.

/// What is at least as large is mapped on its own, and given back as soon as it is freed: a listing, a text, a set of
/// snapshots. Left to itself the allocator raises this with each such piece that is freed, and keeps the next ones in
/// its heap, where small ones between them hold their pages for good.
#[cfg(target_env = "gnu")]
const LARGE_BYTES: libc::c_int = 64 << 10;
/// At most this much that is unused stays at the end of the heap.
#[cfg(target_env = "gnu")]
const UNUSED_BYTES_MAX: libc::c_int = 128 << 10;

/// Has all threads allocate from one heap, so that one uses what another frees, and freed memory go back to the machine. Called before
/// there are other threads.
pub fn configure_allocator() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes no pointers, and no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, UNUSED_BYTES_MAX);
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

//! Takes over before Rust's own start when the program is run as `perennial shim DIRECTORY`.
//!
//! std's start costs a shim about 16 kB that it never uses: docs/design/0002-linking.md. Runs while
//! the process has one thread and nothing but libc is set up.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

type Constructor = extern "C" fn(c_int, *const *const c_char, *const *const c_char);

#[used]
#[unsafe(link_section = ".init_array")]
static TAKE_OVER: Constructor = take_over;

/// Named by the binary's `main`, so that this object file is linked into it.
pub fn link() {
    std::hint::black_box(&raw const TAKE_OVER);
}

extern "C" fn take_over(argc: c_int, argv: *const *const c_char, _envp: *const *const c_char) {
    // Exactly three words, the last an absolute path: no other verb looks like that.
    if argc != 3 || argv.is_null() {
        return;
    }
    // SAFETY: the loader hands over argc valid strings, which live as long as the process.
    let (verb, dir) = unsafe { (CStr::from_ptr(*argv.add(1)), CStr::from_ptr(*argv.add(2))) };
    if verb.to_bytes() != b"shim" || dir.to_bytes().first() != Some(&b'/') {
        return;
    }
    super::main(Path::new(OsStr::from_bytes(dir.to_bytes())))
}

//! Noticing that something was written below directories, without looking again and again.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use tokio::io::unix::AsyncFd;

/// A watch over directories; what happens from its beginning on is not missed.
#[derive(Debug)]
pub struct Changes(AsyncFd<OwnedFd>);

impl Changes {
    /// In place of a directory that is not there yet, the nearest one above it that is.
    pub fn below(directories: &[PathBuf]) -> io::Result<Changes> {
        let changes = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let signs = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE
            | WatchFlags::ONLYDIR;
        for directory in directories {
            for place in directory.ancestors() {
                match add_watch(&changes, place, signs) {
                    Ok(_) => break,
                    Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        // SAFETY: an owned descriptor is open, and the same one, until it is dropped with the watch.
        let changes = unsafe { AsyncFd::register(changes) }?;
        Ok(Changes(changes))
    }

    /// The next change, or several at once.
    pub async fn next(&self) -> io::Result<()> {
        let mut ready = self.0.readable().await?;
        let mut seen = [0; 4096];
        while rustix::io::read(self.0.get_ref(), &mut seen).is_ok_and(|count| count > 0) {}
        ready.clear_ready();
        Ok(())
    }
}

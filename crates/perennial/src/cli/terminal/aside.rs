//! Work on another thread, for one that has to watch descriptors meanwhile.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{self, Receiver};

/// Work under way. If it is dropped, nobody waits for the work.
#[derive(Debug)]
pub struct Aside<T> {
    done: Receiver<T>,
    /// Can be read when the work is done.
    watched: OwnedFd,
}

impl<T: Send + 'static> Aside<T> {
    pub fn begin(work: impl FnOnce() -> T + Send + 'static) -> io::Result<Aside<T>> {
        let (finished, done) = mpsc::sync_channel(1);
        let (watched, open) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        std::thread::spawn(move || {
            // Closed when the work is done, or has panicked.
            let _open: OwnedFd = open;
            let _gone = finished.send(work());
        });
        Ok(Aside { done, watched })
    }

    /// Waits for the work.
    pub fn finish(&self) -> io::Result<T> {
        self.done.recv().map_err(|_| io::Error::other("the work was lost"))
    }
}

impl<T> AsFd for Aside<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.watched.as_fd()
    }
}

//! Noticing that something was written below directories, without looking again and again.

use std::io;
use std::path::PathBuf;

use perennial_engine::watch::{Interest, Watch};
use tokio::io::unix::AsyncFd;

/// A watch over directories; what happens from its beginning on is not missed.
#[derive(Debug)]
pub struct Changes(AsyncFd<Watch>);

impl Changes {
    /// In place of a directory that is not there yet, the nearest one above it that is.
    pub fn below(directories: &[PathBuf]) -> io::Result<Changes> {
        let watch = Watch::new()?;
        for directory in directories {
            watch.add_nearest(directory, Interest::Growth)?;
        }
        // SAFETY: a watch owns its descriptor: open, and the same one, until it is dropped.
        let changes = unsafe { AsyncFd::register(watch) }?;
        Ok(Changes(changes))
    }

    /// The next change, or several at once.
    pub async fn next(&self) -> io::Result<()> {
        let mut ready = self.0.readable().await?;
        self.0.get_ref().drain(|_| {})?;
        ready.clear_ready();
        Ok(())
    }
}

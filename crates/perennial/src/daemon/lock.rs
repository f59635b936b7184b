//! One daemon per home: an exclusive file lock, held while the daemon lives and freed by the kernel.
//!
//! The daemon opens the file once for as long as it holds the lock: closing a second descriptor of it would free the
//! record lock.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use perennial_engine::host::process;
use rustix::fs::{FlockOperation, fcntl_lock, flock};

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// By this process, as the kernel says, where it can be seen from here.
    #[error("another daemon holds this home{}", .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Held { pid: Option<i32> },
    #[error("the lock file can't be opened or locked")]
    Unusable(#[source] io::Error),
}

/// The lock; dropping it frees the home.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    pub fn take(path: &Path) -> Result<Lock, LockError> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(LockError::Unusable)?;
        let held = || LockError::Held { pid: process::whole_file_locker(&file) };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(held()),
            Err(error) => return Err(LockError::Unusable(error.into())),
        }
        // A record lock, too: a client can ask who holds that without reading the list of all locks.
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::ACCESS) => return Err(held()),
            Err(error) => return Err(LockError::Unusable(error.into())),
        }
        // The pid is a courtesy: a full disk must not keep a daemon from starting.
        let _ = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Lock { file })
    }

    /// Whether whoever opens this path finds the file that is locked.
    pub fn is_at(&self, path: &Path) -> bool {
        let place = |found: std::fs::Metadata| (found.dev(), found.ino());
        let found = std::fs::metadata(path).map(place);
        found.is_ok_and(|found| self.file.metadata().is_ok_and(|own| place(own) == found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_is_told_who_holds_it_and_the_lock_is_free_again_afterwards() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = Lock::take(&path).unwrap();
        let Err(LockError::Held { pid }) = Lock::take(&path) else { panic!("two holders") };
        assert_eq!(pid, Some(std::process::id().cast_signed()));
        drop(first);
        Lock::take(&path).unwrap();
    }
}

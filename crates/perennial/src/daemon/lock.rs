//! One daemon per home: an exclusive file lock, held while the daemon lives and freed by the kernel.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The pid is what the holder wrote, for people: never a basis for signalling it.
    #[error("another daemon holds this home{}", .pid.as_deref().map(|p| format!(" (pid {p})")).unwrap_or_default())]
    Held { pid: Option<String> },
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
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut text = String::new();
                let read = Read::by_ref(&mut file).take(20).read_to_string(&mut text);
                let pid = text.trim().to_owned();
                let is_pid =
                    read.is_ok() && !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit());
                return Err(LockError::Held { pid: is_pid.then_some(pid) });
            }
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
        assert_eq!(pid, Some(std::process::id().to_string()));
        drop(first);
        Lock::take(&path).unwrap();
    }
}

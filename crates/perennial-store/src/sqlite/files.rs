//! The files that the journal's connections have open: whether their names still lead to them.
//!
//! Looked at before every commit. What is written to a file that nobody finds again would be answered and lost.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::open;
use crate::journal::StoreError;

pub(super) struct Files {
    /// The journal, and its log once there is one.
    open: [OpenFile; 2],
    /// The journal is being closed: its log may be cut and removed from here on.
    is_closing: AtomicBool,
}

struct OpenFile {
    path: PathBuf,
    known: Mutex<Option<Known>>,
}

#[derive(Clone, Copy)]
struct Known {
    device: u64,
    inode: u64,
    /// Neither file is ever made shorter while it is open.
    bytes: u64,
}

impl Files {
    /// As they are now, of a journal that was just opened.
    pub fn of(journal: &Path) -> Files {
        let open = |path: PathBuf| {
            let known = Mutex::new(look(&path).ok().flatten());
            OpenFile { path, known }
        };
        let open = [open(journal.to_owned()), open(open::log(journal))];
        Files { open, is_closing: AtomicBool::new(false) }
    }

    pub fn check(&self) -> Result<(), StoreError> {
        let checked = self.open.iter().try_for_each(OpenFile::check);
        // Asked afterwards: the log may have been cut in between.
        if self.is_closing.load(Ordering::Acquire) { Ok(()) } else { checked }
    }

    /// After the last commit. What becomes of the files then is no longer a fault.
    pub fn let_go(&self) {
        self.is_closing.store(true, Ordering::Release);
    }
}

impl OpenFile {
    fn check(&self) -> Result<(), StoreError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let path = || self.path.clone();
        let found = look(&self.path).map_err(|error| StoreError::Io(std::sync::Arc::new(error)))?;
        match (*known, found) {
            (Some(_), None) => Err(StoreError::Removed { path: path() }),
            (Some(known), Some(found))
                if (known.device, known.inode) != (found.device, found.inode) =>
            {
                Err(StoreError::Replaced { path: path() })
            }
            (Some(known), Some(found)) if found.bytes < known.bytes => {
                Err(StoreError::Cut { path: path() })
            }
            (Some(_) | None, found) => {
                *known = found;
                Ok(())
            }
        }
    }
}

fn look(path: &Path) -> io::Result<Option<Known>> {
    match std::fs::metadata(path) {
        Ok(found) => {
            Ok(Some(Known { device: found.dev(), inode: found.ino(), bytes: found.len() }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_cut_is_a_fault_unless_the_journal_is_being_closed() {
        let dir = tempfile::tempdir().expect("a directory");
        let journal = dir.path().join("journal.db");
        std::fs::write(&journal, "journal").expect("written");
        std::fs::write(open::log(&journal), "log").expect("written");
        let files = Files::of(&journal);
        files.check().expect("as it was");
        std::fs::write(open::log(&journal), "").expect("cut");
        assert!(matches!(files.check(), Err(StoreError::Cut { .. })));
        files.let_go();
        files.check().expect("let go");
        std::fs::remove_file(open::log(&journal)).expect("removed");
        files.check().expect("let go");
    }
}

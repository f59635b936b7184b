//! Changes of directories, as the kernel tells them (inotify): the one place that asks it.
//!
//! What happens from the moment a directory is added is not missed. Says that something changed and
//! where; reads no file.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

/// A watch over directories, which are told apart by their numbers.
#[derive(Debug)]
pub struct Watch(OwnedFd);

/// A directory of a watch. Adding the same directory again gives the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Watched(i32);

/// What is told of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Files come, grow or go.
    Growth,
    /// Files were written to their end, moved in or removed.
    Written,
    /// Files come, or change their mode.
    Arrival,
    /// Files come, go or get other names.
    Names,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Change<'a> {
    pub of: Watched,
    /// The file's name, if it is text.
    pub name: Option<&'a str>,
    /// The directory is gone; no more is told of it.
    pub is_over: bool,
}

impl Watch {
    pub fn new() -> io::Result<Watch> {
        Ok(Watch(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
    }

    pub fn add(&self, directory: &Path, interest: Interest) -> io::Result<Watched> {
        Ok(self.try_add(directory, interest)?)
    }

    /// In place of a directory that is not there yet, the nearest one above it that is.
    pub fn add_nearest(&self, directory: &Path, interest: Interest) -> io::Result<()> {
        for place in directory.ancestors() {
            match self.try_add(place, interest) {
                Ok(_) => break,
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Nothing more is told of this directory. One that is gone has no watch any more.
    pub fn remove(&self, watched: Watched) {
        let _gone = inotify::remove_watch(&self.0, watched.0);
    }

    fn try_add(&self, directory: &Path, interest: Interest) -> rustix::io::Result<Watched> {
        let signs = match interest {
            Interest::Growth => {
                WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::DELETE
            }
            Interest::Written => {
                WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_TO | WatchFlags::DELETE
            }
            Interest::Arrival => WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ATTRIB,
            Interest::Names => WatchFlags::CREATE | WatchFlags::DELETE | WatchFlags::MOVE,
        };
        inotify::add_watch(&self.0, directory, signs | WatchFlags::ONLYDIR).map(Watched)
    }

    /// Waits until there is something to tell, at most this long; whether there is.
    pub fn wait(&self, limit: Option<Duration>) -> io::Result<bool> {
        let limit = limit.map(|limit| Timespec {
            tv_sec: limit.as_secs().cast_signed(),
            tv_nsec: limit.subsec_nanos().into(),
        });
        Ok(poll(&mut [PollFd::new(&self.0, PollFlags::IN)], limit.as_ref())? > 0)
    }

    /// Tells what has changed since the last call; does not wait.
    pub fn drain(&self, mut each: impl FnMut(Change<'_>)) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => each(Change {
                    of: Watched(event.wd()),
                    name: event.file_name().and_then(|name| name.to_str().ok()),
                    is_over: event.events().contains(ReadFlags::IGNORED),
                }),
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(watch: &Watch) -> Vec<(Watched, Option<String>, bool)> {
        let mut told = Vec::new();
        let each = |change: Change<'_>| {
            told.push((change.of, change.name.map(str::to_owned), change.is_over));
        };
        watch.drain(each).unwrap();
        told
    }

    #[test]
    fn a_change_is_told_with_its_directory_and_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        for path in [&one, &two] {
            std::fs::create_dir(path).unwrap();
        }
        let watch = Watch::new().unwrap();
        let first = watch.add(&one, Interest::Written).unwrap();
        let second = watch.add(&two, Interest::Arrival).unwrap();
        assert!(!watch.wait(Some(Duration::ZERO)).unwrap());
        std::fs::write(one.join("a"), "x").unwrap();
        std::fs::write(two.join("b"), "").unwrap();
        assert!(watch.wait(None).unwrap());
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(told(&watch), [(first, name("a"), false), (second, name("b"), false)]);
        assert_eq!(told(&watch), []);
        std::fs::remove_dir_all(&two).unwrap();
        assert!(told(&watch).contains(&(second, None, true)));
        assert!(watch.add(&two, Interest::Growth).is_err());
    }

    #[test]
    fn a_directory_to_come_is_watched_from_above() {
        let dir = tempfile::tempdir().unwrap();
        let watch = Watch::new().unwrap();
        watch.add_nearest(&dir.path().join("a/b"), Interest::Growth).unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        assert_eq!(told(&watch).len(), 1);
    }
}

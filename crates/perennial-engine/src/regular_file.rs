//! Reads files in whose place somebody else may have put something: a pipe would block its reader for ever, a device
//! would never end. Only regular files are read, and never more than a bound.
//!
//! Whoever runs as the same user can write below the home and the vendors' directories, agents included. One of their
//! files must not stop the thread that all of them share.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// A file of at most this many bytes is read at once.
const SMALL_FILE_BYTES: usize = 1 << 10;
/// A file that says that it is longer gets its room as it is read.
const ROOM_BYTES_MAX: u64 = 16 << 20;

/// What to do about a link at the end of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// The owner may have put the file elsewhere, as people do with their configuration.
    Follow,
    /// Nobody but us makes this file.
    Refuse,
}

/// Opens a regular file for reading, at once or not at all.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    Ok(open_measured(path, links)?.0)
}

fn open_measured(path: &Path, links: Links) -> io::Result<(File, u64)> {
    let flags = match links {
        Links::Follow => libc::O_NONBLOCK,
        Links::Refuse => libc::O_NONBLOCK | libc::O_NOFOLLOW,
    };
    regular(OpenOptions::new().read(true).custom_flags(flags).open(path)?)
}

/// Opens a regular file for appending, and makes it for its owner only if there is none.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).custom_flags(libc::O_NONBLOCK);
    Ok(regular(options.open(path)?)?.0)
}

/// All of a regular file; one that is longer than `most` is an error.
pub fn read(path: &Path, links: Links, most: u64) -> io::Result<Vec<u8>> {
    read_all(open_measured(path, links)?, most)
}

/// The same for a text.
pub fn read_text(path: &Path, links: Links, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, links, most)?).map_err(io::Error::other)
}

/// The same for a text in a directory that is open; a link in its place is refused.
pub fn read_text_in(directory: impl AsFd, name: &str, most: u64) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::empty())?;
    String::from_utf8(read_all(regular(opened.into())?, most)?).map_err(io::Error::other)
}

fn read_all((file, length): (File, u64), most: u64) -> io::Result<Vec<u8>> {
    // Room for all of it, so that a large one is not copied while it grows; no more than a file that says it is huge may have.
    let length = length.min(most).min(ROOM_BYTES_MAX) as usize;
    let mut bytes = Vec::with_capacity(SMALL_FILE_BYTES.max(length + 1));
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

/// A file and its length.
fn regular(file: File) -> io::Result<(File, u64)> {
    let metadata = file.metadata()?;
    if metadata.is_file() {
        return Ok((file, metadata.len()));
    }
    Err(io::Error::other("it is not a regular file"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_regular_files_are_read_and_only_so_much_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "four").unwrap();
        symlink(at("file"), at("link")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        symlink("/dev/zero", at("zero")).unwrap();
        assert_eq!(read(&at("file"), Links::Refuse, 4).unwrap(), b"four");
        assert_eq!(read(&at("link"), Links::Follow, 4).unwrap(), b"four");
        assert!(read(&at("file"), Links::Refuse, 3).is_err());
        assert!(read(&at("link"), Links::Refuse, 4).is_err());
        for name in ["pipe", "zero", "."] {
            assert!(read(&at(name), Links::Follow, 4).is_err(), "{name}");
        }
        assert!(open_to_append(&at("pipe")).is_err());
        let missing = read(&at("missing"), Links::Refuse, 4).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}

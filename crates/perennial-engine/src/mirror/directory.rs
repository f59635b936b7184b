//! One directory of the mirror, held open: what is listed, read, written or removed in it is in that directory, wherever
//! a link may lead that somebody puts in its place meanwhile.
//!
//! Invariants
//! - MD1  No link is followed below the mirror's root, nor from `.perennial` on in a work tree.
//! - MD2  Only regular files are read, and no more of them than is wanted: a pipe holds nobody up.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags};
use rustix::io::Errno;

use super::place::IN_PROJECT;
use crate::regular_file;

const OPENED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct MirrorDirectory(OwnedFd);

#[derive(Clone, Copy, PartialEq, Eq)]
enum IfMissing {
    Make,
    Fail,
}

impl MirrorDirectory {
    /// One that is there.
    pub fn open(root: &Path, path: &Path) -> io::Result<MirrorDirectory> {
        reach(root, path, IfMissing::Fail).map(MirrorDirectory)
    }

    /// The same, made if it is missing. The mirror's own root may be anywhere; what `.perennial` is in has to be there, and
    /// so has `.perennial`, which `init` makes.
    pub fn make(root: &Path, path: &Path) -> io::Result<MirrorDirectory> {
        reach(root, path, IfMissing::Make).map(MirrorDirectory)
    }

    pub fn names(&self) -> io::Result<Vec<String>> {
        let entries = Dir::read_from(&self.0)?;
        let names = entries.filter_map(Result::ok).map(|entry| entry.file_name().to_owned());
        let names = names.filter_map(|name| name.into_string().ok());
        Ok(names.filter(|name| name != "." && name != "..").collect())
    }

    /// MD2
    pub fn read_text(&self, name: &str, most: u64) -> io::Result<String> {
        regular_file::read_text_in(&self.0, name, most)
    }

    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// By rename: a reader sees a whole file (MI1).
    pub fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        let temporary = format!("{name}.tmp");
        // What lies there is ours from an earlier try, or a link that is not to be followed.
        let _ = self.remove(&temporary);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.0, &temporary, flags, Mode::RUSR | Mode::WUSR)?;
        File::from(opened).write_all(text.as_bytes())?;
        Ok(rustix::fs::renameat(&self.0, &temporary, &self.0, name)?)
    }
}

/// MD1
fn reach(root: &Path, path: &Path, if_missing: IfMissing) -> io::Result<OwnedFd> {
    let is_ours = path.starts_with(root);
    let base = match is_ours {
        true => Some(root),
        false => path.ancestors().find(|above| above.ends_with(IN_PROJECT)).and_then(Path::parent),
    };
    let base = base.ok_or_else(|| io::Error::other("it is in no .perennial"))?;
    if is_ours && if_missing == IfMissing::Make {
        std::fs::create_dir_all(root)?;
    }
    let mut at = rustix::fs::openat(CWD, base, OPENED, Mode::empty())?;
    for part in path.strip_prefix(base).map_err(io::Error::other)?.components() {
        let Component::Normal(part) = part else { return Err(io::ErrorKind::InvalidInput.into()) };
        if if_missing == IfMissing::Make && (is_ours || part != IN_PROJECT) {
            match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let opened = rustix::fs::openat(&at, part, OPENED | OFlags::NOFOLLOW, Mode::empty());
        at = opened.map_err(|error| match error {
            Errno::LOOP | Errno::NOTDIR => io::Error::other("a link or a file is in the way"),
            error => error.into(),
        })?;
    }
    Ok(at)
}

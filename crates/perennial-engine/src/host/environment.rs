//! The environment that an agent's sessions start with: one file per agent, for its owner only.
//!
//! NUL separated `NAME=VALUE`, as the kernel has it, so that any value survives. Values are never
//! logged and never in the journal.
//!
//! A changed environment is staged beside it under its revision. Once the record says that this revision
//! counts, `settle` puts it in place; whoever starts a session settles first, so a daemon that was killed in
//! between has lost nothing. A revision that was never recorded is never put in place.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::directory::{ENV, UNFINISHED_ENV};
use crate::regular_file::{self, Links};

/// More than the kernel takes for a program.
const BYTES_MAX: u64 = 16 << 20;

/// Writes the environment of the agent whose holder directory this is.
pub fn write<'a, K, V>(
    holder: &Path,
    variables: impl IntoIterator<Item = (&'a K, &'a V)>,
) -> io::Result<()>
where
    K: AsRef<OsStr> + ?Sized + 'a,
    V: AsRef<OsStr> + ?Sized + 'a,
{
    let mut bytes = Vec::new();
    for (name, value) in variables {
        bytes.extend_from_slice(name.as_ref().as_bytes());
        bytes.push(b'=');
        bytes.extend_from_slice(value.as_ref().as_bytes());
        bytes.push(0);
    }
    written(holder, &holder.join(ENV), &bytes)
}

/// Keeps an environment until its revision is recorded.
pub fn stage(holder: &Path, revision: u32, variables: &[(OsString, OsString)]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for (name, value) in variables {
        bytes.extend([name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat());
    }
    written(holder, &staged(holder, revision), &bytes)
}

/// Puts the environment of this revision in place, if it is not there yet.
pub fn settle(holder: &Path, revision: u32) -> io::Result<()> {
    match std::fs::rename(staged(holder, revision), holder.join(ENV)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Forgets a revision that was not recorded.
pub fn discard(holder: &Path, revision: u32) {
    // What can't be removed is overwritten by the next change.
    let _absent = std::fs::remove_file(staged(holder, revision));
}

fn staged(holder: &Path, revision: u32) -> PathBuf {
    holder.join(format!("{ENV}.{revision}"))
}

/// Writes a file for its owner only, whole or not at all.
fn written(holder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let unfinished = holder.join(UNFINISHED_ENV);
    // A leftover of a crash may have another mode; ours is set at creation only.
    let _absent = std::fs::remove_file(&unfinished);
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    std::fs::rename(unfinished, path)
}

/// What was written, in its order; an absent file is an empty environment.
pub fn read(holder: &Path) -> io::Result<Vec<(OsString, OsString)>> {
    let bytes = match regular_file::read(&holder.join(ENV), Links::Refuse, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(bytes
        .split(|byte| *byte == 0)
        .filter_map(|entry| {
            let cut = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = (entry[..cut].to_vec(), entry[cut + 1..].to_vec());
            (cut > 0).then(|| (OsString::from_vec(name), OsString::from_vec(value)))
        })
        .collect())
}

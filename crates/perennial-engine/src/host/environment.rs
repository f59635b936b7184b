//! The environment that an agent's sessions start with: one file per agent, for its owner only.
//!
//! NUL separated `NAME=VALUE`, as the kernel has it, so that any value survives. Values are never
//! logged and never in the journal.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::directory::ENV;

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
    let path = holder.join(ENV);
    let unfinished = holder.join("env.new");
    // A leftover of a crash may have another mode; ours is set at creation only.
    let _absent = std::fs::remove_file(&unfinished);
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(&bytes)?;
    file.sync_data()?;
    std::fs::rename(unfinished, path)
}

/// What was written, in its order; an absent file is an empty environment.
pub fn read(holder: &Path) -> io::Result<Vec<(OsString, OsString)>> {
    let bytes = match std::fs::read(holder.join(ENV)) {
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

//! A home of the client's for one session: the owner's own files by links, with settings and an
//! extension of ours beside them.
//!
//! The client takes settings from its home only, and system-wide ones from files of root's. So a session
//! gets a home of its own in which all but two entries lead to the owner's. Nothing of the owner's is
//! changed; directories that the client makes at its first start are made where they would be.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::super::prepare::Unprepared;

/// The client's directory in a home.
pub const DIRECTORY: &str = ".gemini";
/// In that directory: what we write ourselves.
pub const SETTINGS: &str = "settings.json";
pub const EXTENSIONS: &str = "extensions";

/// Conversations and what belongs to them: the owner's, also for a client that was never started.
const MADE: [&str; 2] = ["tmp", "history"];
/// Beside the client's directory: its variables, and skills that agent CLIs share.
const BESIDE: [&str; 2] = [".env", ".agents"];

/// Makes the view; what lies there from an earlier preparation of the session is replaced.
pub fn make(owner_home: &Path, session_dir: &Path) -> Result<PathBuf, Unprepared> {
    let view = session_dir.join("home");
    let made = || -> io::Result<()> {
        let (theirs, ours) = (owner_home.join(DIRECTORY), view.join(DIRECTORY));
        let extensions = ours.join(EXTENSIONS);
        DirBuilder::new().recursive(true).mode(0o700).create(&extensions)?;
        for name in MADE {
            DirBuilder::new().recursive(true).mode(0o700).create(theirs.join(name))?;
        }
        link_all(&theirs, &ours, &[SETTINGS, EXTENSIONS])?;
        link_all(&theirs.join(EXTENSIONS), &extensions, &[])?;
        BESIDE.iter().try_for_each(|name| link(&owner_home.join(name), &view.join(name)))
    };
    made().map_err(|source| Unprepared::Unwritten { path: view.clone(), source })?;
    Ok(view)
}

fn link_all(from: &Path, to: &Path, but: &[&str]) -> io::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    for entry in entries {
        let name = entry?.file_name();
        if !but.iter().any(|but| name == *but) {
            link(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

/// Nothing where there is nothing to lead to, or where the session itself has put something.
fn link(to: &Path, at: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_err() || fs::symlink_metadata(at).is_ok() {
        return Ok(());
    }
    symlink(to, at)
}

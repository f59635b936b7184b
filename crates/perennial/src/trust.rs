//! Which files of projects the operator trusts to name commands, each as it was then: `<config>/trusted.json`.
//!
//! Beside the operator's `config.toml`, whose commands are trusted as they are: whoever can write the one can write the
//! other. The file is not exported with a home. One that can't be read trusts nothing.
//!
//! Invariant
//! - TR1  A file is trusted by its path and the SHA-256 of all its bytes. Any change ends that, until a person says so
//!   again; the content of before is trusted again as it was.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use perennial_engine::regular_file::{self, Links};
use perennial_store::text::digest;
use serde::{Deserialize, Serialize};

const FILE_BYTES_MAX: u64 = 1 << 20;

/// By the path of each file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Trusted {
    files: BTreeMap<PathBuf, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    sha256: String,
    /// When a person trusted it.
    at: String,
}

impl Trusted {
    pub fn load(config: &Path) -> Trusted {
        let text = regular_file::read_text(&path(config), Links::Follow, FILE_BYTES_MAX);
        text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// TR1: whether this file is trusted with this content.
    pub fn has(&self, file: &Path, content: &str) -> bool {
        let known = resolved(file).and_then(|file| self.files.get(&file));
        known.is_some_and(|known| known.sha256 == sha256(content))
    }
}

fn path(config: &Path) -> PathBuf {
    config.join("trusted.json")
}

/// One file has one path, whatever links lead to it.
fn resolved(file: &Path) -> Option<PathBuf> {
    file.canonicalize().ok()
}

pub fn sha256(content: &str) -> String {
    digest(content).to_string()
}

/// Trusts a file with this content from here on.
pub fn trust(config: &Path, file: &Path, content: &str, at: &str) -> io::Result<()> {
    let file = file.canonicalize()?;
    let mut trusted = Trusted::load(config);
    trusted.files.insert(file, Entry { sha256: sha256(content), at: at.to_owned() });
    let text = serde_json::to_string_pretty(&trusted).map_err(io::Error::other)?;
    let new = config.join("trusted.new.json");
    let mut out =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    out.write_all(text.as_bytes())?;
    out.sync_all()?;
    fs::rename(&new, path(config))?;
    File::open(config)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// TR1
    #[test]
    fn a_file_is_trusted_with_one_content_by_every_path_that_leads_to_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, other) = (dir.path().join("perennial.toml"), dir.path().join("other.toml"));
        fs::write(&file, "a").expect("written");
        fs::write(&other, "a").expect("written");
        assert!(!Trusted::load(dir.path()).has(&file, "a"));
        trust(dir.path(), &file, "a", "now").expect("recorded");
        let trusted = Trusted::load(dir.path());
        assert!(trusted.has(&file, "a") && !trusted.has(&file, "b") && !trusted.has(&other, "a"));
        symlink(&file, dir.path().join("link.toml")).expect("linked");
        assert!(trusted.has(&dir.path().join("link.toml"), "a"));
        trust(dir.path(), &file, "b", "now").expect("recorded");
        let trusted = Trusted::load(dir.path());
        assert!(trusted.has(&file, "b") && !trusted.has(&file, "a"));
        // Each file for itself.
        trust(dir.path(), &other, "a", "now").expect("recorded");
        let trusted = Trusted::load(dir.path());
        assert!(trusted.has(&file, "b") && trusted.has(&other, "a"));
    }

    #[test]
    fn a_damaged_list_trusts_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("perennial.toml");
        fs::write(&file, "a").expect("written");
        trust(dir.path(), &file, "a", "now").expect("recorded");
        fs::write(path(dir.path()), "{").expect("damaged");
        assert!(!Trusted::load(dir.path()).has(&file, "a"));
    }
}

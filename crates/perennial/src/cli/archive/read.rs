//! Reads an archive into a home that has nothing yet. Whoever wrote the archive is not trusted: it is read to
//! its end, and checked, before anything of it is put in place.
//!
//! Invariants
//! - AI1  What is not announced, not ours or not as announced ends the import; the home stays as it was.
//! - AI2  The journal is put in place last: a home without one has not been imported.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_api::Home;
use perennial_core::id::AgentId;
use perennial_store::{OpenError, SqliteJournal};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::tar::{self, BLOCK};
use super::{COPY_BYTES_AT_ONCE, FORMAT, JOURNAL, MANIFEST, MANIFEST_BYTES_MAX};
use super::{Manifest, ManifestEntry, Place, hex};

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{}", .0.display())]
    Io(PathBuf, #[source] io::Error),
    #[error("it is not an archive that `perennial export` wrote: {0}")]
    NotAnArchive(&'static str),
    #[error("a newer program wrote it (format {found}; this one knows {FORMAT})")]
    Newer { found: u32 },
    #[error("it has an entry that no home has: {0}")]
    Foreign(String),
    #[error("it has an entry twice: {0}")]
    Twice(String),
    #[error("it has an environment, but says that it has no secrets: {0}")]
    Secret(String),
    #[error("it is cut off, or longer than its manifest says")]
    WrongLength,
    #[error("it is not as its manifest says: {0}")]
    Altered(String),
    #[error("its journal can't be used: {0}")]
    BadJournal(String),
    #[error("its journal can't be read")]
    UnreadableJournal(#[from] OpenError),
}

/// An archive whose manifest has been read and makes sense.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    file: BufReader<File>,
    pub manifest: Manifest,
}

/// All that every format of a manifest has.
#[derive(Deserialize)]
struct AnyManifest {
    format: u32,
}

impl Archive {
    pub fn open(path: &Path) -> Result<Archive, ReadError> {
        let failed = |error| ReadError::Io(path.to_owned(), error);
        let file = File::open(path).map_err(failed)?;
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(ReadError::NotAnArchive("it is not a regular file"));
        }
        let mut file = BufReader::new(file);
        let mut block = [0; BLOCK];
        file.read_exact(&mut block).map_err(|_| ReadError::NotAnArchive("it is too short"))?;
        let size = tar::claimed_size(&block).filter(|size| {
            tar::header(MANIFEST, *size) == Some(block) && *size <= MANIFEST_BYTES_MAX
        });
        let size = size.ok_or(ReadError::NotAnArchive("it does not begin with a manifest"))?;
        if tar::length(size) > found.len() {
            return Err(ReadError::WrongLength);
        }
        let mut text = vec![0; size as usize];
        file.read_exact(&mut text).map_err(failed)?;
        let manifest = manifest(&text)?;
        check(&manifest)?;
        let lengths = manifest.entries.iter().map(|entry| tar::length(entry.size));
        let all = lengths.fold(tar::length(size) + tar::END.len() as u64, u64::saturating_add);
        if all != found.len() {
            return Err(ReadError::WrongLength);
        }
        let mut archive = Archive { path: path.to_owned(), file, manifest };
        archive.skip_padding(size, MANIFEST)?;
        Ok(archive)
    }

    /// Writes every entry below the directories of `staging`, and checks all of it.
    pub fn unpack(&mut self, staging: &Home) -> Result<(), ReadError> {
        let entries = std::mem::take(&mut self.manifest.entries);
        for entry in &entries {
            self.unpack_one(entry, staging)?;
        }
        self.manifest.entries = entries;
        let mut end = tar::END;
        self.read(&mut end)?;
        if end != tar::END {
            return Err(ReadError::Altered("its end".to_owned()));
        }
        self.check_journal(&staging.journal())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<(), ReadError> {
        self.file.read_exact(buffer).map_err(|error| ReadError::Io(self.path.clone(), error))
    }

    fn skip_padding(&mut self, size: u64, name: &str) -> Result<(), ReadError> {
        let mut padding = vec![0; tar::padding(size)];
        self.read(&mut padding)?;
        match padding.iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(ReadError::Altered(name.to_owned())),
        }
    }

    fn unpack_one(&mut self, entry: &ManifestEntry, staging: &Home) -> Result<(), ReadError> {
        let altered = || ReadError::Altered(entry.name.clone());
        let place = Place::of(&entry.name).ok_or_else(altered)?;
        let mut block = [0; BLOCK];
        self.read(&mut block)?;
        if tar::header(&entry.name, entry.size) != Some(block) {
            return Err(altered());
        }
        let path = place.base(staging).join(&entry.name);
        let failed = |error| ReadError::Io(path.clone(), error);
        let mut file = created(&path).map_err(failed)?;
        let (mut digest, mut left) = (Sha256::new(), entry.size);
        let mut buffer = vec![0; COPY_BYTES_AT_ONCE];
        while left > 0 {
            let count = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            self.read(&mut buffer[..count])?;
            digest.update(&buffer[..count]);
            file.write_all(&buffer[..count]).map_err(failed)?;
            left -= count as u64;
        }
        self.skip_padding(entry.size, &entry.name)?;
        if hex(digest) == entry.sha256 { Ok(()) } else { Err(altered()) }
    }

    /// The file is sound, its chain holds, and it has what it had where it comes from.
    fn check_journal(&self, journal: &Path) -> Result<(), ReadError> {
        let found = SqliteJournal::inspect(journal)?;
        if let Some(fault) = found.file_faults.first() {
            return Err(ReadError::BadJournal(fault.clone()));
        }
        if found.records.unreadable.len() as u64 > self.manifest.unreadable {
            let first = found.records.unreadable.first().map(ToString::to_string);
            return Err(ReadError::BadJournal(first.unwrap_or_default()));
        }
        match found.records.head.0 == self.manifest.records {
            true => Ok(()),
            false => {
                Err(ReadError::BadJournal("it has more or fewer records than announced".into()))
            }
        }
    }
}

fn manifest(text: &[u8]) -> Result<Manifest, ReadError> {
    const UNREADABLE: ReadError = ReadError::NotAnArchive("its manifest can't be read");
    let any: AnyManifest = serde_json::from_slice(text).map_err(|_| UNREADABLE)?;
    if any.format > FORMAT {
        return Err(ReadError::Newer { found: any.format });
    }
    serde_json::from_slice(text).map_err(|_| UNREADABLE)
}

/// What can be known before anything else is read.
fn check(manifest: &Manifest) -> Result<(), ReadError> {
    let is_id = |text: &String| text.parse::<AgentId>().is_ok_and(|id| id.to_string() == *text);
    if let Some(agent) = manifest.agents.iter().find(|agent| !is_id(agent)) {
        return Err(ReadError::Foreign(agent.clone()));
    }
    if manifest.entries.first().is_none_or(|first| first.name != JOURNAL) {
        return Err(ReadError::NotAnArchive("it has no journal"));
    }
    let mut names = HashSet::new();
    for ManifestEntry { name, size, .. } in &manifest.entries {
        let place = Place::of(name).filter(|_| tar::header(name, *size).is_some());
        let place = place.ok_or_else(|| ReadError::Foreign(name.clone()))?;
        if place == Place::Environment && !manifest.with_secrets {
            return Err(ReadError::Secret(name.clone()));
        }
        if !names.insert(name) {
            return Err(ReadError::Twice(name.clone()));
        }
    }
    Ok(())
}

/// A new file for its owner only, with the directories above it.
fn created(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Directories beside those of a home, on the same disks; removed unless they were put in place.
#[derive(Debug)]
pub struct Staging {
    pub home: Home,
}

impl Staging {
    /// The home is held by its lock: what is left here is of an import that was killed.
    pub fn beside(home: &Home) -> io::Result<Staging> {
        let below = |base: &Path| base.join("import.new");
        let (data, state, config) = (below(&home.data), below(&home.state), below(&home.config));
        let staging = Staging { home: Home { root: None, data, state, config } };
        staging.remove();
        for directory in staging.directories() {
            DirBuilder::new().mode(0o700).create(directory)?;
        }
        Ok(staging)
    }

    fn directories(&self) -> [&PathBuf; 3] {
        [&self.home.data, &self.home.state, &self.home.config]
    }

    fn remove(&self) {
        for directory in self.directories() {
            let _absent = fs::remove_dir_all(directory);
        }
    }

    /// Moves everything to where it belongs, durably; all of it or nothing (AI2).
    pub fn put_in_place(&self, home: &Home) -> io::Result<()> {
        for directory in self.directories() {
            rustix::fs::syncfs(File::open(directory)?)?;
        }
        let moves = [
            (self.home.config.join("config.toml"), home.config.join("config.toml")),
            (self.home.config.join("harness"), home.config.join("harness")),
            (self.home.holders(), home.holders()),
            (self.home.conversations(), home.conversations()),
            (self.home.journal(), home.journal()),
        ];
        let mut moved = Vec::new();
        for (from, to) in moves.iter().filter(|(from, _)| from.exists()) {
            if let Err(error) = fs::rename(from, to) {
                for (from, to) in moved.into_iter().rev() {
                    let _stays: io::Result<()> = fs::rename(to, from);
                }
                return Err(error);
            }
            moved.push((from, to));
        }
        for directory in [&home.config, &home.state, &home.data] {
            File::open(directory)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.remove();
    }
}

//! Writes a home to an archive, also while its daemon and its sessions run. Changes nothing in the home.
//!
//! The journal is copied by the database in one transaction. Everything else is append-only: a file is written
//! as long as it was when it was opened.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_api::Home;
use perennial_store::{OpenError, SqliteJournal};
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use sha2::{Digest, Sha256};

use super::tar::{self, BLOCK};
use super::{COPY_BYTES_AT_ONCE, FORMAT, JOURNAL, MANIFEST, Manifest, ManifestEntry, Place, hex};
use crate::build_id;

/// What is written beside the journal, the conversations and the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub recordings: bool,
    pub secrets: bool,
}

#[derive(Debug)]
pub struct Written {
    pub manifest: Manifest,
    pub bytes: u64,
    /// Links, and what is too large or has too long a name for an archive.
    pub left_out: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("can't copy the journal")]
    Journal(#[from] OpenError),
    #[error("the journal is damaged: {0}")]
    Damaged(String),
    #[error("{}", .0.display())]
    Io(PathBuf, #[source] io::Error),
    #[error("{} became shorter while it was read", .0.display())]
    Changed(PathBuf),
    #[error("the journal is too large for an archive")]
    TooLarge,
}

/// Writes the home to `file`, which must not exist. It gets its name when it is complete.
pub fn write(home: &Home, file: &Path, options: Options) -> Result<Written, WriteError> {
    let unfinished = Unfinished::beside(file);
    SqliteJournal::copy(&home.journal(), &unfinished.journal)?;
    let found = SqliteJournal::inspect(&unfinished.journal)?;
    if let Some(fault) = found.file_faults.first() {
        return Err(WriteError::Damaged(fault.clone()));
    }
    let mut sources = sources(home);
    let has_values = |source: &&Source| source.name.ends_with("/env");
    let agents = sources.iter().filter(has_values);
    let agents = agents.filter_map(|source| source.name.split('/').nth(1).map(str::to_owned));
    let manifest = Manifest {
        format: FORMAT,
        version: build_id::VERSION.to_owned(),
        records: found.records.head.0,
        unreadable: found.records.unreadable.len() as u64,
        with_secrets: options.secrets,
        agents: agents.collect(),
        entries: Vec::new(),
    };
    sources.retain(|source| match source.place {
        Place::Environment => options.secrets,
        Place::Recording => options.recordings,
        Place::Journal | Place::Conversation | Place::Configuration => true,
    });
    let journal = unfinished.journal.clone();
    sources.insert(0, Source { name: JOURNAL.to_owned(), path: journal, place: Place::Journal });
    let written = Writer::begin(&unfinished.archive, manifest, &sources)?.finish(sources)?;
    named(&unfinished.archive, file).map_err(|error| WriteError::Io(file.to_owned(), error))?;
    Ok(written)
}

/// Files that are removed unless they got their names.
struct Unfinished {
    archive: PathBuf,
    journal: PathBuf,
}

impl Unfinished {
    fn beside(file: &Path) -> Unfinished {
        let named = |ending: &str| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            file.with_file_name(format!(".{name}.{}.{ending}", std::process::id()))
        };
        Unfinished { archive: named("new"), journal: named("journal") }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        for path in [&self.archive, &self.journal] {
            let _named = std::fs::remove_file(path);
        }
    }
}

/// Gives a file its name, durably and never in the place of another one.
fn named(unfinished: &Path, file: &Path) -> io::Result<()> {
    match renameat_with(CWD, unfinished, CWD, file, RenameFlags::NOREPLACE) {
        // A file system that can't do that in one step.
        Err(rustix::io::Errno::INVAL) => std::fs::hard_link(unfinished, file)?,
        renamed => renamed?,
    }
    let directory = file.parent().filter(|parent| *parent != Path::new(""));
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// A file of the home that may go into an archive.
#[derive(Debug)]
struct Source {
    name: String,
    path: PathBuf,
    place: Place,
}

/// All that a home has besides its journal.
fn sources(home: &Home) -> Vec<Source> {
    let mut names = vec!["config.toml".to_owned()];
    for (base, top) in
        [(&home.config, "harness"), (&home.data, "conversations"), (&home.state, "holders")]
    {
        list(base, top, &mut names);
    }
    names.sort();
    let source = |name: String| {
        let place = Place::of(&name)?;
        let path = place.base(home).join(&name);
        path.is_file().then_some(Source { name, path, place })
    };
    names.into_iter().filter_map(source).collect()
}

/// The names of everything below `name`, as deep as a home goes.
fn list(base: &Path, name: &str, names: &mut Vec<String>) {
    const DEPTH_MAX: usize = 3;
    let entries = std::fs::read_dir(base.join(name)).into_iter().flatten().flatten();
    for entry in entries {
        let Some(name) = entry.file_name().to_str().map(|below| format!("{name}/{below}")) else {
            continue;
        };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && name.matches('/').count() < DEPTH_MAX => {
                list(base, &name, names);
            }
            Ok(_) | Err(_) => names.push(name),
        }
    }
}

struct Writer {
    out: BufWriter<File>,
    path: PathBuf,
    manifest: Manifest,
    bytes: u64,
    left_out: Vec<String>,
}

impl Writer {
    fn begin(
        path: &Path,
        mut manifest: Manifest,
        sources: &[Source],
    ) -> Result<Writer, WriteError> {
        let longest = |source: &Source| ManifestEntry {
            name: source.name.clone(),
            size: u64::MAX,
            sha256: "0".repeat(64),
        };
        manifest.entries = sources.iter().map(longest).collect();
        let failed = |error| WriteError::Io(path.to_owned(), error);
        let room = serde_json::to_vec(&manifest).map_err(|error| failed(error.into()))?.len();
        manifest.entries.clear();
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let mut writer = Writer {
            out: BufWriter::new(file.map_err(failed)?),
            path: path.to_owned(),
            manifest,
            bytes: 0,
            left_out: Vec::new(),
        };
        // Digests are known when all has been read: until then, there is room for the manifest.
        let header = tar::header(MANIFEST, room as u64).ok_or(WriteError::TooLarge)?;
        writer.put(&header)?;
        writer.put(&vec![b' '; room])?;
        writer.put(&vec![0; tar::padding(room as u64)])?;
        Ok(writer)
    }

    fn finish(mut self, sources: Vec<Source>) -> Result<Written, WriteError> {
        for source in sources {
            self.add(source)?;
        }
        self.put(&tar::END)?;
        let failed = |error| WriteError::Io(self.path.clone(), error);
        let manifest = serde_json::to_vec(&self.manifest).map_err(|error| failed(error.into()))?;
        let file = self.out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.write_all_at(&manifest, BLOCK as u64)
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        Ok(Written { manifest: self.manifest, bytes: self.bytes, left_out: self.left_out })
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|error| WriteError::Io(self.path.clone(), error))
    }

    /// One file, unless it has gone meanwhile.
    fn add(&mut self, source: Source) -> Result<(), WriteError> {
        let failed = |error| WriteError::Io(source.path.clone(), error);
        let (mut file, size) = match opened(&source) {
            Ok(Some(opened)) => opened,
            Ok(None) => {
                self.left_out.push(source.name);
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let Some(header) = tar::header(&source.name, size) else {
            if source.place == Place::Journal {
                return Err(WriteError::TooLarge);
            }
            self.left_out.push(source.name);
            return Ok(());
        };
        self.put(&header)?;
        let (mut digest, mut left) = (Sha256::new(), size);
        let mut buffer = vec![0; COPY_BYTES_AT_ONCE];
        while left > 0 {
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let count = file.read(&mut buffer[..wanted]).map_err(failed)?;
            if count == 0 {
                return Err(WriteError::Changed(source.path.clone()));
            }
            digest.update(&buffer[..count]);
            self.put(&buffer[..count])?;
            left -= count as u64;
        }
        self.put(&vec![0; tar::padding(size)])?;
        self.manifest.entries.push(ManifestEntry { name: source.name, size, sha256: hex(digest) });
        Ok(())
    }
}

/// A regular file and its size. Only the operator's own configuration may be a link: agents can write to the
/// rest of a home, and a link of theirs would carry away what it points to.
fn opened(source: &Source) -> io::Result<Option<(File, u64)>> {
    let link = match source.place {
        Place::Configuration => OFlags::empty(),
        Place::Journal | Place::Conversation | Place::Environment | Place::Recording => {
            OFlags::NOFOLLOW
        }
    };
    let flags = (OFlags::NONBLOCK | link).bits().cast_signed();
    let is_link = Some(rustix::io::Errno::LOOP.raw_os_error());
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(&source.path) {
        Err(error) if error.raw_os_error() == is_link => return Ok(None),
        opened => opened?,
    };
    let found = file.metadata()?;
    Ok(found.is_file().then_some((file, found.len())))
}

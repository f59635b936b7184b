//! Opening a journal's file: who may read it, what it is, whether its chain holds.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use perennial_core::observation::LostRecords;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::schema::{self, SchemaError};
use super::{Inspection, head_file, message_check, rows, signals};
use crate::chain::{Hash, Verified};
use crate::journal::{ReadError, Seq, StoreError};
use crate::projection::MessageFault;
use crate::record::{Damage, Record, Unreadable, unread};

/// How long a connection waits for another program's lock.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// SQLite takes anything shorter for a new database.
const SMALLEST_FILE_BYTES: u64 = 512;
const VERIFY_RECORDS_AT_ONCE: usize = 1000;

pub(super) const VERIFIED: &str = "verified";

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("can't create {}", path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("{} is empty, truncated, or missing while its log exists", path.display())]
    Incomplete { path: PathBuf },
    #[error("can't open {} as a journal", path.display())]
    Schema { path: PathBuf, source: SchemaError },
    #[error("can't open {}", path.display())]
    Store { path: PathBuf, source: StoreError },
    #[error("the journal's thread can't be started")]
    Thread { source: io::Error },
}

impl OpenError {
    pub(super) fn at(path: &Path, source: StoreError) -> OpenError {
        OpenError::Store { path: path.to_owned(), source }
    }

    fn schema(path: &Path, error: SchemaError) -> OpenError {
        match error {
            SchemaError::Database(error) => OpenError::at(path, error.into()),
            SchemaError::NotAJournal | SchemaError::Newer { .. } => {
                OpenError::Schema { path: path.to_owned(), source: error }
            }
        }
    }
}

/// A journal that is ready, and what opening it found.
pub(super) struct Opened {
    pub writer: Connection,
    pub reader: Connection,
    pub head: (Seq, Hash),
    /// All that can't be read, as far as it was looked at now or before.
    pub found: Vec<Unreadable>,
    /// What could not be read before and can be now.
    pub healed: Vec<Seq>,
    pub lost: Option<LostRecords>,
}

pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    make(path)?;
    let in_store = |error: rusqlite::Error| OpenError::at(path, error.into());
    let mut writer = writer(path).map_err(in_store)?;
    let version = schema::version(&writer).map_err(|error| OpenError::schema(path, error))?;
    writer.pragma_update(None, "journal_mode", "wal").map_err(in_store)?;
    schema::migrate(&mut writer, version).map_err(in_store)?;
    if version < schema::HAS_SIGNALS {
        signals::fill(&writer).map_err(in_store)?;
    }
    let reader = reader(path).map_err(in_store)?;
    let (found, healed) = check(&writer).map_err(in_store)?;
    let head = rows::head(&writer).map_err(in_store)?;
    let lost = head_file::lost(&writer, path).map_err(in_store)?;
    Ok(Opened { writer, reader, head, found, healed, lost })
}

/// Makes a journal without records, unless there is one. It gets its name when it is complete, so
/// that a file that is empty or cut off is never taken for a new one.
fn make(path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Make { path: path.to_owned(), source };
    if !fs::exists(path).map_err(failed)? {
        if fs::exists(log(path)).map_err(failed)? {
            return Err(OpenError::Incomplete { path: path.to_owned() });
        }
        let new = beside(path, ".new");
        blank(path, &new).map_err(failed)?;
        let made = writer(&new).and_then(|mut connection| schema::migrate(&mut connection, 0));
        made.map_err(|error| OpenError::at(path, error.into()))?;
        fs::rename(&new, path).and_then(|()| sync_directory(path)).map_err(failed)?;
    }
    let found = fs::metadata(path).map_err(failed)?;
    if found.len() < SMALLEST_FILE_BYTES {
        return Err(OpenError::Incomplete { path: path.to_owned() });
    }
    if found.permissions().mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(failed)?;
    }
    Ok(())
}

/// An empty file for its owner only; SQLite gives its other files the same mode.
fn blank(path: &Path, new: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory(path))?;
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(new)?;
    Ok(())
}

/// The file's name must be as durable as what will be written to it.
fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    }
}

/// The file that SQLite writes to first.
pub(super) fn log(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A connection that may write; only the writer thread keeps one.
pub(super) fn writer(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    // Closing must not write: the file may be damaged, or the disk.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA cache_size = -1000; PRAGMA mmap_size = 0;
         PRAGMA wal_autocheckpoint = 0; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;",
    )?;
    Ok(connection)
}

pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(LOCK_WAIT)?;
    connection.execute_batch(
        "PRAGMA cache_size = -500; PRAGMA mmap_size = 0; PRAGMA cell_size_check = ON;
         PRAGMA trusted_schema = OFF;",
    )?;
    Ok(connection)
}

/// Looks again at what was unreadable, and checks the chain from where it was checked last.
fn check(connection: &Connection) -> rusqlite::Result<(Vec<Unreadable>, Vec<Seq>)> {
    let (mut found, mut healed) = (Vec::new(), Vec::new());
    for seq in rows::quarantined(connection)? {
        let again = rows::read(connection, Seq(seq.0.saturating_sub(1)), 1)?;
        match again.into_iter().next() {
            Some(Record { event: Err(unreadable), .. }) => found.push(unreadable),
            Some(Record { event: Ok(_), .. }) => healed.push(seq),
            // The end of the journal is gone, and the record with it.
            None => healed.push(seq),
        }
    }
    let mark = rows::mark(connection, VERIFIED)?;
    let from = match mark {
        // The mark's own record is looked at too: if it is gone or another, nothing is proven.
        Some((seq, hash)) if hash.is_some() && rows::hash_at(connection, seq)? == hash => seq,
        Some(_) | None => Seq(0),
    };
    let verified = walk(connection, from)?;
    found.retain(|known| known.seq <= from);
    found.extend(verified.unreadable);
    if let Some((seq, _)) = mark.filter(|(seq, _)| *seq > verified.head) {
        let why = Damage::Missing { from: Seq(verified.head.0 + 1) };
        found.extend(unread(seq, why).event.err());
    }
    Ok((found, healed))
}

/// Reads everything after `from` and checks every link.
pub(super) fn walk(connection: &Connection, from: Seq) -> rusqlite::Result<Verified> {
    let mut verified = Verified { head: from, unreadable: Vec::new() };
    loop {
        let records = rows::read(connection, verified.head, VERIFY_RECORDS_AT_ONCE)?;
        let Some(last) = records.last() else { return Ok(verified) };
        verified.head = last.seq;
        verified.unreadable.extend(records.into_iter().filter_map(|record| record.event.err()));
    }
}

pub(super) fn inspect(path: &Path) -> Result<Inspection, OpenError> {
    let in_store = |error: rusqlite::Error| OpenError::at(path, error.into());
    let connection = reader(path).map_err(in_store)?;
    schema::version(&connection).map_err(|error| OpenError::schema(path, error))?;
    let mut file_faults = faults(&connection).map_err(in_store)?;
    file_faults.retain(|line| line != "ok");
    file_faults.extend(foreign_objects(&connection).map_err(in_store)?);
    let records = walk(&connection, Seq(0)).map_err(in_store)?;
    let messages = message_faults(&connection).map_err(|error| OpenError::at(path, error))?;
    let lost = head_file::lost(&connection, path).map_err(in_store)?;
    Ok(Inspection { file_faults, records, messages, lost })
}

/// Where pages are damaged, or the rows are those of an older version, nothing more is said of messages.
fn message_faults(connection: &Connection) -> Result<Vec<MessageFault>, StoreError> {
    if schema::version(connection).is_ok_and(|version| version < schema::HAS_MAIL) {
        return Ok(Vec::new());
    }
    match message_check::faults(connection) {
        Err(ReadError::Store(StoreError::Damaged(_)) | ReadError::Row { .. }) => Ok(Vec::new()),
        Err(ReadError::Store(error)) => Err(error),
        Ok(faults) => Ok(faults),
    }
}

fn faults(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// What no journal has, and what would run or answer in the place of its tables.
fn foreign_objects(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT type || ' ' || name || ' is not part of a journal' FROM sqlite_schema
         WHERE type IN ('trigger', 'view') OR sql LIKE 'CREATE VIRTUAL%'",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Writes all that is committed now to a new journal at `to`; also beside a running daemon.
pub(super) fn copy(path: &Path, to: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Make { path: to.to_owned(), source };
    let in_store = |error: rusqlite::Error| OpenError::at(path, error.into());
    let name = to.to_str().ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(failed)?;
    let connection = reader(path).map_err(in_store)?;
    schema::version(&connection).map_err(|error| OpenError::schema(path, error))?;
    connection.execute("VACUUM INTO ?1", [name]).map(|_| ()).map_err(in_store)
}

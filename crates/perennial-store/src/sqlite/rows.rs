//! The SQL of the journal's tables: rows in, rows out, nothing decided.

use perennial_core::entity::Entity;
use perennial_core::id::MessageId;
use perennial_core::text::{Digest, TextBody};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Result, params};

use crate::chain::Hash;
use crate::journal::{ReadError, Seq, Version};
use crate::record::{Damage, Record, Row, Unreadable, read_rows, stream_key, unread};

/// A read stops after this many bytes, so that no reader holds the journal in memory.
const READ_LIMIT_BYTES: usize = 8 << 20;

const COLUMNS: &str = "seq, stream, version, at, kind, form, payload, hash";

pub(super) fn insert(connection: &Connection, row: &Row) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO event (seq, stream, version, at, kind, form, payload, hash)
         VALUES (?1, ?2, ?3, ?4, CAST(?5 AS TEXT), ?6, CAST(?7 AS TEXT), ?8)",
    )?;
    statement.execute(params![
        row.seq.0.cast_signed(),
        row.stream,
        row.version.cast_signed(),
        row.at.cast_signed(),
        row.kind,
        row.form.cast_signed(),
        row.payload,
        row.hash.map(|hash| hash.0),
    ])?;
    Ok(())
}

/// The last record.
pub(super) fn head(connection: &Connection) -> Result<(Seq, Hash)> {
    let mut statement =
        connection.prepare_cached("SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1")?;
    let last = statement.query_row([], |row| Ok((seq(row, 0)?, hash(row, 1)?))).optional()?;
    let (seq, hash) = last.unwrap_or((Seq(0), Some(Hash::GENESIS)));
    Ok((seq, hash.unwrap_or(Hash::GENESIS)))
}

pub(super) fn version(connection: &Connection, stream: &Entity) -> Result<Version> {
    let mut statement = connection
        .prepare_cached("SELECT coalesce(max(version), 0) FROM event WHERE stream = ?1")?;
    let version: i64 = statement.query_row([stream_key(stream)], |row| row.get(0))?;
    Ok(Version(version.cast_unsigned()))
}

/// How many records of a stream come after `after`.
pub(super) fn count_since(connection: &Connection, stream: &Entity, after: Seq) -> Result<u64> {
    let sql = "SELECT count(*) FROM event WHERE stream = ?1 AND seq > ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let after = after.0.cast_signed();
    let count: i64 = statement.query_row((stream_key(stream), after), |row| row.get(0))?;
    Ok(count.cast_unsigned())
}

/// Every stream that has a record after `after`.
pub(super) fn streams_after(connection: &Connection, after: Seq) -> Result<Vec<Vec<u8>>> {
    // All of them: the index knows without reading the records.
    let sql = match after {
        Seq(0) => "SELECT DISTINCT stream FROM event INDEXED BY event_by_stream WHERE ?1 = 0",
        _ => "SELECT DISTINCT stream FROM event NOT INDEXED WHERE seq > ?1",
    };
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_map([after.0.cast_signed()], |row| bytes(row, 0))?.collect()
}

pub(super) fn hash_at(connection: &Connection, seq: Seq) -> Result<Option<Hash>> {
    if seq == Seq(0) {
        return Ok(Some(Hash::GENESIS));
    }
    let mut statement = connection.prepare_cached("SELECT hash FROM event WHERE seq = ?1")?;
    let found = statement.query_row([seq.0.cast_signed()], |row| hash(row, 0)).optional()?;
    Ok(found.flatten())
}

pub(super) fn read(connection: &Connection, after: Seq, limit: usize) -> Result<Vec<Record>> {
    // No record has a number that SQLite can't count to.
    if i64::try_from(after.0).is_err() {
        return Ok(Vec::new());
    }
    match read_run(connection, after, limit) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            read_singly(connection, after, limit)
        }
        read => read,
    }
}

fn read_run(connection: &Connection, after: Seq, limit: usize) -> Result<Vec<Record>> {
    let previous = hash_at(connection, after)?;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2"
    ))?;
    let mut found = statement.query(params![after.0.cast_signed(), limit as i64])?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while bytes < READ_LIMIT_BYTES
        && let Some(row) = found.next()?
    {
        let row = event_row(row)?;
        bytes += row.payload.len();
        rows.push(row);
    }
    Ok(read_rows(after, previous, rows))
}

/// Where a page is damaged: each record by itself, and those that can't be had said to be so.
fn read_singly(connection: &Connection, after: Seq, limit: usize) -> Result<Vec<Record>> {
    // The end of the table may lie in the damaged part; the index knows its rows too.
    let last = head(connection).map(|head| head.0).or_else(|_| last_by_index(connection))?;
    let mut records = Vec::new();
    for number in after.0 + 1..=last.0.min(after.0 + limit as u64) {
        let seq = Seq(number);
        let one = read_run(connection, Seq(number - 1), 1);
        records.push(match one.map(|records| records.into_iter().next()) {
            Ok(Some(record)) if record.seq == seq => record,
            Ok(_) | Err(_) => unread(seq, Damage::Damaged),
        });
    }
    Ok(records)
}

fn last_by_index(connection: &Connection) -> Result<Seq> {
    let sql = "SELECT coalesce(max(seq), 0) FROM (SELECT seq FROM event INDEXED BY event_by_stream
               WHERE stream >= x'')";
    connection.query_row(sql, [], |row| seq(row, 0))
}

/// Which way a stream is read, and from where.
#[derive(Debug, Clone, Copy)]
pub(super) enum From {
    After(Version),
    Before(Version),
}

pub(super) fn read_stream(
    connection: &Connection,
    stream: &Entity,
    from: From,
    limit: usize,
) -> Result<Vec<Record>> {
    let (version, which) = match from {
        From::After(version) => (version, "version > ?2 ORDER BY version"),
        From::Before(version) => (version, "version < ?2 ORDER BY version DESC"),
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, (SELECT hash FROM event AS before WHERE before.seq = event.seq - 1)
         FROM event WHERE stream = ?1 AND {which} LIMIT ?3"
    ))?;
    let key = stream_key(stream);
    singly(statement.query(params![key, version.0.cast_signed(), limit as i64])?)
}

/// The index has the streams of one kind side by side, by their ids.
pub(super) fn streams_before(
    connection: &Connection,
    before: &Entity,
    limit: usize,
) -> Result<Vec<Record>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS}, (SELECT hash FROM event AS before WHERE before.seq = event.seq - 1)
         FROM event WHERE stream >= ?1 AND stream < ?2 AND version = 1
         ORDER BY stream DESC LIMIT ?3"
    ))?;
    let key = stream_key(before);
    singly(statement.query(params![&key[..1], key, limit as i64])?)
}

/// The records of all messages, each message's in their order.
pub(super) fn each_of_messages(
    connection: &Connection,
    mut each: impl FnMut(Record) -> std::result::Result<(), ReadError>,
) -> std::result::Result<(), ReadError> {
    let mut statement = connection.prepare(&format!(
        "SELECT {COLUMNS}, (SELECT hash FROM event AS before WHERE before.seq = event.seq - 1)
         FROM event INDEXED BY event_by_stream WHERE stream >= ?1 AND stream < ?2
         ORDER BY stream, version"
    ))?;
    let first = stream_key(&Entity::Message(MessageId(0)));
    let mut found = statement.query(params![&first[..1], [first[0] + 1]])?;
    while let Some(row) = found.next()? {
        each(single(row)?)?;
    }
    Ok(())
}

/// Reads records that need not follow each other; column 8 is the hash of each one's predecessor.
fn singly(mut found: rusqlite::Rows<'_>) -> Result<Vec<Record>> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    while bytes < READ_LIMIT_BYTES
        && let Some(row) = found.next()?
    {
        bytes += row.get_ref(6)?.as_bytes().map_or(0, <[u8]>::len);
        records.push(single(row)?);
    }
    Ok(records)
}

fn single(row: &rusqlite::Row<'_>) -> Result<Record> {
    let event = event_row(row)?;
    let previous = if event.seq == Seq(1) { Some(Hash::GENESIS) } else { hash(row, 8)? };
    Ok(event.read(previous))
}

fn event_row(row: &rusqlite::Row<'_>) -> Result<Row> {
    Ok(Row {
        seq: seq(row, 0)?,
        stream: bytes(row, 1)?,
        version: row.get::<_, i64>(2)?.cast_unsigned(),
        at: row.get::<_, i64>(3)?.cast_unsigned(),
        kind: bytes(row, 4)?,
        form: row.get::<_, i64>(5)?.cast_unsigned(),
        payload: bytes(row, 6)?,
        hash: hash(row, 7)?,
    })
}

fn seq(row: &rusqlite::Row<'_>, column: usize) -> Result<Seq> {
    Ok(Seq(row.get::<_, i64>(column)?.cast_unsigned()))
}

/// Text is taken as bytes: what is not UTF-8 is for the reader of the record to say.
fn bytes(row: &rusqlite::Row<'_>, column: usize) -> Result<Vec<u8>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => Vec::new(),
    })
}

fn hash(row: &rusqlite::Row<'_>, column: usize) -> Result<Option<Hash>> {
    Ok(bytes(row, column)?.try_into().ok().map(Hash))
}

/// A named place in the journal.
pub(super) fn mark(connection: &Connection, name: &str) -> Result<Option<(Seq, Option<Hash>)>> {
    let mut statement = connection.prepare_cached("SELECT seq, hash FROM mark WHERE name = ?1")?;
    statement.query_row([name], |row| Ok((seq(row, 0)?, hash(row, 1)?))).optional()
}

pub(super) fn put_mark(connection: &Connection, name: &str, place: (Seq, Hash)) -> Result<()> {
    let mut statement =
        connection.prepare_cached("INSERT OR REPLACE INTO mark VALUES (?1, ?2, ?3)")?;
    statement.execute(params![name, place.0.0.cast_signed(), place.1.0])?;
    Ok(())
}

/// Where the records lie that were once found to be unreadable.
pub(super) fn quarantined(connection: &Connection) -> Result<Vec<Seq>> {
    let mut statement = connection.prepare("SELECT seq FROM quarantine ORDER BY seq")?;
    statement.query_map([], |row| seq(row, 0))?.collect()
}

pub(super) fn put_quarantined(connection: &Connection, record: &Unreadable) -> Result<()> {
    let mut statement = connection
        .prepare_cached("INSERT OR REPLACE INTO quarantine VALUES (?1, ?2, ?3, ?4, ?5)")?;
    statement.execute(params![
        record.seq.0.cast_signed(),
        record.stream.as_ref().map(stream_key),
        record.kind,
        record.form.cast_signed(),
        record.why.to_string(),
    ])?;
    Ok(())
}

pub(super) fn drop_quarantined(connection: &Connection, seq: Seq) -> Result<()> {
    connection.execute("DELETE FROM quarantine WHERE seq = ?1", [seq.0.cast_signed()])?;
    Ok(())
}

/// One that is there already stays as it is: it has the same words.
pub(super) fn put_text(connection: &Connection, text: &TextBody) -> Result<()> {
    let mut statement = connection.prepare_cached("INSERT OR IGNORE INTO text VALUES (?1, ?2)")?;
    statement.execute(params![text.text.digest.0, &*text.body])?;
    Ok(())
}

pub(super) fn text(connection: &Connection, digest: Digest) -> Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT body FROM text WHERE digest = ?1")?;
    statement.query_row([digest.0], |row| row.get(0)).optional()
}

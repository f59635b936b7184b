//! The SQL of signals: an index over the records that are signals, or are followed by one. Written with the records.

use perennial_core::event::Event;
use perennial_core::id::{SessionNumber, SignalId};
use perennial_core::signal::SignalKind;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::messages::mailbox_key;
use super::rows;
use crate::journal::{ReadError, Seq, Version};
use crate::record::{Record, Row as RecordRow};
use crate::signal_index::{self, Entry, SignalPlace, SignalQuery, SignalRow};
use crate::stored::Word;

const RECORDS_AT_ONCE: usize = 1000;

pub(super) fn put(connection: &Connection, entry: &Entry, row: &RecordRow) -> rusqlite::Result<()> {
    let at = perennial_core::time::Time(row.at);
    put_at(connection, entry, (row.seq, Version(row.version), at))
}

fn put_at(
    connection: &Connection,
    entry: &Entry,
    (seq, version, at): (Seq, Version, perennial_core::time::Time),
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO signal (seq, id, kind, agent, target, session)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    statement.execute(params![
        seq.0.cast_signed(),
        entry.id(version, at).0.to_be_bytes(),
        Word::word(entry.kind),
        entry.agent.map(|agent| agent.0.to_be_bytes()),
        entry.target.as_ref().map(mailbox_key),
        entry.session.map(|number| number.0),
    ])?;
    Ok(())
}

/// Makes the index from the journal: of a file that had none.
pub(super) fn fill(connection: &Connection) -> rusqlite::Result<()> {
    let filling = connection.unchecked_transaction()?;
    let (mut after, mut moment) = (Seq(0), Vec::<Record>::new());
    loop {
        let records = rows::read(&filling, after, RECORDS_AT_ONCE)?;
        let Some(last) = records.last() else { break };
        after = last.seq;
        for record in records {
            // A batch has one moment.
            let at = |record: &Record| record.event.as_ref().ok().map(|event| event.at);
            if moment.last().is_some_and(|last| at(last) != at(&record)) {
                put_moment(&filling, &moment)?;
                moment.clear();
            }
            moment.push(record);
        }
    }
    put_moment(&filling, &moment)?;
    filling.commit()
}

fn put_moment(connection: &Connection, moment: &[Record]) -> rusqlite::Result<()> {
    let readable = || moment.iter().filter_map(|it| Some((it, it.event.as_ref().ok()?)));
    let records: Vec<&Record> = readable().map(|(record, _)| record).collect();
    let events: Vec<&Event> = readable().map(|(_, event)| event).collect();
    for entry in signal_index::entries(&events.iter().copied()) {
        let (record, event) = (records[entry.position], events[entry.position]);
        put_at(connection, &entry, (record.seq, record.version, event.at))?;
    }
    Ok(())
}

pub(super) fn place(connection: &Connection, id: SignalId) -> Result<Option<Seq>, ReadError> {
    let mut statement = connection.prepare_cached("SELECT seq FROM signal WHERE id = ?1")?;
    let found = statement.query_row([id.0.to_be_bytes()], |row| row.get::<_, i64>(0)).optional()?;
    Ok(found.map(|seq| Seq(seq.cast_unsigned())))
}

/// Signals whose record can't be read are left out: the record is told by itself.
pub(super) fn signals(
    connection: &Connection,
    query: &SignalQuery,
    limit: usize,
) -> Result<Vec<SignalRow>, ReadError> {
    let (condition, order, place) = match query.place {
        SignalPlace::After(seq) => ("seq > ?1", "ASC", seq.0),
        SignalPlace::Before(Some(seq)) => ("seq < ?1", "DESC", seq.0),
        SignalPlace::Before(None) => ("seq < ?1", "DESC", i64::MAX.cast_unsigned()),
    };
    // Words of our own table, never a caller's text.
    let kinds: Vec<String> =
        query.kinds.iter().map(|kind| format!("'{}'", Word::word(*kind))).collect();
    let of_kinds = match kinds.is_empty() {
        true => String::new(),
        false => format!("AND kind IN ({})", kinds.join(", ")),
    };
    let mut statement = connection.prepare(&format!(
        "SELECT seq, id, kind, session FROM signal WHERE {condition} {of_kinds}
         ORDER BY seq {order} LIMIT ?2"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = statement.query_map(params![place.cast_signed(), limit], indexed)?;
    let mut signals = Vec::new();
    for found in found {
        let Some((seq, id, kind, session)) = found? else { continue };
        let records = rows::read(connection, Seq(seq.0.saturating_sub(1)), 1)?;
        let record = records.first().filter(|record| record.seq == seq);
        signals.extend(record.and_then(|it| signal_index::row(it, (id, kind), session)));
    }
    Ok(signals)
}

type Indexed = (Seq, SignalId, SignalKind, Option<SessionNumber>);

/// Nothing where the row says nothing.
fn indexed(row: &Row<'_>) -> rusqlite::Result<Option<Indexed>> {
    let seq = Seq(row.get::<_, i64>(0)?.cast_unsigned());
    let id: Vec<u8> = row.get(1)?;
    let kind: String = row.get(2)?;
    let session: Option<u32> = row.get(3)?;
    let id = id.try_into().ok().map(|bytes| SignalId(u128::from_be_bytes(bytes)));
    let kind = <SignalKind as Word>::of_word(&kind);
    Ok(id.zip(kind).map(|(id, kind)| (seq, id, kind, session.map(SessionNumber))))
}

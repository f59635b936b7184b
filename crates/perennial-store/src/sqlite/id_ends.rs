//! Ids by their end: a look through the keys of all entities of one kind. It is asked for by people, who type one.

use perennial_core::id::IdEnd;
use rusqlite::{Connection, params};

use crate::journal::ReadError;
use crate::projection::IdsOf;
use crate::record::stream_key;

pub(super) fn ids_ending(
    connection: &Connection,
    of: IdsOf,
    end: IdEnd,
    limit: usize,
) -> Result<Vec<u128>, ReadError> {
    let mut found: Vec<u128> = match of.first().map(|first| stream_key(&first)) {
        Some(key) => {
            // All keys of one kind have its letter first.
            let (from, to) = ([key[0]], [key[0] + 1]);
            let mut statement = connection.prepare_cached(
                "SELECT substr(stream, 2) FROM event INDEXED BY event_by_stream
                 WHERE stream >= ?1 AND stream < ?2 AND version = 1 AND substr(stream, -5) = ?3",
            )?;
            let rows =
                statement.query_map(params![from, to, end.last_bytes()], |row| row.get(0))?;
            rows.collect::<Result<Vec<Vec<u8>>, _>>()?.into_iter().filter_map(id).collect()
        }
        None => {
            let mut statement =
                connection.prepare_cached("SELECT id FROM signal WHERE substr(id, -5) = ?1")?;
            let rows = statement.query_map(params![end.last_bytes()], |row| row.get(0))?;
            rows.collect::<Result<Vec<Vec<u8>>, _>>()?.into_iter().filter_map(id).collect()
        }
    };
    found.retain(|id| end.is_of(*id));
    found.sort_unstable();
    found.dedup();
    found.truncate(limit);
    Ok(found)
}

fn id(bytes: Vec<u8>) -> Option<u128> {
    Some(u128::from_be_bytes(bytes.try_into().ok()?))
}

//! The SQL of derived rows: snapshots, samples, the roster.

use perennial_core::context;
use perennial_core::entity::Entity;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::time::Time;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::rows;
use crate::chain::{Hash, seal};
use crate::journal::{ReadError, Seq, Version};
use crate::projection::{Context, Latest, RosterQuery, RosterRow, Snapshot, Usage};
use crate::record::{stream_key, stream_of};
use crate::stored::Word;

pub(super) const COVERS: &str = "covers";

/// Puts the snapshots of what has changed; the others hold as they are.
pub(super) fn put_snapshots(
    connection: &Connection,
    covers: (Seq, Hash),
    snapshots: &[Snapshot],
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO snapshot (stream, version, form, state, seal, is_over)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (stream) DO UPDATE SET version = excluded.version, form = excluded.form,
             state = excluded.state, seal = excluded.seal, is_over = excluded.is_over",
    )?;
    let mut delete = connection.prepare_cached("DELETE FROM snapshot WHERE stream = ?1")?;
    for snapshot in snapshots {
        let key = stream_key(&snapshot.stream);
        let Some(state) = &snapshot.state else {
            delete.execute([key])?;
            continue;
        };
        let (version, seal) = (snapshot.version.0.cast_signed(), sealed(snapshot));
        let is_over = snapshot.is_over;
        statement.execute(params![key, version, snapshot.form, state, seal.0, is_over])?;
    }
    rows::put_mark(connection, COVERS, covers)
}

/// Whatever snapshots there are hold for nothing.
pub(super) fn drop_covers(connection: &Connection) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM mark WHERE name = ?1")?.execute([COVERS])?;
    Ok(())
}

/// The record up to which the snapshots hold; 0 where they were not made from this journal.
pub(super) fn covers(connection: &Connection) -> rusqlite::Result<Seq> {
    let Some((covers, hash)) = rows::mark(connection, COVERS)? else { return Ok(Seq(0)) };
    // A journal that was cut off or edited since is not what the set was made from.
    let is_same = hash.is_some() && rows::hash_at(connection, covers)? == hash;
    Ok(if is_same { covers } else { Seq(0) })
}

/// How many agents are over.
pub(super) fn over(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM snapshot WHERE is_over = 1";
    connection.query_row(sql, [], |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()))
}

/// Of everything that is not over; `None` where a seal is broken or a row says nothing.
pub(super) fn snapshots(connection: &Connection) -> rusqlite::Result<Option<Vec<Snapshot>>> {
    let mut statement = connection.prepare(
        "SELECT stream, version, form, state, seal, is_over FROM snapshot WHERE is_over = 0",
    )?;
    let mut found = statement.query([])?;
    let mut snapshots = Vec::new();
    while let Some(row) = found.next()? {
        let Some(snapshot) = read_snapshot(row)? else { return Ok(None) };
        snapshots.push(snapshot);
    }
    Ok(Some(snapshots))
}

pub(super) fn snapshot(
    connection: &Connection,
    stream: &Entity,
) -> rusqlite::Result<Option<Snapshot>> {
    let mut statement = connection.prepare_cached(
        "SELECT stream, version, form, state, seal, is_over FROM snapshot WHERE stream = ?1",
    )?;
    statement.query_row([stream_key(stream)], read_snapshot).optional().map(Option::flatten)
}

fn read_snapshot(row: &Row<'_>) -> rusqlite::Result<Option<Snapshot>> {
    let Some(stream) = stream_of(&row.get::<_, Vec<u8>>(0)?) else { return Ok(None) };
    let version = Version(row.get::<_, i64>(1)?.cast_unsigned());
    // Text that is not UTF-8 is an error of that column: broken, like a seal that does not fit.
    let (Ok(form), Ok(state)) = (row.get(2), row.get(3)) else { return Ok(None) };
    let snapshot = Snapshot { stream, version, form, state: Some(state), is_over: row.get(5)? };
    let is_sound = row.get::<_, Vec<u8>>(4)? == sealed(&snapshot).0;
    Ok(is_sound.then_some(snapshot))
}

fn sealed(snapshot: &Snapshot) -> Hash {
    let Snapshot { stream, version, form, state, is_over } = snapshot;
    let (key, state) = (stream_key(stream), state.as_deref().unwrap_or_default());
    let (version, end) = (version.0.to_be_bytes(), [u8::from(*is_over)]);
    seal(&[&key, &version, form.as_bytes(), state.as_bytes(), &end])
}

pub(super) fn put_sample(connection: &Connection, sample: &Latest) -> rusqlite::Result<()> {
    let Latest { agent, last_seen, last_activity, context, usage, cost_microusd, reminded } =
        *sample;
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO sample (agent, last_seen, last_activity,
             context_tokens, context_window, context_usable, context_source, context_at,
             usage_input, usage_output, usage_cache_read, usage_cache_creation, usage_is_partial,
             cost_microusd, reminded_session, reminded_calls)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?;
    let micros = |time: Option<Time>| time.map(|time| time.0.cast_signed());
    let measured = context.map(|context| context.sample);
    statement.execute(params![
        agent.0.to_be_bytes(),
        micros(last_seen),
        micros(last_activity),
        measured.map(|sample| sample.tokens.cast_signed()),
        measured.map(|sample| sample.window.cast_signed()),
        measured.map(|sample| sample.usable.cast_signed()),
        measured.map(|sample| Word::word(sample.source)),
        micros(context.map(|context| context.at)),
        usage.map(|usage| usage.input.cast_signed()),
        usage.map(|usage| usage.output.cast_signed()),
        usage.map(|usage| usage.cache_read.cast_signed()),
        usage.map(|usage| usage.cache_write.cast_signed()),
        usage.map(|usage| usage.is_partial),
        cost_microusd.map(u64::cast_signed),
        reminded.map(|(number, _)| number.0),
        reminded.map(|(_, calls)| calls.cast_signed()),
    ])?;
    Ok(())
}

pub(super) fn samples(
    connection: &Connection,
    agents: &[AgentId],
) -> Result<Vec<Latest>, ReadError> {
    let mut statement = connection.prepare_cached(
        "SELECT agent, last_seen, last_activity, cost_microusd,
             context_tokens, context_window, context_usable, context_source, context_at,
             usage_input, usage_output, usage_cache_read, usage_cache_creation, usage_is_partial,
             reminded_session, reminded_calls
         FROM sample WHERE agent = ?1",
    )?;
    let mut samples = Vec::new();
    for id in agents {
        let mut found = statement.query([id.0.to_be_bytes()])?;
        if let Some(row) = found.next()? {
            samples.push(Latest {
                agent: agent("sample", row.get(0)?)?,
                last_seen: count(row, 1)?.map(Time),
                last_activity: count(row, 2)?.map(Time),
                cost_microusd: count(row, 3)?,
                context: measured(row)?,
                usage: used(row)?,
                reminded: reminded(row)?,
            });
        }
    }
    Ok(samples)
}

/// A context window, if all of it is there.
fn reminded(row: &Row<'_>) -> Result<Option<(SessionNumber, u64)>, ReadError> {
    let number = count(row, 14)?.and_then(|number| u32::try_from(number).ok());
    Ok(number.map(SessionNumber).zip(count(row, 15)?))
}

fn measured(row: &Row<'_>) -> Result<Option<Context>, ReadError> {
    let numbers = (count(row, 4)?, count(row, 5)?, count(row, 6)?, count(row, 8)?);
    let (Some(tokens), Some(window), Some(usable), Some(at)) = numbers else { return Ok(None) };
    let Some(source) = row.get(7)? else { return Ok(None) };
    let source = word("sample", source)?;
    let sample = context::Sample { tokens, window, usable, source };
    Ok(Some(Context { sample, at: Time(at) }))
}

fn used(row: &Row<'_>) -> rusqlite::Result<Option<Usage>> {
    let numbers = (count(row, 9)?, count(row, 10)?, count(row, 11)?, count(row, 12)?);
    let (Some(input), Some(output), Some(cache_read), Some(cache_write)) = numbers else {
        return Ok(None);
    };
    let is_partial = row.get::<_, Option<bool>>(13)?.unwrap_or(true);
    Ok(Some(Usage { input, output, cache_read, cache_write, is_partial }))
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
}

pub(super) fn put_roster(connection: &Connection, row: &RosterRow) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO roster (agent, name, role, parent, project, state, roster, reason,
             since, session, updated_seq, named_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?;
    statement.execute(params![
        row.agent.0.to_be_bytes(),
        row.name,
        row.role,
        row.parent.map(|parent| parent.0.to_be_bytes()),
        row.project,
        row.state.word(),
        row.state.roster().word(),
        row.reason.word(),
        row.since.0.cast_signed(),
        row.session.map(|number| number.0),
        row.updated_seq.0.cast_signed(),
        row.named_at.0.cast_signed(),
    ])?;
    Ok(())
}

pub(super) fn roster(
    connection: &Connection,
    query: RosterQuery<'_>,
) -> Result<Vec<RosterRow>, ReadError> {
    match query {
        RosterQuery::Of(agents) => {
            let mut rows = Vec::new();
            for agent in agents {
                rows.extend(roster_where(connection, "agent = ?1", [agent.0.to_be_bytes()])?);
            }
            Ok(rows)
        }
        RosterQuery::Buried { name, limit } => roster_where(
            connection,
            "name = ?1 COLLATE NOCASE AND roster = 'cemetery'
             ORDER BY named_at DESC, agent DESC LIMIT ?2",
            params![name.as_str(), limit as i64],
        ),
        RosterQuery::InState { state, before, limit } => {
            // Longer than any id, so after all of them.
            let before = before.map_or(vec![0xff; 17], |id| id.0.to_be_bytes().into());
            roster_where(
                connection,
                "state = ?1 AND agent < ?2 ORDER BY agent DESC LIMIT ?3",
                params![state.word(), before, limit as i64],
            )
        }
    }
}

fn roster_where(
    connection: &Connection,
    which: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<RosterRow>, ReadError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT agent, name, role, parent, project, state, reason, since, session, updated_seq,
             named_at
         FROM roster WHERE {which}"
    ))?;
    let mut found = statement.query(parameters)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let parent = row.get::<_, Option<Vec<u8>>>(3)?;
        rows.push(RosterRow {
            agent: agent("roster", row.get(0)?)?,
            name: row.get(1)?,
            role: row.get(2)?,
            parent: parent.map(|id| agent("roster", id)).transpose()?,
            project: row.get(4)?,
            state: word("roster", row.get(5)?)?,
            reason: word("roster", row.get(6)?)?,
            since: time(row.get(7)?),
            session: row.get::<_, Option<u32>>(8)?.map(SessionNumber),
            updated_seq: Seq(row.get::<_, i64>(9)?.cast_unsigned()),
            named_at: time(row.get(10)?),
        });
    }
    Ok(rows)
}

pub(super) fn time(micros: i64) -> Time {
    Time(micros.cast_unsigned())
}

fn agent(table: &'static str, id: Vec<u8>) -> Result<AgentId, ReadError> {
    let id = id.try_into().map_err(|id| ReadError::Row { table, value: format!("{id:02x?}") })?;
    Ok(AgentId(u128::from_be_bytes(id)))
}

pub(super) fn word<T: Word>(table: &'static str, word: String) -> Result<T, ReadError> {
    T::of_word(&word).ok_or(ReadError::Row { table, value: word })
}

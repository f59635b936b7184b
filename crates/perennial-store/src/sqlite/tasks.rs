//! The SQL of tasks: where each stands. Written with the events themselves.

use perennial_core::id::{AgentId, TaskId};
use perennial_core::name::NameKey;
use perennial_core::time::Time;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::journal::ReadError;
use crate::task_rows::{TaskChange, TaskQuery, TaskRow};

const TASK: &str = "SELECT task, project, state, agent, role, changed_at FROM task";

pub(super) fn put_task(connection: &Connection, change: &TaskChange) -> rusqlite::Result<()> {
    let id = change.task().0.to_be_bytes();
    let known = match change {
        TaskChange::New(_) => None,
        TaskChange::Change { .. } => {
            let mut statement = connection.prepare_cached(&format!("{TASK} WHERE task = ?1"))?;
            statement.query_row([id], task_row).optional()?.flatten()
        }
    };
    let Some(row) = change.clone().applied(known) else { return Ok(()) };
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO task (task, project, state, agent, role, changed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    statement.execute(params![
        id,
        row.project,
        row.state,
        row.agent.map(|agent| agent.0.to_be_bytes()),
        row.role.as_ref().map(NameKey::as_str),
        row.changed_at.0.cast_signed(),
    ])?;
    Ok(())
}

/// Those that were added last come first.
pub(super) fn tasks(connection: &Connection, query: &TaskQuery) -> Result<Vec<TaskRow>, ReadError> {
    let mut statement = connection.prepare_cached(&format!(
        "{TASK} WHERE (?1 IS NULL OR project = ?1) AND (?2 IS NULL OR state = ?2)
         AND (?3 IS NULL OR agent = ?3) AND (?4 IS NULL OR role = ?4)
         AND (?5 IS NULL OR task < ?5) ORDER BY task DESC LIMIT ?6"
    ))?;
    let mut found = statement.query(params![
        query.project,
        query.state,
        query.agent.map(|agent| agent.0.to_be_bytes()),
        query.role.as_ref().map(NameKey::as_str),
        query.before.map(|task| task.0.to_be_bytes()),
        i64::try_from(query.limit).unwrap_or(i64::MAX),
    ])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        // A row that says nothing is passed over: the record has the task.
        rows.extend(task_row(row)?);
    }
    Ok(rows)
}

fn task_row(row: &Row<'_>) -> rusqlite::Result<Option<TaskRow>> {
    let id = |bytes: Vec<u8>| bytes.try_into().ok().map(u128::from_be_bytes);
    let Some(task) = id(row.get(0)?).map(TaskId) else { return Ok(None) };
    let role: Option<String> = row.get(4)?;
    Ok(Some(TaskRow {
        task,
        project: row.get(1)?,
        state: row.get(2)?,
        agent: row.get::<_, Option<Vec<u8>>>(3)?.and_then(id).map(AgentId),
        role: role.as_deref().map(NameKey::of),
        changed_at: Time(row.get::<_, i64>(5)?.cast_unsigned()),
    }))
}

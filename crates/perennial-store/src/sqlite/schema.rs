//! The database's tables, and how an older file is brought up to them.
//!
//! `PRAGMA user_version` counts the migrations that a file has had. A step is never changed once a
//! release has run it. A file of a newer program is refused before anything is written. A loop of ten
//! lines does it: a migration crate would bring regular expressions, dates and URLs along.

use rusqlite::{Connection, TransactionBehavior};

/// "pere": what tells a journal from any other SQLite file.
const APPLICATION_ID: i64 = 0x7065_7265;

const MIGRATIONS: [&str; 8] = [FIRST, MEASURED, TEXTS, REMINDED, ENDED, MAIL, SIGNALS, TASKS];

/// From this version on the table of messages has all that is read from it.
pub(super) const HAS_MAIL: i64 = 6;

/// From this version on signals are in their index when they are recorded.
pub(super) const HAS_SIGNALS: i64 = 7;

const FIRST: &str = "
    CREATE TABLE event (
        seq     INTEGER PRIMARY KEY,
        stream  BLOB    NOT NULL,
        version INTEGER NOT NULL,
        at      INTEGER NOT NULL,
        kind    TEXT    NOT NULL,
        form    INTEGER NOT NULL,
        payload TEXT    NOT NULL,
        hash    BLOB    NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX event_by_stream ON event (stream, version);

    -- Records that can't be read; the records themselves stay in `event`.
    CREATE TABLE quarantine (
        seq    INTEGER PRIMARY KEY,
        stream BLOB,
        kind   TEXT NOT NULL,
        form   INTEGER NOT NULL,
        why    TEXT NOT NULL
    ) STRICT;

    -- Places in the journal: `verified`, up to where the chain was checked; `covers`, up to where
    -- the snapshots hold.
    CREATE TABLE mark (
        name TEXT PRIMARY KEY,
        seq  INTEGER NOT NULL,
        hash BLOB    NOT NULL
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE snapshot (
        stream  BLOB PRIMARY KEY,
        version INTEGER NOT NULL,
        form    TEXT    NOT NULL,
        state   TEXT    NOT NULL,
        seal    BLOB    NOT NULL
    ) STRICT;

    CREATE TABLE sample (
        agent         BLOB PRIMARY KEY,
        last_seen     INTEGER,
        last_activity INTEGER
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE roster (
        agent       BLOB PRIMARY KEY,
        name        TEXT,
        role        TEXT,
        parent      BLOB,
        project     TEXT    NOT NULL,
        state       TEXT    NOT NULL,
        roster      TEXT    NOT NULL,
        reason      TEXT    NOT NULL,
        since       INTEGER NOT NULL,
        session     INTEGER,
        updated_seq INTEGER NOT NULL
    ) STRICT;
";

/// What harnesses show of an agent: the context window, tokens and money.
const MEASURED: &str = "
    ALTER TABLE sample ADD COLUMN context_tokens       INTEGER;
    ALTER TABLE sample ADD COLUMN context_window       INTEGER;
    ALTER TABLE sample ADD COLUMN context_usable       INTEGER;
    ALTER TABLE sample ADD COLUMN context_source       TEXT;
    ALTER TABLE sample ADD COLUMN context_at           INTEGER;
    ALTER TABLE sample ADD COLUMN usage_input          INTEGER;
    ALTER TABLE sample ADD COLUMN usage_output         INTEGER;
    ALTER TABLE sample ADD COLUMN usage_cache_read     INTEGER;
    ALTER TABLE sample ADD COLUMN usage_cache_creation INTEGER;
    ALTER TABLE sample ADD COLUMN usage_is_partial     INTEGER;
    ALTER TABLE sample ADD COLUMN cost_microusd        INTEGER;
";

/// Texts that events name by their digest, and how far each message has come.
const TEXTS: &str = "
    CREATE TABLE text (
        digest BLOB PRIMARY KEY,
        body   TEXT NOT NULL
    ) STRICT;

    CREATE TABLE message (
        message     BLOB PRIMARY KEY,
        agent       BLOB    NOT NULL,
        sender      TEXT    NOT NULL,
        head        TEXT    NOT NULL,
        digest      BLOB,
        recorded_at INTEGER NOT NULL,
        step        TEXT    NOT NULL,
        session     INTEGER,
        changed_at  INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX message_by_agent ON message (agent, recorded_at);
";

/// When a session was last reminded of its clock.
const REMINDED: &str = "
    ALTER TABLE sample ADD COLUMN reminded_session INTEGER;
    ALTER TABLE sample ADD COLUMN reminded_calls   INTEGER;
";

/// The ended are read when they are asked for: by name, by id, page by page.
const ENDED: &str = "
    ALTER TABLE snapshot ADD COLUMN is_over INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX snapshot_by_end ON snapshot (is_over);
    ALTER TABLE roster ADD COLUMN named_at INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX roster_by_name ON roster (name COLLATE NOCASE, named_at, agent);
    CREATE INDEX roster_by_state ON roster (state, agent);
";

/// Mail is a message with a subject and a thread. Mailboxes of roles and of the operator are in the column `agent`
/// too, by keys that no agent's id can be.
const MAIL: &str = "
    ALTER TABLE message ADD COLUMN mail   TEXT;
    ALTER TABLE message ADD COLUMN thread BLOB;
    CREATE INDEX mail_by_mailbox ON message (agent, recorded_at) WHERE mail IS NOT NULL;
    CREATE INDEX mail_by_sender ON message (sender, recorded_at) WHERE mail IS NOT NULL;
    CREATE INDEX mail_by_thread ON message (thread, recorded_at) WHERE mail IS NOT NULL;
";

/// Which records are signals, or are followed by one. No further index: what reads by anything but the order reads
/// seldom, and each would cost every session that begins or ends.
const SIGNALS: &str = "
    CREATE TABLE signal (
        seq     INTEGER PRIMARY KEY,
        id      BLOB NOT NULL,
        kind    TEXT NOT NULL,
        agent   BLOB,
        target  BLOB,
        session INTEGER
    ) STRICT;
";

/// Where each task stands, so that those that are over are found.
const TASKS: &str = "
    CREATE TABLE task (
        task       BLOB PRIMARY KEY,
        project    TEXT    NOT NULL,
        state      TEXT    NOT NULL,
        agent      BLOB,
        role       TEXT,
        changed_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX task_by_project ON task (project, task);
    CREATE INDEX task_by_state ON task (state, task);
    CREATE INDEX task_by_agent ON task (agent, task) WHERE agent IS NOT NULL;
";

/// Why a file is not this program's journal.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("it is a database, but not a journal")]
    NotAJournal,
    #[error("a newer program made it (version {found}; this one knows {known})")]
    Newer { found: i64, known: i64 },
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

/// How many migrations the file has had; writes nothing.
pub(super) fn version(connection: &Connection) -> Result<i64, SchemaError> {
    let known = MIGRATIONS.len() as i64;
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let id: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if id != APPLICATION_ID {
        return Err(SchemaError::NotAJournal);
    }
    if !(1..=known).contains(&found) {
        return Err(SchemaError::Newer { found, known });
    }
    Ok(found)
}

/// Runs the migrations that the file has not had, each in its own transaction.
pub(super) fn migrate(connection: &mut Connection, from: i64) -> rusqlite::Result<()> {
    for (step, sql) in MIGRATIONS.iter().enumerate().skip(from as usize) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", step as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}

//! The entity graph on disk: a file of its own beside the journal, filled from it when somebody asks.
//!
//! Never written by the journal's thread and never read by a decision, so that events cost nothing more for it. The file
//! can be removed at any time: the next request makes it again.
//!
//! Invariants
//! - GR1  What a portion of records changes and how far the graph reaches are written together, or not at all.
//! - GR2  A file that is damaged, of another form, or made from another journal is dropped and made again.
//! - GR3  The graph reaches as far as the journal did when it was asked; records are read in bounded portions.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use perennial_core::event::{AgentEvent, What};
use perennial_core::graph::{Identity, Portion, SessionEntry};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::time::Time;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::chain::Hash;
use crate::journal::{Journal, ReadError, Seq, StoreError};
use crate::record::Record;

/// To be counted up when an entry's fields, or what folding makes of events, change.
const FORM: i64 = 2;
/// At most this many records are folded and written at a time.
const RECORDS_AT_ONCE: usize = 500;

const SCHEMA: &str = "
    CREATE TABLE reach (
        form INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL, quarantined INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE identity (agent BLOB PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE session (
        agent BLOB NOT NULL, number INTEGER NOT NULL,
        name TEXT COLLATE NOCASE, actor TEXT NOT NULL COLLATE NOCASE,
        since INTEGER NOT NULL, until INTEGER, body TEXT NOT NULL,
        PRIMARY KEY (agent, number)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX session_by_time ON session (since, agent, number);
    CREATE TABLE method (
        agent BLOB NOT NULL, number INTEGER NOT NULL, role TEXT NOT NULL COLLATE NOCASE,
        since INTEGER NOT NULL, until INTEGER,
        PRIMARY KEY (agent, number, role)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE domain (
        agent BLOB NOT NULL, number INTEGER NOT NULL, situation TEXT NOT NULL COLLATE NOCASE,
        PRIMARY KEY (agent, number, situation)
    ) STRICT, WITHOUT ROWID;
";

/// The graph can't be read or brought up to date.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("the file of the entity graph failed")]
    Store(#[from] StoreError),
    #[error("the journal could not be read")]
    Journal(#[from] ReadError),
    #[error("the file of the entity graph can't be made or removed")]
    Stuck(#[source] io::Error),
    #[error("an entry of the entity graph can't be read")]
    Entry,
}

impl From<rusqlite::Error> for GraphError {
    fn from(error: rusqlite::Error) -> GraphError {
        GraphError::Store(error.into())
    }
}

/// Which sessions are asked for; what is absent limits nothing. Words ignore case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphQuery {
    pub session: Option<(AgentId, SessionNumber)>,
    pub agent: Option<AgentId>,
    /// What the agent was called in the session.
    pub name: Option<String>,
    pub actor: Option<String>,
    /// A role that was held in the session, within the time that is asked for.
    pub role: Option<String>,
    pub situation: Option<String>,
    /// Only what went on after this …
    pub since: Option<Time>,
    /// … and before this.
    pub until: Option<Time>,
}

/// Behind which session a page begins: when it began, and which it is.
pub type Place = (Time, AgentId, SessionNumber);

/// A session, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub agent: AgentId,
    pub identity: Identity,
    pub session: SessionEntry,
}

/// The graph's file, brought up to the journal.
#[derive(Debug)]
pub struct Graph {
    connection: Connection,
}

impl Graph {
    /// Opens the graph, folds what the journal has got since, and asks it (GR2, GR3).
    pub fn ask<T>(
        path: &Path,
        journal: &dyn Journal,
        ask: impl Fn(&Graph) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        let (head, _) = journal.head();
        match Graph::up_to(path, journal, head).and_then(|graph| ask(&graph)) {
            Err(GraphError::Entry | GraphError::Store(StoreError::Damaged(_))) => {
                remove(path)?;
                ask(&Graph::up_to(path, journal, head)?)
            }
            Ok(answer) => Ok(answer),
            Err(error @ (GraphError::Store(_) | GraphError::Journal(_) | GraphError::Stuck(_))) => {
                Err(error)
            }
        }
    }

    /// The file is its owner's alone, like the journal's.
    fn open(path: &Path) -> Result<Graph, GraphError> {
        // A pipe in its place would hold whoever opens it for ever.
        if std::fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
            return Err(GraphError::Stuck(io::Error::other("it is not a regular file")));
        }
        let made = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        made.map_err(GraphError::Stuck)?;
        Ok(Graph { connection: Connection::open(path)? })
    }

    fn up_to(path: &Path, journal: &dyn Journal, head: Seq) -> Result<Graph, GraphError> {
        let mut graph = Graph::open(path)?;
        if !graph.is_of(journal)? {
            drop(graph);
            remove(path)?;
            graph = Graph::open(path)?;
            graph.begin()?;
        }
        while graph.advance(journal, head)? {}
        Ok(graph)
    }

    /// Sessions, those that began last first, behind a place.
    pub fn sessions(
        &self,
        query: &GraphQuery,
        behind: Option<Place>,
        limit: usize,
    ) -> Result<Vec<Found>, GraphError> {
        let mut statement = self.connection.prepare_cached(
            "SELECT session.agent, identity.body, session.body FROM session
             JOIN identity ON identity.agent = session.agent
             WHERE (?1 IS NULL OR session.agent = ?1) AND (?2 IS NULL OR session.number = ?2)
               AND (?3 IS NULL OR session.name = ?3) AND (?4 IS NULL OR session.actor = ?4)
               AND session.since < ?7 AND (session.until IS NULL OR session.until >= ?6)
               AND (?5 IS NULL OR EXISTS (SELECT 1 FROM method
                    WHERE method.agent = session.agent AND method.number = session.number
                      AND method.role = ?5 AND method.since < ?7
                      AND (method.until IS NULL OR method.until >= ?6)))
               AND (?12 IS NULL OR EXISTS (SELECT 1 FROM domain
                    WHERE domain.agent = session.agent AND domain.number = session.number
                      AND domain.situation = ?12))
               AND (session.since, session.agent, session.number) < (?8, ?9, ?10)
             ORDER BY session.since DESC, session.agent DESC, session.number DESC LIMIT ?11",
        )?;
        let agent = query.session.map(|(agent, _)| agent).or(query.agent);
        let (at, of, number) = behind
            .map_or((i64::MAX, AgentId(u128::MAX), u32::MAX), |(at, of, number)| {
                (at.0.cast_signed(), of, number.0)
            });
        let mut rows = statement.query(params![
            agent.map(|id| id.0.to_be_bytes()),
            query.session.map(|(_, number)| number.0),
            query.name,
            query.actor,
            query.role,
            query.since.map_or(i64::MIN, |at| at.0.cast_signed()),
            query.until.map_or(i64::MAX, |at| at.0.cast_signed()),
            at,
            of.0.to_be_bytes(),
            number,
            i64::try_from(limit).unwrap_or(i64::MAX),
            query.situation,
        ])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }

    /// Up to which record it reaches.
    pub fn reach(&self) -> Result<Seq, GraphError> {
        let sql = "SELECT seq FROM reach";
        let seq = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0))?;
        Ok(Seq(seq.cast_unsigned()))
    }

    /// Whether the file is of this form and was made from the beginning of this journal.
    fn is_of(&self, journal: &dyn Journal) -> Result<bool, GraphError> {
        let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'reach'";
        let tables: i64 = self.connection.query_row(sql, [], |row| row.get(0))?;
        if tables == 0 {
            return Ok(false);
        }
        let sql = "SELECT form, seq, hash, quarantined FROM reach";
        let row = |row: &Row<'_>| {
            let hash = row.get::<_, Vec<u8>>(2)?;
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, hash, row.get::<_, i64>(3)?))
        };
        let Some((form, seq, hash, quarantined)) =
            self.connection.query_row(sql, [], row).optional()?
        else {
            return Ok(false);
        };
        // A record that became readable, or no longer is, may be anywhere.
        if form != FORM || quarantined != unreadable(journal) {
            return Ok(false);
        }
        let Some(before) = seq.cast_unsigned().checked_sub(1) else { return Ok(true) };
        let last = journal.read(Seq(before), 1)?;
        let is_there =
            |record: &Record| record.seq.0 == before + 1 && record.hash.0[..] == hash[..];
        Ok(last.first().is_some_and(is_there))
    }

    fn begin(&mut self) -> Result<(), GraphError> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(SCHEMA)?;
        transaction.execute(
            "INSERT INTO reach (form, seq, hash, quarantined) VALUES (?1, 0, ?2, 0)",
            params![FORM, Hash::GENESIS.0],
        )?;
        Ok(transaction.commit()?)
    }

    /// Folds the next portion, up to the head; `false` when there is none (GR1).
    fn advance(&mut self, journal: &dyn Journal, head: Seq) -> Result<bool, GraphError> {
        let reach = self.reach()?;
        if reach >= head {
            return Ok(false);
        }
        let mut records = journal.read(reach, RECORDS_AT_ONCE)?;
        records.retain(|record| record.seq <= head);
        let Some((seq, hash)) = records.last().map(|last| (last.seq, last.hash)) else {
            return Ok(false);
        };
        let transaction = self.connection.transaction()?;
        let mut portions: BTreeMap<AgentId, Portion> = BTreeMap::new();
        for (agent, event, at) in records.iter().filter_map(of_agent) {
            let portion = match portions.entry(agent) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(portion(&transaction, agent)?),
            };
            portion.evolve(event, at);
        }
        for (agent, portion) in &portions {
            put(&transaction, *agent, portion)?;
        }
        transaction.execute(
            "UPDATE reach SET seq = ?1, hash = ?2, quarantined = ?3",
            params![seq.0.cast_signed(), hash.0, unreadable(journal)],
        )?;
        transaction.commit()?;
        Ok(true)
    }
}

fn unreadable(journal: &dyn Journal) -> i64 {
    i64::try_from(journal.quarantine().len()).unwrap_or(i64::MAX)
}

/// The file and what SQLite keeps beside it.
fn remove(path: &Path) -> Result<(), GraphError> {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    for file in [beside("-journal"), path.to_owned()] {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(GraphError::Stuck(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// What a record says of an agent; one that can't be read says nothing.
fn of_agent(record: &Record) -> Option<(AgentId, &AgentEvent, Time)> {
    let event = record.event.as_ref().ok()?;
    match &event.what {
        What::Agent(id, what) => Some((*id, what, event.at)),
        What::Node(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Message(..)
        | What::Post(..)
        | What::Job(..)
        | What::Role(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => None,
    }
}

/// An agent's identity and its newest session, as they were written last.
fn portion(transaction: &Transaction<'_>, agent: AgentId) -> Result<Portion, GraphError> {
    let key = agent.0.to_be_bytes();
    let sql = "SELECT body FROM identity WHERE agent = ?1";
    let mut statement = transaction.prepare_cached(sql)?;
    let body = statement.query_row([key], |row| row.get::<_, String>(0)).optional()?;
    let Some(identity) = body.map(|body| entry::<Identity>(&body)).transpose()? else {
        return Ok(Portion::default());
    };
    let sql = "SELECT body FROM session WHERE agent = ?1 AND number = ?2";
    let mut statement = transaction.prepare_cached(sql)?;
    let mut sessions = Vec::new();
    if let Some(number) = identity.newest {
        let row = |row: &Row<'_>| row.get::<_, String>(0);
        let body = statement.query_row(params![key, number.0], row).optional()?;
        sessions.extend(body.map(|body| entry::<SessionEntry>(&body)).transpose()?);
    }
    Ok(Portion { identity: Some(identity), sessions })
}

fn put(transaction: &Transaction<'_>, agent: AgentId, portion: &Portion) -> Result<(), GraphError> {
    let Some(identity) = &portion.identity else { return Ok(()) };
    let key = agent.0.to_be_bytes();
    let mut statement = transaction
        .prepare_cached("INSERT OR REPLACE INTO identity (agent, body) VALUES (?1, ?2)")?;
    statement.execute(params![key, written(identity)?])?;
    let mut statement = transaction.prepare_cached(
        "INSERT OR REPLACE INTO session (agent, number, name, actor, since, until, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    let mut method = transaction.prepare_cached(
        "INSERT OR REPLACE INTO method (agent, number, role, since, until)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    let mut domain = transaction.prepare_cached(
        "INSERT OR REPLACE INTO domain (agent, number, situation) VALUES (?1, ?2, ?3)",
    )?;
    for session in &portion.sessions {
        let number = session.number.0;
        let (since, until) = (session.since.0.cast_signed(), session.until.map(signed));
        let (name, actor, body) = (&session.name, &session.actor, written(session)?);
        statement.execute(params![key, number, name, actor, since, until, body])?;
        for held in &session.methods {
            let (since, until) = (signed(held.since), held.until.map(signed));
            method.execute(params![key, number, held.role, since, until])?;
        }
        for situation in &session.domains {
            domain.execute(params![key, number, situation])?;
        }
    }
    Ok(())
}

fn signed(at: Time) -> i64 {
    at.0.cast_signed()
}

fn read(row: &Row<'_>) -> Result<Found, GraphError> {
    let agent = row.get::<_, Vec<u8>>(0)?.try_into().map_err(|_| GraphError::Entry)?;
    Ok(Found {
        agent: AgentId(u128::from_be_bytes(agent)),
        identity: entry(&row.get::<_, String>(1)?)?,
        session: entry(&row.get::<_, String>(2)?)?,
    })
}

fn entry<T: serde::de::DeserializeOwned>(body: &str) -> Result<T, GraphError> {
    serde_json::from_str(body).map_err(|_| GraphError::Entry)
}

fn written(entry: &impl serde::Serialize) -> Result<String, GraphError> {
    serde_json::to_string(entry).map_err(|_| GraphError::Entry)
}

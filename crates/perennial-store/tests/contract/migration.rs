//! A journal that an older program wrote: brought up to the newest tables, read as it was meant.

use perennial_core::id::NodeId;
use perennial_store::Projections;
use std::collections::BTreeMap;
use std::path::Path;

use perennial_core::conversation::Opening;
use perennial_core::launch::Options;
use perennial_core::state::State;
use perennial_core::time::Time;
use perennial_core::work::WorkPhase;
use perennial_store::{Journal, Latest, Seq, SqliteJournal, load};
use rusqlite::Connection;

use crate::events::*;

/// What the program before agent CLIs left: three bare commands, snapshots, a sample.
const FIRST: &str = include_str!("journal.v1.sql");

fn write_first(directory: &Path) {
    Connection::open(file(directory)).unwrap().execute_batch(FIRST).unwrap();
}

fn user_version(directory: &Path) -> i64 {
    let connection = Connection::open(file(directory)).unwrap();
    connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_first_journal_is_read_as_it_was_meant() {
    let directory = tempfile::tempdir().unwrap();
    write_first(directory.path());
    let journal = open(directory.path());
    assert_eq!(journal.quarantine(), vec![]);
    let loaded = load(&journal, NodeId::HOME).unwrap();
    assert_eq!((loaded.head, loaded.unreadable.len()), (Seq(22), 0));
    let states: BTreeMap<_, _> = loaded
        .fleet
        .agents()
        .map(|agent| (agent.name.as_ref().unwrap().to_string(), agent.state))
        .collect();
    let expected =
        [("name-1", State::Sleeping), ("name-2", State::Hatching), ("name-3", State::Working)];
    assert_eq!(states, expected.map(|(name, state)| (name.to_owned(), state)).into());
    for agent in loaded.fleet.agents() {
        assert_eq!(agent.launch.options, Options::default());
        assert_eq!(agent.session.as_ref().unwrap().opening, Opening::Bare);
        assert_eq!((&agent.conversations, agent.work.phase), (&None, WorkPhase::Investigation));
    }
}

#[test]
fn its_samples_stay_and_new_columns_are_empty() {
    let directory = tempfile::tempdir().unwrap();
    write_first(directory.path());
    assert_eq!(user_version(directory.path()), 1);
    let journal = open(directory.path());
    let agent = perennial_core::id::AgentId(2);
    let old = Latest {
        last_seen: Some(Time(7)),
        last_activity: Some(Time(u64::MAX)),
        ..Latest::of(agent)
    };
    assert_eq!(journal.latest(&[agent]).unwrap(), [old]);
    let new = Latest { cost_microusd: Some(5), ..old };
    journal.put_latest(vec![new]);
    settle(&journal);
    drop(journal);
    // The second opening finds nothing left to migrate.
    assert_eq!(user_version(directory.path()), 8);
    assert_eq!(open(directory.path()).latest(&[agent]).unwrap(), [new]);
}

#[test]
fn an_inspection_leaves_it_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    write_first(directory.path());
    let inspection = SqliteJournal::inspect(&file(directory.path())).unwrap();
    assert_eq!(inspection.file_faults, Vec::<String>::new());
    assert_eq!(inspection.records.unreadable, vec![]);
    assert_eq!(user_version(directory.path()), 1);
}

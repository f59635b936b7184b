//! Damage by hand and by bits: what is altered is found, what is unreadable is kept and told, and
//! nothing false is ever read as true.

use perennial_store::Projections;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use perennial_core::entity::Entity;
use perennial_core::observation::LostRecords;
use perennial_store::chain::verify;
use perennial_store::sqlite::SchemaError;
use perennial_store::{
    AppendError, Damage, Journal, OpenError, Seq, Snapshot, SqliteJournal, StoreError, Version,
};
use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::events::*;

/// Runs SQL on the file, as somebody else would.
fn by_hand(directory: &Path, sql: &str) {
    Connection::open(file(directory)).unwrap().execute_batch(sql).unwrap();
}

fn a_journal_of(records: u64) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fill(&open(directory.path()), &[ADA], records);
    directory
}

#[test]
fn a_change_in_any_column_is_found() {
    for change in [
        "seq = 100",
        "stream = x'6e'",
        "stream = CAST(substr(stream, 1, 16) || x'03' AS BLOB)",
        "version = 99",
        "at = at + 1",
        "kind = 'renamed'",
        "form = 0",
        "payload = replace(payload, 'record', 'Record')",
        "payload = '{}'",
        "hash = zeroblob(32)",
        "hash = x'00'",
    ] {
        let directory = a_journal_of(9);
        by_hand(directory.path(), &format!("UPDATE event SET {change} WHERE seq = 5"));
        let journal = open(directory.path());
        let found = verify(&journal).unwrap().unreadable;
        assert!(!found.is_empty(), "{change}");
        assert!(found.iter().any(|one| one.seq == Seq(5)), "{change}: {found:?}");
        let whys = found.iter().map(|one| &one.why);
        assert!(
            whys.clone().all(|why| matches!(why, Damage::Altered | Damage::Missing { .. })),
            "{change}: {found:?}"
        );
        // All others are read.
        let read = all(&journal).iter().filter(|record| record.event.is_ok()).count();
        assert!(read >= 7, "{change}: {read}");
    }
}

#[test]
fn a_record_that_is_gone_is_one_value_and_reading_goes_on() {
    let directory = a_journal_of(9);
    by_hand(directory.path(), "DELETE FROM event WHERE seq BETWEEN 4 AND 6");
    let journal = open(directory.path());
    let records = all(&journal);
    let places: Vec<u64> = records.iter().map(|record| record.seq.0).collect();
    assert_eq!(places, [1, 2, 3, 6, 7, 8, 9]);
    let gone = records[3].event.as_ref().unwrap_err();
    assert_eq!(gone.why, Damage::Missing { from: Seq(4) });
    // The one after the hole can't be proven.
    assert_eq!(records[4].event.as_ref().unwrap_err().why, Damage::Altered);
    assert!(records[5].event.is_ok() && records[6].event.is_ok());
}

#[test]
fn the_end_of_the_journal_is_missed_too() {
    let directory = a_journal_of(9);
    settle(&open(directory.path()));
    by_hand(directory.path(), "DELETE FROM event WHERE seq > 6");
    let journal = open(directory.path());
    let whys: Vec<_> = journal.quarantine().into_iter().map(|one| (one.seq, one.why)).collect();
    assert_eq!(whys, [(Seq(9), Damage::Missing { from: Seq(7) })]);
    assert_eq!(journal.head().0, Seq(6));
}

#[test]
fn a_journal_without_its_newest_records_is_told_until_something_is_appended() {
    let directory = a_journal_of(9);
    assert_eq!(open(directory.path()).lost(), None);
    by_hand(directory.path(), "DELETE FROM event WHERE seq > 6");
    for _ in 0..2 {
        assert_eq!(open(directory.path()).lost(), Some(LostRecords { known: 9, found: 6 }));
    }
    let inspected = SqliteJournal::inspect(&file(directory.path())).unwrap();
    assert_eq!(inspected.lost, Some(LostRecords { known: 9, found: 6 }));
    append(&open(directory.path()), batch(vec![(6, vec![summarised(ADA, "on")])])).unwrap();
    assert_eq!(open(directory.path()).lost(), None);
}

#[test]
fn what_is_unreadable_is_kept_listed_and_let_go_when_it_is_readable_again() {
    let directory = a_journal_of(5);
    by_hand(directory.path(), "UPDATE event SET payload = payload || ' ' WHERE seq = 2");
    {
        let journal = open(directory.path());
        assert_eq!(journal.quarantine().len(), 1);
        assert_eq!(unreadable(&journal), [2]);
        let of_stream = journal.read_stream(&Entity::Agent(ADA), Version(0), 10).unwrap();
        assert_eq!(of_stream.iter().filter(|record| record.event.is_err()).count(), 1);
        let snapshot = Snapshot {
            stream: Entity::Agent(ADA),
            version: Version(5),
            form: "f".into(),
            state: Some("{}".into()),
            is_over: false,
        };
        journal.put_snapshots(vec![snapshot], Box::new(|is_kept| assert!(is_kept)));
        settle(&journal);
        assert_eq!(journal.snapshots().unwrap().covers, Seq(5));
    }
    let listed: (i64, String) = Connection::open(file(directory.path()))
        .unwrap()
        .query_row("SELECT seq, why FROM quarantine", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    assert_eq!(listed.0, 2);
    assert!(listed.1.contains("altered"), "{}", listed.1);
    assert_eq!(open(directory.path()).quarantine().len(), 1);

    by_hand(directory.path(), "UPDATE event SET payload = rtrim(payload) WHERE seq = 2");
    let journal = open(directory.path());
    assert_eq!(journal.quarantine(), []);
    assert_eq!(unreadable(&journal), [0u64; 0]);
    // A set that was made without the record says nothing any more.
    assert_eq!(journal.snapshots().unwrap().covers, Seq(0));
    settle(&journal);
    drop(journal);
    let count = "SELECT count(*) FROM quarantine";
    let left: i64 = Connection::open(file(directory.path()))
        .unwrap()
        .query_row(count, [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

/// Appends a row by hand, linked as the chain wants it: what another program would have written.
fn append_by_hand(directory: &Path, stream: &[u8], kind: &str, form: u32, payload: &str) {
    let connection = Connection::open(file(directory)).unwrap();
    let (seq, before): (u64, Vec<u8>) = connection
        .query_row("SELECT seq, hash FROM event ORDER BY seq DESC", [], |row| {
            Ok((row.get::<_, i64>(0)? as u64, row.get(1)?))
        })
        .unwrap();
    let (seq, version, at) = (seq + 1, 1000 + seq, 5u64);
    let mut digest = Sha256::new();
    digest.update(before);
    digest.update(seq.to_be_bytes());
    digest.update((stream.len() as u64).to_be_bytes());
    digest.update(stream);
    digest.update(version.to_be_bytes());
    digest.update(at.to_be_bytes());
    digest.update((kind.len() as u64).to_be_bytes());
    digest.update(kind);
    digest.update(u64::from(form).to_be_bytes());
    digest.update((payload.len() as u64).to_be_bytes());
    digest.update(payload);
    let hash: [u8; 32] = digest.finalize().into();
    let row =
        rusqlite::params![seq as i64, stream, version as i64, at as i64, kind, form, payload, hash];
    connection.execute("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)", row).unwrap();
}

#[test]
fn records_of_a_newer_program_are_values() {
    let ada: Vec<u8> = [b"a".as_slice(), &ADA.0.to_be_bytes()].concat();
    let good = r#"{"summary":"x"}"#;
    type Case<'a> = (&'a [u8], &'a str, u32, &'a str, Option<Damage>);
    let cases: [Case<'_>; 8] = [
        (&ada, "summarised", 1, good, None),
        // Fields that are not known are passed over.
        (&ada, "summarised", 1, r#"{"later":[1],"summary":"x"}"#, None),
        (&ada, "summarised", 2, good, Some(Damage::NewerForm { known: 1 })),
        (&ada, "summarised", 0, good, Some(Damage::Malformed(String::new()))),
        (&ada, "canonised", 1, good, Some(Damage::UnknownKind)),
        (&ada, "summarised", 1, r#"{"summary":7}"#, Some(Damage::Malformed(String::new()))),
        (&ada, "daemon-stopped", 1, r#"{"epoch":7}"#, Some(Damage::Malformed(String::new()))),
        (b"role:scribe", "summarised", 1, good, Some(Damage::UnknownStream)),
    ];
    for (stream, kind, form, payload, why) in cases {
        let directory = a_journal_of(2);
        append_by_hand(directory.path(), stream, kind, form, payload);
        let journal = open(directory.path());
        let records = all(&journal);
        let found = records[2].event.as_ref().err().map(|unreadable| &unreadable.why);
        match (&why, found) {
            (Some(Damage::Malformed(_)), Some(Damage::Malformed(_))) => {}
            (why, found) => assert_eq!(why.as_ref(), found, "{kind} {form} {payload}"),
        }
        // The journal goes on after it.
        append(&journal, batch(vec![(0, vec![summarised(BOB, "next")])])).unwrap();
        assert!(all(&journal)[3].event.is_ok());
        assert_eq!(journal.quarantine().len(), usize::from(why.is_some()));
    }
}

#[test]
fn an_edit_beside_the_running_journal_is_noticed_and_nothing_is_built_on_it() {
    let directory = a_journal_of(5);
    let journal = open(directory.path());
    let next = |version| batch(vec![(version, vec![summarised(ADA, "next")])]);
    append(&journal, next(5)).unwrap();
    by_hand(directory.path(), "UPDATE event SET at = at + 1 WHERE seq = 3");
    for _ in 0..2 {
        match append(&journal, next(6)) {
            Err(AppendError::Store(StoreError::Edited { at })) => assert_eq!(at, Seq(3)),
            other => panic!("{other:?}"),
        }
    }
    by_hand(directory.path(), "UPDATE event SET at = at - 1 WHERE seq = 3");
    assert_eq!(append(&journal, next(6)).unwrap(), Seq(7));
    by_hand(directory.path(), "DELETE FROM event WHERE seq = 7");
    assert!(matches!(
        append(&journal, next(7)),
        Err(AppendError::Store(StoreError::Edited { at: Seq(7) }))
    ));
}

#[test]
fn foreign_newer_and_broken_files_are_refused_and_left_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path());
    let newer = |path: &Path| {
        drop(SqliteJournal::open(path).unwrap());
        Connection::open(path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    };
    let foreign = |path: &Path| {
        Connection::open(path).unwrap().execute_batch("CREATE TABLE event (a)").unwrap();
    };
    let garbage = |path: &Path| fs::write(path, b"no database at all, ".repeat(100)).unwrap();
    let empty = |path: &Path| fs::write(path, b"").unwrap();
    type Maker<'a> = (&'a str, &'a dyn Fn(&Path));
    let makers: [Maker<'_>; 4] =
        [("newer", &newer), ("foreign", &foreign), ("garbage", &garbage), ("empty", &empty)];
    for (name, make) in makers {
        let _ = fs::remove_file(&path);
        make(&path);
        let before = fs::read(&path).unwrap();
        match (name, SqliteJournal::open(&path)) {
            (
                "newer",
                Err(OpenError::Schema { source: SchemaError::Newer { found: 99, .. }, .. }),
            ) => {}
            ("foreign", Err(OpenError::Schema { source: SchemaError::NotAJournal, .. })) => {}
            ("empty", Err(OpenError::Incomplete { .. })) => {}
            ("garbage", Err(OpenError::Store { source: StoreError::Damaged(_), .. })) => {}
            (_, other) => panic!("{name}: {other:?}"),
        }
        assert!(SqliteJournal::inspect(&path).is_err(), "{name}");
        assert!(fs::read(&path).unwrap() == before, "{name}: the file was changed");
    }
    // A log without its file: what it holds must not be put into a new journal.
    fs::remove_file(&path).unwrap();
    fs::write(directory.path().join("journal.db-wal"), b"x").unwrap();
    assert!(matches!(SqliteJournal::open(&path), Err(OpenError::Incomplete { .. })));
    assert!(!path.exists());
}

#[test]
fn files_are_their_owners_only() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("a/b");
    let journal = SqliteJournal::open(&inner.join("journal.db")).unwrap();
    fill(&journal, &[ADA], 1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    for entry in fs::read_dir(&inner).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(journal);
    fs::set_permissions(inner.join("journal.db"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(SqliteJournal::open(&inner.join("journal.db")).unwrap());
    assert_eq!(mode(&inner.join("journal.db")), 0o600);
}

#[test]
fn an_inspection_writes_nothing_and_works_beside_the_journal() {
    let directory = a_journal_of(5);
    let journal = open(directory.path());
    append(&journal, batch(vec![(5, vec![summarised(ADA, "x")])])).unwrap();
    let inspected = SqliteJournal::inspect(&file(directory.path())).unwrap();
    assert_eq!(inspected.file_faults, [""; 0]);
    assert_eq!((inspected.records.head, inspected.records.unreadable.len()), (Seq(6), 0));
    append(&journal, batch(vec![(6, vec![summarised(ADA, "x")])])).unwrap();
}

//! Files cut off or with flipped bits anywhere: opened with an error or read with values, and never
//! a panic, half an append, or a record that nobody wrote.

use std::fs;
use std::path::Path;

use perennial_store::{Damage, Journal, Record, Seq, SqliteJournal};

use crate::events::*;

/// A copy of a journal's files, as a crash would leave them.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).unwrap();
    for name in ["journal.db", "journal.db-wal"] {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

/// What became of a journal that was tampered with.
enum Outcome {
    Refused,
    /// Opened, and a part of it can't be read at all.
    Partly,
    /// Each record was read or reported; this is how many were read.
    Read(usize),
}

/// Opens what is there and reads all of it: what is read as true was written.
fn check(directory: &Path, written: &[Record], context: &str) -> Outcome {
    let Ok(journal) = SqliteJournal::open(&file(directory)) else { return Outcome::Refused };
    let mut accounted = vec![false; written.len()];
    let mut read = 0;
    let mut after = Seq(0);
    loop {
        let Ok(page) = journal.read(after, 50) else { return Outcome::Partly };
        let Some(last) = page.last() else { break };
        after = last.seq;
        for record in page.iter().filter(|record| record.event.is_ok()) {
            let place = record.seq.0 as usize - 1;
            assert_eq!(Some(record), written.get(place), "{context}");
            accounted[place] = true;
            read += 1;
        }
    }
    for unreadable in journal.quarantine() {
        let from = match unreadable.why {
            Damage::Missing { from } => from,
            _ => unreadable.seq,
        };
        let end = accounted.len().min(unreadable.seq.0 as usize);
        accounted[..end][from.0 as usize - 1..].fill(true);
    }
    // The log may have been cut; otherwise none vanishes without a word.
    let cut = journal.head().0.0 as usize;
    let told = if context.starts_with("log") { cut } else { accounted.len() };
    assert!(accounted[..told].iter().all(|told| *told), "{context}: {accounted:?}");
    Outcome::Read(read)
}

/// Appends of three events over three streams, then the files as they are.
fn written(directory: &Path, appends: u64) -> (SqliteJournal, Vec<Record>) {
    let journal = open(directory);
    for version in 0..appends {
        let text = format!("append {version}");
        let entries = [summarised(ADA, &text), summarised(BOB, &text), started(version)]
            .map(|e| (version, vec![e]));
        append(&journal, batch(entries.to_vec())).unwrap();
    }
    let records = all(&journal);
    assert_eq!(records.len() as u64, appends * 3);
    (journal, records)
}

#[test]
fn a_log_cut_off_anywhere_is_a_journal_of_whole_appends() {
    let (original, torn) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (journal, records) = written(original.path(), 12);
    let torn = torn.path().join("torn");
    let length = fs::metadata(original.path().join("journal.db-wal")).unwrap().len();
    let mut seen = Vec::new();
    // Every boundary of a frame, and the bytes around it.
    for cut in (0..length).filter(|cut| matches!(cut % 4120, 31..=33 | 2000)).chain([length]) {
        copy(original.path(), &torn);
        let log = fs::OpenOptions::new().write(true).open(torn.join("journal.db-wal")).unwrap();
        log.set_len(cut).unwrap();
        if let Outcome::Read(read) = check(&torn, &records, &format!("log cut at {cut}")) {
            assert_eq!(read % 3, 0, "half an append at {cut}");
            seen.push(read);
        }
    }
    assert!(seen.is_sorted(), "{seen:?}");
    assert_eq!(seen.last(), Some(&36));
    drop(journal);
}

#[test]
fn a_flipped_bit_anywhere_is_never_read_as_true() {
    let (original, flipped) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (journal, records) = written(original.path(), 30);
    drop(journal);
    settle(&open(original.path()));
    let whole = fs::read(file(original.path())).unwrap();
    let flipped = flipped.path().join("flipped");
    let (mut unharmed, mut found) = (0, 0);
    // The header, then places all over the file by a step that is coprime to everything in it.
    let places = (0..100).step_by(5).chain((100..whole.len()).step_by(397));
    for place in places {
        copy(original.path(), &flipped);
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        fs::write(file(&flipped), &bytes).unwrap();
        match check(&flipped, &records, &format!("bit flipped at {place}")) {
            Outcome::Read(read) if read == records.len() => unharmed += 1,
            Outcome::Read(_) => found += 1,
            Outcome::Refused | Outcome::Partly => {}
        }
    }
    // Bits of free space and of derived rows harm no record; most others are in records.
    assert!(unharmed > 0 && found > 0, "{unharmed} unharmed, {found} found");
}

#[test]
fn a_file_cut_off_anywhere_is_refused_or_read_as_far_as_it_goes() {
    let (original, cut_off) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (journal, records) = written(original.path(), 30);
    drop(journal);
    settle(&open(original.path()));
    let length = fs::metadata(file(original.path())).unwrap().len();
    let cut_off = cut_off.path().join("cut");
    for cut in (1..length).step_by(1021) {
        copy(original.path(), &cut_off);
        fs::OpenOptions::new().write(true).open(file(&cut_off)).unwrap().set_len(cut).unwrap();
        match check(&cut_off, &records, &format!("cut at {cut}")) {
            Outcome::Read(read) => assert_ne!(read, records.len(), "cut at {cut}"),
            Outcome::Refused | Outcome::Partly => {}
        }
    }
}

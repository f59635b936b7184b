//! P7: durable appends at the journal's trait, beside the disk alone and SQLite alone.

use std::fs::File;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;

use anyhow::{Context, Result};
use perennial_core::event::{AgentEvent, Event, Move, What};
use perennial_core::exit::Exit;
use perennial_core::id::AgentId;
use perennial_core::reason::{Evidence, Finding, Reason, Witness};
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;
use perennial_store::stored::{self, Encoded};
use perennial_store::{Batch, Journal, SqliteJournal, Version};
use rusqlite::{Connection, params};

use crate::clock::timed;
use crate::samples::Samples;
use crate::table::Line;
use crate::workshop::Workshop;

/// Turns of disk and journal, so that a slow moment of the disk falls on both alike.
const TURNS: u64 = 10;
const APPENDS: u64 = 200;
const WRITERS: u64 = 64;
const APPENDS_EACH: u64 = 1500;
const BLOCK_BYTES: usize = 4096;
const FRAME_HEAD_BYTES: usize = 24;
const FRAME_BYTES: u64 = (FRAME_HEAD_BYTES + BLOCK_BYTES) as u64;

pub fn journal(workshop: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let room = workshop.room("journal")?;
    let journal = Arc::new(SqliteJournal::open(&room.join("journal.db"))?);
    let disk = File::create(room.join("block"))?;
    disk.write_all_at(&vec![1; FRAME_BYTES as usize * APPENDS as usize], 0)?;
    disk.sync_all()?;
    let raw = Raw::open(&room.join("raw.db"))?;
    let [mut syncs, mut frames, mut alone, mut appends] = [(); 4].map(|()| Samples::default());
    for turn in 0..TURNS {
        for number in 0..APPENDS {
            syncs.add(synced(&disk, number * BLOCK_BYTES as u64)?);
        }
        for number in 0..APPENDS / 2 {
            frames.add(synced_frames(&disk, number * 2 * FRAME_BYTES)?);
        }
        for number in 0..APPENDS {
            let (ms, done) = timed(|| raw.commit(u64::MAX..=u64::MAX, turn * APPENDS + number));
            done?;
            alone.add(ms);
        }
        for number in 0..APPENDS {
            let (ms, done) = timed(|| append(&journal, AgentId(1), turn * APPENDS + number));
            done?;
            appends.add(ms);
        }
    }
    let count = appends.count();
    lines.push(Line {
        row: "P7",
        what: format!("durable append, one at a time, p50 of {count}"),
        ours: format!("{:.3} ms (p99 {:.1})", appends.p50(), appends.p99()),
        peer: format!(
            "fdatasync {:.3} ms, of a commit's bytes {:.3} ms, SQLite alone {:.3} ms",
            syncs.p50(),
            frames.p50(),
            alone.p50()
        ),
        ratio: Some(appends.p50() / syncs.p50()),
        goal: "≤ 1.5 × fdatasync".to_owned(),
        reached: appends.p50() <= 1.5 * syncs.p50(),
    });
    let ours = together(&journal)?;
    let raw = raw.rows_per_second()?;
    lines.push(Line {
        row: "P7",
        what: format!("durable appends of {WRITERS} threads at once"),
        ours: format!("{ours:.0} rows/s"),
        peer: format!("SQLite, {WRITERS} rows a commit {raw:.0} rows/s"),
        ratio: Some(ours / raw),
        goal: "≥ 20,000 rows/s and ≥ 0.5 × SQLite".to_owned(),
        reached: ours >= 20_000.0 && ours >= 0.5 * raw,
    });
    Ok(())
}

fn synced(disk: &File, offset: u64) -> Result<f64> {
    let block = [7; BLOCK_BYTES];
    let (ms, done) = timed(|| disk.write_all_at(&block, offset).and_then(|()| disk.sync_data()));
    Ok(done.map(|()| ms)?)
}

/// What SQLite writes to its log for one row: a page of the table and one of its index.
fn synced_frames(disk: &File, offset: u64) -> Result<f64> {
    let (head, page) = ([7; FRAME_HEAD_BYTES], [7; BLOCK_BYTES]);
    let frame = |at: u64| {
        disk.write_all_at(&head, at)?;
        disk.write_all_at(&page, at + FRAME_HEAD_BYTES as u64)
    };
    let (ms, done) = timed(|| {
        frame(offset)?;
        frame(offset + FRAME_BYTES)?;
        disk.sync_data()
    });
    Ok(done.map(|()| ms)?)
}

/// One event of one agent; returns when it is durable.
fn append(journal: &SqliteJournal, agent: AgentId, number: u64) -> Result<()> {
    let (sender, receiver) = channel();
    let batch = Batch::of(vec![event(agent, number)], |_| Version(number).into());
    let done = move |result| {
        // The receiver waits below for exactly this.
        let _ = sender.send(result);
    };
    journal.append(batch, Box::new(done));
    receiver.recv().context("the journal closed")??;
    Ok(())
}

/// What a crash writes.
fn event(agent: AgentId, number: u64) -> Event {
    let at = Time(1_700_000_000_000_000 + number);
    let evidence =
        Evidence { witness: Witness::Kernel, fact: Finding::Exited(Exit::KillSignal(9)), at };
    let crash = Move {
        cause: Cause::EndedCrashed,
        to: State::Crashed,
        reason: Reason::Retrying,
        evidence,
        until: Some(at),
    };
    Event { at, what: What::Agent(agent, AgentEvent::Moved(crash)) }
}

/// Rows per second of many threads, each of which waits for its own append.
fn together(journal: &Arc<SqliteJournal>) -> Result<f64> {
    let (ms, done) = timed(|| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let journal = Arc::clone(journal);
                std::thread::spawn(move || {
                    let agent = AgentId(100 + u128::from(writer));
                    (0..APPENDS_EACH).try_for_each(|number| append(&journal, agent, number))
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| match writer.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    done?;
    Ok((WRITERS * APPENDS_EACH) as f64 / (ms / 1e3))
}

/// SQLite alone: the same rows in the same table, without threads, versions or a chain of hashes.
struct Raw {
    connection: Connection,
    encoded: Encoded,
}

impl Raw {
    fn open(path: &Path) -> Result<Raw> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             CREATE TABLE event (seq INTEGER PRIMARY KEY, stream BLOB, version INTEGER, at INTEGER,
                 kind TEXT, form INTEGER, payload TEXT, hash BLOB) STRICT;
             CREATE UNIQUE INDEX event_by_stream ON event (stream, version);",
        )?;
        Ok(Raw { connection, encoded: stored::write(&event(AgentId(1), 1).what) })
    }

    /// One row for each of these streams, in one commit.
    fn commit(&self, streams: RangeInclusive<u64>, version: u64) -> rusqlite::Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO event (stream, version, at, kind, form, payload, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for stream in streams {
            insert.execute(params![
                u128::from(stream).to_be_bytes(),
                version.cast_signed(),
                1_700_000_000_000_000_i64,
                self.encoded.kind,
                self.encoded.form,
                self.encoded.payload,
                [3u8; 32]
            ])?;
        }
        self.connection.prepare_cached("COMMIT")?.execute([]).map(drop)
    }

    /// As many rows a commit as there are writers.
    fn rows_per_second(&self) -> Result<f64> {
        let commits = || (0..APPENDS_EACH).try_for_each(|number| self.commit(1..=WRITERS, number));
        let (ms, done) = timed(commits);
        done?;
        Ok((WRITERS * APPENDS_EACH) as f64 / (ms / 1e3))
    }
}

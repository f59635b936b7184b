//! What every journal promises of appends: whole or not at all, where the stream is, and nothing that
//! may rest on what failed. SQLite, memory and the simulation keep the same table; the store's own
//! contract has the rest (reading, following, derived rows), which the simulation does without.

use std::sync::mpsc;

use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::id::{AgentId, NodeId};
use perennial_core::time::Time;
use perennial_sim::{NotTaken, SimulatedJournal};
use perennial_store::{
    AppendError, Batch, Journal, Link, MemoryJournal, Seq, SqliteJournal, StreamAppend, Version,
};

const ADA: AgentId = AgentId(1);
const BOB: AgentId = AgentId(2);

/// What becomes of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Taken,
    Conflict,
    AfterFailed,
}

use Fate::*;

/// One append: for each entry its agent, the version that it expects and its events; how many
/// failures its maker has heard of; and what becomes of it.
struct Row(&'static [(AgentId, u64, u64)], Option<(u64, Option<u64>)>, Fate);

/// Groups of appends that are queued without waiting for each other.
const TABLE: &[(&str, &[&[Row]])] = &[
    (
        "an append is whole over all its streams",
        &[
            &[Row(&[(ADA, 0, 2), (BOB, 0, 1)], None, Taken)],
            &[Row(&[(ADA, 2, 1), (BOB, 0, 1)], None, Conflict)],
            &[Row(&[(ADA, 2, 1), (BOB, 1, 1)], None, Taken)],
        ],
    ),
    (
        "a conflict changes nothing",
        &[
            &[Row(&[(ADA, 0, 3)], None, Taken)],
            &[Row(&[(ADA, 0, 1)], None, Conflict)],
            &[Row(&[(ADA, 2, 1)], None, Conflict)],
            &[Row(&[(ADA, 4, 1)], None, Conflict)],
            &[Row(&[(ADA, 3, 1)], None, Taken)],
        ],
    ),
    (
        "a stream may come twice in one append",
        &[
            &[Row(&[(ADA, 0, 1), (BOB, 0, 1), (ADA, 1, 2)], None, Taken)],
            &[Row(&[(ADA, 3, 1), (BOB, 1, 1), (ADA, 3, 1)], None, Conflict)],
        ],
    ),
    (
        "appends that build on each other need not wait",
        &[&[
            Row(&[(ADA, 0, 1)], None, Taken),
            Row(&[(ADA, 9, 1)], None, Conflict),
            Row(&[(ADA, 1, 1)], None, Taken),
            Row(&[(ADA, 2, 1), (BOB, 0, 1)], None, Taken),
        ]],
    ),
    (
        "what may rest on a failed append fails with it",
        &[
            &[
                Row(&[(ADA, 0, 1)], Some((1, None)), Taken),
                Row(&[(ADA, 7, 1)], Some((2, Some(1))), Conflict),
                Row(&[(BOB, 0, 1)], Some((3, Some(2))), AfterFailed),
                Row(&[(BOB, 1, 1)], Some((4, Some(3))), AfterFailed),
                // Decided anew, after the failure was heard of.
                Row(&[(BOB, 0, 1)], Some((5, Some(1))), Taken),
            ],
            &[Row(&[(BOB, 1, 1)], Some((6, Some(4))), AfterFailed)],
            &[Row(&[(BOB, 1, 1)], Some((7, Some(5))), Taken), Row(&[(ADA, 1, 1)], None, Taken)],
        ],
    ),
    ("an append of nothing", &[&[Row(&[], None, Taken), Row(&[(ADA, 0, 1)], None, Taken)]]),
];

trait Appends {
    fn append(&mut self, batches: Vec<Batch>) -> Vec<Fate>;
    fn events(&self) -> Vec<Event>;
}

impl Appends for SimulatedJournal {
    fn append(&mut self, batches: Vec<Batch>) -> Vec<Fate> {
        let fate = |answer: Result<(), NotTaken>| match answer {
            Ok(()) => Taken,
            Err(NotTaken::Conflict) => Conflict,
            Err(NotTaken::AfterFailed) => AfterFailed,
            Err(NotTaken::Full | NotTaken::Io) => panic!("{answer:?} without a fault"),
        };
        self.append(batches).into_iter().map(fate).collect()
    }

    fn events(&self) -> Vec<Event> {
        self.events()
    }
}

/// A journal of the store, and the directory that it lies in.
struct Stored<J> {
    journal: J,
    _dir: Option<tempfile::TempDir>,
}

impl<J: Journal> Appends for Stored<J> {
    fn append(&mut self, batches: Vec<Batch>) -> Vec<Fate> {
        let (answered, answers) = mpsc::channel();
        for batch in batches {
            let answered = answered.clone();
            self.journal
                .append(batch, Box::new(move |answer| answered.send(answer).expect("awaited")));
        }
        drop(answered);
        let fate = |answer: Result<Seq, AppendError>| match answer {
            Ok(_) => Taken,
            Err(AppendError::Conflict { .. }) => Conflict,
            Err(AppendError::AfterFailed) => AfterFailed,
            Err(error) => panic!("{error}"),
        };
        answers.into_iter().map(fate).collect()
    }

    fn events(&self) -> Vec<Event> {
        let records = self.journal.read(Seq(0), 1000).expect("readable");
        records.into_iter().map(|record| record.event.expect("readable")).collect()
    }
}

/// Events that tell each other apart.
fn events(agent: AgentId, count: u64, serial: &mut u64) -> Vec<Event> {
    let mut event = || {
        *serial += 1;
        let summary = serial.to_string();
        Event { at: Time(7), what: What::Agent(agent, AgentEvent::Summarised { summary }) }
    };
    (0..count).map(|_| event()).collect()
}

fn batch(row: &Row, serial: &mut u64) -> Batch {
    let entry = |(agent, expected, count): &(AgentId, u64, u64)| StreamAppend {
        stream: (*agent).into(),
        expected: Version(*expected).into(),
        events: events(*agent, *count, serial),
    };
    Batch {
        entries: row.0.iter().map(entry).collect(),
        link: row.1.map(|(number, after)| Link { writer: NodeId::HOME, number, after }),
        ..Batch::default()
    }
}

fn keeps_the_contract<A: Appends>(new: impl Fn() -> A) {
    for (what, groups) in TABLE {
        let (mut journal, mut serial, mut expected) = (new(), 0, Vec::new());
        for group in *groups {
            let batches: Vec<Batch> = group.iter().map(|row| batch(row, &mut serial)).collect();
            for (_, batch) in group.iter().zip(&batches).filter(|(row, _)| row.2 == Taken) {
                expected.extend(batch.entries.iter().flat_map(|entry| entry.events.clone()));
            }
            let fates: Vec<Fate> = group.iter().map(|row| row.2).collect();
            assert_eq!(journal.append(batches), fates, "{what}");
            assert_eq!(journal.events(), expected, "{what}");
        }
    }
}

#[test]
fn the_simulated_journal_keeps_the_contract() {
    keeps_the_contract(SimulatedJournal::default);
}

#[test]
fn the_journal_in_memory_keeps_the_contract() {
    keeps_the_contract(|| Stored { journal: MemoryJournal::new(), _dir: None });
}

#[test]
fn the_journal_in_sqlite_keeps_the_contract() {
    keeps_the_contract(|| {
        let dir = tempfile::tempdir().expect("a directory");
        let journal = SqliteJournal::open(&dir.path().join("journal.db")).expect("opens");
        Stored { journal, _dir: Some(dir) }
    });
}

//! The index of signals: written with the records, and the same when it is made again from them.

use std::sync::Arc;

use perennial_core::event::{AgentEvent, Event};
use perennial_core::exit::Exit;
use perennial_core::id::{SessionNumber, SignalId};
use perennial_core::message::Mailbox;
use perennial_core::reason::{Reason, Verb};
use perennial_core::restart::Tally;
use perennial_core::session::Pace;
use perennial_core::signal::{Emitted, SignalKind};
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;
use perennial_store::{
    IdsOf, MemoryJournal, Seq, SignalOrigin, SignalPlace, SignalQuery, SignalRow, Store,
};
use rusqlite::Connection;

use crate::events::*;
use crate::golden_signals::sent;

/// A session begins and crashes, the next one is stopped; in between somebody sends a signal.
fn lived(journal: &dyn Store) {
    let ended = |number, asked| AgentEvent::SessionEnded {
        number: SessionNumber(number),
        exit: Exit::Code(3),
        is_clean: false,
        tally: Tally::ByFirstRule,
        asked,
    };
    let ending = AgentEvent::SessionEnding { number: SessionNumber(2), pace: Pace::Graceful };
    let crashed = moved(ADA, 5, Cause::EndedCrashed, State::Crashed, asked(Verb::Stop, 5));
    let stopped = moved(ADA, 9, Cause::Stop, State::Sleeping, asked(Verb::Stop, 9));
    let working = moved(ADA, 3, Cause::Announced, State::Working, asked(Verb::Stop, 3));
    let signal = Event { at: Time(6), what: sent(Mailbox::Operator) };
    let again = AgentEvent::SessionWanted {
        number: SessionNumber(2),
        opening: perennial_core::conversation::Opening::Bare,
    };
    for (version, events) in [
        (0, vec![hatched(ADA, "ada"), wanted(ADA, 1)]),
        (2, vec![working]),
        (3, vec![of_agent(ADA, 5, ended(1, None)), crashed]),
        (0, vec![signal]),
        (5, vec![of_agent(ADA, 7, again)]),
        (6, vec![stopped, of_agent(ADA, 9, ending)]),
        (8, vec![of_agent(ADA, 12, ended(2, Some(Reason::Stopped)))]),
    ] {
        append(journal, batch(vec![(version, events)])).expect("appended");
    }
}

fn read(journal: &dyn Store, kinds: &[SignalKind], place: SignalPlace) -> Vec<SignalRow> {
    let query = SignalQuery { kinds: kinds.to_vec(), place };
    journal.signals(&query, 100).expect("readable")
}

fn check(journal: &dyn Store) -> Vec<SignalRow> {
    lived(journal);
    let all = read(journal, &[], SignalPlace::After(Seq(0)));
    let kinds: Vec<SignalKind> = all.iter().map(|row| row.kind).collect();
    assert_eq!(
        kinds,
        [
            SignalKind::AgentRegistered,
            SignalKind::AgentCrashed,
            SignalKind::MergeConflict,
            SignalKind::AgentRegistered,
            SignalKind::AgentTerminated,
        ]
    );
    let of_crash = SignalOrigin::Emitted {
        agent: ADA,
        session: Some(SessionNumber(1)),
        says: Emitted::Nothing,
    };
    assert_eq!(all[1].origin, of_crash);
    // The session was asked to end some time before it did.
    let of_stop = SignalOrigin::Emitted {
        agent: ADA,
        session: Some(SessionNumber(2)),
        says: Emitted::Ended("stopped"),
    };
    assert_eq!((&all[4].origin, all[4].at), (&of_stop, Time(12)));
    let mut reversed = read(journal, &[], SignalPlace::Before(None));
    reversed.reverse();
    assert_eq!(reversed, all);
    let some = read(journal, &[SignalKind::AgentRegistered], SignalPlace::After(all[0].seq));
    assert_eq!(some, [all[3].clone()]);
    for row in &all {
        assert_eq!(journal.signal_place(row.id).expect("readable"), Some(row.seq));
    }
    let mut ids: Vec<_> = all.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
    all
}

// covers: S-19
#[test]
fn what_happens_to_agents_is_a_signal_without_an_event_of_its_own() {
    let in_memory = check(&MemoryJournal::new());
    let directory = tempfile::tempdir().unwrap();
    let journal: Arc<dyn Store> = Arc::new(open(directory.path()));
    assert_eq!(check(&*journal), in_memory);
}

#[test]
fn made_again_from_the_journal_the_index_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let before = check(&open(directory.path()));
    let connection = Connection::open(file(directory.path())).unwrap();
    let older = "DROP TABLE signal; DROP TABLE task; PRAGMA user_version = 6;";
    connection.execute_batch(older).unwrap();
    drop(connection);
    let journal = open(directory.path());
    assert_eq!(read(&journal, &[], SignalPlace::After(Seq(0))), before);
}

/// An id is found by its end, whatever it is of.
#[test]
fn ids_are_found_by_their_ends() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = perennial_store::SqliteJournal::open(&dir.path().join("journal.db")).expect("new");
    let memory = MemoryJournal::new();
    for journal in [&file as &dyn Store, &memory] {
        lived(journal);
        let all = read(journal, &[], SignalPlace::After(Seq(0)));
        for row in &all {
            let id = row.id.to_string();
            let end = SignalId::end_of(&id[id.len() - 10..]).expect("an end");
            let found = journal.ids_ending(IdsOf::Signals, end, 10).expect("readable");
            assert_eq!(found, [row.id.0]);
            // It is no task's.
            assert!(journal.ids_ending(IdsOf::Tasks, end, 10).expect("readable").is_empty());
        }
    }
}

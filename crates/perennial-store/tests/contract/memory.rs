//! The faults that a simulation orders from the journal in memory.

use std::sync::{Arc, Mutex};

use perennial_store::chain::verify;
use perennial_store::{AppendError, Damage, Journal, MemoryJournal, Seq, StoreError};

use crate::events::*;

type Answers = Arc<Mutex<Vec<Result<Seq, String>>>>;

fn queue(journal: &MemoryJournal, version: u64, answers: &Answers) {
    let answers = Arc::clone(answers);
    let told = move |answer: Result<Seq, AppendError>| {
        answers.lock().unwrap().push(answer.map_err(|error| error.to_string()));
    };
    journal.append(batch(vec![(version, vec![summarised(ADA, "x")])]), Box::new(told));
}

#[test]
fn a_held_journal_commits_when_told_to() {
    let (journal, answers) = (MemoryJournal::held(), Answers::default());
    (0..3).for_each(|version| queue(&journal, version, &answers));
    assert_eq!((journal.queued(), journal.head().0), (3, Seq(0)));
    assert_eq!(journal.commit(2), 1);
    assert_eq!(*answers.lock().unwrap(), [Ok(Seq(1)), Ok(Seq(2))]);
    assert_eq!(journal.commit(9), 0);
    assert_eq!(journal.head().0, Seq(3));
}

#[test]
fn a_crash_keeps_what_was_committed_and_answers_nobody() {
    let (journal, answers) = (MemoryJournal::held(), Answers::default());
    (0..5).for_each(|version| queue(&journal, version, &answers));
    journal.commit(1);
    // One more reached the disk, and its answer was lost with the program.
    journal.crash(1);
    assert_eq!((journal.queued(), journal.head().0), (0, Seq(2)));
    assert_eq!(*answers.lock().unwrap(), [Ok(Seq(1))]);
    queue(&journal, 2, &answers);
    journal.commit(1);
    assert_eq!(answers.lock().unwrap().last(), Some(&Ok(Seq(3))));
    assert_eq!(verify(&journal).unwrap().unreadable, []);
}

#[test]
fn the_nth_append_fails_and_those_that_built_on_it_conflict() {
    let journal = MemoryJournal::new();
    journal.fail_append(2);
    let next = |version| append(&journal, batch(vec![(version, vec![summarised(ADA, "x")])]));
    assert_eq!(next(0).unwrap(), Seq(1));
    assert!(matches!(next(1), Err(AppendError::Store(StoreError::Injected))));
    assert!(matches!(next(2), Err(AppendError::Conflict { .. })));
    assert_eq!(next(1).unwrap(), Seq(2));
    journal.set_full(true);
    assert!(matches!(next(2), Err(AppendError::Store(StoreError::Injected))));
    journal.set_full(false);
    assert_eq!(next(2).unwrap(), Seq(3));
}

#[test]
fn an_answer_may_lead_to_the_next_append() {
    let journal = Arc::new(MemoryJournal::new());
    let answers = Answers::default();
    let (own, inner) = (Arc::clone(&journal), Arc::clone(&answers));
    let first = batch(vec![(0, vec![summarised(ADA, "x")])]);
    journal.append(first, Box::new(move |_| queue(&own, 1, &inner)));
    assert_eq!(*answers.lock().unwrap(), [Ok(Seq(2))]);
}

#[test]
fn a_flipped_record_is_found() {
    let journal = MemoryJournal::new();
    fill(&journal, &[ADA], 4);
    journal.flip(Seq(2));
    let found = verify(&journal).unwrap().unreadable;
    assert_eq!(
        found.iter().map(|one| (one.seq, &one.why)).collect::<Vec<_>>(),
        [(Seq(2), &Damage::Altered)]
    );
    assert_eq!(journal.quarantine(), found);
}

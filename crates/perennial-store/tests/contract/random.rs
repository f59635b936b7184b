//! Random appends on both implementations, compared: the same answers, the same records.

use perennial_store::Store;
use std::sync::mpsc;

use perennial_core::id::AgentId;
use perennial_store::{AppendError, Batch, Journal, MemoryJournal, Seq, StreamAppend, Version};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::events::*;

/// For each entry: which stream, how far from what would be right, how many events.
type Shape = Vec<(u8, i8, u8)>;

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    // Mostly right, so that streams grow.
    let offset = prop_oneof![8 => Just(0i8), 1 => Just(1i8), 1 => Just(-1i8)];
    vec(vec((0u8..4, offset, 0u8..4), 0..4), 1..30)
}

fn batches(shapes: &[Shape]) -> Vec<Batch> {
    let mut versions = [0i64; 4];
    let mut batches = Vec::new();
    for (number, shape) in shapes.iter().enumerate() {
        let mut ahead = versions;
        let mut right = true;
        let mut entries = Vec::new();
        for (stream, offset, count) in shape {
            let version = &mut ahead[usize::from(*stream)];
            let expected = (*version + i64::from(*offset)).max(0);
            right &= expected == *version;
            *version += i64::from(*count);
            let agent = AgentId(u128::from(*stream));
            let event = |n| summarised(agent, &format!("append {number} event {n}"));
            entries.push(StreamAppend {
                stream: perennial_core::entity::Entity::Agent(agent),
                expected: Version(expected.unsigned_abs()).into(),
                events: (0..*count).map(event).collect(),
            });
        }
        if right {
            versions = ahead;
        }
        batches.push(Batch { entries, ..Batch::default() });
    }
    batches
}

/// All queued at once, so that SQLite commits groups of any size.
fn answers(journal: &dyn Store, batches: &[Batch]) -> Vec<Result<Seq, String>> {
    let (answered, answers) = mpsc::channel();
    for batch in batches {
        let answered = answered.clone();
        let told = |error: AppendError| error.to_string();
        journal.append(
            batch.clone(),
            Box::new(move |answer| answered.send(answer.map_err(told)).unwrap()),
        );
    }
    drop(answered);
    answers.iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn both_say_and_hold_the_same(shapes in shapes()) {
        let directory = tempfile::tempdir().unwrap();
        let batches = batches(&shapes);
        let (sqlite, memory) = (open(directory.path()), MemoryJournal::new());
        let said = answers(&sqlite, &batches);
        prop_assert_eq!(&said, &answers(&memory, &batches));
        prop_assert_eq!(all(&sqlite), all(&memory));
        prop_assert_eq!(sqlite.head(), memory.head());
        drop(sqlite);
        let again = open(directory.path());
        prop_assert_eq!(all(&again), all(&memory));
        prop_assert_eq!(again.head(), memory.head());
        prop_assert_eq!(again.quarantine(), vec![]);
    }
}

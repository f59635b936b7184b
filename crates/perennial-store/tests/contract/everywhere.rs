//! What holds for every implementation: each function here runs on SQLite and on memory.

use perennial_core::id::NodeId;
use perennial_store::Store;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use perennial_core::context::{self, Source};
use perennial_core::entity::Entity;
use perennial_core::event::{Event, What};
use perennial_core::id::{AgentId, MessageId, PostId, SessionNumber};
use perennial_core::message::{Content, MessageEvent, Sender};
use perennial_core::name::NameKey;
use perennial_core::reason::Reason;
use perennial_core::state::State;
use perennial_core::text::TextBody;
use perennial_core::time::Time;
use perennial_store::chain::verify;
use perennial_store::projection::{Context, Usage};
use perennial_store::record::LONGEST_PAYLOAD_BYTES;
use perennial_store::text::{self, LONGEST_TEXT_BYTES};
use perennial_store::{
    AppendError, Batch, Expected, Hash, Latest, Link, MemoryJournal, MessageStep, MessagesOf,
    RosterQuery, RosterRow, Seq, Snapshot, SnapshotSet, StreamAppend, Version,
};

use crate::events::*;

/// Long enough that only a hang is cut off.
const PATIENCE: Duration = Duration::from_secs(60);

macro_rules! on_both {
    ($($test:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $test() {
                let directory = tempfile::tempdir().expect("a directory");
                super::$test(&(Arc::new(crate::events::open(directory.path())) as Arc<dyn Store>));
            })*
            use super::{Arc, Store};
        }
        mod memory {
            $(#[test] fn $test() { super::$test(&(Arc::new(MemoryJournal::new()) as Arc<dyn Store>)); })*
            use super::{Arc, MemoryJournal, Store};
        }
    };
}

on_both!(
    an_append_is_whole_over_all_its_streams,
    a_conflict_says_where_the_stream_is,
    a_stream_may_come_twice_in_one_append,
    a_stream_may_be_looked_at_and_not_written,
    what_does_not_fit_is_refused_and_nothing_is_left_of_it,
    an_empty_append_is_done_after_all_before_it,
    records_are_numbered_and_linked,
    streams_are_read_by_version_in_pages,
    streams_of_one_kind_are_read_newest_first_in_pages,
    texts_survive_whatever_they_hold,
    appends_that_build_on_each_other_need_not_wait,
    what_rests_on_a_failed_append_fails_with_it,
    answers_come_in_commit_order,
    followers_see_everything_once_and_in_order,
    a_follower_is_woken_and_a_bell_rings,
    snapshots_hold_for_a_place_or_are_dropped,
    a_stream_is_read_back_from_its_end,
    of_samples_and_roster_the_latest_row_stays,
    the_buried_are_found_by_name_and_the_dead_page_by_page,
    samples_survive_field_by_field,
    times_and_texts_survive_at_their_limits,
    a_text_is_written_once_with_the_event_that_names_it,
    messages_are_read_as_far_as_they_have_come,
    tasks_are_found_by_where_they_stand,
);

fn tasks_are_found_by_where_they_stand(journal: &Arc<dyn Store>) {
    crate::tasks::are_found(&**journal);
}

fn an_append_is_whole_over_all_its_streams(journal: &Arc<dyn Store>) {
    let both = batch(vec![
        (0, vec![started(1)]),
        (0, vec![hatched(ADA, "ada"), wanted(ADA, 1)]),
        (0, vec![hatched(BOB, "bob")]),
    ]);
    assert_eq!(append(&**journal, both).unwrap(), Seq(4));
    // The last of the three streams is not where it is believed to be: none gets anything.
    let half =
        batch(vec![(1, vec![started(2)]), (2, vec![wanted(ADA, 2)]), (0, vec![wanted(BOB, 1)])]);
    assert!(matches!(append(&**journal, half), Err(AppendError::Conflict { .. })));
    assert_eq!(journal.head().0, Seq(4));
    assert_eq!(all(&**journal).len(), 4);
    assert_eq!(append(&**journal, batch(vec![(2, vec![wanted(ADA, 2)])])).unwrap(), Seq(5));
}

fn a_conflict_says_where_the_stream_is(journal: &Arc<dyn Store>) {
    fill(&**journal, &[ADA], 3);
    for wrong in [0, 2, 4] {
        match append(&**journal, batch(vec![(wrong, vec![summarised(ADA, "x")])])) {
            Err(AppendError::Conflict { stream, expected, actual }) => {
                assert_eq!(
                    (stream, expected, actual),
                    (Entity::Agent(ADA), Version(wrong).into(), Version(3))
                );
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(journal.head().0, Seq(3));
}

fn a_stream_may_come_twice_in_one_append(journal: &Arc<dyn Store>) {
    let events = vec![
        summarised(ADA, "1"),
        summarised(BOB, "1"),
        summarised(ADA, "2"),
        summarised(ADA, "3"),
    ];
    let batch = Batch::of(events.clone(), |_| Version(0).into());
    assert_eq!(batch.entries.len(), 3);
    append(&**journal, batch).unwrap();
    let read: Vec<_> = all(&**journal).into_iter().map(|record| record.event.unwrap()).collect();
    assert_eq!(read, events);
    let versions = all(&**journal).iter().map(|record| record.version.0).collect::<Vec<_>>();
    assert_eq!(versions, [1, 1, 2, 3]);
}

fn what_does_not_fit_is_refused_and_nothing_is_left_of_it(journal: &Arc<dyn Store>) {
    let large = summarised(BOB, &"x".repeat(LONGEST_PAYLOAD_BYTES));
    let refused =
        append(&**journal, batch(vec![(0, vec![summarised(ADA, "fits")]), (0, vec![large])]));
    assert!(matches!(refused, Err(AppendError::TooLarge { stream: Entity::Agent(BOB), .. })));
    let mixed = batch(vec![(0, vec![summarised(ADA, "a"), summarised(BOB, "b")])]);
    assert!(matches!(append(&**journal, mixed), Err(AppendError::Misplaced { .. })));
    assert_eq!(all(&**journal), []);
    let largest = summarised(ADA, &"x".repeat(LONGEST_PAYLOAD_BYTES - 14));
    append(&**journal, batch(vec![(0, vec![largest.clone()])])).unwrap();
    assert_eq!(all(&**journal)[0].event.as_ref(), Ok(&largest));
}

fn an_empty_append_is_done_after_all_before_it(journal: &Arc<dyn Store>) {
    assert_eq!(append(&**journal, Batch::default()).unwrap(), Seq(0));
    for version in 0..20 {
        let event = summarised(ADA, "x");
        journal.append(
            batch(vec![(version, vec![event])]),
            Box::new(|answer| {
                answer.unwrap();
            }),
        );
    }
    assert_eq!(append(&**journal, Batch::default()).unwrap(), Seq(20));
}

fn records_are_numbered_and_linked(journal: &Arc<dyn Store>) {
    assert_eq!(journal.head(), (Seq(0), Hash::GENESIS));
    fill(&**journal, &[ADA, BOB], 60);
    let records = all(&**journal);
    let mut before = Hash::GENESIS;
    for (position, record) in records.iter().enumerate() {
        assert_eq!(record.seq, Seq(position as u64 + 1));
        assert_eq!(record.prev_hash, before);
        assert_eq!(record.at, Time(7));
        before = record.hash;
    }
    assert_eq!(journal.head(), (Seq(120), before));
    let verified = verify(&**journal).unwrap();
    assert_eq!((verified.head, verified.unreadable), (Seq(120), vec![]));
    assert_eq!(journal.quarantine(), []);
}

fn streams_are_read_by_version_in_pages(journal: &Arc<dyn Store>) {
    fill(&**journal, &[ADA, BOB], 10);
    let whole = journal.read_stream(&Entity::Agent(BOB), Version(0), 100).unwrap();
    let versions: Vec<u64> = whole.iter().map(|record| record.version.0).collect();
    assert_eq!(versions, (1..=10).collect::<Vec<_>>());
    assert!(whole.iter().all(|r| r.stream == Some(Entity::Agent(BOB)) && r.event.is_ok()));
    let page = journal.read_stream(&Entity::Agent(BOB), Version(3), 4).unwrap();
    assert_eq!(page, whole[3..7]);
    assert_eq!(journal.read_stream(&Entity::Node(NodeId::HOME), Version(0), 9).unwrap(), []);
    assert_eq!(journal.read(Seq(20), 9).unwrap(), []);
    assert_eq!(journal.read(Seq(17), 2).unwrap().len(), 2);
}

fn streams_of_one_kind_are_read_newest_first_in_pages(journal: &Arc<dyn Store>) {
    // Not in the order of their ids, and among streams of every other kind.
    let ids = [7, 1, 1 << 100, u128::MAX - 1, 0];
    for id in ids {
        let written = batch(vec![(0, vec![posted(id, "text")])]);
        append(&**journal, written.with_texts(vec![text::body("text")])).unwrap();
        append(&**journal, batch(vec![(0, vec![summarised(AgentId(id), "x")])])).unwrap();
    }
    append(&**journal, batch(vec![(0, vec![started(1)])])).unwrap();
    let page = |before: u128, limit| {
        let records = journal.streams_before(&Entity::Post(PostId(before)), limit).unwrap();
        assert!(records.iter().all(|record| record.event.is_ok()));
        records.into_iter().map(|record| record.stream.expect("a stream")).collect::<Vec<_>>()
    };
    let posts = |ids: &[u128]| ids.iter().map(|id| Entity::Post(PostId(*id))).collect::<Vec<_>>();
    assert_eq!(page(u128::MAX, 100), posts(&[u128::MAX - 1, 1 << 100, 7, 1, 0]));
    assert_eq!(page(u128::MAX, 2), posts(&[u128::MAX - 1, 1 << 100]));
    assert_eq!(page(1 << 100, 2), posts(&[7, 1]));
    assert_eq!(page(0, 2), []);
    // One record of each stream, its first.
    append(&**journal, batch(vec![(1, vec![summarised(AgentId(7), "y")])])).unwrap();
    let agents = journal.streams_before(&Entity::Agent(AgentId(8)), 9).unwrap();
    assert_eq!(agents.iter().map(|record| record.version.0).collect::<Vec<_>>(), [1, 1, 1]);
}

fn texts_survive_whatever_they_hold(journal: &Arc<dyn Store>) {
    let texts = ["", "\0 in \0", "\u{1b}[2J\r\n\u{202e}\u{feff}", &"é漢🦀".repeat(7000)];
    for (id, words) in texts.iter().enumerate() {
        let written = batch(vec![(0, vec![posted(id as u128, words)])]);
        append(&**journal, written.with_texts(vec![text::body(words)])).unwrap();
    }
    for words in texts {
        assert_eq!(journal.text(text::digest(words)).unwrap().as_deref(), Some(words));
    }
    assert_eq!(journal.text(text::digest("never written")).unwrap(), None);
}

fn appends_that_build_on_each_other_need_not_wait(journal: &Arc<dyn Store>) {
    let (answered, answers) = mpsc::channel();
    for version in 0..200u64 {
        // Each tenth is wrong: it alone fails.
        let expected = if version % 10 == 9 { 10_000 } else { version - version / 10 };
        let answered = answered.clone();
        let batch = batch(vec![(expected, vec![summarised(ADA, "x")])]);
        journal.append(batch, Box::new(move |answer| answered.send(answer.is_ok()).unwrap()));
    }
    drop(answered);
    let answers: Vec<bool> = answers.iter().collect();
    let expected: Vec<bool> = (0..200).map(|version| version % 10 != 9).collect();
    assert_eq!(answers, expected);
    assert_eq!(journal.head().0, Seq(180));
}

fn what_rests_on_a_failed_append_fails_with_it(journal: &Arc<dyn Store>) {
    let (answered, answers) = mpsc::channel();
    let queue = |agent, expected, number, after| {
        let answered = answered.clone();
        let link = Link { writer: NodeId::HOME, number, after };
        let batch = batch(vec![(expected, vec![summarised(agent, "x")])]).linked(link);
        journal.append(batch, Box::new(move |answer| answered.send(answer).unwrap()));
    };
    queue(ADA, 0, 1, None);
    queue(ADA, 7, 2, Some(1));
    // Of other streams, but decided when those before were believed to come about.
    queue(BOB, 0, 3, Some(2));
    queue(BOB, 1, 4, Some(3));
    // Decided anew, after the failure was heard of.
    queue(BOB, 0, 5, Some(1));
    queue(ADA, 1, 6, Some(5));
    assert_eq!(answers.recv().unwrap().unwrap(), Seq(1));
    assert!(matches!(answers.recv().unwrap(), Err(AppendError::Conflict { .. })));
    assert!(matches!(answers.recv().unwrap(), Err(AppendError::AfterFailed)));
    assert!(matches!(answers.recv().unwrap(), Err(AppendError::AfterFailed)));
    assert_eq!(answers.recv().unwrap().unwrap(), Seq(2));
    assert_eq!(answers.recv().unwrap().unwrap(), Seq(3));
    // Who says nothing of other appends rests on versions alone.
    assert_eq!(append(&**journal, batch(vec![(2, vec![summarised(ADA, "y")])])).unwrap(), Seq(4));
}

fn answers_come_in_commit_order(journal: &Arc<dyn Store>) {
    let order = Arc::new(Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for writer in 0..8u128 {
            let order = &order;
            scope.spawn(move || {
                for version in 0..50 {
                    let (order, own) = (Arc::clone(order), Arc::clone(journal));
                    let batch = batch(vec![(version, vec![summarised(AgentId(writer), "x")])]);
                    let done = move |answer: Result<Seq, AppendError>| {
                        let seq = answer.unwrap();
                        // Whoever is answered finds the record.
                        assert!(own.head().0 >= seq);
                        order.lock().unwrap().push(seq);
                    };
                    journal.append(batch, Box::new(done));
                }
            });
        }
    });
    settle(&**journal);
    let order = order.lock().unwrap();
    assert_eq!(*order, (1..=400).map(Seq).collect::<Vec<_>>());
}

fn followers_see_everything_once_and_in_order(journal: &Arc<dyn Store>) {
    const WRITERS: u64 = 6;
    const EACH: u64 = 60;
    thread::scope(|scope| {
        for after in [0u64, 0, 17, 200] {
            scope.spawn(move || {
                let mut follower = journal.follow(Seq(after));
                for expected in after + 1..=WRITERS * EACH {
                    let record = follower.next(PATIENCE).unwrap().expect("it comes");
                    assert_eq!(record.seq, Seq(expected));
                    assert!(record.event.is_ok());
                }
                assert_eq!(follower.try_next().unwrap(), None);
                assert_eq!(follower.position(), Seq(WRITERS * EACH));
            });
        }
        for writer in 0..WRITERS {
            scope.spawn(move || fill(&**journal, &[AgentId(u128::from(writer))], EACH));
        }
    });
}

fn a_follower_is_woken_and_a_bell_rings(journal: &Arc<dyn Store>) {
    let mut follower = journal.follow(Seq(0));
    assert_eq!(follower.next(Duration::ZERO).unwrap(), None);
    let (rang, rings) = mpsc::channel();
    follower.on_news(Arc::new(move || {
        let _ = rang.send(());
    }));
    fill(&**journal, &[ADA], 1);
    rings.recv_timeout(PATIENCE).expect("the bell rings");
    assert_eq!(follower.try_next().unwrap().unwrap().seq, Seq(1));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| follower.next(PATIENCE).unwrap().unwrap().seq);
        append(&**journal, batch(vec![(1, vec![summarised(ADA, "x")])])).unwrap();
        assert_eq!(waiting.join().unwrap(), Seq(2));
    });
    // A follower that is gone takes its bell along.
    drop(follower);
    while rings.try_recv().is_ok() {}
    assert!(matches!(rings.try_recv(), Err(mpsc::TryRecvError::Disconnected)));
}

fn snapshot(agent: AgentId, version: u64, state: &str) -> Snapshot {
    Snapshot {
        stream: Entity::Agent(agent),
        version: Version(version),
        form: "form".into(),
        state: Some(state.into()),
        is_over: false,
    }
}

/// Puts a set, and tells whether it was kept.
fn put(journal: &dyn Store, snapshots: Vec<Snapshot>) -> bool {
    let (sender, receiver) = mpsc::channel();
    let kept = move |is_kept| {
        let _ = sender.send(is_kept);
    };
    journal.put_snapshots(snapshots, Box::new(kept));
    receiver.recv_timeout(PATIENCE).expect("an answer")
}

fn snapshots_hold_for_a_place_or_are_dropped(journal: &Arc<dyn Store>) {
    let set = |covers, snapshots, over| SnapshotSet { covers: Seq(covers), snapshots, over };
    assert_eq!(journal.snapshots().unwrap(), SnapshotSet::default());
    fill(&**journal, &[ADA, BOB], 2);
    let (ada, bob) = (snapshot(ADA, 2, "{}"), snapshot(BOB, 2, "{}"));
    // One that changed is missing: what it covers would be a lie.
    assert!(!put(&**journal, vec![ada.clone()]));
    assert_eq!(journal.snapshots().unwrap(), SnapshotSet::default());
    assert!(put(&**journal, vec![ada.clone(), bob.clone()]));
    assert_eq!(journal.snapshots().unwrap(), set(4, vec![ada.clone(), bob.clone()], 0));
    // Made before an append that it does not know: of a life that is not in the journal.
    assert!(!put(&**journal, vec![snapshot(ADA, 3, "{}")]));
    assert_eq!(journal.snapshots().unwrap(), set(4, vec![ada, bob.clone()], 0));
    // Only what has changed; the others hold as they are.
    append(&**journal, batch(vec![(2, vec![summarised(ADA, "x")])])).unwrap();
    assert!(!put(&**journal, vec![bob.clone()]));
    let ada = snapshot(ADA, 3, "{\"a\":1}");
    assert!(put(&**journal, vec![ada.clone()]));
    assert_eq!(journal.snapshots().unwrap(), set(5, vec![ada.clone(), bob.clone()], 0));
    // What is over is left out, and found when it is asked for; what has left memory is deleted.
    let over = Snapshot { is_over: true, ..bob };
    assert!(put(&**journal, vec![over.clone()]));
    assert_eq!(journal.snapshots().unwrap(), set(5, vec![ada.clone()], 1));
    assert_eq!(journal.snapshot(&Entity::Agent(BOB)).unwrap(), Some(over));
    assert!(put(&**journal, vec![Snapshot { state: None, ..ada }]));
    assert_eq!(journal.snapshots().unwrap(), set(5, vec![], 1));
    assert_eq!(journal.snapshot(&Entity::Agent(ADA)).unwrap(), None);
}

fn a_stream_is_read_back_from_its_end(journal: &Arc<dyn Store>) {
    fill(&**journal, &[ADA, BOB], 5);
    let (ada, all) = (Entity::Agent(ADA), journal.read_stream(&Entity::Agent(ADA), Version(0), 9));
    let back = |before, limit| journal.read_stream_back(&ada, before, limit).unwrap();
    let mut backwards = all.unwrap();
    backwards.reverse();
    assert_eq!(back(Version::END, 9), backwards);
    assert_eq!(back(Version::END, 2), backwards[..2]);
    assert_eq!(back(Version(4), 2), backwards[2..4]);
    assert_eq!(back(Version(1), 2), []);
    assert_eq!(journal.read_stream_back(&Entity::Node(NodeId::HOME), Version::END, 2).unwrap(), []);
}

fn of_samples_and_roster_the_latest_row_stays(journal: &Arc<dyn Store>) {
    let sample = |agent, seen| Latest { last_seen: Some(Time(seen)), ..Latest::of(agent) };
    let row = |agent, state| RosterRow {
        agent,
        name: Some("Ada".into()),
        named_at: Time(agent.0 as u64),
        role: None,
        parent: Some(BOB),
        project: "/p".into(),
        state,
        reason: Reason::Starting,
        since: Time(u64::MAX),
        session: Some(SessionNumber(3)),
        updated_seq: Seq(9),
    };
    journal.put_latest(vec![sample(ADA, 1), sample(BOB, 2)]);
    journal.put_roster(State::ALL.into_iter().map(|state| row(ADA, state)).collect());
    journal.put_latest(vec![sample(ADA, 3)]);
    settle(&**journal);
    let nobody = AgentId(99);
    assert_eq!(journal.latest(&[ADA, nobody]).unwrap(), [sample(ADA, 3)]);
    assert_eq!(journal.latest(&[BOB, ADA]).unwrap(), [sample(BOB, 2), sample(ADA, 3)]);
    let of = |agents: &[AgentId]| journal.roster(RosterQuery::Of(agents)).unwrap();
    assert_eq!(of(&[ADA, BOB]), [row(ADA, State::Expired)]);
    journal.put_roster(vec![row(BOB, State::Dead), row(ADA, State::Waking)]);
    settle(&**journal);
    assert_eq!(of(&[BOB, nobody, ADA]), [row(BOB, State::Dead), row(ADA, State::Waking)]);
}

fn the_buried_are_found_by_name_and_the_dead_page_by_page(journal: &Arc<dyn Store>) {
    let row = |id: u128, name: Option<&str>, named_at, state| RosterRow {
        agent: AgentId(id),
        name: name.map(Into::into),
        named_at: Time(named_at),
        role: None,
        parent: None,
        project: "/p".into(),
        state,
        reason: Reason::Retired,
        since: Time(1),
        session: None,
        updated_seq: Seq(1),
    };
    let last = u128::MAX;
    let rows = [
        row(1, Some("Bob"), 30, State::Dead),
        row(2, Some("bob"), 10, State::Dead),
        row(3, Some("bob"), 40, State::Working),
        row(4, Some("bob-2"), 20, State::Dead),
        row(5, Some("BOB"), 20, State::Expired),
        row(6, None, 20, State::Dead),
        row(last, Some("eve"), 20, State::Dead),
    ];
    journal.put_roster(rows.to_vec());
    settle(&**journal);
    let ids = |query| {
        let rows = journal.roster(query).unwrap();
        rows.iter().map(|row| row.agent.0).collect::<Vec<_>>()
    };
    let named = |text: &str, limit| {
        let name = NameKey::of(text);
        let rows = journal.roster(RosterQuery::Buried { name: &name, limit }).unwrap();
        rows.iter().map(|row| row.agent.0).collect::<Vec<_>>()
    };
    // By when they took the name, which is not when they were born.
    assert_eq!(named("bOb", 9), [1, 5, 2]);
    assert_eq!(named("bob", 2), [1, 5]);
    assert_eq!(named("bo%", 9), [0u128; 0]);
    assert_eq!(named("", 9), [0u128; 0]);
    let in_state = |state, before: Option<u128>| {
        ids(RosterQuery::InState { state, before: before.map(AgentId), limit: 3 })
    };
    assert_eq!(in_state(State::Dead, None), [last, 6, 4]);
    assert_eq!(in_state(State::Dead, Some(4)), [2, 1]);
    assert_eq!(in_state(State::Expired, None), [5]);
    assert_eq!(journal.roster(RosterQuery::Of(&[AgentId(1)])).unwrap(), rows[..1]);
}

fn samples_survive_field_by_field(journal: &Arc<dyn Store>) {
    let context = |source, at| {
        let sample = context::Sample { tokens: u64::MAX, window: 200_000, usable: 167_000, source };
        Some(Context { sample, at: Time(at) })
    };
    let usage = |is_partial| {
        Some(Usage { input: 1, output: 2, cache_read: u64::MAX, cache_write: 4, is_partial })
    };
    let only = Latest::of(AgentId(0));
    let samples = [
        Latest {
            agent: AgentId(1),
            last_seen: Some(Time(5)),
            last_activity: Some(Time(6)),
            context: context(Source::StatusLine, 7),
            usage: usage(false),
            cost_microusd: Some(8),
            reminded: Some((SessionNumber(9), 40)),
        },
        Latest { agent: AgentId(2), context: context(Source::Transcript, 0), ..only },
        Latest { agent: AgentId(3), context: context(Source::Table, u64::MAX), ..only },
        Latest { agent: AgentId(4), usage: usage(true), ..only },
        Latest { agent: AgentId(5), cost_microusd: Some(u64::MAX), ..only },
        Latest::of(AgentId(6)),
    ];
    journal.put_latest(samples.to_vec());
    settle(&**journal);
    let agents = samples.map(|sample| sample.agent);
    assert_eq!(journal.latest(&agents).unwrap(), samples);
}

fn times_and_texts_survive_at_their_limits(journal: &Arc<dyn Store>) {
    let ids = [AgentId(0), AgentId(u128::MAX)];
    let texts = ["", "\0", "\u{1b}[2J\r\n\"\\", "é漢🦀", "'; DROP TABLE event; --"];
    let events: Vec<_> = ids
        .iter()
        .flat_map(|id| texts.iter().map(|text| summarised(*id, text)))
        .enumerate()
        .map(|(n, mut event)| {
            event.at = Time(if n % 2 == 0 { u64::MAX - n as u64 } else { 0 });
            event
        })
        .collect();
    append(&**journal, Batch::of(events.clone(), |_| Version(0).into())).unwrap();
    let read: Vec<_> = all(&**journal).into_iter().map(|record| record.event.unwrap()).collect();
    assert_eq!(read, events);
}

/// A message to `agent` with these words, and how it was recorded.
fn recorded(id: u128, agent: AgentId, words: &str, at: u64) -> (Event, TextBody) {
    let body = text::body(words);
    let fingerprint = text::fingerprint(words.chars());
    let content =
        Content::Typed { text: Box::new(body.text.clone()), fingerprint, after_turn: false };
    let recorded = MessageEvent::Recorded { to: agent.into(), from: Sender::Person, content };
    (Event { at: Time(at), what: What::Message(MessageId(id), recorded) }, body)
}

fn a_text_is_written_once_with_the_event_that_names_it(journal: &Arc<dyn Store>) {
    let (first, body) = recorded(1, ADA, "the same words", 1);
    let digest = body.text.digest;
    assert_eq!(journal.text(digest).unwrap(), None);
    // An append that is refused leaves nothing.
    let refused = batch(vec![(7, vec![first.clone()])]).with_texts(vec![body.clone()]);
    assert!(append(&**journal, refused).is_err());
    assert_eq!(journal.text(digest).unwrap(), None);
    append(&**journal, batch(vec![(0, vec![first])]).with_texts(vec![body])).unwrap();
    let (second, again) = recorded(2, BOB, "the same words", 2);
    append(&**journal, batch(vec![(0, vec![second])]).with_texts(vec![again])).unwrap();
    assert_eq!(journal.text(digest).unwrap().as_deref(), Some("the same words"));
    let (third, long) = recorded(3, BOB, &"x".repeat(LONGEST_TEXT_BYTES + 1), 3);
    let refused = append(&**journal, batch(vec![(0, vec![third])]).with_texts(vec![long]));
    assert!(matches!(refused, Err(AppendError::TextTooLarge { .. })));
}

fn messages_are_read_as_far_as_they_have_come(journal: &Arc<dyn Store>) {
    for (id, agent, at) in [(1, ADA, 1), (2, ADA, 2), (3, BOB, 3)] {
        let (event, body) = recorded(id, agent, &format!("text {id}"), at);
        append(&**journal, batch(vec![(0, vec![event])]).with_texts(vec![body])).unwrap();
    }
    let of = |id, at, what| Event { at: Time(at), what: What::Message(MessageId(id), what) };
    let behind = Duration::ZERO;
    let offered = MessageEvent::Offered {
        session: SessionNumber(4),
        attempt: 1,
        channel: None,
        with: None,
        behind,
    };
    let seen = MessageEvent::Seen { session: SessionNumber(5) };
    let heard = MessageEvent::Heard { attempt: 1 };
    append(&**journal, batch(vec![(1, vec![of(1, 4, offered.clone()), of(1, 5, seen)])])).unwrap();
    append(&**journal, batch(vec![(1, vec![of(2, 6, offered), of(2, 7, heard)])])).unwrap();
    let rows = journal.messages(ADA, 10).unwrap().rows;
    let shown: Vec<_> =
        rows.iter().map(|row| (row.message.0, row.step, row.session.map(|n| n.0))).collect();
    assert_eq!(shown, [(2, MessageStep::Heard, Some(4)), (1, MessageStep::Seen, Some(5))]);
    assert_eq!(
        (rows[0].head.as_str(), rows[0].recorded_at, rows[0].changed_at),
        ("text 2", Time(2), Time(7))
    );
    assert_eq!(journal.messages(ADA, 1).unwrap().rows.len(), 1);
    assert_eq!(journal.message(MessageId(1)).unwrap().as_ref(), Some(&rows[1]));
    assert_eq!(journal.message(MessageId(9)).unwrap(), None);
    // From a place on, and only what has changed since.
    let since = |changed, behind: (u64, u128), limit| {
        let behind = (Time(behind.0), MessageId(behind.1));
        let found = journal.messages_since(MessagesOf::To(ADA), Time(changed), behind, limit);
        found.unwrap().rows.iter().map(|row| row.message.0).collect::<Vec<_>>()
    };
    assert_eq!(since(0, (0, 0), 9), [1, 2]);
    assert_eq!((since(0, (0, 0), 1), since(0, (1, 1), 9)), (vec![1], vec![2]));
    assert_eq!((since(6, (0, 0), 9), since(7, (0, 0), 9)), (vec![2], vec![2]));
    assert_eq!((since(8, (0, 0), 9), since(0, (2, 2), 9)), (Vec::new(), Vec::new()));
    let sent = MessagesOf::ToOperatorFrom(ADA);
    let sent = journal.messages_since(sent, Time(0), (Time(0), MessageId(0)), 9).unwrap();
    assert_eq!(sent.rows, []);
    // In another mailbox, the session of the first one says nothing.
    let forwarded = MessageEvent::Forwarded { to: BOB.into() };
    append(&**journal, batch(vec![(3, vec![of(2, 8, forwarded)])])).unwrap();
    let row = journal.message(MessageId(2)).unwrap().unwrap();
    assert_eq!((row.mailbox, row.step), (BOB.into(), MessageStep::Recorded));
    assert_eq!((row.session, row.changed_at), (None, Time(8)));
}

fn a_stream_may_be_looked_at_and_not_written(journal: &Arc<dyn Store>) {
    let look = |expected| StreamAppend { stream: Entity::Agent(BOB), expected, events: Vec::new() };
    let with = |expected, version| {
        let mut batch = batch(vec![(version, vec![summarised(ADA, "x")])]);
        batch.entries.push(look(expected));
        append(&**journal, batch)
    };
    append(&**journal, batch(vec![(0, vec![summarised(BOB, "1"), summarised(BOB, "2")])])).unwrap();
    assert_eq!(with(Version(2).into(), 0).unwrap(), Seq(3));
    assert!(matches!(with(Version(1).into(), 1), Err(AppendError::Conflict { .. })));
    assert_eq!(with(Expected::Since { seq: Seq(2), own: 0 }, 1).unwrap(), Seq(4));
    assert_eq!(with(Expected::Since { seq: Seq(1), own: 1 }, 2).unwrap(), Seq(5));
    for (seq, own) in [(0, 0), (1, 0), (2, 1), (0, 3)] {
        let expected = Expected::Since { seq: Seq(seq), own };
        assert!(matches!(with(expected, 3), Err(AppendError::Conflict { .. })), "{expected:?}");
    }
    assert_eq!(journal.head().0, Seq(5), "nothing is left of those that were refused");
}

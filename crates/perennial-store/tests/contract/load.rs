//! Loading: the fleet is what the records say, and who can't be trusted is held.

use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event};
use perennial_core::fleet::Fleet;
use perennial_core::id::NodeId;
use perennial_core::id::{Epoch, SessionNumber};
use perennial_core::reason::{Evidence, Finding, Reason, Verb, Witness};
use perennial_core::session::Process;
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;
use perennial_store::Projections;
use perennial_store::{Batch, Journal, MemoryJournal, Seq, Version, load};

use crate::events::*;

fn announced(at: u64) -> Evidence {
    let fact = Finding::Executed(Process { pid: 7, start_ticks: 7 });
    Evidence { witness: Witness::Kernel, fact, at: Time(at) }
}

/// Two agents hatch and run under the first daemon.
fn story() -> Vec<Event> {
    let run = |agent, at| moved(agent, at, Cause::Announced, State::Working, announced(at));
    vec![
        started(1),
        hatched(ADA, "ada"),
        wanted(ADA, 1),
        hatched(BOB, "bob"),
        run(ADA, 10),
        wanted(BOB, 1),
        run(BOB, 11),
    ]
}

fn told(story: &[Event]) -> MemoryJournal {
    let journal = MemoryJournal::new();
    append(&journal, Batch::of(story.to_vec(), |_| Version(0).into())).unwrap();
    journal
}

/// However many posts there are: nothing of them is kept.
#[test]
fn posts_cost_no_memory_after_loading() {
    let posts: Vec<Event> = (0..100).map(|id| posted(id, "text")).collect();
    let loaded = load(&told(&posts), NodeId::HOME).unwrap();
    assert_eq!((loaded.head, loaded.fleet), (Seq(100), Fleet::default()));
    assert!(loaded.versions.is_empty());
}

#[test]
fn the_fleet_is_the_fold_of_all_records() {
    let mut fleet = Fleet::default();
    story().iter().for_each(|event| drop(fleet.evolve(event)));
    let loaded = load(&told(&story()), NodeId::HOME).unwrap();
    assert_eq!(loaded.fleet, fleet);
    assert_eq!(loaded.fleet.epoch(), Epoch(1));
    assert_eq!((loaded.head, loaded.latest), (Seq(7), Time(11)));
    let versions: Vec<_> = loaded.versions.into_iter().collect();
    assert_eq!(
        versions,
        [
            (Entity::Node(NodeId::HOME), Version(1)),
            (Entity::Agent(ADA), Version(3)),
            (Entity::Agent(BOB), Version(3))
        ]
    );
    assert_eq!(loaded.unreadable, []);
    let nothing = load(&MemoryJournal::new(), NodeId::HOME).unwrap();
    assert_eq!((nothing.head, nothing.fleet), (Seq(0), Fleet::default()));
}

#[test]
fn an_agent_with_an_unreadable_record_is_unknown_and_held() {
    let journal = told(&story());
    journal.flip(Seq(5));
    let loaded = load(&journal, NodeId::HOME).unwrap();
    let ada = loaded.fleet.agent(ADA).unwrap();
    assert_eq!((ada.state, ada.reason), (State::Unknown, Reason::RecordUnreadable));
    assert!(ada.is_damaged());
    assert!(matches!(&ada.evidence.fact, Finding::Unreadable(why) if why.contains("record 5")));
    assert_eq!(loaded.fleet.agent(BOB).unwrap().state, State::Working);
    assert_eq!(loaded.unreadable.len(), 1);
    // The stream goes on where it really is.
    assert_eq!(loaded.versions[&Entity::Agent(ADA)], Version(3));
    let next = batch(vec![(3, vec![wanted(ADA, 2)])]);
    append(&journal, next).unwrap();
}

#[test]
fn what_an_operator_ordered_later_outranks_the_mark() {
    let mut later = story();
    later.push(moved(ADA, 20, Cause::Wake, State::Waking, asked(Verb::Wake, 20)));
    let journal = told(&later);
    journal.flip(Seq(5));
    let loaded = load(&journal, NodeId::HOME).unwrap();
    assert_eq!(loaded.fleet.agent(ADA).unwrap().state, State::Waking);
    assert_eq!(loaded.unreadable.len(), 1);
    // An order before the damage says nothing of what came after it.
    journal.flip(Seq(8));
    let loaded = load(&journal, NodeId::HOME).unwrap();
    assert_eq!(loaded.fleet.agent(ADA).unwrap().state, State::Unknown);
}

#[test]
fn a_record_that_is_gone_marks_the_agent_whose_versions_have_a_hole() {
    let directory = tempfile::tempdir().unwrap();
    {
        let journal = open(directory.path());
        let mut longer = story();
        longer.extend([wanted(BOB, 2), wanted(ADA, 2), wanted(BOB, 3)]);
        append(&journal, Batch::of(longer, |_| Version(0).into())).unwrap();
    }
    let sql = "DELETE FROM event WHERE seq = 5";
    rusqlite::Connection::open(file(directory.path())).unwrap().execute_batch(sql).unwrap();
    let journal = open(directory.path());
    let loaded = load(&journal, NodeId::HOME).unwrap();
    assert_eq!(loaded.fleet.agent(ADA).unwrap().state, State::Unknown);
    // Bob's record right after the hole can't be proven.
    assert_eq!(loaded.fleet.agent(BOB).unwrap().state, State::Unknown);
    assert_eq!(loaded.unreadable.len(), 2);
    assert_eq!(journal.head().0, Seq(10));
}

/// M5: the last record of a stream is gone, and the journal goes on: no hole is left in its versions.
#[test]
fn an_agent_whose_last_record_is_gone_is_held_where_its_snapshot_had_it() {
    for is_kept in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        {
            let journal = open(directory.path());
            let mut longer = story();
            longer.extend([wanted(ADA, 2), wanted(BOB, 2), wanted(BOB, 3)]);
            append(&journal, Batch::of(longer, |_| Version(0).into())).unwrap();
            let loaded = load(&journal, NodeId::HOME).unwrap();
            if is_kept {
                let (fleet, versions) = (&loaded.fleet, &loaded.versions);
                let set = perennial_store::load::snapshots(fleet, versions, &loaded.changed);
                journal.put_snapshots(set, Box::new(|is_kept| assert!(is_kept)));
            }
            settle(&journal);
        }
        let sql = "DELETE FROM event WHERE seq = 8";
        rusqlite::Connection::open(file(directory.path())).unwrap().execute_batch(sql).unwrap();
        let loaded = load(&open(directory.path()), NodeId::HOME).unwrap();
        assert_eq!(loaded.versions[&Entity::Agent(ADA)], Version(3));
        assert_eq!(loaded.fleet.agent(ADA).unwrap().is_damaged(), is_kept);
        assert!(!loaded.unreadable.is_empty(), "told in any case");
    }
}

/// M5: an agent whose birth can't be read, or is gone, is listed as unknown and held; what came after
/// its birth is folded.
#[test]
fn an_agent_whose_birth_is_unreadable_is_listed_and_held() {
    let journal = told(&story());
    journal.flip(Seq(2));
    let loaded = load(&journal, NodeId::HOME).unwrap();
    let ada = loaded.fleet.agent(ADA).unwrap();
    assert_eq!((ada.state, ada.reason), (State::Unknown, Reason::RecordUnreadable));
    assert!(ada.is_damaged());
    assert_eq!(ada.session.as_ref().map(|session| session.number), Some(SessionNumber(1)));
    assert_eq!(loaded.fleet.agent(BOB).unwrap().state, State::Working);
    assert_eq!(loaded.fleet.find(&ADA.to_string()).map(|agent| agent.id), Ok(ADA));
    // Buried, it stays so.
    let bury = moved(ADA, 20, Cause::Buried, State::Dead, asked(Verb::Bury, 20));
    append(&journal, batch(vec![(3, vec![bury])])).unwrap();
    let ada = load(&journal, NodeId::HOME).unwrap().fleet.agent(ADA).cloned().unwrap();
    assert_eq!((ada.state, ada.hold), (State::Dead, None));
}

#[test]
fn an_agent_whose_birth_is_gone_is_listed_too() {
    let directory = tempfile::tempdir().unwrap();
    append(&open(directory.path()), Batch::of(story(), |_| Version(0).into())).unwrap();
    let sql = "DELETE FROM event WHERE seq = 2";
    rusqlite::Connection::open(file(directory.path())).unwrap().execute_batch(sql).unwrap();
    let loaded = load(&open(directory.path()), NodeId::HOME).unwrap();
    assert!(loaded.fleet.agent(ADA).unwrap().is_damaged());
}

/// The hold is there whatever the record that can't be read was about, and a parent's word does not
/// lift it.
#[test]
fn only_an_operators_word_outranks_the_mark() {
    let parent =
        Evidence { witness: Witness::Agent(BOB), fact: Finding::Asked(Verb::Stop), at: Time(20) };
    let lifted = AgentEvent::HoldLifted { evidence: asked(Verb::Stop, 21) };
    for (order, held) in [
        (moved(ADA, 20, Cause::Stop, State::Sleeping, parent), true),
        (moved(ADA, 20, Cause::Stop, State::Sleeping, asked(Verb::Stop, 20)), false),
        (of_agent(ADA, 20, lifted), false),
    ] {
        let mut later = story();
        later.push(order);
        let journal = told(&later);
        journal.flip(Seq(3));
        let loaded = load(&journal, NodeId::HOME).unwrap();
        assert_eq!(loaded.fleet.agent(ADA).unwrap().is_damaged(), held);
    }
}

/// D2: what the snapshots were made without is in them neither after the next commit.
#[test]
fn a_set_that_was_made_beside_damage_is_not_used_once_the_record_is_mended() {
    let directory = tempfile::tempdir().unwrap();
    let by_hand = |sql: &str| {
        rusqlite::Connection::open(file(directory.path())).unwrap().execute_batch(sql).unwrap();
    };
    let batch = Batch::of(story(), |_| Version(0).into());
    append(&open(directory.path()), batch).unwrap();
    by_hand("UPDATE event SET payload = payload || ' ' WHERE seq = 5");
    {
        // A daemon that runs beside the damage, and keeps its snapshots at its orderly end.
        let journal = open(directory.path());
        let loaded = load(&journal, NodeId::HOME).unwrap();
        assert!(loaded.fleet.agent(ADA).unwrap().is_damaged());
        let (fleet, versions) = (&loaded.fleet, &loaded.versions);
        let set = perennial_store::load::snapshots(fleet, versions, &loaded.changed);
        journal.put_snapshots(set, Box::new(|is_kept| assert!(is_kept)));
        settle(&journal);
    }
    by_hand("UPDATE event SET payload = rtrim(payload) WHERE seq = 5");
    {
        // The next one finds the record mended, commits something, and is killed before it has
        // snapshots of its own.
        let journal = open(directory.path());
        assert!(!load(&journal, NodeId::HOME).unwrap().fleet.agent(ADA).unwrap().is_damaged());
        settle(&journal);
    }
    let loaded = load(&open(directory.path()), NodeId::HOME).unwrap();
    assert_eq!(loaded.unreadable, []);
    let ada = loaded.fleet.agent(ADA).unwrap();
    assert_eq!((ada.state, ada.is_damaged()), (State::Working, false));
}

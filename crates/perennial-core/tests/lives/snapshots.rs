//! Snapshots of work trees as they are recorded: numbers, who may, and no restore under a live session.

use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::id::AgentId;
use perennial_core::reason::Verb;
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::snapshot::{
    SnapshotAsked, SnapshotCause, SnapshotEvent, SnapshotFiles, SnapshotOrder,
};

use crate::told::Told;

fn order(what: SnapshotAsked) -> Command {
    Command::Snapshot(Box::new(SnapshotOrder { target: "bob".into(), what }))
}

fn taken() -> Command {
    let files = SnapshotFiles {
        store: "web.git".into(),
        work_tree: "/web".into(),
        commit: "0".repeat(40),
        base: None,
        files: 1,
        bytes: 1,
        nested: 0,
        left_out: 0,
        listed: Vec::new(),
        torn: 0,
    };
    order(SnapshotAsked::Taken(SnapshotCause::Asked, files))
}

fn restore(in_tree: &[u128]) -> Command {
    let in_tree = in_tree.iter().copied().map(AgentId).collect();
    order(SnapshotAsked::Restore { number: 1, present: 2, with_index: false, in_tree })
}

fn number(events: &[Event]) -> Option<u32> {
    events.iter().find_map(|event| match &event.what {
        What::Agent(_, AgentEvent::Snapshot(event)) => match &**event {
            SnapshotEvent::Taken(taken) => Some(taken.number),
            SnapshotEvent::RestoreBegun { .. } => None,
        },
        _ => None,
    })
}

/// SH1
#[test]
fn numbers_have_no_gaps_and_survive_a_restart() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    assert_eq!(number(&told.ask(taken()).unwrap()), Some(1));
    assert_eq!(number(&told.ask(taken()).unwrap()), Some(2));
    told.restart();
    assert_eq!(number(&told.ask(taken()).unwrap()), Some(3));
    assert_eq!(told.agent(1).snapshots, 3);
}

/// SH2
#[test]
fn no_restore_begins_while_a_session_is_alive_in_the_tree() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    told.spawn(2, Some("eve"), Restart::Never);
    told.executed(1);
    let refused = Err(Refusal::SessionInTree { agent: AgentId(1) });
    assert_eq!(told.ask(restore(&[1])), refused);
    assert_eq!(told.ask(restore(&[2, 1])), Err(Refusal::SessionInTree { agent: AgentId(2) }));
    // Agents elsewhere do not matter.
    assert_eq!(told.ask(restore(&[])).unwrap().len(), 1);
    assert_eq!(told.agent(1).snapshots, 0);
}

#[test]
fn only_a_person_and_only_for_those_who_are_not_dead() {
    let mut told = Told::new();
    told.spawn(1, Some("bob"), Restart::Never);
    for caller in [Caller::Agent(AgentId(1)), Caller::Job, Caller::Viewer, Caller::Ambiguous] {
        let refused = told.ask_as(caller, taken());
        assert!(matches!(refused, Err(Refusal::NotAllowed { verb: Verb::Snapshot, .. })));
    }
    told.ask(Command::Bury { target: "bob".into(), summary: None }).unwrap();
    assert!(told.ask(taken()).is_err());
}

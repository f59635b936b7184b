//! The entity graph's file: made from the journal, again and again the same.

use std::path::Path;

use perennial_core::event::AgentEvent;
use perennial_core::exit::Exit;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::reason::Verb;
use perennial_core::restart::Tally;
use perennial_core::role::RoleTerms;
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;
use perennial_store::graph::{Found, Graph, GraphQuery};
use perennial_store::{Journal, MemoryJournal, Seq, Store};
use tempfile::tempdir;

use crate::events::{append, asked, batch, file, hatched, moved, of_agent, open, wanted};

const BOB: AgentId = AgentId(1);
const EVE: AgentId = AgentId(2);

/// Bob holds the role in his first session, eve in hers; bob dies.
fn fill(journal: &dyn Store, sessions: u32) {
    let taken = |agent, at| {
        let terms = Box::new(RoleTerms::default());
        let (role, from) = ("Architect".to_owned(), None);
        let evidence = asked(Verb::Assume, at);
        of_agent(agent, at, AgentEvent::RoleTaken { role, terms, from, evidence })
    };
    let ended = |agent, number, at| {
        let (exit, tally) = (Exit::Code(0), Tally::ByFirstRule);
        let number = SessionNumber(number);
        of_agent(
            agent,
            at,
            AgentEvent::SessionEnded { number, exit, is_clean: true, tally, asked: None },
        )
    };
    let mut events = vec![hatched(BOB, "bob"), wanted(BOB, 1), taken(BOB, 20), ended(BOB, 1, 30)];
    events.push(of_agent(
        BOB,
        31,
        AgentEvent::RoleLeft { to: None, evidence: asked(Verb::Drop, 31) },
    ));
    for number in 2..=sessions {
        events.extend([wanted(BOB, number), ended(BOB, number, 40)]);
    }
    events.push(moved(BOB, 50, Cause::Buried, State::Dead, asked(Verb::Bury, 50)));
    let bobs = (0, events);
    let eves = (0, vec![hatched(EVE, "eve"), wanted(EVE, 1), taken(EVE, 60)]);
    append(journal, batch(vec![bobs, eves])).expect("appended");
}

fn held(graph: &Graph, query: &GraphQuery) -> Vec<(AgentId, u32)> {
    let found = graph.sessions(query, None, 100).expect("read");
    found.iter().map(|found| (found.agent, found.session.number.0)).collect()
}

fn everything(path: &Path, journal: &dyn Journal) -> Vec<Found> {
    let of = |behind, limit| {
        let ask = |graph: &Graph| graph.sessions(&GraphQuery::default(), behind, limit);
        Graph::ask(path, journal, ask).expect("read")
    };
    let all = of(None, 10_000);
    // Page by page it is the same.
    let (mut paged, mut behind) = (Vec::new(), None);
    loop {
        let page = of(behind, 40);
        let Some(last) = page.last() else { break };
        behind = Some((last.session.since, last.agent, last.session.number));
        paged.extend(page);
    }
    assert_eq!(paged, all);
    all
}

fn reach(path: &Path, journal: &dyn Journal) -> Seq {
    Graph::ask(path, journal, Graph::reach).expect("read")
}

#[test]
fn who_held_a_role_in_which_session() {
    let directory = tempdir().expect("a directory");
    let journal = MemoryJournal::default();
    fill(&journal, 3);
    let path = directory.path().join("graph.db");
    let of = |query: GraphQuery| {
        Graph::ask(&path, &journal, |graph| Ok(held(graph, &query))).expect("read")
    };
    let role = |role: &str| GraphQuery { role: Some(role.to_owned()), ..GraphQuery::default() };
    let mut architects = of(role("architect"));
    architects.sort();
    assert_eq!(architects, [(BOB, 1), (EVE, 1)]);
    assert_eq!(of(role("%")), [], "a pattern is a word");
    assert_eq!(of(GraphQuery { until: Some(Time(40)), ..role("architect") }), [(BOB, 1)]);
    assert_eq!(of(GraphQuery { since: Some(Time(55)), ..role("architect") }), [(EVE, 1)]);
    let bob = GraphQuery { name: Some("BOB".to_owned()), ..GraphQuery::default() };
    assert_eq!(of(bob).len(), 3);
    let one = GraphQuery { session: Some((BOB, SessionNumber(2))), ..GraphQuery::default() };
    assert_eq!(of(one), [(BOB, 2)]);
    let nobody = GraphQuery { actor: Some("' OR 1=1 --".to_owned()), ..GraphQuery::default() };
    assert_eq!(of(nobody), []);
}

#[test]
fn rebuilt_from_nothing_it_is_the_same() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("graph.db");
    let journal = open(directory.path());
    fill(&journal, 700);
    let first = everything(&path, &journal);
    assert_eq!(first.len(), 701);
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(everything(&path, &journal), first);
    // Caught up in steps.
    std::fs::remove_file(&path).expect("removed");
    let short = MemoryJournal::default();
    fill(&short, 3);
    everything(&path, &short);
    assert_eq!(everything(&path, &journal), first, "made from another journal before");
    std::fs::write(&path, "no database at all, and long enough to be read as one".repeat(40))
        .expect("written");
    assert_eq!(everything(&path, &journal), first, "damaged before");
    let connection = rusqlite::Connection::open(&path).expect("opened");
    connection.execute("UPDATE session SET body = '{}'", []).expect("altered");
    drop(connection);
    assert_eq!(everything(&path, &journal), first, "altered before");
}

/// A process that is killed between two portions leaves the graph at the end of the first.
#[test]
fn what_is_left_by_a_kill_is_caught_up() {
    let directory = tempdir().expect("a directory");
    let path = directory.path().join("graph.db");
    let journal = open(directory.path());
    fill(&journal, 700);
    let whole = everything(&path, &journal);
    let head = journal.head().0;
    drop(journal);
    for place in [1_i64, 499, 500, 501, 1000] {
        std::fs::remove_file(&path).expect("removed");
        let cut = tempdir().expect("a directory");
        std::fs::copy(file(directory.path()), file(cut.path())).expect("copied");
        let journal = rusqlite::Connection::open(file(cut.path())).expect("opened");
        journal.execute("DELETE FROM event WHERE seq > ?1", [place]).expect("cut");
        drop(journal);
        let cut = open(cut.path());
        assert_eq!(reach(&path, &cut), Seq(place.cast_unsigned()));
        let journal = open(directory.path());
        assert_eq!(everything(&path, &journal), whole, "{place}");
        assert_eq!(reach(&path, &journal), head);
    }
}

//! Events and appends for tests.

use perennial_core::id::NodeId;
use perennial_store::Store;
use std::path::Path;
use std::sync::mpsc;

use perennial_core::conversation::Opening;
use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Birth, Event, Move, NodeEvent, What};
use perennial_core::id::{AgentId, BootId, Epoch, PostId, SessionNumber};
use perennial_core::launch::{Host, Launch, Options};
use perennial_core::post::{Author, PostEvent};
use perennial_core::reason::{Evidence, Finding, Reason, Verb, Witness};
use perennial_core::restart::Restart;
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;
use perennial_store::{
    AppendError, Batch, Record, Seq, SqliteJournal, StreamAppend, Version, text,
};

pub const ADA: AgentId = AgentId(0x0193_2b1c_7e4a_7000_8000_0000_0000_0001);
pub const BOB: AgentId = AgentId(0x0193_2b1c_7e4a_7000_8000_0000_0000_0002);

pub fn open(directory: &Path) -> SqliteJournal {
    SqliteJournal::open(&file(directory)).expect("the journal opens")
}

pub fn file(directory: &Path) -> std::path::PathBuf {
    directory.join("journal.db")
}

pub fn of_agent(agent: AgentId, at: u64, event: AgentEvent) -> Event {
    Event { at: Time(at), what: What::Agent(agent, event) }
}

pub fn summarised(agent: AgentId, summary: &str) -> Event {
    of_agent(agent, 7, AgentEvent::Summarised { summary: summary.into() })
}

pub fn posted(id: u128, text: &str) -> Event {
    let (by, text) = (Author::Person, text::body(text).text);
    let written = PostEvent::Written { by, title: None, text };
    Event { at: Time(7), what: What::Post(PostId(id), written) }
}

pub fn started(epoch: u64) -> Event {
    let event = NodeEvent::DaemonStarted {
        epoch: Epoch(epoch),
        boot: BootId("b007".into()),
        version: "0.1.0".into(),
    };
    Event { at: Time(epoch), what: What::Node(NodeId::HOME, event) }
}

pub fn hatched(agent: AgentId, name: &str) -> Event {
    let birth = Birth {
        name: Some(name.parse().expect("a good name")),
        role: Some("scribe".into()),
        parent: None,
        node: NodeId::HOME,
        launch: Launch {
            harness: "command".into(),
            host: Host::Shim,
            argv: vec!["/bin/sleep".into(), "inf".into()],
            dir: "/work".into(),
            env_names: vec!["LANG".into()],
            project: "/work/.git".into(),
            options: Options::default(),
        },
        restart: Restart::OnCrash,
        evidence: asked(Verb::Spawn, 1),
        until: Time(300),
    };
    of_agent(agent, 1, AgentEvent::Hatched(Box::new(birth)))
}

pub fn asked(verb: Verb, at: u64) -> Evidence {
    Evidence { witness: Witness::Operator, fact: Finding::Asked(verb), at: Time(at) }
}

pub fn moved(agent: AgentId, at: u64, cause: Cause, to: State, evidence: Evidence) -> Event {
    let reason = Reason::Running;
    of_agent(agent, at, AgentEvent::Moved(Move { cause, to, reason, evidence, until: None }))
}

pub fn wanted(agent: AgentId, number: u32) -> Event {
    let (number, opening) = (SessionNumber(number), Opening::Bare);
    of_agent(agent, 2, AgentEvent::SessionWanted { number, opening })
}

/// One entry for each (expected version, events of one stream).
pub fn batch(entries: Vec<(u64, Vec<Event>)>) -> Batch {
    let entry = |(expected, events): (u64, Vec<Event>)| StreamAppend {
        stream: events.first().map_or(Entity::Node(NodeId::HOME), Event::entity),
        expected: Version(expected).into(),
        events,
    };
    Batch { entries: entries.into_iter().map(entry).collect(), ..Batch::default() }
}

/// Appends and waits for the answer.
pub fn append(journal: &dyn Store, batch: Batch) -> Result<Seq, AppendError> {
    let (answered, answer) = mpsc::channel();
    journal.append(batch, Box::new(move |result| answered.send(result).expect("awaited")));
    answer.recv().expect("every append is answered")
}

/// `count` records for each of these streams' agents, one append each, from version 0.
pub fn fill(journal: &dyn Store, agents: &[AgentId], count: u64) {
    for version in 0..count {
        for agent in agents {
            let event = summarised(*agent, &format!("record {version}"));
            append(journal, batch(vec![(version, vec![event])])).expect("appended");
        }
    }
}

/// All that is queued is committed, derived rows included.
pub fn settle(journal: &dyn Store) {
    append(journal, Batch::default()).expect("nothing to refuse");
}

pub fn all(journal: &dyn Store) -> Vec<Record> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map_or(Seq(0), |record| record.seq);
        let page = journal.read(after, 100).expect("readable");
        if page.is_empty() {
            return records;
        }
        records.extend(page);
    }
}

/// The sequence numbers of what can't be read.
pub fn unreadable(journal: &dyn Store) -> Vec<u64> {
    all(journal).iter().filter(|record| record.event.is_err()).map(|record| record.seq.0).collect()
}

//! Records that no verb can bring about yet, written to the journal while no daemon runs.

use std::sync::mpsc::channel;

use perennial_core::entity::Entity;
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::id::{AgentId, NodeId};
use perennial_core::time::Time;
use perennial_store::journal::{Batch, Journal, Seq};
use perennial_store::{SqliteJournal, load};

use crate::sealed::Sealed;
use crate::watch::PATIENCE;

/// Appends what `events` makes of the newest moment in the journal. The daemon must be down.
#[track_caller]
pub fn append(sealed: &Sealed, agent: AgentId, events: impl FnOnce(Time) -> Vec<AgentEvent>) {
    let journal = SqliteJournal::open(&sealed.home.journal()).expect("a journal that nobody has");
    let versions = load(&journal, NodeId::HOME).expect("it loads").versions;
    let (head, _) = journal.head();
    let at = journal.read(Seq(head.0 - 1), 1).expect("it reads")[0].at;
    let event = |what| Event { at, what: What::Agent(agent, what) };
    let batch = Batch::of(events(at).into_iter().map(event).collect(), |stream: &Entity| {
        versions.get(stream).copied().unwrap_or_default().into()
    });
    let (done, is_done) = channel();
    let tell = move |result| {
        let _waited_for = done.send(result);
    };
    journal.append(batch, Box::new(tell));
    is_done.recv_timeout(PATIENCE).expect("an answer").expect("it is recorded");
}

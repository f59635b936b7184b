//! The gate: who gets a place for a connection, a request or a feed. How many there are for whom is the
//! core's rule (`admission.rs`); here they are taken and given back.
//!
//! Invariants
//! - GA1  While few connections are open, nobody is identified before a request has come. After that, each
//!   process is identified once while it has connections open: a flood of connects costs little each.
//! - GA2  A place is given back when its value is dropped, however that comes about.
//! - GA3  Connections take at most half of the descriptors that the daemon may open.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perennial_api::Problem;
use perennial_core::admission::{self, Full, HISTORY_READS, Party, Places, UNCOUNTED_CONNECTIONS};
use tokio::sync::{Notify, Semaphore};

use super::identity::{Peer, Registry};
use crate::daemon::showing::problems::{self, PlaceKind};

/// A connection has a socket and the caller's process.
const DESCRIPTORS_EACH: usize = 2;
/// Memory is given back when most of this many connections or more have been closed.
const MANY: usize = 128;

#[derive(Debug)]
pub struct Gate {
    counts: Mutex<Counts>,
    /// Rung when most connections of many have been closed.
    pub emptied: Notify,
    /// Taken by reads of the store for others than people.
    pub reading_turns: Arc<Semaphore>,
}

#[derive(Debug)]
struct Counts {
    open: usize,
    /// The most that were open since the gate was last emptied.
    peak: usize,
    connections: Places,
    requests: Places,
    feeds: Places,
    /// Processes that have counted connections.
    known: HashMap<i32, Known>,
}

#[derive(Debug)]
struct Known {
    peer: Arc<Peer>,
    party: Party,
    connections: usize,
}

/// A place that somebody has.
#[derive(Debug)]
pub struct Place {
    gate: Arc<Gate>,
    taken: Taken,
}

#[derive(Debug, Clone, Copy)]
enum Taken {
    Uncounted,
    Connection { party: Party, pid: i32 },
    Request(Party),
    Feed(Party),
}

impl Gate {
    pub fn new(descriptors: u64) -> Arc<Gate> {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        let most = descriptors / 2 / DESCRIPTORS_EACH;
        let bounds = admission::CONNECTIONS.within(most.saturating_sub(UNCOUNTED_CONNECTIONS));
        tracing::info!(
            connections = bounds.total() + UNCOUNTED_CONNECTIONS,
            descriptors,
            "the gate is open"
        );
        let counts = Counts {
            open: 0,
            peak: 0,
            connections: Places::new(bounds),
            requests: Places::new(admission::REQUESTS),
            feeds: Places::new(admission::FEEDS),
            known: HashMap::new(),
        };
        let reading_turns = Arc::new(Semaphore::new(HISTORY_READS));
        Arc::new(Gate { counts: Mutex::new(counts), emptied: Notify::new(), reading_turns })
    }

    /// GA1
    pub fn connect(self: &Arc<Gate>, peer: &Arc<Peer>, registry: &Registry) -> Entry {
        let pid = peer.pid();
        let known = {
            let mut counts = self.lock();
            if counts.open < UNCOUNTED_CONNECTIONS {
                counts.count_in();
                return Ok(self.place(Taken::Uncounted));
            }
            let known = counts.known.get(&pid).filter(|known| known.peer.is_alive());
            known.map(|known| known.party)
        };
        let party = match known {
            Some(party) => party,
            None => peer.party(peer.caller(registry).ok_or_else(problems::caller_gone)?),
        };
        let mut counts = self.lock();
        counts.connections.enter(party).map_err(told(PlaceKind::Connection))?;
        counts.count_in();
        let known = counts.known.entry(pid).or_insert_with(|| Known {
            peer: Arc::clone(peer),
            party,
            connections: 0,
        });
        known.connections += 1;
        // Connections of a dead process may still be open when its pid is another's.
        if !known.peer.is_alive() {
            (known.peer, known.party) = (Arc::clone(peer), party);
        }
        Ok(self.place(Taken::Connection { party, pid }))
    }

    pub fn request(self: &Arc<Gate>, party: Party) -> Entry {
        self.lock().requests.enter(party).map_err(told(PlaceKind::Request))?;
        Ok(self.place(Taken::Request(party)))
    }

    pub fn feed(self: &Arc<Gate>, party: Party) -> Entry {
        self.lock().feeds.enter(party).map_err(told(PlaceKind::Feed))?;
        Ok(self.place(Taken::Feed(party)))
    }

    fn place(self: &Arc<Gate>, taken: Taken) -> Place {
        Place { gate: Arc::clone(self), taken }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Counts are changed by what can't panic half-way.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place, or why there is none.
pub type Entry = Result<Place, Problem>;

fn told(kind: PlaceKind) -> impl Fn(Full) -> Problem {
    move |full| problems::too_many(kind, full)
}

impl Counts {
    fn count_in(&mut self) {
        self.open += 1;
        self.peak = self.peak.max(self.open);
    }

    /// Says whether most of many have gone by now.
    fn count_out(&mut self) -> bool {
        self.open -= 1;
        let is_emptied = self.peak >= MANY && self.open <= self.peak / 4;
        if is_emptied {
            self.peak = self.open;
        }
        is_emptied
    }

    fn forget(&mut self, pid: i32) {
        if let Some(known) = self.known.get_mut(&pid) {
            known.connections -= 1;
            if known.connections == 0 {
                self.known.remove(&pid);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.gate.lock();
        let is_emptied = match self.taken {
            Taken::Uncounted => counts.count_out(),
            Taken::Connection { party, pid } => {
                counts.connections.leave(party);
                counts.forget(pid);
                counts.count_out()
            }
            Taken::Request(party) => {
                counts.requests.leave(party);
                false
            }
            Taken::Feed(party) => {
                counts.feeds.leave(party);
                false
            }
        };
        drop(counts);
        if is_emptied {
            self.gate.emptied.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use perennial_core::id::AgentId;

    use super::*;

    fn peer() -> (Arc<Peer>, UnixStream) {
        let (near, far) = UnixStream::pair().expect("a pair of sockets");
        (Arc::new(Peer::of(&near).expect("a peer")), far)
    }

    #[test]
    fn a_process_has_its_share_and_gives_it_back() {
        let (gate, registry) = (Gate::new(20_000), Registry::default());
        let (peer, _far) = peer();
        let one = peer.party(peer.caller(&registry).expect("it lives"));
        let bound = match one.class() {
            admission::Class::People => admission::CONNECTIONS.people.one,
            // Where tests run in a container of which pid 1 can't be seen.
            admission::Class::Viewers => admission::CONNECTIONS.viewers.one,
            other => panic!("{other:?}"),
        };
        for _ in 0..2 {
            let connect = || gate.connect(&peer, &registry);
            let places: Vec<Place> = std::iter::from_fn(|| connect().ok()).collect();
            assert_eq!(places.len(), UNCOUNTED_CONNECTIONS + bound);
            assert_eq!(connect().expect_err("it is full").kind, "too-many");
            assert_eq!(gate.lock().known.len(), 1);
            drop(places);
            let counts = gate.lock();
            assert!(counts.open == 0 && counts.known.is_empty(), "{counts:?}");
        }
    }

    /// GA1
    #[test]
    fn a_pid_that_is_used_again_is_identified_once() {
        let (gate, registry) = (Gate::new(20_000), Registry::default());
        let (peer, _far) = peer();
        let _uncounted: Vec<Place> = (0..UNCOUNTED_CONNECTIONS)
            .map(|_| gate.connect(&peer, &registry).expect("a place"))
            .collect();
        let earlier = Party::Agent(AgentId(9));
        let known = Known { peer: Arc::new(peer.ended()), party: earlier, connections: 1 };
        gate.lock().known.insert(peer.pid(), known);
        let _place = gate.connect(&peer, &registry).expect("a place");
        let counts = gate.lock();
        let known = &counts.known[&peer.pid()];
        assert!(known.peer.is_alive() && known.party != earlier, "{known:?}");
        assert_eq!(known.connections, 2);
    }

    #[test]
    fn few_descriptors_mean_few_places() {
        let (gate, registry) = (Gate::new(400), Registry::default());
        let (peer, _far) = peer();
        let places: Vec<Place> =
            std::iter::from_fn(|| gate.connect(&peer, &registry).ok()).collect();
        assert!(places.len() <= 100, "{}", places.len());
    }

    #[test]
    fn feeds_of_an_agent_take_nothing_from_people() {
        let gate = Gate::new(20_000);
        let agent = Party::Agent(AgentId(1));
        let feeds: Vec<Place> = std::iter::from_fn(|| gate.feed(agent).ok()).collect();
        assert_eq!(feeds.len(), admission::FEEDS.agents.one);
        let problem = gate.feed(agent).expect_err("it is full");
        assert_eq!((problem.status, problem.kind.as_str()), (429, "too-many"));
        assert!(gate.feed(Party::Person { kernel_session: 1 }).is_ok());
    }
}

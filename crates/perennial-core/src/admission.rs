//! How many places one caller may take at a time: connections, requests under way, feeds.
//!
//! Pure: it counts, and is told who comes and who leaves. What a place is, the shell knows.
//!
//! Invariants
//! - AD1  What one class of callers takes is never missing for another: each class has places of its own, so
//!   agents and viewers can't use up what people need.
//! - AD2  Within its class, one caller never takes all places: `spare` ones are kept for callers that have
//!   fewer than `ALWAYS`, so the scripts of one terminal don't lock their owner out, and a flooding
//!   agent doesn't keep the hooks of another from being heard.
//! - AD3  Only a person's read of a history never waits for those of others.

use std::collections::BTreeMap;

use crate::authority::Caller;
use crate::id::AgentId;

/// Whose places are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// The processes of one kernel session, such as a terminal and all that was started in it.
    Person {
        kernel_session: i32,
    },
    Agent(AgentId),
    /// All viewers of one user.
    Viewer {
        uid: u32,
    },
    /// All jobs.
    Job,
}

/// Callers that share their places with each other, and with nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    People,
    Agents,
    Viewers,
    Jobs,
}

impl Party {
    pub fn of(caller: Caller, kernel_session: i32, uid: u32) -> Party {
        match caller {
            Caller::Person => Party::Person { kernel_session },
            Caller::Agent(id) => Party::Agent(id),
            Caller::Viewer | Caller::Ambiguous => Party::Viewer { uid },
            Caller::Job => Party::Job,
        }
    }

    pub fn class(self) -> Class {
        match self {
            Party::Person { .. } => Class::People,
            Party::Agent(_) => Class::Agents,
            Party::Viewer { .. } => Class::Viewers,
            Party::Job => Class::Jobs,
        }
    }
}

/// The places of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// For one caller.
    pub one: usize,
    /// For all callers of the class together …
    pub all: usize,
    /// … and on top of that, for callers that have fewer than `ALWAYS`.
    pub spare: usize,
}

/// The places of every class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub people: Bound,
    pub agents: Bound,
    pub viewers: Bound,
    pub jobs: Bound,
}

/// A caller that has fewer places than this gets one of the spare ones.
pub const ALWAYS: usize = 4;

pub const CONNECTIONS: Bounds = Bounds {
    people: Bound { one: 1024, all: 2048, spare: 512 },
    agents: Bound { one: 64, all: 1024, spare: 512 },
    viewers: Bound { one: 32, all: 128, spare: 32 },
    jobs: Bound { one: 16, all: 16, spare: 0 },
};

/// Below the bounds of connections for all but people: a request has the daemon do something.
pub const REQUESTS: Bounds = Bounds {
    people: CONNECTIONS.people,
    agents: Bound { one: 32, all: 128, spare: 128 },
    viewers: Bound { one: 8, all: 32, spare: 16 },
    jobs: Bound { one: 8, all: 8, spare: 0 },
};

/// Feeds stay open for as long as their reader likes.
pub const FEEDS: Bounds = Bounds {
    people: Bound { one: 128, all: 512, spare: 64 },
    agents: Bound { one: 16, all: 256, spare: 128 },
    viewers: Bound { one: 8, all: 32, spare: 16 },
    jobs: Bound { one: 1, all: 1, spare: 0 },
};

/// This many connections at a time are counted for nobody: while there are few, their callers are not identified before
/// they ask for something.
pub const UNCOUNTED_CONNECTIONS: usize = 64;

/// At most this many histories are read at once for others than people.
pub const HISTORY_READS: usize = 2;

/// Whether a caller's read of a history waits for one of `HISTORY_READS`: the store answers one after the other, and
/// what many agents read at once must not stand before a person's one question.
pub fn waits_for_turn(caller: Caller) -> bool {
    match caller {
        Caller::Person => false,
        Caller::Agent(_) | Caller::Job | Caller::Viewer | Caller::Ambiguous => true,
    }
}

impl Bounds {
    fn of(&self, class: Class) -> Bound {
        match class {
            Class::People => self.people,
            Class::Agents => self.agents,
            Class::Viewers => self.viewers,
            Class::Jobs => self.jobs,
        }
    }

    /// All places of all classes.
    pub fn total(&self) -> usize {
        let classes = [self.people, self.agents, self.viewers, self.jobs];
        classes.iter().map(|bound| bound.all + bound.spare).sum()
    }

    /// The same shares of fewer places, where the machine does not allow for all of them. A class keeps one
    /// at least.
    #[must_use]
    pub fn within(self, places: usize) -> Bounds {
        let total = self.total();
        if places >= total {
            return self;
        }
        let share = |count: usize| count * places / total;
        let shared = |bound: Bound| Bound {
            one: share(bound.one).max(1),
            all: share(bound.all).max(1),
            spare: share(bound.spare),
        };
        Bounds {
            people: shared(self.people),
            agents: shared(self.agents),
            viewers: shared(self.viewers),
            jobs: shared(self.jobs),
        }
    }
}

/// No place is left for a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// It has this many itself.
    Own { taken: usize },
    /// Others of its class have them.
    Class { class: Class, taken: usize },
}

/// The places of one kind, and who has them.
#[derive(Debug, Clone)]
pub struct Places {
    bounds: Bounds,
    taken: BTreeMap<Party, usize>,
    by_class: BTreeMap<Class, usize>,
}

impl Places {
    pub fn new(bounds: Bounds) -> Places {
        Places { bounds, taken: BTreeMap::new(), by_class: BTreeMap::new() }
    }

    /// Takes a place, to be given back with `leave`.
    pub fn enter(&mut self, party: Party) -> Result<(), Full> {
        let class = party.class();
        let bound = self.bounds.of(class);
        let own = self.taken.get(&party).copied().unwrap_or_default();
        let all = self.by_class.get(&class).copied().unwrap_or_default();
        if own >= bound.one {
            return Err(Full::Own { taken: own });
        }
        // AD2
        let is_spare = own < ALWAYS && all < bound.all + bound.spare;
        if all >= bound.all && !is_spare {
            return Err(Full::Class { class, taken: all });
        }
        self.taken.insert(party, own + 1);
        self.by_class.insert(class, all + 1);
        Ok(())
    }

    pub fn leave(&mut self, party: Party) {
        if let Some(own) = self.taken.get_mut(&party) {
            *own -= 1;
            if *own == 0 {
                self.taken.remove(&party);
            }
            if let Some(all) = self.by_class.get_mut(&party.class()) {
                *all -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: Party = Party::Agent(AgentId(1));
    const BOB: Party = Party::Agent(AgentId(2));
    const PERSON: Party = Party::Person { kernel_session: 1 };

    fn fill(places: &mut Places, party: Party) -> usize {
        (0..100_000).take_while(|_| places.enter(party).is_ok()).count()
    }

    /// AD3
    #[test]
    fn only_people_read_without_a_turn() {
        let agent = Caller::Agent(AgentId(1));
        assert!(!waits_for_turn(Caller::Person));
        assert!(
            [agent, Caller::Job, Caller::Viewer, Caller::Ambiguous].into_iter().all(waits_for_turn)
        );
    }

    #[test]
    fn one_agent_takes_its_own_places_and_a_person_still_has_all() {
        let mut places = Places::new(FEEDS);
        assert_eq!(fill(&mut places, ADA), 16);
        assert_eq!(places.enter(ADA), Err(Full::Own { taken: 16 }));
        assert_eq!(fill(&mut places, PERSON), FEEDS.people.one);
        places.leave(ADA);
        assert_eq!(places.enter(ADA), Ok(()));
    }

    /// AD1, AD2
    #[test]
    fn all_agents_together_leave_the_last_places_to_those_that_have_few() {
        for bounds in [CONNECTIONS, REQUESTS, FEEDS] {
            let mut places = Places::new(bounds);
            let flooding = (10..).map(|id| Party::Agent(AgentId(id)));
            let taken: usize =
                flooding.map(|one| fill(&mut places, one)).take_while(|n| *n > ALWAYS).sum();
            assert!(taken <= bounds.agents.all + ALWAYS, "{taken}");
            assert_eq!(fill(&mut places, BOB), ALWAYS);
            assert_eq!(fill(&mut places, PERSON), bounds.people.one);
            let spare = (1000..).map(|id| Party::Agent(AgentId(id)));
            let left: usize = spare.map(|one| fill(&mut places, one)).take_while(|n| *n > 0).sum();
            assert!(taken + left <= bounds.agents.all + bounds.agents.spare);
        }
    }

    #[test]
    fn the_scripts_of_one_terminal_leave_another_its_places() {
        let mut places = Places::new(CONNECTIONS);
        for kernel_session in 10..20 {
            fill(&mut places, Party::Person { kernel_session });
        }
        assert_eq!(fill(&mut places, PERSON), ALWAYS);
    }

    #[test]
    fn fewer_places_are_shared_in_the_same_way() {
        assert_eq!(CONNECTIONS.within(CONNECTIONS.total()), CONNECTIONS);
        let few = CONNECTIONS.within(200);
        assert!(few.total() <= 200, "{few:?}");
        assert!(few.people.all > few.agents.all && few.agents.all > few.viewers.all);
        let none = CONNECTIONS.within(0);
        assert!(none.people.one == 1 && none.people.all == 1);
    }

    #[test]
    fn a_class_is_full_when_all_its_places_and_the_spare_ones_are_taken() {
        let few = Bound { one: 10, all: 6, spare: 3 };
        let bounds = Bounds { people: few, agents: few, viewers: few, jobs: few };
        let mut places = Places::new(bounds);
        assert_eq!(fill(&mut places, ADA), 6);
        assert_eq!(places.enter(ADA), Err(Full::Class { class: Class::Agents, taken: 6 }));
        assert_eq!(fill(&mut places, BOB), 3);
        assert_eq!(places.enter(BOB), Err(Full::Class { class: Class::Agents, taken: 9 }));
        (0..6).for_each(|_| places.leave(ADA));
        (0..3).for_each(|_| places.leave(BOB));
        // Who has no place gives none back.
        places.leave(ADA);
        assert_eq!(fill(&mut places, BOB), 6);
    }

    #[test]
    fn callers_are_counted_by_what_the_kernel_shows_of_them() {
        let of = |caller| Party::of(caller, 7, 1000);
        assert_eq!(of(Caller::Person), Party::Person { kernel_session: 7 });
        assert_eq!(of(Caller::Agent(AgentId(1))), ADA);
        assert_eq!(of(Caller::Job), Party::Job);
        for caller in [Caller::Viewer, Caller::Ambiguous] {
            assert_eq!(of(caller), Party::Viewer { uid: 1000 });
        }
    }
}

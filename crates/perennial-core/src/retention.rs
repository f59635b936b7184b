//! Which recordings may be removed: the terminal output of sessions that have ended, and nothing else.
//!
//! Pure. What lies on the disk arrives as an argument. A recording is there for people to look at and nothing is
//! derived from it, so it is the one thing of an agent's past that may be removed; that it was removed is recorded.
//! Each rule holds for good once it holds: what was chosen a moment ago may still be removed.
//!
//! Invariants
//! - RT1  The recording of a session that has not ended, or of which a process may be left, is kept.
//! - RT2  The recording of the newest session of an agent outside the cemetery is kept, unless a person asks for it.
//! - RT3  A recording that the journal does not know, or may know wrongly, is kept.
//! - RT4  Without a person who asks and without a time limit in the configuration, everything is kept.

use std::time::Duration;

use crate::agent::Agent;
use crate::event::NodeEvent;
use crate::fleet::Fleet;
use crate::id::{AgentId, SessionNumber};
use crate::reason::Witness;
use crate::session::Session;
use crate::state::Roster;
use crate::time::Time;

/// One event names at most this many sessions, so that its record stays small.
const SESSIONS_PER_EVENT: usize = 1000;

/// The recording of one session, as it lies on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recording {
    pub number: SessionNumber,
    pub bytes: u64,
    /// When the session printed last, by the wall clock.
    pub printed_at: Time,
    /// A process of the session may be left.
    pub may_live: bool,
}

/// The recordings of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recordings {
    pub agent: AgentId,
    /// Where the agent's sessions stand, if it has left memory and the store knows it.
    pub recalled: Option<SessionsKnown>,
    pub recordings: Vec<Recording>,
}

/// Where an agent's sessions stand, by its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionsKnown {
    newest: SessionNumber,
    newest_has_ended: bool,
    is_in_cemetery: bool,
    /// No record of the agent is unreadable or lost.
    is_certain: bool,
}

impl SessionsKnown {
    pub(crate) fn is_in_cemetery(self) -> bool {
        self.is_in_cemetery
    }

    pub(crate) fn newest_has_ended(self) -> bool {
        self.newest_has_ended
    }

    /// `None` for an agent that has had no session.
    pub fn of(agent: &Agent) -> Option<SessionsKnown> {
        let session = agent.session.as_ref()?;
        Some(SessionsKnown {
            newest: session.number,
            newest_has_ended: Session::is_over(session),
            is_in_cemetery: agent.state.roster() == Roster::Cemetery,
            is_certain: !agent.is_damaged() && !agent.awaits_word_on_loss(),
        })
    }
}

/// Which of the recordings that may go are to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Those whose sessions printed last before this, by the wall clock.
    pub printed_before: Time,
    /// Also those of the newest sessions of agents outside the cemetery.
    pub with_newest: bool,
}

/// The terms of the configuration: what was printed within this time is kept.
pub fn by_age(keep: Duration, now: Time, behind: Duration) -> Terms {
    Terms { printed_before: now.before(behind).before(keep), with_newest: false }
}

/// What is to go, of what was found.
pub fn chosen(fleet: &Fleet, found: &[Recordings], terms: Terms) -> Vec<Recordings> {
    let of_agent = |found: &Recordings| {
        let known = match fleet.agent(found.agent) {
            Some(agent) => SessionsKnown::of(agent),
            None => found.recalled,
        };
        let may_go = |recording: &&Recording| {
            known.is_some_and(|known| may_go(known, **recording, terms.with_newest))
                && recording.printed_at < terms.printed_before
        };
        let recordings = found.recordings.iter().filter(may_go).copied().collect();
        Recordings { recordings, ..*found }
    };
    let chosen = found.iter().map(of_agent);
    chosen.filter(|found| !found.recordings.is_empty()).collect()
}

fn may_go(known: SessionsKnown, recording: Recording, with_newest: bool) -> bool {
    let may_newest_go = known.newest_has_ended && (known.is_in_cemetery || with_newest);
    let has_ended =
        recording.number < known.newest || (recording.number == known.newest && may_newest_go);
    known.is_certain && has_ended && !recording.may_live
}

/// What is recorded of the removal.
pub(crate) fn pruned(chosen: &[Recordings], by: Witness) -> Vec<NodeEvent> {
    let of_agent = |one: &Recordings| {
        let agent = one.agent;
        let event = move |part: &[Recording]| NodeEvent::RecordingsPruned {
            agent,
            sessions: part.iter().map(|recording| recording.number).collect(),
            bytes: part.iter().map(|recording| recording.bytes).sum(),
            by,
        };
        one.recordings.chunks(SESSIONS_PER_EVENT).map(event).collect::<Vec<_>>()
    };
    chosen.iter().flat_map(of_agent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authority::Caller;
    use crate::command::{Command, Request};
    use crate::fleet::Policy;
    use crate::observation::Observation;

    const DAY: Duration = Duration::from_secs(86_400);
    const NOW: Time = Time(1_700_000_000_000_000);

    fn known(newest: u32, newest_has_ended: bool, is_in_cemetery: bool) -> SessionsKnown {
        let newest = SessionNumber(newest);
        SessionsKnown { newest, newest_has_ended, is_in_cemetery, is_certain: true }
    }

    /// Which of four sessions, all printed long ago, go.
    fn gone(recalled: Option<SessionsKnown>, with_newest: bool) -> Vec<u32> {
        let recording = |number| Recording {
            number: SessionNumber(number),
            bytes: 1,
            printed_at: NOW.before(DAY * 40),
            may_live: false,
        };
        let recordings = (1..=4).map(recording).collect();
        let found = [Recordings { agent: AgentId(1), recalled, recordings }];
        let terms = Terms { printed_before: NOW.before(DAY * 30), with_newest };
        let chosen = chosen(&Fleet::default(), &found, terms);
        chosen.iter().flat_map(|one| &one.recordings).map(|one| one.number.0).collect()
    }

    /// RT1 to RT3.
    #[test]
    fn what_may_go() {
        for (recalled, with_newest, expected) in [
            (Some(known(3, false, false)), false, &[1, 2][..]),
            (Some(known(3, false, false)), true, &[1, 2]),
            (Some(known(3, false, true)), true, &[1, 2]),
            (Some(known(3, true, false)), false, &[1, 2]),
            (Some(known(3, true, false)), true, &[1, 2, 3]),
            (Some(known(3, true, true)), false, &[1, 2, 3]),
            (Some(SessionsKnown { is_certain: false, ..known(4, true, true) }), true, &[]),
            (None, true, &[]),
        ] {
            assert_eq!(gone(recalled, with_newest), expected, "{recalled:?} {with_newest}");
        }
    }

    #[test]
    fn what_is_young_or_may_live_stays() {
        let old = NOW.before(DAY * 40);
        let of = |printed_at, may_live| Recording {
            number: SessionNumber(1),
            bytes: 1,
            printed_at,
            may_live,
        };
        let terms = by_age(DAY * 30, NOW, Duration::ZERO);
        let goes = |recording| {
            let recalled = Some(known(2, true, true));
            let found = Recordings { agent: AgentId(1), recalled, recordings: vec![recording] };
            !chosen(&Fleet::default(), &[found], terms).is_empty()
        };
        assert!(goes(of(old, false)));
        assert!(!goes(of(old, true)), "a process may be left");
        assert!(!goes(of(NOW.before(DAY * 29), false)), "too young");
        assert!(!goes(of(NOW + DAY, false)), "printed by a clock that was ahead");
        // Files are dated by a wall clock that was set back by 20 days.
        assert_eq!(by_age(DAY * 30, NOW, DAY * 20).printed_before, NOW.before(DAY * 50));
    }

    #[test]
    fn a_record_of_many_sessions_is_several() {
        let recording = |number| Recording {
            number: SessionNumber(number),
            bytes: 2,
            printed_at: NOW,
            may_live: false,
        };
        let recordings = (1..=2500).map(recording).collect();
        let events = pruned(
            &[Recordings { agent: AgentId(1), recalled: None, recordings }],
            Witness::Daemon,
        );
        let sizes: Vec<(usize, u64)> = events
            .iter()
            .filter_map(|event| {
                let NodeEvent::RecordingsPruned { sessions, bytes, .. } = event else {
                    return None;
                };
                Some((sessions.len(), *bytes))
            })
            .collect();
        assert_eq!(sizes, [(1000, 2000), (1000, 2000), (500, 1000)]);
    }

    /// RT4, and who may ask.
    #[test]
    fn without_a_limit_or_a_person_nothing_goes() {
        let printed_at = NOW.before(DAY * 40);
        let recording =
            Recording { number: SessionNumber(1), bytes: 1, printed_at, may_live: false };
        let recalled = Some(known(1, true, true));
        let found = vec![Recordings { agent: AgentId(1), recalled, recordings: vec![recording] }];
        let observed = |keep_recordings: Option<Duration>| {
            let policy = Policy { keep_recordings, ..Policy::default() };
            let found = Observation::RecordingsFound(found.clone());
            Fleet::default().under(policy).observe(&found, NOW).len()
        };
        assert_eq!(observed(None), 0);
        assert_eq!(observed(Some(DAY * 50)), 0);
        assert_eq!(observed(Some(DAY * 30)), 1);
        let asked = |caller| {
            let terms = Terms { printed_before: NOW, with_newest: false };
            let command = Command::Prune { found: found.clone(), cleaned: Vec::new(), terms };
            Fleet::default().decide(&Request { caller, command }, NOW)
        };
        assert_eq!(asked(Caller::Person).map(|decision| decision.events.len()), Ok(1));
        for caller in [Caller::Agent(AgentId(1)), Caller::Job, Caller::Viewer, Caller::Ambiguous] {
            assert!(asked(caller).is_err(), "{caller:?}");
        }
    }

    /// RT1 to RT3, by the record of the agent itself.
    #[test]
    fn what_the_record_of_an_agent_says_of_its_sessions() {
        use crate::agent::{evolve, restart, stop};
        use crate::conversation::Opening;
        use crate::event::AgentEvent;
        use crate::exit::Exit;
        use crate::fleet::Restored;
        use crate::observation::LivingSession;
        use crate::restart::Tally;
        use crate::state::State;

        let id = AgentId(1);
        let mut agent = Agent::unborn(id, NOW);
        (agent.hold, agent.state) = (None, State::Working);
        agent.launch.argv = vec!["program".to_owned()];
        let goes = |agent: &Agent, with_newest| {
            let recording = Recording {
                number: SessionNumber::FIRST,
                bytes: 1,
                printed_at: NOW,
                may_live: false,
            };
            let recalled = Some(known(2, true, true));
            let found = [Recordings { agent: id, recalled, recordings: vec![recording] }];
            let agents = vec![agent.clone()];
            let fleet = Fleet::restore(Restored { agents, ..Restored::default() });
            let terms = |printed_before| Terms { printed_before, with_newest };
            assert!(chosen(&fleet, &found, terms(NOW)).is_empty(), "not before, but then");
            !chosen(&fleet, &found, terms(NOW + DAY)).is_empty()
        };
        let all = |agent: &Agent| [goes(agent, false), goes(agent, true)];
        assert_eq!(all(&agent), [false; 2], "the record in memory knows of no session");
        let number = SessionNumber::FIRST;
        let wanted = AgentEvent::SessionWanted { number, opening: Opening::Bare };
        evolve(&mut agent, &wanted, NOW);
        assert_eq!(all(&agent), [false; 2], "it has not ended");
        let stopped = stop(&agent, Witness::Operator, NOW).expect("it lives");
        stopped.iter().for_each(|event| evolve(&mut agent, event, NOW));
        let (exit, tally) = (Exit::Code(0), Tally::ByFirstRule);
        let ended = AgentEvent::SessionEnded { number, exit, is_clean: true, tally, asked: None };
        evolve(&mut agent, &ended, NOW);
        assert_eq!(agent.state, State::Sleeping);
        assert_eq!(all(&agent), [false, true], "the newest, outside the cemetery");
        let mut damaged = agent.clone();
        damaged.mark_damaged("it was altered", NOW);
        assert_eq!(all(&damaged), [false; 2]);
        let (next, process, claim) = (number.next(), None, None);
        let later = LivingSession { agent: id, number: next, process, claim, has_records: true };
        let found = crate::agent::session_found(&agent, &later, NOW);
        let mut lost = agent.clone();
        found.iter().for_each(|event| evolve(&mut lost, event, NOW));
        assert_eq!(all(&lost), [false; 2], "what is gone may be about it");
        let next = restart(&agent, crate::agent::Start::Continue, Witness::Operator, NOW)
            .expect("it sleeps");
        next.iter().for_each(|event| evolve(&mut agent, event, NOW));
        assert_eq!(all(&agent), [true; 2], "there is a newer one");
    }

    #[test]
    fn what_the_configuration_removes_is_dated_by_the_wall_clock_and_nobody_asked_for_it() {
        let printed_at = NOW.before(DAY * 40);
        let recording =
            Recording { number: SessionNumber(1), bytes: 1, printed_at, may_live: false };
        let recalled = Some(known(1, true, true));
        let found = vec![Recordings { agent: AgentId(1), recalled, recordings: vec![recording] }];
        let found = Observation::RecordingsFound(found);
        let policy = Policy { keep_recordings: Some(DAY * 30), ..Policy::default() };
        let mut fleet = Fleet::default().under(policy);
        let events = fleet.observe(&found, NOW);
        let is_by_daemon = |event: &crate::event::Event| {
            use crate::event::What;
            let What::Node(_, NodeEvent::RecordingsPruned { by, .. }) = &event.what else {
                return false;
            };
            *by == Witness::Daemon
        };
        assert!(!events.is_empty() && events.iter().all(is_by_daemon), "{events:?}");
        fleet.set_behind(DAY * 20);
        assert!(fleet.observe(&found, NOW).is_empty(), "it is 20 days old by its own clock");
    }
}

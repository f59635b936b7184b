//! What `clean` removes of a dead agent: what its sessions printed, and our copies of its conversations.
//!
//! Pure. What lies on the disk, and who else had a conversation, arrives as an argument. The agent's record, its
//! summary and legacies, mail, posts and the entity graph stay, and so do the vendor's own files. Each rule holds for
//! good once it holds, but CL2: whoever removes a copy looks at that one again.
//!
//! Invariants
//! - CL1  Nothing of an agent goes that is not in the cemetery, or whose last session has not ended.
//! - CL2  A copy is kept that an agent outside the cemetery may resume, or whose original that agent's conversation
//!   refers to.
//! - CL3  A copy is kept that belongs to the record of another agent, unless that one was cleaned, too.
//! - CL4  While any record of an agent outside the cemetery can't be read, every copy is kept: nobody knows what it
//!   may resume. So is one where a record is unreadable that may say who had the conversation.
//! - CL5  Only a person cleans.

use crate::agent::Agent;
use crate::authority::Caller;
use crate::conversation::ConversationId;
use crate::event::{Event, NodeEvent};
use crate::fleet::{Decision, Fleet};
use crate::id::AgentId;
use crate::reason::{Verb, Witness};
use crate::refusal::Refusal;
use crate::retention::{self, Recording, Recordings, SessionsKnown, Terms};
use crate::state::Roster;
use crate::time::Time;

/// One event names at most this many conversations, so that its record stays small.
const CONVERSATIONS_PER_EVENT: usize = 500;

/// Our copy of one conversation, as it lies on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationCopy {
    pub conversation: ConversationId,
    pub bytes: u64,
    /// When it was last written, by the wall clock.
    pub written_at: Time,
    /// Another agent that had the conversation and was not cleaned.
    pub also_of: Option<AgentId>,
    /// Every record that may say who had the conversation can be read.
    pub is_certain: bool,
    /// An agent outside the cemetery whose conversation refers to this one.
    pub origin_for: Option<AgentId>,
}

/// What one agent left on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artefacts {
    pub recordings: Recordings,
    /// The agent CLI whose conversations these are.
    pub harness: String,
    pub copies: Vec<ConversationCopy>,
}

/// Why a copy stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptFor {
    /// This agent is outside the cemetery, and may resume it.
    Resumption(AgentId),
    /// It is part of this agent's record.
    Record(AgentId),
    /// The record of this agent can't be read, so nobody knows what it may resume.
    Uncertainty(AgentId),
    /// Records can't be read that may say who had the conversation.
    Damage,
}

/// What goes and what stays, of what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Choice {
    pub recordings: Vec<Recording>,
    pub copies: Vec<ConversationCopy>,
    pub kept: Vec<(ConversationCopy, KeptFor)>,
}

/// Answers a person who wants an agent cleaned (CL1, CL5).
pub fn decide(
    fleet: &Fleet,
    caller: Caller,
    found: &Artefacts,
    now: Time,
) -> Result<Decision, Refusal> {
    fleet.authorise(caller, Verb::Clean, None)?;
    let by = caller.witness(Verb::Clean)?;
    may_be_cleaned(fleet, found)?;
    if found.recordings.recordings.is_empty() && found.copies.is_empty() {
        return Ok(Decision::default());
    }
    let choice = chosen(fleet, found);
    let agent = found.recordings.agent;
    let recordings = Recordings { recordings: choice.recordings, ..found.recordings };
    let mut events = retention::pruned(std::slice::from_ref(&recordings), by);
    // Recorded also where nothing goes yet of what lies there: `prune` may take later what others need now.
    events.extend(cleaned(agent, &found.harness, &choice.copies, by, true));
    let events = events.into_iter().map(|event| fleet.of_own(event, now)).collect();
    Ok(Decision { events, ..Decision::default() })
}

/// Whether the agent is one that can be cleaned.
pub fn may_be_cleaned(fleet: &Fleet, found: &Artefacts) -> Result<(), Refusal> {
    let agent = found.recordings.agent;
    match fleet.agent(agent) {
        Some(known) if known.state.roster() != Roster::Cemetery => {
            Err(Refusal::WrongState { agent, verb: Verb::Clean, state: known.state })
        }
        Some(known) if !known.is_over() => Err(Refusal::StillEnding { agent }),
        Some(_) => Ok(()),
        // One that has left memory is over; what the store did not know was not found.
        None => match found.recordings.recalled {
            Some(known) if known.is_over() => Ok(()),
            Some(_) | None => Err(Refusal::StillEnding { agent }),
        },
    }
}

/// What may go of it.
pub fn chosen(fleet: &Fleet, found: &Artefacts) -> Choice {
    let all = Terms { printed_before: Time(u64::MAX), with_newest: false };
    let recordings = retention::chosen(fleet, std::slice::from_ref(&found.recordings), all);
    let recordings = recordings.into_iter().flat_map(|one| one.recordings).collect();
    let mut choice = Choice { recordings, ..Choice::default() };
    for copy in &found.copies {
        match kept_for(fleet, found.recordings.agent, copy) {
            Some(why) => choice.kept.push((copy.clone(), why)),
            None => choice.copies.push(copy.clone()),
        }
    }
    choice
}

/// The copies of agents that were cleaned, which were last written before that time and which nobody needs now.
pub fn chosen_by_age(fleet: &Fleet, found: &[Artefacts], before: Time) -> Vec<Artefacts> {
    let of_agent = |found: &Artefacts| {
        let mut copies = chosen(fleet, found).copies;
        copies.retain(|copy| copy.written_at < before);
        Artefacts { copies, ..found.clone() }
    };
    let cleanable = found.iter().filter(|found| may_be_cleaned(fleet, found).is_ok());
    cleanable.map(of_agent).filter(|found| !found.copies.is_empty()).collect()
}

/// What is recorded when `prune` takes them.
pub(crate) fn pruned(fleet: &Fleet, chosen: &[Artefacts], by: Witness, now: Time) -> Vec<Event> {
    let of_agent = |one: &Artefacts| {
        let (agent, harness) = (one.recordings.agent, one.harness.as_str());
        cleaned(agent, harness, &one.copies, by, false)
    };
    chosen.iter().flat_map(of_agent).map(|event| fleet.of_own(event, now)).collect()
}

/// Whether this conversation may be resumed by an agent outside the cemetery, as far as memory knows (CL2, CL4).
/// Whoever removes a copy asks again: the decision may be of an earlier daemon.
pub fn is_needed(fleet: &Fleet, conversation: &ConversationId) -> bool {
    needed_by(fleet, conversation).is_some()
}

fn needed_by(fleet: &Fleet, conversation: &ConversationId) -> Option<KeptFor> {
    let outside = || fleet.agents().filter(|agent| agent.state.roster() != Roster::Cemetery);
    let has_it = |agent: &&Agent| {
        let own = agent.to_read();
        own.is_some_and(|own| own.newest_first().any(|one| one == conversation))
    };
    let is_uncertain = |agent: &&Agent| agent.is_damaged() || agent.awaits_word_on_loss();
    let resumed = outside().find(has_it).map(|agent| KeptFor::Resumption(agent.id));
    resumed.or_else(|| outside().find(is_uncertain).map(|agent| KeptFor::Uncertainty(agent.id)))
}

fn kept_for(fleet: &Fleet, own: AgentId, copy: &ConversationCopy) -> Option<KeptFor> {
    let other = |id: &AgentId| *id != own;
    needed_by(fleet, &copy.conversation)
        .or_else(|| copy.origin_for.map(KeptFor::Resumption))
        .or_else(|| copy.also_of.filter(other).map(KeptFor::Record))
        .or_else(|| (!copy.is_certain).then_some(KeptFor::Damage))
}

fn cleaned(
    agent: AgentId,
    harness: &str,
    copies: &[ConversationCopy],
    by: Witness,
    also_without: bool,
) -> Vec<NodeEvent> {
    let event = |part: &[ConversationCopy]| NodeEvent::AgentCleaned {
        agent,
        harness: harness.to_owned(),
        conversations: part.iter().map(|copy| copy.conversation.clone()).collect(),
        bytes: part.iter().map(|copy| copy.bytes).sum(),
        by,
    };
    match copies.is_empty() && also_without {
        true => vec![event(&[])],
        false => copies.chunks(CONVERSATIONS_PER_EVENT).map(event).collect(),
    }
}

impl SessionsKnown {
    /// Whether the agent is in the cemetery and its last session has ended.
    fn is_over(self) -> bool {
        self.is_in_cemetery() && self.newest_has_ended()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Conversations;
    use crate::event::What;
    use crate::fleet::Restored;
    use crate::id::SessionNumber;
    use crate::state::State;

    const BOB: AgentId = AgentId(1);
    const EVE: AgentId = AgentId(2);
    const NOW: Time = Time(1_700_000_000_000_000);

    fn id(text: &str) -> ConversationId {
        text.parse().expect("an id")
    }

    fn agent(of: AgentId, state: State, conversations: &[&str]) -> Agent {
        use crate::conversation::Opening;
        use crate::event::AgentEvent;
        use crate::exit::Exit;
        use crate::restart::Tally;
        let mut agent = Agent::unborn(of, NOW);
        agent.hold = None;
        let number = SessionNumber::FIRST;
        let ended = AgentEvent::SessionEnded {
            number,
            exit: Exit::Code(0),
            is_clean: true,
            tally: Tally::ByFirstRule,
            asked: None,
        };
        for event in [AgentEvent::SessionWanted { number, opening: Opening::Bare }, ended] {
            crate::agent::evolve(&mut agent, &event, NOW);
        }
        agent.state = state;
        for one in conversations {
            let known = agent.conversations.take();
            agent.conversations = Some(Conversations::follow(known, &id(one)));
        }
        agent
    }

    fn fleet(agents: Vec<Agent>) -> Fleet {
        Fleet::restore(Restored { agents, ..Restored::default() })
    }

    fn copy(conversation: &str) -> ConversationCopy {
        let (also_of, origin_for) = (None, None);
        let conversation = id(conversation);
        let is_certain = true;
        ConversationCopy {
            conversation,
            bytes: 7,
            written_at: NOW,
            also_of,
            is_certain,
            origin_for,
        }
    }

    fn found(recalled: Option<&Agent>, copies: Vec<ConversationCopy>) -> Artefacts {
        let recording =
            Recording { number: SessionNumber(1), bytes: 1, printed_at: NOW, may_live: false };
        let recordings = Recordings {
            agent: BOB,
            recalled: recalled.and_then(SessionsKnown::of),
            recordings: vec![recording],
        };
        Artefacts { recordings, harness: "claude".to_owned(), copies }
    }

    fn decided(
        fleet: &Fleet,
        caller: Caller,
        found: &Artefacts,
    ) -> Result<Vec<NodeEvent>, Refusal> {
        let decision = decide(fleet, caller, found, NOW)?;
        let node_event = |event: Event| {
            let What::Node(_, event) = event.what else { unreachable!("{event:?}") };
            event
        };
        Ok(decision.events.into_iter().map(node_event).collect())
    }

    /// CL1, CL5
    #[test]
    fn only_the_dead_are_cleaned_and_only_by_a_person() {
        for state in State::ALL {
            let fleet = fleet(vec![agent(BOB, state, &["a"])]);
            let decided = decided(&fleet, Caller::Person, &found(None, vec![copy("a")]));
            assert_eq!(decided.is_ok(), state.roster() == Roster::Cemetery, "{state:?}");
        }
        let dead = agent(BOB, State::Dead, &["a"]);
        let recalled = found(Some(&dead), vec![copy("a")]);
        let events = decided(&Fleet::default(), Caller::Person, &recalled).expect("it is dead");
        let [NodeEvent::RecordingsPruned { .. }, NodeEvent::AgentCleaned { conversations, .. }] =
            &events[..]
        else {
            unreachable!("{events:?}")
        };
        assert_eq!(conversations, &[id("a")]);
        for caller in [Caller::Agent(BOB), Caller::Agent(EVE), Caller::Job, Caller::Viewer] {
            assert!(decided(&Fleet::default(), caller, &recalled).is_err(), "{caller:?}");
        }
        let unknown = found(None, vec![copy("a")]);
        assert_eq!(
            decided(&Fleet::default(), Caller::Person, &unknown),
            Err(Refusal::StillEnding { agent: BOB })
        );
        let mut ending = agent(BOB, State::Dead, &["a"]);
        ending.session = ending.session.map(|session| crate::session::Session {
            phase: crate::session::Phase::Running,
            ..session
        });
        let ending = fleet(vec![ending]);
        assert_eq!(
            decided(&ending, Caller::Person, &found(None, vec![])),
            Err(Refusal::StillEnding { agent: BOB })
        );
    }

    /// CL2 to CL4
    #[test]
    fn a_copy_that_anybody_may_need_is_kept() {
        let dead = agent(BOB, State::Dead, &["a", "b"]);
        let goes = |others: Vec<Agent>, copy: ConversationCopy| {
            let choice = chosen(&fleet(others), &found(Some(&dead), vec![copy]));
            choice.kept.first().map(|(_, why)| *why)
        };
        assert_eq!(goes(vec![], copy("a")), None);
        for state in State::ALL.into_iter().filter(|one| one.roster() != Roster::Cemetery) {
            let eve = || vec![agent(EVE, state, &["a", "c"])];
            assert_eq!(goes(eve(), copy("a")), Some(KeptFor::Resumption(EVE)), "an earlier one");
            assert_eq!(goes(eve(), copy("b")), None, "{state:?}");
        }
        let gone = vec![agent(EVE, State::Dead, &["a"])];
        assert_eq!(goes(gone.clone(), copy("a")), None, "nobody resumes it");
        let shared = ConversationCopy { also_of: Some(EVE), ..copy("a") };
        assert_eq!(goes(gone.clone(), shared), Some(KeptFor::Record(EVE)));
        let own = ConversationCopy { also_of: Some(BOB), ..copy("a") };
        assert_eq!(goes(gone, own), None);
        let origin = ConversationCopy { origin_for: Some(EVE), ..copy("a") };
        assert_eq!(goes(vec![], origin), Some(KeptFor::Resumption(EVE)));
        let doubtful = ConversationCopy { is_certain: false, ..copy("a") };
        assert_eq!(goes(vec![], doubtful), Some(KeptFor::Damage));
        let mut damaged = agent(EVE, State::Sleeping, &["c"]);
        damaged.mark_damaged("altered", NOW);
        assert_eq!(goes(vec![damaged], copy("a")), Some(KeptFor::Uncertainty(EVE)));
        let mut lost = agent(EVE, State::Sleeping, &["c"]);
        let (witness, fact) = (Witness::Daemon, crate::reason::Finding::RecordsLost);
        let evidence = crate::reason::Evidence { witness, fact, at: NOW };
        let held_for = crate::hold::HeldFor::Person;
        lost.hold = Some(Box::new(crate::hold::Hold { held_for, evidence, since: NOW }));
        assert_eq!(goes(vec![lost], copy("a")), Some(KeptFor::Uncertainty(EVE)));
    }

    #[test]
    fn a_clean_that_can_remove_nothing_yet_is_recorded_all_the_same() {
        let dead = agent(BOB, State::Dead, &["a"]);
        let others = fleet(vec![agent(EVE, State::Sleeping, &["a"])]);
        let found = found(Some(&dead), vec![copy("a")]);
        let events = decided(&others, Caller::Person, &found).expect("it is dead");
        let is_empty = |event: &NodeEvent| match event {
            NodeEvent::AgentCleaned { conversations, .. } => Some(conversations.is_empty()),
            NodeEvent::DaemonStarted { .. }
            | NodeEvent::DaemonStopped { .. }
            | NodeEvent::JournalRestored { .. }
            | NodeEvent::RecordsLost { .. }
            | NodeEvent::RecordingsPruned { .. } => None,
        };
        assert_eq!(events.iter().find_map(is_empty), Some(true));
        // Where nothing lies there is nothing to say.
        let mut nothing = Artefacts { copies: Vec::new(), ..found.clone() };
        nothing.recordings.recordings.clear();
        assert_eq!(decided(&others, Caller::Person, &nothing), Ok(Vec::new()));
        // Once nobody may resume it, age decides.
        let before = |at| chosen_by_age(&Fleet::default(), std::slice::from_ref(&found), at).len();
        assert_eq!((before(NOW), before(Time(NOW.0 + 1))), (0, 1));
        assert!(chosen_by_age(&others, std::slice::from_ref(&found), Time(u64::MAX)).is_empty());
    }

    /// CL1, of one that has left memory: its record says whether it is over.
    #[test]
    fn what_was_recalled_has_to_be_over_too() {
        let mut living = agent(BOB, State::Sleeping, &["a"]);
        let of = |agent: &Agent| found(Some(agent), vec![copy("a")]);
        let still = Err(Refusal::StillEnding { agent: BOB });
        assert_eq!(decided(&Fleet::default(), Caller::Person, &of(&living)), still);
        assert!(chosen_by_age(&Fleet::default(), &[of(&living)], Time(u64::MAX)).is_empty());
        living.state = State::Dead;
        assert!(decided(&Fleet::default(), Caller::Person, &of(&living)).is_ok());
        living.session = living.session.map(|session| crate::session::Session {
            phase: crate::session::Phase::Running,
            ..session
        });
        assert_eq!(decided(&Fleet::default(), Caller::Person, &of(&living)), still);
        // One in memory says in which state it is.
        let sleeping = fleet(vec![agent(BOB, State::Sleeping, &["a"])]);
        let refused = decided(&sleeping, Caller::Person, &found(None, vec![]));
        let (verb, state) = (Verb::Clean, State::Sleeping);
        assert_eq!(refused, Err(Refusal::WrongState { agent: BOB, verb, state }));
    }

    #[test]
    fn every_copy_that_goes_is_named_in_events_of_bounded_size() {
        let dead = agent(BOB, State::Dead, &[]);
        let many = CONVERSATIONS_PER_EVENT * 2 + 1;
        let copies = (0..many).map(|number| copy(&format!("c{number}"))).collect();
        let events = decided(&Fleet::default(), Caller::Person, &found(Some(&dead), copies));
        let named = events.expect("it is dead").into_iter().filter_map(|event| match event {
            NodeEvent::AgentCleaned { conversations, .. } => Some(conversations.len()),
            NodeEvent::DaemonStarted { .. }
            | NodeEvent::DaemonStopped { .. }
            | NodeEvent::JournalRestored { .. }
            | NodeEvent::RecordsLost { .. }
            | NodeEvent::RecordingsPruned { .. } => None,
        });
        let named: Vec<usize> = named.collect();
        assert_eq!(named, [CONVERSATIONS_PER_EVENT, CONVERSATIONS_PER_EVENT, 1]);
    }
}

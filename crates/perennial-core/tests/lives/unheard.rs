//! What hooks said while no daemon heard them, as the next daemon finds it.

use std::time::Duration;

use perennial_core::conversation::Followed;
use perennial_core::fact::{Fact, Seen};
use perennial_core::hearing::{self, Tell};
use perennial_core::reason::Reason;
use perennial_core::state::State;

use crate::listener::{Listener, conversation, ended, hook, prompt};
use crate::told::due;
use perennial_core::id::AgentId;

const WORKS: (State, Reason) = (State::Working, Reason::InTurn);
const IDLE: (State, Reason) = (State::Waiting, Reason::Idle);

/// Called now, and heard by nobody.
fn unheard(listener: &mut Listener, fact: Fact) -> Fact {
    listener.told.pass(Duration::from_secs(1));
    fact.at(Some(listener.told.now)).within(Some(conversation("a")))
}

fn began() -> Fact {
    hook(Seen::SessionBegan(Followed::Started))
}

/// The next daemon finds these.
fn found(listener: &mut Listener, kept: &[Fact]) -> Vec<Tell> {
    listener.told.pass(Duration::from_secs(1));
    let agent = listener.told.agent(1).clone();
    let facts = hearing::unheard(&agent, kept.to_vec());
    facts.iter().flat_map(|fact| listener.hear(fact).tell).collect()
}

/// H26: found alive, whether or not the time for its first word had passed; also if it is told twice.
#[test]
fn a_session_that_began_while_no_daemon_ran_is_alive() {
    for is_taken_for_a_dialog in [false, true] {
        let mut listener = Listener::unborn();
        let begun = unheard(&mut listener, began());
        let prompted = unheard(&mut listener, prompt("p1"));
        let over = unheard(&mut listener, ended(0));
        if is_taken_for_a_dialog {
            for _ in 0..3 {
                listener.told.pass(Duration::from_secs(100));
                listener.told.observe(&due(AgentId(1)));
            }
            assert_eq!(listener.shown(), (State::Waiting, Reason::SilentAtStart));
        }
        listener.resume();
        // In whatever order they were kept.
        let told = found(&mut listener, &[over.clone(), begun.clone(), prompted.clone()]);
        assert_eq!(told, [], "nobody waits for a reply");
        assert_eq!(listener.shown(), IDLE);
        let agent = listener.told.agent(1);
        assert!(agent.session.as_ref().unwrap().has_announced);
        let hearing = listener.hearing().unwrap();
        assert_eq!(hearing.obstacle(agent), None, "its input line was drawn long ago");
        // Another daemon finds the same: it says nothing of what happened since.
        let next = prompt("p2");
        assert_eq!(listener.hear(&next).tell, [Tell::StartText(Some(Followed::Started))], "H19");
        assert_eq!(listener.shown(), WORKS);
        listener.resume();
        found(&mut listener, &[begun, prompted, over]);
        assert_eq!(listener.shown(), WORKS);
    }
}

/// H26: the end of a turn that an earlier daemon heard begin.
#[test]
fn the_end_of_a_turn_that_nobody_heard_is_found() {
    let mut listener = Listener::new();
    assert_eq!(listener.shown(), WORKS);
    let stale = hook(Seen::PermissionAsked { tool: None }).at(Some(listener.told.now));
    listener.told.pass(Duration::from_secs(1));
    listener.hear(&ended(0));
    listener.hear(&prompt("p2"));
    let over = unheard(&mut listener, ended(0));
    listener.resume();
    found(&mut listener, &[stale.clone(), over]);
    assert_eq!(listener.shown(), IDLE, "what was asked before the turn says nothing");
    listener.resume();
    found(&mut listener, &[stale]);
    assert_eq!(listener.shown(), IDLE);
}

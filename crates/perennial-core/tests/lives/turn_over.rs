//! Agent CLIs that say less: calls without names, turns that are over without a word of how, and a
//! beginning to which no reply reaches the model.

use perennial_core::conversation::Followed;
use perennial_core::fact::{Fact, Failure, Origin, Seen};
use perennial_core::hearing::Tell;
use perennial_core::observation::Sign;
use perennial_core::reason::Reason;
use perennial_core::state::State;

use crate::listener::{Listener, SILENT_AFTER, conversation, ended, hook, prompt, tools};

const WORKS: (State, Reason) = (State::Working, Reason::InTurn);
const IDLE: (State, Reason) = (State::Waiting, Reason::Idle);
const FAILED: (State, Reason) = (State::Waiting, Reason::ServiceFailed);

fn silent_reply(seen: Seen) -> Fact {
    Fact { is_answerable: false, ..hook(seen) }.within(Some(conversation("a")))
}

fn settled() -> Fact {
    Fact::new(Origin::Transcript, Seen::Settled).within(Some(conversation("a")))
}

fn is_hung(listener: &mut Listener) -> bool {
    listener.told.pass(SILENT_AFTER * 2);
    let lasted = SILENT_AFTER * 2;
    let silence = Seen::Silence { lasted, received: Some(lasted) };
    listener.hear(&Fact::new(Origin::Kernel, silence)).signs == [Sign::Hangs]
}

/// H11: a call that has no name runs until one has finished.
#[test]
fn a_session_with_a_running_tool_does_not_hang() {
    let mut listener = Listener::new();
    for _ in 0..2 {
        listener.hear(&silent_reply(Seen::ToolBegan));
    }
    listener.hear(&tools(&[]));
    assert!(!is_hung(&mut listener), "one of two still runs");
    listener.hear(&tools(&[]));
    assert!(is_hung(&mut listener));
    // A turn that ends takes its calls with it.
    let mut listener = Listener::new();
    listener.hear(&silent_reply(Seen::ToolBegan));
    listener.write(Seen::Interrupted);
    listener.hear(&prompt("p2"));
    assert!(is_hung(&mut listener));
}

/// H18.
#[test]
fn a_turn_that_is_over_ends_as_the_transcript_says() {
    let mut listener = Listener::new();
    listener.write(Seen::CallFailed(Failure::Other));
    listener.hear(&silent_reply(Seen::TurnOver));
    assert_eq!(listener.shown(), WORKS);
    listener.caught_up();
    assert_eq!(listener.shown(), FAILED);
    listener.hear(&settled());
    assert_eq!(listener.shown(), FAILED);
}

/// H18.
#[test]
fn a_turn_that_is_over_and_of_which_nothing_is_written_waits_for_input() {
    let mut listener = Listener::new();
    listener.hear(&silent_reply(Seen::TurnOver));
    listener.caught_up();
    assert_eq!(listener.shown(), WORKS);
    listener.hear(&settled());
    assert_eq!(listener.shown(), IDLE);
    // A prompt in between begins a turn of its own.
    listener.hear(&prompt("p2"));
    listener.hear(&silent_reply(Seen::TurnOver));
    listener.hear(&prompt("p3"));
    listener.hear(&settled());
    assert_eq!(listener.shown(), WORKS);
}

/// H19: whichever of the two hooks comes first.
#[test]
fn the_briefing_goes_with_the_first_reply_that_reaches_the_model() {
    let began = |how| silent_reply(Seen::SessionBegan(how));
    for comes_late in [false, true] {
        let mut listener = Listener::unborn();
        if !comes_late {
            assert_eq!(listener.hear(&began(Followed::Started)).tell, []);
        }
        let how = (!comes_late).then_some(Followed::Started);
        assert_eq!(listener.hear(&prompt("p1")).tell, [Tell::StartText(how)]);
        if comes_late {
            listener.hear(&began(Followed::Started));
        }
        assert_eq!(listener.hear(&tools(&[])).tell, []);
        listener.hear(&ended(0));
        let cleared = Fact { conversation: Some(conversation("b")), ..began(Followed::Cleared) };
        listener.hear(&cleared);
        let cleared = Tell::StartText(Some(Followed::Cleared));
        assert_eq!(listener.hear(&prompt("p2")).tell, [cleared]);
    }
}

/// H19: no hook of its own tells of the compaction.
#[test]
fn a_window_that_only_the_transcript_tells_of_begins_with_the_briefing_too() {
    let mut listener = Listener::new();
    assert_eq!(listener.hear(&prompt("p1")).tell, []);
    listener.write(Seen::Answered);
    listener.hear(&ended(0));
    listener.write(Seen::Compacted);
    let compacted = Tell::StartText(Some(Followed::Compacted));
    assert_eq!(listener.hear(&prompt("p2")).tell, [compacted]);
    assert_eq!(listener.hear(&prompt("p3")).tell, [], "once");
}

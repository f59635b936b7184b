//! What an agent CLI shows, and what comes of it: single cases, most of them found by exploration.

use std::time::Duration;

use perennial_core::agent::DIALOG_AFTER;
use perennial_core::command::Command;
use perennial_core::context::{Sample, Source, Threshold};
use perennial_core::conversation::{ConversationId, Followed, Opening, Turn};
use perennial_core::exit::Exit;
use perennial_core::id::AgentId;
use perennial_core::observation::{Report, Sign, Wait};
use perennial_core::reason::Reason;
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::session::Process;
use perennial_core::state::State;

use crate::roles::freeze;
use crate::told::{Told, due};

/// This much of the window is used.
pub fn measured(percent: u64) -> Sign {
    let sample = Sample { tokens: percent, window: 100, usable: 100, source: Source::StatusLine };
    Sign::Measured { conversation: None, sample }
}

pub fn id(text: &str) -> ConversationId {
    text.parse().expect("a good id")
}

pub fn resume(conversation: &str, turn: Turn) -> Opening {
    Opening::Resume { conversation: id(conversation), turn }
}

impl Told {
    pub fn ends(&mut self, agent: u128, exit: Exit) {
        let number = self.number(agent);
        self.report(agent, number, Report::Exited(exit));
    }

    /// The newest session ends; once the next one is wanted, how that begins.
    pub fn next_opening(&mut self, agent: u128) -> Opening {
        self.ends(agent, Exit::KillSignal(9));
        if let Some(until) =
            self.agent(agent).until.filter(|_| self.agent(agent).state == State::Crashed)
        {
            self.now = self.now.max(until);
            self.observe(&due(AgentId(agent)));
        }
        self.agent(agent).session.as_ref().expect("it has one").opening.clone()
    }

    pub fn shown_as(&self, agent: u128) -> (State, Reason) {
        (self.agent(agent).state, self.agent(agent).reason)
    }
}

#[test]
fn the_next_session_takes_up_the_conversation_and_the_turn() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    assert_eq!(told.next_opening(1), resume("a", Turn::Open));
    told.begun(1, "a", Followed::Resumed);
    told.show(1, Sign::Began { conversation: id("b"), how: Followed::Cleared });
    told.show(1, Sign::Waits(Wait::Input));
    assert_eq!(told.next_opening(1), resume("b", Turn::Over));
}

/// Found by seed 5: its first session crashed before it said a word, and the next one began anew.
#[test]
fn an_adopted_conversation_is_kept_if_the_first_session_never_speaks() {
    let mut told = Told::new();
    told.spawn_cli(1, true, Some("own")).unwrap();
    assert_eq!(told.next_opening(1), resume("own", Turn::Open));
    let refused = told.spawn_cli(2, false, Some("own")).unwrap_err();
    assert!(matches!(refused, Refusal::ConversationTaken { .. }), "{refused:?}");
}

/// Found by seed 3.
#[test]
fn a_dialog_does_not_end_the_turn_that_is_to_go_on() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    assert_eq!(told.next_opening(1), resume("a", Turn::Open));
    told.executed(1);
    told.pass(DIALOG_AFTER);
    told.observe(&due(AgentId(1)));
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::FirstRunDialog));
    assert_eq!(told.next_opening(1), resume("a", Turn::Open));
}

#[test]
fn a_conversation_has_one_writer_also_while_a_buried_one_ends() {
    let mut told = Told::new();
    told.spawn_cli(1, false, Some("own")).unwrap();
    told.begun(1, "own", Followed::Resumed);
    let target = AgentId(1).to_string();
    told.ask(Command::Bury { target, summary: Some("over".into()) }).unwrap();
    let refused = told.spawn_cli(2, false, Some("own")).unwrap_err();
    assert!(matches!(refused, Refusal::ConversationTaken { .. }), "{refused:?}");
    told.ends(1, Exit::Code(0));
    told.spawn_cli(2, false, Some("own")).unwrap();
}

/// Found by seed 2271: whatever comes first is a sign of life.
#[test]
fn without_its_first_word_any_other_announces_a_session() {
    let waits = (State::Waiting, Reason::Idle);
    let works = (State::Working, Reason::InTurn);
    let signs = [
        (Sign::TurnBegan, works),
        (Sign::Waits(Wait::Input), waits),
        (measured(1), waits),
        (Sign::Progressed, waits),
    ];
    for (sign, expected) in signs {
        for after_the_dialog in [false, true] {
            let mut told = Told::new();
            told.spawn_cli(1, false, None).unwrap();
            told.executed(1);
            if after_the_dialog {
                told.pass(DIALOG_AFTER);
                told.observe(&due(AgentId(1)));
            }
            told.show(1, sign.clone());
            assert_eq!(told.shown_as(1), expected, "{sign:?}");
        }
    }
}

#[test]
fn a_cleared_conversation_begins_a_window_also_as_the_first_word() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.show(1, measured(95));
    assert_eq!(told.next_opening(1), resume("a", Turn::Open));
    told.begun(1, "b", Followed::Cleared);
    assert_eq!(told.agent(1).clock.passed, None);
}

/// Found by seed 1957: ended three times while it had nothing to do, its conversation was given up.
#[test]
fn ending_with_nothing_to_do_is_no_failure() {
    let mut told = Told::new();
    told.spawn_cli(1, false, None).unwrap();
    told.begun(1, "a", Followed::Started);
    for _ in 0..5 {
        told.pass(Duration::from_secs(60));
        assert_eq!(told.next_opening(1), resume("a", Turn::Over));
        told.begun(1, "a", Followed::Resumed);
    }
}

#[test]
fn a_turn_that_leads_nowhere_again_and_again_is_begun_anew() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    for _ in 0..2 {
        told.pass(Duration::from_secs(60));
        assert_eq!(told.next_opening(1), resume("a", Turn::Open));
        told.begun(1, "a", Followed::Resumed);
    }
    told.pass(Duration::from_secs(60));
    let opening = told.next_opening(1);
    assert!(matches!(opening, Opening::Fresh(_)), "{opening:?}");
}

/// Whoever wakes it has looked at it, and means the conversation that it had.
#[test]
fn woken_by_the_operator_it_takes_up_what_led_nowhere() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    for _ in 0..2 {
        told.pass(Duration::from_secs(60));
        told.next_opening(1);
        told.begun(1, "a", Followed::Resumed);
    }
    told.pass(Duration::from_secs(60));
    told.ends(1, Exit::KillSignal(9));
    assert_eq!(told.shown_as(1), (State::Crashed, Reason::BreakerOpen));
    told.ask(Command::Wake(AgentId(1).to_string())).unwrap();
    let session = told.agent(1).session.as_ref().expect("it has one");
    assert_eq!(session.opening, resume("a", Turn::Open));
}

#[test]
fn one_that_hangs_is_ended_and_goes_on_where_it_was() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.pass(Duration::from_secs(20));
    told.show(1, Sign::Hangs);
    assert_eq!(told.shown_as(1), (State::Unknown, Reason::Silent));
    assert_eq!(told.next_opening(1), resume("a", Turn::Open));
}

/// Found by seed 24143: the end that decides counts, whether it was futile or not.
#[test]
fn a_session_that_got_something_done_is_taken_up_after_others_that_did_not() {
    let mut told = Told::new();
    told.spawn_cli_under(Restart::Always, 1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    let end = |told: &mut Told, progressed: bool| {
        if progressed {
            told.show(1, Sign::Progressed);
        }
        told.pass(Duration::from_secs(60));
        // A clean end in an open turn would be a crash.
        told.show(1, Sign::BackgroundWork);
        told.ends(1, Exit::Code(0));
        let opening = told.agent(1).session.as_ref().expect("it has one").opening.clone();
        told.begun(1, "a", Followed::Resumed);
        opening
    };
    for progressed in [false, false, true, false, false] {
        assert_eq!(end(&mut told, progressed), resume("a", Turn::Open));
    }
    assert!(matches!(end(&mut told, false), Opening::Anew { .. }));
    assert_eq!(end(&mut told, true), resume("a", Turn::Open));
}

/// Found by seed 14936: it went into a conversation that was somebody else's by then.
#[test]
fn a_conversation_of_another_agent_is_not_followed() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.spawn_cli(2, false, Some("own")).unwrap();
    told.show(1, Sign::Began { conversation: id("own"), how: Followed::Forked });
    assert_eq!(told.next_opening(1), resume("a", Turn::Open));
    told.begun(2, "own", Followed::Resumed);
    assert_eq!(told.next_opening(2), resume("own", Turn::Over));
}

/// An interrupt calls no hook, and a permission that was given none before its tool is over.
#[test]
fn a_listing_tells_what_no_hook_did_and_is_not_believed_against_what_came_after_it() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    let before = told.now;
    told.pass(Duration::from_secs(1));
    told.show(1, Sign::Waits(Wait::Permission));
    told.show(1, Sign::VendorStatus { wait: None, since: before });
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::NeedsPermission));
    told.pass(Duration::from_secs(1));
    told.show(1, Sign::VendorStatus { wait: None, since: told.now });
    assert_eq!(told.shown_as(1), (State::Working, Reason::InTurn));
    told.pass(Duration::from_secs(1));
    told.show(1, Sign::VendorStatus { wait: Some(Wait::Input), since: told.now });
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::Idle));
    told.show(1, Sign::TurnBegan);
    told.show(1, Sign::Waits(Wait::RateLimit(None)));
    told.pass(Duration::from_secs(1));
    told.show(1, Sign::VendorStatus { wait: Some(Wait::Input), since: told.now });
    assert_eq!(told.shown_as(1), (State::Waiting, Reason::RateLimited));
}

/// Found by seed 31519: all that it had said was lost with a daemon, but it is in the vendor's list.
#[test]
fn who_is_listed_has_no_dialog_in_its_way() {
    for (wait, then) in [
        (Some(Wait::Input), (State::Waiting, Reason::Idle)),
        (None, (State::Working, Reason::InTurn)),
    ] {
        let mut told = Told::new();
        told.spawn_cli(1, true, None).unwrap();
        told.executed(1);
        let since = told.now;
        told.pass(DIALOG_AFTER);
        told.observe(&due(AgentId(1)));
        assert_eq!(told.shown_as(1), (State::Waiting, Reason::FirstRunDialog));
        told.show(1, Sign::VendorStatus { wait, since });
        assert_eq!(told.shown_as(1), then);
    }
}

/// Found by seed 83511: the status line of a conversation that was left came after the next began.
#[test]
fn a_sample_of_another_conversation_is_a_sign_of_life_and_no_more() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.show(1, Sign::Began { conversation: id("b"), how: Followed::Cleared });
    let Sign::Measured { sample, .. } = measured(95) else { unreachable!("a measure") };
    told.show(1, Sign::Measured { conversation: Some(id("a")), sample });
    assert_eq!(told.agent(1).clock.passed, None);
    told.show(1, Sign::Measured { conversation: Some(id("b")), sample });
    assert_eq!(told.agent(1).clock.passed, Some(Threshold::NineTenths));
}

#[test]
fn a_live_session_is_found_by_its_process() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::Never);
    let process = Process { pid: 7, start_ticks: 7 };
    let found = |told: &Told| told.fleet.by_process(process).map(|agent| agent.id);
    assert_eq!(found(&told), None);
    told.executed(1);
    assert_eq!(found(&told), Some(AgentId(1)));
    assert_eq!(told.fleet.by_process(Process { pid: 7, start_ticks: 8 }), None);
    told.ends(1, Exit::Code(0));
    assert_eq!(found(&told), None);
}

/// A sign that could not be recorded at once is told again, and may have been doubled meanwhile.
#[test]
fn the_same_beginning_again_begins_no_window() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    let began = |how| Sign::Began { conversation: "a".parse().unwrap(), how };
    for how in [Followed::Started, Followed::Cleared, Followed::Resumed, Followed::Forked] {
        assert_eq!(told.show(1, began(how)), [], "{how:?}");
    }
    assert_eq!(told.show(1, began(Followed::Compacted)).len(), 2);
}

/// Earlier ones included: with any of them, another agent would go on for it, without the approval.
#[test]
fn no_conversation_of_a_frozen_agent_is_taken_up() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.show(1, Sign::Began { conversation: id("b"), how: Followed::Cleared });
    freeze(&mut told, 1);
    for conversation in ["a", "b"] {
        let refused = told.spawn_cli(2, false, Some(conversation));
        let expected = Refusal::NeedsApproval { agent: AgentId(1) };
        assert_eq!(refused, Err(expected), "{conversation}");
    }
    told.spawn_cli(2, false, Some("c")).unwrap();
}

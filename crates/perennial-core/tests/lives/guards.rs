//! Single conditions of hearing and of the record, each with a case that needs it.

use std::time::Duration;

use perennial_core::agent::needs_operator;
use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::context::{Sample, Source};
use perennial_core::conversation::{Followed, Opening, Turn};
use perennial_core::effect::Effect;
use perennial_core::event::{AgentEvent, Event, Move, What};
use perennial_core::exit::Exit;
use perennial_core::fact::{Fact, Failure, Listed, Origin, Seen};
use perennial_core::hearing::{
    self, Focus, Heard, Hearing, Kept, REMINDER_CALLS, Tell, reminder_mark,
};
use perennial_core::hold::HeldFor;
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::launch::{Launch, Options};
use perennial_core::observation::{Observation, Report, Sign};
use perennial_core::reason::Reason;
use perennial_core::restart::{CHURN_LIMIT, Restart};
use perennial_core::session::{Pace, Phase};
use perennial_core::state::{Cause, State};
use perennial_core::time::Time;

use crate::listener::{
    Listener, SILENT_AFTER, conversation, ended, fingerprint, hook, line, percent, prompt, tools,
};
use crate::signs::resume;
use crate::told::{Told, due, launch};

const BOB: AgentId = AgentId(1);
const SECOND: Duration = Duration::from_secs(1);

fn sample(listener: &Listener) -> Option<u64> {
    listener.hearing().and_then(Hearing::sample).map(|(sample, _)| sample.tokens)
}

/// A parent can't type: what it stops in a turn goes on when it is woken.
#[test]
fn a_leads_stop_leaves_the_turn_open() {
    let mut told = Told::new();
    told.spawn(9, Some("boss"), Restart::OnCrash);
    let options = Options { prompt: Some("do it".into()), ..Options::default() };
    let spawn = Spawn {
        id: BOB,
        name: None,
        role: None,
        parent: Some("boss".into()),
        launch: Launch { harness: "claude".into(), options, ..launch() },
        restart: Restart::OnCrash,
        conversation: None,
        situations: Vec::new(),
    };
    told.ask(Command::Spawn(Box::new(spawn))).unwrap();
    told.begun(1, "a", Followed::Started);
    let parent = Caller::Agent(AgentId(9));
    told.ask_as(parent, Command::Stop(BOB.to_string())).unwrap();
    told.ends(1, Exit::Code(0));
    assert_eq!((told.agent(1).state, told.agent(1).turn), (State::Sleeping, Turn::Open));
    told.ask_as(parent, Command::Wake(BOB.to_string())).unwrap();
    assert_eq!(told.agent(1).session.as_ref().unwrap().opening, resume("a", Turn::Open));
}

#[test]
fn a_session_does_not_live_while_the_machine_sleeps() {
    let night = Duration::from_secs(8 * 3600);
    let mut told = Told::new();
    told.spawn(1, None, Restart::OnCrash);
    told.executed(1);
    let started = told.now;
    told.pass(night);
    told.observe(&Observation::ClockJumped { by: night });
    told.pass(SECOND);
    let session = told.agent(1).session.as_ref().unwrap();
    assert_eq!(session.lived(told.now), told.now.since(started) - night);
}

/// The transcript goes on with what the session before was told.
#[test]
fn a_reminder_of_an_earlier_session_reminds_nobody() {
    let mut listener = Listener::new();
    let text = reminder_mark(REMINDER_CALLS);
    let own = Some(conversation("a"));
    let told = Fact::new(Origin::Transcript, Seen::Added { text }).at(Some(Time(1)));
    listener.hear(&told.within(own));
    for call in 0..REMINDER_CALLS {
        listener.hear(&tools(&[&format!("c{call}")]));
    }
    assert_eq!(listener.tells, [Tell::Reminder { calls: REMINDER_CALLS }]);
}

#[test]
fn a_cleared_conversation_has_no_figures_and_the_next_session_has_those_before_it() {
    let mut listener = Listener::new();
    listener.hear(&line(60));
    assert_eq!(sample(&listener), Some(60));
    let mut cleared = listener.clone();
    let began = hook(Seen::SessionBegan(Followed::Cleared));
    cleared.hear(&began.within(Some(conversation("b"))));
    assert_eq!(sample(&cleared), None);
    let number = listener.number();
    listener.told.pass(SECOND);
    listener.told.report(1, number, Report::Exited(Exit::KillSignal(9)));
    listener.told.pass(60 * SECOND);
    listener.told.observe(&due(BOB));
    listener.told.executed(1);
    listener.hear(&Fact::new(Origin::Terminal, Seen::InputLineDrawn));
    assert_eq!(listener.hearing().map(Hearing::number), Some(number.next()));
    assert_eq!(sample(&listener), Some(60));
}

/// A file may tell of the session before.
#[test]
fn only_a_status_line_announces_by_its_figures() {
    let figures = |source| {
        let sample = Sample { tokens: 1, window: 100, usable: 100, source };
        Sign::Measured { conversation: None, sample }
    };
    for (source, state) in [
        (Source::Reported, State::Hatching),
        (Source::Table, State::Hatching),
        (Source::Estimated, State::Hatching),
        (Source::StatusLine, State::Waiting),
    ] {
        let mut told = Told::new();
        told.spawn_cli(1, false, None).unwrap();
        told.executed(1);
        told.show(1, figures(source));
        assert_eq!(told.agent(1).state, state, "{source:?}");
    }
}

/// H5: busy since before the reply that left tasks behind, and heard after it.
#[test]
fn a_turn_that_began_before_the_reply_ends_no_background_task() {
    let mut listener = Listener::new();
    let since = Some(listener.told.now);
    listener.told.pass(SECOND);
    listener.hear(&ended(1));
    listener.hear(&Fact::new(Origin::List, Seen::Listed(Listed::Busy)).at(since));
    let (lasted, received) = (SILENT_AFTER, Some(SILENT_AFTER));
    listener.told.pass(2 * SILENT_AFTER);
    let silence = Fact::new(Origin::Kernel, Seen::Silence { lasted, received });
    assert_eq!(listener.hear(&silence), Heard::default());
}

/// H3: what is shown is newer than the step, though no prompt and no word of the model is.
#[test]
fn a_step_before_a_dialog_does_not_end_it() {
    let mut listener = Listener::new();
    listener.write(Seen::Interrupted);
    listener.hear(&hook(Seen::PermissionAsked { tool: None }));
    listener.caught_up();
    let agent = listener.told.agent(1);
    assert_eq!((agent.state, agent.reason), (State::Waiting, Reason::NeedsPermission));
}

/// H13: the prompt's hook comes again after the call that failed.
#[test]
fn a_failed_call_ends_the_turn_of_its_prompt() {
    let mut listener = Listener::new();
    listener.told.pass(SECOND);
    let again = prompt("p2").at(Some(listener.told.now));
    listener.hear(&again);
    listener.told.pass(SECOND);
    listener.hear(&hook(Seen::CallFailed(Failure::Refused)));
    listener.hear(&again);
    let agent = listener.told.agent(1);
    assert_eq!((agent.state, agent.reason), (State::Waiting, Reason::ServiceFailed));
}

/// What was heard of a session says nothing of what the next one's holder is to do.
#[test]
fn the_plan_of_a_session_takes_nothing_from_the_one_before() {
    let mut listener = Listener::new();
    listener.hear(&Fact::new(Origin::Kernel, Seen::Suspended));
    let before = listener.hearing().cloned();
    let goes_on = |listener: &Listener| {
        let plan = hearing::plan(listener.told.agent(1), before.as_ref());
        plan.iter().any(|effect| matches!(effect, Effect::Continue { .. }))
    };
    assert!(goes_on(&listener));
    let number = listener.number();
    listener.told.report(1, number, Report::Exited(Exit::KillSignal(9)));
    listener.told.pass(60 * SECOND);
    listener.told.observe(&due(BOB));
    assert!(listener.told.agent(1).live_session().is_some());
    assert!(!goes_on(&listener));
}

#[test]
fn figures_of_the_window_before_are_not_taken_up() {
    let listener = Listener::new();
    let agent = listener.told.agent(1);
    let window_at = agent.clock.since.expect("it has begun");
    for (at, is_taken) in [(window_at, false), (window_at + SECOND, true)] {
        let sample = Some((percent(60, Source::StatusLine), at));
        let resumed = Hearing::resume(agent, Kept { sample, reminded: None }, 0);
        assert_eq!(resumed.and_then(|hearing| hearing.sample()).is_some(), is_taken, "{at:?}");
    }
}

/// F1: the record of a burial can't be read; the name that was left by it is free.
#[test]
fn a_name_that_was_left_is_not_held_by_one_whose_burial_is_unreadable() {
    let spawn = |id| {
        let (name, restart) = ("ann".parse().ok(), Restart::OnCrash);
        let (role, parent, launch, conversation) = (None, None, launch(), None);
        let id = AgentId(id);
        Command::Spawn(Box::new(Spawn {
            id,
            name,
            role,
            parent,
            launch,
            restart,
            conversation,
            situations: Vec::new(),
        }))
    };
    let mut told = Told::new();
    let bury = Command::Bury { target: BOB.to_string(), summary: Some("over".into()) };
    let mut events = told.ask(spawn(1)).unwrap();
    events.extend(told.ask(bury).unwrap());
    let is_lost = |event: &&Event| {
        event.of_agent().is_some_and(|(_, what)| matches!(what, AgentEvent::Moved(_)))
    };
    assert_eq!(events.iter().filter(is_lost).count(), 1);
    let mut found = Told::new();
    found.now = told.now;
    let readable: Vec<Event> = events.iter().filter(|event| !is_lost(event)).cloned().collect();
    found.fold(&readable);
    found.damage(1);
    assert_eq!(found.agent(1).name, None);
    found.ask(spawn(2)).unwrap();
    assert_eq!(found.fleet.find("ann").map(|agent| agent.id), Ok(AgentId(2)));
}

/// The end by a reboot counts before it is decided how the next session begins.
#[test]
fn a_reboot_may_be_the_end_that_gives_a_conversation_up() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    for _ in 1..CHURN_LIMIT {
        told.pass(60 * SECOND);
        assert_eq!(told.next_opening(1), resume("a", Turn::Open));
        told.begun(1, "a", Followed::Resumed);
    }
    told.pass(60 * SECOND);
    told.reboot();
    let opening = &told.agent(1).session.as_ref().unwrap().opening;
    assert!(matches!(opening, Opening::Fresh(_)), "{opening:?}");
}

/// H9: the line about a compaction is dated after the hook that told of it, and read by the next daemon.
#[test]
fn a_compaction_that_a_hook_told_begins_no_window_when_it_is_read_again() {
    let mut listener = Listener::new();
    listener.write_unheard(Seen::Answered);
    let compacted = hook(Seen::SessionBegan(Followed::Compacted));
    listener.hear(&compacted.within(Some(conversation("a"))));
    listener.write_unheard(Seen::Compacted);
    listener.told.pass(SECOND);
    listener.hear(&tools(&["x"]));
    listener.hear(&line(60));
    let clock = listener.told.agent(1).clock;
    assert!(clock.passed.is_some());
    listener.restart();
    assert_eq!(listener.told.agent(1).clock, clock);
}

#[test]
fn a_start_that_fails_is_not_tried_again_where_restarts_are_off() {
    for is_cli in [false, true] {
        let mut told = Told::new();
        if is_cli {
            told.spawn_cli_under(Restart::Never, 1, true, None).unwrap();
        } else {
            told.spawn(1, None, Restart::Never);
        }
        told.pass(Duration::from_secs(91));
        told.all_due();
        let shown = told.shown_as(1);
        told.report(1, SessionNumber(1), Report::Exited(Exit::KillSignal(9)));
        told.pass(Duration::from_secs(10));
        told.all_due();
        assert_eq!((shown, told.number(1).0), ((State::Sleeping, Reason::CrashedRestartOff), 1));
        // Nor is the start of one that a person woke.
        told.ask(Command::Wake(BOB.to_string())).unwrap();
        told.pass(Duration::from_secs(91));
        told.all_due();
        told.report(1, SessionNumber(2), Report::Exited(Exit::KillSignal(9)));
        told.pass(Duration::from_secs(5));
        told.all_due();
        assert_eq!((told.shown_as(1), told.number(1).0), (shown, 2));
    }
}

/// As with every stop of a person, the turn waits for a person's word.
#[test]
fn the_operators_stop_of_one_that_crashed_and_sleeps_says_that_it_was_seen() {
    let mut told = Told::new();
    told.spawn_cli_under(Restart::Never, 1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.ends(1, Exit::Code(1));
    let crashed = (State::Sleeping, Reason::CrashedRestartOff);
    assert_eq!(told.shown_as(1), crashed);
    assert!(needs_operator(crashed.0, crashed.1));
    assert_eq!(told.agent(1).turn, Turn::Open);
    told.ask(Command::Stop(BOB.to_string())).unwrap();
    assert_eq!(told.shown_as(1), (State::Sleeping, Reason::Stopped));
    assert_eq!(told.agent(1).turn, Turn::Stopped);
    assert_eq!(told.ask(Command::Stop(BOB.to_string())).unwrap(), [], "said once");
}

/// Only the operator can have seen what needs the operator.
#[test]
fn a_parents_stop_of_one_that_crashed_and_sleeps_changes_nothing() {
    let mut told = Told::new();
    told.spawn(9, Some("boss"), Restart::OnCrash);
    let spawn = Spawn {
        id: BOB,
        name: None,
        role: None,
        parent: Some("boss".into()),
        launch: launch(),
        restart: Restart::Never,
        conversation: None,
        situations: Vec::new(),
    };
    told.ask(Command::Spawn(Box::new(spawn))).unwrap();
    told.executed(1);
    told.ends(1, Exit::Code(1));
    let parent = Caller::Agent(AgentId(9));
    assert_eq!(told.ask_as(parent, Command::Stop(BOB.to_string())).unwrap(), []);
    assert_eq!(told.shown_as(1), (State::Sleeping, Reason::CrashedRestartOff));
}

fn exits(told: &mut Told, exit: Exit) {
    let number = told.number(1);
    told.report(1, number, Report::Exited(exit));
}

#[test]
fn who_is_held_and_always_restarts_is_not_restarted() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::Always);
    told.executed(1);
    told.hold(1, HeldFor::Person);
    told.pass(SECOND * 5);
    exits(&mut told, Exit::Code(0));
    assert_eq!(told.number(1).0, 1, "HO1");
}

#[test]
fn a_session_that_hung_and_got_nothing_done_is_churn() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    told.show(1, Sign::TurnBegan);
    told.pass(SECOND * 60);
    told.show(1, Sign::Hangs);
    exits(&mut told, Exit::KillSignal(9));
    assert_eq!(told.agent(1).history.futile, 1);
}

#[test]
fn a_held_ones_retry_does_not_get_in_line_at_a_reboot() {
    let mut told = Told::new();
    told.spawn(1, None, Restart::OnCrash);
    told.executed(1);
    exits(&mut told, Exit::KillSignal(9));
    assert_eq!(told.agent(1).state, State::Crashed);
    told.hold(1, HeldFor::Person);
    told.pass(SECOND * 60);
    told.reboot();
    assert_eq!((told.agent(1).state, told.number(1).0), (State::Crashed, 1), "HO1");
}

#[test]
fn a_dialog_that_is_noticed_late_has_no_longer_limit() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.executed(1);
    let started = told.agent(1).session.as_ref().and_then(|s| s.started_at).unwrap();
    told.pass(SECOND * 60);
    told.observe(&due(BOB));
    assert_eq!(told.agent(1).reason, Reason::FirstRunDialog);
    assert_eq!(told.agent(1).until, Some(started + SECOND * 90));
}

#[test]
fn a_handoff_past_its_deadline_is_ended_at_once() {
    let mut told = Told::new();
    told.spawn_cli(1, true, None).unwrap();
    told.begun(1, "a", Followed::Started);
    let (evidence, until) = (told.agent(1).evidence.clone(), Some(told.now + SECOND));
    let (cause, to, reason) = (Cause::HandoffAsked, State::HandingOff, Reason::HandoffAsked);
    let moved = AgentEvent::Moved(Move { cause, to, reason, evidence, until });
    told.fold(&[Event { at: told.now, what: What::Agent(BOB, moved) }]);
    told.pass(SECOND * 2);
    told.observe(&due(BOB));
    let phase = told.agent(1).session.as_ref().map(|session| session.phase);
    assert_eq!(phase, Some(Phase::Ending(Pace::AtOnce)));
}

fn listed(listed: Listed, since: perennial_core::time::Time) -> Fact {
    Fact::new(Origin::List, Seen::Listed(listed)).at(Some(since))
}

#[test]
fn a_list_of_before_a_failed_turns_end_is_not_believed_in_the_next_turn() {
    let mut listener = Listener::new();
    listener.told.pass(SECOND);
    let asked = listener.told.now;
    listener.told.pass(SECOND);
    listener.hear(&Fact { is_answerable: false, ..hook(Seen::CallFailed(Failure::Refused)) });
    listener.told.pass(SECOND);
    listener.hear(&prompt("p2"));
    listener.told.pass(SECOND);
    listener.hear(&listed(Listed::Permission, asked));
    assert_eq!(listener.shown(), (State::Working, Reason::InTurn));
}

#[test]
fn what_the_transcript_ends_with_is_weighed_before_what_the_list_had_meanwhile() {
    let mut listener = Listener::new();
    listener.hear(&ended(0));
    listener.told.pass(SECOND);
    listener.write_unheard(Seen::Prompt { text: fingerprint("p2") });
    listener.told.pass(SECOND);
    listener.write_unheard(Seen::Interrupted);
    listener.told.pass(SECOND);
    let since = listener.told.now;
    listener.resume();
    listener.hear(&listed(Listed::Busy, since));
    listener.catch_up();
    assert_eq!(listener.shown(), (State::Working, Reason::InTurn));
}

#[test]
fn a_late_hook_does_not_name_the_conversation_that_the_session_has_left() {
    let mut listener = Listener::new();
    let called = listener.told.now;
    listener.told.pass(SECOND);
    let mut clear = hook(Seen::SessionBegan(Followed::Cleared));
    clear.conversation = Some(conversation("b"));
    listener.hear(&clear.at(Some(listener.told.now)));
    listener.told.pass(SECOND);
    listener.hear(&tools(&["t1"]).within(Some(conversation("a"))).at(Some(called)));
    assert!(listener.settled("b").is_some(), "H14");
}

#[test]
fn a_compaction_after_a_clear_that_was_heard_late_begins_a_window() {
    let mut listener = Listener::new();
    listener.told.pass(SECOND);
    let cleared = listener.told.now;
    let of = |seen: Seen, at| {
        let fact = Fact::new(Origin::Transcript, seen).at(Some(at)).within(Some(conversation("b")));
        Fact { is_old: true, ..fact }
    };
    let (answered, compacted) = (cleared + SECOND, cleared + SECOND * 2);
    listener.told.pass(SECOND * 5);
    let mut clear = hook(Seen::SessionBegan(Followed::Cleared));
    clear.conversation = Some(conversation("b"));
    listener.hear(&clear.at(Some(cleared)));
    let before = listener.told.agent(1).clock.since;
    listener.hear(&of(Seen::Answered, answered));
    let heard = listener.hear(&of(Seen::Compacted, compacted));
    assert_eq!(heard.signs.last(), Some(&Sign::WindowBegan));
    assert!(listener.told.agent(1).clock.since > before);
}

#[test]
fn what_the_transcript_ended_with_is_not_newer_than_its_date() {
    let mut listener = Listener::new();
    listener.told.damage(1);
    listener.told.pass(SECOND);
    listener.write(Seen::CallFailed(Failure::Refused));
    listener.told.pass(SECOND);
    let busy = listener.told.now;
    listener.told.pass(SECOND);
    listener.caught_up();
    listener.hear(&listed(Listed::Busy, busy));
    listener.told.ask(Command::Wake(BOB.to_string())).unwrap();
    listener.hear(&Fact::new(Origin::Kernel, Seen::Silence { lasted: SECOND, received: None }));
    assert_eq!(listener.shown(), (State::Working, Reason::InTurn));
}

#[test]
fn keys_reach_a_menu_that_the_list_has() {
    let mut listener = Listener::new();
    let since = listener.told.now;
    listener.hear(&listed(Listed::Menu, since));
    assert_eq!(hearing::focus(listener.told.agent(1), listener.hearing()), Focus::Dialog);
}

/// Whoever suspended it may want it so: it is not continued, and nothing is typed meanwhile.
#[test]
fn what_somebody_suspended_is_not_continued_by_us() {
    use perennial_core::fact::PausedBy;
    use perennial_core::hearing::Suspension;
    for by in [PausedBy::Person, PausedBy::KillSignal] {
        let mut listener = Listener::new();
        listener.hear(&Fact::new(Origin::Kernel, Seen::Paused(by)));
        let hearing = listener.hearing();
        assert_eq!(hearing.and_then(|one| one.suspension()), Some(Suspension::Wanted(by)));
        let plan = perennial_core::hearing::plan(listener.told.agent(1), hearing);
        let goes_on = |effect: &Effect| matches!(effect, Effect::Continue { .. });
        assert!(!plan.iter().any(goes_on), "{plan:?}");
    }
}

/// C3
#[test]
fn figures_that_cannot_be_are_bounded_whoever_says_them() {
    use perennial_core::context::WINDOW_MAX;
    use perennial_core::hearing::{Hearing, Kept};
    let source = Source::StatusLine;
    let huge = Sample { tokens: u64::MAX, window: u64::MAX, usable: u64::MAX, source };
    let sample = Some(huge);
    let line = Fact::new(Origin::StatusLine, Seen::StatusLine { model: None, sample });
    let read = Fact::new(Origin::Transcript, Seen::Measured { model: None, sample: huge });
    let window = |hearing: Option<&Hearing>| Some(hearing?.kept().sample?.0.window);
    for fact in [line, read] {
        let mut listener = Listener::new();
        listener.hear(&fact);
        assert_eq!(window(listener.hearing()), Some(WINDOW_MAX), "{fact:?}");
    }
    let listener = Listener::new();
    let kept = Kept { sample: Some((huge, listener.told.now)), reminded: None };
    let resumed = Hearing::resume(listener.told.agent(1), kept, 0);
    assert_eq!(window(resumed.as_ref()), Some(WINDOW_MAX));
}

/// A hook of the user's refused what was submitted: there is no turn. In another conversation it says nothing.
#[test]
fn a_prompt_that_was_blocked_ends_its_turn_in_its_own_conversation_only() {
    let blocked = || Seen::PromptBlocked { text: fingerprint("p"), words: "no".into() };
    for (conversation, state) in [("other", State::Working), ("a", State::Waiting)] {
        let mut listener = Listener::new();
        listener.hear(&prompt("p"));
        assert_eq!(listener.shown().0, State::Working);
        listener.told.pass(std::time::Duration::from_secs(1));
        let at = Some(listener.told.now);
        let conversation = conversation.parse().ok();
        let fact = Fact::new(Origin::Transcript, blocked()).within(conversation).at(at);
        listener.hear(&fact);
        listener.caught_up();
        assert_eq!(listener.shown().0, state);
    }
}

/// H22: the program waits for none of its hooks once one has blocked the prompt, so ours may be dated after that.
#[test]
fn a_prompt_that_was_blocked_is_over_whenever_our_own_hook_began() {
    let second = std::time::Duration::from_secs(1);
    let own = Some("a".parse().expect("a name"));
    let blocked = Seen::PromptBlocked { text: fingerprint("p"), words: "no".into() };
    let blocked = Fact::new(Origin::Transcript, blocked).within(own);
    for is_hook_first in [true, false] {
        let mut listener = Listener::new();
        listener.hear(&ended(0));
        listener.told.pass(second);
        let blocked = blocked.clone().at(Some(listener.told.now));
        listener.told.pass(second);
        let hook = prompt("p").at(Some(listener.told.now));
        listener.told.pass(second);
        let both = if is_hook_first { [&hook, &blocked] } else { [&blocked, &hook] };
        for fact in both {
            listener.hear(fact);
        }
        listener.caught_up();
        assert_eq!(listener.shown().0, State::Waiting, "{is_hook_first}");
        // The same words, sent again, are another prompt; read again, the first one's end is not its own.
        listener.told.pass(second);
        listener.hear(&prompt("p").at(Some(listener.told.now)));
        listener.hear(&blocked);
        listener.caught_up();
        assert_eq!(listener.shown().0, State::Working, "{is_hook_first}");
    }
}

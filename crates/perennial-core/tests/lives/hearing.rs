//! What is concluded from facts, rule by rule.

use std::time::Duration;

use perennial_core::context::{Sample, Source, Threshold};
use perennial_core::conversation::Followed;
use perennial_core::exit::Exit;
use perennial_core::fact::{CallName, Fact, Failure, Keys, Listed, Origin, Seen};
use perennial_core::hearing::{
    Heard, Hearing, Kept, Limits, Obstacle, REMINDER_CALLS, Tell, reminder_mark,
};
use perennial_core::id::{AgentId, SessionNumber};
use perennial_core::observation::{Report, Sign, Wait};
use perennial_core::reason::Reason;
use perennial_core::state::State;
use perennial_core::time::Time;

use crate::listener::{
    Listener, SILENT_AFTER, calls, conversation, ended, fingerprint, hook, line, percent, prompt,
    tools,
};
use crate::told::due;

const WORKS: (State, Reason) = (State::Working, Reason::InTurn);
const IDLE: (State, Reason) = (State::Waiting, Reason::Idle);
const ASKS: (State, Reason) = (State::Waiting, Reason::NeedsPermission);
const LIMITED: (State, Reason) = (State::Waiting, Reason::RateLimited);
const GIVEN_UP: (State, Reason) = (State::Waiting, Reason::LimitReached);
const FAILED: (State, Reason) = (State::Waiting, Reason::ServiceFailed);

fn limit(until: Option<Time>) -> Seen {
    Seen::CallFailed(Failure::RateLimit { until })
}

fn listed(listed: Listed, since: Time) -> Fact {
    Fact::new(Origin::List, Seen::Listed(listed)).at(Some(since))
}

fn silence(lasted: Duration, received: Option<Duration>) -> Fact {
    Fact::new(Origin::Kernel, Seen::Silence { lasted, received })
}

fn began(name: &str, how: Followed) -> Fact {
    hook(Seen::SessionBegan(how)).within(Some(conversation(name)))
}

/// This many tool calls, each told by a hook.
fn call(listener: &mut Listener, names: std::ops::Range<u64>) {
    for name in names {
        listener.hear(&tools(&[&format!("c{name}")]));
    }
}

#[test]
fn each_hook_comes_to_its_signs() {
    let permission = hook(Seen::PermissionAsked { tool: Some("Bash".to_owned()) });
    let aside = hook(Seen::ToolsFinished { calls: calls(&["x"]), in_subagent: true });
    for (fact, signs) in [
        (prompt("p2"), vec![Sign::TurnBegan]),
        (tools(&["a"]), vec![Sign::TurnBegan, Sign::Progressed]),
        (aside, vec![Sign::Progressed]),
        (permission, vec![Sign::Waits(Wait::Permission)]),
        (hook(Seen::QuestionAsked), vec![Sign::Waits(Wait::Answer)]),
        (ended(0), vec![Sign::Waits(Wait::Input)]),
        (ended(2), vec![Sign::BackgroundWork]),
        (hook(limit(None)), vec![Sign::Waits(Wait::LimitReached(None))]),
        (hook(Seen::CallFailed(Failure::Refused)), vec![Sign::Waits(Wait::Refused)]),
        (hook(Seen::Interrupted), vec![Sign::Waits(Wait::Input)]),
    ] {
        assert_eq!(Listener::new().hear(&fact).signs, signs, "{fact:?}");
    }
}

/// H1, M1: a late hook of session n says nothing to n+1.
#[test]
fn a_fact_of_another_session_says_nothing() {
    let mut listener = Listener::new();
    let first = listener.number();
    let exited = Report::Exited(Exit::KillSignal(9));
    listener.told.report(1, first, exited);
    listener.told.pass(Duration::from_secs(60));
    listener.told.observe(&due(AgentId(1)));
    listener.told.executed(1);
    assert_eq!(listener.number(), SessionNumber(2));
    let before = listener.told.fleet.clone();
    assert_eq!(listener.hear_of(first, &ended(0)), Heard::default());
    assert_eq!(listener.hear_of(first, &tools(&["late"])), Heard::default());
    assert_eq!(listener.told.fleet, before);
    assert_eq!(listener.hearing().map(|hearing| hearing.tool_calls()), Some(0));
}

/// H2, H13: each hook again, at once and after the next prompt.
#[test]
fn what_is_heard_again_changes_nothing() {
    let mut listener = Listener::new();
    let called = |listener: &mut Listener, fact: Fact| {
        listener.told.pass(Duration::from_secs(1));
        let fact = fact.at(Some(listener.told.now));
        listener.hear(&fact);
        fact
    };
    let batch = called(&mut listener, tools(&["a", "b"]));
    listener.hear(&batch);
    assert_eq!(listener.hearing().map(|hearing| hearing.tool_calls()), Some(2));
    let end = called(&mut listener, ended(0));
    listener.hear(&batch);
    assert_eq!(listener.shown(), IDLE);
    let failure = called(&mut listener, hook(limit(None)));
    let second = called(&mut listener, prompt("p2"));
    for late in [end, failure, batch] {
        listener.hear(&late);
        assert_eq!(listener.shown(), WORKS, "{late:?}");
    }
    let third = called(&mut listener, prompt("p3"));
    // Found by seed 26577: the double of an earlier prompt made an earlier end count.
    listener.hear(&second);
    assert_eq!(listener.shown(), WORKS);
    // The same turn goes on after its end: a reply to the Stop hook made it.
    let end = called(&mut listener, ended(0));
    called(&mut listener, tools(&["c"]));
    assert_eq!(listener.shown(), WORKS);
    called(&mut listener, ended(0));
    for late in [second, third, end] {
        listener.hear(&late);
        assert_eq!(listener.shown(), IDLE, "{late:?}");
    }
}

/// H14, found by seeds 7147 and 44976: texts were given twice.
#[test]
fn a_transcript_tells_of_texts_while_hooks_name_its_conversation() {
    let in_another = |fact: Fact| fact.within(Some(conversation("b")));
    assert_eq!(Listener::unborn().settled("a"), None, "no conversation is recorded");
    let mut listener = Listener::new();
    assert!(listener.settled("a").is_some());
    assert_eq!(listener.settled("b"), None, "another conversation");
    // The session is in a conversation that the record does not follow: another agent has it.
    let (agent, number, now) =
        (listener.told.agent(1).clone(), listener.number(), listener.told.now);
    listener.hearings.hear(&agent, number, &in_another(tools(&["x"])), now);
    assert_eq!(listener.settled("a"), None);
    // A hook that was called before that, and is heard after it, changes nothing.
    let before = Some(now.before(Duration::from_secs(1)));
    let late = prompt("p0").within(Some(conversation("a"))).at(before);
    listener.hearings.hear(&agent, number, &late, now);
    assert_eq!(listener.settled("a"), None);
    let back = tools(&["y"]).within(Some(conversation("a")));
    listener.hearings.hear(&agent, number, &back, now);
    assert!(listener.settled("a").is_some());
    // After its end, what was read is all that there is.
    listener.told.report(1, number, Report::Exited(Exit::KillSignal(9)));
    assert!(listener.settled("b").is_some());
}

/// H3: a rate limit that was overcome, an interrupt, a prompt that was too long.
#[test]
fn a_step_ends_a_turn_if_nothing_follows_it() {
    for (seen, then) in [
        (limit(None), LIMITED),
        (Seen::Interrupted, IDLE),
        (Seen::CallFailed(Failure::TooLong), FAILED),
    ] {
        let mut listener = Listener::new();
        listener.write(seen.clone());
        assert_eq!(listener.shown(), WORKS, "{seen:?} and more may follow");
        listener.caught_up();
        assert_eq!(listener.shown(), then, "{seen:?}");
        for follows in [Seen::Answered, Seen::Prompt { text: fingerprint("x") }] {
            let mut listener = Listener::new();
            listener.write(seen.clone());
            listener.write(follows.clone());
            listener.caught_up();
            assert_eq!(listener.shown(), WORKS, "{seen:?} then {follows:?}");
        }
        // Told late: the person has prompted it again, or a tool has finished since.
        for since in [prompt("p2"), tools(&["a"])] {
            let mut listener = Listener::new();
            let at = Some(listener.told.now);
            listener.hear(&since);
            let own = Some(conversation("a"));
            listener.hear(&Fact::new(Origin::Transcript, seen.clone()).at(at).within(own));
            listener.caught_up();
            assert_eq!(listener.shown(), WORKS, "{seen:?} before {since:?}");
        }
    }
}

/// H3: the hook knows no time, the transcript does; a daemon that died between them loses nothing.
#[test]
fn until_when_a_limit_holds_is_taken_from_the_transcript() {
    let until = Some(Time(9_000_000_000));
    for restarts in [false, true] {
        let mut listener = Listener::new();
        listener.write(Seen::Prompt { text: fingerprint("p1") });
        listener.write(limit(until));
        listener.hear(&hook(limit(None)));
        assert_eq!((listener.shown(), listener.told.agent(1).until), (GIVEN_UP, None));
        if restarts {
            listener.restart();
        }
        listener.caught_up();
        assert_eq!((listener.shown(), listener.told.agent(1).until), (GIVEN_UP, until));
    }
}

/// H4, C5: called idle a minute after a failure, by hook and by list.
#[test]
fn a_failure_stays_until_a_turn_succeeds() {
    for (failure, state) in
        [(Failure::Refused, FAILED), (Failure::RateLimit { until: None }, GIVEN_UP)]
    {
        let mut listener = Listener::new();
        listener.hear(&hook(Seen::CallFailed(failure)));
        listener.told.pass(Duration::from_secs(60));
        listener.hear(&hook(Seen::IdleTold));
        listener.hear(&listed(Listed::Busy, Time(0)));
        listener.hear(&listed(Listed::Idle, listener.told.now));
        assert_eq!(listener.shown(), state);
        listener.hear(&prompt("p2"));
        listener.hear(&ended(0));
        assert_eq!(listener.shown(), IDLE);
    }
}

/// H4: the daemon was away while the turn failed; the list has it as idle.
#[test]
fn a_failure_that_no_hook_told_is_read_before_the_list_is_believed() {
    let mut listener = Listener::new();
    listener.hear(&listed(Listed::Busy, listener.told.now));
    listener.told.pass(Duration::from_secs(1));
    listener.resume();
    let failed_at = listener.told.now;
    listener.told.pass(Duration::from_secs(1));
    listener.hear(&listed(Listed::Idle, listener.told.now));
    assert_eq!(listener.shown(), WORKS);
    let failed = Seen::CallFailed(Failure::Refused);
    listener.hear(&Fact::new(Origin::Transcript, failed).at(Some(failed_at)));
    listener.caught_up();
    assert_eq!(listener.shown(), FAILED);
}

#[test]
fn who_is_called_idle_right_after_a_prompt_was_so_before_it() {
    let mut listener = Listener::new();
    listener.hear(&hook(Seen::IdleTold));
    assert_eq!(listener.shown(), WORKS);
    // The end of the turn was not heard.
    listener.told.pass(Duration::from_secs(60));
    listener.hear(&hook(Seen::IdleTold));
    assert_eq!(listener.shown(), IDLE);
}

/// H5, C6.
#[test]
fn tasks_in_the_background_are_work() {
    let mut listener = Listener::new();
    listener.hear(&listed(Listed::Busy, listener.told.now));
    listener.hear(&ended(1));
    assert_eq!(listener.shown().0, State::Working);
    listener.told.pass(Duration::from_secs(400));
    listener.hear(&listed(Listed::Idle, listener.told.now));
    listener.hear(&hook(Seen::IdleTold));
    let long = Duration::from_secs(400);
    assert_eq!(listener.hear(&silence(long, Some(long))), Heard::default());
    assert_eq!(listener.shown().0, State::Working);
    listener.hear(&prompt("the task is done"));
    listener.hear(&ended(0));
    assert_eq!(listener.shown(), IDLE);
}

/// H6: by hook and transcript, in either order, and in a conversation that was left.
#[test]
fn a_reminder_is_due_with_every_twenty_tool_calls_and_given_once() {
    let mut listener = Listener::new();
    call(&mut listener, 0..REMINDER_CALLS - 1);
    assert_eq!(listener.tells, []);
    for name in 0..REMINDER_CALLS - 1 {
        listener.write(Seen::ToolAnswered(CallName(format!("c{name}"))));
    }
    // A call that no hook told of counts, and is no moment to say anything.
    listener.write(Seen::ToolAnswered(CallName("unheard".to_owned())));
    assert_eq!(listener.tells, []);
    call(&mut listener, 100..101);
    assert_eq!(listener.tells, [Tell::Reminder { calls: REMINDER_CALLS + 1 }]);
    call(&mut listener, 101..101 + REMINDER_CALLS - 2);
    assert_eq!(listener.tells.len(), 1);
    call(&mut listener, 300..301);
    assert_eq!(listener.tells.len(), 2);
}

/// H6, H12: at every moment around the twentieth call.
#[test]
fn a_restart_loses_no_reminder_and_doubles_none() {
    for restart_at in 15..25 {
        let mut listener = Listener::new();
        for name in 0..30_u64 {
            if name == restart_at {
                listener.restart();
            }
            call(&mut listener, name..name + 1);
            listener.write(Seen::ToolAnswered(CallName(format!("c{name}"))));
        }
        assert_eq!(listener.tells, [Tell::Reminder { calls: 20 }], "restart at {restart_at}");
    }
}

/// H12: what was kept is a second old, but the transcript has what was told.
#[test]
fn what_stands_in_the_transcript_was_told() {
    let mut listener = Listener::new();
    let kept_before = listener.hearings.clone();
    call(&mut listener, 0..20);
    for name in 0..20 {
        listener.write(Seen::ToolAnswered(CallName(format!("c{name}"))));
    }
    listener.write(Seen::Added { text: reminder_mark(20) });
    listener.hearings = kept_before;
    listener.resume();
    call(&mut listener, 20..21);
    assert_eq!(listener.tells.len(), 1, "nothing is told before the transcript is read");
    listener.catch_up();
    call(&mut listener, 21..22);
    assert_eq!(listener.tells.len(), 1);
}

/// H12: the end of a turn that nobody heard; the list is read before the transcript.
#[test]
fn what_the_list_has_is_believed_once_the_transcript_is_read() {
    let mut listener = Listener::new();
    listener.write(Seen::Prompt { text: fingerprint("p1") });
    listener.write_unheard(Seen::Answered);
    listener.told.pass(Duration::from_secs(1));
    listener.resume();
    listener.hear(&listed(Listed::Idle, listener.told.now));
    assert_eq!(listener.shown(), WORKS);
    listener.catch_up();
    assert_eq!(listener.shown(), IDLE);
}

#[test]
fn what_was_kept_of_another_session_reminds_nobody() {
    let mut listener = Listener::new();
    call(&mut listener, 0..20);
    let kept = listener.hearing().map(|hearing| hearing.kept()).expect("kept");
    let next = Kept { reminded: Some((SessionNumber(7), 20)), ..kept };
    let agent = listener.told.agent(1);
    let resumed = |kept| Hearing::resume(agent, kept, 0).map(|hearing| hearing.kept().reminded);
    assert_eq!((resumed(kept), resumed(next)), (Some(kept.reminded), Some(None)));
}

/// A daemon that was restarted while the session began.
#[test]
fn the_briefing_waits_for_nothing() {
    let mut listener = Listener::unborn();
    listener.resume();
    assert_eq!(
        listener.hear(&began("a", Followed::Started)).tell,
        [Tell::StartText(Some(Followed::Started))]
    );
}

#[test]
fn a_notice_is_given_once_with_the_first_reply_and_again_in_the_next_window() {
    let mut listener = Listener::new();
    listener.hear(&line(80));
    listener.hear(&ended(0));
    assert_eq!(listener.notices, []);
    listener.hear(&prompt("p2"));
    listener.hear(&tools(&["a"]));
    assert_eq!(listener.notices, [Threshold::ThreeQuarters]);
    listener.restart();
    listener.hear(&tools(&["b"]));
    listener.hear(&began("a", Followed::Compacted));
    listener.hear(&tools(&["c"]));
    listener.hear(&line(55));
    listener.hear(&tools(&["d"]));
    assert_eq!(listener.notices[1..], [Threshold::Half]);
}

/// H7: the status line is drawn once more with the figures of before.
#[test]
fn after_a_compaction_figures_wait_for_the_models_word() {
    for by_transcript in [false, true] {
        let mut listener = Listener::new();
        listener.hear(&line(95));
        if by_transcript {
            listener.write(Seen::Answered);
            listener.write(Seen::Compacted);
        } else {
            listener.hear(&began("a", Followed::Compacted));
        }
        assert_eq!(listener.hearing().and_then(|hearing| hearing.sample()), None);
        assert_eq!(listener.hear(&line(95)).signs, [Sign::Drawn]);
        assert_eq!(listener.told.agent(1).clock.passed, None);
        listener.restart();
        listener.hear(&line(95));
        let passed = listener.told.agent(1).clock.passed;
        assert_eq!(passed.is_none(), by_transcript, "only the transcript survives a restart");
        listener.write(Seen::Answered);
        listener.hear(&line(52));
        assert!(listener.told.agent(1).clock.passed >= Some(Threshold::Half));
    }
}

/// H7: the session before compacted, this one's first hook was lost, and its model has not spoken.
#[test]
fn a_status_line_is_a_sign_of_life_also_after_a_compaction() {
    let mut listener = Listener::unborn();
    listener.write(Seen::Compacted);
    assert_eq!(listener.hear(&line(95)).signs, [Sign::Drawn]);
    assert_eq!(listener.shown(), WORKS);
    assert_eq!(listener.told.agent(1).clock.passed, None);
    // Nor does it need figures.
    let mut listener = Listener::unborn();
    let drawn = Seen::StatusLine { model: None, sample: None };
    listener.hear(&Fact::new(Origin::StatusLine, drawn));
    assert_eq!(listener.shown(), WORKS);
}

/// H8.
#[test]
fn a_worse_source_measures_nothing() {
    let measured = |source, tokens| {
        let seen = Seen::Measured { model: None, sample: percent(tokens, source) };
        Fact::new(Origin::Transcript, seen)
    };
    let mut listener = Listener::new();
    let tokens = |listener: &Listener| {
        listener.hearing().and_then(|hearing| hearing.sample()).map(|(sample, _)| sample.tokens)
    };
    listener.hear(&measured(Source::Estimated, 10));
    listener.hear(&measured(Source::Reported, 20));
    listener.hear(&measured(Source::Estimated, 90));
    assert_eq!(tokens(&listener), Some(20));
    listener.hear(&line(30));
    for restarts in [false, true] {
        if restarts {
            listener.restart();
        }
        assert_eq!(listener.hear(&measured(Source::Table, 90)).signs, []);
        assert_eq!(tokens(&listener), Some(30));
    }
    assert_eq!(listener.told.agent(1).clock.passed, None);
}

/// H9: hook, hook again, transcript, transcript again, and after a restart.
#[test]
fn a_compaction_begins_a_window_once_whoever_tells_of_it() {
    for transcript_first in [false, true] {
        let mut listener = Listener::new();
        listener.write(Seen::Answered);
        listener.hear(&line(95));
        let tell = |listener: &mut Listener, by_transcript: bool| {
            if by_transcript {
                listener.write(Seen::Compacted);
            } else {
                listener.hear(&began("a", Followed::Compacted));
                listener.hear(&hook(Seen::Compacted));
            }
        };
        tell(&mut listener, transcript_first);
        tell(&mut listener, !transcript_first);
        listener.write(Seen::Answered);
        listener.hear(&tools(&["x"]));
        listener.hear(&line(60));
        assert_eq!(listener.told.agent(1).clock.passed, Some(Threshold::Half));
        listener.restart();
        listener.catch_up();
        assert_eq!(listener.told.agent(1).clock.passed, Some(Threshold::Half));
        // The next one is another one.
        listener.write(Seen::Answered);
        listener.write(Seen::Compacted);
        assert_eq!(listener.told.agent(1).clock.passed, None);
    }
}

/// H9: the hook is doubled, or was kept while no daemon ran, and comes when the model has spoken.
#[test]
fn a_late_hook_about_a_compaction_begins_no_second_window() {
    for restarts in [false, true] {
        let mut listener = Listener::new();
        listener.write(Seen::Answered);
        listener.hear(&line(95));
        listener.hear(&began("a", Followed::Compacted));
        listener.write(Seen::Compacted);
        assert_eq!(listener.told.agent(1).clock.passed, None);
        listener.write(Seen::Answered);
        listener.hear(&tools(&["x"]));
        listener.hear(&line(60));
        assert_eq!(listener.told.agent(1).clock.passed, Some(Threshold::Half));
        if restarts {
            listener.restart();
        }
        let window = |listener: &Listener| {
            let clock = listener.told.agent(1).clock;
            (clock.since, clock.passed)
        };
        let before = window(&listener);
        listener.hear(&began("a", Followed::Compacted));
        listener.hear(&hook(Seen::Compacted));
        assert_eq!(window(&listener), before, "restarts: {restarts}");
        // Figures wait until the transcript was read, and no longer.
        assert_eq!(listener.hear(&line(80)).signs, [Sign::Drawn]);
        let settled = Fact::new(Origin::Transcript, Seen::Settled);
        listener.hear(&settled.within(Some(conversation("a"))));
        listener.hear(&line(80));
        assert_eq!(listener.told.agent(1).clock.passed, Some(Threshold::ThreeQuarters));
    }
}

/// H2: the hook about a conversation that was left meanwhile comes again.
#[test]
fn a_conversation_that_was_left_is_not_begun_a_second_time() {
    let mut listener = Listener::new();
    listener.hear(&began("b", Followed::Cleared));
    listener.hear(&began("c", Followed::Cleared));
    assert_eq!(listener.hear(&began("b", Followed::Cleared)).signs, []);
    assert_eq!(listener.hear(&began("a", Followed::Started)).signs, []);
    let current = listener.told.agent(1).conversations.as_ref().map(|known| &known.current);
    assert_eq!(current, Some(&conversation("c")));
}

/// H10: the list begins with `idle`, also when the session has something to do.
#[test]
fn what_the_list_begins_with_says_nothing_and_nor_does_what_is_older_than_the_prompt() {
    for restarts in [false, true] {
        let mut listener = Listener::unborn();
        listener.hear(&began("a", Followed::Started));
        listener.told.pass(Duration::from_secs(1));
        let first = listed(Listed::Idle, listener.told.now);
        for _ in 0..2 {
            listener.hear(&first);
            assert_eq!(listener.shown(), WORKS);
            if restarts {
                listener.restart();
            }
        }
        listener.told.pass(Duration::from_secs(1));
        listener.hear(&prompt("p1"));
        listener.write(Seen::Prompt { text: fingerprint("p1") });
        listener.hear(&first);
        assert_eq!(listener.shown(), WORKS);
        listener.told.pass(Duration::from_secs(1));
        listener.hear(&listed(Listed::Permission, listener.told.now));
        assert_eq!(listener.shown(), ASKS);
        if restarts {
            listener.restart();
        }
        listener.told.pass(Duration::from_secs(1));
        listener.hear(&listed(Listed::Idle, listener.told.now));
        assert_eq!(listener.shown(), IDLE);
    }
}

/// H17.
#[test]
fn what_a_program_announces_in_its_terminal_is_a_sign_of_life_and_a_listing() {
    let announced = |listed| Fact::new(Origin::Terminal, Seen::Listed(listed));
    let mut listener = Listener::unborn();
    // It draws its line, and has something to do.
    listener.hear(&announced(Listed::Idle));
    assert_eq!(listener.shown(), WORKS);
    for (listed, expected) in [
        (Listed::Busy, WORKS),
        (Listed::Permission, ASKS),
        (Listed::Busy, WORKS),
        (Listed::Idle, IDLE),
        (Listed::Busy, WORKS),
    ] {
        listener.told.pass(Duration::from_millis(1));
        listener.hear(&announced(listed));
        assert_eq!(listener.shown(), expected, "{listed:?}");
    }
    // The kernel tells which conversation it is in: that says nothing of its input line.
    let named = Fact::new(Origin::Kernel, Seen::SessionBegan(Followed::Started));
    listener.hear(&named.within(Some(conversation("theirs"))));
    let agent = listener.told.agent(1);
    let current = agent.conversations.as_ref().map(|known| &known.current);
    assert_eq!((current, listener.shown()), (Some(&conversation("theirs")), WORKS));
}

/// H11.
#[test]
fn a_session_hangs_when_nobody_is_heard_and_no_tool_runs() {
    let (long, short) = (SILENT_AFTER, SILENT_AFTER - Duration::from_secs(1));
    for (lasted, received, open, hangs) in [
        (long, Some(long), false, true),
        (short, Some(long), false, false),
        (long, Some(short), false, false),
        // Between two tries there is no connection.
        (long, None, false, false),
        (long, Some(long), true, false),
    ] {
        let mut listener = Listener::new();
        if open {
            listener.write(Seen::ToolCalled(CallName("open".to_owned())));
        }
        listener.told.pass(lasted);
        let signs = listener.hear(&silence(lasted, received)).signs;
        assert_eq!(signs == [Sign::Hangs], hangs, "{lasted:?} {received:?} {open}");
    }
    // Where no status line tells the window, it is measured with every look: that is nobody's voice.
    let mut listener = Listener::new();
    listener.told.pass(long);
    let sample = Sample { tokens: 100, window: 1000, usable: 900, source: Source::Transcript };
    listener.write(Seen::Measured { model: None, sample });
    assert_eq!(listener.hear(&silence(long, Some(long))).signs, [Sign::Hangs]);
    // Somebody spoke while it was measured.
    let mut listener = Listener::new();
    listener.told.pass(long);
    listener.hear(&tools(&["a"]));
    assert_eq!(listener.hear(&silence(long, Some(long))).signs, []);
    assert_eq!(listener.shown(), WORKS);
}

#[test]
fn a_tool_is_open_until_its_own_result_or_the_next_prompt_and_a_restart_keeps_it() {
    let open = |name: &str| Seen::ToolCalled(CallName(name.to_owned()));
    let hangs = |listener: &Listener| {
        let mut listener = listener.clone();
        listener.told.pass(SILENT_AFTER);
        !listener.hear(&silence(SILENT_AFTER, Some(SILENT_AFTER))).signs.is_empty()
    };
    let mut listener = Listener::new();
    listener.write(open("a"));
    listener.write(open("b"));
    listener.write(Seen::ToolAnswered(CallName("a".to_owned())));
    listener.write(Seen::ToolAnswered(CallName("x".to_owned())));
    assert!(!hangs(&listener));
    listener.restart();
    assert!(!hangs(&listener));
    let mut prompted = listener.clone();
    prompted.write(Seen::Prompt { text: fingerprint("go on") });
    assert!(hangs(&prompted));
    listener.hear(&tools(&["b"]));
    // Written down after the hook was called.
    listener.write(open("b"));
    assert!(hangs(&listener));
}

#[test]
fn a_long_silence_is_worth_a_word_once() {
    let mut listener = Listener::new();
    let warned = |listener: &mut Listener, seconds| {
        let lasted = Duration::from_secs(seconds);
        listener.told.pass(lasted);
        listener.hear(&silence(lasted, None)).silence.is_some()
    };
    assert_eq!([119, 121, 130].map(|seconds| warned(&mut listener, seconds)), [false, true, false]);
    listener.write(Seen::ToolCalled(CallName("a".to_owned())));
    assert_eq!([130, 601].map(|seconds| warned(&mut listener, seconds)), [false, true]);
    listener.hear(&ended(0));
    assert!(!warned(&mut listener, 700));
}

#[test]
fn a_hook_leads_into_another_conversation_and_a_late_one_not_back() {
    let of = |name: &str, fact: Fact| fact.within(Some(conversation(name)));
    let current = |listener: &Listener| {
        listener.told.agent(1).conversations.as_ref().map(|known| known.current.clone())
    };
    let mut listener = Listener::new();
    listener.hear(&of("b", tools(&["x"])));
    assert_eq!(current(&listener), Some(conversation("b")));
    listener.hear(&of("a", tools(&["y"])));
    assert_eq!(current(&listener), Some(conversation("b")));
    listener.hear(&of("a", prompt("p2")));
    assert_eq!(current(&listener), Some(conversation("a")));
    // A step of a conversation that was left ends nothing here.
    let at = Some(listener.told.now + Duration::from_secs(1));
    listener.hear(&of("b", Fact::new(Origin::Transcript, Seen::Interrupted).at(at)));
    listener.caught_up();
    assert_eq!(listener.shown(), WORKS);
}

/// C13, C2, C8, C9: what stands in the way of typing, the nearest first.
#[test]
fn the_input_line_is_free_when_nothing_stands_in_its_way() {
    let mut listener = Listener::unborn();
    let obstacle = |listener: &Listener| {
        listener.hearing().and_then(|hearing| hearing.obstacle(listener.told.agent(1)))
    };
    listener.hear(&began("a", Followed::Resumed));
    assert_eq!(obstacle(&listener), Some(Obstacle::NotDrawn));
    listener.hear(&Fact::new(Origin::Terminal, Seen::InputLineDrawn));
    assert_eq!(obstacle(&listener), None);
    // Told again, it awaits nothing.
    listener.hear(&began("a", Followed::Resumed));
    assert_eq!(obstacle(&listener), None);
    listener.keys(Keys::Draft);
    assert_eq!(obstacle(&listener), Some(Obstacle::Draft));
    listener.keys(Keys::Doubt);
    assert_eq!(obstacle(&listener), Some(Obstacle::Doubt));
    listener.hear(&listed(Listed::Menu, listener.told.now));
    assert_eq!(obstacle(&listener), Some(Obstacle::Menu));
    listener.hear(&hook(Seen::PermissionAsked { tool: None }));
    assert_eq!(obstacle(&listener), Some(Obstacle::Dialog));
    listener.hear(&Fact::new(Origin::Kernel, Seen::Suspended));
    assert_eq!(obstacle(&listener), Some(Obstacle::Suspended));
    listener.hear(&Fact::new(Origin::Kernel, Seen::Continued));
    listener.hear(&prompt("p1"));
    listener.hear(&listed(Listed::Busy, listener.told.now));
    listener.keys(Keys::Clear);
    assert_eq!(obstacle(&listener), None);
}

/// The first look at the limit may find that a connection was silent for a little less.
#[test]
fn a_silent_session_is_looked_at_again_after_another_limit() {
    let limits = |seconds| Limits { silent_after: Some(Duration::from_secs(seconds)) };
    let next = |limits: Limits, lasted| limits.next_look(Duration::from_millis(lasted));
    assert_eq!(next(limits(2), 500), Duration::from_secs(2));
    assert_eq!(next(limits(2), 2_010), Duration::from_millis(4_010));
    assert_eq!(next(limits(300), 2_000), Duration::from_secs(120));
    // Without a limit nobody hangs, and the looks go on for the texts.
    let never = Limits { silent_after: None };
    assert_eq!(next(never, 500), Duration::from_secs(120));
    assert_eq!(next(never, 130_000), Duration::from_secs(600));
    assert_eq!(next(never, 600_500), Duration::from_millis(1_200_500));
    assert_eq!(next(Limits::default(), 130_000), Duration::from_secs(300));
}

/// H15, F5: two texts at once; the first one's turn asks, and the second is queued meanwhile.
#[test]
fn a_prompt_that_is_queued_ends_no_dialog() {
    for asked in [Seen::PermissionAsked { tool: None }, Seen::QuestionAsked] {
        let shown = match asked {
            Seen::QuestionAsked => (State::Waiting, Reason::NeedsAnswer),
            _ => ASKS,
        };
        let mut listener = Listener::new();
        listener.hear(&hook(asked.clone()));
        listener.hear(&prompt("p2"));
        assert_eq!(listener.shown(), shown);
        let obstacle = listener.hearing().and_then(|h| h.obstacle(listener.told.agent(1)));
        assert_eq!(obstacle, Some(Obstacle::Dialog));
        for goes_on in [tools(&["a"]), listed(Listed::Busy, listener.told.now)] {
            let mut listener = listener.clone();
            listener.hear(&goes_on);
            assert_eq!(listener.shown(), WORKS, "{goes_on:?}");
        }
        // Denied: the turn is over, and what was queued is not sent.
        let mut denied = listener.clone();
        denied.write(Seen::Interrupted);
        denied.caught_up();
        assert_eq!(denied.shown(), IDLE);
        listener.hear(&listed(Listed::Idle, listener.told.now));
        assert_eq!(listener.shown(), IDLE);
    }
}

/// H15: the list is read after the prompt, or what ended the dialog is.
#[test]
fn a_list_corrects_what_a_prompt_let_believe() {
    let mut listener = Listener::new();
    listener.hear(&ended(0));
    let since = listener.told.now + Duration::from_micros(1);
    listener.told.pass(Duration::from_secs(1));
    listener.hear(&prompt("p2"));
    assert_eq!(listener.shown(), WORKS);
    let asking = listed(Listed::Permission, since);
    let mut answered = listener.clone();
    listener.hear(&asking);
    assert_eq!(listener.shown(), ASKS);
    // Busy since then, heard after it.
    let mut busy = listener.clone();
    busy.hear(&listed(Listed::Busy, since + Duration::from_micros(1)));
    assert_eq!(busy.shown(), WORKS);
    // What the list had before is heard again.
    busy.hear(&asking);
    assert_eq!(busy.shown(), WORKS);
    answered.hear(&tools(&["a"]));
    answered.hear(&asking);
    assert_eq!(answered.shown(), WORKS);
}

/// H15: what ended the dialog is heard after the prompt that came next.
#[test]
fn a_dialog_that_was_over_before_a_prompt_is_not_shown_after_it() {
    for late in [tools(&["a"]), ended(0), hook(Seen::Interrupted)] {
        let mut listener = Listener::new();
        listener.hear(&hook(Seen::PermissionAsked { tool: None }));
        listener.told.pass(Duration::from_secs(1));
        let over_at = listener.told.now;
        listener.told.pass(Duration::from_secs(1));
        listener.hear(&prompt("p2"));
        assert_eq!(listener.shown(), ASKS);
        listener.hear(&late.clone().at(Some(over_at)));
        assert_eq!(listener.shown(), WORKS, "{late:?}");
    }
    let mut listener = Listener::new();
    listener.hear(&hook(Seen::PermissionAsked { tool: None }));
    listener.told.pass(Duration::from_secs(1));
    let own = Some(conversation("a"));
    let denied = Fact::new(Origin::Transcript, Seen::Interrupted).at(Some(listener.told.now));
    listener.told.pass(Duration::from_secs(1));
    listener.hear(&prompt("p2"));
    listener.hear(&denied.within(own));
    listener.caught_up();
    assert_eq!(listener.shown(), WORKS);
}

/// H23
#[test]
fn nothing_is_given_in_reply_to_a_prompt_that_is_queued() {
    let answers = |listener: &Listener, fact: &Fact| {
        let hearing = listener.hearing().expect("it is heard");
        hearing.is_answerable(listener.told.agent(1), &Fact { is_answerable: true, ..fact.clone() })
    };
    let mut listener = Listener::new();
    listener.hear(&ended(0));
    assert!(answers(&listener, &prompt("p1")), "it begins a turn");
    listener.hear(&prompt("p1"));
    assert!(!answers(&listener, &prompt("p2")), "it is queued");
    assert!(answers(&listener, &tools(&["a"])), "tools are of the turn");
    listener.hear(&prompt("p2"));
    assert!(!answers(&listener, &prompt("p3")));
    listener.hear(&ended(0));
    assert!(answers(&listener, &prompt("p3")), "the turn is over");
}

/// H2, H13: a question that was answered is not asked again by the double of its hook.
#[test]
fn a_doubled_question_is_asked_once() {
    let mut listener = Listener::new();
    let asked = hook(Seen::PermissionAsked { tool: None }).at(Some(listener.told.now));
    listener.hear(&asked);
    listener.hear(&tools(&["a"]));
    listener.hear(&asked);
    assert_eq!(listener.shown(), WORKS);
    listener.hear(&ended(0));
    listener.hear(&asked);
    assert_eq!(listener.shown(), IDLE);
}

/// H11, 0019: a resumed session that shows a login dialog is silent, and nobody ends it.
#[test]
fn a_session_that_took_no_prompt_does_not_hang() {
    let long = SILENT_AFTER * 2;
    let mut listener = Listener::unborn();
    for _ in 0..3 {
        listener.told.pass(Duration::from_secs(100));
        listener.told.observe(&due(AgentId(1)));
        listener.hear(&silence(long, Some(long)));
    }
    assert_eq!(listener.shown(), (State::Waiting, Reason::SilentAtStart));
    // Its first words were lost, and the transcript has its prompt: it is in a turn.
    listener.write(Seen::Prompt { text: fingerprint("p1") });
    listener.told.pass(long);
    assert_eq!(listener.hear(&silence(long, Some(long))).signs, [Sign::Hangs]);
    assert_eq!(listener.shown(), (State::Unknown, Reason::Silent));
    // One that waits for somebody is in no turn either.
    let mut listener = Listener::new();
    listener.hear(&ended(0));
    listener.told.pass(long);
    assert_eq!(listener.hear(&silence(long, Some(long))), Heard::default());
}

/// H5, H11.
#[test]
fn nobody_hangs_while_tasks_run_in_the_background() {
    let long = SILENT_AFTER * 2;
    let mut listener = Listener::new();
    listener.hear(&ended(1));
    listener.told.pass(long);
    assert_eq!(listener.hear(&silence(long, Some(long))).signs, []);
}

/// H4: the end of a limit that the harness waits for is known, and so is what is idle after it.
#[test]
fn a_rate_limit_is_over_for_who_is_idle_since_after_its_end() {
    for by_hook in [false, true] {
        let mut listener = Listener::new();
        let until = listener.told.now + Duration::from_secs(600);
        listener.write(limit(Some(until)));
        listener.caught_up();
        assert_eq!(listener.shown(), LIMITED);
        listener.told.pass(Duration::from_secs(100));
        let idle = |listener: &mut Listener| {
            if by_hook {
                listener.hear(&hook(Seen::IdleTold));
            } else {
                listener.hear(&listed(Listed::Idle, listener.told.now));
            }
        };
        idle(&mut listener);
        assert_eq!(listener.shown(), LIMITED);
        listener.told.now = until + Duration::from_secs(30);
        if by_hook {
            idle(&mut listener);
            assert_eq!(listener.shown(), LIMITED, "it is told a minute after");
            listener.told.pass(Duration::from_secs(60));
        }
        idle(&mut listener);
        assert_eq!(listener.shown(), IDLE, "by hook: {by_hook}");
    }
}

/// H13: a hook that is overtaken by the end of its turn.
#[test]
fn tools_that_finished_before_the_turns_end_begin_no_turn() {
    let mut listener = Listener::new();
    let called = listener.told.now + Duration::from_millis(1);
    listener.told.pass(Duration::from_secs(1));
    let end = listener.told.now;
    listener.hear(&ended(0).at(Some(end)));
    assert_eq!(listener.shown(), IDLE);
    listener.told.pass(Duration::from_secs(1));
    listener.hear(&tools(&["t1"]).at(Some(called)));
    assert_eq!(listener.shown(), IDLE);
}

/// Esc while a hook of finished tools is on its way: the transcript has the interrupt, no hook tells.
#[test]
fn a_hook_that_was_called_before_an_interrupt_begins_no_turn() {
    let mut listener = Listener::new();
    listener.write(Seen::Prompt { text: fingerprint("p1") });
    listener.told.pass(Duration::from_secs(1));
    let called = listener.told.now;
    listener.told.pass(Duration::from_millis(100));
    listener.write(Seen::Interrupted);
    let since = listener.told.now;
    listener.caught_up();
    listener.hear(&Fact::new(Origin::List, Seen::Listed(Listed::Idle)).at(Some(since)));
    assert_eq!(listener.shown(), IDLE);
    listener.told.pass(Duration::from_millis(100));
    listener.hear(&tools(&["t1"]).at(Some(called)));
    listener.caught_up();
    listener.hear(&Fact::new(Origin::List, Seen::Listed(Listed::Idle)).at(Some(since)));
    assert_eq!(listener.shown(), IDLE);
}

/// H15 over a restart: a prompt that is queued in a dialog, and the interrupt that ended the dialog.
#[test]
fn a_dialog_that_was_over_before_a_prompt_is_not_shown_after_a_restart() {
    for restarts in [false, true] {
        let mut listener = Listener::new();
        let asked = listener.told.now;
        listener.hear(&hook(Seen::PermissionAsked { tool: None }).at(Some(asked)));
        listener.told.pass(Duration::from_secs(1));
        let finished = listener.told.now;
        listener.told.pass(Duration::from_secs(1));
        if restarts {
            listener.restart();
        }
        let prompted = listener.told.now;
        listener.hear(&prompt("p2").at(Some(prompted)));
        // Called between the question and the prompt, heard last.
        listener.hear(&tools(&["t1"]).at(Some(finished)));
        assert_eq!(listener.shown(), (State::Working, Reason::InTurn), "restarts: {restarts}");
    }
}

fn announced(listed: Listed) -> Fact {
    Fact::new(Origin::Terminal, Seen::Listed(listed))
}

/// H21: something that the turn began runs on, and the program announces nothing new.
#[test]
fn a_turn_that_was_broken_off_is_over_though_the_program_stays_busy() {
    let mut listener = Listener::new();
    listener.write(Seen::Prompt { text: fingerprint("p1") });
    listener.hear(&announced(Listed::Busy));
    listener.write(Seen::Interrupted);
    listener.caught_up();
    assert_eq!(listener.shown(), IDLE);
    listener.resume();
    listener.hear(&announced(Listed::Busy));
    listener.catch_up();
    assert_eq!(listener.shown(), IDLE, "what is announced still was announced in the turn before");
    listener.write(Seen::Prompt { text: fingerprint("p2") });
    assert_eq!(listener.shown(), WORKS, "the next turn, without another announcement");
    listener.caught_up();
    listener.hear(&announced(Listed::Idle));
    assert_eq!(listener.shown(), IDLE);
}

/// H21 is for prompts that are read as they come, from programs that say they are busy.
#[test]
fn a_prompt_in_the_transcript_begins_no_turn_by_itself() {
    let mut listener = Listener::new();
    listener.hear(&announced(Listed::Busy));
    listener.hear(&announced(Listed::Idle));
    listener.write(Seen::Prompt { text: fingerprint("p2") });
    assert_eq!(listener.shown(), IDLE, "announced as idle");
    let mut listener = Listener::new();
    listener.hear(&announced(Listed::Busy));
    listener.hear(&hook(Seen::PermissionAsked { tool: None }));
    listener.write(Seen::Prompt { text: fingerprint("p2") });
    assert_eq!(listener.shown(), ASKS, "H15");
}

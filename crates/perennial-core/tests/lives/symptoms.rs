//! Symptoms of a context window that is running out: from facts, which come late, twice, in another order or not at all,
//! to what is recorded.

use std::time::Duration;

use perennial_core::checkpoint::{self, CheckpointCause};
use perennial_core::context::Source;
use perennial_core::conversation::{FirstPrompt, Followed, Opening};
use perennial_core::event::{AgentEvent, Event};
use perennial_core::fact::{Fact, Failure, Origin, Seen};
use perennial_core::handoff::{HandoffCause, HandoffEvent};
use perennial_core::observation::Sign;
use perennial_core::reason::Reason;
use perennial_core::signal::{Beside, derived};
use perennial_core::state::State;
use perennial_core::succession::Afresh;
use perennial_core::symptom::{Symptom, Urgency};
use perennial_core::time::Time;

use crate::listener::{Listener, conversation, hook, line, percent, tools};

const MEDIUM: (Symptom, Urgency) = (Symptom::Compaction, Urgency::Medium);
const HIGH: (Symptom, Urgency) = (Symptom::Compaction, Urgency::High);

/// A hook that announces a compaction, called then.
fn announced(at: Time, is_certain: bool) -> Fact {
    Fact::new(Origin::Hook, Seen::CompactionAnnounced { is_certain }).at(Some(at))
}

/// A session whose model has spoken, and whose window is used to this share.
fn used(tokens: u64) -> Listener {
    let mut listener = Listener::new();
    listener.write(Seen::Answered);
    listener.hear(&line(tokens));
    listener
}

/// It is announced now; returns when.
fn announce(listener: &mut Listener) -> Time {
    listener.told.pass(Duration::from_secs(1));
    let at = listener.told.now;
    listener.hear(&announced(at, true));
    at
}

/// The model speaks, and tools answer.
fn goes_on(listener: &mut Listener, call: &str) {
    listener.told.pass(Duration::from_secs(1));
    listener.write(Seen::Answered);
    listener.hear(&tools(&[call]));
}

fn symptoms(listener: &Listener) -> Vec<(Symptom, Urgency)> {
    let of = |event: &Event| match event.of_agent()?.1 {
        AgentEvent::Handoff(event) => match **event {
            HandoffEvent::Symptom { symptom, urgency, .. } => Some((symptom, urgency)),
            _ => None,
        },
        _ => None,
    };
    listener.events.iter().filter_map(of).collect()
}

/// The warnings that were signalled, by their urgency.
fn warnings(listener: &Listener) -> usize {
    let events = listener.events.iter().filter_map(|event| derived(event, |_| Beside::default()));
    events.filter(|signal| signal.kind.word() == "CONTEXT_WARNING").count()
}

fn told_of(listener: &Listener) -> Vec<HandoffCause> {
    let of = |event: &Event| match event.of_agent()?.1 {
        AgentEvent::Handoff(event) => match **event {
            HandoffEvent::OperatorTold { cause, .. } => Some(cause),
            _ => None,
        },
        _ => None,
    };
    listener.events.iter().filter_map(of).collect()
}

/// H24: the hook again, before and after the compaction, and after a restart; then a second compaction.
#[test]
fn an_announced_compaction_is_medium_once_and_a_second_one_high() {
    for restarts in [false, true] {
        let mut listener = used(95);
        let first = announce(&mut listener);
        assert!(checkpoint::is_awaited(listener.told.agent(1)), "the compaction waits for it");
        listener.hear(&announced(first, true));
        if restarts {
            listener.restart();
        }
        listener.write(Seen::Compacted);
        assert!(!checkpoint::is_awaited(listener.told.agent(1)));
        listener.hear(&announced(first, true));
        goes_on(&mut listener, "x");
        if restarts {
            listener.restart();
        }
        listener.hear(&announced(first, true));
        assert_eq!((symptoms(&listener), warnings(&listener)), (vec![MEDIUM], 1));
        assert_eq!(told_of(&listener), [HandoffCause::Clock], "at 80 %");
        announce(&mut listener);
        listener.write(Seen::Compacted);
        assert_eq!(symptoms(&listener), [MEDIUM, HIGH], "restarts: {restarts}");
        // Without a role the operator is told, once.
        assert_eq!(warnings(&listener), 2);
        assert_eq!(told_of(&listener), [HandoffCause::Clock, HandoffCause::Symptom]);
    }
}

/// H24: the transcript is read late, and both compactions of a turn were announced by then. The line of the first one says
/// nothing of the second.
#[test]
fn two_announced_compactions_that_are_read_late_count_once_each() {
    let mut listener = used(95);
    let first = announce(&mut listener);
    listener.told.pass(Duration::from_secs(1));
    let compacted = listener.told.now;
    listener.told.pass(Duration::from_secs(1));
    let answered = listener.told.now;
    listener.hear(&tools(&["x"]));
    let second = announce(&mut listener);
    assert!(first < compacted && answered < second);
    let written = |seen: Seen, at: Time| {
        Fact::new(Origin::Transcript, seen).at(Some(at)).within(Some(conversation("a")))
    };
    listener.hear(&written(Seen::Compacted, compacted));
    listener.hear(&written(Seen::Answered, answered));
    listener.told.pass(Duration::from_secs(1));
    listener.write(Seen::Compacted);
    assert_eq!(symptoms(&listener), [MEDIUM, HIGH]);
    // The announcement is used up with the second: a third compaction without one is news.
    goes_on(&mut listener, "y");
    listener.write(Seen::Compacted);
    assert_eq!(symptoms(&listener), [MEDIUM, HIGH, (Symptom::Compacted, Urgency::High)]);
}

/// H24, found by seed 741: while the journal fails, what was heard is not in the record yet.
#[test]
fn a_compaction_counts_once_while_nothing_is_recorded() {
    let mut listener = used(95);
    listener.told.pass(Duration::from_secs(1));
    let (agent, number, now) =
        (listener.told.agent(1).clone(), listener.number(), listener.told.now);
    let compacted = Fact::new(Origin::Transcript, Seen::Compacted).at(Some(now));
    let facts =
        [announced(now, true), announced(now, true), compacted.within(Some(conversation("a")))];
    let mut signs = Vec::new();
    for fact in facts {
        signs.extend(listener.hearings.hear(&agent, number, &fact, now).signs);
    }
    let is_symptom = |sign: &&Sign| matches!(sign, Sign::Symptom { .. });
    assert_eq!(signs.iter().filter(is_symptom).count(), 1, "{signs:?}");
}

/// H24, found by seed 315829: the daemon is killed when the symptom is recorded and the window is not.
#[test]
fn an_unannounced_compaction_counts_once_though_its_window_was_not_recorded() {
    let mut listener = used(95);
    listener.told.pass(Duration::from_secs(1));
    let (agent, number, now) =
        (listener.told.agent(1).clone(), listener.number(), listener.told.now);
    let compacted = Fact::new(Origin::Transcript, Seen::Compacted).at(Some(now));
    let compacted = compacted.within(Some(conversation("a")));
    let heard = listener.hearings.hear(&agent, number, &compacted, now);
    let is_symptom = |sign: &&Sign| matches!(sign, Sign::Symptom { .. });
    let symptom = heard.signs.iter().find(is_symptom).expect("found").clone();
    listener.told.show(1, symptom);
    listener.restart();
    let heard = listener.hear(&Fact { is_old: true, ..compacted });
    assert!(!heard.signs.iter().any(|sign| is_symptom(&sign)), "{heard:?}");
    assert!(heard.signs.contains(&Sign::WindowBegan), "{heard:?}");
}

/// H24: no hook was heard, as of a Codex without its owner's trust.
#[test]
fn a_compaction_that_nobody_announced_counts_when_it_has_come_about() {
    for by_hook in [false, true] {
        let mut listener = used(95);
        match by_hook {
            true => drop(listener.hear(
                &hook(Seen::SessionBegan(Followed::Compacted)).within(Some(conversation("a"))),
            )),
            false => drop(listener.write(Seen::Compacted)),
        }
        listener.write(Seen::Compacted);
        let found = (Symptom::Compacted, Urgency::Medium);
        // The announcement was called before, and is heard after it.
        let at = listener.told.now.before(Duration::from_secs(5));
        listener.hear(&announced(at, true));
        listener.restart();
        assert_eq!(symptoms(&listener), [found], "by hook: {by_hook}");
        assert!(!checkpoint::is_awaited(listener.told.agent(1)), "there is nothing to wait for");
    }
}

/// H24: announced again though nothing came of it: it failed, and the harness tries again.
#[test]
fn a_compaction_that_failed_and_is_tried_again_is_another_one() {
    let mut listener = used(95);
    let first = announce(&mut listener);
    listener.told.pass(Duration::from_secs(1));
    listener.hear(&announced(listener.told.now, true));
    assert_eq!(symptoms(&listener), [MEDIUM], "no word of the model is between them: {first:?}");
    goes_on(&mut listener, "x");
    announce(&mut listener);
    goes_on(&mut listener, "y");
    announce(&mut listener);
    assert_eq!(symptoms(&listener), [MEDIUM, HIGH, HIGH]);
    assert_eq!(warnings(&listener), 2, "once for each level in a window");
}

/// H24: a harness that announces one before every call is believed where the clock says so.
#[test]
fn an_announcement_before_every_call_counts_by_the_clock() {
    let mut listener = used(60);
    let calls = |listener: &mut Listener, names: [&str; 3]| {
        for name in names {
            listener.told.pass(Duration::from_secs(1));
            listener.hear(&announced(listener.told.now, false));
            goes_on(listener, name);
        }
    };
    calls(&mut listener, ["a", "b", "c"]);
    assert_eq!(symptoms(&listener), []);
    listener.hear(&line(100));
    calls(&mut listener, ["d", "e", "f"]);
    assert_eq!(symptoms(&listener), [MEDIUM], "once in a window");
    listener.write(Seen::Compacted);
    calls(&mut listener, ["g", "h", "i"]);
    assert_eq!(symptoms(&listener), [MEDIUM]);
    // By a person's command it is meant.
    announce(&mut listener);
    assert_eq!(symptoms(&listener), [MEDIUM, HIGH]);
}

/// H25, SY2: the measured clock outranks words; figures may come behind them.
#[test]
fn an_agents_own_words_are_high_only_where_the_clock_agrees() {
    let own = || Seen::Symptom(Symptom::OwnWord);
    let low = (Symptom::OwnWord, Urgency::Low);
    let high = (Symptom::OwnWord, Urgency::High);
    let mut listener = used(74);
    listener.write(own());
    listener.write(own());
    assert_eq!(symptoms(&listener), [low]);
    // The figures of the answer in which it was said.
    listener.hear(&line(76));
    assert_eq!(symptoms(&listener), [low, high]);
    assert_eq!((warnings(&listener), told_of(&listener)), (1, vec![HandoffCause::Symptom]));
    listener.write(own());
    listener.hear(&line(82));
    assert_eq!(symptoms(&listener), [low, high], "told once in a window");
    assert_eq!(told_of(&listener), [HandoffCause::Symptom], "and so is the operator");

    let mut listener = used(40);
    listener.write(own());
    listener.hear(&line(50));
    listener.hear(&line(79));
    assert_eq!(symptoms(&listener), [low], "said long before");
    // Read again, it is no more than it was, whatever is measured now.
    listener.restart();
    assert_eq!(symptoms(&listener), [low]);
    listener.write(own());
    assert_eq!(symptoms(&listener), [low, high]);
    listener.restart();
    listener.write(Seen::Compacted);
    listener.restart();
    assert_eq!(symptoms(&listener)[2..], [(Symptom::Compacted, Urgency::Medium)]);

    let mut listener = Listener::new();
    listener.write(Seen::Answered);
    let sample = percent(99, Source::Reported);
    listener.hear(&Fact::new(Origin::Agent, Seen::Measured { model: None, sample }));
    listener.write(own());
    listener.write(Seen::Symptom(Symptom::Words));
    assert_eq!(symptoms(&listener), [low], "its own report is words, too");
}

/// Where there is no work tree, the checkpoint follows from the announcement itself.
#[test]
fn a_checkpoint_is_due_before_a_compaction() {
    let mut listener = used(95);
    announce(&mut listener);
    let due = listener.told.agent(1).checkpoint_due;
    assert_eq!(due, Some(CheckpointCause::BeforeCompaction));
}

/// What the next session begins with when compactions don't help.
#[test]
fn after_thrashing_the_next_session_begins_afresh() {
    for origin in [Origin::Hook, Origin::Transcript] {
        let mut listener = used(95);
        listener.hear(&tools(&["x"]));
        let failed = Seen::CallFailed(Failure::Thrash);
        let gives_up = |listener: &mut Listener| match origin {
            Origin::Hook => drop(listener.hear(&Fact::new(Origin::Hook, failed.clone()))),
            _ => {
                listener.write(failed.clone());
                listener.caught_up();
            }
        };
        listener.told.pass(Duration::from_secs(5));
        gives_up(&mut listener);
        gives_up(&mut listener);
        listener.restart();
        let thrash = (Symptom::Thrash, Urgency::High);
        assert_eq!(symptoms(&listener), [thrash], "{origin:?}");
        assert_eq!(listener.shown(), (State::Waiting, Reason::ServiceFailed));
        assert!(told_of(&listener).contains(&HandoffCause::Symptom), "the operator is told");
        let bob = listener.told.agent(1);
        let foretold = bob.foretell(None, false);
        assert!(matches!(foretold.opening, Opening::Anew { why: Afresh::Thrash, .. }));
        assert_eq!(foretold.first_prompt, FirstPrompt::Briefing);
        // A person compacts it by hand, and it goes on.
        listener.told.pass(Duration::from_secs(5));
        listener.write(Seen::Compacted);
        listener.restart();
        let foretold = listener.told.agent(1).foretell(None, false);
        assert!(matches!(foretold.opening, Opening::Resume { .. }), "{foretold:?}");
    }
}

/// A step of a conversation that was written then.
fn step(name: &str, at: Time, seen: Seen) -> Fact {
    Fact::new(Origin::Transcript, seen).at(Some(at)).within(Some(conversation(name)))
}

/// A step is written now; returns when.
fn written(listener: &mut Listener, seen: Seen) -> Time {
    let at = listener.told.now + Duration::from_millis(1);
    listener.write(seen);
    at
}

/// The conversation is cleared now, and goes on as `b`; returns when.
fn clear(listener: &mut Listener) -> Time {
    listener.told.pass(Duration::from_secs(1));
    let at = listener.told.now;
    let cleared = hook(Seen::SessionBegan(Followed::Cleared)).at(Some(at));
    listener.hear(&cleared.within(Some(conversation("b"))));
    at
}

/// H24: what was announced before the window began, or at that very moment, has come about.
#[test]
fn an_announcement_from_before_the_window_announces_nothing() {
    let mut listener = used(95);
    let compacted = written(&mut listener, Seen::Compacted);
    listener.hear(&announced(compacted, true));
    let found = (Symptom::Compacted, Urgency::Medium);
    assert_eq!(symptoms(&listener), [found], "the same moment");
    // A later window counts as well, whatever began it: the compaction was before both.
    goes_on(&mut listener, "x");
    let between = listener.told.now;
    let cleared = clear(&mut listener);
    for late in [between, cleared] {
        listener.hear(&announced(late, true));
        assert_eq!(symptoms(&listener), [found], "{late:?}");
    }
    announce(&mut listener);
    assert_eq!(symptoms(&listener).len(), 2);
}

/// H24: one hook that is heard twice is one, whatever was said between; and a word of the model from the very moment of
/// the first announcement is not between it and the second.
#[test]
fn an_announcement_is_another_one_only_behind_a_word_of_the_model() {
    let mut listener = used(95);
    let first = announce(&mut listener);
    goes_on(&mut listener, "x");
    listener.hear(&announced(first, true));
    assert_eq!(symptoms(&listener), [MEDIUM], "doubled");

    let mut listener = used(95);
    listener.told.pass(Duration::from_secs(1));
    let spoke = written(&mut listener, Seen::Answered);
    listener.hear(&announced(spoke, true));
    announce(&mut listener);
    assert_eq!(symptoms(&listener), [MEDIUM]);

    // The same by the record's date, which is all that a later daemon has.
    let mut listener = used(95);
    announce(&mut listener);
    let recorded = listener.told.agent(1).handoff.announced.expect("it is ahead");
    listener.hear(&step("a", recorded, Seen::Answered));
    announce(&mut listener);
    assert_eq!(symptoms(&listener), [MEDIUM], "spoken at that very moment");
    let mut listener = used(95);
    announce(&mut listener);
    let recorded = listener.told.agent(1).handoff.announced.expect("it is ahead");
    goes_on(&mut listener, "x");
    listener.hear(&announced(recorded, true));
    assert_eq!(symptoms(&listener), [MEDIUM], "announced at that very moment");
}

/// H25: words count in the session and in the window that they are dated in.
#[test]
fn words_from_before_the_window_or_the_session_are_no_symptom() {
    let mut listener = used(80);
    let began = listener.told.agent(1).session.as_ref().and_then(|it| it.started_at);
    let before = began.expect("it runs").before(Duration::from_secs(1));
    let said = |at| step("b", at, Seen::Symptom(Symptom::OwnWord));
    listener.hear(&step("a", before, Seen::Symptom(Symptom::OwnWord)));
    assert_eq!(symptoms(&listener), [], "an earlier session's");
    let cleared = clear(&mut listener);
    listener.hear(&line(80));
    for late in [cleared.before(Duration::from_millis(5)), cleared] {
        listener.hear(&said(late));
        assert_eq!(symptoms(&listener), [], "{late:?}");
    }
    let now = listener.told.now;
    listener.hear(&said(now));
    assert_eq!(symptoms(&listener), [(Symptom::OwnWord, Urgency::High)]);
}

/// H25: figures from the very moment of the words were there when they were said.
#[test]
fn only_figures_behind_the_words_are_weighed_with_them() {
    let measured = |at: Time| line(90).at(Some(at));
    let low = (Symptom::OwnWord, Urgency::Low);
    let mut listener = used(40);
    listener.told.pass(Duration::from_secs(1));
    let said = listener.told.now;
    listener.hear(&step("a", said, Seen::Symptom(Symptom::OwnWord)));
    listener.hear(&measured(said));
    assert_eq!(symptoms(&listener), [low]);
    listener.told.pass(Duration::from_secs(1));
    listener.hear(&measured(listener.told.now));
    assert_eq!(symptoms(&listener), [low, (Symptom::OwnWord, Urgency::High)]);
    // Also where the same figures show a large turn.
    let mut listener = used(40);
    listener.write(Seen::Symptom(Symptom::OwnWord));
    listener.hear(&line(95));
    assert_eq!(symptoms(&listener), [low, (Symptom::OwnWord, Urgency::High)]);
    // Other words are not weighed again.
    let mut listener = used(40);
    listener.write(Seen::Symptom(Symptom::Words));
    listener.hear(&line(90));
    assert_eq!(symptoms(&listener), [(Symptom::Words, Urgency::Low)]);
}

/// A thrash that is read again counts in its own session and window only.
#[test]
fn a_thrash_from_before_the_window_or_the_session_says_nothing() {
    let failed = |name, at| step(name, at, Seen::CallFailed(Failure::Thrash));
    let mut listener = used(95);
    let began = listener.told.agent(1).session.as_ref().and_then(|it| it.started_at);
    listener.hear(&failed("a", began.expect("it runs").before(Duration::from_secs(1))));
    let cleared = clear(&mut listener);
    listener.hear(&failed("b", cleared));
    assert_eq!(symptoms(&listener), []);
    listener.told.pass(Duration::from_secs(1));
    listener.hear(&failed("b", listener.told.now));
    assert_eq!(symptoms(&listener), [(Symptom::Thrash, Urgency::High)]);
}

/// H10: what another conversation says is not of this session's window.
#[test]
fn symptoms_of_another_conversation_are_not_the_sessions() {
    let mut listener = used(95);
    let at = listener.told.now;
    let others = [Seen::Symptom(Symptom::OwnWord), Seen::CompactionAnnounced { is_certain: true }];
    for seen in others {
        listener.hear(&step("b", at, seen));
    }
    assert_eq!(symptoms(&listener), []);
}

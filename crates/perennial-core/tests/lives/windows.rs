//! When a window begins, where the hooks that tell of it come in another order.

use std::time::Duration;

use perennial_core::command::Command;
use perennial_core::context::Threshold;
use perennial_core::conversation::Followed;
use perennial_core::exit::Exit;
use perennial_core::fact::{Fact, Origin, Seen};
use perennial_core::observation::{Report, Sign};
use perennial_core::session::Session;

use crate::listener::{Listener, conversation, fingerprint, hook, line, prompt, tools};

fn passed(listener: &Listener) -> Option<Threshold> {
    listener.told.agent(1).clock.passed
}

fn within(fact: Fact) -> Fact {
    fact.within(Some(conversation("b")))
}

/// Found by seed 12569: the hook of `/clear` was overtaken by the next prompt's, and the new window
/// kept what the old one had passed, and was told of it.
#[test]
fn a_clear_that_is_overtaken_by_the_next_prompt_begins_a_window_all_the_same() {
    let cleared = within(hook(Seen::SessionBegan(Followed::Cleared)));
    let mut listener = Listener::new();
    listener.hear(&line(60).within(Some(conversation("a"))));
    assert_eq!(passed(&listener), Some(Threshold::Half));
    listener.hear(&within(prompt("p2")));
    assert_eq!(passed(&listener), Some(Threshold::Half), "nothing tells of a new window yet");
    listener.hear(&cleared);
    assert_eq!(passed(&listener), None);
    listener.hear(&within(line(60)));
    assert_eq!(passed(&listener), Some(Threshold::Half));
    listener.hear(&cleared);
    assert_eq!(passed(&listener), Some(Threshold::Half), "H2: once");

    // What passed since is of the new window, and is not told again.
    let mut listener = Listener::new();
    listener.hear(&line(60).within(Some(conversation("a"))));
    listener.hear(&within(prompt("p2")));
    listener.hear(&within(line(80)));
    listener.hear(&cleared);
    assert_eq!(passed(&listener), Some(Threshold::ThreeQuarters));
}

/// Found by seed 11391: the first hook of a session that begins afresh was overtaken by its first prompt's, and the new
/// window kept what the old one had passed.
#[test]
fn a_session_that_begins_afresh_begins_a_window_whichever_hook_comes_first() {
    let mut listener = Listener::new();
    listener.hear(&line(60).within(Some(conversation("a"))));
    assert_eq!(passed(&listener), Some(Threshold::Half));
    let bob = listener.told.agent(1).id.to_string();
    listener.told.ask(Command::RestartFresh(bob)).expect("restarted");
    listener.told.report(1, listener.number(), Report::Exited(Exit::Code(0)));
    listener.told.executed(1);
    let session = listener.told.agent(1).session.as_ref();
    let own = session.and_then(Session::taken_up).cloned();
    assert!(own.is_some() && own != Some(conversation("a")), "{own:?}");
    listener.hear(&prompt("p2").within(own.clone()));
    assert_eq!(passed(&listener), None);
    listener.hear(&line(60).within(own.clone()));
    listener.hear(&hook(Seen::SessionBegan(Followed::Started)).within(own));
    assert_eq!(passed(&listener), Some(Threshold::Half), "H2: once");
}

/// H7: it was drawn before the compaction, or before the turn that follows it, and is heard behind
/// both; by the next daemon too.
#[test]
fn a_status_line_of_the_window_before_passes_nothing() {
    for restarts in [false, true] {
        let mut listener = Listener::new();
        listener.write(Seen::Answered);
        listener.told.pass(Duration::from_secs(1));
        let before = line(92).at(Some(listener.told.now));
        listener.write(Seen::Compacted);
        let between = line(93).at(Some(listener.told.now));
        listener.told.pass(Duration::from_secs(1));
        listener.write(Seen::Prompt { text: fingerprint("p2") });
        // With the answer's first figures, before its line is dated.
        let first = line(91).at(Some(listener.told.now));
        listener.told.pass(Duration::from_secs(1));
        listener.write(Seen::Answered);
        if restarts {
            listener.restart();
        }
        assert_eq!(listener.hear(&before).signs, [Sign::Drawn]);
        listener.catch_up();
        assert_eq!(listener.hear(&between).signs, [Sign::Drawn]);
        assert_eq!(passed(&listener), None);
        listener.hear(&first);
        assert_eq!(passed(&listener), Some(Threshold::NineTenths));
    }
}

/// H7: nobody may draw another one: the agent is idle.
#[test]
fn a_status_line_that_is_heard_before_its_answer_is_read_counts_with_it() {
    let mut listener = Listener::new();
    listener.write(Seen::Answered);
    listener.write(Seen::Compacted);
    listener.hear(&prompt("p2"));
    assert_eq!(listener.hear(&line(60)).signs, [Sign::Drawn]);
    assert_eq!(passed(&listener), None);
    listener.write(Seen::Answered);
    assert_eq!(passed(&listener), Some(Threshold::Half));
}

/// H9: found by seed 45997, where what the model said before it was heard in the same moment.
#[test]
fn a_doubled_hook_about_a_compaction_begins_one_window_by_its_date() {
    let mut listener = Listener::new();
    listener.told.pass(Duration::from_secs(9));
    let compacted = hook(Seen::SessionBegan(Followed::Compacted));
    let compacted = compacted.within(Some(conversation("a"))).at(Some(listener.told.now));
    listener.hear(&compacted);
    listener.hear(&tools(&["x"]));
    listener.hear(&line(60));
    assert_eq!(passed(&listener), Some(Threshold::Half));
    listener.hear(&compacted);
    assert_eq!(passed(&listener), Some(Threshold::Half));
}

/// By its place: the answers before it may bear dates of a clock that was set back.
#[test]
fn a_compaction_that_is_read_as_it_is_written_begins_a_window() {
    let mut listener = Listener::new();
    listener.hear(&within(hook(Seen::SessionBegan(Followed::Cleared))));
    let step = |seen, at| within(Fact::new(Origin::Transcript, seen).at(Some(at)));
    let long_ago = listener.told.now.before(Duration::from_secs(900));
    listener.hear(&Fact { is_old: true, ..step(Seen::Answered, long_ago) });
    listener.hear(&within(line(92)));
    assert_eq!(passed(&listener), Some(Threshold::NineTenths));
    let compacted = step(Seen::Compacted, listener.told.now);
    listener.hear(&compacted);
    assert_eq!(passed(&listener), None);
    let since = listener.told.agent(1).clock.since;
    listener.hear(&compacted);
    assert_eq!(listener.told.agent(1).clock.since, since, "H2: once");
}

/// Found by seed 22637: the next session goes on with the window and forks the conversation; its file is read for the
/// first time when the compaction stands there. What the model said in the window was heard of the session before.
#[test]
fn a_compaction_of_a_forked_conversation_ends_the_window_of_the_session_before() {
    let mut listener = Listener::new();
    listener.told.pass(Duration::from_secs(1));
    listener.write(Seen::Answered);
    listener.hear(&line(60).within(Some(conversation("a"))));
    assert_eq!(passed(&listener), Some(Threshold::Half));
    listener.told.ends(1, Exit::KillSignal(9));
    listener.told.pass(Duration::from_secs(9));
    listener.told.all_due();
    listener.told.executed(1);
    let began = |how, id| hook(Seen::SessionBegan(how)).within(Some(conversation(id)));
    listener.hear(&began(Followed::Resumed, "a"));
    listener.hear(&began(Followed::Forked, "b"));
    assert_eq!(passed(&listener), Some(Threshold::Half), "the window goes on");
    let compacted = Fact::new(Origin::Transcript, Seen::Compacted).at(Some(listener.told.now));
    listener.hear(&Fact { is_old: true, ..within(compacted) });
    assert_eq!(passed(&listener), None);
}

/// The first hook of the session comes after that of `/clear`.
#[test]
fn a_beginning_that_is_told_last_leads_back_to_nothing() {
    let mut listener = Listener::unborn();
    let opening = listener.told.agent(1).session.as_ref().and_then(Session::taken_up).cloned();
    listener.hear(&within(hook(Seen::SessionBegan(Followed::Cleared))));
    let began = hook(Seen::SessionBegan(Followed::Started));
    listener.hear(&began.within(opening));
    let known = listener.told.agent(1).conversations.clone().expect("it has one");
    assert_eq!(known.current, conversation("b"));
}

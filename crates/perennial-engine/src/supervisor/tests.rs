//! The supervisor's own promises, step by step, without a journal or a holder.

mod guards;
mod hold;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::conversation::Followed;
use perennial_core::effect::FocusEffect;
use perennial_core::event::{NodeEvent, What};
use perennial_core::fact::{Origin, Seen};
use perennial_core::hearing::Focus;
use perennial_core::id::NodeId;
use perennial_core::id::{BootId, PostId};
use perennial_core::launch::{Host, Launch, Options};
use perennial_core::message::{REPLY_WITHIN, Trace};
use perennial_core::observation::{Report, Stocktaking};
use perennial_core::restart::Restart;
use perennial_core::session::Process;

use super::*;
use crate::harness::typing;

const AGENT: AgentId = AgentId(1);
const NUMBER: SessionNumber = SessionNumber::FIRST;
const NOW: Time = Time(1_000_000);

/// Steps until everything is durable; what is to be done in the world.
fn carried(supervisor: &mut Supervisor, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    for output in supervisor.step(input, NOW) {
        match output {
            Output::Append { append, .. } => {
                effects.extend(carried(supervisor, Input::Durable(append, Seq(0))));
            }
            Output::Carry(effect) => effects.push(effect),
            Output::Answer { .. }
            | Output::Reply { .. }
            | Output::Silent { .. }
            | Output::Committed { .. } => {}
        }
    }
    effects
}

/// A fleet of one, whose agent CLI runs.
fn running() -> Supervisor {
    let mut supervisor = Supervisor::new(Fleet::default(), BTreeMap::new(), Seq(0));
    let boot = BootId("00000000-0000-4000-8000-000000000001".into());
    let started = Observation::Started {
        boot,
        version: "test".into(),
        is_copy: false,
        stocktaking: Stocktaking::default(),
    };
    carried(&mut supervisor, Input::Observed(started));
    let launch = Launch {
        harness: "claude".into(),
        host: Host::Shim,
        argv: vec!["program".into()],
        dir: "/tmp".into(),
        env_names: Vec::new(),
        project: "/tmp".into(),
        options: Options::default(),
    };
    let (name, restart) = ("ada".parse().ok(), Restart::OnCrash);
    let (role, parent, conversation) = (None, None, None);
    let spawn = Spawn {
        id: AGENT,
        name,
        role,
        parent,
        launch,
        restart,
        conversation,
        situations: Vec::new(),
    };
    let request = Request { caller: Caller::Person, command: Command::Spawn(Box::new(spawn)) };
    carried(&mut supervisor, Input::Request { waiter: Waiter(1), request });
    let report = Report::Executed(Process { pid: 7, start_ticks: 1 });
    let executed = Observation::Session { agent: AGENT, number: NUMBER, report };
    carried(&mut supervisor, Input::Observed(executed));
    supervisor
}

fn heard(origin: Origin, seen: Seen) -> Input {
    Input::Heard { agent: AGENT, number: NUMBER, fact: Fact::new(origin, seen) }
}

/// With a reminder that waits for a hook.
fn reminded() -> Supervisor {
    let mut supervisor = running();
    let due = Observation::ReminderDue { agent: AGENT, number: NUMBER, calls: 50, sample: None };
    carried(&mut supervisor, Input::Observed(due));
    assert_eq!(supervisor.fleet().messages().of(AGENT).count(), 1);
    supervisor
}

fn offer(waiter: u64) -> Input {
    Input::Offer { waiter: Waiter(waiter), agent: AGENT, number: NUMBER, at_turn_end: false }
}

#[track_caller]
fn appended(outputs: &[Output]) -> AppendId {
    let [Output::Append { append, .. }] = outputs else { panic!("{outputs:?}") };
    *append
}

fn replies(outputs: &[Output]) -> Vec<(u64, usize)> {
    let reply = |output: &Output| match output {
        Output::Reply { waiter, with: Reply::Texts(texts) } => Some((waiter.0, texts.len())),
        Output::Reply { waiter, with: Reply::StartText(..) } => panic!("{waiter:?} is briefed"),
        Output::Append { .. }
        | Output::Answer { .. }
        | Output::Carry(_)
        | Output::Silent { .. }
        | Output::Committed { .. } => None,
    };
    outputs.iter().filter_map(reply).collect()
}

#[test]
fn a_hook_is_answered_at_once_without_texts_and_with_them_when_they_are_durable() {
    let mut supervisor = running();
    assert_eq!(replies(&supervisor.step(offer(2), NOW)), [(2, 0)]);
    let mut supervisor = reminded();
    let append = appended(&supervisor.step(offer(2), NOW));
    assert_eq!(replies(&supervisor.step(Input::Durable(append, Seq(0)), NOW)), [(2, 1)]);
    assert_eq!(replies(&supervisor.step(offer(3), NOW)), [(3, 0)], "offered once");
}

/// A session that begins is told who it is; texts wait for its next hook.
#[test]
fn the_hook_of_a_beginning_is_answered_with_a_briefing_once() {
    let mut supervisor = reminded();
    let began = Seen::SessionBegan(Followed::Resumed);
    let conversation = "c-1".parse().ok();
    let fact = Fact { is_answerable: true, conversation, ..Fact::new(Origin::Hook, began) };
    carried(&mut supervisor, Input::Heard { agent: AGENT, number: NUMBER, fact });
    let briefed = supervisor.step(offer(2), NOW);
    let [Output::Reply { waiter: Waiter(2), with: Reply::StartText(AGENT, _) }] = &briefed[..]
    else {
        panic!("{briefed:?}")
    };
    let append = appended(&supervisor.step(offer(3), NOW));
    assert_eq!(replies(&supervisor.step(Input::Durable(append, Seq(0)), NOW)), [(3, 1)]);
}

/// U6: a disk that is slow does not keep a turn waiting.
#[test]
fn a_hook_whose_texts_take_too_long_to_record_is_answered_without_them() {
    let mut supervisor = reminded();
    let append = appended(&supervisor.step(offer(2), NOW));
    let late = NOW + REPLY_WITHIN;
    assert!(supervisor.next_due().is_some_and(|due| due <= late));
    let early = Time(late.0 - 1);
    assert_eq!(replies(&supervisor.step(Input::Tick, early)), []);
    assert_eq!(replies(&supervisor.step(Input::Tick, late)), [(2, 0)]);
    assert_eq!(
        replies(&supervisor.step(Input::Durable(append, Seq(0)), late)),
        [],
        "answered once"
    );
    let mut supervisor = reminded();
    let append = appended(&supervisor.step(offer(2), NOW));
    let failed = Input::Failed(append, "the disk is full".into());
    assert_eq!(replies(&supervisor.step(failed, NOW)), [(2, 0)]);
}

/// T1: what was given back while its reply waited for the disk goes with a later reply, once.
#[test]
fn a_reply_of_an_earlier_attempt_carries_no_text() {
    let mut supervisor = reminded();
    let first = appended(&supervisor.step(offer(2), NOW));
    let passed_over = Observation::Traced {
        agent: AGENT,
        number: NUMBER,
        trace: Trace::Answered { at: Time(NOW.0 + 1) },
    };
    let back = appended(&supervisor.step(Input::Observed(passed_over), Time(NOW.0 + 2)));
    let second = appended(&supervisor.step(offer(3), Time(NOW.0 + 3)));
    let mut given = Vec::new();
    for append in [first, back, second] {
        given.extend(replies(&supervisor.step(Input::Durable(append, Seq(0)), Time(NOW.0 + 4))));
    }
    assert_eq!(given, [(2, 0), (3, 1)]);
}

/// U4, found by seed 20877: what was read of a text came to nothing beside its agent's burial, which then
/// was not recorded; the text was typed a second time.
#[test]
fn a_report_that_comes_to_nothing_beside_an_append_that_fails_is_told_again() {
    let mut supervisor = reminded();
    let append = appended(&supervisor.step(offer(2), NOW));
    supervisor.step(Input::Durable(append, Seq(0)), NOW);
    let (target, summary) = (AGENT.to_string(), Some("done".to_owned()));
    let request = Request { caller: Caller::Person, command: Command::Bury { target, summary } };
    let burial = appended(&supervisor.step(Input::Request { waiter: Waiter(3), request }, NOW));
    let message = supervisor.fleet().messages().of(AGENT).next().expect("it was offered").id;
    let trace = Trace::Mentioned { ids: vec![message] };
    let read = Observation::Traced { agent: AGENT, number: NUMBER, trace };
    let outputs = supervisor.step(Input::Observed(read), NOW);
    assert!(outputs.is_empty(), "{outputs:?}");
    supervisor.step(Input::Failed(burial, "the disk is full".into()), NOW);
    let append = appended(&supervisor.step(Input::Tick, NOW + TELL_AGAIN_AFTER));
    supervisor.step(Input::Durable(append, Seq(0)), NOW + TELL_AGAIN_AFTER);
    assert_eq!(supervisor.fleet().messages().of(AGENT).count(), 0, "it was seen");
}

/// U7, found by seed 44919: a wake that was not recorded was found in the journal after a crash, behind
/// the answer to a `stop` that had found nothing to do.
#[test]
fn while_the_journal_fails_it_is_so_already_waits_for_the_journal() {
    let ask = |waiter, command| {
        let request = Request { caller: Caller::Person, command };
        Input::Request { waiter: Waiter(waiter), request }
    };
    let mut supervisor = Supervisor::new(Fleet::default(), BTreeMap::new(), Seq(0));
    let boot = BootId("00000000-0000-4000-8000-000000000001".into());
    let started = Observation::Started {
        boot,
        version: "test".into(),
        is_copy: false,
        stocktaking: Stocktaking::default(),
    };
    carried(&mut supervisor, Input::Observed(started));
    let stopping = appended(&supervisor.step(Input::Observed(Observation::Stopping), NOW));
    let failed = |append| Input::Failed(append, "the disk is full".into());
    supervisor.step(failed(stopping), NOW);
    // Nothing is to be done for it: it is all the same not said before the journal takes something.
    let nothing = || ask(2, Command::StopAll);
    let outputs = supervisor.step(nothing(), Time(NOW.0 + 1));
    let [Output::Append { append, batch }] = &outputs[..] else { panic!("{outputs:?}") };
    let restored = What::Node(NodeId::HOME, NodeEvent::JournalRestored { since: NOW });
    assert_eq!(batch.entries[0].events[0].what, restored);
    let refused = supervisor.step(failed(*append), Time(NOW.0 + 2));
    assert!(matches!(&refused[..], [Output::Answer { answer: Err(_), .. }]), "{refused:?}");
    // Nor is it forgotten that it fails: it is tried again, and told once it does not.
    let again = appended(&supervisor.step(Input::Tick, NOW + TELL_AGAIN_AFTER * 2));
    supervisor.step(Input::Durable(again, Seq(0)), NOW + TELL_AGAIN_AFTER * 2);
    assert_eq!(supervisor.read_only(), None);
    let answered = supervisor.step(nothing(), NOW + TELL_AGAIN_AFTER * 3);
    assert!(matches!(&answered[..], [Output::Answer { answer: Ok(_), .. }]), "{answered:?}");
}

#[test]
fn a_holder_is_told_what_stands_and_each_news_once() {
    let mut supervisor = running();
    let prompt = || Seen::PromptSubmitted { text: typing::fingerprint("do it") };
    let told = carried(&mut supervisor, heard(Origin::Hook, prompt()));
    let is_heard = |effect: &Effect| matches!(effect, Effect::PromptHeard { at: NOW, .. });
    assert_eq!(told.iter().filter(|effect| is_heard(effect)).count(), 1, "{told:?}");
    let turn = Effect::Focus(FocusEffect { agent: AGENT, number: NUMBER, focus: Focus::Turn });
    assert!(told.contains(&turn), "{told:?}");
    let go_on = Effect::Continue { agent: AGENT, number: NUMBER };
    for _ in 0..2 {
        let suspended = || heard(Origin::Terminal, Seen::Suspended);
        assert_eq!(carried(&mut supervisor, suspended()), std::slice::from_ref(&go_on));
        assert_eq!(carried(&mut supervisor, suspended()), [], "told already");
        // Whoever holds the session now was told nothing yet.
        let connected = Input::Connected { agent: AGENT };
        assert_eq!(carried(&mut supervisor, connected), [turn.clone(), go_on.clone()]);
        assert_eq!(carried(&mut supervisor, heard(Origin::Terminal, Seen::Continued)), []);
    }
}

#[test]
fn posts_leave_nothing_in_memory() {
    let mut supervisor = Supervisor::new(Fleet::default(), BTreeMap::new(), Seq(0));
    for number in 0..10 {
        let body = perennial_store::text::body("a text");
        let command = Command::Post { id: PostId(number), title: None, body };
        let request = Request { caller: Caller::Person, command };
        let asked = Input::Request { waiter: Waiter(1), request };
        let outputs = supervisor.step(asked, Time(1));
        let [Output::Append { append, batch }] = &outputs[..] else { panic!("{outputs:?}") };
        // An id that is used twice is refused by the journal.
        assert_eq!(batch.entries[0].expected, Version(0).into());
        assert_eq!(batch.texts.len(), 1);
        supervisor.step(Input::Durable(*append, Seq(0)), Time(1));
    }
    assert!(supervisor.versions().is_empty() && supervisor.under_way.is_empty());
    assert_eq!(supervisor.durable, Fleet::default());
}

//! The smaller rules of tasks, each of which a one-word mistake would break: bounds, whose word counts, who is told, and
//! what an agent goes on with.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Spawn};
use perennial_core::effect::Timer;
use perennial_core::entity::Entity;
use perennial_core::escalation::{EscalationEvent, Severity};
use perennial_core::event::{Event, What};
use perennial_core::exit::Exit;
use perennial_core::fleet::{Fleet, Policy, Restored};
use perennial_core::id::{AgentId, TaskId};
use perennial_core::job::JobEnd;
use perennial_core::message::{Mailbox, MessageEvent, Sender};
use perennial_core::observation::{Observation, Report};
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::signal::{SignalEvent, SignalKind};
use perennial_core::task::{
    BlockedOn, Brief, CheckSpec, DEPENDENCIES_MAX, Estimate, PARTS_MAX, Queue, QueueWanted,
    Resolution, SCOPE_MAX, STEPS_MAX, Step, StepWanted, TaskCommand, TaskRefusal, TaskState,
    Verifier, exceeds_estimate,
};
use perennial_core::time::Time;

use crate::tasks::{
    ADA, BOB, add, agent, assign, born, brief, bury, checked, current, done, draft, drop_task,
    letters, refusal, reopen, run, split, state, take, task, to, two, verify,
};
use crate::told::{Told, launch};

/// Nobody's child, and nobody's parent.
const CAT: u128 = 3;

fn three() -> Told {
    let mut told = two();
    born(&mut told, CAT, None, None);
    told
}

fn command(command: TaskCommand) -> Command {
    Command::Task(Box::new(command))
}

fn step(task: u128, step: StepWanted) -> Command {
    command(TaskCommand::Step { task: TaskId(task), step })
}

fn block(task: u128) -> Command {
    let (task, on, reason) = (TaskId(task), BlockedOn::Work, "a key".to_owned());
    command(TaskCommand::Block { task, on, reason })
}

fn steps(count: usize) -> Vec<Step> {
    vec![Step { text: "step".to_owned(), is_done: false }; count]
}

fn role(name: &str) -> QueueWanted {
    QueueWanted::Role { role: name.parse().expect("a name"), is_declared: true }
}

fn is_not_allowed(refused: &Result<Vec<Event>, Refusal>) -> bool {
    matches!(refused, Err(Refusal::NotAllowed { .. }))
}

#[test]
fn what_is_added_is_bounded_and_known() {
    let mut told = three();
    add(&mut told, 10);
    let mut refused = |brief: Brief| refusal(told.ask(draft(11, brief, QueueWanted::Nobody)));
    for (brief, most) in [
        (Brief { steps: steps(STEPS_MAX + 1), ..brief("t") }, STEPS_MAX),
        (
            Brief { dependencies: vec![TaskId(10); DEPENDENCIES_MAX + 1], ..brief("t") },
            DEPENDENCIES_MAX,
        ),
        (Brief { scope: vec!["src".to_owned(); SCOPE_MAX + 1], ..brief("t") }, SCOPE_MAX),
    ] {
        let why = refused(brief);
        assert!(matches!(why, TaskRefusal::TooMany { most: of, .. } if of == most), "{why:?}");
    }
    let parent = TaskId(99);
    let why = refused(Brief { parent: Some(parent), ..brief("t") });
    assert_eq!(why, TaskRefusal::NoSuchParent { parent });
    assert_eq!(refusal(told.ask(draft(10, brief("t"), QueueWanted::Nobody))), TaskRefusal::Exists);
    told.ask(bury(BOB)).expect("buried");
    let refused = told.ask(assign(10, BOB));
    assert!(matches!(refused, Err(Refusal::WrongState { .. })), "{refused:?}");
}

#[test]
fn an_agent_takes_what_is_its_own_its_roles_its_projects_or_was_told_to_it() {
    let mut told = three();
    born(&mut told, 4, None, Some("keeper"));
    let elsewhere = || Brief { project: "/elsewhere".to_owned(), ..brief("t") };
    told.ask(draft(10, elsewhere(), QueueWanted::Nobody)).expect("added");
    assert_eq!(refusal(told.ask_as(agent(CAT), take(10))), TaskRefusal::NotYours);
    told.ask(draft(11, elsewhere(), role("keeper"))).expect("added");
    assert_eq!(refusal(told.ask_as(agent(CAT), take(11))), TaskRefusal::NotYours);
    told.ask_as(agent(4), take(11)).expect("its role's");
    told.ask(draft(12, elsewhere(), to(BOB))).expect("added");
    told.ask_as(agent(BOB), block(12)).expect("blocked");
    assert_eq!(refusal(told.ask_as(agent(CAT), take(12))), TaskRefusal::NotYours);
    told.ask(assign(12, BOB)).expect("his again");
    told.ask(bury(BOB)).expect("buried");
    assert_eq!(refusal(told.ask_as(agent(CAT), take(12))), TaskRefusal::NotYours);
    told.ask_as(agent(ADA), take(12)).expect("she was told");
}

#[test]
fn work_that_is_moved_is_gone_on_with_by_the_next_and_leaves_room_for_another() {
    let mut told = three();
    for id in [10, 11] {
        told.ask(draft(id, brief("t"), to(BOB))).expect("added");
    }
    let refused = told.ask_as(agent(CAT), assign(10, CAT));
    assert!(is_not_allowed(&refused), "nobody takes another's work: {refused:?}");
    told.ask(assign(10, ADA)).expect("moved");
    assert_eq!((current(&told, ADA), current(&told, BOB)), (Some(10), Some(11)));
    // What a queue had is nobody's once it was moved: it is no part of what Bob leaves.
    let nobody = TaskCommand::Assign { task: TaskId(11), to: QueueWanted::Nobody };
    told.ask(command(nobody)).expect("moved");
    assert!(letters(&told.ask(bury(BOB)).expect("buried")).is_empty());
}

#[test]
fn whoever_waits_for_somebodys_word_or_is_blocked_goes_on_with_the_next() {
    for how in [done(10, Resolution::None), block(10)] {
        let mut told = two();
        for id in [10, 11] {
            told.ask(draft(id, brief("t"), to(BOB))).expect("added");
        }
        told.ask_as(agent(BOB), how).expect("his own");
        assert_eq!(current(&told, BOB), Some(11));
    }
    // Given back too often, it is blocked, with a signal and an escalation.
    let mut told = two();
    told.ask(draft(10, Brief { rounds_max: 1, ..brief("t") }, to(BOB))).expect("added");
    told.ask(draft(11, brief("t"), to(BOB))).expect("queued");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    checked(&mut told, 10, JobEnd::Code(1), "red");
    assert_eq!(current(&told, BOB), Some(10));
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let events = checked(&mut told, 10, JobEnd::Code(1), &format!("{}THE END", "a".repeat(9000)));
    assert_eq!(state(&told, 10), TaskState::Blocked(BlockedOn::Rounds));
    assert_eq!(current(&told, BOB), Some(11));
    let failed = events.iter().filter(|event| match &event.what {
        What::Signal(_, SignalEvent::Sent { kind, .. }) => *kind == SignalKind::ValidationFailed,
        What::Escalation(_, EscalationEvent::Opened { matter, .. }) => {
            assert_eq!(matter.severity, Severity::High);
            false
        }
        _ => false,
    });
    assert_eq!(failed.count(), 1);
    let output = &task(&told, 10).last_check.as_ref().expect("a result").output;
    assert!(output.ends_with("THE END") && output.len() < 3000, "{}", output.len());
    // A person who puts it back gives it all its rounds.
    told.ask(reopen(10, 12)).expect("open");
    assert_eq!(task(&told, 10).rounds, 0);
}

#[test]
fn what_comes_back_to_a_busy_agent_lies_on_its_queue() {
    let mut told = two();
    add(&mut told, 10);
    told.ask_as(agent(BOB), take(10)).expect("taken");
    told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    told.ask(draft(11, brief("t"), to(BOB))).expect("taken");
    let events = told.ask(verify(10, false)).expect("not done");
    assert_eq!((current(&told, BOB), state(&told, 10)), (Some(11), TaskState::Open));
    assert_eq!(task(&told, 10).queue, Queue::Agent(AgentId(BOB)));
    assert!(letters(&events)[0].1.contains("lies on your queue"), "{events:?}");
    // The words of a person have no output of a check with them.
    let has_output = |event: &Event| match &event.what {
        What::Signal(_, SignalEvent::Sent { payload, .. }) => payload.contains_key("output"),
        _ => false,
    };
    assert!(!events.iter().any(has_output));
}

#[test]
fn a_persons_no_has_no_output_of_an_earlier_check_with_it() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    checked(&mut told, 10, JobEnd::Code(1), "red");
    told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    for event in told.ask(verify(10, false)).expect("not done") {
        if let What::Signal(_, SignalEvent::Sent { payload, by, .. }) = event.what {
            assert_eq!((by, payload.contains_key("output")), (Sender::Person, false));
        }
    }
}

#[test]
fn steps_are_counted_from_one_bounded_and_the_workers_own() {
    let mut told = three();
    let brief = Brief { steps: steps(STEPS_MAX - 1), ..brief("t") };
    told.ask(draft(10, brief, to(BOB))).expect("added");
    let bob = agent(BOB);
    for wrong in [0, 100] {
        let why = refusal(told.ask_as(bob, step(10, StepWanted::Done(Some(wrong)))));
        assert_eq!(why, TaskRefusal::NoSuchStep { step: wrong, steps: 99 });
    }
    told.ask_as(bob, step(10, StepWanted::Done(Some(2)))).expect("done");
    assert_eq!(task(&told, 10).steps_done(), 1);
    told.ask_as(bob, step(10, StepWanted::NotDone(2))).expect("not done");
    assert_eq!(task(&told, 10).steps_done(), 0);
    told.ask_as(bob, step(10, StepWanted::Add("last".to_owned()))).expect("the hundredth");
    let why = refusal(told.ask_as(bob, step(10, StepWanted::Add("more".to_owned()))));
    assert!(matches!(why, TaskRefusal::TooMany { most: STEPS_MAX, .. }), "{why:?}");
    for others in [step(10, StepWanted::Done(None)), block(10), done(10, Resolution::None)] {
        let refused = told.ask_as(agent(CAT), others);
        assert!(is_not_allowed(&refused), "{refused:?}");
    }
}

#[test]
fn only_those_above_and_persons_say_whether_it_is_done() {
    let mut told = three();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    let why = refusal(told.ask(verify(10, false)));
    assert_eq!(why, TaskRefusal::WrongState("taken"), "nobody has claimed it");
    told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    assert!(is_not_allowed(&told.ask_as(agent(CAT), verify(10, true))));
    assert!(is_not_allowed(&told.ask_as(agent(CAT), reopen(10, 11))));
    let events = told.ask_as(agent(ADA), verify(10, true)).expect("his parent");
    let by = events.iter().find_map(|event| match &event.what {
        What::Signal(_, SignalEvent::Sent { by, .. }) => Some(*by),
        _ => None,
    });
    assert_eq!(by, Some(Sender::Agent(AgentId(ADA))));
}

/// Whoever was told of a loop answers for a worker that has left memory.
#[test]
fn who_was_told_says_whether_the_work_of_the_gone_is_done() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    told.ask(bury(BOB)).expect("buried");
    told.report(BOB, told.number(BOB), Report::Exited(Exit::Code(0)));
    told.fleet.retire(&Entity::Agent(AgentId(BOB)));
    assert!(told.fleet.agent(AgentId(BOB)).is_none());
    told.ask_as(agent(ADA), verify(10, true)).expect("she was told");
}

#[test]
fn parts_are_bounded_and_have_the_queue_and_scope_of_the_whole() {
    let many: Vec<u128> = (100..100 + PARTS_MAX as u128 + 1).collect();
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    let why = refusal(told.ask(split(10, &many)));
    assert_eq!(why, TaskRefusal::TooMany { what: "parts", most: PARTS_MAX });
    told.ask(split(10, &many[1..])).expect("as many as may be");
    // Bob is busy: what lies on his queue stays there, part by part.
    let scoped = Brief { scope: vec!["src".to_owned()], ..brief("t") };
    told.ask(draft(20, scoped, to(BOB))).expect("queued");
    told.ask(split(20, &[21, 22])).expect("split");
    assert_eq!(task(&told, 22).queue, Queue::Agent(AgentId(BOB)));
    assert_eq!(task(&told, 22).brief.scope, ["src"]);
    // A role's work is its holders', whoever split it.
    let mut told = two();
    born(&mut told, 4, None, Some("keeper"));
    told.ask(draft(30, brief("t"), role("keeper"))).expect("added");
    told.ask_as(agent(4), take(30)).expect("taken");
    told.ask_as(agent(4), split(30, &[31, 32])).expect("split");
    assert!(matches!(task(&told, 32).queue, Queue::Role(_)));
    assert_eq!(current(&told, 4), Some(31));
}

#[test]
fn parts_of_parts_verify_the_whole_and_one_with_a_check_goes_back_to_be_claimed() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(split(10, &[11, 12])).expect("split");
    told.ask(split(11, &[13, 14])).expect("split");
    for part in [12, 13, 14] {
        told.ask(verify(part, true)).expect("verified");
    }
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Parts));
    let check = Some(CheckSpec::Named("unit".parse().expect("a name")));
    told.ask(draft(20, Brief { check, ..brief("t") }, QueueWanted::Nobody)).expect("added");
    told.ask_as(agent(BOB), take(20)).expect("taken");
    told.ask_as(agent(BOB), split(20, &[21, 22])).expect("split");
    told.ask(verify(21, true)).expect("verified");
    let events = told.ask(verify(22, true)).expect("verified");
    assert_eq!((current(&told, BOB), state(&told, 20)), (Some(20), TaskState::Taken));
    // He is told twice about one task, in one moment: two mails.
    let ids: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.what {
            What::Message(id, MessageEvent::Recorded { .. }) => Some(*id),
            _ => None,
        })
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn what_is_finished_is_no_open_loop_and_waits_for_nobody() {
    let mut told = two();
    for id in [10, 11] {
        told.ask(draft(id, brief("t"), to(BOB))).expect("added");
    }
    // Bob is on another one: a person blocks what only lies on his queue.
    told.ask(draft(12, brief("t"), to(BOB))).expect("queued");
    told.ask(block(12)).expect("blocked");
    told.ask(verify(10, true)).expect("verified");
    let left = letters(&told.ask(bury(BOB)).expect("buried"));
    assert!(left[0].1.contains("left 2 unfinished tasks"), "{left:?}");
    // What waited and was dropped keeps nobody from dropping what it waited for.
    let mut told = two();
    told.ask_as(agent(ADA), draft(20, brief("t"), QueueWanted::Nobody)).expect("added");
    let waiting = Brief { dependencies: vec![TaskId(20)], ..brief("t") };
    told.ask(draft(21, waiting, QueueWanted::Nobody)).expect("added");
    assert!(is_not_allowed(&told.ask_as(agent(ADA), drop_task(20))));
    told.ask(drop_task(21)).expect("dropped");
    told.ask_as(agent(ADA), drop_task(20)).expect("her own, and nobody waits");
}

#[test]
fn open_loops_go_past_the_dead_and_are_told_of_apart() {
    let mut told = three();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(draft(11, brief("t"), to(CAT))).expect("added");
    told.ask(bury(ADA)).expect("buried");
    let left = letters(&told.ask(bury(BOB)).expect("buried"));
    assert_eq!(left[0].0, Mailbox::Operator, "his parent is dead");
    let mut told = three();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(draft(11, brief("t"), to(CAT))).expect("added");
    told.ask(bury(BOB)).expect("buried");
    told.ask(bury(CAT)).expect("buried");
    let raise = Observation::Due { entity: Entity::Task(TaskId(10)), timer: Timer::Raise };
    let at = task(&told, 10).raised_again_at().expect("an open loop");
    told.now = Time(at.0 - 1_000_000);
    assert_eq!(told.observe(&raise), [], "not before its time");
    told.now = at + Duration::from_secs(60);
    let again = letters(&told.observe(&raise));
    assert_eq!(again.len(), 1, "{again:?}");
    assert_eq!(again[0].0, Mailbox::Agent(AgentId(ADA)));
    assert_eq!(task(&told, 11).open_loop.as_ref().map(|it| it.raised), Some(1));
}

/// The operator's setting holds for what is told from then on, and is in the events.
#[test]
fn the_operator_says_when_loops_are_raised_again() {
    let mut told = two();
    let policy = Policy { raise_loops_after: Some(Duration::from_secs(10)), ..Policy::default() };
    told.fleet = std::mem::take(&mut told.fleet).under(policy);
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(bury(BOB)).expect("buried");
    let again_after = |told: &Told| {
        let since = task(told, 10).open_loop.as_ref().expect("an open loop").at;
        task(told, 10).raised_again_at().expect("an open loop").since(since).as_secs()
    };
    assert_eq!(again_after(&told), 10);
    // Folded without the setting it is the same.
    told.fleet = std::mem::take(&mut told.fleet).under(Policy::default());
    assert_eq!(again_after(&told), 10);
    told.now = task(&told, 10).raised_again_at().expect("an open loop");
    let entity = Entity::Task(TaskId(10));
    told.observe(&Observation::Due { entity, timer: Timer::Raise });
    assert_eq!(again_after(&told), 7200, "the second wait, by default");
}

#[test]
fn a_loop_is_closed_by_whoever_moves_or_splits_it() {
    for how in [assign(10, ADA), split(10, &[11, 12])] {
        let mut told = two();
        told.ask(draft(10, brief("t"), to(BOB))).expect("added");
        told.ask(bury(BOB)).expect("buried");
        assert!(task(&told, 10).open_loop.is_some());
        told.ask(how).expect("a person may");
        assert_eq!(task(&told, 10).open_loop, None);
    }
    // Moved to nobody, or reopened on nobody's queue, it is as open as before: somebody is told again.
    let nobody = TaskCommand::Assign { task: TaskId(10), to: QueueWanted::Nobody };
    for how in [Command::Task(Box::new(nobody)), reopen(10, 13)] {
        let mut told = two();
        told.ask(draft(10, brief("t"), to(BOB))).expect("added");
        told.ask(bury(BOB)).expect("buried");
        told.ask(how).expect("a person may");
        let again_at = task(&told, 10).raised_again_at().expect("a loop still");
        told.now = again_at;
        let due = Observation::Due { entity: Entity::Task(TaskId(10)), timer: Timer::Raise };
        assert_eq!(letters(&told.observe(&due)).len(), 1);
        // Somebody's own again, it is no loop.
        told.ask(assign(10, ADA)).expect("moved");
        assert_eq!(task(&told, 10).open_loop, None);
    }
    // Reopened, the work of the dead lies on nobody's queue.
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(verify(10, true)).expect("verified");
    told.ask(bury(BOB)).expect("buried");
    told.ask(reopen(10, 11)).expect("its successor");
    assert_eq!(task(&told, 11).queue, Queue::Nobody);
}

#[test]
fn letters_say_what_failed_and_how_a_task_is_shown_without_tools() {
    let mut told = two();
    let check =
        Some(CheckSpec::Command { argv: vec!["false".to_owned()], limit: Duration::from_secs(9) });
    let given = told.ask(draft(10, Brief { check, ..brief("t") }, to(BOB))).expect("added");
    let given = letters(&given);
    assert!(given[0].1.contains(&format!("`perennial task show {}`", TaskId(10))), "{given:?}");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let failed = letters(&checked(&mut told, 10, JobEnd::Code(3), ""));
    assert!(failed[0].1.starts_with("The command that checks tsk_"), "{failed:?}");
}

#[test]
fn letters_name_few_tasks_and_quote_in_one_line() {
    let mut told = two();
    for id in 10..16 {
        let title = Brief { title: "a ” b c".to_owned(), ..brief("t") };
        told.ask(draft(id, title, to(BOB))).expect("added");
    }
    let left = letters(&told.ask(bury(BOB)).expect("buried"));
    assert_eq!(left[0].1.matches("tsk_").count(), 4, "{left:?}");
    assert!(left[0].1.contains("and 2 more"), "{left:?}");
    assert!(left[0].1.contains("“a ' b c”"), "{left:?}");
    // A long title is cut within its marks.
    let mut told = two();
    told.ask(draft(10, brief(&"long ".repeat(30)), to(BOB))).expect("added");
    let left = letters(&told.ask(bury(BOB)).expect("buried"));
    assert!(left[0].1.contains("…”\n"), "{left:?}");
}

#[test]
fn the_letter_about_a_failed_check_is_one_sentence_after_another() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let told_of = letters(&checked(&mut told, 10, JobEnd::Code(1), "red"));
    assert!(told_of[0].1.contains("round 1 of 3). You are on it again. The end"), "{told_of:?}");
}

#[test]
fn what_was_spent_is_added_up_over_the_rounds() {
    let mut told = two();
    let estimate = Some(Estimate::Tokens(100));
    told.ask(draft(10, Brief { estimate, ..brief("t") }, QueueWanted::Nobody)).expect("added");
    let bob = agent(BOB);
    told.spends(BOB, 1000);
    told.ask_as(bob, take(10)).expect("taken");
    told.spends(BOB, 1150);
    told.ask_as(bob, done(10, Resolution::None)).expect("claimed");
    // What it spends on other work before the task comes back is not spent on it.
    told.spends(BOB, 9000);
    told.ask(verify(10, false)).expect("not done");
    told.spends(BOB, 9050);
    told.ask_as(bob, done(10, Resolution::None)).expect("claimed");
    assert_eq!(task(&told, 10).spent.tokens, Some(200));
    assert!(!exceeds_estimate(task(&told, 10)), "twice as much, and no more");
}

/// However an agent leaves a task, what it spent on it is kept.
#[test]
fn what_was_spent_is_counted_when_the_worker_leaves() {
    let mut told = two();
    let bob = agent(BOB);
    told.spends(BOB, 1000);
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.spends(BOB, 1100);
    let (on, reason) = (BlockedOn::Work, "stuck".to_owned());
    let block = TaskCommand::Block { task: TaskId(10), on, reason };
    told.ask_as(bob, command(block)).expect("blocked");
    assert_eq!(task(&told, 10).spent.tokens, Some(100), "blocked");
    told.spends(BOB, 1500);
    told.ask_as(bob, take(10)).expect("taken again");
    told.spends(BOB, 1520);
    told.ask(assign(10, ADA)).expect("given to somebody else");
    assert_eq!(task(&told, 10).spent.tokens, Some(120), "assigned; nobody counts for its worker");
    told.ask(assign(10, BOB)).expect("and back");
    told.spends(BOB, 1550);
    told.ask(bury(BOB)).expect("buried");
    assert_eq!(task(&told, 10).spent.tokens, Some(150), "left");
}

/// A check's time is the task's too, and a part is not charged what the whole took.
#[test]
fn what_was_spent_while_a_check_ran_and_before_a_split_is_counted_once() {
    let mut told = two();
    let bob = agent(BOB);
    told.spends(BOB, 1000);
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.spends(BOB, 1100);
    told.ask_as(bob, done(10, run())).expect("claimed");
    told.spends(BOB, 1130);
    told.ask(verify(10, true)).expect("a person's word");
    told.ask(draft(11, brief("next"), to(BOB))).expect("added");
    told.spends(BOB, 1200);
    told.ask_as(bob, split(11, &[12, 13])).expect("split");
    told.spends(BOB, 1300);
    told.ask_as(bob, done(12, Resolution::None)).expect("claimed");
    let spent = [10, 11, 12].map(|id| task(&told, id).spent.tokens);
    assert_eq!(spent, [Some(130), Some(70), Some(100)]);
}

/// An agent CLI claims before it has written down what the turn cost: what is read later counts all the same.
#[test]
fn what_was_spent_before_anybody_read_it_is_counted_with_the_next_word() {
    let mut told = Told::new();
    told.spawn_cli(BOB, false, None).expect("born");
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    assert_eq!(task(&told, 10).spent.tokens, None, "nobody has counted yet");
    told.spends(BOB, 70);
    checked(&mut told, 10, JobEnd::Code(1), "red");
    assert_eq!(task(&told, 10).spent.tokens, Some(70));
    told.spends(BOB, 100);
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    told.spends(BOB, 110);
    checked(&mut told, 10, JobEnd::Code(0), "green");
    assert_eq!(task(&told, 10).spent.tokens, Some(110));
}

/// A task that outgrows its estimate is escalated when that happens, once, and not when it is claimed.
#[test]
fn what_outgrows_its_estimate_is_escalated_at_once() {
    let mut told = two();
    let estimate = Some(Estimate::Tokens(100));
    told.spends(BOB, 1000);
    told.ask(draft(10, Brief { estimate, ..brief("t") }, to(BOB))).expect("added");
    let raised = |events: &[Event]| {
        events.iter().filter(|event| matches!(event.what, What::Escalation(..))).count()
    };
    assert!(told.spends(BOB, 1200).is_empty(), "twice as much, and no more");
    assert_eq!(raised(&told.spends(BOB, 1201)), 1);
    assert!(told.spends(BOB, 5000).is_empty());
    let claimed = told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    assert_eq!((raised(&claimed), task(&told, 10).spent.tokens), (0, Some(4000)));
}

/// TK8, at birth too.
#[test]
fn nobody_is_born_for_a_task_that_waits() {
    let mut told = two();
    add(&mut told, 10);
    let waiting = Brief { dependencies: vec![TaskId(10)], ..brief("t") };
    told.ask(draft(11, waiting, QueueWanted::Nobody)).expect("added");
    let spawn = Spawn {
        situations: Vec::new(),
        id: AgentId(9),
        name: None,
        role: None,
        parent: None,
        launch: launch(),
        restart: Restart::Never,
        conversation: None,
    };
    let on = Command::SpawnOn { spawn: Box::new(spawn), reach: None, task: TaskId(11) };
    assert_eq!(refusal(told.ask_as(Caller::Person, on)), TaskRefusal::Waits { on: TaskId(10) });
}

/// A job that has left memory tells nothing: the clock finds it.
#[test]
fn a_check_whose_job_is_gone_is_found_by_the_clock() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let timers = |fleet: &Fleet| fleet.plan(&Entity::Task(TaskId(10)), told.now).timers;
    assert_eq!(timers(&told.fleet), []);
    let without = Fleet::restore(Restored { jobs: Vec::new(), ..told.fleet.parts() });
    assert_eq!(timers(&without), [(Timer::CheckLost, told.now)]);
}

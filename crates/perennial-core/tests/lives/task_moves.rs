//! Work that is moved, put back, split or taken up again: whose it is then, who is told, and who goes on with what.

use perennial_core::command::Command;
use perennial_core::entity::Entity;
use perennial_core::fleet::Policy;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::message::Mailbox;
use perennial_core::name::NameKey;
use perennial_core::refusal::Refusal;
use perennial_core::role::{RoleTerms, Verify};
use perennial_core::task::{
    BlockedOn, Brief, Queue, QueueWanted, Resolution, StepWanted, TaskCommand, TaskRefusal,
    TaskState, UNFINISHED_BY_AGENT_MAX, Verifier,
};

use crate::tasks::{
    ADA, BOB, add, agent, assign, born, brief, current, done, draft, drop_task, letters, refusal,
    reopen, signals, split, state, take, task, to, two, verify,
};
use crate::told::Told;

const CAROL: u128 = 3;

fn command(command: TaskCommand) -> Command {
    Command::Task(Box::new(command))
}

fn block(task: u128) -> Command {
    let (task, on, reason) = (TaskId(task), BlockedOn::Work, "waits".to_owned());
    command(TaskCommand::Block { task, on, reason })
}

fn step(task: u128) -> Command {
    let step = StepWanted::Add("more".to_owned());
    command(TaskCommand::Step { task: TaskId(task), step })
}

fn is_not_allowed<T: std::fmt::Debug>(refused: &Result<T, Refusal>) -> bool {
    matches!(refused, Err(Refusal::NotAllowed { .. }))
}

/// Bob's role is trusted. He works on 10; Carol is busy with 11.
fn trusted_and_busy() -> Told {
    let mut told = Told::new();
    let terms = RoleTerms { verify: Verify::Trust, ..RoleTerms::default() };
    let roles = [(NameKey::of("keeper"), terms)].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    born(&mut told, ADA, None, None);
    born(&mut told, BOB, Some(ADA), Some("keeper"));
    born(&mut told, CAROL, None, None);
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(draft(11, brief("u"), to(CAROL))).expect("added");
    assert_eq!((current(&told, BOB), current(&told, CAROL)), (Some(10), Some(11)));
    told
}

/// READER 4 a: what was moved is no longer its old worker's, who is told.
#[test]
fn what_was_moved_is_no_longer_its_old_workers() {
    let mut told = trusted_and_busy();
    let events = told.ask(assign(10, CAROL)).expect("moved");
    let told_of = letters(&events);
    let to_bob = Mailbox::Agent(AgentId(BOB));
    assert!(
        matches!(&told_of[..], [(to, text)] if *to == to_bob && text.contains("no longer yours")),
        "{told_of:?}"
    );
    for wanted in [done(10, Resolution::None), block(10), step(10), split(10, &[20, 21])] {
        let refused = told.ask_as(agent(BOB), wanted);
        assert!(is_not_allowed(&refused), "{refused:?}");
    }
    let refused = told.ask_as(agent(ADA), verify(10, true));
    assert!(refused.is_err(), "nobody's parent: {refused:?}");
    assert_eq!(state(&told, 10), TaskState::Open);
    assert_eq!(task(&told, 10).assignee(), Some(AgentId(CAROL)));
    // A block by the operator changes nothing in whose it is.
    told.ask(block(10)).expect("blocked");
    assert_eq!(task(&told, 10).assignee(), Some(AgentId(CAROL)));
    assert_eq!(refusal(told.ask_as(agent(BOB), take(10))), TaskRefusal::NotYours);
    // Whose queue it lies on says what becomes of it.
    told.ask_as(agent(CAROL), done(10, Resolution::None)).expect("her word");
    assert_eq!(task(&told, 10).worker, Some(AgentId(CAROL)), "the claim is hers");
    let events = told.ask(verify(10, true)).expect("verified");
    assert!(signals(&events).iter().all(|(_, to, _)| *to == Mailbox::Agent(AgentId(CAROL))));
}

/// READER 4 b: nobody is told of, or earns, the verdict about work that was taken from them.
#[test]
fn a_verdict_is_not_for_whoever_the_work_was_taken_from() {
    for moved in [
        assign(10, CAROL),
        command(TaskCommand::Assign { task: TaskId(10), to: QueueWanted::Nobody }),
    ] {
        let mut told = trusted_and_busy();
        told.ask(moved).expect("moved");
        let events = told.ask(verify(10, true)).expect("a person's word");
        assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Operator));
        assert!(signals(&events).is_empty(), "{:?}", signals(&events));
        assert_eq!(current(&told, CAROL), Some(11));
    }
}

/// Whoever moves their own work, or gets it again, is told nothing of it.
#[test]
fn who_moves_their_own_work_is_not_told_of_it() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    let nobody = TaskCommand::Assign { task: TaskId(10), to: QueueWanted::Nobody };
    assert!(letters(&told.ask_as(agent(BOB), command(nobody)).expect("moved")).is_empty());
    told.ask_as(agent(BOB), take(10)).expect("taken");
    let again = letters(&told.ask(assign(10, BOB)).expect("his own"));
    assert!(again.iter().all(|(_, text)| !text.contains("no longer yours")), "{again:?}");
    assert_eq!(current(&told, BOB), Some(10));
}

/// READER 10
#[test]
fn whoever_was_on_a_task_that_is_put_back_goes_on_with_the_next() {
    let mut told = two();
    add(&mut told, 10);
    told.ask_as(agent(BOB), take(10)).expect("taken");
    told.ask(draft(11, brief("next"), to(BOB))).expect("queued");
    let events = told.ask(reopen(10, 12)).expect("put back");
    assert_eq!((state(&told, 10), task(&told, 10).worker), (TaskState::Open, None));
    assert_eq!(current(&told, BOB), Some(11));
    let texts: Vec<String> = letters(&events).into_iter().map(|(_, text)| text).collect();
    assert!(
        matches!(&texts[..], [put_back, next] if put_back.contains("no longer yours") && next.contains("next")),
        "{texts:?}"
    );
}

/// READER 12
#[test]
fn parts_of_a_task_that_nobody_is_on_wait_for_what_it_waits_for_and_are_offered() {
    let mut told = two();
    add(&mut told, 9);
    let waits = Brief { dependencies: vec![TaskId(9)], ..brief("t") };
    told.ask(draft(10, waits, to(BOB))).expect("queued");
    told.ask(split(10, &[11, 12])).expect("split");
    assert_eq!(task(&told, 11).brief.dependencies, [TaskId(9)]);
    assert_eq!(current(&told, BOB), None, "TK8");
    told.ask(verify(9, true)).expect("done");
    assert_eq!(current(&told, BOB), Some(11));
    // Where nothing holds it up, the first part is begun at once.
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("given");
    told.ask(block(10)).expect("blocked");
    assert_eq!(current(&told, BOB), None);
    let events = told.ask(split(10, &[11, 12])).expect("split");
    assert_eq!(current(&told, BOB), Some(11), "{events:?}");
    assert_eq!(letters(&events).len(), 1, "he is told of it");
}

/// READER 11: an answer that did not arrive is asked for again.
#[test]
fn a_finished_task_has_one_open_successor() {
    let mut told = two();
    add(&mut told, 10);
    told.ask(verify(10, true)).expect("done");
    told.ask(reopen(10, 11)).expect("taken up again");
    let again = told.ask(reopen(10, 12)).expect("the same answer");
    assert!(again.is_empty(), "{again:?}");
    assert!(told.fleet.tasks().get(TaskId(12)).is_none());
    // What is finished again may be taken up again.
    told.ask(drop_task(11)).expect("dropped");
    told.ask(reopen(10, 12)).expect("taken up again");
    assert_eq!(task(&told, 12).brief.reopens, Some(TaskId(10)));
}

#[test]
fn what_an_agent_takes_up_again_counts_with_what_it_added() {
    let mut told = two();
    for id in (1000..).take(UNFINISHED_BY_AGENT_MAX) {
        told.ask_as(agent(BOB), draft(id, brief("t"), QueueWanted::Nobody)).expect("added");
    }
    told.ask(verify(1000, true)).expect("done");
    told.ask_as(agent(BOB), draft(5000, brief("t"), QueueWanted::Nobody)).expect("added");
    let (what, most) = ("unfinished tasks", UNFINISHED_BY_AGENT_MAX);
    let refused = told.ask_as(agent(BOB), reopen(1000, 5001));
    assert_eq!(refusal(refused), TaskRefusal::TooMany { what, most });
    told.ask(reopen(1000, 5001)).expect("a person's are not counted");
}

/// READER 11: the whole names whatever takes up a part of it, and waits for it if it was split into that part.
#[test]
fn the_successor_of_a_part_is_a_part() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), split(10, &[11, 12])).expect("split");
    told.ask(verify(11, true)).expect("done");
    told.fleet.retire(&Entity::Task(TaskId(11)));
    let mut known = brief("part 11");
    (known.parent, known.queue) = (Some(TaskId(10)), Queue::Agent(AgentId(BOB)));
    let mut recalled = task(&told, 12).clone();
    (recalled.id, recalled.brief) = (TaskId(11), known);
    recalled.state = TaskState::Verified(Verifier::Operator);
    let reopen = TaskCommand::Reopen {
        task: TaskId(11),
        reason: "again".to_owned(),
        recalled: Some(Box::new(recalled)),
        successor: TaskId(13),
        note: None,
    };
    told.ask(command(reopen)).expect("taken up again");
    assert_eq!(task(&told, 10).parts, [TaskId(11), TaskId(12), TaskId(13)]);
    told.ask(verify(12, true)).expect("done");
    assert_eq!(state(&told, 10), TaskState::Split, "13 is open");
    told.ask(verify(13, true)).expect("done");
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Parts));
}

/// Of a part that was only added the whole knows, and does not wait for it.
#[test]
fn the_successor_of_an_added_part_is_an_added_part() {
    let mut told = two();
    add(&mut told, 10);
    let part =
        |id| draft(id, Brief { parent: Some(TaskId(10)), ..brief("p") }, QueueWanted::Nobody);
    told.ask(part(11)).expect("added");
    told.ask(verify(11, true)).expect("done");
    told.ask(reopen(11, 12)).expect("taken up again");
    assert_eq!(task(&told, 10).added_parts, [TaskId(11), TaskId(12)]);
    // What is part of nothing any more is a task of its own.
    told.ask(verify(12, true)).expect("done");
    told.ask(verify(10, true)).expect("done");
    told.ask(reopen(12, 13)).expect("taken up again");
    assert_eq!(task(&told, 13).brief.parent, None);
}

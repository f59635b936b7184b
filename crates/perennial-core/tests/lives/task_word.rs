//! TK3: whose word verifies a task that several had a part in.

use perennial_core::command::Command;
use perennial_core::fleet::Policy;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::message::Mailbox;
use perennial_core::name::NameKey;
use perennial_core::refusal::Refusal;
use perennial_core::role::{RoleTerms, Verify};
use perennial_core::task::{
    Awaiting, BlockedOn, HAD_BY_MAX, QueueWanted, Resolution, TaskCommand, TaskRefusal, TaskState,
    Verifier,
};

use crate::tasks::{
    ADA, BOB, add, agent, assign, born, brief, bury, done, draft, drop_task, letters, refusal,
    reopen, split, state, take, task, to, two, verify,
};
use crate::told::Told;

/// Bob's child.
const CAT: u128 = 3;
/// Cat's child.
const DAN: u128 = 4;
/// Ada's other child.
const EVE: u128 = 5;
/// Eve's child.
const FAY: u128 = 6;

fn family() -> Told {
    let mut told = two();
    born(&mut told, CAT, Some(BOB), None);
    born(&mut told, DAN, Some(CAT), None);
    born(&mut told, EVE, Some(ADA), None);
    born(&mut told, FAY, Some(EVE), None);
    told
}

fn claimed(told: &mut Told, by: u128, id: u128) -> Vec<Mailbox> {
    let events = told.ask_as(agent(by), done(id, Resolution::None)).expect("claimed");
    letters(&events).into_iter().map(|(to, _)| to).collect()
}

fn block(task: u128) -> Command {
    let (task, reason) = (TaskId(task), "waits".to_owned());
    Command::Task(Box::new(TaskCommand::Block { task, on: BlockedOn::Work, reason }))
}

fn mailbox(id: u128) -> Mailbox {
    Mailbox::Agent(AgentId(id))
}

#[test]
fn who_was_on_a_task_does_not_verify_what_its_child_finishes() {
    let mut told = family();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added, and begun");
    told.ask_as(agent(BOB), assign(10, CAT)).expect("handed down");
    assert_eq!(claimed(&mut told, CAT, 10), [mailbox(ADA)], "not its parent's word");
    assert_eq!(refusal(told.ask_as(agent(BOB), verify(10, true))), TaskRefusal::OwnWork);
    // That it is not done yet it may say.
    told.ask_as(agent(BOB), verify(10, false)).expect("given back");
    claimed(&mut told, CAT, 10);
    told.ask_as(agent(ADA), verify(10, true)).expect("above both");
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Parent(AgentId(ADA))));
}

#[test]
fn who_was_given_a_task_answers_for_it_though_another_did_it() {
    let mut told = family();
    told.ask(draft(10, brief("first"), to(BOB))).expect("begun");
    told.ask_as(agent(ADA), draft(11, brief("second"), to(BOB))).expect("on its queue");
    assert_eq!(state(&told, 11), TaskState::Open);
    told.ask_as(agent(BOB), assign(11, CAT)).expect("handed down unbegun");
    assert_eq!(claimed(&mut told, CAT, 11), [mailbox(ADA)]);
    assert_eq!(refusal(told.ask_as(agent(BOB), verify(11, true))), TaskRefusal::OwnWork);
    told.ask_as(agent(ADA), verify(11, true)).expect("who asked for it");
}

/// Delegation: what an agent adds for its child it verifies itself, also what it put on its own queue unbegun.
/// Also if it was never on it: it lay on its queue, open, and was put aside, split or claimed from there.
#[test]
fn who_was_given_a_task_and_put_it_aside_does_not_verify_it() {
    let mut told = family();
    add(&mut told, 9);
    told.ask_as(agent(BOB), take(9)).expect("something else");
    told.ask(draft(10, brief("t"), to(BOB))).expect("added, and waits");
    told.ask_as(agent(BOB), block(10)).expect("blocked");
    told.ask_as(agent(BOB), assign(10, CAT)).expect("handed down");
    assert_eq!(claimed(&mut told, CAT, 10), [mailbox(ADA)]);
    assert_eq!(refusal(told.ask_as(agent(BOB), verify(10, true))), TaskRefusal::OwnWork);
    told.ask(draft(20, brief("u"), to(BOB))).expect("added, and waits");
    told.ask_as(agent(BOB), split(20, &[21, 22])).expect("split");
    told.ask_as(agent(BOB), assign(21, CAT)).expect("handed down");
    claimed(&mut told, CAT, 21);
    assert_eq!(refusal(told.ask_as(agent(BOB), verify(21, true))), TaskRefusal::OwnWork);
}

/// To assign it to oneself is no way around `take`.
#[test]
fn what_nobody_has_is_moved_by_whoever_may_take_it() {
    let mut told = family();
    let role = QueueWanted::Role { role: "sub".parse().expect("a name"), is_declared: true };
    told.ask(draft(10, brief("t"), role)).expect("added");
    for to in [EVE, FAY] {
        let answer = told.ask_as(agent(EVE), assign(10, to));
        assert_eq!(refusal(answer), TaskRefusal::NotYours, "{to}");
    }
    told.ask(assign(10, EVE)).expect("a person may");
    add(&mut told, 11);
    told.ask_as(agent(FAY), assign(11, FAY)).expect("nobody's of its project");
}

#[test]
fn who_has_its_child_do_something_verifies_it() {
    let mut told = family();
    told.ask(draft(10, brief("own"), to(BOB))).expect("Bob is busy");
    told.ask_as(agent(BOB), draft(11, brief("a piece"), to(CAT))).expect("added");
    assert_eq!(claimed(&mut told, CAT, 11), [mailbox(BOB)]);
    told.ask_as(agent(BOB), verify(11, true)).expect("it had no part in it");
    told.ask_as(agent(BOB), draft(12, brief("later"), to(BOB))).expect("noted down");
    assert_eq!(state(&told, 12), TaskState::Open);
    told.ask_as(agent(BOB), assign(12, CAT)).expect("not begun");
    assert_eq!(claimed(&mut told, CAT, 12), [mailbox(BOB)]);
    told.ask_as(agent(BOB), verify(12, true)).expect("it had no part in it");
    // From a queue of its project it only passed the task on.
    add(&mut told, 13);
    told.ask_as(agent(BOB), assign(13, CAT)).expect("nobody's");
    assert_eq!(claimed(&mut told, CAT, 13), [mailbox(BOB)]);
    told.ask_as(agent(BOB), verify(13, true)).expect("it had no part in it");
}

#[test]
fn an_agent_below_whoever_had_it_does_not_verify_it() {
    let mut told = family();
    told.ask(draft(10, brief("t"), to(BOB))).expect("begun");
    told.ask_as(agent(BOB), assign(10, DAN)).expect("to a grandchild");
    assert_eq!(claimed(&mut told, DAN, 10), [mailbox(ADA)], "Cat answers to Bob");
    let refused = refusal(told.ask_as(agent(CAT), verify(10, true)));
    assert_eq!(refused, TaskRefusal::NotAbove { agent: AgentId(BOB) });
    // Nor one beside it.
    let mut told = family();
    told.ask(draft(10, brief("t"), to(CAT))).expect("begun");
    told.ask(assign(10, FAY)).expect("moved by the operator");
    assert_eq!(claimed(&mut told, FAY, 10), [mailbox(ADA)]);
    let refused = refusal(told.ask_as(agent(EVE), verify(10, true)));
    assert_eq!(refused, TaskRefusal::NotAbove { agent: AgentId(CAT) });
    told.ask_as(agent(ADA), verify(10, true)).expect("above all");
}

#[test]
fn without_an_ancestor_of_all_the_operator_is_asked() {
    let mut told = family();
    told.ask(draft(10, brief("t"), to(ADA))).expect("begun");
    told.ask_as(agent(ADA), assign(10, BOB)).expect("handed down");
    assert_eq!(claimed(&mut told, BOB, 10), [Mailbox::Operator]);
    assert_eq!(refusal(told.ask_as(agent(ADA), verify(10, true))), TaskRefusal::OwnWork);
    told.ask(verify(10, true)).expect("a person");
}

/// A part stands for the whole: whoever had that does not verify it by its parts.
#[test]
fn parts_of_what_an_agent_had_are_not_verified_by_it() {
    let mut told = family();
    told.ask(draft(10, brief("t"), to(BOB))).expect("begun");
    told.ask_as(agent(BOB), split(10, &[11, 12])).expect("split");
    for part in [11, 12] {
        told.ask_as(agent(BOB), assign(part, CAT)).expect("handed down");
        assert_eq!(claimed(&mut told, CAT, part), [mailbox(ADA)]);
        assert_eq!(refusal(told.ask_as(agent(BOB), verify(part, true))), TaskRefusal::OwnWork);
        told.ask_as(agent(ADA), verify(part, true)).expect("above both");
    }
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Parts));
    // What was only added as a part verifies nothing else.
    told.ask(draft(20, brief("t"), to(BOB))).expect("begun");
    let mut part = brief("a piece");
    part.parent = Some(TaskId(20));
    told.ask_as(agent(BOB), draft(21, part, to(CAT))).expect("added");
    assert_eq!(claimed(&mut told, CAT, 21), [mailbox(BOB)]);
    told.ask_as(agent(BOB), verify(21, true)).expect("its own delegation");
    assert_eq!(state(&told, 20), TaskState::Taken, "still to be claimed");
}

/// Dropping and reopening it washes nothing off.
#[test]
fn a_successor_knows_who_had_the_task_before() {
    let mut told = family();
    told.ask_as(agent(BOB), draft(10, brief("t"), to(BOB))).expect("added, and begun");
    told.ask_as(agent(BOB), drop_task(10)).expect("its own");
    let recalled = Some(Box::new(task(&told, 10).clone()));
    let (id, successor, reason) = (TaskId(10), TaskId(20), "again".to_owned());
    let reopened = TaskCommand::Reopen { task: id, reason, recalled, successor, note: None };
    told.ask_as(agent(BOB), Command::Task(Box::new(reopened))).expect("a successor");
    told.ask_as(agent(BOB), assign(20, CAT)).expect("handed down");
    assert_eq!(claimed(&mut told, CAT, 20), [mailbox(ADA)]);
    assert_eq!(refusal(told.ask_as(agent(BOB), verify(20, true))), TaskRefusal::OwnWork);
    // Nor does putting it back on its queue.
    told.ask_as(agent(BOB), draft(30, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), reopen(30, 31)).expect("back");
    told.ask_as(agent(BOB), assign(30, CAT)).expect("handed down");
    claimed(&mut told, CAT, 30);
    assert_eq!(refusal(told.ask_as(agent(BOB), verify(30, true))), TaskRefusal::OwnWork);
}

#[test]
fn the_dead_hold_nobodys_word_up() {
    let mut told = family();
    told.ask(draft(10, brief("t"), to(BOB))).expect("begun");
    told.ask(bury(BOB)).expect("buried");
    told.ask(assign(10, FAY)).expect("given on");
    assert_eq!(claimed(&mut told, FAY, 10), [mailbox(EVE)]);
    told.ask_as(agent(EVE), verify(10, true)).expect("Bob is gone");
}

/// A trusted role vouches for its holders, not for what others did before.
#[test]
fn trust_does_not_launder_the_work_of_others() {
    let mut told = Told::new();
    let terms = RoleTerms { verify: Verify::Trust, ..RoleTerms::default() };
    let roles = [(NameKey::of("keeper"), terms)].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    born(&mut told, ADA, None, None);
    born(&mut told, BOB, Some(ADA), Some("keeper"));
    born(&mut told, CAT, Some(ADA), Some("keeper"));
    told.ask(draft(10, brief("t"), to(ADA))).expect("begun");
    told.ask_as(agent(ADA), assign(10, BOB)).expect("handed down");
    assert_eq!(claimed(&mut told, BOB, 10), [Mailbox::Operator]);
    assert_eq!(state(&told, 10), TaskState::Claimed(Awaiting::Word));
    // From one trusted holder to another it stays trusted.
    told.ask(draft(11, brief("t"), to(BOB))).expect("begun");
    told.ask(assign(11, CAT)).expect("moved");
    told.ask_as(agent(CAT), done(11, Resolution::None)).expect("done");
    assert_eq!(state(&told, 11), TaskState::Verified(Verifier::Trust("keeper".to_owned())));
}

#[test]
fn what_very_many_had_a_person_verifies() {
    let mut told = two();
    add(&mut told, 10);
    for id in 0..=HAD_BY_MAX as u128 {
        born(&mut told, 100 + id, Some(BOB), None);
        told.ask(assign(10, 100 + id)).expect("passed on");
    }
    told.ask(assign(10, 100)).expect("passed on");
    claimed(&mut told, 100, 10);
    assert_eq!(task(&told, 10).had_by.len(), HAD_BY_MAX + 1);
    let refused = told.ask_as(agent(BOB), verify(10, true));
    assert!(matches!(refused, Err(Refusal::Task { .. })), "{refused:?}");
    told.ask(verify(10, true)).expect("a person");
}

#[test]
fn what_lies_on_nobodys_or_a_roles_queue_was_nobodys() {
    let mut told = family();
    add(&mut told, 10);
    told.ask_as(agent(CAT), take(10)).expect("taken");
    assert_eq!(task(&told, 10).had().collect::<Vec<_>>(), [AgentId(CAT)]);
    told.ask(Command::Task(Box::new(TaskCommand::Assign {
        task: TaskId(10),
        to: QueueWanted::Nobody,
    })))
    .expect("put back");
    told.ask_as(agent(CAT), take(10)).expect("taken again");
    assert_eq!(claimed(&mut told, CAT, 10), [mailbox(BOB)]);
    told.ask_as(agent(BOB), verify(10, true)).expect("its parent");
}

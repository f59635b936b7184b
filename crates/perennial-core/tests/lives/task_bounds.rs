//! The edges of tasks' rules: what is exactly at a bound is taken, the next one is not.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::Command;
use perennial_core::event::What;
use perennial_core::id::{AgentId, TaskId};
use perennial_core::message::{Content, Mailbox, MessageEvent};
use perennial_core::refusal::Refusal;
use perennial_core::rest::Earned;
use perennial_core::role::Span;
use perennial_core::task::{
    self, BlockedOn, Brief, CHECK_LIMIT_MOST, CheckSpec, DEPENDENCIES_MAX, ESTIMATE_STEPS_MOST,
    ESTIMATE_TOKENS_MOST, Estimate, IMPORT_MAX, LEVELS_MAX, Queue, QueueWanted, REASON_BYTES_MAX,
    REFERENCE_BYTES_MAX, ROUNDS_MOST, Resolution, SCOPE_BYTES_MAX, SCOPE_MAX, STEP_BYTES_MAX,
    STEPS_MAX, Step, StepWanted, TITLE_BYTES_MAX, TaskCommand, TaskImport, TaskRefusal,
    UNFINISHED_BY_AGENT_MAX,
};

use crate::tasks::{
    ADA, BOB, add, agent, born, brief, bury, draft, drop_task, refusal, split, task, to, two,
};

fn role(name: &str, is_declared: bool) -> QueueWanted {
    QueueWanted::Role { role: name.parse().expect("a name"), is_declared }
}

#[test]
fn as_much_as_a_task_may_have_is_taken() {
    let mut told = two();
    add(&mut told, 10);
    let steps = vec![Step { text: "step".to_owned(), is_done: false }; STEPS_MAX];
    let whole = Brief {
        steps,
        dependencies: vec![TaskId(10); DEPENDENCIES_MAX],
        scope: vec!["x".repeat(SCOPE_BYTES_MAX); SCOPE_MAX],
        ..brief("t")
    };
    told.ask(draft(11, whole, QueueWanted::Nobody)).expect("all of it is within bounds");
    let path = "x".repeat(SCOPE_BYTES_MAX + 1);
    let longer = Brief { scope: vec![path.clone()], ..brief("t") };
    let refused = refusal(told.ask(draft(12, longer, QueueWanted::Nobody)));
    assert_eq!(refused, TaskRefusal::BadScope { path });
}

#[test]
fn a_list_is_bounded_and_what_is_done_lies_on_nobodys_queue() {
    let mut told = two();
    let one = |id: u128| TaskImport { id: TaskId(id), brief: brief("t"), is_done: id == 1000 };
    let list = |count: usize| {
        let tasks = (1000..).take(count).map(one).collect();
        Command::Task(Box::new(TaskCommand::Import { to: to(BOB), tasks }))
    };
    let (what, most) = ("tasks in one list", IMPORT_MAX);
    let refused = refusal(told.ask(list(IMPORT_MAX + 1)));
    assert_eq!(refused, TaskRefusal::TooMany { what, most });
    told.ask(list(IMPORT_MAX)).expect("as many as there may be");
    assert_eq!(task(&told, 1000).queue, Queue::Nobody);
    assert_eq!(task(&told, 1001).queue, Queue::Agent(AgentId(BOB)));
}

#[test]
fn parts_go_down_to_the_last_level_and_up_to_the_last_task() {
    let mut told = two();
    add(&mut told, 1000);
    let parts = |level: usize| [2000 + 2 * level as u128, 2001 + 2 * level as u128];
    let mut leaf = 1000;
    for level in 1..LEVELS_MAX {
        told.ask(split(leaf, &parts(level))).expect("not too deep");
        leaf = parts(level)[0];
    }
    let refused = refusal(told.ask(split(leaf, &parts(LEVELS_MAX))));
    assert!(matches!(refused, TaskRefusal::TooMany { .. }), "{refused:?}");
    // An agent's own: those that are over don't count.
    let mut told = two();
    told.ask(draft(1, brief("t"), to(BOB))).expect("added");
    let bob = agent(BOB);
    for id in (100..).take(UNFINISHED_BY_AGENT_MAX - 2) {
        told.ask_as(bob, draft(id, brief("t"), QueueWanted::Nobody)).expect("added");
    }
    told.ask_as(bob, split(1, &[11, 12])).expect("the last two");
    let more = draft(13, brief("t"), QueueWanted::Nobody);
    let refused = refusal(told.ask_as(bob, more.clone()));
    assert!(matches!(refused, TaskRefusal::TooMany { .. }), "{refused:?}");
    told.ask_as(bob, drop_task(100)).expect("its own");
    told.ask_as(bob, more).expect("there is room again");
}

#[test]
fn a_role_that_was_held_has_a_queue() {
    let mut told = two();
    let ghost = || draft(10, brief("t"), role("ghost", false));
    assert!(matches!(told.ask(ghost()), Err(Refusal::NoSuchRole { .. })));
    born(&mut told, 3, None, Some("ghost"));
    told.ask(bury(3)).expect("buried");
    told.ask(ghost()).expect("somebody held it once");
}

/// Whom an agent may have born for a task: for its own, for those of its project, for what it was told of.
#[test]
fn nobody_is_born_for_anothers_task() {
    let mut told = two();
    add(&mut told, 10);
    let elsewhere = Brief { project: "/elsewhere".to_owned(), ..brief("t") };
    told.ask(draft(11, elsewhere.clone(), QueueWanted::Nobody)).expect("added");
    told.ask(draft(12, brief("t"), to(ADA))).expect("added");
    told.ask(draft(13, elsewhere.clone(), to(BOB))).expect("his own");
    told.ask(draft(14, brief("t"), to(BOB))).expect("next on his queue");
    born(&mut told, 3, Some(BOB), None);
    told.ask(draft(15, elsewhere, to(3))).expect("added");
    told.ask(bury(3)).expect("buried: Bob is told");
    let born_for = |caller: Caller, id: u128| {
        let (child, task) = ((AgentId(9), "/"), (TaskId(id), None));
        task::given_at_birth(&told.fleet, caller, child, task, told.now).map(|_| ())
    };
    let not_yours = |id: u128| Err(Refusal::Task { task: TaskId(id), why: TaskRefusal::NotYours });
    assert_eq!(born_for(agent(BOB), 10), Ok(()), "of the project");
    assert_eq!(born_for(agent(BOB), 11), not_yours(11));
    assert_eq!(born_for(agent(ADA), 14), not_yours(14));
    assert_eq!(born_for(agent(BOB), 14), Ok(()));
    assert_eq!(born_for(agent(BOB), 15), Ok(()), "he was told of it");
    assert_eq!(born_for(agent(ADA), 15), not_yours(15));
}

#[test]
fn a_loop_is_raised_at_its_very_time() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(bury(BOB)).expect("buried");
    let at = task(&told, 10).raised_again_at().expect("an open loop");
    assert!(!task::due(&told.fleet, TaskId(10), at).is_empty());
}

#[test]
fn a_roles_next_task_is_of_the_agents_own_project() {
    let mut told = two();
    born(&mut told, 3, None, Some("keeper"));
    let elsewhere = Brief { project: "/elsewhere".to_owned(), ..brief("t") };
    told.ask(draft(10, elsewhere, role("keeper", true))).expect("added");
    let next = |told: &crate::told::Told| task::next_of_role(&told.fleet, told.agent(3));
    assert_eq!(next(&told), None);
    let waiting = Brief { dependencies: vec![TaskId(10)], ..brief("t") };
    told.ask(draft(12, waiting, role("keeper", true))).expect("added");
    assert_eq!(next(&told), None, "it waits");
    told.ask(draft(11, brief("t"), role("keeper", true))).expect("added");
    assert_eq!(next(&told), Some(TaskId(11)));
}

/// What is told of an agent that rests names what it had others do, and nothing that is over.
#[test]
fn who_rests_leaves_what_is_unfinished() {
    let mut told = two();
    for id in [10, 11] {
        told.ask_as(agent(BOB), draft(id, brief("t"), QueueWanted::Nobody)).expect("added");
    }
    told.ask_as(agent(BOB), drop_task(10)).expect("his own");
    add(&mut told, 12);
    let earned = Earned { task: TaskId(1), title: "done".to_owned(), at: told.now };
    let letter =
        task::told_of_rest(&told.fleet, told.agent(BOB), (&earned, Span::Mortal), told.now);
    let What::Message(_, MessageEvent::Recorded { to, content: Content::Mail(mail), .. }) = letter
    else {
        panic!("a letter");
    };
    assert_eq!(to, Mailbox::Agent(AgentId(ADA)));
    assert!(mail.excerpt.contains("still open (1)"), "{}", mail.excerpt);
    assert!(mail.excerpt.contains(&TaskId(11).to_string()), "{}", mail.excerpt);
}

/// What is beyond its bound.
fn named(why: TaskRefusal) -> &'static str {
    match why {
        TaskRefusal::NoLine { what, .. }
        | TaskRefusal::TooLong { what, .. }
        | TaskRefusal::OutOfRange { what, .. } => what,
        other => panic!("{other:?}"),
    }
}

/// Whatever asks, the bounds are the core's: nothing is made to fit.
#[test]
fn words_and_numbers_beyond_their_bounds_are_refused() {
    let mut told = two();
    add(&mut told, 10);
    told.ask_as(agent(BOB), crate::tasks::take(10)).expect("taken");
    let line = |most: usize| "x".repeat(most);
    let limit = |seconds| {
        let limit = Duration::from_secs(seconds);
        Some(CheckSpec::Command { argv: vec!["check".to_owned()], limit })
    };
    let one = |text: String| vec![Step { text, is_done: false }];
    let title = |title: String| Brief { title, ..brief("t") };
    let good = [
        title(line(TITLE_BYTES_MAX)),
        Brief { steps: one(line(STEP_BYTES_MAX)), ..brief("t") },
        Brief { reference: Some(line(REFERENCE_BYTES_MAX)), ..brief("t") },
        Brief { rounds_max: 1, ..brief("t") },
        Brief { rounds_max: ROUNDS_MOST, ..brief("t") },
        Brief { check: limit(1), ..brief("t") },
        Brief { check: limit(CHECK_LIMIT_MOST.as_secs()), ..brief("t") },
        Brief { estimate: Some(Estimate::Tokens(1)), ..brief("t") },
        Brief { estimate: Some(Estimate::Tokens(ESTIMATE_TOKENS_MOST)), ..brief("t") },
        Brief { estimate: Some(Estimate::Steps(ESTIMATE_STEPS_MOST)), ..brief("t") },
    ];
    for (id, brief) in (20..).zip(good) {
        told.ask(draft(id, brief, QueueWanted::Nobody)).expect("within bounds");
    }
    let bad = [
        (title(line(TITLE_BYTES_MAX + 1)), "title"),
        (title(" ".to_owned()), "title"),
        (title("two\nlines".to_owned()), "title"),
        (Brief { steps: one(line(STEP_BYTES_MAX + 1)), ..brief("t") }, "step"),
        (Brief { reference: Some(line(REFERENCE_BYTES_MAX + 1)), ..brief("t") }, "reference"),
        (Brief { rounds_max: 0, ..brief("t") }, "rounds"),
        (Brief { rounds_max: ROUNDS_MOST + 1, ..brief("t") }, "rounds"),
        (Brief { check: limit(0), ..brief("t") }, "check limit"),
        (Brief { check: limit(CHECK_LIMIT_MOST.as_secs() + 1), ..brief("t") }, "check limit"),
        (Brief { estimate: Some(Estimate::Tokens(0)), ..brief("t") }, "estimate"),
        (
            Brief { estimate: Some(Estimate::Tokens(ESTIMATE_TOKENS_MOST + 1)), ..brief("t") },
            "estimate",
        ),
        (Brief { estimate: Some(Estimate::Steps(0)), ..brief("t") }, "estimate"),
        (
            Brief { estimate: Some(Estimate::Steps(ESTIMATE_STEPS_MOST + 1)), ..brief("t") },
            "estimate",
        ),
    ];
    for (brief, what) in bad {
        let alone = told.ask(draft(50, brief.clone(), QueueWanted::Nobody));
        assert_eq!(named(refusal(alone)), what);
        let (to, tasks) =
            (QueueWanted::Nobody, vec![TaskImport { id: TaskId(50), brief, is_done: false }]);
        let listed = told.ask(Command::Task(Box::new(TaskCommand::Import { to, tasks })));
        assert_eq!(named(refusal(listed)), what);
    }
    let (task, long) = (TaskId(10), "x".repeat(REASON_BYTES_MAX + 1));
    let (two, step) = (long.clone(), StepWanted::Add(line(STEP_BYTES_MAX + 1)));
    let into = vec![(TaskId(51), "a".to_owned()), (TaskId(52), "b\u{1b}".to_owned())];
    for (wanted, what) in [
        (TaskCommand::Step { task, step }, "step"),
        (TaskCommand::Split { task, into }, "title"),
        (TaskCommand::Block { task, on: BlockedOn::Work, reason: long }, "reason"),
        (TaskCommand::Done { task, reason: two.clone(), check: Resolution::None }, "reason"),
        (TaskCommand::Drop { task, reason: two, verified: Vec::new() }, "reason"),
    ] {
        assert_eq!(named(refusal(told.ask(Command::Task(Box::new(wanted))))), what);
    }
}

/// What somebody wrote counts against what they may write, wherever it stands.
#[test]
fn all_words_of_a_task_are_counted() {
    let task = TaskId(1);
    let step = TaskCommand::Step { task, step: StepWanted::Add("four".to_owned()) };
    assert_eq!(step.words(), 4);
    let scope = vec!["src".to_owned(), "doc".to_owned()];
    let whole = Brief { scope, reference: Some("JIRA-7".to_owned()), ..brief("title") };
    let tasks = vec![TaskImport { id: task, brief: whole, is_done: false }];
    assert_eq!(TaskCommand::Import { to: QueueWanted::Nobody, tasks }.words(), 5 + 6 + 6);
}

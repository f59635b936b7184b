//! Tasks: who has one, when it counts as done, what becomes of it when its worker is gone.

use std::time::Duration;

use perennial_core::authority::Caller;
use perennial_core::command::{Command, RoleWanted, Spawn};
use perennial_core::context::{Sample, Source, Threshold};
use perennial_core::effect::Timer;
use perennial_core::entity::Entity;
use perennial_core::escalation::{self, EscalationCause, EscalationEvent};
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::exit::Exit;
use perennial_core::fleet::{Fleet, Policy};
use perennial_core::id::{AgentId, JobId, SessionNumber, TaskId};
use perennial_core::job::{JobCommand, JobEnd, JobEvent, JobReport};
use perennial_core::message::{Content, Mailbox, MessageEvent, Sender};
use perennial_core::name::NameKey;
use perennial_core::observation::{Observation, Report};
use perennial_core::refusal::Refusal;
use perennial_core::restart::Restart;
use perennial_core::role::{RoleTerms, Verify};
use perennial_core::signal::{self, SignalEvent, SignalKind};
use perennial_core::task::{
    self, Awaiting, BlockedOn, Brief, CHECK_RUNS_MAX, CheckSpec, Estimate, LEVELS_MAX, Queue,
    QueueWanted, ROUNDS_MAX, Resolution, Step, StepWanted, Task, TaskCommand, TaskDraft, TaskEvent,
    TaskImport, TaskRefusal, TaskState, UNFINISHED_BY_AGENT_MAX, Verifier,
};

use crate::told::{Told, launch};

pub const ADA: u128 = 1;
pub const BOB: u128 = 2;

pub fn brief(title: &str) -> Brief {
    Brief {
        title: title.to_owned(),
        text: None,
        project: "/".to_owned(),
        steps: Vec::new(),
        dependencies: Vec::new(),
        parent: None,
        estimate: None,
        reference: None,
        scope: Vec::new(),
        check: None,
        rounds_max: ROUNDS_MAX,
        queue: Queue::Nobody,
        reopens: None,
        had_by: Vec::new(),
    }
}

pub fn draft(id: u128, brief: Brief, to: QueueWanted) -> Command {
    let draft = TaskDraft { id: TaskId(id), brief, body: None, to, finished: Vec::new() };
    Command::Task(Box::new(TaskCommand::Add(Box::new(draft))))
}

pub fn add(told: &mut Told, id: u128) {
    told.ask(draft(id, brief(&format!("t{id}")), QueueWanted::Nobody)).expect("added");
}

pub fn to(agent: u128) -> QueueWanted {
    QueueWanted::Agent(AgentId(agent).to_string())
}

pub fn assign(task: u128, agent: u128) -> Command {
    Command::Task(Box::new(TaskCommand::Assign { task: TaskId(task), to: to(agent) }))
}

pub fn take(task: u128) -> Command {
    Command::Task(Box::new(TaskCommand::Take { task: TaskId(task) }))
}

pub fn done(task: u128, check: Resolution) -> Command {
    let (task, reason) = (TaskId(task), "finished".to_owned());
    Command::Task(Box::new(TaskCommand::Done { task, reason, check }))
}

pub fn verify(task: u128, is_done: bool) -> Command {
    let (task, reason) = (TaskId(task), "look again".to_owned());
    Command::Task(Box::new(TaskCommand::Verify { task, is_done, reason, note: None }))
}

pub fn split(task: u128, into: &[u128]) -> Command {
    let into = into.iter().map(|id| (TaskId(*id), format!("part {id}"))).collect();
    Command::Task(Box::new(TaskCommand::Split { task: TaskId(task), into }))
}

pub fn drop_task(task: u128) -> Command {
    let (task, reason) = (TaskId(task), String::new());
    Command::Task(Box::new(TaskCommand::Drop { task, reason, verified: Vec::new() }))
}

pub fn reopen(task: u128, successor: u128) -> Command {
    let (reason, successor) = ("again".to_owned(), TaskId(successor));
    let reopen =
        TaskCommand::Reopen { task: TaskId(task), reason, recalled: None, successor, note: None };
    Command::Task(Box::new(reopen))
}

pub fn bury(id: u128) -> Command {
    Command::Bury { target: AgentId(id).to_string(), summary: None }
}

pub fn run() -> Resolution {
    Resolution::Run(JobCommand {
        argv: vec!["check".to_owned()],
        dir: "/".to_owned(),
        limit: Duration::from_secs(9),
    })
}

pub fn agent(id: u128) -> Caller {
    Caller::Agent(AgentId(id))
}

pub fn task(told: &Told, id: u128) -> &Task {
    told.fleet.tasks().get(TaskId(id)).expect("in memory")
}

pub fn state(told: &Told, id: u128) -> TaskState {
    task(told, id).state.clone()
}

pub fn current(told: &Told, id: u128) -> Option<u128> {
    told.fleet.tasks().current(AgentId(id)).map(|task| task.id.0)
}

/// An agent with a parent.
pub fn born(told: &mut Told, id: u128, parent: Option<u128>, role: Option<&str>) {
    let wanted = |role: &str| RoleWanted {
        name: role.parse().expect("a name"),
        declared: None,
        sets_restart: false,
    };
    let spawn = Spawn {
        situations: Vec::new(),
        id: AgentId(id),
        name: Some(format!("a{id}").parse().expect("a name")),
        role: role.map(wanted),
        parent: parent.map(|id| AgentId(id).to_string()),
        launch: launch(),
        restart: Restart::Never,
        conversation: None,
    };
    told.ask(Command::Spawn(Box::new(spawn))).expect("born");
    told.executed(id);
}

/// Ada, her child Bob.
pub fn two() -> Told {
    let mut told = Told::new();
    born(&mut told, ADA, None, None);
    born(&mut told, BOB, Some(ADA), None);
    told
}

/// Whom Perennial wrote to in these events, with its words.
pub fn letters(events: &[Event]) -> Vec<(Mailbox, String)> {
    let letter = |event: &Event| {
        let What::Message(_, MessageEvent::Recorded { to, from, content }) = &event.what else {
            return None;
        };
        let Content::Mail(mail) = content else { return None };
        // Escalations are in the name of the agent that they are about.
        if *from != Sender::Perennial {
            return None;
        }
        assert!(mail.excerpt.len() as u64 == mail.text.bytes && mail.excerpt.len() <= 510);
        Some((to.clone(), mail.excerpt.clone()))
    };
    events.iter().filter_map(letter).collect()
}

/// The escalations in these events, with whom they go to first.
pub fn escalated(events: &[Event]) -> Vec<(EscalationCause, escalation::Step)> {
    let opened = |event: &Event| match &event.what {
        What::Escalation(_, EscalationEvent::Opened { matter, step, .. }) => {
            Some((matter.cause, step.clone()))
        }
        _ => None,
    };
    events.iter().filter_map(opened).collect()
}

/// The signals in these events: kind, target and the names of the payload's fields.
pub fn signals(events: &[Event]) -> Vec<(SignalKind, Mailbox, Vec<String>)> {
    let sent = |event: &Event| match &event.what {
        What::Signal(_, SignalEvent::Sent { kind, to, payload, .. }) => {
            assert_eq!(signal::checked(*kind, payload), Ok(()));
            Some((*kind, to.clone(), payload.keys().cloned().collect()))
        }
        _ => None,
    };
    events.iter().filter_map(sent).collect()
}

/// T-13: whether a claim holds is a signal to whoever made it, valid by its schema.
#[test]
fn a_verdict_is_a_signal_to_the_worker() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let events = checked(&mut told, 10, JobEnd::Code(1), &"x".repeat(100_000));
    let bob = Mailbox::Agent(AgentId(BOB));
    let fields = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let failed = fields(&["node_id", "output", "reason"]);
    assert_eq!(signals(&events), [(SignalKind::ValidationFailed, bob.clone(), failed)]);
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let events = checked(&mut told, 10, JobEnd::Code(0), "ok");
    let passed = fields(&["feedback", "node_id"]);
    assert_eq!(signals(&events), [(SignalKind::ValidationPassed, bob.clone(), passed.clone())]);
    // A person's word has no output.
    told.ask(draft(11, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(11, Resolution::None)).expect("claimed");
    let events = told.ask_as(agent(ADA), verify(11, false)).expect("not done");
    let refused = (SignalKind::ValidationFailed, bob.clone(), fields(&["node_id", "reason"]));
    assert_eq!(signals(&events), [refused]);
    told.ask_as(agent(BOB), done(11, Resolution::None)).expect("claimed");
    let events = told.ask_as(agent(ADA), verify(11, true)).expect("done");
    assert_eq!(signals(&events), [(SignalKind::ValidationPassed, bob, passed)]);
}

/// G-08: each rule once, in the batch of what broke it; what a person does asks for nobody.
#[test]
fn what_outgrows_its_bounds_is_escalated_by_rule() {
    let ada = escalation::Step::Agent(AgentId(ADA));
    let mut told = two();
    let estimate = Some(Estimate::Steps(1));
    told.ask(draft(10, Brief { estimate, ..brief("t") }, to(BOB))).expect("added");
    let more = |told: &mut Told, caller| {
        let step = StepWanted::Add("more".to_owned());
        let command = TaskCommand::Step { task: TaskId(10), step };
        told.ask_as(caller, Command::Task(Box::new(command))).expect("added")
    };
    for _ in 0..2 {
        assert_eq!(escalated(&more(&mut told, agent(BOB))), []);
    }
    let events = more(&mut told, agent(BOB));
    assert_eq!(escalated(&events), [(EscalationCause::ScopeGrew, ada.clone())]);
    assert_eq!(escalated(&more(&mut told, agent(BOB))), [], "once");
    // Blocked on something outside, by its worker and by a person.
    let block = |on| {
        let (task, reason) = (TaskId(10), "a key".to_owned());
        Command::Task(Box::new(TaskCommand::Block { task, on, reason }))
    };
    let events = told.ask_as(agent(BOB), block(BlockedOn::Outside)).expect("blocked");
    assert_eq!(escalated(&events), [(EscalationCause::BlockedOutside, ada.clone())]);
    told.ask_as(agent(BOB), take(10)).expect("it goes on");
    let events = told.ask_as(agent(BOB), block(BlockedOn::Work)).expect("blocked");
    assert_eq!(escalated(&events), []);
    told.ask_as(agent(BOB), take(10)).expect("it goes on");
    assert_eq!(escalated(&told.ask(block(BlockedOn::Outside)).expect("blocked")), []);
    told.ask_as(agent(BOB), take(10)).expect("it goes on");
    // Somebody waits for what is split.
    let waits = Brief { dependencies: vec![TaskId(10)], ..brief("after") };
    told.ask(draft(11, waits, QueueWanted::Nobody)).expect("added");
    let events = told.ask_as(agent(BOB), split(10, &[12, 13])).expect("split");
    assert_eq!(escalated(&events), [(EscalationCause::SplitHasDependants, ada)]);
    let events = told.ask_as(agent(BOB), split(12, &[14, 15])).expect("split");
    assert_eq!(escalated(&events), []);
}

/// TK3: nobody verifies their own work by dropping its parts, or begins early by dropping what comes first.
#[test]
fn only_a_person_drops_a_part_or_what_others_wait_for() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), split(10, &[11, 12])).expect("split");
    for part in [11, 12] {
        let refused = told.ask_as(agent(BOB), drop_task(part));
        assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    }
    assert_eq!(state(&told, 10), TaskState::Split);
    told.ask_as(agent(BOB), draft(20, brief("first"), QueueWanted::Nobody)).expect("added");
    let waits = Brief { dependencies: vec![TaskId(20)], ..brief("after") };
    told.ask(draft(21, waits, QueueWanted::Nobody)).expect("added");
    let refused = told.ask_as(agent(BOB), drop_task(20));
    assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    told.ask(drop_task(20)).expect("a person's word");
}

/// A whole of which nothing was done is not verified, and earns nobody a rest.
#[test]
fn a_task_whose_parts_were_all_dropped_goes_back_to_be_claimed() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), split(10, &[11, 12])).expect("split");
    told.ask(drop_task(11)).expect("dropped");
    let events = told.ask(drop_task(12)).expect("dropped");
    assert_eq!((state(&told, 10), current(&told, BOB)), (TaskState::Taken, Some(10)));
    let told_of = letters(&events);
    assert!(told_of.iter().any(|(_, text)| text.contains("All were dropped")), "{told_of:?}");
    // A part that was verified and has left memory counts: one that left it before this daemon was there, if it was
    // looked up, and one that left it since, looked up or not.
    for (whole, verified, state_after) in [
        (20, vec![TaskId(21)], TaskState::Verified(Verifier::Parts)),
        (30, Vec::new(), TaskState::Verified(Verifier::Parts)),
    ] {
        told.ask(drop_task(current(&told, BOB).expect("a task"))).expect("dropped");
        told.ask(draft(whole, brief("t"), to(BOB))).expect("added");
        told.ask_as(agent(BOB), split(whole, &[whole + 1, whole + 2])).expect("split");
        told.ask(verify(whole + 1, true)).expect("verified");
        told.fleet.retire(&Entity::Task(TaskId(whole + 1)));
        let (task, reason) = (TaskId(whole + 2), String::new());
        let last = TaskCommand::Drop { task, reason, verified };
        if whole == 20 {
            told.ask(draft(29, brief("next"), to(BOB))).expect("added");
        }
        told.ask(Command::Task(Box::new(last))).expect("dropped");
        assert_eq!(state(&told, whole), state_after);
    }
}

/// TK1: a claim whose check runs would have its worker on two tasks.
#[test]
fn no_check_runs_for_a_worker_that_is_on_another_task() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    let (task, on, reason) = (TaskId(10), BlockedOn::Work, "a key".to_owned());
    let block = Command::Task(Box::new(TaskCommand::Block { task, on, reason }));
    told.ask_as(agent(BOB), block).expect("blocked");
    told.ask(draft(11, brief("u"), to(BOB))).expect("added");
    assert_eq!(current(&told, BOB), Some(11));
    let (agent, task) = (AgentId(BOB), TaskId(11));
    assert_eq!(refusal(told.ask(done(10, run()))), TaskRefusal::OnAnother { agent, task });
    told.ask(done(10, Resolution::None)).expect("a person's word needs no check");
    assert_eq!(current(&told, BOB), Some(11));
}

/// A chain of parts has a bound, and so has what one agent adds by splitting.
#[test]
fn parts_are_bounded_in_depth_and_number() {
    let mut told = two();
    told.ask(draft(1000, brief("t"), to(BOB))).expect("added");
    let mut leaf = 1000;
    let refused = (0..100).find_map(|level| {
        let parts = [2000 + 2 * level, 2001 + 2 * level];
        let refused = told.ask(split(leaf, &parts)).err();
        leaf = parts[0];
        refused
    });
    let why = TaskRefusal::TooMany { what: "levels of parts", most: LEVELS_MAX };
    assert!(matches!(refused, Some(Refusal::Task { why: given, .. }) if given == why));
    assert_eq!(
        refusal(told.ask(split(leaf - 2, &[9000]))),
        TaskRefusal::TooFew { what: "parts", least: 2 }
    );
    let mut told = two();
    told.ask(draft(1, brief("t"), to(BOB))).expect("added");
    let parts = |from: u128| (from..from + 32).collect::<Vec<u128>>();
    let mut whole = 1;
    let refused = (0..10).find_map(|round| {
        let parts = parts(10_000 + round * 100);
        let refused = told.ask_as(agent(BOB), split(whole, &parts)).err();
        whole = parts[0];
        refused
    });
    let most = UNFINISHED_BY_AGENT_MAX;
    let why = TaskRefusal::TooMany { what: "unfinished tasks", most };
    assert!(matches!(refused, Some(Refusal::Task { why: given, .. }) if given == why));
}

/// R6: trust is a person's to give.
#[test]
fn an_agent_that_takes_a_trusted_role_is_not_trusted() {
    let mut told = Told::new();
    let terms = RoleTerms { verify: Verify::Trust, ..RoleTerms::default() };
    let roles = [(NameKey::of("keeper"), terms)].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    born(&mut told, ADA, None, None);
    born(&mut told, BOB, Some(ADA), None);
    let assume = |id: u128| Command::Assume {
        target: AgentId(id).to_string(),
        role: "keeper".parse().expect("a name"),
        declared: None,
    };
    told.ask_as(agent(ADA), assume(ADA)).expect("taken");
    told.ask(draft(10, brief("t"), to(ADA))).expect("added");
    told.ask_as(agent(ADA), done(10, Resolution::None)).expect("claimed");
    assert_eq!(state(&told, 10), TaskState::Claimed(Awaiting::Word));
    // A trusted holder passes no trust on.
    told.ask(assume(ADA)).expect("given");
    let transfer = Command::Transfer {
        target: AgentId(ADA).to_string(),
        to: AgentId(BOB).to_string(),
        declared: None,
    };
    told.ask_as(agent(ADA), transfer).expect("handed over");
    assert_eq!(told.agent(BOB).role_terms.verify, Verify::Word);
}

pub fn refusal(refused: Result<Vec<Event>, Refusal>) -> TaskRefusal {
    match refused {
        Err(Refusal::Task { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

/// The job of a task's check, and its end.
pub fn job(told: &Told, id: u128) -> JobId {
    match state(told, id) {
        TaskState::Claimed(Awaiting::Check { job, .. }) => job,
        other => panic!("{other:?}"),
    }
}

pub fn checked(told: &mut Told, id: u128, end: JobEnd, output: &str) -> Vec<Event> {
    let (job, output) = (job(told, id), output.to_owned());
    let report = JobReport::Ended { end, output };
    told.observe(&Observation::Job { job, number: 1, report })
}

#[test]
fn an_agent_is_on_one_task_and_its_next_one_follows() {
    let mut told = two();
    for id in [10, 11, 12] {
        add(&mut told, id);
    }
    told.ask_as(agent(BOB), take(10)).expect("of its project");
    assert_eq!(
        refusal(told.ask_as(agent(BOB), take(11))),
        TaskRefusal::OnAnother { agent: AgentId(BOB), task: TaskId(10) }
    );
    // What is assigned meanwhile waits on its queue.
    assert!(letters(&told.ask(assign(12, BOB)).expect("queued")).is_empty());
    assert_eq!((state(&told, 12), current(&told, BOB)), (TaskState::Open, Some(10)));
    assert_eq!(refusal(told.ask_as(agent(ADA), take(12))), TaskRefusal::NotYours);
    let events = told.ask(verify(10, true)).expect("a person's word");
    assert_eq!(current(&told, BOB), Some(12), "{events:?}");
    assert_eq!(letters(&events)[0].0, Mailbox::Agent(AgentId(BOB)));
    assert!(letters(&events)[0].1.contains("Your next task"));
    // It survives every ending.
    told.report(BOB, told.number(BOB), Report::Exited(Exit::Code(1)));
    assert_eq!(current(&told, BOB), Some(12));
}

#[test]
fn done_is_a_claim_until_somebody_else_says_so() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    let refused = told.ask_as(agent(ADA), done(10, Resolution::None));
    assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    let events = told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    assert_eq!(state(&told, 10), TaskState::Claimed(Awaiting::Word));
    assert_eq!(letters(&events)[0].0, Mailbox::Agent(AgentId(ADA)), "its parent is told");
    assert_eq!(current(&told, BOB), None, "it may go on with another one");
    assert_eq!(refusal(told.ask_as(agent(BOB), verify(10, true))), TaskRefusal::OwnWork);
    let events = told.ask_as(agent(ADA), verify(10, false)).expect("not done");
    assert_eq!((state(&told, 10), task(&told, 10).rounds), (TaskState::Taken, 1));
    assert!(letters(&events)[0].1.contains("“look again”"));
    told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    told.ask_as(agent(ADA), verify(10, true)).expect("a parent's word");
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Parent(AgentId(ADA))));
    assert!(told.fleet.is_over(&Entity::Task(TaskId(10))), "TK2");
}

#[test]
fn without_a_parent_the_operator_is_told_and_a_persons_own_claim_counts() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(ADA))).expect("added");
    let events = told.ask_as(agent(ADA), done(10, Resolution::None)).expect("claimed");
    assert_eq!(letters(&events)[0].0, Mailbox::Operator);
    add(&mut told, 11);
    told.ask(done(11, Resolution::None)).expect("done");
    assert_eq!(state(&told, 11), TaskState::Verified(Verifier::Operator));
    // A check that may not be run leaves the word to somebody.
    told.ask(draft(12, brief("t"), to(BOB))).expect("added");
    let why = Resolution::NotRunnable("not trusted".to_owned());
    let events = told.ask_as(agent(BOB), done(12, why)).expect("claimed");
    assert!(letters(&events)[0].1.contains("not trusted"));
}

#[test]
fn a_trusted_role_needs_nobodys_word() {
    let mut told = Told::new();
    let terms = RoleTerms { verify: Verify::Trust, ..RoleTerms::default() };
    let roles = [(NameKey::of("keeper"), terms)].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    born(&mut told, ADA, None, Some("keeper"));
    told.ask(draft(10, brief("t"), to(ADA))).expect("added");
    told.ask_as(agent(ADA), done(10, Resolution::None)).expect("claimed");
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Trust("keeper".to_owned())));
    // A check comes before trust.
    told.ask(draft(11, brief("t"), to(ADA))).expect("added");
    told.ask_as(agent(ADA), done(11, run())).expect("claimed");
    assert!(matches!(state(&told, 11), TaskState::Claimed(Awaiting::Check { .. })));
}

/// TK5
#[test]
fn a_failed_check_gives_the_task_back_with_its_output_and_at_last_blocks_it() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    for round in 1..=ROUNDS_MAX {
        let events = told.ask_as(agent(BOB), done(10, run())).expect("claimed");
        let wanted =
            events.iter().any(|event| matches!(&event.what, What::Job(_, JobEvent::Wanted { .. })));
        assert!(wanted && current(&told, BOB) == Some(10), "the check is part of the work");
        let events = checked(&mut told, 10, JobEnd::Code(1), "2 tests failed: a, b\n");
        let letter = &letters(&events)[0];
        assert_eq!(letter.0, Mailbox::Agent(AgentId(BOB)));
        assert!(letter.1.contains("exit 1") && letter.1.contains("2 tests failed"), "{letter:?}");
        assert_eq!((state(&told, 10), task(&told, 10).rounds), (TaskState::Taken, round));
    }
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let events = checked(&mut told, 10, JobEnd::Limit, "hangs");
    assert_eq!(state(&told, 10), TaskState::Blocked(BlockedOn::Rounds));
    assert_eq!(
        escalated(&events),
        [(EscalationCause::ChecksFailed, escalation::Step::Agent(AgentId(ADA)))]
    );
    assert_eq!(current(&told, BOB), None);
    assert_eq!(
        refusal(told.ask_as(agent(BOB), take(10))),
        TaskRefusal::WrongState("blocked"),
        "somebody else decides"
    );
    told.ask(assign(10, BOB)).expect("given again");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    checked(&mut told, 10, JobEnd::Code(0), "ok");
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Check(None)));
}

/// TK5
#[test]
fn a_check_whose_end_nobody_saw_is_run_anew_and_not_for_ever() {
    let mut told = two();
    let check = Some(CheckSpec::Named("unit".parse().expect("a name")));
    told.ask(draft(10, Brief { check, ..brief("t") }, to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let mut jobs = Vec::new();
    for _ in 1..CHECK_RUNS_MAX {
        jobs.push(job(&told, 10));
        let events = checked(&mut told, 10, JobEnd::Unknown, "");
        assert!(matches!(&events[1].what, What::Task(_, TaskEvent::CheckEnded { .. })));
    }
    jobs.push(job(&told, 10));
    jobs.dedup();
    assert_eq!(jobs.len(), CHECK_RUNS_MAX as usize, "each run is another job");
    let events = checked(&mut told, 10, JobEnd::Unknown, "");
    assert_eq!(state(&told, 10), TaskState::Claimed(Awaiting::Word));
    assert!(letters(&events)[0].1.contains("nobody saw its end"));
}

/// The record of a job may be unreadable: nothing tells of its end then.
#[test]
fn a_check_without_a_job_that_will_tell_is_found_by_the_clock() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    let first = job(&told, 10);
    assert!(told.fleet.plan(&Entity::Task(TaskId(10)), told.now).timers.is_empty());
    told.fleet.mark_job_unreadable(first);
    let timers = told.fleet.plan(&Entity::Task(TaskId(10)), told.now).timers;
    assert_eq!(timers, [(Timer::CheckLost, told.now)]);
    told.observe(&Observation::Due { entity: Entity::Task(TaskId(10)), timer: Timer::CheckLost });
    assert_ne!(job(&told, 10), first);
}

#[test]
fn a_split_task_goes_on_with_its_first_part_and_is_verified_by_all() {
    let mut told = two();
    told.ask(draft(10, brief("whole"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), split(10, &[11, 12])).expect("split");
    assert_eq!((state(&told, 10), current(&told, BOB)), (TaskState::Split, Some(11)));
    assert_eq!(task(&told, 12).brief.parent, Some(TaskId(10)));
    told.ask(verify(11, true)).expect("verified");
    assert_eq!(current(&told, BOB), Some(12), "the next part follows");
    assert_eq!(state(&told, 10), TaskState::Split);
    told.ask(drop_task(12)).expect("dropped");
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Parts));
    // One with a check of its own is claimed, and checked, when its parts are over.
    let check =
        Some(CheckSpec::Command { argv: vec!["x".to_owned()], limit: Duration::from_secs(1) });
    told.ask(draft(20, Brief { check, ..brief("checked") }, to(BOB))).expect("added");
    told.ask_as(agent(BOB), split(20, &[21, 22])).expect("split");
    told.ask(verify(21, true)).expect("verified");
    let events = told.ask(verify(22, true)).expect("verified");
    assert_eq!((state(&told, 20), current(&told, BOB)), (TaskState::Taken, Some(20)));
    assert!(letters(&events).iter().any(|(_, words)| words.contains("check of its own")));
}

/// TK8
#[test]
fn what_waits_for_another_task_is_queued_and_given_when_that_is_verified() {
    let mut told = two();
    add(&mut told, 10);
    let waiting = Brief { dependencies: vec![TaskId(10)], ..brief("later") };
    told.ask(draft(11, waiting, to(BOB))).expect("added");
    assert_eq!((state(&told, 11), current(&told, BOB)), (TaskState::Open, None));
    let on = TaskId(10);
    assert_eq!(refusal(told.ask_as(agent(BOB), take(11))), TaskRefusal::Waits { on });
    assert!(task::has_dependants(told.fleet.tasks(), on));
    assert_eq!(task::waits_for(told.fleet.tasks(), task(&told, 11)).collect::<Vec<_>>(), [on]);
    told.ask(verify(10, true)).expect("verified");
    assert_eq!(current(&told, BOB), Some(11));
    let lost = Brief { dependencies: vec![TaskId(99)], ..brief("never") };
    let refused = refusal(told.ask(draft(12, lost, QueueWanted::Nobody)));
    assert_eq!(refused, TaskRefusal::NoSuchDependency { on: TaskId(99) });
}

/// TK7
#[test]
fn no_task_is_given_to_an_agent_whose_clock_has_nearly_run_out() {
    let mut told = two();
    let sample = Sample { tokens: 95, window: 100, usable: 100, source: Source::Transcript };
    for threshold in Threshold::ALL {
        let number = SessionNumber::FIRST;
        let passed = AgentEvent::ClockPassed { number, threshold, sample };
        let what = What::Agent(AgentId(BOB), passed);
        told.fold(&[Event { at: told.now, what }]);
    }
    add(&mut told, 10);
    let out = TaskRefusal::ClockNearlyOut { agent: AgentId(BOB) };
    assert_eq!(refusal(told.ask_as(agent(BOB), take(10))), out);
    assert_eq!(refusal(told.ask(assign(10, BOB))), out);
    assert_eq!(refusal(told.ask(draft(11, brief("t"), to(BOB)))), out);
}

/// TK6
#[test]
fn the_work_of_the_buried_comes_back_until_somebody_takes_it() {
    let mut told = two();
    let role = QueueWanted::Role { role: "keeper".parse().expect("a name"), is_declared: true };
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(draft(11, brief("u"), to(BOB))).expect("queued");
    told.ask(draft(12, brief("of a role"), role)).expect("added");
    told.ask(assign(12, BOB)).expect("queued");
    let events = told.ask(bury(BOB)).expect("buried");
    let told_of = letters(&events);
    assert_eq!(told_of.len(), 1, "one letter for all: {told_of:?}");
    assert_eq!(told_of[0].0, Mailbox::Agent(AgentId(ADA)));
    assert!(told_of[0].1.contains("a2 was buried and left 3 unfinished tasks"), "{told_of:?}");
    assert!(matches!(task(&told, 12).queue, Queue::Role(_)), "back where it came from");
    assert_eq!((state(&told, 10), &task(&told, 10).queue), (TaskState::Open, &Queue::Nobody));
    // An hour, then two.
    for hours in [1, 2, 4, 8, 16, 24, 24] {
        let at = task(&told, 10).raised_again_at().expect("an open loop");
        let since = task(&told, 10).open_loop.as_ref().expect("an open loop").at;
        assert_eq!(at, since + Duration::from_secs(hours * 3600));
        told.now = at;
        let entity = Entity::Task(TaskId(10));
        let events = told.observe(&Observation::Due { entity, timer: Timer::Raise });
        assert_eq!(letters(&events).len(), 1, "{hours}");
        assert!(letters(&events)[0].1.contains("still open"));
    }
    // Whoever was told may take it, and so anybody of the project.
    told.ask_as(agent(ADA), take(10)).expect("taken");
    assert_eq!(task(&told, 10).open_loop, None);
    // The one who was told is buried as well: the operator is told at once of all that is left.
    let events = told.ask(bury(ADA)).expect("buried");
    let told_of = letters(&events);
    assert!(told_of.iter().all(|(to, _)| *to == Mailbox::Operator), "{told_of:?}");
    assert_eq!(told_of.len(), 2, "hers, and those of Bob: {told_of:?}");
    for id in [10, 11, 12] {
        told.ask(drop_task(id)).expect("dropped");
        assert_eq!(task(&told, id).raised_again_at(), None);
    }
}

#[test]
fn a_check_that_fails_after_its_worker_is_buried_opens_the_task_again() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    told.ask(bury(BOB)).expect("buried");
    assert!(matches!(state(&told, 10), TaskState::Claimed(Awaiting::Check { .. })));
    let events = checked(&mut told, 10, JobEnd::Code(1), "red");
    assert_eq!(state(&told, 10), TaskState::Open);
    assert_eq!(letters(&events)[0].0, Mailbox::Agent(AgentId(ADA)));
}

#[test]
fn agents_add_within_bounds_and_name_no_command() {
    let mut told = two();
    let bob = agent(BOB);
    let argv = vec!["rm".to_owned()];
    let check = Some(CheckSpec::Command { argv, limit: Duration::from_secs(1) });
    let with_command = draft(10, Brief { check, ..brief("t") }, QueueWanted::Nobody);
    assert_eq!(refusal(told.ask_as(bob, with_command.clone())), TaskRefusal::CommandOfAgent);
    told.ask(with_command).expect("a person's word");
    for path in ["/etc", "../x", "a/../b", "~/x", "", "a\nb"] {
        let scoped = Brief { scope: vec![path.to_owned()], ..brief("t") };
        let refused = refusal(told.ask_as(bob, draft(11, scoped, QueueWanted::Nobody)));
        assert_eq!(refused, TaskRefusal::BadScope { path: path.to_owned() });
    }
    // To its parent an agent gives no work; to itself and to its children it does.
    let refused = told.ask_as(bob, draft(12, brief("t"), to(ADA)));
    assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    told.ask_as(agent(ADA), draft(12, brief("t"), to(BOB))).expect("its child");
    assert_eq!(current(&told, BOB), Some(12));
    let refused = told.ask_as(bob, drop_task(12));
    assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    told.ask_as(agent(ADA), drop_task(12)).expect("its own");
    for id in 100..100 + task::UNFINISHED_BY_AGENT_MAX as u128 {
        told.ask_as(bob, draft(id, brief("t"), QueueWanted::Nobody)).expect("added");
    }
    let refused = refusal(told.ask_as(bob, draft(999, brief("t"), QueueWanted::Nobody)));
    assert!(matches!(refused, TaskRefusal::TooMany { .. }), "{refused:?}");
    for caller in [Caller::Viewer, Caller::Job, Caller::Ambiguous] {
        let refused = told.ask_as(caller, draft(998, brief("t"), QueueWanted::Nobody));
        assert!(matches!(refused, Err(Refusal::NotAllowed { .. })), "{refused:?}");
    }
}

#[test]
fn what_is_finished_stays_so_and_is_reopened_as_a_new_task() {
    let mut told = two();
    let steps = vec![Step { text: "one".to_owned(), is_done: true }];
    told.ask(draft(10, Brief { steps, ..brief("t") }, to(BOB))).expect("added");
    told.ask(verify(10, true)).expect("verified");
    for command in [take(10), done(10, Resolution::None), drop_task(10), assign(10, BOB)] {
        let refused = told.ask_as(Caller::Person, command);
        let is_over = matches!(refused, Err(Refusal::Task { why: TaskRefusal::Over, .. }));
        assert!(is_over || refused == Err(Refusal::NotASession), "{refused:?}");
    }
    told.ask(reopen(10, 11)).expect("its successor");
    assert_eq!(state(&told, 10), TaskState::Verified(Verifier::Operator));
    assert_eq!(task(&told, 11).brief.reopens, Some(TaskId(10)));
    assert!(!task(&told, 11).brief.steps[0].is_done);
    // One that is not finished lies on its queue again.
    told.ask_as(agent(BOB), done(11, Resolution::None)).expect("claimed");
    told.ask(reopen(11, 12)).expect("open");
    assert_eq!((state(&told, 11), current(&told, BOB)), (TaskState::Taken, Some(11)));
    assert!(told.fleet.tasks().get(TaskId(12)).is_none());
}

#[test]
fn what_outgrew_its_estimate_or_waits_for_somebody_outside_is_known() {
    let mut told = two();
    let estimate = Some(Estimate::Steps(1));
    told.ask(draft(10, Brief { estimate, ..brief("t") }, to(BOB))).expect("added");
    for step in 1..=3 {
        assert!(!task::exceeds_estimate(task(&told, 10)), "{step}");
        let step = StepWanted::Add(format!("step {step}"));
        let command = TaskCommand::Step { task: TaskId(10), step };
        told.ask_as(agent(BOB), Command::Task(Box::new(command))).expect("added");
    }
    assert!(task::exceeds_estimate(task(&told, 10)));
    let command = TaskCommand::Step { task: TaskId(10), step: StepWanted::Done(None) };
    told.ask_as(agent(BOB), Command::Task(Box::new(command))).expect("done");
    assert_eq!(task(&told, 10).open_step().map(|(at, _)| at), Some(2));
    let (on, reason) = (BlockedOn::Outside, "a key".to_owned());
    let block = TaskCommand::Block { task: TaskId(10), on, reason };
    told.ask_as(agent(BOB), Command::Task(Box::new(block))).expect("blocked");
    assert_eq!(state(&told, 10), TaskState::Blocked(BlockedOn::Outside));
    assert!(current(&told, BOB).is_none());
    told.ask_as(agent(BOB), take(10)).expect("it goes on by itself");
    // Tokens, where somebody counts them.
    let estimate = Some(Estimate::Tokens(100));
    told.ask(verify(10, true)).expect("verified");
    told.ask(draft(11, Brief { estimate, ..brief("t") }, QueueWanted::Nobody)).expect("added");
    told.spends(BOB, 1000);
    told.ask_as(agent(BOB), take(11)).expect("taken");
    told.spends(BOB, 1201);
    told.ask_as(agent(BOB), done(11, Resolution::None)).expect("claimed");
    assert_eq!(task(&told, 11).spent.tokens, Some(201));
    assert!(task::exceeds_estimate(task(&told, 11)));
}

/// What an agent had spent is known where it is given a task, too: by assignment, after its own claim, and at its birth.
#[test]
fn tokens_are_counted_for_a_task_that_was_given() {
    let mut told = two();
    add(&mut told, 10);
    told.spends(BOB, 1000);
    told.ask(assign(10, BOB)).expect("assigned");
    told.ask(draft(11, brief("next"), to(BOB))).expect("added");
    told.spends(BOB, 1300);
    told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    assert_eq!(task(&told, 10).spent.tokens, Some(300));
    assert_eq!(current(&told, BOB), Some(11));
    told.spends(BOB, 1350);
    // Somebody else's word gives it the next one, too.
    told.ask(draft(12, brief("last"), to(BOB))).expect("added");
    told.ask(verify(11, true)).expect("verified");
    assert_eq!((task(&told, 11).spent.tokens, current(&told, BOB)), (Some(50), Some(12)));
    told.spends(BOB, 1360);
    told.ask_as(agent(BOB), done(12, Resolution::None)).expect("claimed");
    assert_eq!(task(&told, 12).spent.tokens, Some(10));
}

#[test]
fn a_list_is_added_by_one_decision() {
    let mut told = two();
    let one = |id, parent: Option<u128>, is_done| TaskImport {
        id: TaskId(id),
        brief: Brief { parent: parent.map(TaskId), ..brief(&format!("t{id}")) },
        is_done,
    };
    let import = |tasks| Command::Task(Box::new(TaskCommand::Import { to: to(BOB), tasks }));
    let before = told.fleet.tasks().iter().count();
    let why = refusal(told.ask(import(vec![one(10, None, false), one(11, Some(99), false)])));
    assert_eq!(why, TaskRefusal::NoSuchParent { parent: TaskId(99) });
    assert_eq!(told.fleet.tasks().iter().count(), before, "nothing is added");
    let list = vec![one(10, None, false), one(11, Some(10), true), one(12, Some(10), false)];
    told.ask(import(list)).expect("added");
    assert_eq!(task(&told, 12).brief.parent, Some(TaskId(10)));
    assert_eq!(current(&told, BOB), Some(10), "the first that is open is begun");
    // An agent verifies nothing by a list, and is bounded as it is otherwise.
    let done = Command::Task(Box::new(TaskCommand::Import {
        to: QueueWanted::Nobody,
        tasks: vec![one(20, None, true)],
    }));
    assert_eq!(refusal(told.ask_as(agent(BOB), done)), TaskRefusal::CheckedItems);
    let many: Vec<TaskImport> = (100..301).map(|id| one(id, None, false)).collect();
    let many =
        Command::Task(Box::new(TaskCommand::Import { to: QueueWanted::Nobody, tasks: many }));
    let most = task::UNFINISHED_BY_AGENT_MAX;
    let why = refusal(told.ask_as(agent(BOB), many));
    assert_eq!(why, TaskRefusal::TooMany { what: "unfinished tasks", most });
}

#[test]
fn an_agent_born_for_a_task_is_on_it_by_the_same_decision() {
    let mut told = two();
    add(&mut told, 10);
    let spawn = Spawn {
        situations: Vec::new(),
        id: AgentId(3),
        name: Some("cat".parse().expect("a name")),
        role: None,
        parent: None,
        launch: launch(),
        restart: Restart::Never,
        conversation: None,
    };
    let on = |task| Command::SpawnOn { spawn: Box::new(spawn.clone()), reach: None, task };
    assert_eq!(refusal(told.ask(on(TaskId(99)))), TaskRefusal::NoSuchTask);
    assert!(told.fleet.agent(AgentId(3)).is_none(), "nobody is born");
    let events = told.ask(on(TaskId(10))).expect("born");
    assert_eq!(current(&told, 3), Some(10));
    assert_eq!(letters(&events)[0].0, Mailbox::Agent(AgentId(3)));
}

#[test]
fn a_restored_fleet_has_the_same_tasks() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), split(10, &[11, 12])).expect("split");
    told.ask_as(agent(BOB), done(11, run())).expect("claimed");
    let restored = Fleet::restore(told.fleet.parts());
    assert_eq!(restored.tasks(), told.fleet.tasks());
    let entity = Entity::Task(TaskId(11));
    assert!(restored.entities().any(|known| known == entity));
}

//! What each verb makes of a task in each state, and what a change takes with it: notes, the signals and escalations about
//! it, the next task of whoever is free, the lists that are kept of tasks.

use perennial_core::authority::Caller;
use perennial_core::command::{Command, Request};
use perennial_core::context::{Sample, Source, Threshold};
use perennial_core::conversation::Followed;
use perennial_core::entity::Entity;
use perennial_core::escalation::{EscalationCause, EscalationEnd, EscalationEvent};
use perennial_core::event::{AgentEvent, Event, What};
use perennial_core::fleet::{Decision, Policy};
use perennial_core::id::{AgentId, SessionId, SessionNumber, TaskId};
use perennial_core::job::JobEnd;
use perennial_core::message::{Mailbox, Sender};
use perennial_core::name::NameKey;
use perennial_core::observation::Sign;
use perennial_core::refusal::Refusal;
use perennial_core::role::RoleTerms;
use perennial_core::signal::{SignalEvent, SignalKind, Value};
use perennial_core::succession::Beginning;
use perennial_core::task::{
    self, ADDED_PARTS_MAX, BlockedOn, Brief, CheckSpec, Estimate, Queue, QueueWanted, Resolution,
    SESSIONS_KEPT, Step, StepWanted, TaskCommand, TaskDraft, TaskEvent, TaskImport, TaskRefusal,
    TaskState, Verifier,
};
use perennial_core::text::{Digest, Text, TextBody};

use crate::tasks::{
    ADA, BOB, add, agent, assign, born, brief, bury, checked, current, done, draft, drop_task,
    escalated, letters, refusal, reopen, run, split, state, take, task, to, two, verify,
};
use crate::told::Told;

fn command(command: TaskCommand) -> Command {
    Command::Task(Box::new(command))
}

fn block(task: u128, on: BlockedOn) -> Command {
    command(TaskCommand::Block { task: TaskId(task), on, reason: "a key".to_owned() })
}

fn words(text: &str) -> TextBody {
    let digest = Digest([u8::try_from(text.len()).expect("a short text"); 32]);
    let text_of = Text { digest, bytes: text.len() as u64, head: text.to_owned() };
    TextBody { text: text_of, body: text.into() }
}

/// A decision that is taken, with the texts that are recorded with it.
fn decided(told: &mut Told, caller: Caller, command: Command) -> Decision {
    let decision =
        told.fleet.decide(&Request { caller, command }, told.now).expect("it is allowed");
    told.fold(&decision.events);
    decision
}

/// Whether Ada's child could be born for a task by a person's word.
fn born_for(told: &Told, id: u128) -> Result<(), Refusal> {
    let (child, task) = ((AgentId(9), "/"), (TaskId(id), None));
    task::given_at_birth(&told.fleet, Caller::Person, child, task, told.now).map(|_| ())
}

/// Task 10 of Bob's in this state.
fn bobs(state: &str) -> Told {
    let mut told = two();
    let (rounds_max, queue) = match state {
        "open" => (3, QueueWanted::Nobody),
        "blocked on rounds" => (1, to(BOB)),
        _ => (3, to(BOB)),
    };
    told.ask(draft(10, Brief { rounds_max, ..brief("t") }, queue)).expect("added");
    let bob = agent(BOB);
    match state {
        "open" | "taken" => Vec::new(),
        "claimed" => told.ask_as(bob, done(10, Resolution::None)).expect("claimed"),
        "checked" => told.ask_as(bob, done(10, run())).expect("claimed"),
        "blocked" => told.ask_as(bob, block(10, BlockedOn::Work)).expect("blocked"),
        "blocked on rounds" => {
            told.ask_as(bob, done(10, run())).expect("claimed");
            checked(&mut told, 10, JobEnd::Code(1), "red");
            told.ask_as(bob, done(10, run())).expect("claimed again");
            checked(&mut told, 10, JobEnd::Code(1), "red")
        }
        "split" => told.ask_as(bob, split(10, &[11, 12])).expect("split"),
        other => panic!("{other}"),
    };
    told
}

/// Each verb in each state: what is claimed waits for its verdict, and what is split for its parts.
#[test]
fn each_verb_suits_the_states_that_it_suits() {
    for (name, word, may) in [
        ("open", "open", [true, true, true, true, true, true]),
        ("taken", "taken", [true, true, true, true, true, false]),
        ("claimed", "claimed", [false; 6]),
        ("checked", "claimed", [false; 6]),
        ("blocked", "blocked", [true; 6]),
        ("blocked on rounds", "blocked", [false, true, true, true, true, true]),
        ("split", "split", [false; 6]),
    ] {
        let commands = [
            (agent(BOB), take(10)),
            (Caller::Person, assign(10, ADA)),
            (Caller::Person, block(10, BlockedOn::Work)),
            (Caller::Person, done(10, Resolution::None)),
            (Caller::Person, split(10, &[21, 22])),
        ];
        let mut answers = Vec::new();
        for (caller, command) in commands {
            answers.push(bobs(name).ask_as(caller, command).map(|_| ()));
        }
        answers.push(born_for(&bobs(name), 10));
        let why = TaskRefusal::WrongState(word);
        let wrong = Err(Refusal::Task { task: TaskId(10), why });
        let expected = may.map(|may| if may { Ok(()) } else { wrong.clone() });
        assert_eq!(answers, expected, "{name}: take, assign, block, done, split, spawn");
    }
    // What came back too often is not its worker's to go on with by any verb, until somebody has looked at it.
    let given_up = || bobs("blocked on rounds");
    for command in [
        done(10, Resolution::None),
        done(10, run()),
        block(10, BlockedOn::Work),
        split(10, &[21, 22]),
        assign(10, BOB),
    ] {
        let answer = given_up().ask_as(agent(BOB), command.clone());
        let why = TaskRefusal::WrongState("blocked");
        assert_eq!(answer, Err(Refusal::Task { task: TaskId(10), why }), "{command:?}");
    }
    // Who has it takes it again: that is no event.
    assert_eq!(bobs("taken").ask_as(agent(BOB), take(10)), Ok(Vec::new()));
    // Nobody but its worker splits it for him, not even who is above him.
    for caller in [agent(ADA), agent(BOB)] {
        let answer = bobs("taken").ask_as(caller, split(10, &[21, 22]));
        assert_eq!(answer.is_ok(), caller == agent(BOB), "{answer:?}");
    }
}

#[test]
fn no_id_is_used_twice() {
    let mut told = two();
    for id in [10, 11] {
        add(&mut told, id);
    }
    let refused = |answer| refusal(answer) == TaskRefusal::Exists;
    assert!(refused(told.ask(split(10, &[12, 11]))));
    told.ask(verify(10, true)).expect("done");
    assert!(refused(told.ask(reopen(10, 11))));
    let one = |id| TaskImport { id: TaskId(id), brief: brief("t"), is_done: false };
    let (tasks, to) = (vec![one(20), one(11)], QueueWanted::Nobody);
    assert!(refused(told.ask(command(TaskCommand::Import { to, tasks }))));
}

#[test]
fn notes_and_descriptions_are_recorded_with_their_text() {
    let mut told = two();
    let to = QueueWanted::Agent(AgentId(BOB).to_string());
    let draft = TaskDraft {
        id: TaskId(10),
        brief: brief("t"),
        body: Some(words("what to do")),
        to,
        finished: Vec::new(),
    };
    let decision = decided(&mut told, Caller::Person, command(TaskCommand::Add(Box::new(draft))));
    assert_eq!(decision.texts, [words("what to do")]);
    assert_eq!(decision.about, [Entity::Task(TaskId(10))]);
    for (count, note) in ["found it", "lost it again"].into_iter().enumerate() {
        let note = words(note);
        let noted = TaskCommand::Note { task: TaskId(10), body: note.clone() };
        let decision = decided(&mut told, agent(BOB), command(noted));
        assert_eq!(decision.texts, std::slice::from_ref(&note));
        assert_eq!(task(&told, 10).notes as usize, count + 1);
        let last = task(&told, 10).last_note.as_deref().cloned();
        assert_eq!(last, Some((Sender::Agent(AgentId(BOB)), note.text)));
    }
    // A verdict that is final has its words in a note; a rejection has them itself.
    for (is_done, notes) in [(false, 2), (true, 3)] {
        told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
        let (task_id, reason, note) = (TaskId(10), "as I see it".to_owned(), words("so be it"));
        let note = Some(note);
        let verdict = TaskCommand::Verify { task: task_id, is_done, reason, note };
        let decision = decided(&mut told, Caller::Person, command(verdict));
        assert_eq!(task(&told, 10).notes, notes);
        assert_eq!(decision.texts.len(), usize::from(is_done));
    }
    // So has a successor; what only lies on its queue again has them in the event.
    let again = |id: u128, successor: u128| {
        let (task, successor) = (TaskId(id), TaskId(successor));
        let (reason, note) = ("not so".to_owned(), Some(words("not so")));
        command(TaskCommand::Reopen { task, reason, recalled: None, successor, note })
    };
    let decision = decided(&mut told, Caller::Person, again(10, 11));
    assert_eq!((decision.texts.len(), task(&told, 11).notes), (1, 1));
    assert_eq!(decision.about, [Entity::Task(TaskId(11))]);
    let decision = decided(&mut told, Caller::Person, again(11, 12));
    assert_eq!((decision.texts.len(), task(&told, 11).notes), (0, 1));
    let reopened = |event: &Event| match &event.what {
        What::Task(_, TaskEvent::Reopened { reason, .. }) => Some(reason.clone()),
        _ => None,
    };
    assert_eq!(decision.events.iter().find_map(reopened).as_deref(), Some("not so"));
    // Nothing is added to what is over.
    told.ask(verify(11, true)).expect("done");
    let noted = TaskCommand::Note { task: TaskId(11), body: words("late") };
    assert_eq!(refusal(told.ask(command(noted))), TaskRefusal::Over);
}

/// TK2: what has left memory is taken up again as it was, without its command where no person says so.
#[test]
fn what_has_left_memory_is_taken_up_again_as_it_was() {
    let argv = vec!["x".to_owned()];
    let check = Some(CheckSpec::Command { argv, limit: task::CHECK_LIMIT });
    let named = Some(CheckSpec::Named("unit".parse().expect("a name")));
    let mut told = two();
    add(&mut told, 5);
    told.ask(draft(10, Brief { parent: Some(TaskId(5)), check, ..brief("t") }, to(BOB)))
        .expect("added");
    told.ask_as(agent(ADA), draft(20, Brief { check: named.clone(), ..brief("u") }, to(BOB)))
        .expect("added");
    for id in [10, 20] {
        told.ask(verify(id, true)).expect("done");
    }
    let again = |told: &Told, recalled: u128, id: u128| {
        let (task_id, successor) = (TaskId(id), TaskId(id + 1));
        let recalled = Some(Box::new(task(told, recalled).clone()));
        let reason = "again".to_owned();
        let reopen = TaskCommand::Reopen { task: task_id, reason, recalled, successor, note: None };
        command(reopen)
    };
    let commands = [again(&told, 10, 10), again(&told, 20, 20), again(&told, 10, 30)];
    for id in [10, 20] {
        told.fleet.retire(&Entity::Task(TaskId(id)));
    }
    let [ten, twenty, other] = commands;
    assert_eq!(refusal(told.ask(other)), TaskRefusal::NoSuchTask, "that is another one");
    told.ask(ten).expect("its successor");
    let next = &task(&told, 11).brief;
    assert_eq!((next.title.as_str(), next.parent), ("t", Some(TaskId(5))));
    assert!(matches!(next.check, Some(CheckSpec::Command { .. })), "a person's word");
    told.ask_as(agent(ADA), twenty).expect("she added it");
    assert_eq!(task(&told, 21).brief.check, named);
    // Its whole has left memory, too: a part of nothing is a task.
    told.ask(verify(11, true)).expect("done");
    told.ask(verify(5, true)).expect("done");
    told.fleet.retire(&Entity::Task(TaskId(5)));
    told.ask(reopen(11, 12)).expect("its successor");
    assert_eq!(task(&told, 12).brief.parent, None);
}

/// A task may wait for one that is over and on record, and be a part of one that is not over.
#[test]
fn what_a_new_task_names_is_held_against_what_there_is() {
    let mut told = two();
    let waiting = |id: u128, finished: &[u128]| {
        let brief = Brief { dependencies: vec![TaskId(99)], ..brief("t") };
        let finished = finished.iter().copied().map(TaskId).collect();
        let to = QueueWanted::Agent(AgentId(BOB).to_string());
        let draft = TaskDraft { id: TaskId(id), brief, body: None, to, finished };
        command(TaskCommand::Add(Box::new(draft)))
    };
    let why = TaskRefusal::NoSuchDependency { on: TaskId(99) };
    assert_eq!(refusal(told.ask(waiting(10, &[98]))), why);
    told.ask(waiting(10, &[98, 99])).expect("it is on record");
    assert_eq!(current(&told, BOB), Some(10), "and holds up nothing");
    add(&mut told, 20);
    let part = || Brief { parent: Some(TaskId(20)), ..brief("t") };
    told.ask(draft(21, part(), QueueWanted::Nobody)).expect("added");
    assert_eq!(task(&told, 20).added_parts, [TaskId(21)]);
    assert_eq!(task(&told, 20).parts, []);
    told.ask(verify(20, true)).expect("done");
    let why = TaskRefusal::NoSuchParent { parent: TaskId(20) };
    assert_eq!(refusal(told.ask(draft(22, part(), QueueWanted::Nobody))), why);
    // As many parts as it may name, and no more.
    add(&mut told, 30);
    let part = |id: u128| TaskImport {
        id: TaskId(id),
        brief: Brief { parent: Some(TaskId(30)), ..brief("t") },
        is_done: false,
    };
    let tasks = (1000..).take(ADDED_PARTS_MAX).map(part).collect();
    told.ask(command(TaskCommand::Import { to: QueueWanted::Nobody, tasks })).expect("added");
    let one_more = Brief { parent: Some(TaskId(30)), ..brief("t") };
    let why = refusal(told.ask(draft(31, one_more, QueueWanted::Nobody)));
    assert_eq!(why, TaskRefusal::TooMany { what: "parts", most: ADDED_PARTS_MAX });
}

#[test]
fn a_role_has_a_queue_that_is_declared_or_held() {
    let mut told = two();
    let roles = [(NameKey::of("keeper"), RoleTerms::default())].into();
    told.fleet = std::mem::take(&mut told.fleet).under(Policy { roles, ..Policy::default() });
    let to = |role: &str, is_declared| QueueWanted::Role {
        role: role.parse().expect("a name"),
        is_declared,
    };
    told.ask(draft(10, brief("t"), to("keeper", false))).expect("the operator declares it");
    told.ask(draft(11, brief("t"), to("cook", true))).expect("a project declares it");
    let refused = told.ask(draft(12, brief("t"), to("cook", false)));
    assert!(matches!(refused, Err(Refusal::NoSuchRole { .. })), "{refused:?}");
    born(&mut told, 4, None, Some("cook"));
    told.ask(draft(12, brief("t"), to("cook", false))).expect("somebody holds it");
}

/// What a list says is done is verified, and nothing else of it is; nobody is given what is done.
#[test]
fn of_a_list_only_what_is_done_is_verified() {
    let mut told = two();
    let one = |id, parent: Option<u128>, is_done| TaskImport {
        id: TaskId(id),
        brief: Brief { parent: parent.map(TaskId), ..brief("t") },
        is_done,
    };
    let tasks = vec![one(10, None, true), one(11, Some(10), true), one(12, None, false)];
    let events = told.ask(command(TaskCommand::Import { to: to(BOB), tasks })).expect("added");
    let verified = TaskState::Verified(Verifier::Operator);
    assert_eq!(
        [10, 11, 12].map(|id| state(&told, id)),
        [verified.clone(), verified, TaskState::Taken]
    );
    assert_eq!(letters(&events).len(), 1, "one task is given");
}

/// TK7: the next one is not given at the end of a window, and is with the beginning of another.
#[test]
fn what_lay_on_its_queue_is_given_with_the_next_window() {
    let mut told = Told::new();
    told.spawn_cli(BOB, true, None).expect("born");
    told.begun(BOB, "a", Followed::Started);
    for id in [10, 11] {
        told.ask(draft(id, brief("t"), to(BOB))).expect("added");
    }
    let number = told.number(BOB);
    let passes = |told: &mut Told, threshold| {
        let sample = Sample { tokens: 95, window: 100, usable: 100, source: Source::Transcript };
        let passed = AgentEvent::ClockPassed { number, threshold, sample };
        told.fold(&[Event { at: told.now, what: What::Agent(AgentId(BOB), passed) }]);
    };
    let taken = |events: &[Event]| -> Vec<(TaskId, Option<SessionNumber>)> {
        let of = |event: &Event| match &event.what {
            What::Task(id, TaskEvent::Taken { session, .. }) => Some((*id, *session)),
            _ => None,
        };
        events.iter().filter_map(of).collect()
    };
    for threshold in Threshold::ALL {
        passes(&mut told, threshold);
    }
    let events = told.ask(verify(10, true)).expect("done");
    assert_eq!((taken(&events), current(&told, BOB)), (Vec::new(), None), "TK7");
    let events = told.show(BOB, Sign::WindowBegan);
    assert_eq!(taken(&events), [(TaskId(11), Some(number))]);
    assert_eq!(letters(&events).len(), 1, "and it is told");
    // A window that follows one with room in it gives nothing: what lies there has been refused by nobody's clock.
    told.ask(draft(12, brief("t"), to(BOB))).expect("queued");
    let blocked = command(TaskCommand::Block {
        task: TaskId(11),
        on: BlockedOn::Work,
        reason: String::new(),
    });
    for threshold in Threshold::ALL {
        if threshold < Threshold::NineTenths {
            passes(&mut told, threshold);
        }
    }
    told.ask_as(agent(BOB), blocked).expect("blocked");
    assert_eq!(current(&told, BOB), Some(12));
    assert_eq!(taken(&told.show(BOB, Sign::WindowBegan)), []);
}

/// The escalations in these events that nobody has to see any more.
fn settled(events: &[Event]) -> usize {
    let withdrawn = EscalationEvent::Ended { how: EscalationEnd::Withdrawn };
    let is_one = |event: &&Event| match &event.what {
        What::Escalation(_, event) => *event == withdrawn,
        _ => false,
    };
    events.iter().filter(is_one).count()
}

/// G-08, ES2: what a rule raised about a task is over with the task; that it waits for somebody outside, also when it is
/// gone on with.
#[test]
fn what_a_rule_raised_is_settled_with_its_task() {
    let estimate = Some(Estimate::Steps(1));
    let raised = |outside: bool| {
        let mut told = two();
        told.ask(draft(10, Brief { estimate, ..brief("t") }, to(BOB))).expect("added");
        if outside {
            told.ask_as(agent(BOB), block(10, BlockedOn::Outside)).expect("blocked");
        } else {
            let mut add = || {
                let step = StepWanted::Add("more".to_owned());
                let step = TaskCommand::Step { task: TaskId(10), step };
                escalated(&told.ask_as(agent(BOB), command(step)).expect("added"))
            };
            assert!(add().is_empty() && add().is_empty(), "no more than twice the estimate");
            assert_eq!(add()[0].0, EscalationCause::ScopeGrew);
        }
        assert_eq!(told.fleet.escalations().iter().count(), 1);
        told
    };
    for outside in [true, false] {
        for over in [verify(10, true), drop_task(10)] {
            let mut told = raised(outside);
            assert_eq!(settled(&told.ask(over).expect("a person may")), 1, "{outside}");
            assert_eq!(told.fleet.escalations().iter().count(), 0);
        }
        for goes_on in [assign(10, ADA), reopen(10, 11), split(10, &[11, 12])] {
            let mut told = raised(outside);
            let events = told.ask(goes_on.clone()).expect("a person may");
            assert_eq!(settled(&events), usize::from(outside), "{goes_on:?}");
        }
    }
    // What becomes of another task settles nothing, nor what its agent raised itself.
    let mut told = raised(true);
    add(&mut told, 20);
    assert_eq!(settled(&told.ask(verify(20, true)).expect("done")), 0);
    assert_eq!(settled(&told.ask_as(agent(BOB), take(10)).expect("taken")), 1);
    let mut told = raised(false);
    let text = words("help");
    let draft = perennial_core::escalation::EscalationDraft {
        id: perennial_core::id::EscalationId(900),
        to: perennial_core::escalation::EscalateTo::Parent,
        severity: perennial_core::escalation::Severity::High,
        subject: "help".to_owned(),
        excerpt: "help".to_owned(),
        body: text,
    };
    told.ask_as(agent(BOB), Command::Escalate(Box::new(draft))).expect("asked");
    assert_eq!(settled(&told.ask(verify(10, true)).expect("done")), 1);
    assert_eq!(told.fleet.escalations().iter().count(), 1);
}

/// T-13: the record and the signal say by whose word it is verified, and what was said of it.
#[test]
fn a_verdict_says_whose_it_is() {
    let verdict = |events: &[Event]| {
        events.iter().find_map(|event| match &event.what {
            What::Signal(_, SignalEvent::Sent { kind, by, payload, .. }) => {
                let text = |field: &str| match payload.get(field) {
                    Some(Value::Text(text)) => text.clone(),
                    _ => String::new(),
                };
                Some((*kind, *by, text("feedback"), text("reason"), text("output")))
            }
            _ => None,
        })
    };
    let mut told = two();
    let check = Some(CheckSpec::Named("unit".parse().expect("a name")));
    told.ask(draft(10, Brief { check, rounds_max: 1, ..brief("t") }, to(BOB))).expect("added");
    let bob = agent(BOB);
    let (perennial, passed) = (Sender::Perennial, SignalKind::ValidationPassed);
    for round in 0..2 {
        told.ask_as(bob, done(10, run())).expect("claimed");
        let events = checked(&mut told, 10, JobEnd::Code(1), "red");
        let (kind, by, _, reason, output) = verdict(&events).expect("a verdict");
        assert_eq!((kind, by), (SignalKind::ValidationFailed, perennial), "{round}");
        assert_eq!((reason.as_str(), output.as_str()), ("its check failed: exit 1", "red"));
    }
    assert_eq!(state(&told, 10), TaskState::Blocked(BlockedOn::Rounds));
    told.ask(reopen(10, 11)).expect("again");
    told.ask_as(bob, done(10, run())).expect("claimed");
    let events = checked(&mut told, 10, JobEnd::Code(0), "green");
    let by_check = "verified by the check unit".to_owned();
    let nothing = String::new;
    assert_eq!(verdict(&events), Some((passed, perennial, by_check, nothing(), nothing())));
    assert!(matches!(state(&told, 10), TaskState::Verified(Verifier::Check(Some(_)))));
    told.ask(draft(20, brief("t"), to(BOB))).expect("added");
    let by_operator = "verified by operator".to_owned();
    let events = told.ask(verify(20, true)).expect("done");
    assert_eq!(verdict(&events), Some((passed, Sender::Person, by_operator, nothing(), nothing())));
}

/// A check that passes frees its worker, and lets begin what waited for the task.
#[test]
fn what_waits_for_a_check_goes_on_when_it_passes() {
    let mut told = two();
    for id in [10, 11] {
        told.ask(draft(id, brief("t"), to(BOB))).expect("added");
    }
    let waiting = Brief { dependencies: vec![TaskId(10)], ..brief("t") };
    told.ask(draft(12, waiting, to(ADA))).expect("added");
    told.ask_as(agent(BOB), done(10, run())).expect("claimed");
    assert_eq!((current(&told, BOB), current(&told, ADA)), (Some(10), None));
    checked(&mut told, 10, JobEnd::Code(0), "green");
    assert_eq!((current(&told, BOB), current(&told, ADA)), (Some(11), Some(12)));
}

/// TK6: a letter about each agent that left something, once; and only of what is left.
#[test]
fn loops_are_told_again_of_those_who_are_there_and_what_is_open() {
    // Ada has a task of Bob's that she was told of and took: it is hers, and is told of as hers.
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask(draft(11, brief("u"), to(BOB))).expect("added");
    told.ask(bury(BOB)).expect("buried");
    assert!(told.fleet.tasks().has_told(AgentId(ADA)));
    let plan = told.fleet.plan(&Entity::Task(TaskId(10)), told.now);
    let at = task(&told, 10).raised_again_at().expect("an open loop");
    assert_eq!(plan.timers, [(perennial_core::effect::Timer::Raise, at)]);
    for id in [10, 11] {
        told.ask(drop_task(id)).expect("dropped");
    }
    assert!(!told.fleet.tasks().has_told(AgentId(ADA)), "nothing is open");
    assert_eq!(told.ask(bury(ADA)).map(|events| letters(&events).len()), Ok(0));
    assert!(told.fleet.plan(&Entity::Task(TaskId(10)), told.now).timers.is_empty());
    // What lies on her queue and what she was told of are two letters; nothing is in both.
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed");
    told.ask(bury(BOB)).expect("buried");
    told.ask(draft(20, brief("mine"), to(ADA))).expect("added");
    let left = letters(&told.ask(bury(ADA)).expect("buried"));
    let both: Vec<bool> = left.iter().map(|(_, text)| text.contains("1 unfinished task")).collect();
    assert_eq!(both, [true, false], "{left:?}");
    assert!(left.iter().all(|(to, _)| *to == Mailbox::Operator), "{left:?}");
}

/// G-12: each session of a worker counts once, and the last ones are kept with the task.
#[test]
fn each_session_of_a_worker_counts_once() {
    let mut told = two();
    told.ask(draft(10, brief("t"), to(BOB))).expect("added");
    let continued = |told: &mut Told, number: u32| {
        let (agent, session) = (AgentId(BOB), SessionNumber(number));
        let event = TaskEvent::Continued { agent, session, beginning: Beginning::Crash };
        told.fold(&[Event { at: told.now, what: What::Task(TaskId(10), event) }]);
    };
    let most = u32::try_from(SESSIONS_KEPT).expect("a small number");
    for number in 2..=most {
        continued(&mut told, number);
        continued(&mut told, number);
    }
    let kept = |told: &Told| {
        let sessions = &task(told, 10).sessions;
        let first = sessions.last.first().map(|one| one.session.number.0);
        (sessions.count, sessions.unplanned, first, sessions.last.len())
    };
    assert_eq!(kept(&told), (most, most - 1, Some(1), SESSIONS_KEPT));
    continued(&mut told, most + 1);
    assert_eq!(kept(&told), (most + 1, most, Some(2), SESSIONS_KEPT));
    let last = task(&told, 10).sessions.last.last().map(|one| one.session);
    assert_eq!(last, Some(SessionId { agent: AgentId(BOB), number: SessionNumber(most + 1) }));
}

/// The lists by agent, role and dependency are those of the tasks as they are: a fleet that is restored has the same.
#[test]
fn the_lists_of_tasks_follow_every_change() {
    let mut told = two();
    let keeper =
        || QueueWanted::Role { role: "keeper".parse().expect("a name"), is_declared: true };
    let same = |told: &Told, what: &str| {
        let tasks = told.fleet.tasks().iter().cloned();
        assert_eq!(&task::Tasks::restore(tasks), told.fleet.tasks(), "{what}");
    };
    born(&mut told, 4, None, Some("keeper"));
    told.ask(draft(10, brief("t"), keeper())).expect("added");
    let key = NameKey::of("keeper");
    assert_eq!(told.fleet.tasks().on_queue_of(&key).count(), 1);
    told.ask_as(agent(4), take(10)).expect("its role's");
    assert_eq!(told.fleet.tasks().on_queue_of(&key).count(), 0, "somebody has it");
    same(&told, "taken");
    let waiting = Brief { dependencies: vec![TaskId(10)], ..brief("t") };
    told.ask(draft(11, waiting, QueueWanted::Nobody)).expect("added");
    same(&told, "waiting");
    told.ask(verify(11, true)).expect("a person's word");
    same(&told, "verified");
    told.fleet.retire(&Entity::Task(TaskId(11)));
    same(&told, "retired");
    told.ask(bury(4)).expect("buried");
    same(&told, "left");
    told.ask(drop_task(10)).expect("dropped");
    same(&told, "dropped");
    assert_eq!(told.fleet.tasks().on_queue_of(&key).count(), 0);
}

/// What an agent is given says who gives it, and where it stands.
#[test]
fn the_letter_of_a_task_names_its_open_step() {
    let mut told = two();
    let step = |text: &str, is_done| Step { text: text.to_owned(), is_done };
    let steps = vec![step("read", true), step("write", false)];
    let events =
        told.ask_as(agent(ADA), draft(10, Brief { steps, ..brief("t") }, to(BOB))).expect("added");
    let given = &letters(&events)[0].1;
    assert!(given.contains("Open step 2: “write”."), "{given}");
    // A claim tells what was said of it, if anything was.
    let claimed = letters(&told.ask_as(agent(BOB), done(10, Resolution::None)).expect("claimed"));
    assert!(claimed[0].1.contains("word. What was said of it: “finished”."), "{claimed:?}");
    assert_eq!(claimed[0].0, Mailbox::Agent(AgentId(ADA)));
    assert_eq!(task(&told, 10).queue, Queue::Agent(AgentId(BOB)));
    assert_eq!(
        (task(&told, 10).by, task(&told, 10).since),
        (Sender::Agent(AgentId(BOB)), told.now)
    );
}

/// TK7: a claim that is not accepted lies on the queue of whoever has no room for it, and is given with the next window. One
/// whose check failed is what the agent was on all along.
#[test]
fn what_comes_back_at_the_end_of_a_window_waits_for_the_next() {
    for by_check in [false, true] {
        let mut told = Told::new();
        told.spawn_cli(BOB, true, None).expect("born");
        told.begun(BOB, "a", Followed::Started);
        told.ask(draft(10, brief("t"), to(BOB))).expect("added");
        let check = if by_check { run() } else { Resolution::None };
        told.ask_as(agent(BOB), done(10, check)).expect("claimed");
        let number = told.number(BOB);
        for threshold in Threshold::ALL {
            let sample =
                Sample { tokens: 95, window: 100, usable: 100, source: Source::Transcript };
            let passed = AgentEvent::ClockPassed { number, threshold, sample };
            told.fold(&[Event { at: told.now, what: What::Agent(AgentId(BOB), passed) }]);
        }
        let events = match by_check {
            true => checked(&mut told, 10, JobEnd::Code(1), "red"),
            false => told.ask(verify(10, false)).expect("not done"),
        };
        assert_eq!(current(&told, BOB), by_check.then_some(10));
        let on_queue = letters(&events)[0].1.contains("It lies on your queue.");
        assert_eq!(on_queue, !by_check, "{events:?}");
        told.show(BOB, Sign::WindowBegan);
        assert_eq!(current(&told, BOB), Some(10));
    }
}

#[test]
fn what_somebody_has_is_not_taken_and_moved_by_those_above_only() {
    let mut told = bobs("taken");
    let why = TaskRefusal::WrongState("taken");
    assert_eq!(refusal(told.ask_as(agent(ADA), take(10))), why);
    told.ask_as(agent(ADA), assign(10, ADA)).expect("she is above him");
    assert_eq!(current(&told, ADA), Some(10));
    // A part that was added is its adder's to drop; one of a split is not.
    let part = Brief { parent: Some(TaskId(10)), ..brief("part") };
    told.ask_as(agent(ADA), draft(11, part, QueueWanted::Nobody)).expect("added");
    told.ask_as(agent(ADA), drop_task(11)).expect("her own");
    // A step that is not there is named by its number.
    let step = |step| command(TaskCommand::Step { task: TaskId(10), step });
    for text in ["one", "two"] {
        told.ask_as(agent(ADA), step(StepWanted::Add(text.to_owned()))).expect("added");
        told.ask_as(agent(ADA), step(StepWanted::Done(None))).expect("done");
    }
    let why = TaskRefusal::NoSuchStep { step: 3, steps: 2 };
    assert_eq!(refusal(told.ask_as(agent(ADA), step(StepWanted::Done(None)))), why);
}

/// What it had spent when it went to work: what is known, nothing in a first conversation, and else nobody knows.
#[test]
fn what_was_spent_before_is_what_is_known() {
    let taken = |events: &[What]| {
        events.iter().find_map(|what| match what {
            What::Task(_, TaskEvent::Taken { spent, session, .. }) => Some((*spent, *session)),
            _ => None,
        })
    };
    let mut told = two();
    add(&mut told, 10);
    let child = |spent| {
        let (agent, task) = ((AgentId(9), "/"), (TaskId(10), spent));
        let events = task::given_at_birth(&told.fleet, Caller::Person, agent, task, told.now);
        taken(&events.expect("born"))
    };
    // Its session counts once it runs.
    assert_eq!(child(Some(100)), Some((Some(100), None)));
    assert_eq!(child(None), Some((None, None)));
    let takes = |told: &mut Told, caller, id| {
        let events = told.ask_as(agent(caller), take(id)).expect("taken");
        let all: Vec<What> = events.into_iter().map(|event| event.what).collect();
        taken(&all).expect("taken").0
    };
    assert_eq!(takes(&mut told, BOB, 10), None, "a bare command");
    add(&mut told, 11);
    told.spawn_cli(5, true, None).expect("born");
    told.begun(5, "a", Followed::Started);
    assert_eq!(takes(&mut told, 5, 11), Some(0));
    // Nothing is counted where nothing was spent.
    told.spends(5, 70);
    let events = told.ask_as(agent(5), block(11, BlockedOn::Work)).expect("blocked");
    let counted = |events: &[Event]| {
        let is_one =
            |event: &&Event| matches!(event.what, What::Task(_, TaskEvent::Counted { .. }));
        events.iter().filter(is_one).count()
    };
    assert_eq!((counted(&events), task(&told, 11).spent.tokens), (1, Some(70)));
    told.ask_as(agent(5), take(11)).expect("taken again");
    assert_eq!(counted(&told.ask_as(agent(5), block(11, BlockedOn::Work)).expect("blocked")), 0);
}

/// TK8: what is over holds up nobody, in memory or not.
#[test]
fn what_it_waited_for_and_is_over_holds_up_no_claim() {
    let mut told = two();
    add(&mut told, 10);
    let waiting = Brief { dependencies: vec![TaskId(10)], ..brief("t") };
    told.ask(draft(11, waiting, to(BOB))).expect("added");
    let why = TaskRefusal::Waits { on: TaskId(10) };
    assert_eq!(refusal(told.ask(done(11, Resolution::None))), why);
    assert_eq!(born_for(&told, 11), Err(Refusal::Task { task: TaskId(11), why }));
    told.ask(verify(10, true)).expect("done");
    assert!(told.fleet.tasks().get(TaskId(10)).is_some(), "it has not left memory yet");
    told.ask_as(agent(BOB), done(11, Resolution::None)).expect("claimed");
}

/// TK6: each that left something is told of apart, to whoever answers for it next; a whole goes back to whoever is there.
#[test]
fn loops_of_two_are_two_letters_and_nothing_goes_back_to_the_dead() {
    let mut told = two();
    born(&mut told, 3, Some(ADA), None);
    for (id, worker) in [(10, BOB), (11, 3)] {
        told.ask(draft(id, brief("t"), to(worker))).expect("added");
        told.ask(bury(worker)).expect("buried");
    }
    let again = letters(&told.ask(bury(ADA)).expect("buried"));
    assert_eq!(again.len(), 2, "{again:?}");
    for (letter, name) in again.iter().zip(["a2", "a3"]) {
        assert!(letter.1.starts_with(&format!("1 task of {name}, who was buried, is still")));
    }
    let mut told = two();
    let check = Some(CheckSpec::Named("unit".parse().expect("a name")));
    told.ask(draft(10, Brief { check, ..brief("t") }, to(BOB))).expect("added");
    told.ask_as(agent(BOB), split(10, &[11, 12])).expect("split");
    told.ask(bury(BOB)).expect("buried");
    told.ask(verify(11, true)).expect("done");
    let events = told.ask(verify(12, true)).expect("done");
    assert_eq!((state(&told, 10), &task(&told, 10).queue), (TaskState::Open, &Queue::Nobody));
    assert_eq!(letters(&events)[0].0, Mailbox::Agent(AgentId(ADA)));
    // As many as are named, and no more to name.
    let mut told = two();
    for id in 10..14 {
        told.ask(draft(id, brief("t"), to(BOB))).expect("added");
    }
    let left = letters(&told.ask(bury(BOB)).expect("buried"));
    assert!(left[0].1.matches("tsk_").count() == 4 && !left[0].1.contains("more:"), "{left:?}");
    assert!(left[0].1.ends_with("until then you are told again."), "{left:?}");
}

/// From which events on an agent is on a task, or no longer.
#[test]
fn who_is_on_a_task_follows_from_its_events() {
    let (ada, bob) = (AgentId(ADA), AgentId(BOB));
    let by = Sender::Person;
    let taken = TaskEvent::Taken { by, agent: bob, spent: None, session: None };
    let returned =
        |is_taken| TaskEvent::Returned { by, agent: bob, is_taken, reason: String::new() };
    for (event, of_bob, of_ada) in [
        (taken, Some(true), Some(false)),
        (returned(true), Some(true), Some(false)),
        (returned(false), Some(false), Some(false)),
        (TaskEvent::Dropped { by, reason: String::new() }, Some(false), Some(false)),
        (TaskEvent::Claimed { by, reason: String::new(), spent: None }, None, None),
    ] {
        let on = [bob, ada].map(|agent| task::is_begun_by(&event, agent));
        assert_eq!(on, [of_bob, of_ada], "{event:?}");
    }
}

/// What a command says in its caller's own words is what its allowance is charged.
#[test]
fn the_words_of_a_command_are_counted() {
    let (id, reason) = (TaskId(10), "12345".to_owned());
    let steps = vec![Step { text: "123".to_owned(), is_done: false }];
    let whole = Brief { steps, ..brief("title") };
    let one = TaskImport { id, brief: whole.clone(), is_done: false };
    let body = words("12");
    let to = QueueWanted::Agent("bob".to_owned());
    let draft = TaskDraft {
        id,
        brief: whole,
        body: Some(body.clone()),
        to: to.clone(),
        finished: Vec::new(),
    };
    let into = vec![(TaskId(11), "ab".to_owned()), (TaskId(12), "cde".to_owned())];
    for (mut command, bytes, names_agent) in [
        (TaskCommand::Add(Box::new(draft)), 10, true),
        (TaskCommand::Import { to: to.clone(), tasks: vec![one.clone(), one] }, 16, true),
        (TaskCommand::Assign { task: id, to }, 0, true),
        (TaskCommand::Assign { task: id, to: QueueWanted::Nobody }, 0, false),
        (TaskCommand::Note { task: id, body }, 2, false),
        (TaskCommand::Split { task: id, into }, 5, false),
        (TaskCommand::Take { task: id }, 0, false),
        (TaskCommand::Block { task: id, on: BlockedOn::Work, reason }, 5, false),
    ] {
        assert_eq!(command.words(), bytes, "{command:?}");
        assert_eq!(command.task(), id);
        assert_eq!(command.target_mut().is_some(), names_agent, "{command:?}");
    }
}

//! Tasks: an event of each kind for the golden files, and the table by which those that are over are found.

use std::time::Duration;

use perennial_core::event::{Event, What};
use perennial_core::id::{JobId, MessageId, SessionNumber, TaskId};
use perennial_core::job::{JobCommand, JobEnd, JobEvent, Purpose};
use perennial_core::message::{Content, Mail, MailKind, Mailbox, MessageEvent, Priority, Sender};
use perennial_core::name::Name;
use perennial_core::succession::Beginning;
use perennial_core::task::{
    BlockedOn, Brief, CheckSpec, Estimate, Queue, Step, TaskEvent, Verifier,
};
use perennial_core::text::{Digest, Text};
use perennial_core::time::Time;
use perennial_store::{IdsOf, Store, TaskQuery, recall_task, text};

use crate::events::{ADA, BOB, append, batch};

const TASK: TaskId = TaskId(11);

fn name(text: &str) -> Name {
    text.parse().expect("a name")
}

pub fn brief(project: &str, queue: Queue) -> Brief {
    Brief {
        title: "say \"hi\"".to_owned(),
        text: Some(text::body("line 1\nline 2").text),
        project: project.to_owned(),
        steps: vec![Step { text: "one".to_owned(), is_done: true }],
        dependencies: vec![TaskId(3)],
        parent: Some(TaskId(4)),
        estimate: Some(Estimate::Tokens(5)),
        reference: Some("JIRA-1".to_owned()),
        scope: vec!["src".to_owned()],
        check: Some(CheckSpec::Named(name("unit"))),
        rounds_max: 3,
        queue,
        reopens: Some(TaskId(5)),
        had_by: Vec::new(),
    }
}

fn command() -> JobCommand {
    let argv = vec!["make".to_owned(), "test".to_owned()];
    JobCommand { argv, dir: "/w".to_owned(), limit: Duration::from_secs(600) }
}

fn letter() -> What {
    let text = Text { digest: Digest([0; 32]), bytes: 2, head: "hi".to_owned() };
    let mail = Mail {
        thread: MessageId(7),
        subject: "task: a".to_owned(),
        priority: Priority::Normal,
        text,
        excerpt: "hi".to_owned(),
        sender_name: None,
        eldest_ancestor: None,
        role: None,
        recipient: None,
        is_copy: false,
        kind: MailKind::OfTask { task: TASK },
    };
    let (to, from) = (Mailbox::Operator, Sender::Perennial);
    let content = Content::Mail(Box::new(mail));
    What::Message(MessageId(7), MessageEvent::Recorded { to, from, content })
}

fn added() -> Vec<(&'static str, What)> {
    let task = |event| What::Task(TASK, event);
    let added = |by, brief| task(TaskEvent::Added { by, brief: Box::new(brief) });
    let limit = Duration::from_secs(9);
    let own = CheckSpec::Command { argv: vec!["make".to_owned()], limit };
    let plain = Brief {
        text: None,
        parent: None,
        estimate: Some(Estimate::Steps(5)),
        reference: None,
        check: Some(own),
        reopens: None,
        had_by: Vec::new(),
        ..brief("/p", Queue::Role(name("keeper")))
    };
    let again = Brief { had_by: vec![ADA, BOB], ..plain.clone() };
    vec![
        ("task-added-again", added(Sender::Agent(ADA), again)),
        ("task-added", added(Sender::Agent(ADA), brief("/p", Queue::Agent(BOB)))),
        ("task-added-plain", added(Sender::Person, plain)),
    ]
}

fn checks() -> Vec<(&'static str, What)> {
    let task = |event| What::Task(TASK, event);
    let (job, check) = (JobId(8), Some(name("unit")));
    let purpose = Purpose::Check { task: TASK, agent: Some(BOB), check: check.clone() };
    let node = perennial_core::id::NodeId::HOME;
    let wanted = JobEvent::Wanted { node, purpose, command: command() };
    let ended = TaskEvent::CheckEnded {
        job,
        agent: Some(BOB),
        check: check.clone(),
        end: JobEnd::Code(1),
        output: "red\n".to_owned(),
    };
    let verified = |by| task(TaskEvent::Verified { by, agent: Some(BOB) });
    vec![
        ("job-wanted-check", What::Job(job, wanted)),
        (
            "task-check-wanted",
            task(TaskEvent::CheckWanted { job, check: check.clone(), command: command(), runs: 2 }),
        ),
        ("task-check-ended", task(ended)),
        ("task-verified", verified(Verifier::Check(check))),
        ("task-verified-parent", verified(Verifier::Parent(ADA))),
        ("task-verified-operator", verified(Verifier::Operator)),
        ("task-verified-trust", verified(Verifier::Trust("keeper".to_owned()))),
        ("task-verified-parts", verified(Verifier::Parts)),
    ]
}

/// An event of each kind.
pub fn examples() -> Vec<(&'static str, What)> {
    let task = |event| What::Task(TASK, event);
    let by = Sender::Person;
    let reason = "say \"why\"".to_owned();
    let (queue, agent, message) = (Queue::Nobody, BOB, MessageId(7));
    let to = Mailbox::Agent(ADA);
    let left = TaskEvent::Left {
        agent,
        name: Some(name("bob")),
        queue: queue.clone(),
        to: to.clone(),
        message,
        again_at: Some(Time(1_700_000_000_000_000)),
    };
    // As an earlier form has it.
    let left_before = TaskEvent::Left {
        agent,
        name: Some(name("bob")),
        queue: queue.clone(),
        to: to.clone(),
        message,
        again_at: None,
    };
    let text = text::body("a note").text;
    let others = vec![
        ("task-queued", task(TaskEvent::Queued { by, queue: queue.clone() })),
        ("task-taken", task(TaskEvent::Taken { by, agent, spent: Some(9), session: None })),
        (
            "task-taken-session",
            task(TaskEvent::Taken { by, agent, spent: None, session: Some(SessionNumber(3)) }),
        ),
        (
            "task-continued",
            task(TaskEvent::Continued {
                agent,
                session: SessionNumber(4),
                beginning: Beginning::Crash,
            }),
        ),
        ("task-noted", task(TaskEvent::Noted { by, text })),
        ("task-stepped", task(TaskEvent::Stepped { by, step: 2, text: None, is_done: true })),
        (
            "task-blocked",
            task(TaskEvent::Blocked { by, on: BlockedOn::Outside, reason: reason.clone() }),
        ),
        ("task-counted", task(TaskEvent::Counted { agent, spent: 1500, added: 300 })),
        ("task-claimed", task(TaskEvent::Claimed { by, reason: reason.clone(), spent: None })),
        (
            "task-returned",
            task(TaskEvent::Returned { by, agent, is_taken: true, reason: reason.clone() }),
        ),
        ("task-reopened", task(TaskEvent::Reopened { by, queue, reason: reason.clone() })),
        ("task-split", task(TaskEvent::Split { by, into: vec![TaskId(12), TaskId(13)] })),
        ("task-part-added", task(TaskEvent::PartAdded { part: TaskId(14) })),
        ("task-dropped", task(TaskEvent::Dropped { by, reason })),
        ("task-left-again", task(left)),
        ("task-left", task(left_before)),
        (
            "task-raised-again",
            task(TaskEvent::Raised { to: to.clone(), message, again_at: Some(Time(7)) }),
        ),
        ("task-raised", task(TaskEvent::Raised { to, message, again_at: None })),
        ("message-recorded-mail-of-task", letter()),
    ];
    [added(), checks(), others].concat()
}

/// Rows follow the events, in both implementations; what is written in a task is folded from its records.
pub fn are_found(journal: &dyn Store) {
    let added = |project: &str, queue| TaskEvent::Added {
        by: Sender::Person,
        brief: Box::new(brief(project, queue)),
    };
    let verified = TaskEvent::Verified { by: Verifier::Operator, agent: Some(BOB) };
    let taken = TaskEvent::Taken { by: Sender::Person, agent: BOB, spent: None, session: None };
    let role = || Queue::Role(name("Keeper"));
    for (id, events) in [
        (1, vec![added("/p", Queue::Nobody), taken.clone(), verified.clone()]),
        (2, vec![added("/p", role())]),
        (3, vec![added("/q", Queue::Agent(ADA)), verified.clone()]),
        (4, vec![added("/p", role()), taken, verified]),
    ] {
        let what = |event| Event { at: Time(id), what: What::Task(TaskId(id.into()), event) };
        let events = events.into_iter().map(what).collect();
        append(journal, batch(vec![(0, events)])).expect("appended");
    }
    let found = |query: TaskQuery| -> Vec<u128> {
        let query = TaskQuery { limit: query.limit.max(1), ..query };
        journal.tasks(&query).expect("read").iter().map(|row| row.task.0).collect()
    };
    let of = |project: Option<&str>, state: Option<&str>, limit| TaskQuery {
        project: project.map(str::to_owned),
        state: state.map(str::to_owned),
        limit,
        ..TaskQuery::default()
    };
    assert_eq!(found(of(None, None, 9)), [4, 3, 2, 1]);
    assert_eq!(found(of(Some("/p"), Some("verified"), 9)), [4, 1]);
    assert_eq!(found(of(Some("/p"), None, 2)), [4, 2]);
    let next = TaskQuery { before: Some(TaskId(2)), ..of(Some("/p"), None, 2) };
    assert_eq!(found(next), [1]);
    let keepers = Some(name("keeper").key());
    assert_eq!(found(TaskQuery { role: keepers, ..of(None, None, 9) }), [4, 2]);
    assert_eq!(found(TaskQuery { agent: Some(BOB), ..of(None, None, 9) }), [4, 1]);
    let task = recall_task(journal, TaskId(4)).expect("read").expect("on record");
    assert_eq!((task.worker, task.is_over()), (Some(BOB), true));
    assert_eq!(recall_task(journal, TaskId(5)).expect("read"), None);
    let end = |text: &str| TaskId::end_of(text).expect("an end");
    let ending = |text, limit| journal.ids_ending(IdsOf::Tasks, end(text), limit).expect("read");
    assert_eq!(ending("00000004", 9), [4]);
    assert_eq!(ending("tsk_00000000000000004", 9), [4]);
    assert!(ending("00000005", 9).is_empty());
    assert!(journal.ids_ending(IdsOf::Messages, end("00000004"), 9).expect("read").is_empty());
}

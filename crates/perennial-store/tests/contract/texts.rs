//! Loading texts and jobs: what may have been done is not done again where a record of it is altered
//! or gone.

use perennial_core::agent::Agent;
use perennial_core::id::NodeId;
use perennial_store::Projections;
use std::time::Duration;

use perennial_core::event::{Event, What};
use perennial_core::fleet::Fleet;
use perennial_core::id::{JobId, MessageId, SessionNumber};
use perennial_core::job::{self, JobEnd, JobEvent, JobPhase};
use perennial_core::message::{
    self, Content, Held, Mail, MailKind, Mailbox, MessageEvent, Priority, Sender, Why, Withdrawer,
};
use perennial_core::name::NameKey;
use perennial_core::reason::Reason;
use perennial_core::text::Fingerprint;
use perennial_core::time::Time;
use perennial_store::{Batch, Journal, MessageStep, Seq, Version, load, text};

use crate::events::*;

const TEXT: MessageId = MessageId(7);
const JOB: JobId = JobId(8);

fn of_text(event: MessageEvent) -> Event {
    Event { at: Time(20), what: What::Message(TEXT, event) }
}

fn of_job(event: JobEvent) -> Event {
    Event { at: Time(20), what: What::Job(JOB, event) }
}

fn recorded() -> Event {
    let content = Content::Typed {
        text: Box::new(text::body("run the tests").text),
        fingerprint: Fingerprint([1; 32]),
        after_turn: false,
    };
    of_text(MessageEvent::Recorded { to: ADA.into(), from: Sender::Person, content })
}

fn offered() -> Event {
    let session = SessionNumber(1);
    of_text(MessageEvent::Offered {
        session,
        attempt: 1,
        channel: None,
        with: None,
        behind: Duration::ZERO,
    })
}

fn entered() -> Event {
    of_text(MessageEvent::Entered { attempt: 1, is_last: false })
}

fn withdrawn() -> Event {
    of_text(MessageEvent::Withdrawn { by: Withdrawer::Person })
}

/// The journal of Ada and of what is told of her, with one edit by hand, opened again.
fn edited(told: &[Event], edit: &str) -> (tempfile::TempDir, perennial_store::SqliteJournal) {
    let directory = tempfile::tempdir().unwrap();
    {
        let journal = open(directory.path());
        let mut events = vec![hatched(ADA, "ada"), wanted(ADA, 1)];
        events.extend_from_slice(told);
        // What comes after: no edit is at the journal's end.
        events.extend([started(1), started(2), started(3)]);
        append(&journal, Batch::of(events, |_| Version(0).into())).unwrap();
    }
    settle(&open(directory.path()));
    let connection = rusqlite::Connection::open(file(directory.path())).unwrap();
    connection.execute_batch(edit).unwrap();
    let journal = open(directory.path());
    (directory, journal)
}

fn why(fleet: &Fleet) -> Option<Why> {
    Some(message::why(fleet, fleet.messages().get(TEXT)?, Time(99)))
}

const ALTER: &str = "UPDATE event SET payload = payload || ' ' WHERE kind";
const DELETE: &str = "DELETE FROM event WHERE kind";

#[test]
fn a_text_with_a_record_that_is_altered_or_gone_is_held_and_never_offered_again() {
    let heard = of_text(MessageEvent::Heard { attempt: 1 });
    let held = of_text(MessageEvent::Held { attempt: 1, why: Held::Draft, until: Time(21) });
    let typed = [recorded(), offered(), entered()];
    for (told, kinds) in [
        (&typed[..], "= 'message-entered'"),
        (&typed[..], "= 'message-offered'"),
        (&typed[..], "IN ('message-offered', 'message-entered')"),
        (&[recorded(), offered(), entered(), heard][..], "= 'message-heard'"),
        (&[recorded(), withdrawn()][..], "= 'message-withdrawn'"),
        (&[recorded(), offered(), held, withdrawn()][..], "= 'message-withdrawn'"),
        (&typed[..], "= 'message-recorded'"),
    ] {
        for edit in [ALTER, DELETE] {
            let sql = format!("{edit} {kinds}");
            let (_directory, journal) = edited(told, &sql);
            let loaded = load(&journal, NodeId::HOME).unwrap();
            let fleet = &loaded.fleet;
            assert_eq!(why(fleet), Some(Why::Unreadable), "{sql}");
            let entity = perennial_core::entity::Entity::Message(TEXT);
            let plan = fleet.plan(&entity, Time(99));
            assert!(plan.effects.is_empty() && plan.timers.is_empty(), "{sql}: {plan:?}");
            // It is known again when a person takes it back, and by every later load.
            append(
                &journal,
                Batch::of(vec![withdrawn()], |stream| {
                    loaded.versions.get(stream).copied().unwrap_or_default().into()
                }),
            )
            .unwrap();
            assert_eq!(
                load(&journal, NodeId::HOME).unwrap().fleet.messages().iter().count(),
                0,
                "{sql}"
            );
            let step = journal.message(TEXT).unwrap().map(|row| row.step);
            assert_eq!(step, Some(MessageStep::Withdrawn), "{sql}");
        }
    }
}

#[test]
fn a_text_whose_records_are_whole_is_not_held_for_the_damage_of_others() {
    let sql = "DELETE FROM event WHERE kind = 'daemon-started' AND version = 2";
    for told in [&[recorded()][..], &[recorded(), offered(), entered()]] {
        let (_directory, journal) = edited(told, sql);
        let loaded = load(&journal, NodeId::HOME).unwrap();
        assert!(!loaded.unreadable.is_empty());
        assert_ne!(why(&loaded.fleet), Some(Why::Unreadable));
    }
}

/// The record after one that is gone can't be proven: if that is the first of a text, it is listed.
#[test]
fn a_text_whose_first_record_follows_a_hole_is_listed_and_can_be_taken_back() {
    let told = [summarised(ADA, "one"), recorded()];
    let (_directory, journal) = edited(&told, "DELETE FROM event WHERE kind = 'summarised'");
    let loaded = load(&journal, NodeId::HOME).unwrap();
    assert_eq!(why(&loaded.fleet), Some(Why::Unreadable));
    let listed = loaded.fleet.messages().get(TEXT).unwrap();
    assert!(matches!(&listed.content, Content::Typed { text, .. } if text.head == "run the tests"));
}

/// As a text is: it would else be lost in silence.
#[test]
fn a_mail_whose_first_record_cant_be_read_is_listed() {
    for to in [Mailbox::Agent(ADA), Mailbox::Operator, Mailbox::Role(NameKey::of("keeper"))] {
        let mail = Mail {
            thread: TEXT,
            subject: "the build".to_owned(),
            priority: Priority::Normal,
            text: text::body("main is red").text,
            // It is not given any more: the table has no excerpt.
            excerpt: String::new(),
            sender_name: None,
            eldest_ancestor: None,
            role: None,
            recipient: None,
            is_copy: false,
            kind: MailKind::Letter,
        };
        let (from, content) = (Sender::Agent(BOB), Content::Mail(Box::new(mail.clone())));
        let recorded = of_text(MessageEvent::Recorded { to: to.clone(), from, content });
        let told = [recorded, of_text(MessageEvent::Forwarded { to: to.clone() })];
        for edit in [ALTER, DELETE] {
            let sql = format!("{edit} = 'message-recorded'");
            let (_directory, journal) = edited(&told, &sql);
            let loaded = load(&journal, NodeId::HOME).unwrap();
            assert_eq!(why(&loaded.fleet), Some(Why::Unreadable), "{to} {sql}");
            let listed = loaded.fleet.messages().get(TEXT).unwrap();
            assert_eq!((listed.mail(), &listed.to, listed.from), (Some(&mail), &to, from));
            assert_eq!(loaded.fleet.messages().unread(&to), 1);
        }
    }
}

#[test]
fn a_job_with_a_record_that_is_altered_or_gone_ends_unknown_and_is_not_run_again() {
    let (_, wanted) = job::notify(
        &["say".into()],
        &Agent::unborn(ADA, Time(20)),
        "ada".into(),
        Reason::Idle,
        Time(20),
    );
    let ended = JobEvent::Ended { number: 1, end: JobEnd::Code(0), output: String::new() };
    let told = [of_job(wanted), of_job(ended)];
    for edit in [
        "UPDATE event SET payload = payload || ' ' WHERE kind = 'job-ended'",
        "UPDATE event SET stream = x'6a00' WHERE kind = 'job-ended'",
        "DELETE FROM event WHERE kind = 'job-ended'",
        "DELETE FROM event WHERE kind = 'job-ended' OR seq > 4",
    ] {
        let (_directory, journal) = edited(&told, edit);
        let loaded = load(&journal, NodeId::HOME).unwrap();
        let phase = loaded.fleet.jobs().get(JOB).map(|job| job.phase);
        assert_eq!(phase, Some(JobPhase::Ended(JobEnd::Unknown)), "{edit}");
    }
}

#[test]
fn rows_of_texts_that_say_nothing_are_counted_and_the_others_are_listed() {
    let (_directory, journal) = edited(&[recorded()], "UPDATE message SET step = 'flown'");
    let listed = journal.messages(ADA, 9).unwrap();
    assert_eq!((listed.rows.len(), listed.unreadable), (0, 1));
    // The records tell how far it has come: with those whole, it is not held.
    assert_eq!(why(&load(&journal, NodeId::HOME).unwrap().fleet), Some(Why::Starting));
}

#[test]
fn a_place_behind_every_record_has_nothing_after_it_and_nothing_is_wrong_with_that() {
    let (_directory, journal) = edited(&[recorded()], "");
    let head = journal.head().0;
    for after in [head.0, head.0 + 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX] {
        assert_eq!(journal.read(Seq(after), 10).unwrap(), [], "{after}");
    }
    assert_eq!(journal.quarantine(), []);
}

//! The letters that Perennial writes about tasks, and their ids.
//!
//! A letter has its words with it, as they were told: nobody else wrote them, and they are short. What people and agents
//! wrote stands in quotation marks; whoever shows a letter makes it harmless.

use super::{Queue, Task, TaskState};
use crate::id::{AgentId, MessageId, TaskId, derived};
use crate::message::{Content, Mail, MailKind, Mailbox, MessageEvent, Priority, Sender};
use crate::name::Name;
use crate::text::{self, Digest, Text, beginning, ending};
use crate::time::Time;

/// The longest letter.
pub const LETTER_BYTES_MAX: usize = 500;
/// What of somebody's words stands in it.
pub(super) const QUOTED_BYTES_MAX: usize = 120;
/// What of a title stands in a list of tasks.
pub(super) const TITLE_BYTES: usize = 42;
/// At most this many tasks are named in one letter.
pub const NAMED_MAX: usize = 4;

/// What a letter says.
pub struct Words {
    pub subject: String,
    pub text: String,
}

/// Its id follows from the task, the moment and its place in the batch.
pub fn id(task: TaskId, at: Time, place: u32) -> MessageId {
    MessageId(derived(task.0, at, place))
}

pub fn letter(
    (task, at): (TaskId, Time),
    place: u32,
    to: Mailbox,
    words: &Words,
) -> (MessageId, MessageEvent) {
    let id = id(task, at, place);
    let text = beginning(&words.text, LETTER_BYTES_MAX);
    let head = text.lines().next().unwrap_or_default().to_owned();
    let mail = Mail {
        thread: id,
        subject: beginning(&words.subject, QUOTED_BYTES_MAX),
        priority: Priority::Normal,
        text: Text { digest: Digest::WITH_ITS_EVENT, bytes: text.len() as u64, head },
        excerpt: text,
        sender_name: None,
        eldest_ancestor: None,
        role: None,
        recipient: None,
        is_copy: false,
        kind: MailKind::OfTask { task },
    };
    let (from, content) = (Sender::Perennial, Content::Mail(Box::new(mail)));
    (id, MessageEvent::Recorded { to, from, content })
}

/// Whether a mail has its words with it.
pub fn is_ours(mail: &Mail) -> bool {
    mail.text.digest == Digest::WITH_ITS_EVENT
}

pub fn given(task: &Task, by: Sender) -> Words {
    let who = match by {
        Sender::Person => "The operator gave you a task",
        Sender::Perennial => "Your next task",
        Sender::Agent(_) => "You were given a task",
    };
    let step = match task.open_step() {
        Some((at, step)) => format!(" Open step {at}: {}.", quoted(&step.text)),
        None => String::new(),
    };
    Words {
        subject: format!("task: {}", task.brief.title),
        text: format!(
            "{who}: {} {}.{step}\nThe tool `task` shows it (action show), marks steps (step) and claims it (done). \
             Without tools: `perennial task show {}`.",
            task.id,
            quoted(&task.brief.title),
            task.id
        ),
    }
}

/// To whoever had a task that lies on another queue now.
pub fn moved(task: &Task, by: Sender) -> Words {
    let who = match by {
        Sender::Person => "The operator",
        Sender::Perennial => "Perennial",
        Sender::Agent(_) => "Another agent",
    };
    let to = match (&task.state, &task.queue) {
        (TaskState::Taken, _) | (_, Queue::Agent(_)) => "to another agent".to_owned(),
        (_, Queue::Role(role)) => format!("to the queue of the role {role}"),
        (_, Queue::Nobody) => "back to the queue of its project".to_owned(),
    };
    Words {
        subject: format!("no longer yours: {}", task.brief.title),
        text: format!(
            "{who} moved {} {} {to}: it is no longer yours. Stop working on it.\nIf whoever goes on should know \
             something, write it down with the tool `task` (action note).",
            task.id,
            quoted(&task.brief.title)
        ),
    }
}

pub fn returned(task: &Task, by: Sender) -> Words {
    let on = match task.state {
        TaskState::Taken => "You are on it again.",
        TaskState::Open
        | TaskState::Claimed(_)
        | TaskState::Blocked(_)
        | TaskState::Split
        | TaskState::Verified(_)
        | TaskState::Dropped => "It lies on your queue.",
    };
    let round = format!("round {} of {}", task.rounds, task.brief.rounds_max);
    let text = match (by, &task.last_check) {
        (Sender::Perennial, Some(check)) => {
            let named = match &check.check {
                Some(check) => format!("The check {check} of {}", task.id),
                None => format!("The command that checks {}", task.id),
            };
            let output = match check.output.trim() {
                "" => "It printed nothing.",
                _ => "The end of its output:\n",
            };
            let said = format!("{named} failed ({}, {round}). {on} {output}", check.end.words(),);
            let room = LETTER_BYTES_MAX.saturating_sub(said.len());
            format!("{said}{}", ending(check.output.trim(), room))
        }
        (Sender::Perennial | Sender::Person | Sender::Agent(_), _) => format!(
            "{} was not accepted as done ({round}). {on} Reason: {}",
            task.id,
            quoted(&task.reason)
        ),
    };
    Words { subject: format!("not done: {}", task.brief.title), text }
}

pub fn awaits_word(task: &Task, why: &str) -> Words {
    Words {
        subject: format!("to verify: {}", task.brief.title),
        text: format!(
            "{} is claimed to be done and waits for your word{why}.{}\n\
             `perennial task verify {}` accepts it, with --reject -m REASON it goes back; agents use the tool `task`.",
            task.id,
            said(&task.reason),
            task.id
        ),
    }
}

/// What its worker said, if anything.
fn said(reason: &str) -> String {
    match reason.trim().is_empty() {
        true => String::new(),
        false => format!(" What was said of it: {}.", quoted(reason)),
    }
}

pub fn gave_up(task: &Task) -> Words {
    Words {
        subject: format!("blocked: {}", task.brief.title),
        text: format!(
            "{} was given back {} times and is blocked now. Last reason: {}.\n`perennial task show {}` has the end of the \
             last check's output; `task assign`, `reopen` or `drop` go on from here.",
            task.id,
            task.rounds,
            quoted(&task.reason),
            task.id
        ),
    }
}

pub fn blocked_outside(task: &Task) -> Words {
    Words {
        subject: format!("blocked: {}", task.brief.title),
        text: format!(
            "{} waits for something outside: {}.\n`perennial task show {}` shows it.",
            task.id,
            quoted(&task.reason),
            task.id
        ),
    }
}

pub fn split_has_dependants(task: &Task, parts: usize) -> Words {
    Words {
        subject: format!("split: {}", task.brief.title),
        text: format!(
            "{} was split into {parts} parts, and other tasks wait for it.\n`perennial task show {}` shows them.",
            task.id, task.id
        ),
    }
}

pub fn scope_grew(task: &Task) -> Words {
    Words {
        subject: format!("outgrew its estimate: {}", task.brief.title),
        text: format!(
            "{} has taken more than twice its estimate.\n`perennial task show {}` has both figures.",
            task.id, task.id
        ),
    }
}

pub fn open_again(task: &Task) -> Words {
    let nobody = match task.worker {
        Some(_) => "whoever did it is not there any more",
        None => "nobody is on it",
    };
    Words {
        subject: format!("open again: {}", task.brief.title),
        text: format!(
            "{} was found not to be done, and {nobody}. It is open again. Reason: {}",
            task.id,
            quoted(&task.reason)
        ),
    }
}

pub fn parts_over(task: &Task) -> Words {
    Words {
        subject: format!("its parts are over: {}", task.brief.title),
        text: format!(
            "Every part of {} is over. {}",
            task.id,
            match &task.brief.check {
                Some(_) => "It has a check of its own: claim it (`task done`), and the check runs.",
                None =>
                    "All were dropped: finish it and claim it (`task done`), or have it dropped.",
            }
        ),
    }
}

/// Work that somebody left; `is_first` where nobody was told of it before.
pub fn left<'t>(
    (agent, name): (AgentId, Option<&Name>),
    tasks: impl ExactSizeIterator<Item = &'t Task>,
    is_first: bool,
) -> Words {
    let count = tasks.len();
    let who = name.map_or_else(|| agent.to_string(), ToString::to_string);
    let (noun, verb) = if count == 1 { ("task", "is") } else { ("tasks", "are") };
    let mut text = match is_first {
        true => format!("{who} was buried and left {count} unfinished {noun} to you:\n"),
        false => format!("{count} {noun} of {who}, who was buried, {verb} still open:\n"),
    };
    for task in tasks.take(NAMED_MAX) {
        text.push_str(&format!("{} {}\n", task.id, text::quoted(&task.brief.title, TITLE_BYTES)));
    }
    if count > NAMED_MAX {
        text.push_str(&format!("and {} more: `perennial loops`\n", count - NAMED_MAX));
    }
    text.push_str("Take, assign or drop each; until then you are told again.");
    Words { subject: format!("open loops of {who}: {count}"), text }
}

/// Somebody's words in a letter.
pub(super) fn quoted(words: &str) -> String {
    text::quoted(words, QUOTED_BYTES_MAX)
}

//! Why a signal is not sent, an escalation is not opened, or a situation is none. Each says what was expected.

use perennial_api::Problem;
use perennial_core::signal::{FieldType, Need, PAYLOAD_BYTES_MAX, Party, PayloadFault, SignalKind};
use perennial_core::situation::{SITUATION_BYTES_MAX, SITUATIONS_MAX};

use crate::daemon::surface::checks::sanitised;
use crate::similar::{did_you_mean, similar};

pub fn unknown_kind(word: &str) -> Problem {
    let words: Vec<&str> = SignalKind::ALL.iter().map(|kind| kind.word()).collect();
    let upper = word.to_ascii_uppercase();
    let why = match similar(&upper, words.iter().copied())[..] {
        [] => format!("the kinds are {}", words.join(", ")),
        ref near => did_you_mean(near),
    };
    Problem::new(400, "unknown-signal", format!("no kind of signal '{}'", sanitised(word)))
        .because(why)
        .next("`perennial signal schema` lists the kinds with their fields")
}

pub(super) fn source(kind: SignalKind) -> Problem {
    let why = match kind.table().source {
        Party::Spawn => "only Perennial itself sends it, when an agent's session is about to begin",
        Party::Runner => "its source is the runner: an agent, about itself",
        Party::Guardian => {
            "its source is the guardian of the agent that it goes to: an ancestor of it, or the operator"
        }
    };
    let title = format!("{} is not yours to send", kind.word());
    Problem::new(403, "signal-source", title).because(why).next(schema(kind))
}

pub(super) fn target(kind: SignalKind) -> Problem {
    let why = match kind.table().target {
        Party::Spawn | Party::Runner => "it goes to an agent, which has to be named",
        Party::Guardian => {
            "it goes to the guardian: the sender's parent or another ancestor, or the operator"
        }
    };
    let title = format!("{} does not go there", kind.word());
    Problem::new(400, "signal-target", title).because(why).next(match kind.table().target {
        Party::Spawn | Party::Runner => "name the agent with --to",
        Party::Guardian => "name the target with --to: guardian, an ancestor or operator",
    })
}

pub(super) fn payload(kind: SignalKind, fault: &PayloadFault) -> Problem {
    let names: Vec<&str> = kind.table().fields.iter().map(|field| field.name).collect();
    let why = match fault {
        PayloadFault::Unknown { field } => {
            format!("it has no field '{}'; its fields are {}", sanitised(field), names.join(", "))
        }
        PayloadFault::Missing { field } => {
            format!("the field '{field}' is missing or empty: {}", expected(kind, field))
        }
        PayloadFault::WrongType { field, found } => {
            format!("'{field}' is {found}; expected {}", expected(kind, field))
        }
        PayloadFault::TooLong { field } => {
            format!("'{field}' is too long; expected {}", expected(kind, field))
        }
        PayloadFault::TooLarge { bytes } => {
            format!(
                "its fields have {bytes} bytes together, at most {PAYLOAD_BYTES_MAX} are allowed"
            )
        }
        PayloadFault::OtherIdentity { expected } => {
            format!("'identity_name' names another agent; expected '{expected}'")
        }
    };
    Problem::new(400, "signal-payload", format!("invalid payload for {}", kind.word()))
        .because(why)
        .next(schema(kind))
}

fn schema(kind: SignalKind) -> String {
    format!("`perennial signal schema {}` shows what it takes", kind.word())
}

fn expected(kind: SignalKind, name: &str) -> String {
    let field = kind.table().fields.iter().find(|field| field.name == name);
    let value = match field.map(|field| field.holds) {
        Some(FieldType::Text(most)) => format!("a text of at most {most} characters"),
        Some(FieldType::Moment) => "a time such as 2026-02-26T10:00:00Z".to_owned(),
        Some(FieldType::Count(most)) => format!("a whole number up to {most}"),
        Some(FieldType::List(most, each)) => {
            format!("a list of at most {most} texts of at most {each} characters")
        }
        Some(FieldType::Choice(words)) => either(words),
        None => "nothing".to_owned(),
    };
    match field.map(|field| field.need) {
        Some(Need::Nullable) => format!("{value}, or null where there is none"),
        Some(Need::Required | Need::Optional) | None => value,
    }
}

/// The words of a choice: a, b or c.
fn either(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        Some(_) | None => words.join(", "),
    }
}

pub fn no_such_signal(id: &str) -> Problem {
    Problem::new(404, "no-such-signal", format!("no signal {}", sanitised(id)))
        .because("no signal has this id")
        .next("`perennial signal ls` lists signals")
}

pub fn bad_step(to: &str) -> Problem {
    Problem::new(400, "bad-address", format!("can't escalate to '{}'", sanitised(to)))
        .because("an escalation goes to a role, to the parent of the agent that escalates, or to the operator")
        .next("use `role:architect`, `parent` or `operator`")
}

pub fn no_parent() -> Problem {
    Problem::new(400, "bad-address", "you have no parent to escalate to")
        .because("only an agent has one")
        .next("use `role:architect` or `operator`")
}

pub fn escalation_subject() -> Problem {
    Problem::new(400, "bad-subject", "an escalation needs a subject on one line")
        .because("the subject is empty, or has a line end or another control character in it")
        .next("say in a few words what it is about; the rest goes into the text")
}

pub fn escalation_too_long(bytes: usize, limit: usize) -> Problem {
    let title = format!("the subject is too long: {bytes} bytes");
    Problem::new(413, "mail-too-long", title)
        .because(format!("the subject of an escalation has at most {limit} bytes"))
        .next("put the rest into the text")
}

pub fn no_such_escalation(id: &str) -> Problem {
    Problem::new(404, "no-such-escalation", format!("no escalation {}", sanitised(id)))
        .because("no escalation has this id")
        .next("`perennial escalations` lists escalations")
}

pub fn bad_situation(word: &str) -> Problem {
    Problem::new(400, "bad-situation", format!("invalid situation '{}'", sanitised(word)))
        .because(format!(
            "a situation is a word of at most {SITUATION_BYTES_MAX} characters: letters from a to z, digits and \
             - _ . : / #; it does not begin with -"
        ))
        .next("choose another word, such as PRD-AUTH-001")
}

pub fn many_situations(count: usize) -> Problem {
    Problem::new(400, "bad-situation", format!("{count} situations are too many"))
        .because(format!("an agent has at most {SITUATIONS_MAX}"))
        .next("name fewer; the first is the primary one")
}

pub fn bad_since(text: &str) -> Problem {
    Problem::new(400, "bad-time", format!("invalid time '{}'", sanitised(text)))
        .because("a time is written as in 2026-11-18T14:30:00Z")
        .next("use RFC 3339")
}

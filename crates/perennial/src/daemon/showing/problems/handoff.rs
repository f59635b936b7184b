//! Why a session can't be handed off.

use perennial_api::Problem;
use perennial_core::handoff::{DEADLINE_MOST, NOTES_BYTES_MAX, SUBJECT_BYTES_MAX};
use perennial_core::reason::Verb;

pub fn bare_command(agent: &str, verb: Verb) -> Problem {
    Problem::new(409, "bare-command", format!("{agent} can't use `{}`", verb.word()))
        .because("a bare command has no conversation, and can't be asked to save its work")
        .next(format!("`perennial checkpoint {agent}` records where its work stands"))
}

pub fn none(agent: &str) -> Problem {
    Problem::new(409, "no-handoff", format!("no handoff of {agent} can be finished"))
        .because("none was asked for, or it is over")
        .next(format!("`perennial show {agent}` tells where its session stands"))
}

/// An empty text, such as that of a variable that is not set, is none of a handoff.
pub fn empty(what: &str) -> Problem {
    let verb = if what == "notes" { "are" } else { "is" };
    Problem::new(400, "handoff-empty", format!("the {what} {verb} empty"))
        .because("nobody was asked to hand off")
        .next(format!("write the {what}, or leave the option out"))
}

pub fn long_subject(bytes: usize) -> Problem {
    Problem::new(413, "handoff-too-long", format!("the subject is too long: {bytes} bytes"))
        .because(format!(
            "the subject of a handoff has at most {SUBJECT_BYTES_MAX} bytes, on one line"
        ))
        .next("shorten it; details go into the notes")
}

pub fn long_notes(bytes: usize) -> Problem {
    Problem::new(413, "handoff-too-long", format!("the notes are too long: {bytes} bytes"))
        .because(format!("the notes of a handoff have at most {NOTES_BYTES_MAX} bytes"))
        .next("put the rest into a checkpoint or a file, and name that in the notes")
}

pub fn bad_deadline(seconds: u64) -> Problem {
    Problem::new(400, "bad-deadline", format!("invalid deadline: {seconds} s"))
        .because(format!("a session has 1 to {} s to save its work", DEADLINE_MOST.as_secs()))
        .next("give a time in that range")
}

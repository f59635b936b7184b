//! Why a checkpoint can't be taken or shown.

use perennial_api::Problem;
use perennial_core::checkpoint::{ENTRIES_MAX, SAID_BYTES_MAX, SaidFault, SaidField};

/// What is said is not within its bounds; nothing of it was recorded.
pub fn fault(fault: SaidFault) -> Problem {
    let problem = |title: String| Problem::new(400, "bad-checkpoint", title);
    let (title, why) = match fault {
        SaidFault::Blank { field } => {
            let title = match field {
                // `checkpoint --summary` becomes one.
                SaidField::Note | SaidField::Summary => "the summary is empty".to_owned(),
                SaidField::Decisions
                | SaidField::Knowledge
                | SaidField::Questions
                | SaidField::Instructions => format!("an entry of `{}` is empty", field.word()),
            };
            (title, "an empty text says nothing".to_owned())
        }
        SaidFault::TooLong { field, bytes, most } => {
            let title = format!("a text of `{}` is too long: {bytes} bytes", field.word());
            (title, format!("at most {most} bytes are allowed"))
        }
        SaidFault::TooMany { field, count } => {
            let title = format!("`{}` has {count} entries", field.word());
            (title, format!("at most {ENTRIES_MAX} are allowed"))
        }
        SaidFault::TooLarge { bytes } => {
            let title = format!("the checkpoint's texts have {bytes} bytes together");
            (title, format!("at most {SAID_BYTES_MAX} bytes are allowed"))
        }
    };
    problem(title).because(why).next(match fault {
        SaidFault::Blank { .. } => "leave it out, or say something",
        SaidFault::TooLong { .. } | SaidFault::TooMany { .. } | SaidFault::TooLarge { .. } => {
            "shorten it; longer notes belong in a file of the work tree"
        }
    })
}

pub fn outdated(agent: &str) -> Problem {
    let title = format!("another checkpoint of {agent} was taken at the same time");
    Problem::new(409, "checkpoint-outdated", title)
        .because("this one was made from what was known before it")
        .next("try again")
}

pub fn none(agent: &str) -> Problem {
    Problem::new(404, "no-checkpoint", format!("{agent} has no checkpoints"))
        .because("none was taken of its work yet")
        .next(format!("`perennial checkpoint {agent}` takes one"))
}

pub fn no_such(agent: &str, number: u32, newest: u32) -> Problem {
    Problem::new(404, "no-checkpoint", format!("{agent} has no checkpoint {number}"))
        .because(format!("its checkpoints are numbered 1 to {newest}"))
        .next(format!("`perennial checkpoints {agent}` lists them"))
}

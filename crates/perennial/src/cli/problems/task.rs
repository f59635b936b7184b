//! Problems of check lists that are imported as tasks.

use perennial_api::Problem;

use super::{failed, usage};

pub fn no_text() -> Problem {
    usage("no-text", "there is no text")
        .next("give it with -m, or - to read it from standard input")
}

pub fn text_too_long(source: &str) -> Problem {
    usage("too-long", "the text is too long")
        .because(format!("{source} has more than 64 KiB"))
        .next("put the rest into a file, and name that in the text")
}

pub fn text_not_text(source: &str) -> Problem {
    failed("not-text", format!("can't read {source}"))
        .because("it is not UTF-8 text")
        .next("give UTF-8 text")
}

pub fn nothing_to_import() -> Problem {
    usage("no-text", "there are no check-list items to import")
        .because("a task is a line such as `- [ ] fix the parser`")
        .next("name a file with such lines: perennial task import TODO")
}

pub fn list_too_long(source: &str) -> Problem {
    usage("too-long", "the check list is too long")
        .because(format!("{source} has more than 1 MiB"))
        .next("import it in parts")
}

pub fn list_not_text(source: &str) -> Problem {
    failed("not-text", format!("can't import {source}"))
        .because("it is not UTF-8 text")
        .next("name a Markdown file")
}

/// An empty word is the end of no id.
pub fn no_such_task() -> Problem {
    Problem::new(404, "no-such-task", "no task ''")
        .because("a task is named by its id, or by at least the last 8 characters of it")
        .next("`perennial task ls --all` lists them")
}

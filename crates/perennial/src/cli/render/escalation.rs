//! Escalations for reading in a terminal. Subjects are others' words: they are escaped and quoted.

use perennial_api::escalation::Escalation;

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table};
use super::text::{plain, quotation};

/// The table of `escalations`.
pub fn list(all: &[Escalation], canvas: &Canvas<'_>) -> String {
    if all.is_empty() {
        return "no escalations\n".to_owned();
    }
    let column = |title, importance, narrowest, clip, cell: &dyn Fn(&Escalation) -> Cell| Column {
        title,
        importance,
        narrowest,
        clip,
        cells: all.iter().map(cell).collect(),
    };
    let columns = vec![
        column("ID", 4, 30, Clip::Never, &|one| Cell::ink(plain(&one.id), Ink::Faint)),
        column("AGE", 6, 4, Clip::Never, &|one| Cell::new(canvas.clock.ago(&one.at))),
        column("SEVERITY", 8, 8, Clip::Never, &|one| Cell::new(plain(&one.severity))),
        column("STATE", 9, 6, Clip::Never, &|one| Cell::ink(plain(&one.state), Ink::Strong)),
        column("BY", 7, 8, Clip::End, &|one| Cell::new(plain(&one.from))),
        column("TOLD", 5, 8, Clip::End, &|one| Cell::new(plain(&one.steps.join(", ")))),
        column("SUBJECT", 10, 16, Clip::End, &|one| Cell::new(quotation(&one.subject))),
    ];
    table(columns, canvas.width, canvas.paint)
}

/// What `escalate` answers.
pub fn escalated(one: &Escalation, canvas: &Canvas<'_>) -> String {
    let to = one.steps.last().map(|step| plain(step)).unwrap_or_default();
    let next = match &one.raised_at {
        Some(at) => format!("; raised at {} unless it is seen", canvas.clock.time(at)),
        None => String::new(),
    };
    format!("escalated to {to}{next}: {}\n", plain(&one.id))
}

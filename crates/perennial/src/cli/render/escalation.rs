//! Escalations for reading in a terminal. Subjects are others' words: they are escaped and quoted.

use perennial_api::escalation::Escalation;
use perennial_core::vocabulary::Vocabulary;

use super::paint::Ink;
use super::roster::Canvas;
use super::table::{Cell, Clip, Column, ids, table};
use super::text::{plain, quotation};

pub const NONE: &str = "no escalations\n";

/// The table of `escalations`, with at most this many rows. `options` ask for the next page.
pub fn list(found: &[Escalation], most: usize, options: &str, canvas: &Canvas<'_>) -> String {
    let all = &found[..found.len().min(most)];
    let Some(last) = all.last() else {
        return NONE.to_owned();
    };
    let column = |title, importance, narrowest, clip, cell: &dyn Fn(&Escalation) -> Cell| Column {
        title,
        importance,
        narrowest,
        clip,
        cells: all.iter().map(cell).collect(),
    };
    let columns = vec![
        ids(all.iter().map(|one| one.id.as_str())),
        column("AGE", 6, 4, Clip::Never, &|one| Cell::new(canvas.clock.ago(&one.at))),
        column("SEVERITY", 8, 8, Clip::Never, &|one| Cell::new(plain(&one.severity))),
        column("STATE", 9, 6, Clip::Never, &|one| Cell::ink(plain(&one.state), Ink::Strong)),
        column("BY", 7, 8, Clip::End, &|one| Cell::new(plain(&one.from))),
        column("TOLD", 5, 8, Clip::End, &|one| Cell::new(plain(&one.steps.join(", ")))),
        column("SUBJECT", 10, 16, Clip::End, &|one| Cell::new(quotation(&one.subject))),
    ];
    let mut shown = table(columns, canvas.width, canvas.paint);
    if found.len() > all.len() {
        let more = format!("more:  perennial escalations {options}--before {}\n", plain(&last.id));
        shown.push_str(&canvas.paint.ink(Ink::Faint, &more));
    }
    shown
}

/// What `escalate` answers.
pub fn escalated(one: &Escalation, vocabulary: Option<Vocabulary>, canvas: &Canvas<'_>) -> String {
    let to = one.steps.last().map(|step| match vocabulary {
        Some(vocabulary) => plain(&vocabulary.mailbox(step)),
        None => plain(step),
    });
    let to = to.unwrap_or_default();
    let next = match &one.raised_at {
        Some(at) => format!("; raised at {} unless it is seen", canvas.clock.time(at)),
        None => String::new(),
    };
    format!("escalated to {to}{next}: {}\n", plain(&one.id))
}

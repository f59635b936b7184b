//! Not a measure of time: stretches of real work that were labelled by hand, and the phase that is found for each. Prints a
//! table of each set, rows by label: of the stretches that the rules were written with, and of those that they were not.

use anyhow::Result;

use super::stretch::{self, Stretch};
use crate::table::Line;
use crate::workshop::Workshop;

/// As many of a hundred should be found.
const GOAL_PERCENT: usize = 75;

pub fn phases(_: &Workshop, _: &[&str], lines: &mut Vec<Line>) -> Result<()> {
    let goal = format!("≥ {GOAL_PERCENT} %");
    told("labelled stretches", &goal, &stretch::known(), lines);
    told("stretches held out", &goal, &stretch::held_out(), lines);
    told("stretches drawn later", &goal, &stretch::drawn_later(), lines);
    told("stretches drawn last", &goal, &stretch::drawn_last(), lines);
    Ok(())
}

fn told(what: &str, goal: &str, stretches: &[Stretch], lines: &mut Vec<Line>) {
    let (right, count) = (stretch::right(stretches), stretches.len());
    println!("\n{what}\n{}\n\n{}", stretch::table(stretches), stretch::wrong(stretches));
    lines.push(Line {
        row: "phases",
        what: format!("phases of {count} {what} that are found"),
        ours: format!("{right}"),
        peer: "–".to_owned(),
        ratio: None,
        goal: goal.to_owned(),
        reached: right * 100 >= count * GOAL_PERCENT,
    });
}

//! Pictures of the state machine: every legal move is in exactly one of them.
//!
//! One picture with all moves would be a ball of wool, so there is one for each part of a life.

use std::collections::BTreeMap;
use std::fmt::Write;

use perennial_core::state::{Cause, State, moves};

/// A part of a life that makes one picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Life,
    Doubt,
    Ends,
    Handoff,
    Rest,
    Gate,
}

impl Part {
    pub const ALL: [Part; 6] =
        [Part::Life, Part::Ends, Part::Doubt, Part::Rest, Part::Handoff, Part::Gate];

    pub fn title(self) -> &'static str {
        match self {
            Part::Life => "Birth and work",
            Part::Ends => "Ends of sessions, retries, stop and wake",
            Part::Doubt => "Doubt, and agents that a lead reports",
            Part::Rest => "Tasks and restarts of the machine",
            Part::Handoff => "Handoff",
            Part::Gate => "Freezing, verdicts, burial",
        }
    }
}

fn part(cause: Cause) -> Part {
    match cause {
        Cause::Announced
        | Cause::StartLimit
        | Cause::DialogSeen
        | Cause::NeverNamed
        | Cause::TurnBegan
        | Cause::BackgroundWork
        | Cause::TurnEnded => Part::Life,
        Cause::ConfirmationLost
        | Cause::SeenWorking
        | Cause::SeenWaiting
        | Cause::Unlisted
        | Cause::Listed
        | Cause::Unreported => Part::Doubt,
        Cause::EndedFinished
        | Cause::EndedRestartOff
        | Cause::EndedCrashed
        | Cause::EndedAgain
        | Cause::Retry
        | Cause::GaveUp
        | Cause::Wake
        | Cause::Stop => Part::Ends,
        Cause::HandoffAsked | Cause::HandedOff => Part::Handoff,
        Cause::Rested
        | Cause::Completed
        | Cause::TaskQueued
        | Cause::RebootedBusy
        | Cause::RebootedIdle => Part::Rest,
        Cause::Frozen | Cause::Approved | Cause::Restarted | Cause::Reaped | Cause::Buried => {
            Part::Gate
        }
    }
}

/// Where the moves of one part lead from a state, with their causes.
type Ways = BTreeMap<State, Vec<&'static str>>;

/// The picture of one part, as a Mermaid block.
pub fn mermaid(wanted: Part) -> String {
    let mut ways: BTreeMap<State, Ways> = BTreeMap::new();
    for (from, cause, to) in moves().filter(|(_, cause, _)| part(*cause) == wanted) {
        ways.entry(from).or_default().entry(to).or_default().push(cause.word());
    }
    let mut text = String::from("```mermaid\nstateDiagram-v2\n");
    if wanted == Part::Life {
        text += "    [*] --> hatching: spawn\n";
    }
    let mut edges = String::new();
    for (states, ways) in grouped(&ways) {
        let from = node(&states);
        // A group needs a name of its own, and Mermaid takes no hyphen in the name of a state.
        if label(&states) != from {
            let _ = writeln!(text, "    state \"{}\" as {from}", label(&states));
        }
        for (to, causes) in ways {
            let _ = writeln!(edges, "    {from} --> {}: {}", node(&[*to]), causes.join(", "));
        }
    }
    text + &edges + "```\n"
}

/// States that nothing leads to and from which the same ways lead are one box.
fn grouped(ways: &BTreeMap<State, Ways>) -> Vec<(Vec<State>, &Ways)> {
    let mut groups: Vec<(Vec<State>, &Ways)> = Vec::new();
    let is_target = |state: &State| ways.values().any(|ways| ways.contains_key(state));
    for (state, own) in ways {
        let group = groups
            .iter_mut()
            .find(|(states, ways)| !is_target(state) && !is_target(&states[0]) && *ways == own);
        match group {
            Some((states, _)) => states.push(*state),
            None => groups.push((vec![*state], own)),
        }
    }
    groups
}

fn label(states: &[State]) -> String {
    states.iter().map(|state| state.word()).collect::<Vec<_>>().join(", ")
}

fn node(states: &[State]) -> String {
    label(states).replace(", ", "_").replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many moves a picture shows: states of the box, times causes of the arrow.
    fn drawn(picture: &str) -> usize {
        let boxes: BTreeMap<&str, usize> = picture
            .lines()
            .filter_map(|line| line.trim().strip_prefix("state \"")?.split_once("\" as "))
            .map(|(label, node)| (node, label.matches(", ").count() + 1))
            .collect();
        picture
            .lines()
            .filter(|line| !line.contains("[*]"))
            .filter_map(|line| line.trim().split_once(" --> "))
            .map(|(from, rest)| boxes.get(from).unwrap_or(&1) * (rest.matches(", ").count() + 1))
            .sum()
    }

    #[test]
    fn every_move_is_in_exactly_one_picture() {
        let sum: usize = Part::ALL.into_iter().map(|part| drawn(&mermaid(part))).sum();
        assert_eq!(sum, moves().count());
    }
}

//! Where an agent's work stands, for `show`: its phase, those before it, and what was found.

use perennial_api::agent::Agent;
use perennial_api::work::{Findings, PhaseSpan, TestRun, Work};

use super::handoffs;
use super::text::plain;
use super::time::LocalTime;

/// Phases and files that are listed; `--json` has all that are kept.
const SPANS: usize = 8;
const FILES: usize = 6;

/// Rows of the card: a label and its text, which is harmless.
pub fn rows(agent: &Agent, clock: &LocalTime) -> Vec<(&'static str, String)> {
    // A command that shows nothing of its work may have none.
    let is_silent = |work: &&Work| work.source == "begun" && agent.harness == "command";
    let Some(work) = agent.work.as_ref().filter(|work| !is_silent(work)) else {
        return Vec::new();
    };
    let mut rows = vec![("phase", phase(work, clock))];
    let earlier = work.phases.split_last().map_or(&[][..], |(_, earlier)| earlier);
    if !earlier.is_empty() {
        rows.push(("before", before(earlier, clock)));
    }
    if let Some(found) = &work.found {
        rows.extend(of(found, clock));
    }
    rows.extend(agent.handoff_quality.as_ref().map(|one| ("took over", handoffs::in_short(one))));
    rows
}

fn phase(work: &Work, clock: &LocalTime) -> String {
    let why = match (&work.indicator_text, work.source.as_str()) {
        (Some(text), _) => format!(": {}", plain(text)),
        (None, "reported") => ": reported by the agent".to_owned(),
        (None, _) => String::new(),
    };
    format!("{} for {}{why}", plain(&work.phase), clock.ago(&work.since))
}

fn before(spans: &[PhaseSpan], clock: &LocalTime) -> String {
    let left_out = spans.len().saturating_sub(SPANS);
    let one =
        |span: &PhaseSpan| format!("{} {}", clock.second(&span.entered_at), plain(&span.phase));
    let shown: Vec<String> = spans[left_out..].iter().map(one).collect();
    let more = if left_out > 0 { format!("{left_out} earlier, ") } else { String::new() };
    format!("{more}{}", shown.join(", "))
}

fn of(found: &Findings, clock: &LocalTime) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    if let Some(run) = &found.tests {
        rows.push(("tests", tests(run, clock)));
    }
    if !found.edited.is_empty() {
        rows.push(("edited", files(&found.edited)));
    }
    if let Some(at) = &found.committed_at {
        rows.push(("committed", format!("{} ago", clock.ago(at))));
    }
    if let Some(call) = found.last_call.as_ref().filter(|call| call.is_open) {
        let text = format!("{} {}", plain(&call.tool), plain(&call.about));
        rows.push(("running", format!("{} (for {})", text.trim(), clock.ago(&call.at))));
    }
    rows
}

fn tests(run: &TestRun, clock: &LocalTime) -> String {
    let failing = match &run.failing {
        Some(test) => format!(", first {}", plain(test)),
        None => String::new(),
    };
    let (outcome, command) = (plain(&run.outcome), plain(&run.command));
    format!("{outcome}{failing} ({command}, {} ago)", clock.ago(&run.at))
}

/// The newest first.
fn files(edited: &[String]) -> String {
    let mut shown: Vec<String> = edited.iter().rev().take(FILES).map(|file| plain(file)).collect();
    let more = edited.len().saturating_sub(FILES);
    shown.extend((more > 0).then(|| format!("and {more} more")));
    shown.join(", ")
}

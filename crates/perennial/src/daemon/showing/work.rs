//! Where an agent's work stands, as the surface shows it.

use perennial_api::work as wire;
use perennial_core::agent::Agent;
use perennial_core::id::SessionNumber;
use perennial_core::work::{Findings, LastCall, PhaseSpan, TestRun};

use super::sentences::work::indicated;
use crate::daemon::time::rfc3339;

/// The phase alone, as lists have it.
pub fn phase(agent: &Agent) -> wire::Work {
    let work = &agent.work;
    let indicator = work.source.indicator();
    wire::Work {
        phase: work.phase.word().to_owned(),
        since: rfc3339(work.since),
        source: work.source.word().to_owned(),
        indicator: indicator.map(|indicator| indicator.word().to_owned()),
        indicator_text: indicator.map(|indicator| indicated(indicator).to_owned()),
        ..wire::Work::default()
    }
}

/// The phase with those before it.
pub fn phases(agent: &Agent) -> wire::Work {
    wire::Work { phases: agent.work.spans().iter().map(span).collect(), ..phase(agent) }
}

pub fn span(span: &PhaseSpan) -> wire::PhaseSpan {
    wire::PhaseSpan {
        phase: span.phase.word().to_owned(),
        entered_at: rfc3339(span.entered_at),
        left_at: span.left_at.map(rfc3339),
    }
}

/// What was found of a session's work.
pub fn findings(number: SessionNumber, found: Findings) -> wire::Findings {
    let Findings { edited, tests, committed_at, last_words, last_call } = found;
    let run = |TestRun { command, outcome, failing, at }: TestRun| wire::TestRun {
        command,
        outcome: outcome.word().to_owned(),
        failing,
        at: rfc3339(at),
    };
    let call = |LastCall { tool, about, is_open, at }: LastCall| {
        let at = rfc3339(at);
        wire::LastCall { tool, about, is_open, at }
    };
    wire::Findings {
        session: number.0,
        edited,
        tests: tests.map(run),
        committed_at: committed_at.map(rfc3339),
        last_words,
        last_call: last_call.map(call),
    }
}

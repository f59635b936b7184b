//! The phase that an agent's work is in, since when, by whose word, and those before it.
//!
//! Pure. What was seen arrives with the date of its source; the moment of an event is when it was recorded.
//!
//! Invariants
//! - W1  Work begins in `investigation` when its agent is hatched, before any session runs.
//! - W2  A phase that the agent reports holds until evidence that is dated later shows another one.
//! - W3  Evidence changes something once: what is dated no later than the last that counted says nothing. So a transcript
//!   that is read again changes no phase.
//! - W4  Spans follow one another without gaps; the oldest leave first, beyond `HISTORY_MAX`.

use serde::{Deserialize, Serialize};

use super::{Indicator, PhaseSpan, WorkPhase};
use crate::agent::Agent;
use crate::event::AgentEvent;
use crate::id::SessionNumber;
use crate::time::Time;

/// Phases that are kept, besides the one that the work is in.
pub const HISTORY_MAX: usize = 50;

/// What happens to an agent's work without a word of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkEvent {
    /// What the session did or said shows another phase.
    PhaseFound {
        number: SessionNumber,
        phase: WorkPhase,
        indicator: Indicator,
        /// When that was, by its source.
        seen_at: Time,
    },
}

/// By whose word work is in its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PhaseSource {
    /// It begins so.
    Begun,
    Reported,
    Found(Indicator),
}

impl PhaseSource {
    pub fn word(self) -> &'static str {
        match self {
            PhaseSource::Begun => "begun",
            PhaseSource::Reported => "reported",
            PhaseSource::Found(_) => "found",
        }
    }

    pub fn indicator(self) -> Option<Indicator> {
        match self {
            PhaseSource::Begun | PhaseSource::Reported => None,
            PhaseSource::Found(indicator) => Some(indicator),
        }
    }
}

/// Where an agent's work stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkState {
    pub phase: WorkPhase,
    pub since: Time,
    pub source: PhaseSource,
    /// The date of the last word or evidence that counted.
    pub weighed_until: Time,
    /// It has been in the implementation phase.
    pub has_edited: bool,
    /// The phases before this one, oldest first.
    left: Vec<PhaseSpan>,
}

impl WorkState {
    /// W1
    pub fn begun(at: Time) -> WorkState {
        WorkState {
            phase: WorkPhase::Investigation,
            since: at,
            source: PhaseSource::Begun,
            weighed_until: at,
            has_edited: false,
            left: Vec::new(),
        }
    }

    /// All phases that are kept, oldest first; the last is the present one.
    pub fn spans(&self) -> Vec<PhaseSpan> {
        let mut spans = self.left.clone();
        spans.push(PhaseSpan { phase: self.phase, entered_at: self.since, left_at: None });
        spans
    }

    fn enter(&mut self, phase: WorkPhase, source: PhaseSource, at: Time) {
        self.source = source;
        self.weighed_until = self.weighed_until.max(at);
        if phase == self.phase {
            return;
        }
        let at = at.max(self.since);
        if self.left.len() >= HISTORY_MAX {
            self.left.remove(0);
        }
        self.left.push(PhaseSpan { phase: self.phase, entered_at: self.since, left_at: Some(at) });
        (self.phase, self.since) = (phase, at);
        self.has_edited |= phase == WorkPhase::Implementation;
    }
}

/// What follows from an indicator that session `number` showed then. W2, W3.
pub fn found(
    agent: &Agent,
    number: SessionNumber,
    indicator: Indicator,
    seen_at: Time,
    now: Time,
) -> Option<AgentEvent> {
    let work = &agent.work;
    // A source may be ahead of our clock; nothing that follows would ever be later.
    let seen_at = seen_at.min(now);
    if seen_at <= work.weighed_until {
        return None;
    }
    let phase = indicator.leads_from(work.phase, work.has_edited)?;
    let found = WorkEvent::PhaseFound { number, phase, indicator, seen_at };
    Some(AgentEvent::Work(Box::new(found)))
}

/// The agent's own word. The same word again says nothing new.
pub fn reported(agent: &Agent, phase: WorkPhase) -> Option<AgentEvent> {
    let is_known = agent.work.phase == phase && agent.work.source == PhaseSource::Reported;
    (!is_known).then_some(AgentEvent::PhaseReported { phase })
}

/// Folds what was found.
pub fn evolve(work: &mut WorkState, event: &WorkEvent) {
    match event {
        WorkEvent::PhaseFound { phase, indicator, seen_at, .. } => {
            work.enter(*phase, PhaseSource::Found(*indicator), *seen_at);
        }
    }
}

impl WorkState {
    /// Folds what the agent said.
    pub fn report(&mut self, phase: WorkPhase, at: Time) {
        self.enter(phase, PhaseSource::Reported, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent;
    use crate::id::AgentId;

    const NUMBER: SessionNumber = SessionNumber::FIRST;

    fn begun() -> Agent {
        Agent::unborn(AgentId(1), Time(10))
    }

    fn shows(agent: &mut Agent, indicator: Indicator, at: u64, now: u64) -> bool {
        let event = found(agent, NUMBER, indicator, Time(at), Time(now));
        event.iter().for_each(|event| agent::evolve(agent, event, Time(now)));
        event.is_some()
    }

    fn says(agent: &mut Agent, phase: WorkPhase, now: u64) -> bool {
        let event = reported(agent, phase);
        event.iter().for_each(|event| agent::evolve(agent, event, Time(now)));
        event.is_some()
    }

    /// W1, W4
    #[test]
    fn work_begins_with_investigation_and_its_spans_have_no_gaps() {
        let mut agent = begun();
        assert_eq!((agent.work.phase, agent.work.since), (WorkPhase::Investigation, Time(10)));
        for at in 0..200 {
            let indicator = if at % 2 == 0 { Indicator::FileEdited } else { Indicator::TestsRun };
            assert!(shows(&mut agent, indicator, 20 + at, 30 + at));
        }
        let spans = agent.work.spans();
        assert_eq!(spans.len(), HISTORY_MAX + 1);
        assert!(spans.windows(2).all(|two| two[0].left_at == Some(two[1].entered_at)));
        assert_eq!(spans.last().map(|last| last.left_at), Some(None));
    }

    /// W2
    #[test]
    fn the_agents_own_word_holds_until_later_evidence_of_another_phase() {
        let mut agent = begun();
        assert!(shows(&mut agent, Indicator::FileEdited, 20, 21));
        assert!(says(&mut agent, WorkPhase::Planning, 30));
        assert!(!says(&mut agent, WorkPhase::Planning, 31), "the same word again");
        // It was done before that was said, and read after it.
        assert!(!shows(&mut agent, Indicator::TestsRun, 29, 40));
        assert_eq!(agent.work.source, PhaseSource::Reported);
        assert!(shows(&mut agent, Indicator::TestsRun, 41, 42));
        assert_eq!(agent.work.source, PhaseSource::Found(Indicator::TestsRun));
        // Its own word stands for itself where it says what was found.
        assert!(says(&mut agent, WorkPhase::Testing, 50));
        assert_eq!(agent.work.since, Time(41));
    }

    /// W3
    #[test]
    fn evidence_that_is_told_again_changes_nothing() {
        let mut agent = begun();
        let seen =
            [(Indicator::FileEdited, 20), (Indicator::TestsRun, 21), (Indicator::FileEdited, 22)];
        seen.iter().for_each(|(indicator, at)| assert!(shows(&mut agent, *indicator, *at, 30)));
        let known = agent.clone();
        seen.iter().for_each(|(indicator, at)| assert!(!shows(&mut agent, *indicator, *at, 99)));
        assert_eq!(agent, known);
    }

    #[test]
    fn a_source_that_is_ahead_of_the_clock_does_not_hide_what_follows() {
        let mut agent = begun();
        assert!(shows(&mut agent, Indicator::FileEdited, u64::MAX, 20));
        assert!(shows(&mut agent, Indicator::TestsRun, 21, 22));
    }
}

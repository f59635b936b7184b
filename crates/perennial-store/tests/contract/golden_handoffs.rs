//! Examples of the events of handoffs, for the golden files.

use perennial_core::event::AgentEvent;
use perennial_core::handoff::{
    Answer, HandoffAsked, HandoffCause, HandoffEvent, Stored, TurnStands,
};
use perennial_core::id::SessionNumber;
use perennial_core::reason::Verb;
use perennial_core::role::{Cycle, CycleUnit, Interesting, RoleTerms};
use perennial_core::symptom::{Symptom, Urgency};
use perennial_core::time::Time;

use crate::events::*;

const NUMBER: SessionNumber = SessionNumber(3);

/// The terms of a role whose holders are cycled.
pub fn cycled() -> RoleTerms {
    let interesting = vec![Interesting::Escalation, Interesting::LifecycleRequest];
    let cycle = Cycle { after: Some(20), unit: CycleUnit::Round, interesting };
    RoleTerms {
        cycle: Some(cycle),
        handoff_at: Some(85),
        is_declared: true,
        ..RoleTerms::default()
    }
}

/// Each with everything in it; what may be absent, once more without it.
pub fn examples() -> [(&'static str, AgentEvent); 13] {
    let of = |event: HandoffEvent| event.of_agent();
    let (number, subject) = (NUMBER, "82 % of the usable context window is used".to_owned());
    let full = HandoffAsked {
        number,
        cause: HandoffCause::Agent,
        subject: "half of the parser".into(),
        notes: Some("look at the lexer first".into()),
        deadline: Time(60_000_012),
        overseer: Some(BOB),
        evidence: asked(Verb::Handoff, 12),
    };
    let least = HandoffAsked {
        cause: HandoffCause::Verb,
        subject: String::new(),
        notes: None,
        overseer: None,
        ..full.clone()
    };
    let cause = HandoffCause::Clock;
    let stored = Stored { checkpoint: Some(7), snapshot: Some(4), commit: Some("4b825dc6".into()) };
    let answered = |how, subject: Option<&str>, notes: Option<&str>| {
        let (subject, notes) = (subject.map(Into::into), notes.map(Into::into));
        of(HandoffEvent::Answered { how, subject, notes })
    };
    let (symptom, urgency) = (Symptom::Compaction, Urgency::Medium);
    [
        ("handoff-due", of(HandoffEvent::Due { number, cause, subject: subject.clone() })),
        ("handoff-operator-told", of(HandoffEvent::OperatorTold { number, cause, subject })),
        ("handoff-unit-done", of(HandoffEvent::UnitDone { unit: CycleUnit::Assignment })),
        ("handoff-asked", of(HandoffEvent::Asked(full))),
        ("handoff-asked-least", of(HandoffEvent::Asked(least))),
        ("handoff-told", of(HandoffEvent::Told { number })),
        ("handoff-turned", of(HandoffEvent::Turned { stands: TurnStands::Asks })),
        ("handoff-answered", answered(Answer::Word, Some("the parser"), Some("rename first"))),
        ("handoff-answered-deaf", answered(Answer::Deaf, None, None)),
        ("handoff-completed", of(HandoffEvent::Completed { number, stored })),
        (
            "handoff-completed-least",
            of(HandoffEvent::Completed { number, stored: Stored::default() }),
        ),
        (
            "handoff-symptom",
            of(HandoffEvent::Symptom { number, symptom, urgency, is_again: false }),
        ),
        (
            "handoff-symptom-again",
            of(HandoffEvent::Symptom {
                number,
                symptom: Symptom::Thrash,
                urgency: Urgency::High,
                is_again: true,
            }),
        ),
    ]
}

//! Examples of signals, escalations and situations for the golden files.

use perennial_core::escalation::{
    EscalationCause, EscalationEnd, EscalationEvent, Matter, Severity, Step,
};
use perennial_core::event::{AgentEvent, What};
use perennial_core::id::{EscalationId, SignalId};
use perennial_core::message::{Mailbox, Sender};
use perennial_core::reason::{Evidence, Finding, Verb, Witness};
use perennial_core::settings::Settings;
use perennial_core::signal::{SignalEvent, SignalKind, Value};
use perennial_core::time::Time;
use perennial_store::text;

use crate::events::*;

pub fn examples() -> Vec<(&'static str, What)> {
    let name = || Some("ada".parse().expect("a name"));
    let escalation = |event| What::Escalation(EscalationId(11), event);
    let matter = Matter {
        by: Sender::Agent(ADA),
        by_name: name(),
        cause: EscalationCause::Asked,
        severity: Severity::High,
        subject: "say \"hi\"".to_owned(),
        text: text::body("line 1\nline 2").text,
        excerpt: "line 1\nline 2".to_owned(),
    };
    let step = Step::Role { role: "Architect".to_owned(), holder: Some(BOB) };
    let by_rule = Matter {
        by: Sender::Person,
        by_name: None,
        cause: EscalationCause::ScopeGrew,
        excerpt: String::new(),
        ..matter.clone()
    };
    let opened = |matter, step, until| {
        escalation(EscalationEvent::Opened { matter: Box::new(matter), step, until })
    };
    let situations = ["PRD-AUTH-001", "site"].map(|word| word.parse().expect("a situation"));
    let settings = Settings { situations: Some(situations.into()), ..Settings::default() };
    let fact = Finding::Asked(Verb::Spawn);
    let evidence = Evidence { witness: Witness::Operator, fact, at: Time(6) };
    let settings = AgentEvent::SettingsChanged { settings: Box::new(settings), evidence };
    vec![
        ("signal-sent", sent(Mailbox::Agent(BOB))),
        ("signal-sent-operator", sent(Mailbox::Operator)),
        ("escalation-opened", opened(matter, step, Some(Time(9)))),
        ("escalation-opened-rule", opened(by_rule, Step::Agent(BOB), None)),
        (
            "escalation-raised",
            escalation(EscalationEvent::Raised { step: Step::Operator, until: None }),
        ),
        ("escalation-ended", escalation(EscalationEvent::Ended { how: EscalationEnd::Seen })),
        ("settings-changed-situations", What::Agent(ADA, settings)),
    ]
}

pub fn sent(to: Mailbox) -> What {
    let files = ["src/a", "b \"c\""].map(ToOwned::to_owned);
    let payload = [
        ("identity_name", Value::Text("bob".to_owned())),
        ("conflicting_files", Value::List(files.into())),
        ("resolution_hints", Value::Null),
        ("count", Value::Count(7)),
    ];
    let (by, by_name) = (Sender::Agent(ADA), Some("ada".parse().expect("a name")));
    let to_name = to.agent().map(|_| "bob".parse().expect("a name"));
    let payload = payload.map(|(name, value)| (name.to_owned(), value)).into();
    let kind = SignalKind::MergeConflict;
    What::Signal(SignalId(10), SignalEvent::Sent { kind, by, by_name, to, to_name, payload })
}

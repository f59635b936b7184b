//! What clients are told of events, and what is kept from whom.

use perennial_core::authority::{Caller, Standing};
use perennial_core::handoff::HandoffEvent;
use perennial_core::id::{EscalationId, JobId, MessageId, NodeId, PostId, SignalId, TaskId};
use perennial_core::name::NameKey;
use perennial_store::stored;
use serde_json::Value;

use super::*;

/// Every event that was ever recorded, by the golden files of its stored forms.
fn recorded() -> Vec<(String, What)> {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../perennial-store/golden");
    let files = std::fs::read_dir(golden).expect("golden files").flatten();
    let files = files.filter(|file| file.path().to_string_lossy().contains(".v"));
    let recorded = files.map(|file| {
        let text = std::fs::read_to_string(file.path()).expect("a file");
        let read: Value = serde_json::from_str(&text).expect("JSON");
        let (kind, form) = (read["kind"].as_str().expect("a kind"), read["v"].as_u64());
        let payload = read["payload"].to_string();
        let streams = [
            Entity::Agent(AgentId(1)),
            Entity::Node(NodeId(1)),
            Entity::Name(NameKey::of("ada")),
            Entity::Message(MessageId(1)),
            Entity::Post(PostId(1)),
            Entity::Job(JobId(1)),
            Entity::Role(NameKey::of("architect")),
            Entity::Signal(SignalId(1)),
            Entity::Escalation(EscalationId(1)),
            Entity::Task(TaskId(1)),
        ];
        let what = streams.iter().find_map(|stream| {
            stored::read(stream, kind, form.expect("a form"), payload.as_bytes()).ok()
        });
        (kind.to_owned(), what.unwrap_or_else(|| panic!("{}", file.path().display())))
    });
    recorded.collect()
}

fn told(what: &What, caller: Caller) -> (wire::What, Vec<String>) {
    let sight = Sight::new(caller, Standing::Other);
    let mut writer = Writer { sight, withheld: Vec::new() };
    (writer.what(what), writer.withheld)
}

fn members(value: &Value, is_good: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            is_good(name, value);
            self::members(value, is_good);
        }),
        Value::Array(parts) => parts.iter().for_each(|part| members(part, is_good)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_event_has_a_form_of_its_own_kind_with_moments_in_words() {
    let recorded = recorded();
    assert!(recorded.len() > 50);
    for (kind, what) in recorded {
        let (wire, withheld) = told(&what, Caller::Person);
        assert!(withheld.is_empty(), "{kind}");
        assert_eq!(wire.kind(), kind);
        let json = serde_json::to_value(&wire).expect("JSON");
        assert_eq!(json["kind"], kind.as_str());
        assert!(json["data"].is_object(), "{json}");
        let read: wire::What = serde_json::from_value(json.clone()).expect("it is read back");
        assert_eq!(read, wire);
        members(&json, &mut |name, value| {
            assert!(!name.ends_with("micros") && !name.ends_with("_us"), "{json}");
            if ["at", "until", "since"].contains(&name) {
                assert!(value.is_string() || value.is_null(), "{json}");
            }
        });
    }
}

/// The evidence of an event, if it has any.
fn evidence(what: &mut What) -> Option<&mut Evidence> {
    match what {
        What::Agent(_, AgentEvent::Moved(moved)) => Some(&mut moved.evidence),
        What::Agent(_, AgentEvent::Held(hold)) => Some(&mut hold.evidence),
        What::Agent(_, AgentEvent::HoldLifted { evidence })
        | What::Agent(_, AgentEvent::BurialAsked { evidence })
        | What::Agent(_, AgentEvent::RoleTaken { evidence, .. })
        | What::Agent(_, AgentEvent::RoleLeft { evidence, .. })
        | What::Agent(_, AgentEvent::SettingsChanged { evidence, .. }) => Some(evidence),
        What::Agent(..)
        | What::Message(..)
        | What::Node(..)
        | What::Name(..)
        | What::Conversation(..)
        | What::Post(..)
        | What::Role(..)
        | What::Job(..)
        | What::Signal(..)
        | What::Escalation(..)
        | What::Task(..) => None,
    }
}

/// Whether a session said something to its successor.
fn answers(what: &What) -> bool {
    let What::Agent(_, AgentEvent::Handoff(event)) = what else { return false };
    let HandoffEvent::Answered { subject, notes, .. } = &**event else { return false };
    subject.is_some() || notes.is_some()
}

#[test]
fn what_is_left_out_is_in_the_sentence_neither() {
    let hidden = [
        "hatched",
        "message-recorded",
        "message-blocked",
        "job-wanted",
        "job-ended",
        "signal-sent",
        "escalation-opened",
        "handoff-asked",
        "restore-ended",
        "checkpoint-taken",
        "task-added",
        "task-noted",
        "task-blocked",
        "task-claimed",
        "task-check-wanted",
        "task-check-ended",
        "task-returned",
        "task-reopened",
        "task-dropped",
    ];
    let viewer = Sight::new(Caller::Viewer, Standing::Other);
    let mut told_with_evidence = 0;
    for (kind, mut what) in recorded() {
        let mut cases = vec![(what.clone(), hidden.contains(&kind.as_str()) || answers(&what))];
        // Every event with evidence, with each of the words that may stand in it.
        if evidence(&mut what).is_some() {
            let secret = || "secret-words".to_owned();
            cases.clear();
            for fact in [Finding::NotStarted(secret()), Finding::Unreadable(secret())] {
                let mut what = what.clone();
                evidence(&mut what).expect("it has evidence").fact = fact;
                cases.push((what, true));
                told_with_evidence += 1;
            }
        }
        for (what, is_hidden) in cases {
            let (wire, withheld) = told(&what, Caller::Viewer);
            assert_eq!(!withheld.is_empty(), is_hidden, "{kind}");
            let json = serde_json::to_string(&wire).expect("JSON");
            let sentence = sentences::sentence(&without_private(&what, viewer));
            assert!(!sentence.contains(": ;") && !sentence.ends_with([':', ' ']), "{sentence}");
            let shown = format!("{json} {sentence}");
            for secret in ["echo é", "LANG", "say \\\"hi", "say \"hi", "secret-words"] {
                let is_said = shown.contains(secret) && !kind.starts_with("post");
                assert!(!is_said || kind == "summarised", "{kind}: {shown}");
            }
        }
    }
    assert!(told_with_evidence > 10, "{told_with_evidence}");
}

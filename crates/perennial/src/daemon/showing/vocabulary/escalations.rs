//! Escalations in the words of a seed. Shows nothing that `escalations` would not.

use perennial_api::escalation::Escalation;
use perennial_core::vocabulary::{EscalationSource, Vocabulary};
use serde_json::{Value, json};

use super::Document;

pub fn document(vocabulary: Vocabulary, one: &Escalation) -> Document {
    let field = |(name, source): &(&'static str, EscalationSource)| {
        (*name, value(vocabulary, *source, one))
    };
    Document(vocabulary.escalation_fields().iter().map(field).collect())
}

fn value(vocabulary: Vocabulary, source: EscalationSource, one: &Escalation) -> Value {
    match source {
        EscalationSource::Id => json!(one.id),
        EscalationSource::At => json!(one.at),
        EscalationSource::From => json!(one.from),
        EscalationSource::Severity => json!(one.severity),
        EscalationSource::Cause => json!(one.cause),
        EscalationSource::State => json!(one.state),
        EscalationSource::Subject => json!(one.subject),
        EscalationSource::Head => json!(one.head),
        EscalationSource::Told => one.steps.iter().map(|step| vocabulary.mailbox(step)).collect(),
        EscalationSource::RaisedAt => json!(one.raised_at),
        EscalationSource::Mail => json!(one.mail),
        EscalationSource::Fixed(word) => json!(word),
    }
}

#[cfg(test)]
mod tests {
    use perennial_core::escalation::{EscalationEnd, Severity};

    use super::*;

    /// Every state and severity has a document in every vocabulary, in the order of its fields.
    #[test]
    fn every_state_of_an_escalation_is_printed_in_each_vocabulary() {
        let states = EscalationEnd::ALL.map(EscalationEnd::word).into_iter().chain(["open"]);
        let words = states.flat_map(|state| Severity::ALL.map(|severity| (state, severity.word())));
        for (vocabulary, (state, severity)) in
            words.flat_map(|words| Vocabulary::ALL.map(|vocabulary| (vocabulary, words)))
        {
            let (state, severity) = (state.to_owned(), severity.to_owned());
            let steps = vec!["bob".to_owned(), "role:patrol".to_owned(), "operator".to_owned()];
            let one = Escalation { state, severity, steps, ..Escalation::default() };
            let printed = serde_json::to_string(&document(vocabulary, &one));
            let printed = printed.expect("plain values");
            let read: Value = serde_json::from_str(&printed).expect("JSON");
            let fields = vocabulary.escalation_fields();
            let place = |name| printed.find(&format!("\"{name}\":")).expect("every field");
            assert!(fields.iter().map(|(name, _)| place(name)).is_sorted(), "{printed}");
            for (name, source) in fields {
                let expected = match source {
                    EscalationSource::State => json!(one.state),
                    EscalationSource::Severity => json!(one.severity),
                    EscalationSource::Told => {
                        json!(["bob", format!("role:{}", vocabulary.role("patrol")), "operator"])
                    }
                    EscalationSource::Id
                    | EscalationSource::At
                    | EscalationSource::From
                    | EscalationSource::Cause
                    | EscalationSource::Subject
                    | EscalationSource::Head
                    | EscalationSource::RaisedAt
                    | EscalationSource::Mail
                    | EscalationSource::Fixed(_) => continue,
                };
                assert_eq!(read[name], expected, "{vocabulary:?} {name}");
            }
        }
    }
}

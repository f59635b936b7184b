//! Checkpoints in the words of a seed. Shows nothing that `checkpoints` and `show` would not.

use perennial_api::Agent;
use perennial_api::checkpoint::CheckpointCard;
use perennial_core::vocabulary::{CheckpointSource, Vocabulary};
use serde_json::{Value, json};

use super::Document;

/// One of an agent's checkpoints; what a content that can't be read would tell is null.
pub fn document(vocabulary: Vocabulary, agent: &Agent, card: &CheckpointCard) -> Document {
    let field = |(name, source): &(&'static str, CheckpointSource)| {
        (*name, value(vocabulary, *source, agent, card))
    };
    Document(vocabulary.checkpoint_fields().iter().map(field).collect())
}

fn value(
    vocabulary: Vocabulary,
    source: CheckpointSource,
    agent: &Agent,
    card: &CheckpointCard,
) -> Value {
    let (one, task) = (&card.checkpoint, card.task.as_ref());
    let known = |value: Value| if card.is_unreadable { Value::Null } else { value };
    match source {
        CheckpointSource::Agent => json!(agent.name),
        CheckpointSource::Role => json!(agent.role.as_deref().map(|role| vocabulary.role(role))),
        CheckpointSource::Number => json!(one.number),
        CheckpointSource::At => json!(one.at),
        CheckpointSource::Why => json!(one.why),
        CheckpointSource::Session => json!(format!("{}.{}", agent.id, one.session)),
        CheckpointSource::Phase => json!(one.phase),
        CheckpointSource::Phases => card
            .phases
            .iter()
            .map(|span| {
                json!({ "phase": span.phase, "entered_at": span.entered_at, "exited_at": span.left_at })
            })
            .collect(),
        CheckpointSource::Summary => json!(one.summary),
        CheckpointSource::Snapshot => json!(one.snapshot),
        CheckpointSource::Situation => json!(card.situation),
        CheckpointSource::Task => json!(task.map(|task| &task.id)),
        CheckpointSource::TaskReference => {
            let now = agent.task.as_ref().filter(|now| task.is_some_and(|task| task.id == now.id));
            json!(now.and_then(|now| now.reference.as_ref()))
        }
        CheckpointSource::OpenStep => json!(task.and_then(|task| task.open_step)),
        CheckpointSource::Decisions => card
            .said
            .decisions
            .iter()
            .map(|one| match &one.why {
                Some(why) => json!(format!("{}: {why}", one.what)),
                None => json!(one.what),
            })
            .collect(),
        CheckpointSource::Knowledge => json!(card.said.knowledge),
        CheckpointSource::Questions => json!(card.said.questions),
        CheckpointSource::Files => known(match &card.git {
            Some(git) => git.changed.iter().map(|change| json!(change.path)).collect(),
            None => json!(card.found.edited),
        }),
        CheckpointSource::Tests => {
            known(json!(card.found.tests.as_ref().map_or("unknown", |run| run.outcome.as_str())))
        }
        CheckpointSource::Resumption => known(json!(card.resumption_instructions)),
        CheckpointSource::Instructions => json!(card.said.instructions),
        CheckpointSource::Standing => {
            json!(if agent.roster == "cemetery" { "abandoned" } else { "active" })
        }
        CheckpointSource::Fixed(word) => json!(word),
    }
}

#[cfg(test)]
mod tests {
    use perennial_api::checkpoint::Checkpoint;
    use perennial_core::work::WorkPhase;

    use super::*;

    /// Every phase has a document in every vocabulary, in the order of its fields.
    #[test]
    fn every_phase_is_printed_in_each_vocabulary() {
        let agent = Agent { name: "bob".to_owned(), ..Agent::default() };
        for vocabulary in Vocabulary::ALL {
            for phase in WorkPhase::ALL.map(WorkPhase::word) {
                let checkpoint = Checkpoint { phase: phase.to_owned(), ..Checkpoint::default() };
                let card = CheckpointCard { checkpoint, ..CheckpointCard::default() };
                let printed = serde_json::to_string(&document(vocabulary, &agent, &card));
                let printed = printed.expect("plain values");
                let read: Value = serde_json::from_str(&printed).expect("JSON");
                let fields = vocabulary.checkpoint_fields();
                let place = |name| printed.find(&format!("\"{name}\":")).expect("every field");
                assert!(fields.iter().map(|(name, _)| place(name)).is_sorted(), "{printed}");
                for (name, source) in fields {
                    assert!(*source != CheckpointSource::Phase || read[name] == phase, "{printed}");
                }
            }
        }
    }
}

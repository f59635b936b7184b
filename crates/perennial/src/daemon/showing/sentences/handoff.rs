//! Handoffs in histories. What people and agents wrote for the next session is not repeated here: it is theirs to read.

use perennial_core::handoff::{Answer, HandoffAsked, HandoffCause, HandoffEvent, TurnStands};

pub fn sentence(event: &HandoffEvent) -> String {
    match event {
        HandoffEvent::Due { subject, .. } => {
            format!("to be handed off at the end of its turn: {subject}")
        }
        HandoffEvent::OperatorTold { subject, .. } => {
            format!("operator told, not handed off: {subject}")
        }
        HandoffEvent::UnitDone { unit } => format!("counted as one {} for its role", unit.word()),
        HandoffEvent::Asked(asked) => self::asked(asked),
        HandoffEvent::Told { number } => format!("session {number} read that it is handed off"),
        HandoffEvent::Turned { stands } => match stands {
            TurnStands::Idle => "turn ended while handing off".to_owned(),
            TurnStands::Runs => "turn began while handing off".to_owned(),
            TurnStands::Asks => "waiting for an answer while handing off".to_owned(),
        },
        HandoffEvent::Answered { how, .. } => match how {
            Answer::Checkpoint => "saved its work with a checkpoint".to_owned(),
            Answer::Word => "said that its session may end".to_owned(),
            Answer::TurnEnded => "ended its turn without a checkpoint of its own".to_owned(),
            Answer::Ordered => "session ended by order before the deadline".to_owned(),
            Answer::Deaf => "did not answer by the deadline of its handoff".to_owned(),
        },
        HandoffEvent::Completed { number, stored } => {
            let checkpoint = stored.checkpoint.map(|it| format!("checkpoint {it}"));
            let snapshot = stored.snapshot.map(|it| format!("snapshot {it}"));
            let kept: Vec<String> = checkpoint.into_iter().chain(snapshot).collect();
            match kept.is_empty() {
                true => format!("session {number} handed off; nothing had to be stored"),
                false => format!(
                    "work of session {number} stored for its successor: {}",
                    kept.join(", ")
                ),
            }
        }
        HandoffEvent::Symptom { symptom, urgency, .. } => {
            let goes_on = match symptom.is_compaction() {
                true => "; unplanned, the same session goes on",
                false => "",
            };
            let (urgency, told) = (urgency.word(), symptom.description());
            format!("sign of a full context window ({urgency}): {told}{goes_on}")
        }
    }
}

fn asked(asked: &HandoffAsked) -> String {
    let why = match asked.cause {
        HandoffCause::Verb => "asked".to_owned(),
        HandoffCause::Agent => "by its own wish".to_owned(),
        HandoffCause::Clock
        | HandoffCause::Units
        | HandoffCause::Interesting
        | HandoffCause::Symptom => asked.subject.clone(),
    };
    let seconds = asked.deadline.since(asked.evidence.at).as_secs();
    format!("session {} to be handed off within {seconds} s: {why}", asked.number)
}

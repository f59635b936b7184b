//! Agents, tasks, signals, checkpoints and escalations in the form of a seed, as `--vocabulary` prints them: a table of documents, or one document.

use perennial_core::vocabulary::{
    CheckpointSource, EscalationSource, SignalSource, Source, TaskSource, Vocabulary,
};
use serde_json::{Map, Value};

use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table};
use super::text::{plain, wrapped};

/// A document: fields by their names in the seed.
pub type Document = Map<String, Value>;

/// A field of a document, and how it is drawn.
pub struct FieldShape {
    name: &'static str,
    importance: u8,
    clip: Clip,
}

pub fn of_agents(vocabulary: Vocabulary) -> Vec<FieldShape> {
    let shape = |(name, source): &(&'static str, Source)| FieldShape {
        name,
        importance: importance(*source),
        clip: clip(*source),
    };
    vocabulary.fields().iter().map(shape).collect()
}

pub fn of_tasks(vocabulary: Vocabulary) -> Vec<FieldShape> {
    let shape = |(name, source): &(&'static str, TaskSource)| {
        let (importance, clip) = of_task(*source);
        FieldShape { name, importance, clip }
    };
    vocabulary.task_fields().iter().map(shape).collect()
}

pub fn of_signals(vocabulary: Vocabulary) -> Vec<FieldShape> {
    let shape = |(name, source): &(&'static str, SignalSource)| {
        let (importance, clip) = of_signal(*source);
        FieldShape { name, importance, clip }
    };
    vocabulary.signal_fields().iter().map(shape).collect()
}

pub fn of_checkpoints(vocabulary: Vocabulary) -> Vec<FieldShape> {
    let shape = |(name, source): &(&'static str, CheckpointSource)| {
        let (importance, clip) = of_checkpoint(*source);
        FieldShape { name, importance, clip }
    };
    vocabulary.checkpoint_fields().iter().map(shape).collect()
}

pub fn of_escalations(vocabulary: Vocabulary) -> Vec<FieldShape> {
    let shape = |(name, source): &(&'static str, EscalationSource)| {
        let (importance, clip) = of_escalation(*source);
        FieldShape { name, importance, clip }
    };
    vocabulary.escalation_fields().iter().map(shape).collect()
}

/// Tasks in the form of a seed.
#[derive(Debug, serde::Deserialize)]
pub struct TaskDocuments {
    pub tasks: Vec<Document>,
}

pub fn documents(documents: &[Document], fields: &[FieldShape], canvas: &Canvas<'_>) -> String {
    let column = |field: &FieldShape| Column {
        title: field.name,
        importance: field.importance,
        narrowest: 8,
        clip: field.clip,
        cells: documents.iter().map(|document| Cell::new(cell(document.get(field.name)))).collect(),
    };
    table(fields.iter().map(column).collect(), canvas.width, canvas.paint)
}

pub fn document(document: &Document, fields: &[FieldShape], canvas: &Canvas<'_>) -> String {
    let mut text = String::new();
    let widest = fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
    for FieldShape { name, .. } in fields {
        let value = document.get(*name).filter(|value| !value.is_null());
        let value = value.map_or_else(|| "-".to_owned(), |value| cell(Some(value)));
        let indent = widest + 2;
        text.push_str(&format!(
            "{name:<widest$}  {}\n",
            wrapped(&value, indent, indent, canvas.width)
        ));
    }
    text
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => plain(text),
        Some(Value::Array(words)) => {
            words.iter().map(|word| cell(Some(word))).collect::<Vec<_>>().join(", ")
        }
        Some(Value::Object(fields)) => {
            let field =
                |(name, value): (&String, &Value)| format!("{}={}", plain(name), cell(Some(value)));
            fields.iter().map(field).collect::<Vec<_>>().join(" ")
        }
        Some(other @ (Value::Bool(_) | Value::Number(_))) => plain(&other.to_string()),
    }
}

/// What has to be typed or looked for stays whole.
fn clip(source: Source) -> Clip {
    match source {
        Source::Name
        | Source::State
        | Source::StateDetail
        | Source::Role
        | Source::SessionId
        | Source::Pid
        | Source::ContextPercent
        | Source::RespawnCount
        | Source::Fixed(_) => Clip::Never,
        Source::Directory => Clip::Start,
        Source::ReasonText
        | Source::Parent
        | Source::Model
        | Source::TmuxSession
        | Source::Summary
        | Source::FinalSummary
        | Source::CreatedAt
        | Source::ChangedAt
        | Source::LastSeen
        | Source::PredecessorId
        | Source::Situations
        | Source::Situation
        | Source::Task
        | Source::TaskReference
        | Source::FreezeState
        | Source::HookPath
        | Source::Soul => Clip::End,
    }
}

fn importance(source: Source) -> u8 {
    match source {
        Source::Name | Source::State => 10,
        Source::SessionId | Source::Role | Source::StateDetail => 9,
        Source::Model | Source::ContextPercent | Source::Task | Source::Situation => 8,
        Source::Summary | Source::ReasonText | Source::LastSeen | Source::Situations => 7,
        Source::Parent | Source::Pid | Source::RespawnCount => 6,
        Source::ChangedAt | Source::FinalSummary | Source::TmuxSession | Source::Soul => 5,
        Source::Directory | Source::CreatedAt | Source::PredecessorId => 4,
        Source::TaskReference | Source::FreezeState | Source::HookPath => 3,
        Source::Fixed(_) => 1,
    }
}

fn of_task(source: TaskSource) -> (u8, Clip) {
    match source {
        TaskSource::Id => (11, Clip::Never),
        TaskSource::State => (10, Clip::Never),
        TaskSource::Title => (9, Clip::End),
        TaskSource::StateDetail | TaskSource::OpenStep => (7, Clip::Never),
        TaskSource::Assignee | TaskSource::Agent => (8, Clip::End),
        TaskSource::Role | TaskSource::Reference | TaskSource::CheckResult => (6, Clip::End),
        TaskSource::Reason | TaskSource::Parent | TaskSource::OpenLoop => (5, Clip::End),
        TaskSource::Steps
        | TaskSource::Parts
        | TaskSource::DependsOn
        | TaskSource::CheckOutput
        | TaskSource::AddedAt
        | TaskSource::ChangedAt => (4, Clip::End),
        TaskSource::Project => (3, Clip::Start),
        TaskSource::Rounds => (3, Clip::Never),
        TaskSource::Fixed(_) => (1, Clip::Never),
    }
}

fn of_signal(source: SignalSource) -> (u8, Clip) {
    match source {
        SignalSource::Id => (11, Clip::Never),
        SignalSource::Kind => (10, Clip::Never),
        SignalSource::From | SignalSource::Source => (9, Clip::End),
        SignalSource::To | SignalSource::Target => (8, Clip::End),
        SignalSource::Payload => (6, Clip::End),
        SignalSource::At => (5, Clip::End),
        SignalSource::Fixed(_) => (1, Clip::Never),
    }
}

fn of_checkpoint(source: CheckpointSource) -> (u8, Clip) {
    match source {
        CheckpointSource::Number => (11, Clip::Never),
        CheckpointSource::At => (10, Clip::Never),
        CheckpointSource::Phase => (9, Clip::Never),
        CheckpointSource::Summary => (8, Clip::End),
        CheckpointSource::Agent | CheckpointSource::Session => (7, Clip::Middle),
        CheckpointSource::Why | CheckpointSource::Tests | CheckpointSource::Standing => {
            (6, Clip::End)
        }
        CheckpointSource::Task | CheckpointSource::Situation | CheckpointSource::Resumption => {
            (5, Clip::End)
        }
        CheckpointSource::Role
        | CheckpointSource::Files
        | CheckpointSource::Decisions
        | CheckpointSource::Knowledge
        | CheckpointSource::Questions
        | CheckpointSource::Instructions
        | CheckpointSource::TaskReference => (4, Clip::End),
        CheckpointSource::Snapshot | CheckpointSource::OpenStep => (3, Clip::Never),
        CheckpointSource::Phases => (2, Clip::End),
        CheckpointSource::Fixed(_) => (1, Clip::Never),
    }
}

fn of_escalation(source: EscalationSource) -> (u8, Clip) {
    match source {
        EscalationSource::Id | EscalationSource::Mail => (11, Clip::Never),
        EscalationSource::Subject => (10, Clip::End),
        EscalationSource::State => (9, Clip::Never),
        EscalationSource::Severity => (8, Clip::Never),
        EscalationSource::From => (7, Clip::End),
        EscalationSource::Told => (6, Clip::End),
        EscalationSource::Cause | EscalationSource::Head => (4, Clip::End),
        EscalationSource::At | EscalationSource::RaisedAt => (3, Clip::End),
        EscalationSource::Fixed(_) => (1, Clip::Never),
    }
}

//! Agents in the form of a seed, as `--vocabulary` prints them: a table of documents, or one document.

use perennial_core::vocabulary::{Source, Vocabulary};
use serde_json::{Map, Value};

use super::roster::Canvas;
use super::table::{Cell, Clip, Column, table};
use super::text::{plain, wrapped};

/// A document: fields by their names in the seed.
pub type Document = Map<String, Value>;

pub fn documents(documents: &[Document], vocabulary: Vocabulary, canvas: &Canvas<'_>) -> String {
    let column = |(title, source): &(&'static str, Source)| Column {
        title,
        importance: importance(*source),
        narrowest: 8,
        clip: clip(*source),
        cells: documents.iter().map(|document| Cell::new(cell(document.get(*title)))).collect(),
    };
    let columns = vocabulary.fields().iter().map(column).collect();
    table(columns, canvas.width, canvas.paint)
}

pub fn document(document: &Document, vocabulary: Vocabulary, canvas: &Canvas<'_>) -> String {
    let mut text = String::new();
    let widest = vocabulary.fields().iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, _) in vocabulary.fields() {
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
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_))) => {
            plain(&other.to_string())
        }
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
        Source::Directory | Source::Project => Clip::Start,
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
        Source::Directory | Source::Project | Source::CreatedAt | Source::PredecessorId => 4,
        Source::TaskReference | Source::FreezeState | Source::HookPath => 3,
        Source::Fixed(_) => 1,
    }
}

//! Payloads of signals: from JSON and text, and as JSON and text.

use perennial_core::id::TaskId;
use perennial_core::signal::{Emitted, FieldType, Need, Payload, SignalKind, Value};
use perennial_core::text::is_hidden;
use perennial_core::time::Time;
use serde_json::{Map, Value as Json, json as value};

use crate::daemon::surface::answer::ProblemResponse;
use crate::daemon::time::rfc3339;
use crate::signal_schema::schema;

pub fn json(payload: &Payload) -> Map<String, Json> {
    let value = |value: &Value| match value {
        Value::Text(text) => Json::String(text.clone()),
        Value::Count(count) => Json::from(*count),
        Value::List(all) => all.iter().cloned().map(Json::String).collect(),
        Value::Null | Value::Other(_) => Json::Null,
    };
    payload.iter().map(|(name, it)| (name.clone(), value(it))).collect()
}

/// What is known of the agent that a signal of Perennial's own is about.
pub struct About<'a> {
    pub name: String,
    /// The task that it was on.
    pub task: Option<TaskId>,
    pub tmux_session: Option<&'a str>,
    /// Where the mirror has its work.
    pub work_file: Option<&'a str>,
    /// Of the session that the signal is about.
    pub last_output: Option<&'a str>,
}

/// The payload of a signal that Perennial emits.
pub fn emitted(
    (kind, at): (SignalKind, Time),
    says: &Emitted,
    about: &About<'_>,
) -> Map<String, Json> {
    let fields = match says {
        Emitted::Nothing if kind == SignalKind::AgentRegistered => vec![
            ("node_id", value!(about.task.map(|task| task.to_string()))),
            ("tmux_session", value!(about.tmux_session)),
        ],
        Emitted::Nothing => {
            vec![("last_seen", value!(rfc3339(at))), ("last_output", value!(about.last_output))]
        }
        Emitted::Ended(why) => vec![("exit_reason", value!(why))],
        Emitted::Work { phase, summary } => vec![
            ("phase", value!(phase.word())),
            ("work_summary", value!(summary)),
            ("hook_path", value!(about.work_file)),
        ],
        Emitted::HandoffAsked { reason, deadline } => {
            vec![("reason", value!(reason)), ("deadline_seconds", value!(deadline.as_secs()))]
        }
        Emitted::HandedOff { commit } => {
            vec![("hook_path", value!(about.work_file)), ("final_commit", value!(commit))]
        }
        Emitted::Symptom { symptom, urgency } => vec![
            ("urgency", value!(urgency.word())),
            ("symptoms_detected", value!([symptom.description()])),
        ],
    };
    let name = ("identity_name", value!(about.name));
    fields.into_iter().chain([name]).map(|(name, it)| (name.to_owned(), it)).collect()
}

/// A payload as it was sent; what no field holds is refused by the core, by name.
pub fn payload(fields: Map<String, Json>) -> Payload {
    let text = |one: Json| match one {
        Json::String(text) => Some(harmless(&text)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
    };
    let value = |json: Json| match json {
        Json::String(text) => Value::Text(harmless(&text)),
        Json::Number(number) => number.as_u64().map_or(Value::Other("a number"), Value::Count),
        Json::Array(all) => {
            let texts: Option<Vec<String>> = all.into_iter().map(text).collect();
            texts.map_or(Value::Other("a list of other things than texts"), Value::List)
        }
        Json::Null => Value::Null,
        Json::Bool(_) => Value::Other("true or false"),
        Json::Object(_) => Value::Other("an object"),
    };
    fields.into_iter().map(|(name, json)| (name, value(json))).collect()
}

/// With its lines; what can't be seen, or acts on a terminal, is shown as a sign.
fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() || is_hidden(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
}

/// A field that was given as text, in its type. What does not fit is refused by the core.
pub fn of_text(kind: SignalKind, name: &str, mut given: Vec<String>) -> Value {
    let field = kind.table().fields.iter().find(|field| field.name == name);
    let may_be_null = field.is_some_and(|field| match field.need {
        Need::Nullable | Need::Optional => true,
        Need::Required => false,
    });
    if may_be_null && matches!(&given[..], [only] if only == "null") {
        return Value::Null;
    }
    let last = |given: &mut Vec<String>| given.pop().unwrap_or_default();
    let is_several = given.len() > 1;
    match field.map(|field| field.holds) {
        // Which of them is meant nobody can say.
        Some(
            FieldType::Count(_) | FieldType::Text(_) | FieldType::Moment | FieldType::Choice(_),
        ) if is_several => Value::Other("a list"),
        Some(FieldType::List(..)) => Value::List(given.iter().map(|one| harmless(one)).collect()),
        Some(FieldType::Count(_)) => {
            last(&mut given).parse().map_or(Value::Other("a text"), Value::Count)
        }
        Some(FieldType::Text(_) | FieldType::Moment | FieldType::Choice(_)) | None => {
            Value::Text(harmless(&last(&mut given)))
        }
    }
}

/// What the target of a signal is told: one line for each field.
pub fn told(kind: SignalKind, payload: &Payload) -> String {
    let line = |(name, value): (&String, &Value)| {
        let value = match value {
            Value::Text(text) => text.clone(),
            Value::Count(count) => count.to_string(),
            Value::List(all) => all.join("; "),
            Value::Null | Value::Other(_) => return None,
        };
        Some(format!("{name}: {value}"))
    };
    let lines: Vec<String> = payload.iter().filter_map(line).collect();
    match lines.is_empty() {
        true => kind.word().to_owned(),
        false => lines.join("\n"),
    }
}

/// The names of all kinds, or the schema of one.
pub fn schemas(kind: Option<&str>) -> Result<Json, ProblemResponse> {
    match kind {
        Some(word) => Ok(schema(of_word(word)?)),
        // A model's context is dear: the names, and one schema when it is asked for.
        None => Ok(SignalKind::ALL.into_iter().map(|kind| kind.word()).collect()),
    }
}

pub fn of_word(word: &str) -> Result<SignalKind, ProblemResponse> {
    let unknown = || ProblemResponse(super::problems::signal::unknown_kind(word));
    SignalKind::of_word(word).ok_or_else(unknown)
}

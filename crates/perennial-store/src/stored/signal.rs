//! Signals as they are stored.

use perennial_core::signal::{Payload, SignalEvent, SignalKind, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::mail;
use super::part;
use super::word::Worded;
use crate::record::Damage;

/// The kinds of this life with the newest form of each.
pub const KINDS: &[(&str, u32)] = &[("signal-sent", 1)];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Stored {
    Sent {
        kind: Worded<SignalKind>,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by_name: Option<String>,
        to: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to_name: Option<String>,
        payload: Map<String, Json>,
    },
}

impl From<&SignalEvent> for Stored {
    fn from(event: &SignalEvent) -> Stored {
        let SignalEvent::Sent { kind, by, by_name, to, to_name, payload } = event;
        Stored::Sent {
            kind: Worded(*kind),
            by: mail::written_sender(*by),
            by_name: by_name.as_ref().map(ToString::to_string),
            to: to.to_string(),
            to_name: to_name.as_ref().map(ToString::to_string),
            payload: payload.iter().map(|(name, value)| (name.clone(), json(value))).collect(),
        }
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Text(text) => Json::String(text.clone()),
        Value::Count(count) => Json::from(*count),
        Value::List(all) => all.iter().cloned().map(Json::String).collect(),
        // What no field holds is refused before anything is recorded.
        Value::Null | Value::Other(_) => Json::Null,
    }
}

impl TryFrom<Stored> for SignalEvent {
    type Error = Damage;

    fn try_from(stored: Stored) -> Result<SignalEvent, Damage> {
        let Stored::Sent { kind, by, by_name, to, to_name, payload } = stored;
        let payload = payload.into_iter().map(|(name, json)| Ok((name, value(json)?)));
        Ok(SignalEvent::Sent {
            kind: kind.0,
            by: mail::sender(&by)?,
            by_name: by_name.as_deref().map(part::name).transpose()?,
            to: mail::mailbox(&to)?,
            to_name: to_name.as_deref().map(part::name).transpose()?,
            payload: payload.collect::<Result<Payload, Damage>>()?,
        })
    }
}

fn value(json: Json) -> Result<Value, Damage> {
    let malformed = || Damage::Malformed("a field that no signal has".into());
    match json {
        Json::String(text) => Ok(Value::Text(text)),
        Json::Number(number) => number.as_u64().map(Value::Count).ok_or_else(malformed),
        Json::Null => Ok(Value::Null),
        Json::Array(all) => {
            let text = |one| match one {
                Json::String(text) => Ok(text),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
                    Err(malformed())
                }
            };
            Ok(Value::List(all.into_iter().map(text).collect::<Result<_, _>>()?))
        }
        Json::Bool(_) | Json::Object(_) => Err(malformed()),
    }
}

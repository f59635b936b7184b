//! How a life's stored enum becomes a record and is read again: the life's name and the variant's are
//! the record's kind (`message-offered`), the variant's fields are the payload.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Encoded, malformed, misplaced, newest};
use crate::record::Damage;

/// The record of one event, given as a variant of its life's stored enum.
pub(super) fn encode(life: &str, stored: &impl Serialize) -> Encoded {
    // These types hold strings, numbers and words only: nothing that JSON can't say.
    let value = serde_json::to_value(stored).expect("stored forms are plain");
    let Value::Object(fields) = value else { unreachable!("a variant with fields is an object") };
    let (name, payload) = fields.into_iter().next().expect("a variant has a name");
    let kind = format!("{life}-{name}");
    let (kind, form) = newest(&kind).expect("every kind that is written is in a table of kinds");
    Encoded { kind, form, payload: payload.to_string() }
}

/// The variant of this kind with these fields.
pub(super) fn decode<T: DeserializeOwned>(
    life: &str,
    kind: &str,
    payload: &[u8],
) -> Result<T, Damage> {
    let name = kind.strip_prefix(life).and_then(|rest| rest.strip_prefix('-'));
    let name = name.ok_or_else(misplaced)?.to_owned();
    let payload: Value = serde_json::from_slice(payload).map_err(|error| malformed(&error))?;
    let variant = Value::Object(Map::from_iter([(name, payload)]));
    serde_json::from_value(variant).map_err(|error| malformed(&error))
}

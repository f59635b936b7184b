//! The JSON Schema of each kind of signal, made from the core's table.

use perennial_core::signal::{Field, FieldType, Need, SignalKind};
use serde_json::{Map, Value as Json, json};

/// The JSON Schema of a kind's payload, with who sends it and to whom.
pub fn schema(kind: SignalKind) -> Json {
    let table = kind.table();
    let properties: Map<String, Json> =
        table.fields.iter().map(|field| (field.name.to_owned(), property(field))).collect();
    let is_required = |field: &&Field| match field.need {
        Need::Required | Need::Nullable => true,
        Need::Optional => false,
    };
    let required: Vec<&str> =
        table.fields.iter().filter(is_required).map(|field| field.name).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind.word(),
        "x-source": table.source.word(),
        "x-target": table.target.word(),
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(field: &Field) -> Json {
    let (kind, mut property) = match field.holds {
        FieldType::Text(most) if field.need == Need::Required => {
            ("string", json!({ "minLength": 1, "maxLength": most }))
        }
        FieldType::Text(most) => ("string", json!({ "maxLength": most })),
        FieldType::Moment => ("string", json!({ "format": "date-time" })),
        FieldType::Count(most) => ("integer", json!({ "minimum": 0, "maximum": most })),
        FieldType::List(most, each) => {
            let items = json!({ "type": "string", "maxLength": each });
            ("array", json!({ "maxItems": most, "items": items }))
        }
        FieldType::Choice(words) => ("string", json!({ "enum": words })),
    };
    property["type"] = match field.need {
        Need::Required => json!(kind),
        Need::Nullable | Need::Optional => json!([kind, "null"]),
    };
    property
}

//! The smallest value that fits a JSON schema, for side requests that want their answer in a shape.
//!
//! Knows the few words that agent CLIs use; never checks a value and follows no references.

use serde_json::{Map, Value, json};

/// Of several allowed values the first: clients put the harmless one there.
pub fn smallest(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    if let Some(first) = schema["anyOf"].as_array().and_then(|schemas| schemas.first()) {
        return smallest(first);
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    match kind.unwrap_or_default().to_lowercase().as_str() {
        "object" => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            let fields = fields.map(|(name, schema)| (name.clone(), smallest(schema)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        "array" => json!([]),
        "integer" | "number" => {
            let minimum = &schema["minimum"];
            if minimum.is_number() { minimum.clone() } else { json!(0) }
        }
        "boolean" => json!(false),
        "null" => Value::Null,
        _ => json!("x"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_value_of_its_type() {
        let schema = json!({ "type": "OBJECT", "properties": {
            "outcome": { "type": "string", "enum": ["allow", "deny"] },
            "score": { "type": "integer", "minimum": 1, "maximum": 100 },
            "confidence": { "type": "NUMBER" },
            "notes": { "type": "array", "items": { "type": "string" } },
            "loop": { "type": "boolean" },
            "title": { "type": ["string", "null"] },
            "either": { "anyOf": [{ "type": "null" }, { "type": "string" }] },
        } });
        let fits = json!({
            "outcome": "allow", "score": 1, "confidence": 0, "notes": [], "loop": false,
            "title": "x", "either": null,
        });
        assert_eq!(smallest(&schema), fits);
        assert_eq!(smallest(&Value::Null), "x");
    }
}

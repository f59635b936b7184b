//! Whether a value is as a schema says: the part of JSON Schema that the OpenAPI document uses.
//!
//! Strict, so that the document can't fall behind: a keyword that is not known here fails, and so does a
//! member of a value that no schema names.

use std::collections::BTreeSet;

use serde_json::Value;

/// Keywords that say nothing about a value.
const NOTES: &[&str] =
    &["description", "title", "default", "examples", "deprecated", "x-messages", "maxLength"];

/// What is wrong with the value; nothing if it is as the schema says.
pub fn check(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let named = matches(document, schema, value, "$")?;
    strict(&named, value, "$")
}

/// Where in which document a value is looked at.
#[derive(Clone, Copy)]
struct Place<'a> {
    document: &'a Value,
    at: &'a str,
}

type Named = BTreeSet<String>;

/// Names the members that the schema knows, if the value is as it says.
fn matches(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<Named, String> {
    let Value::Object(keywords) = schema else {
        return if *schema == true { Ok(anything(at)) } else { Err(format!("{at}: {schema}")) };
    };
    if keywords.is_empty() {
        return Ok(anything(at));
    }
    let place = Place { document, at };
    let mut named = Named::new();
    for (keyword, rule) in keywords {
        named.extend(match keyword.as_str() {
            "$ref" => {
                let path = rule.as_str().and_then(|path| path.strip_prefix('#'));
                let target = path.and_then(|path| document.pointer(path));
                let target = target.ok_or_else(|| format!("{at}: nothing at {rule}"))?;
                matches(document, target, value, at)?
            }
            "properties" | "items" | "additionalProperties" => {
                place.parts(keyword, schema, value)?
            }
            "oneOf" | "anyOf" | "allOf" => place.alternatives(keyword, rule, value)?,
            note if NOTES.contains(&note) => Named::new(),
            plain => match is_so(plain, rule, value) {
                Some(true) => Named::new(),
                Some(false) => return Err(format!("{at}: not so ({plain}: {rule}): {value}")),
                None => return Err(format!("{at}: the keyword {plain} is not known here")),
            },
        });
    }
    Ok(named)
}

impl Place<'_> {
    /// The members or elements of a value.
    fn parts(self, keyword: &str, schema: &Value, value: &Value) -> Result<Named, String> {
        let Place { document, at } = self;
        let rule = &schema[keyword];
        let mut named = Named::new();
        match keyword {
            "properties" => {
                for (name, schema) in rule.as_object().into_iter().flatten() {
                    let own = format!("{at}.{name}");
                    if let Some(member) = value.get(name) {
                        named.extend(matches(document, schema, member, &own)?);
                    }
                    named.insert(own);
                }
            }
            "items" => {
                for (index, part) in value.as_array().into_iter().flatten().enumerate() {
                    named.extend(matches(document, rule, part, &format!("{at}[{index}]"))?);
                }
            }
            _ => {
                let is_other = |name: &&String| schema["properties"].get(name.as_str()).is_none();
                let others = value.as_object().into_iter().flatten();
                for (name, member) in others.filter(|(name, _)| is_other(name)) {
                    let own = format!("{at}.{name}");
                    named.extend(matches(document, rule, member, &own)?);
                    named.insert(own);
                }
            }
        }
        Ok(named)
    }

    fn alternatives(self, keyword: &str, rule: &Value, value: &Value) -> Result<Named, String> {
        let schemas = rule.as_array().into_iter().flatten();
        let tried: Vec<Result<Named, String>> =
            schemas.map(|schema| matches(self.document, schema, value, self.at)).collect();
        let fitting = tried.iter().filter(|one| one.is_ok()).count();
        let is_so = match keyword {
            "oneOf" => fitting == 1,
            "anyOf" => fitting > 0,
            _ => fitting == tried.len(),
        };
        if is_so {
            return Ok(tried.into_iter().flatten().flatten().collect());
        }
        // Of many alternatives the one that went furthest says why.
        let why = tried.iter().filter_map(|one| one.as_ref().err());
        let why = why.max_by_key(|why| why.split(':').next().map_or(0, str::len));
        Err(format!("{}: {fitting} of {keyword} fit: {why:?}", self.at))
    }
}

/// Whether a value is as one keyword says; nothing for a keyword that is not known.
fn is_so(keyword: &str, rule: &Value, value: &Value) -> Option<bool> {
    let length = value.as_array().map(|parts| parts.len() as u64);
    Some(match keyword {
        "type" => match rule {
            Value::Array(types) => types.iter().any(|one| is_of(value, one)),
            one => is_of(value, one),
        },
        "const" => value == rule,
        "enum" => rule.as_array().is_some_and(|all| all.contains(value)),
        "minimum" => !value.is_number() || value.as_f64() >= rule.as_f64(),
        "maximum" => !value.is_number() || value.as_f64() <= rule.as_f64(),
        "minItems" => length.is_none_or(|length| Some(length) >= rule.as_u64()),
        "maxItems" => length.is_none_or(|length| Some(length) <= rule.as_u64()),
        "format" if rule == "date-time" => {
            value.as_str().is_none_or(|text| text.parse::<jiff::Timestamp>().is_ok())
        }
        "format" => true,
        "required" => {
            let mut names = rule.as_array().into_iter().flatten().filter_map(Value::as_str);
            !value.is_object() || names.all(|name| value.get(name).is_some())
        }
        _ => return None,
    })
}

fn is_of(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap_or_default() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

/// A value that may be anything has no member that is not named.
fn anything(at: &str) -> Named {
    Named::from([format!("{at}.*")])
}

/// Every member of the value is named by some schema.
fn strict(named: &Named, value: &Value, at: &str) -> Result<(), String> {
    if named.contains(&format!("{at}.*")) {
        return Ok(());
    }
    match value {
        Value::Object(members) => members.iter().try_for_each(|(name, member)| {
            let own = format!("{at}.{name}");
            match named.contains(&own) {
                true => strict(named, member, &own),
                false => Err(format!("{own} is in no schema")),
            }
        }),
        Value::Array(parts) => parts
            .iter()
            .enumerate()
            .try_for_each(|(index, part)| strict(named, part, &format!("{at}[{index}]"))),
        _ => Ok(()),
    }
}

#[test]
fn what_is_not_as_the_schema_says_is_found() {
    use serde_json::json;
    let document = json!({ "a": { "type": "object", "properties": { "n": { "type": "integer",
        "minimum": 0 }, "at": { "type": ["string", "null"], "format": "date-time" } },
        "required": ["n"] } });
    let schema = json!({ "$ref": "#/a" });
    let is_ok = |value: Value| check(&document, &schema, &value).is_ok();
    assert!(is_ok(json!({ "n": 1 })) && is_ok(json!({ "n": 1, "at": null })));
    assert!(is_ok(json!({ "n": 0, "at": "2026-11-15T22:03:41.000125Z" })));
    for wrong in [
        json!({}),
        json!({ "n": -1 }),
        json!({ "n": "1" }),
        json!({ "n": 1, "at": "noon" }),
        json!({ "n": 1, "more": true }),
        json!([]),
    ] {
        assert!(!is_ok(wrong.clone()), "{wrong}");
    }
    let one_of = json!({ "oneOf": [{ "const": 1 }, { "type": "integer" }] });
    assert!(check(&document, &one_of, &json!(2)).is_ok());
    assert!(check(&document, &one_of, &json!(1)).is_err(), "two of them fit");
}

//! What a signal says: its fields, held against the table before it is recorded.
//!
//! Pure, and closed: a payload is flat. Nested values, flags and fractions are in no kind, and are refused by name.

use std::collections::BTreeMap;

use super::kinds::{Field, FieldType, Need, SignalKind};

/// All fields of a payload together, names included.
pub const PAYLOAD_BYTES_MAX: usize = 8 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Count(u64),
    List(Vec<String>),
    Null,
    /// Something that no field holds, called so.
    Other(&'static str),
}

pub type Payload = BTreeMap<String, Value>;

/// What is wrong with a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayloadFault {
    Unknown {
        field: String,
    },
    Missing {
        field: &'static str,
    },
    WrongType {
        field: &'static str,
        found: &'static str,
    },
    TooLong {
        field: &'static str,
    },
    TooLarge {
        bytes: usize,
    },
    /// It speaks of another agent than its source, or its target.
    OtherIdentity {
        expected: String,
    },
}

impl Value {
    /// What it is called in what a person reads.
    pub fn word(&self) -> &'static str {
        match self {
            Value::Text(_) => "a text",
            Value::Count(_) => "a number",
            Value::List(_) => "a list of texts",
            Value::Null => "null",
            Value::Other(word) => word,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Count(_) => 8,
            Value::List(all) => all.iter().map(|one| one.len() + 4).sum(),
            Value::Null | Value::Other(_) => 4,
        }
    }
}

/// Holds a payload against the table.
pub fn checked(kind: SignalKind, payload: &Payload) -> Result<(), PayloadFault> {
    let fields = kind.table().fields;
    if let Some(field) = payload.keys().find(|key| !fields.iter().any(|one| one.name == **key)) {
        return Err(PayloadFault::Unknown { field: field.clone() });
    }
    for field in fields {
        match (payload.get(field.name), field.need) {
            (None, Need::Optional) | (Some(Value::Null), Need::Nullable | Need::Optional) => {}
            (None, Need::Required | Need::Nullable) => {
                return Err(PayloadFault::Missing { field: field.name });
            }
            (Some(Value::Text(text)), Need::Required) if text.trim().is_empty() => {
                return Err(PayloadFault::Missing { field: field.name });
            }
            (Some(value), _) => fits(field, value)?,
        }
    }
    let bytes = payload.iter().map(|(name, value)| name.len() + value.bytes() + 6).sum();
    if bytes > PAYLOAD_BYTES_MAX {
        return Err(PayloadFault::TooLarge { bytes });
    }
    Ok(())
}

/// As JSON Schema counts a text: in characters.
fn has_at_most(most: usize, text: &str) -> bool {
    text.chars().nth(most).is_none()
}

fn fits(field: &Field, value: &Value) -> Result<(), PayloadFault> {
    let name = field.name;
    let wrong = || PayloadFault::WrongType { field: name, found: value.word() };
    let within = |is_within: bool| match is_within {
        true => Ok(()),
        false => Err(PayloadFault::TooLong { field: name }),
    };
    match (field.holds, value) {
        (FieldType::Text(most), Value::Text(text)) => within(has_at_most(most, text)),
        (FieldType::Count(most), Value::Count(count)) => within(*count <= most),
        (FieldType::List(most, each), Value::List(all)) => {
            within(all.len() <= most && all.iter().all(|one| has_at_most(each, one)))
        }
        (FieldType::Moment, Value::Text(text)) if is_moment(text) => Ok(()),
        (FieldType::Choice(words), Value::Text(text)) if words.contains(&text.as_str()) => Ok(()),
        (
            FieldType::Text(_)
            | FieldType::Count(_)
            | FieldType::List(..)
            | FieldType::Moment
            | FieldType::Choice(_),
            Value::Text(_) | Value::Count(_) | Value::List(_) | Value::Null | Value::Other(_),
        ) => Err(wrong()),
    }
}

/// The form of an RFC 3339 time; whether there is such a day is not asked.
fn is_moment(text: &str) -> bool {
    let fits = |form: &str, text: &str| {
        text.len() == form.len()
            && form.bytes().zip(text.bytes()).all(|(form, byte)| match form {
                b'0' => byte.is_ascii_digit(),
                other => byte.eq_ignore_ascii_case(&other),
            })
    };
    let Some((day_and_time, rest)) = text.split_at_checked(19) else { return false };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let is_zone = rest.eq_ignore_ascii_case("z") || fits("+00:00", rest) || fits("-00:00", rest);
    fits("0000-00-00T00:00:00", day_and_time) && is_zone && text.len() <= 40
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(field: &Field) -> Value {
        match field.holds {
            FieldType::Text(_) => Value::Text("x".to_owned()),
            FieldType::Moment => Value::Text("2026-02-26T10:00:00Z".to_owned()),
            FieldType::Count(_) => Value::Count(3),
            FieldType::List(..) => Value::List(vec!["x".to_owned()]),
            FieldType::Choice(words) => Value::Text(words[0].to_owned()),
        }
    }

    // covers: S-08
    #[test]
    fn every_kind_takes_its_own_fields_and_no_others() {
        for kind in SignalKind::ALL {
            let fields = kind.table().fields;
            let whole: Payload =
                fields.iter().map(|field| (field.name.to_owned(), example(field))).collect();
            assert_eq!(checked(kind, &whole), Ok(()), "{kind:?}");
            assert_eq!(SignalKind::of_word(kind.word()), Some(kind));
            let mut more = whole.clone();
            more.insert("extra".to_owned(), Value::Null);
            let unknown = PayloadFault::Unknown { field: "extra".to_owned() };
            assert_eq!(checked(kind, &more), Err(unknown), "{kind:?}");
            for field in fields {
                let mut less = whole.clone();
                less.remove(field.name);
                let expected = match field.need {
                    Need::Optional => Ok(()),
                    Need::Required | Need::Nullable => {
                        Err(PayloadFault::Missing { field: field.name })
                    }
                };
                assert_eq!(checked(kind, &less), expected, "{kind:?}");
                let mut other = whole.clone();
                other.insert(field.name.to_owned(), Value::Other("an object"));
                let wrong = PayloadFault::WrongType { field: field.name, found: "an object" };
                assert_eq!(checked(kind, &other), Err(wrong), "{kind:?}");
                let long = match field.holds {
                    FieldType::Text(most) => Value::Text("x".repeat(most + 1)),
                    FieldType::Count(most) => Value::Count(most + 1),
                    FieldType::List(most, _) => Value::List(vec![String::new(); most + 1]),
                    FieldType::Moment | FieldType::Choice(_) => continue,
                };
                other.insert(field.name.to_owned(), long);
                let too_long = PayloadFault::TooLong { field: field.name };
                assert_eq!(checked(kind, &other), Err(too_long), "{kind:?}");
            }
        }
    }

    /// What is exactly at a bound is taken.
    #[test]
    fn every_field_takes_as_much_as_it_may_have() {
        for field in SignalKind::ALL.iter().flat_map(|kind| kind.table().fields) {
            let most = match field.holds {
                FieldType::Text(most) => Value::Text("x".repeat(most)),
                FieldType::Count(most) => Value::Count(most),
                FieldType::List(most, each) => Value::List(vec!["x".repeat(each); most]),
                FieldType::Moment => {
                    Value::Text(format!("2026-02-26T10:00:00.{}Z", "1".repeat(19)))
                }
                FieldType::Choice(words) => Value::Text(words[0].to_owned()),
            };
            assert_eq!(fits(field, &most), Ok(()), "{}", field.name);
        }
        // All together: a field's name and its value count, and six bytes beside.
        let of = |bytes: usize| {
            let files = vec!["x".repeat(400); 20];
            let beside = "conflicting_files".len() + 20 * 404 + "identity_name".len() + 3;
            let beside = beside + "resolution_hints".len() + 3 * 6;
            let hints = Value::Text("x".repeat(bytes - beside));
            let text = |word: &str| Value::Text(word.to_owned());
            let fields = [
                ("conflicting_files", Value::List(files)),
                ("identity_name", text("bob")),
                ("resolution_hints", hints),
            ];
            let payload = fields.map(|(name, value)| (name.to_owned(), value));
            checked(SignalKind::MergeConflict, &Payload::from(payload))
        };
        assert_eq!(of(PAYLOAD_BYTES_MAX), Ok(()));
        let bytes = PAYLOAD_BYTES_MAX + 1;
        assert_eq!(of(bytes), Err(PayloadFault::TooLarge { bytes }));
    }

    #[test]
    fn a_payload_is_bounded_as_a_whole() {
        let files = Value::List(vec!["x".repeat(400); 40]);
        let mut payload = Payload::from([("conflicting_files".to_owned(), files)]);
        payload.insert("identity_name".to_owned(), Value::Text("bob".to_owned()));
        payload.insert("resolution_hints".to_owned(), Value::Null);
        let refused = checked(SignalKind::MergeConflict, &payload);
        assert!(matches!(refused, Err(PayloadFault::TooLarge { .. })), "{refused:?}");
    }

    #[test]
    fn the_form_of_a_time() {
        for good in ["2026-02-26T10:00:00Z", "2026-02-26T10:00:00.123+01:00"] {
            assert!(is_moment(good), "{good}");
        }
        for bad in ["", "yesterday", "2026-02-26", "2026-02-26T10:00:00", "2026-02-26T10:00:00Zx"] {
            assert!(!is_moment(bad), "{bad}");
        }
    }

    #[test]
    fn values_are_those_of_the_field() {
        let passed = Value::Text("passed".to_owned());
        let of = |node: Value, result: Value| {
            let fields = [("node_id".to_owned(), node), ("result".to_owned(), result)];
            checked(SignalKind::ValidationComplete, &Payload::from(fields))
        };
        let node = || Value::Text("n".to_owned());
        assert_eq!(of(node(), passed.clone()), Ok(()));
        let wrong = |field, found| Err(PayloadFault::WrongType { field, found });
        assert_eq!(of(Value::Null, passed), wrong("node_id", "null"), "it is required");
        assert_eq!(of(node(), Value::Text("maybe".to_owned())), wrong("result", "a text"));
        let merged = |at: &str| {
            let text = |text: &str| Value::Text(text.to_owned());
            let fields = [("identity_name", "bob"), ("merged_at", at), ("commit_hash", "1")];
            let fields = fields.map(|(name, value)| (name.to_owned(), text(value)));
            checked(SignalKind::MergeComplete, &Payload::from(fields))
        };
        assert_eq!(merged("2026-02-26T10:00:00Z"), Ok(()));
        assert_eq!(merged("yesterday"), wrong("merged_at", "a text"));
        let long = format!("2026-02-26T10:00:00.{}Z", "1".repeat(40));
        assert_eq!(merged(&long), wrong("merged_at", "a text"));
        let options = Value::List(vec!["x".repeat(501)]);
        let mut asks = Payload::from([("options".to_owned(), options)]);
        asks.insert("question".to_owned(), Value::Text("which?".to_owned()));
        let too_long = PayloadFault::TooLong { field: "options" };
        assert_eq!(checked(SignalKind::NeedsInput, &asks), Err(too_long));
    }

    /// A required text says something, and a moment has the form of one.
    #[test]
    fn blank_texts_and_things_that_are_no_moments_are_refused() {
        let say = |text: &str| Payload::from([("text".to_owned(), Value::Text(text.to_owned()))]);
        assert_eq!(checked(SignalKind::Guidance, &say("go on")), Ok(()));
        for blank in ["", " \n"] {
            let fault = PayloadFault::Missing { field: "text" };
            assert_eq!(checked(SignalKind::Guidance, &say(blank)), Err(fault), "{blank:?}");
        }
        for moment in [
            "2026-11-18T20:00:00Z",
            "2026-11-18t20:00:00z",
            "2026-11-18T20:00:00.123456Z",
            "2026-11-18T20:00:00+01:00",
            "2026-11-18T20:00:00.5-01:00",
        ] {
            assert!(is_moment(moment), "{moment}");
        }
        for other in [
            "",
            "now",
            "2026-11-18",
            "2026-11-18T20:00:00",
            "2026-11-18 20:00:00Z",
            "2026-11-18T20:00:00+0100",
            "2026-11-18T20:00:00+01:00Z",
            "aaaa-11-18T20:00:00Z",
            "xxxxxxxxxxxxxxxxxxxZ",
            &format!("2026-11-18T20:00:00.{}Z", "1".repeat(40)),
        ] {
            assert!(!is_moment(other), "{other}");
        }
    }
}

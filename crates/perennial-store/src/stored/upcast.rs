//! Bringing payloads of older forms up to the newest, one form at a time.
//!
//! A step is never changed once a release has written the form after it.

use serde_json::{Map, Value, json};

use super::malformed;
use crate::record::Damage;

/// Changes the fields of form `from` of `kind` into those of the next form.
pub(super) struct Step {
    pub kind: &'static str,
    pub from: u64,
    pub change: fn(&mut Map<String, Value>),
}

pub(super) const STEPS: &[Step] = &[
    // Before agent CLIs were driven there was nothing to say to them …
    Step {
        kind: "hatched",
        from: 1,
        change: |fields| {
            if let Some(Value::Object(launch)) = fields.get_mut("launch") {
                let none = json!({
                    "model": null, "prompt": null, "permission_mode": null, "trust": false,
                });
                launch.insert("options".into(), none);
            }
        },
    },
    // There was one node, and it had no id.
    Step {
        kind: "hatched",
        from: 2,
        change: |fields| {
            fields.insert("node".into(), Value::Null);
        },
    },
    // Nobody's sessions were inside tmux.
    Step {
        kind: "hatched",
        from: 3,
        change: |fields| {
            if let Some(Value::Object(launch)) = fields.get_mut("launch") {
                launch.insert("tmux".into(), Value::Null);
            }
        },
    },
    // When an open loop is raised again was a rule of the program.
    Step {
        kind: "task-left",
        from: 1,
        change: |fields| _ = fields.insert("again_at".into(), Value::Null),
    },
    Step {
        kind: "task-raised",
        from: 1,
        change: |fields| _ = fields.insert("again_at".into(), Value::Null),
    },
    Step {
        kind: "job-wanted",
        from: 1,
        change: |fields| {
            fields.insert("node".into(), Value::Null);
        },
    },
    // … and every session was a bare command's.
    Step {
        kind: "session-wanted",
        from: 1,
        change: |fields| {
            fields.insert("opening".into(), "bare".into());
        },
    },
    // A turn was open or it was not; nothing told of one that somebody stopped.
    Step {
        kind: "session-wanted",
        from: 2,
        change: |fields| {
            let opening = fields.get_mut("opening").and_then(|opening| opening.get_mut("resume"));
            if let Some(Value::Object(resume)) = opening {
                let is_open = resume.remove("in_turn") == Some(Value::Bool(true));
                resume.insert("turn".into(), if is_open { "open" } else { "over" }.into());
            }
        },
    },
    // The limit of a start was a constant of the program: 90 s.
    Step {
        kind: "session-starting",
        from: 1,
        change: |fields| {
            fields.insert("limit_micros".into(), 90_000_000.into());
        },
    },
    // What an end made of the history of restarts was left to whoever folded it.
    Step {
        kind: "session-ended",
        from: 1,
        change: |fields| {
            fields.insert("history".into(), Value::Null);
        },
    },
    // The time that a machine was suspended counted as lived.
    Step {
        kind: "put-off",
        from: 1,
        change: |fields| {
            fields.insert("unseen_micros".into(), 0.into());
        },
    },
];

pub(super) fn raise(
    steps: &[Step],
    kind: &str,
    form: u64,
    newest: u32,
    payload: &[u8],
) -> Result<Vec<u8>, Damage> {
    let mut fields: Map<String, Value> =
        serde_json::from_slice(payload).map_err(|error| malformed(&error))?;
    for from in form..u64::from(newest) {
        let step = steps
            .iter()
            .find(|step| step.kind == kind && step.from == from)
            .ok_or_else(|| Damage::Malformed(format!("there never was a form {from} of {kind}")))?;
        (step.change)(&mut fields);
    }
    Ok(Value::Object(fields).to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An example of a history: form 1 had `title`, form 2 `name`, form 3 has a colour too.
    const EXAMPLE: &[Step] = &[
        Step {
            kind: "dubbed",
            from: 1,
            change: |fields| {
                if let Some(title) = fields.remove("title") {
                    fields.insert("name".into(), title);
                }
            },
        },
        Step {
            kind: "dubbed",
            from: 2,
            change: |fields| {
                fields.insert("colour".into(), "grey".into());
            },
        },
    ];

    #[test]
    fn a_payload_climbs_every_form_between() {
        for (form, payload) in [(1, r#"{"title":"ada"}"#), (2, r#"{"name":"ada"}"#)] {
            let raised = raise(EXAMPLE, "dubbed", form, 3, payload.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(raised).unwrap(), r#"{"colour":"grey","name":"ada"}"#);
        }
    }

    #[test]
    fn a_form_that_never_was_is_malformed() {
        for (kind, form) in [("dubbed", 0), ("else", 1)] {
            let refused = raise(EXAMPLE, kind, form, 3, b"{}");
            assert!(matches!(refused, Err(Damage::Malformed(_))), "{refused:?}");
        }
        assert!(raise(EXAMPLE, "dubbed", 1, 3, b"[1]").is_err());
    }
}

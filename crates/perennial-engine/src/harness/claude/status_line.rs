//! What the status line is given: the only place where the vendor pushes tokens and window together.

use perennial_core::context::{Sample, Source};
use perennial_core::fact::{Fact, Origin, Seen};
use serde_json::Value;

use crate::harness::dialect::{NotUnderstood, bounded};
use crate::harness::preset::ContextRules;

/// Reads the input of a status line. `compaction_window` is the value of the variable by which the
/// agent's owner moved the point of compaction, if they did.
pub fn status_line(
    input: &[u8],
    context: &ContextRules,
    compaction_window: Option<u64>,
) -> Result<Fact, NotUnderstood> {
    let all: Value =
        serde_json::from_slice(bounded(input)).map_err(|_| NotUnderstood::NotAnObject)?;
    if !all.is_object() {
        return Err(NotUnderstood::NotAnObject);
    }
    let text = |path| all.pointer(path).and_then(Value::as_str);
    let model = text("/model/id").filter(|id| id.len() <= 128).map(str::to_owned);
    // Absent until the first answer.
    let sample = sample(&all, context, compaction_window);
    let conversation = text("/session_id").and_then(|id| id.parse().ok());
    let seen = Seen::StatusLine { model, sample };
    Ok(Fact::new(Origin::StatusLine, seen).within(conversation))
}

fn sample(all: &Value, context: &ContextRules, compaction_window: Option<u64>) -> Option<Sample> {
    let number = |path: &str| all.pointer(path).and_then(Value::as_u64);
    let usage = |name| number(&format!("/context_window/current_usage/{name}"));
    // Without this one nothing was measured; the others are left out when they are zero.
    let tokens = usage("input_tokens")?
        .saturating_add(usage("cache_creation_input_tokens").unwrap_or(0))
        .saturating_add(usage("cache_read_input_tokens").unwrap_or(0));
    let window = number("/context_window/context_window_size").filter(|window| *window > 0)?;
    let usable = context.usable(window, compaction_window);
    Some(Sample { tokens, window, usable, source: Source::StatusLine })
}

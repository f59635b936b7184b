//! The usage of very many lines, quickly: only lines that may hold some are read as JSON.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use perennial_core::time::Time;

use super::line::{Counts, Damaged, Line, TurnContext, UsageRecord, parse, short, time};
use crate::transcript::step::{Tokens, Usage};
use crate::transcript::tail;

/// More than any request has; a larger number is an error. Sums of them stay far from the end of `u64`.
const TOKENS_MAX: u64 = 1 << 32;

static RECORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"token_usage_record\""));
static CONTEXT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"turn_context\""));

/// Hands out the usages in whole lines; returns how many lines were damaged. A usage before the first
/// line that names a model has none: it is of the model before.
pub fn usages(whole: &[u8], mut each: impl FnMut(Usage, Option<Time>)) -> u64 {
    let mut damaged = 0;
    let mut model = String::new();
    for line in tail::lines(whole) {
        let line = line.trim_ascii();
        if line.first() != Some(&b'{') || line.last() != Some(&b'}') {
            damaged += 1;
        } else if RECORD.find(line).is_some() || CONTEXT.find(line).is_some() {
            match read(line, &mut model) {
                Ok(Some((usage, time))) => each(usage, time),
                Ok(None) => {}
                Err(Damaged) => damaged += 1,
            }
        }
    }
    damaged
}

fn read(line: &[u8], model: &mut String) -> Result<Option<(Usage, Option<Time>)>, Damaged> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| Damaged)?;
    match &*line.kind {
        "turn_context" => {
            let context: TurnContext<'_> = parse(line.payload.ok_or(Damaged)?)?;
            *model = short(context.model.as_ref()).unwrap_or_default();
            Ok(None)
        }
        "token_usage_record" => {
            let record: UsageRecord<'_> = parse(line.payload.ok_or(Damaged)?)?;
            Ok(Some((usage(&record, model)?, time(line.timestamp.as_deref()))))
        }
        _ => Ok(None),
    }
}

/// What one answer took.
pub fn usage(record: &UsageRecord<'_>, model: &str) -> Result<Usage, Damaged> {
    let message = short(record.response_id.as_ref()).ok_or(Damaged)?;
    let tokens = record.usage.tokens()?;
    Ok(Usage { message, model: model.to_owned(), tokens, ..Usage::default() })
}

impl Counts {
    pub fn tokens(&self) -> Result<Tokens, Damaged> {
        // Every answer has these two.
        let all = plausible(Some(self.input_tokens.ok_or(Damaged)?))?;
        let output = plausible(Some(self.output_tokens.ok_or(Damaged)?))?;
        let cache_read = plausible(self.cached_input_tokens)?;
        let cache_write = plausible(self.cache_write_input_tokens)?;
        let input = all.checked_sub(cache_read + cache_write).ok_or(Damaged)?;
        Ok(Tokens {
            input,
            output,
            cache_read,
            cache_write_short: cache_write,
            cache_write_long: 0,
        })
    }

    /// What is in the window behind the answer, as the CLI itself counts it.
    pub fn in_window(&self) -> Result<u64, Damaged> {
        plausible(Some(self.total_tokens.ok_or(Damaged)?))
    }
}

fn plausible(count: Option<u64>) -> Result<u64, Damaged> {
    Some(count.unwrap_or(0)).filter(|count| *count < TOKENS_MAX).ok_or(Damaged)
}

//! What the messages of a model cost, as the client writes it: `tokens` of a message.
//!
//! Only lines that may hold some are read as JSON when very many are. What is passed by is not checked
//! beyond its first and last byte.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use perennial_core::time::Time;
use serde_json::value::RawValue;

use super::line::Line;
use crate::transcript::field::{self, Name};
use crate::transcript::step::{Tokens, Usage};
use crate::transcript::tail;

/// More than any request has; a larger number is an error. Sums of them stay far from the end of `u64`.
const TOKENS_MAX: u64 = 1 << 32;

static TOKENS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"tokens\""));

/// The line can't be read, or says what cannot be.
#[derive(Debug)]
pub struct Damaged;

/// Hands out the usages in whole lines; returns how many lines were damaged.
pub fn usages(whole: &[u8], each: &mut dyn FnMut(Usage, Option<Time>)) -> u64 {
    let mut damaged = 0;
    for line in tail::lines(whole) {
        let line = line.trim_ascii();
        let is_object = line.first() == Some(&b'{') && line.last() == Some(&b'}');
        let is_read = TOKENS.find(line).is_none() || read(line, each).is_ok();
        damaged += u64::from(!(is_object && is_read));
    }
    damaged
}

fn read(line: &[u8], each: &mut dyn FnMut(Usage, Option<Time>)) -> Result<(), Damaged> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| Damaged)?;
    let history = line.set.as_ref().and_then(|set| set.messages.as_ref());
    for message in history.into_iter().flatten() {
        let message: Line<'_> = serde_json::from_str(message.get()).map_err(|_| Damaged)?;
        tell(&message, each)?;
    }
    tell(&line, each)
}

fn tell(line: &Line<'_>, each: &mut dyn FnMut(Usage, Option<Time>)) -> Result<(), Damaged> {
    if let Some(usage) = usage(line)? {
        each(usage, field::time(line.timestamp.as_ref()));
    }
    Ok(())
}

/// `null` stands where the service told nothing.
pub fn usage(line: &Line<'_>) -> Result<Option<Usage>, Damaged> {
    let Some(raw) = line.tokens.filter(|raw| raw.get() != "null") else { return Ok(None) };
    let message = line.id.as_ref().map(Name::as_str).filter(|id| !id.is_empty()).ok_or(Damaged)?;
    Ok(Some(Usage {
        message: message.to_owned(),
        model: line.model.as_ref().map_or("", Name::as_str).to_owned(),
        tokens: tokens(raw)?,
        ..Usage::default()
    }))
}

#[derive(serde::Deserialize)]
struct Counts {
    /// The whole prompt, what was cached of it included.
    input: u64,
    output: u64,
    cached: Option<u64>,
    /// Charged as output, and not counted in it.
    thoughts: Option<u64>,
    /// What tools of the service itself put into the prompt.
    tool: Option<u64>,
}

fn tokens(raw: &RawValue) -> Result<Tokens, Damaged> {
    let counts: Counts = serde_json::from_str(raw.get()).map_err(|_| Damaged)?;
    let plausible = |count: u64| Some(count).filter(|count| *count < TOKENS_MAX).ok_or(Damaged);
    let (input, output) = (plausible(counts.input)?, plausible(counts.output)?);
    let cache_read = plausible(counts.cached.unwrap_or(0))?.min(input);
    let thoughts = plausible(counts.thoughts.unwrap_or(0))?;
    let tool = plausible(counts.tool.unwrap_or(0))?;
    Ok(Tokens {
        input: input - cache_read + tool,
        output: output + thoughts,
        cache_read,
        ..Tokens::default()
    })
}

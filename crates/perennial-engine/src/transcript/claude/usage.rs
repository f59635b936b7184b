//! The usage of very many lines, quickly: only lines that may hold some are read as JSON.
//!
//! What it passes by is not checked beyond its first and last byte. A line that lost its usage and
//! its kind both, to a fault in its middle, is not noticed; the step reader notices it.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use perennial_core::time::Time;
use serde_json::value::RawValue;

use super::SYNTHETIC;
use super::line::{self, Name};
use crate::transcript::step::{Tokens, Usage};
use crate::transcript::tail;

/// No request has this many; what says so is broken. Sums of them stay far from the end of `u64`.
const TOKENS_MAX: u64 = 1 << 32;

static USAGE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"usage\""));
static ASSISTANT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"assistant\""));

/// Hands out the usages in whole lines; returns how many lines were damaged.
pub fn usages(whole: &[u8], mut each: impl FnMut(Usage, Option<Time>)) -> u64 {
    let mut damaged = 0;
    for line in tail::lines(whole) {
        let line = line.trim_ascii();
        if line.first() != Some(&b'{') || line.last() != Some(&b'}') {
            damaged += 1;
        } else if USAGE.find(line).is_some() || ASSISTANT.find(line).is_some() {
            match read(line) {
                Ok(Some((usage, time))) => each(usage, time),
                Ok(None) => {}
                Err(Damaged) => damaged += 1,
            }
        }
    }
    damaged
}

/// The line can't be read, or says what cannot be.
#[derive(Debug)]
pub struct Damaged;

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Name<'a>,
    #[serde(borrow)]
    timestamp: Option<Name<'a>>,
    #[serde(borrow)]
    request_id: Option<Name<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
}

#[derive(serde::Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<Name<'a>>,
    #[serde(borrow)]
    model: Option<Name<'a>>,
    usage: Option<Counts>,
}

fn read(line: &[u8]) -> Result<Option<(Usage, Option<Time>)>, Damaged> {
    // Text is checked once, and quicker, than in each of its strings.
    let parsed: Result<Line<'_>, _> = match std::str::from_utf8(line) {
        Ok(text) => serde_json::from_str(text),
        Err(_) => serde_json::from_slice(line),
    };
    let Ok(line) = parsed else {
        // Other kinds may have anything under these names.
        let kind = line::kind(line).ok_or(Damaged)?;
        return if kind.as_str() == "assistant" { Err(Damaged) } else { Ok(None) };
    };
    if line.kind.as_str() != "assistant" {
        return Ok(None);
    }
    let message = line.message.ok_or(Damaged)?;
    let counts = message.usage.unwrap_or_default();
    let request = line.request_id.as_ref();
    let usage = usage(message.id.as_ref(), request, message.model.as_ref(), &counts)?;
    Ok(usage.map(|usage| (usage, line::time(line.timestamp.as_ref()))))
}

/// `None` for a message that no model wrote.
pub fn usage(
    id: Option<&Name<'_>>,
    request: Option<&Name<'_>>,
    model: Option<&Name<'_>>,
    counts: &Counts,
) -> Result<Option<Usage>, Damaged> {
    let model = model.ok_or(Damaged)?.as_str();
    if model == SYNTHETIC {
        return Ok(None);
    }
    let message = id.map(Name::as_str).filter(|id| !id.is_empty()).ok_or(Damaged)?;
    Ok(Some(Usage {
        message: message.to_owned(),
        request: request.map_or("", Name::as_str).to_owned(),
        model: model.to_owned(),
        tokens: counts.tokens()?,
        web_searches: counts.web_searches()?,
        fast: counts.speed == Some(Speed::Fast),
        regional: counts.inference_geo == Some(Geography::Us),
    }))
}

/// `usage` as it is written.
#[derive(Default, serde::Deserialize)]
pub struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_creation: Option<CacheCreation>,
    server_tool_use: Option<ServerToolUse>,
    speed: Option<Speed>,
    inference_geo: Option<Geography>,
}

#[derive(serde::Deserialize)]
struct CacheCreation {
    ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(serde::Deserialize)]
struct ServerToolUse {
    web_search_requests: Option<u64>,
}

#[derive(PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Speed {
    Fast,
    #[serde(other)]
    Usual,
}

#[derive(PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Geography {
    Us,
    #[serde(other)]
    Anywhere,
}

impl Counts {
    pub fn parse(raw: &RawValue) -> Result<Counts, Damaged> {
        serde_json::from_str(raw.get()).map_err(|_| Damaged)
    }

    fn tokens(&self) -> Result<Tokens, Damaged> {
        // Every answer has these two.
        let input = plausible(Some(self.input_tokens.ok_or(Damaged)?))?;
        let output = plausible(Some(self.output_tokens.ok_or(Damaged)?))?;
        let cache_write = plausible(self.cache_creation_input_tokens)?;
        let hour = self.cache_creation.as_ref().and_then(|parts| parts.ephemeral_1h_input_tokens);
        // The total is what counts; the parts are an explanation of it that older lines lack.
        let cache_write_long = plausible(hour)?.min(cache_write);
        Ok(Tokens {
            input,
            output,
            cache_read: plausible(self.cache_read_input_tokens)?,
            cache_write_short: cache_write - cache_write_long,
            cache_write_long,
        })
    }

    fn web_searches(&self) -> Result<u64, Damaged> {
        plausible(self.server_tool_use.as_ref().and_then(|uses| uses.web_search_requests))
    }
}

fn plausible(count: Option<u64>) -> Result<u64, Damaged> {
    Some(count.unwrap_or(0)).filter(|count| *count < TOKENS_MAX).ok_or(Damaged)
}

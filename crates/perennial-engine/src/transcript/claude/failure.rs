//! Model calls that failed: what the CLI writes instead of an answer, and between attempts.

use perennial_core::time::Time;
use serde_json::value::RawValue;

use super::content;
use super::line::{self, ApiError, Line, Name, QuotaLimits};
use super::usage::Damaged;
use crate::transcript::step::{Content, ErrorKind, Excerpt};

/// How the CLI tells that it stops a turn because compactions don't help.
pub const THRASHING: &str = "Autocompact is thrashing";

/// The CLI gave up.
pub fn of_answer(line: &Line<'_>, said: Option<&RawValue>) -> Result<Content, Damaged> {
    let text = content::plain_text(said);
    let word: Option<Name<'_>> = line.error.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let word = word.as_ref().map_or("", Name::as_str);
    let kind = match (word, line.api_error_status) {
        ("rate_limit", _) | ("" | "unknown", Some(429)) => {
            return Ok(Content::RateLimit { until: until(line, &text), text: Excerpt::of(&text) });
        }
        // The word for it is that of any fault of the server.
        (_, Some(529)) => ErrorKind::Overloaded,
        ("" | "unknown", status) => status.map_or(ErrorKind::Unclassified, by_status),
        // Told by its text only: the word is that of any refused request.
        ("invalid_request", _) if text.starts_with("Prompt is too long") => {
            ErrorKind::ContextOverflow
        }
        ("invalid_request", _) if text.starts_with(THRASHING) => ErrorKind::Thrashing,
        (word, status) => {
            by_word(word).unwrap_or_else(|| status.map_or(ErrorKind::Unclassified, by_status))
        }
    };
    Ok(Content::Error { kind, text: Excerpt::of(&text), retry_at: None })
}

/// An attempt failed, and the CLI will try again.
pub fn of_attempt(line: &Line<'_>) -> Content {
    let error: Option<ApiError<'_>> =
        line.error.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let status = error.as_ref().and_then(|error| error.status);
    let text = error.and_then(|error| error.formatted).map(|text| text.excerpt());
    let text = text.unwrap_or_default();
    let retry_at = line.retry_in_ms.and_then(|milliseconds| later(line, milliseconds));
    match status {
        Some(429) => Content::RateLimit { until: retry_at, text },
        Some(status) => Content::Error { kind: by_status(status), text, retry_at },
        None => Content::Error { kind: ErrorKind::Connection, text, retry_at },
    }
}

fn by_word(word: &str) -> Option<ErrorKind> {
    Some(match word {
        "authentication_failed"
        | "oauth_org_not_allowed"
        | "account_on_hold"
        | "verification_required"
        | "cloud_credential_error" => ErrorKind::Authentication,
        "billing_error" => ErrorKind::Billing,
        "overloaded" => ErrorKind::Overloaded,
        "invalid_request" | "model_not_found" | "max_output_tokens" => ErrorKind::InvalidRequest,
        "server_error" => ErrorKind::Server,
        _ => return None,
    })
}

fn by_status(status: u16) -> ErrorKind {
    match status {
        401 | 403 => ErrorKind::Authentication,
        402 => ErrorKind::Billing,
        529 => ErrorKind::Overloaded,
        400..=499 => ErrorKind::InvalidRequest,
        500..=599 => ErrorKind::Server,
        _ => ErrorKind::Unclassified,
    }
}

/// Newer versions say it in a field, older ones after a bar at the end of the text.
fn until(line: &Line<'_>, text: &str) -> Option<Time> {
    let limits: Option<QuotaLimits> =
        line.quota_limits.and_then(|raw| serde_json::from_str(raw.get()).ok());
    let seconds = limits
        .and_then(|limits| limits.resets_at)
        .or_else(|| text.rsplit_once('|')?.1.trim().parse().ok())?;
    // Not before this century's twenties, not beyond its end.
    (1.5e9..=4.1e9).contains(&seconds).then_some(Time((seconds * 1e6) as u64))
}

/// When something that was said at a time will be.
fn later(line: &Line<'_>, milliseconds: f64) -> Option<Time> {
    let time = line::time(line.timestamp.as_ref())?;
    let is_plausible = (0.0..=30.0 * 86_400_000.0).contains(&milliseconds);
    is_plausible.then(|| Time(time.0.saturating_add((milliseconds * 1_000.0) as u64)))
}

//! Model calls that failed for good: what a turn ended with.

use perennial_core::time::Time;
use serde_json::value::RawValue;

use super::line::{Damaged, Limit, RateLimits, TurnError, parse};
use crate::transcript::step::{Content, ErrorKind, Excerpt};

/// A limit of which this much is used is reached.
const REACHED_PERCENT: f64 = 100.0;

/// `until` is when the account's limits end, as the service last told.
pub fn of_turn(raw: &RawValue, until: Option<Time>) -> Result<Content, Damaged> {
    let error: TurnError<'_> = parse(raw)?;
    let text = Excerpt::of(error.message.as_deref().unwrap_or_default());
    let (word, status) = error.codex_error_info.map(kind).unwrap_or_default();
    let kind = match (word.as_str(), status) {
        // The turn is over: the program does not try again by itself.
        ("usage_limit_exceeded", _) | (_, Some(429)) => {
            return Ok(Content::LimitReached { until, text });
        }
        ("server_overloaded" | "model_cap", _) => ErrorKind::Overloaded,
        ("unauthorized", _) | (_, Some(401 | 403)) => ErrorKind::Authentication,
        (_, Some(402)) => ErrorKind::Billing,
        ("context_window_exceeded" | "session_budget_exceeded", _) => ErrorKind::ContextOverflow,
        ("bad_request", _) | (_, Some(400..=499)) => ErrorKind::InvalidRequest,
        ("internal_server_error", _) | (_, Some(500..=599)) => ErrorKind::Server,
        (
            "http_connection_failed"
            | "response_stream_connection_failed"
            | "response_stream_disconnected",
            _,
        ) => ErrorKind::Connection,
        _ => ErrorKind::Unclassified,
    };
    Ok(Content::Error { kind, text, retry_at: None })
}

/// The error's word, and the status of the answer where it has one.
fn kind(raw: &RawValue) -> (String, Option<u16>) {
    #[derive(serde::Deserialize)]
    struct Details {
        http_status_code: Option<u16>,
    }
    if let Ok(word) = serde_json::from_str::<String>(raw.get()) {
        return (word, None);
    }
    let named: std::collections::BTreeMap<String, Option<Details>> =
        serde_json::from_str(raw.get()).unwrap_or_default();
    let first = named.into_iter().next();
    first
        .map(|(word, details)| (word, details.and_then(|it| it.http_status_code)))
        .unwrap_or_default()
}

/// When all limits that are reached have ended.
pub fn limits_end(raw: &RawValue) -> Result<Option<Time>, Damaged> {
    let limits: RateLimits = parse(raw)?;
    let is_reached = |limit: &Limit| limit.used_percent.is_some_and(|used| used >= REACHED_PERCENT);
    let reached = [limits.primary, limits.secondary].into_iter().flatten().filter(is_reached);
    // Not before this century's twenties, not beyond its end.
    let ends =
        reached.filter_map(|limit| limit.resets_at).filter(|at| (1.5e9..=4.1e9).contains(at));
    Ok(ends.map(|at| Time((at * 1e6) as u64)).max())
}

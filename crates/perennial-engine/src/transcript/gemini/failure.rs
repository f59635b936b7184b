//! Model calls that failed: the client writes one text, `[API Error: …]`, with what the service said.

use crate::transcript::step::{Content, ErrorKind, Excerpt};

/// Words of the service and of the client, in small letters; the first that is found tells.
const KINDS: &[(&str, ErrorKind)] = &[
    ("unavailable", ErrorKind::Overloaded),
    ("overloaded", ErrorKind::Overloaded),
    ("exceeds the maximum number of tokens", ErrorKind::ContextOverflow),
    ("unauthenticated", ErrorKind::Authentication),
    ("permission_denied", ErrorKind::Authentication),
    ("api key not valid", ErrorKind::Authentication),
    ("billing", ErrorKind::Billing),
    ("invalid_argument", ErrorKind::InvalidRequest),
    ("failed_precondition", ErrorKind::InvalidRequest),
    ("not_found", ErrorKind::InvalidRequest),
    ("\"internal\"", ErrorKind::Server),
    ("fetch failed", ErrorKind::Connection),
    ("econn", ErrorKind::Connection),
    ("terminated", ErrorKind::Connection),
    ("timed out", ErrorKind::Connection),
];

/// Words for a limit that was reached. The client has tried again by then, and has given up.
const LIMITS: &[&str] = &["resource_exhausted", "rate limit", "quota", "\"code\":429"];

pub fn of(text: &str) -> Content {
    let small = text.to_lowercase();
    let said = |word: &str| small.contains(word);
    if LIMITS.iter().any(|word| said(word)) {
        return Content::RateLimit { until: None, text: Excerpt::of(text) };
    }
    let known = KINDS.iter().find(|(word, _)| said(word));
    let kind = known.map_or(ErrorKind::Unclassified, |(_, kind)| *kind);
    Content::Error { kind, text: Excerpt::of(text), retry_at: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_known_by_the_words_of_the_service() {
        let kind = |text: &str| match of(text) {
            Content::Error { kind, .. } => Some(kind),
            _ => None,
        };
        assert_eq!(kind("[API Error: {\"error\":{\"status\":\"RESOURCE_EXHAUSTED\"}}]"), None);
        let table = [
            ("{\"code\":503,\"status\":\"UNAVAILABLE\"}", ErrorKind::Overloaded),
            ("{\"code\":400,\"status\":\"INVALID_ARGUMENT\"}", ErrorKind::InvalidRequest),
            ("{\"status\":\"UNAUTHENTICATED\"}", ErrorKind::Authentication),
            ("exception TypeError: fetch failed sending request", ErrorKind::Connection),
            ("something else", ErrorKind::Unclassified),
        ];
        for (text, expected) in table {
            assert_eq!(kind(text), Some(expected), "{text}");
        }
    }
}

//! Spans of time as people write them: `5s`, `300ms`, `8h`.

use std::time::Duration;

/// Reads one number with one unit.
pub fn parse(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count: u64 = text[..digits].parse().ok()?;
    let micros = match &text[digits..] {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        _ => return None,
    };
    Some(Duration::from_micros(count.checked_mul(micros)?))
}

/// Writes a span in the largest units that say it exactly enough: `1h 5m`, `2.500s`.
pub fn print(span: Duration) -> String {
    let (seconds, millis) = (span.as_secs(), span.subsec_millis());
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) if millis > 0 => format!("{s}.{millis:03}s"),
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m {s}s"),
        (h, m, s) => format!("{h}h {m}m {s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        assert_eq!(parse("5s"), Some(Duration::from_secs(5)));
        assert_eq!(parse("300ms"), Some(Duration::from_millis(300)));
        assert_eq!(parse("8h").map(print).as_deref(), Some("8h 0m 0s"));
        assert_eq!(parse("2500ms").map(print).as_deref(), Some("2.500s"));
        for bad in ["", "5", "s", "5 s", "5d", "99999999999999999999s"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}

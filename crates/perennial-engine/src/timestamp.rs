//! Moments as text: RFC 3339, UTC. The one form that files and the surface have them in.

use jiff::Timestamp;
use perennial_core::time::Time;

/// With microseconds: texts sort as the moments do.
pub fn rfc3339(time: Time) -> String {
    formatted(time, "%Y-%m-%dT%H:%M:%S.%6fZ")
}

/// To the second, for people who read a file.
pub fn rfc3339_seconds(time: Time) -> String {
    formatted(time, "%Y-%m-%dT%H:%M:%SZ")
}

/// A moment as somebody wrote it, with its offset; nothing before 1970.
pub fn parsed(text: &str) -> Option<Time> {
    let stamp = text.parse::<Timestamp>().ok()?;
    u64::try_from(stamp.as_microsecond()).ok().map(Time)
}

fn formatted(time: Time, pattern: &str) -> String {
    let micros = i64::try_from(time.0).unwrap_or(i64::MAX);
    match Timestamp::from_microsecond(micros) {
        Ok(stamp) => stamp.strftime(pattern).to_string(),
        // Past the year 9999: a journal from a broken clock is still shown.
        Err(_) => format!("+{micros}us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_sort_as_text() {
        let noon = Time(1_700_000_000_000_000);
        assert_eq!(rfc3339(noon), "2023-11-14T22:13:20.000000Z");
        assert_eq!(rfc3339_seconds(Time(noon.0 + 999_999)), "2023-11-14T22:13:20Z");
        assert!(rfc3339(Time(noon.0 + 1)) > rfc3339(noon));
        for time in [noon, Time(noon.0 + 999_999)] {
            assert_eq!(parsed(&rfc3339(time)), Some(time));
        }
        assert_eq!(parsed("2023-11-14T23:13:20+01:00"), Some(noon));
        for text in ["", "yesterday", "2023-11-14", "1969-12-31T00:00:00Z"] {
            assert_eq!(parsed(text), None, "{text}");
        }
        assert_eq!(rfc3339(Time(u64::MAX)), format!("+{}us", i64::MAX));
    }
}

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
        assert_eq!(rfc3339(Time(u64::MAX)), format!("+{}us", i64::MAX));
    }
}

//! Times and durations for people: how long ago, at what time of day.
//!
//! A time that can't be parsed is shown as it is, escaped: a listing never fails because of one.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::text::plain;

/// The reader's time and time zone.
#[derive(Debug, Clone)]
pub struct LocalTime {
    pub now: Timestamp,
    pub zone: TimeZone,
}

impl LocalTime {
    pub fn system() -> LocalTime {
        LocalTime { now: Timestamp::now(), zone: TimeZone::system() }
    }

    /// `42s`, `12m`, `5h`, `3d`: how long ago it was.
    pub fn ago(&self, moment: &str) -> String {
        match moment.parse::<Timestamp>() {
            Ok(moment) => span(self.now.duration_since(moment)),
            Err(_) => plain(moment),
        }
    }

    /// How long until then; nothing for a moment that has passed.
    pub fn until(&self, moment: &str) -> Option<String> {
        let left = moment.parse::<Timestamp>().ok()?.duration_since(self.now);
        (left > SignedDuration::ZERO).then(|| span(left))
    }

    /// The time of the day, with the date when it is not today.
    pub fn time(&self, moment: &str) -> String {
        let Ok(moment) = moment.parse::<Timestamp>() else { return plain(moment) };
        let moment = moment.to_zoned(self.zone.clone());
        let today = self.now.to_zoned(self.zone.clone()).date();
        let pattern = if moment.date() == today { "%H:%M:%S.%3f" } else { "%Y-%m-%d %H:%M:%S" };
        moment.strftime(pattern).to_string()
    }

    /// The time of the day to the second.
    pub fn second(&self, moment: &str) -> String {
        self.formatted(moment, "%H:%M:%S")
    }

    pub fn day(&self, moment: &str) -> String {
        self.formatted(moment, "%Y-%m-%d")
    }

    fn formatted(&self, moment: &str, pattern: &str) -> String {
        let Ok(moment) = moment.parse::<Timestamp>() else { return plain(moment) };
        moment.to_zoned(self.zone.clone()).strftime(pattern).to_string()
    }
}

/// Two digits' worth of a span; a negative one (a clock that went back) is none.
pub fn span(span: SignedDuration) -> String {
    crate::span::brief(u64::try_from(span.as_secs()).unwrap_or(0))
}

#[cfg(test)]
pub fn fixed() -> LocalTime {
    LocalTime { now: "2026-11-15T12:00:00Z".parse().unwrap(), zone: TimeZone::UTC }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let clock = fixed();
        for (moment, text) in [
            ("2026-11-15T11:59:59.5Z", "0s"),
            ("2026-11-15T11:59:18Z", "42s"),
            ("2026-11-15T11:01:00Z", "59m"),
            ("2026-11-14T12:00:00Z", "24h"),
            ("2026-11-12T12:00:00Z", "3d"),
            ("2026-11-15T13:00:00Z", "0s"),
            ("\x1bnot a time", "\\u{1b}not a time"),
        ] {
            assert_eq!(clock.ago(moment), text, "{moment:?}");
        }
        assert_eq!(clock.until("2026-11-15T12:05:00Z").as_deref(), Some("5m"));
        assert_eq!(clock.until("2026-11-15T11:05:00Z"), None);
    }

    #[test]
    fn times_of_the_day() {
        let clock = fixed();
        assert_eq!(clock.time("2026-11-15T03:04:05.678901Z"), "03:04:05.678");
        assert_eq!(clock.time("2026-11-14T23:04:05Z"), "2026-11-14 23:04:05");
    }
}

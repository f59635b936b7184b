//! `--since`: a time, or how long ago.

use jiff::civil::{DateTime, Time};
use jiff::{SignedDuration, Timestamp};

use super::render::time::LocalTime;
use crate::span;

/// As clap reads it, at this moment and in the reader's zone.
pub fn since(text: &str) -> Result<Timestamp, String> {
    read(text, &LocalTime::system()).ok_or_else(|| {
        "neither a duration like 10m, 2h or 1d, nor a time like 14:30, 2026-11-17 14:30 or \
         2026-11-17T14:30:00Z"
            .to_owned()
    })
}

fn read(text: &str, clock: &LocalTime) -> Option<Timestamp> {
    let zoned = |time: DateTime| Some(time.to_zoned(clock.zone.clone()).ok()?.timestamp());
    if let Some(ago) = duration(text) {
        return clock.now.checked_sub(ago).ok();
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    if let Ok(time) = text.parse::<DateTime>() {
        return zoned(time);
    }
    let today = clock.now.to_zoned(clock.zone.clone()).date();
    zoned(today.to_datetime(text.parse::<Time>().ok()?))
}

fn duration(text: &str) -> Option<SignedDuration> {
    Some(SignedDuration::from_secs(i64::try_from(span::seconds(text)?).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::time::fixed;

    #[test]
    fn times_and_durations() {
        let read = |text| read(text, &fixed()).map(|moment| moment.to_string());
        for (text, moment) in [
            ("90s", "2026-11-15T11:58:30Z"),
            ("10m", "2026-11-15T11:50:00Z"),
            ("2h", "2026-11-15T10:00:00Z"),
            ("1d", "2026-11-14T12:00:00Z"),
            ("09:30", "2026-11-15T09:30:00Z"),
            ("2026-11-14", "2026-11-14T00:00:00Z"),
            ("2026-11-14 09:30", "2026-11-14T09:30:00Z"),
            ("2026-11-14T09:30:00+01:00", "2026-11-14T08:30:00Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(moment), "{text}");
        }
        for text in ["", "m", "-5m", "soon", "99999999999d", "5 m", "4294967295d", "ä"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

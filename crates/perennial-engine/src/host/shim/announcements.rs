//! Looks in a program's output for what it announces about itself.
//!
//! A byte scanner, no screen model. What is printed may be a stranger's: a tool's output can hold any
//! sequence. So what is announced is an opinion, and the daemon weighs it.
//!
//! Invariants
//! - AN1  Memory is bounded, whatever the program prints; a longer text says nothing.
//! - AN2  Without rules nothing is looked at and nothing is held.

use memchr::memchr2;

use super::super::announcement::{Announced, AnnouncementRule};
use super::super::protocol::ShimReport;
use super::{Peer, Shim};

/// Titles and states are shorter.
const TEXT_BYTES_MAX: usize = 512;

const ESCAPE: u8 = 0x1b;
const BELL: u8 = 0x07;

#[derive(Debug, Default)]
pub struct Announcements {
    rules: Vec<AnnouncementRule>,
    place: Scan,
    /// What stands between `OSC` and its end, so far.
    text: Vec<u8>,
    latest: Option<Announced>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Scan {
    #[default]
    Ground,
    Escape,
    Text,
    /// A text that is too long, up to its end.
    Skipped,
    /// An escape within a text: its end, or another sequence.
    TextEscape,
}

impl Shim {
    /// Tells the daemon what the program announces, if that has changed.
    pub(super) fn tell_announced(&mut self) {
        let has_daemon = self.peers.iter().any(Peer::is_daemon);
        let Some(session) = self.session.as_mut().filter(|s| has_daemon && s.exit.is_none()) else {
            return;
        };
        let Some(state) = session.announcements.latest() else { return };
        if session.told_announced != Some(state) {
            session.told_announced = Some(state);
            let number = session.number.0;
            self.report(&ShimReport::Announced { number, state });
        }
    }
}

impl Announcements {
    pub fn new(rules: Vec<AnnouncementRule>) -> Announcements {
        Announcements { rules, ..Announcements::default() }
    }

    /// The last that was announced.
    pub fn latest(&self) -> Option<Announced> {
        self.latest
    }

    pub fn scan(&mut self, bytes: &[u8]) {
        if self.rules.is_empty() {
            return;
        }
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            match self.place {
                Scan::Ground => {
                    let Some(start) = memchr::memchr(ESCAPE, rest) else { return };
                    rest = &rest[start + 1..];
                    self.place = Scan::Escape;
                    continue;
                }
                Scan::Escape => self.escaped(byte),
                Scan::Text | Scan::Skipped => {
                    let end = memchr2(ESCAPE, BELL, rest);
                    self.keep(&rest[..end.unwrap_or(rest.len())]);
                    let Some(end) = end else { return };
                    if rest[end] == BELL {
                        self.end();
                    } else if self.place == Scan::Text {
                        self.place = Scan::TextEscape;
                    } else {
                        self.place = Scan::Escape;
                    }
                    rest = &rest[end + 1..];
                    continue;
                }
                Scan::TextEscape if byte == b'\\' => self.end(),
                // Another sequence cuts the text short.
                Scan::TextEscape => self.escaped(byte),
            }
            rest = after;
        }
    }

    fn escaped(&mut self, byte: u8) {
        self.text = Vec::new();
        self.place = match byte {
            b']' => Scan::Text,
            ESCAPE => Scan::Escape,
            _ => Scan::Ground,
        };
    }

    fn keep(&mut self, part: &[u8]) {
        if self.text.len() + part.len() > TEXT_BYTES_MAX {
            self.text = Vec::new();
            self.place = Scan::Skipped;
        } else if self.place == Scan::Text {
            self.text.extend_from_slice(part);
        }
    }

    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        let was_kept = self.place != Scan::Skipped;
        self.place = Scan::Ground;
        let Some((osc, text)) = std::str::from_utf8(&text).ok().and_then(|it| it.split_once(';'))
        else {
            return;
        };
        let Some(osc) = osc.parse().ok().filter(|_| was_kept) else { return };
        if let Some(rule) = self.rules.iter().find(|rule| rule.fits(osc, text)) {
            self.latest = Some(rule.means);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(osc: &[u16], begins: &str, means: Announced) -> AnnouncementRule {
        let (is, contains, ends) = (None, None, None);
        AnnouncementRule {
            osc: osc.to_vec(),
            is,
            begins: Some(begins.to_owned()),
            contains,
            ends,
            means,
        }
    }

    fn announcements() -> Announcements {
        Announcements::new(vec![
            rule(&[7501], "state=working", Announced::Busy),
            rule(&[7501], "state=idle", Announced::Idle),
            rule(&[0, 2], "◇", Announced::Question),
        ])
    }

    fn heard(bytes: &[u8], cut: usize) -> Option<Announced> {
        let mut scanned = announcements();
        scanned.scan(&bytes[..cut]);
        scanned.scan(&bytes[cut..]);
        scanned.latest()
    }

    #[test]
    fn announcements_are_found_wherever_the_bytes_are_cut() {
        let bytes =
            "x\x1b[1;2H\x1b]0;title\x07\x1b]7501;state=working:app=x\x1b\\y\x1b]2;◇ Ready\x07z";
        for cut in 0..=bytes.len() {
            assert_eq!(heard(bytes.as_bytes(), cut), Some(Announced::Question), "{cut}");
        }
        let first = &bytes.as_bytes()[..bytes.len() - 14];
        assert_eq!(heard(first, 5), Some(Announced::Busy));
    }

    #[test]
    fn what_is_none_says_nothing_and_is_not_held() {
        let long = format!("\x1b]7501;state=idle{}\x07", "x".repeat(TEXT_BYTES_MAX));
        for bytes in [
            "\x1b]7501;state=asleep\x07",
            "\x1b]7502;state=idle\x07",
            "\x1b]state=idle\x07",
            "]7501;state=idle\x07",
            "\x1b]7501;state=idle",
            "\x1b]7501;state=idle\x1b[0m",
            &long,
        ] {
            for cut in 0..bytes.len() {
                if bytes.is_char_boundary(cut) {
                    assert_eq!(heard(bytes.as_bytes(), cut), None, "{bytes:?} {cut}");
                }
            }
        }
        let mut endless = announcements();
        endless.scan(b"\x1b]");
        for _ in 0..1_000 {
            endless.scan(&[b'x'; 4096]);
            assert!(endless.text.capacity() <= 2 * TEXT_BYTES_MAX);
        }
        endless.scan(b"\x07\x1b]7501;state=idle\x07");
        assert_eq!(endless.latest(), Some(Announced::Idle), "what follows is read again");
        let mut without = Announcements::default();
        without.scan(b"\x1b]7501;state=idle\x07");
        assert_eq!(without.latest(), None);
    }

    #[test]
    fn a_sequence_that_cuts_another_short_is_read() {
        let bytes = b"\x1b]7501;state=working\x1b]7501;state=idle\x1b\\";
        for cut in 0..bytes.len() {
            assert_eq!(heard(bytes, cut), Some(Announced::Idle), "{cut}");
        }
    }
}

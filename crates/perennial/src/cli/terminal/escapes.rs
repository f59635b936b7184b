//! Cuts what a program prints into text and escape sequences, across any split.
//!
//! Only the grammar: what a sequence means is for those who use this. Memory is bounded: a sequence
//! that does not end is given out in fragments.

/// Longer sequences (pictures, clipboards) come in fragments.
const SEQUENCE_LIMIT: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// Anything but escape sequences; controls such as line ends are in it.
    Text(&'a [u8]),
    /// A whole sequence, from its ESC to its end.
    Sequence(&'a [u8]),
    /// A part of a sequence that is longer than the limit.
    Fragment(&'a [u8]),
}

#[derive(Debug, Default)]
pub struct Scanner {
    state: ScannerState,
    held: Vec<u8>,
    is_fragment: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ScannerState {
    #[default]
    Text,
    Escape,
    /// ESC and intermediate bytes, before one final byte.
    Intermediate,
    Control,
    /// OSC, DCS, APC, PM, SOS: until BEL (OSC only) or ST.
    String {
        is_osc: bool,
    },
    /// An ESC inside a string: ST if a backslash follows.
    StringEscape {
        is_osc: bool,
    },
}

const ESC: u8 = 0x1b;

impl Scanner {
    pub fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(Token<'_>)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.state == ScannerState::Text {
                let end = rest.iter().position(|byte| *byte == ESC).unwrap_or(rest.len());
                if end > 0 {
                    take(Token::Text(&rest[..end]));
                }
                rest = &rest[end..];
            }
            let Some((byte, after)) = rest.split_first() else { return };
            self.hold(*byte, &mut take);
            rest = after;
        }
    }

    /// What has come of a sequence whose end has not.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Whether nothing is under way: what is written now cuts no sequence.
    pub fn is_between(&self) -> bool {
        self.state == ScannerState::Text
    }

    /// Gives out what is held, for its end does not come.
    pub fn flush(&mut self, mut take: impl FnMut(Token<'_>)) {
        self.release(&mut take);
    }

    fn hold(&mut self, byte: u8, take: &mut impl FnMut(Token<'_>)) {
        let next = step(self.state, byte);
        if next == Some(ScannerState::Escape) && self.state != ScannerState::Text && byte == ESC {
            // A sequence that another one interrupts never had a meaning.
            self.release(take);
        }
        self.held.push(byte);
        match next {
            Some(state) => {
                self.state = state;
                if self.held.len() >= SEQUENCE_LIMIT {
                    take(Token::Fragment(&self.held));
                    self.held.clear();
                    self.is_fragment = true;
                }
            }
            None => self.release(take),
        }
    }

    fn release(&mut self, take: &mut impl FnMut(Token<'_>)) {
        self.state = ScannerState::Text;
        let token = if self.is_fragment {
            Token::Fragment(&self.held)
        } else {
            Token::Sequence(&self.held)
        };
        if !self.held.is_empty() {
            take(token);
        }
        self.held.clear();
        self.is_fragment = false;
    }
}

/// The state after `byte`; nothing when it ends the sequence.
fn step(state: ScannerState, byte: u8) -> Option<ScannerState> {
    // CAN and SUB end any sequence.
    if byte == 0x18 || byte == 0x1a {
        return None;
    }
    match state {
        ScannerState::Text => Some(ScannerState::Escape),
        ScannerState::Escape => match byte {
            b'[' => Some(ScannerState::Control),
            b']' => Some(ScannerState::String { is_osc: true }),
            b'P' | b'X' | b'^' | b'_' => Some(ScannerState::String { is_osc: false }),
            0x20..=0x2f => Some(ScannerState::Intermediate),
            ESC => Some(ScannerState::Escape),
            _ => None,
        },
        ScannerState::Intermediate => match byte {
            0x20..=0x2f => Some(ScannerState::Intermediate),
            ESC => Some(ScannerState::Escape),
            _ => None,
        },
        ScannerState::Control => match byte {
            0x40..=0x7e => None,
            ESC => Some(ScannerState::Escape),
            _ => Some(ScannerState::Control),
        },
        ScannerState::String { is_osc } => match byte {
            0x07 if is_osc => None,
            ESC => Some(ScannerState::StringEscape { is_osc }),
            _ => Some(ScannerState::String { is_osc }),
        },
        ScannerState::StringEscape { is_osc } => match byte {
            b'\\' => None,
            _ => Some(ScannerState::String { is_osc }),
        },
    }
}

/// Whether a terminal would answer this sequence by typing.
pub fn is_query(sequence: &[u8]) -> bool {
    match sequence {
        [ESC, b'[', body @ .., last] => match last {
            // Device attributes; the answer to one would be no query again.
            b'c' => true,
            b'n' => true,
            b'p' => body.ends_with(b"$"),
            b'q' => body.starts_with(b">"),
            b'u' => body.starts_with(b"?"),
            b'x' => true,
            b't' => {
                matches!(
                    body,
                    b"11" | b"13" | b"14" | b"15" | b"16" | b"18" | b"19" | b"20" | b"21"
                ) || body.starts_with(b"14;")
            }
            _ => false,
        },
        [ESC, b']', body @ ..] => body.contains(&b'?'),
        [ESC, b'P', b'+' | b'$', b'q', ..] => true,
        [ESC, b'Z'] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens as text, sequences in brackets, adjacent text joined.
    fn shown(parts: &[&[u8]]) -> String {
        let mut scanner = Scanner::default();
        let mut text = String::new();
        for part in parts {
            scanner.feed(part, |token| match token {
                Token::Text(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
                Token::Sequence(bytes) => {
                    text.push_str(&format!("<{}>", bytes[1..].escape_ascii()));
                }
                Token::Fragment(bytes) => text.push_str(&format!("<~{}>", bytes.len())),
            });
        }
        text
    }

    #[test]
    fn every_split_gives_the_same() {
        let bytes = b"a\x1b[1;31mred\x1b[0m\x1b]0;title\x07b\x1b]11;?\x1b\\c\x1b(Bd\x1bPq#0\x1b\\e\x1b7f\x1b[12\x1b[2Jg";
        let whole = "a<[1;31m>red<[0m><]0;title\\x07>b<]11;?\\x1b\\\\>c<(B>d<Pq#0\\x1b\\\\>e<7>f<[12><[2J>g";
        for cut in 0..bytes.len() {
            assert_eq!(shown(&[&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
        }
    }

    #[test]
    fn an_endless_sequence_comes_in_fragments_and_text_goes_on_after_it() {
        let mut bytes = b"\x1b]52;c;".to_vec();
        bytes.resize(10_000, b'x');
        bytes.extend_from_slice(b"\x07after");
        assert_eq!(shown(&[&bytes]), "<~4096><~4096><~1809>after");
    }

    #[test]
    fn queries() {
        for query in [
            "\x1b[c",
            "\x1b[>0c",
            "\x1b[6n",
            "\x1b[?2026$p",
            "\x1b[>q",
            "\x1b[?u",
            "\x1b[18t",
            "\x1b]11;?\x07",
            "\x1bP+q544e\x1b\\",
            "\x1bP$qm\x1b\\",
        ] {
            assert!(is_query(query.as_bytes()), "{query:?}");
        }
        for other in [
            "\x1b[1m",
            "\x1b[2J",
            "\x1b[?25l",
            "\x1b[>1u",
            "\x1b]0;title\x07",
            "\x1b[22;0t",
            "\x1b[2 q",
            "\x1b[!p",
        ] {
            assert!(!is_query(other.as_bytes()), "{other:?}");
        }
    }
}

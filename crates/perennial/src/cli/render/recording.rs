//! A session's output for reading in a terminal: text and colours, nothing else that acts.
//!
//! A recording is hostile input: its sequences could retitle, answer or repaint the reader's
//! terminal.

use crate::cli::terminal::escapes::{Scanner, Token};

use super::text::is_acting;

#[derive(Debug, Default)]
pub struct RecordingText {
    scanner: Scanner,
    /// The beginning of a letter whose end has not come yet.
    torn: Vec<u8>,
    /// A carriage return of which it is not known yet whether a line end follows.
    is_returned: bool,
}

impl RecordingText {
    /// What may be shown of the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        let mut shown = String::new();
        let RecordingText { scanner, torn, is_returned } = self;
        scanner.feed(bytes, |token| match token {
            Token::Text(text) => {
                torn.extend_from_slice(text);
                push_text(torn, is_returned, &mut shown);
            }
            Token::Sequence(sequence) if is_colour(sequence) => {
                shown.push_str(&String::from_utf8_lossy(sequence));
            }
            Token::Sequence(_) | Token::Fragment(_) => {}
        });
        shown
    }
}

/// Moves what is whole from `bytes`; a torn letter stays.
fn push_text(bytes: &mut Vec<u8>, is_returned: &mut bool, shown: &mut String) {
    let whole = match str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        // Something in it is no letter at all; it is shown as such.
        Err(_) => bytes.len(),
    };
    for c in String::from_utf8_lossy(&bytes[..whole]).chars() {
        // A bare return begins the line again: shown as a new one, so that it hides nothing.
        if std::mem::take(is_returned) && c != '\n' && c != '\r' {
            shown.push('\n');
        }
        match c {
            '\r' => *is_returned = true,
            '\n' | '\t' => shown.push(c),
            c if is_acting(c) => {}
            c => shown.push(c),
        }
    }
    bytes.drain(..whole);
}

/// Select graphic rendition: parameters are digits and their separators only.
fn is_colour(sequence: &[u8]) -> bool {
    match sequence {
        [0x1b, b'[', body @ .., b'm'] => {
            body.len() <= 64
                && body.iter().all(|byte| byte.is_ascii_digit() || b";:".contains(byte))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_and_colours_are_left_at_any_split() {
        let bytes =
            "a\r\nb\x1b[31mré\x1b[0d\x1b]0;evil\x07\x1b[2J10%\r20%\x07\u{9b}31m\u{202e}日\tx\r\n"
                .as_bytes();
        let expected = "a\nb\x1b[31mré10%\n20%31m日\tx\n";
        for cut in 0..bytes.len() {
            let mut reader = RecordingText::default();
            let shown = reader.feed(&bytes[..cut]) + &reader.feed(&bytes[cut..]);
            assert_eq!(shown, expected, "cut at {cut}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_such() {
        assert_eq!(RecordingText::default().feed(b"a\xff\xfeb\0"), "a\u{fffd}\u{fffd}b");
    }

    #[test]
    fn a_device_control_that_never_ends_shows_nothing() {
        let mut reader = RecordingText::default();
        assert_eq!(reader.feed(b"a\x1bP"), "a");
        assert_eq!(reader.feed(&[b'x'; 100_000]), "");
    }
}

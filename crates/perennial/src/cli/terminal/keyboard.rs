//! Finds the detach keys among what a person types, and passes everything else on.
//!
//! Pure: it is told what was typed and what time it is, and reads and writes nothing.
//!
//! Invariants
//! - KB1  The prefix reaches the program only if the literal key is pressed after it.
//! - KB2  No other key is lost, and none overtakes another.
//! - KB3  What is inside a bracketed paste is text, never a detach key.
//! - KB4  What the terminal itself says (answers, mouse, focus) ends no waiting.

use std::time::Duration;

use perennial_engine::host::monotonic::Moment;

use super::escapes::{Scanner, Token};
use super::key_event::{self, InputSequence, KeyEvent, Motion};
use crate::detach_keys::{DetachKeys, Key};

/// The next key after the prefix is waited for this long; then the prefix is forgotten.
const PREFIX_LASTS: Duration = Duration::from_secs(2);
/// Whoever knows the keys is faster than this and needs no hint.
const HINT_AFTER: Duration = Duration::from_millis(200);
/// The rest of an escape sequence that a read cut comes sooner than this.
const SEQUENCE_WITHIN: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub struct Keyboard {
    keys: DetachKeys,
    scanner: Scanner,
    /// When a sequence began whose end has not come.
    cut_at: Option<Moment>,
    is_in_paste: bool,
    prefix: Option<Prefix>,
}

/// The prefix was pressed, and nothing after it.
#[derive(Debug)]
struct Prefix {
    at: Moment,
    /// As the terminal sent it: so the program would have got it.
    bytes: Vec<u8>,
}

/// What follows from what was typed.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    Send(Vec<u8>),
    /// After what was typed before it.
    Detach(Vec<u8>),
}

impl Keyboard {
    pub fn new(keys: DetachKeys) -> Keyboard {
        let scanner = Scanner::default();
        Keyboard { keys, scanner, cut_at: None, is_in_paste: false, prefix: None }
    }

    pub fn keys(&self) -> DetachKeys {
        self.keys
    }

    /// Whether what the next key does should be told.
    pub fn wants_hint(&self, now: Moment) -> bool {
        self.prefix.as_ref().is_some_and(|prefix| prefix.at + HINT_AFTER <= now)
    }

    /// When `tick` has something to do, or the hint is due.
    pub fn next_deadline(&self, now: Moment) -> Option<Moment> {
        let cut = self.cut_at.map(|at| at + SEQUENCE_WITHIN);
        let prefix = self.prefix.as_ref().map(|prefix| match prefix.at + HINT_AFTER {
            hint if hint > now => hint,
            _ => prefix.at + PREFIX_LASTS,
        });
        [cut, prefix].into_iter().flatten().min()
    }

    /// Takes in what was typed. `has_more` if the rest of it is still to be read.
    pub fn feed(&mut self, bytes: &[u8], has_more: bool, now: Moment) -> Typed {
        let mut scanner = std::mem::take(&mut self.scanner);
        let mut typed = Typed::Send(Vec::new());
        scanner.feed(bytes, |token| self.take(token, now, &mut typed));
        // Most often an Escape by itself is the key: it does not wait. A paste's end may be cut there.
        if scanner.held() == b"\x1b" && !has_more && !self.is_in_paste {
            scanner.flush(|token| self.take(token, now, &mut typed));
        }
        self.cut_at = (!scanner.held().is_empty()).then(|| self.cut_at.unwrap_or(now));
        self.scanner = scanner;
        typed
    }

    /// Forgets a prefix that nothing followed, and passes on a sequence whose end never came.
    pub fn tick(&mut self, now: Moment) -> Typed {
        if self.prefix.as_ref().is_some_and(|prefix| prefix.at + PREFIX_LASTS <= now) {
            self.prefix = None;
        }
        let mut typed = Typed::Send(Vec::new());
        if self.cut_at.is_some_and(|at| at + SEQUENCE_WITHIN <= now) {
            let mut scanner = std::mem::take(&mut self.scanner);
            scanner.flush(|token| self.take(token, now, &mut typed));
            (self.scanner, self.cut_at) = (scanner, None);
        }
        typed
    }

    fn take(&mut self, token: Token<'_>, now: Moment, typed: &mut Typed) {
        match token {
            Token::Text(text) if self.is_in_paste => self.pass(text, typed),
            Token::Text(text) => {
                for (at, byte) in text.iter().enumerate() {
                    let is = |key: Key| key.0 == *byte;
                    self.press(is, &text[at..=at], now, typed);
                }
            }
            Token::Sequence(bytes) => match key_event::read(bytes) {
                InputSequence::PasteEnds => {
                    self.is_in_paste = false;
                    self.pass(bytes, typed);
                }
                InputSequence::Key(event) if !self.is_in_paste => {
                    self.take_event(event, bytes, now, typed);
                }
                InputSequence::PasteBegins => {
                    self.is_in_paste = true;
                    self.pass(bytes, typed);
                }
                InputSequence::Report => send(bytes, typed),
                InputSequence::Key(_) | InputSequence::OtherKey => self.pass(bytes, typed),
            },
            Token::Fragment(bytes) => send(bytes, typed),
        }
    }

    fn take_event(&mut self, event: KeyEvent, bytes: &[u8], now: Moment, typed: &mut Typed) {
        match event.motion {
            Motion::Down if event.is_modifier() => send(bytes, typed),
            Motion::Down => self.press(|key| event.is(key), bytes, now, typed),
            // The program never saw the prefix go down.
            Motion::Other if event.is(Key(self.keys.prefix)) => {}
            Motion::Other => send(bytes, typed),
        }
    }

    fn press(&mut self, is: impl Fn(Key) -> bool, bytes: &[u8], now: Moment, typed: &mut Typed) {
        let is_prefix = is(Key(self.keys.prefix));
        match self.prefix.take() {
            None if is_prefix => self.prefix = Some(Prefix { at: now, bytes: bytes.to_vec() }),
            Some(_) if is_prefix || is(self.keys.detach) => detach(typed),
            Some(prefix) if is(self.keys.literal()) => send(&prefix.bytes, typed),
            Some(_) | None => send(bytes, typed),
        }
    }

    /// What is no detach key; a prefix before it is forgotten.
    fn pass(&mut self, bytes: &[u8], typed: &mut Typed) {
        self.prefix = None;
        send(bytes, typed);
    }
}

/// What is typed behind the detachment goes nowhere.
fn send(bytes: &[u8], typed: &mut Typed) {
    if let Typed::Send(sent) = typed {
        sent.extend_from_slice(bytes);
    }
}

fn detach(typed: &mut Typed) {
    if let Typed::Send(sent) = typed {
        *typed = Typed::Detach(std::mem::take(sent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ZERO: Moment = Duration::ZERO;

    fn keyboard() -> Keyboard {
        Keyboard::new(DetachKeys::default())
    }

    fn sent(bytes: &[u8]) -> Typed {
        Typed::Send(bytes.to_vec())
    }

    fn at(millis: u64) -> Moment {
        Duration::from_millis(millis)
    }

    /// What the whole input comes to, wherever it is cut.
    #[track_caller]
    fn check(input: &[u8], expected: &Typed) {
        for cut in 0..=input.len() {
            let mut keyboard = keyboard();
            let mut all = Vec::new();
            let mut result = Typed::Send(Vec::new());
            for (part, has_more) in [(&input[..cut], true), (&input[cut..], false)] {
                result = keyboard.feed(part, has_more, ZERO);
                match &result {
                    Typed::Send(bytes) => all.extend_from_slice(bytes),
                    Typed::Detach(bytes) => {
                        all.extend_from_slice(bytes);
                        break;
                    }
                }
            }
            let result = match result {
                Typed::Send(_) => Typed::Send(all),
                Typed::Detach(_) => Typed::Detach(all),
            };
            assert_eq!(result, *expected, "{:?} cut at {cut}", input.escape_ascii());
        }
    }

    #[test]
    fn the_prefix_is_never_sent_and_no_other_key_is_lost() {
        check(b"a\x1c\x1cb", &Typed::Detach(b"a".to_vec()));
        check(b"a\x1cdb", &Typed::Detach(b"a".to_vec()));
        check(b"a\x1cqb", &sent(b"a\x1cb"));
        check(b"a\x1cxd\x1c", &sent(b"axd"));
        check("\x1cé".as_bytes(), &sent("é".as_bytes()));
        check(b"\x1c\x1b[A\x1c", &sent(b"\x1b[A"));
        check(b"plain \x1b[1;5C \x1bOP text\r", &sent(b"plain \x1b[1;5C \x1bOP text\r"));
    }

    #[test]
    fn encoded_keys_are_recognised() {
        check(b"\x1b[92;5u\x1b[92;5u", &Typed::Detach(Vec::new()));
        check(b"\x1b[92;5:1u\x1b[92;5:2u\x1b[92;5:3u\x1b[92;5:1u", &Typed::Detach(Vec::new()));
        check(b"\x1b[27;5;92~d", &Typed::Detach(Vec::new()));
        check(b"\x1b[92;5u\x1b[57442;5:3u\x1b[100;1u", &Typed::Detach(b"\x1b[57442;5:3u".to_vec()));
        check(b"\x1b[92;5u\x1b[113u", &sent(b"\x1b[92;5u"));
        check(b"\x1b[93;5u", &sent(b"\x1b[93;5u"));
    }

    #[test]
    fn a_prefix_in_a_paste_is_text() {
        let paste = b"\x1b[200~a\x1c\x1cd\x1b[92;5u\x1b[201~";
        check(paste, &sent(paste));
        let mut keyboard = keyboard();
        assert_eq!(keyboard.feed(paste, false, ZERO), sent(paste));
        assert_eq!(keyboard.feed(b"\x1cd", false, ZERO), Typed::Detach(Vec::new()));
    }

    #[test]
    fn what_the_terminal_says_ends_no_waiting() {
        check(
            b"\x1c\x1b[5;3R\x1b[<35;3;4M\x1b[Id",
            &Typed::Detach(b"\x1b[5;3R\x1b[<35;3;4M\x1b[I".to_vec()),
        );
    }

    #[test]
    fn a_prefix_alone_is_forgotten_after_its_time_whatever_is_printed() {
        let mut keyboard = keyboard();
        assert_eq!(keyboard.feed(b"\x1c", false, at(0)), sent(b""));
        assert!(!keyboard.wants_hint(at(199)) && keyboard.wants_hint(at(200)));
        assert_eq!(keyboard.next_deadline(at(0)), Some(at(200)));
        assert_eq!(keyboard.next_deadline(at(200)), Some(at(2000)));
        assert_eq!(keyboard.tick(at(1999)), sent(b""));
        assert!(keyboard.wants_hint(at(1999)));
        assert_eq!(keyboard.tick(at(2000)), sent(b""));
        assert_eq!(
            (keyboard.wants_hint(at(2000)), keyboard.next_deadline(at(2000))),
            (false, None)
        );
        // The next press is a first one again.
        assert_eq!(keyboard.feed(b"\x1c", false, at(2001)), sent(b""));
        assert_eq!(keyboard.feed(b"\x1c", false, at(2801)), Typed::Detach(Vec::new()));
    }

    #[test]
    fn escape_is_typed_at_once_and_a_cut_sequence_within_a_moment() {
        let mut keyboard = keyboard();
        assert_eq!(keyboard.feed(b"\x1b", false, at(0)), sent(b"\x1b"));
        assert_eq!(keyboard.feed(b"\x1b[", false, at(10)), sent(b""));
        assert_eq!(keyboard.next_deadline(at(10)), Some(at(60)));
        assert_eq!(keyboard.tick(at(59)), sent(b""));
        assert_eq!(keyboard.tick(at(60)), sent(b"\x1b["));
        assert_eq!(keyboard.feed(b"d", false, at(61)), sent(b"d"));
    }

    #[test]
    fn other_keys_can_be_set() {
        let mut keyboard = Keyboard::new("C-] q".parse().unwrap());
        assert_eq!(keyboard.feed(b"\x1c\x1c\x1dl", false, ZERO), sent(b"\x1c\x1c\x1d"));
        assert_eq!(keyboard.feed(b"\x1dq", false, ZERO), Typed::Detach(Vec::new()));
    }
}

//! Answers a program's questions to its terminal while nobody is attached.
//!
//! A byte scanner, no screen model: the cursor is said to be at 1;1, colours are those of a dark
//! terminal. A question that is split across reads is found; one longer than the buffer is not.

/// A longest known question, OSC 11 ended by ST, is 8 bytes; DECRQM has digits on top.
const QUESTION_BYTES_MAX: usize = 16;

const ESCAPE: u8 = 0x1b;

/// Finds questions in a stream of output.
#[derive(Debug, Default)]
pub struct Queries {
    /// An escape sequence whose end has not come yet.
    pending: Vec<u8>,
}

impl Queries {
    /// The answers to what was asked in these bytes and in what was pending before them.
    pub fn scan(&mut self, bytes: &[u8], answers: &mut Vec<u8>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.pending.is_empty() {
                let Some(start) = rest.iter().position(|byte| *byte == ESCAPE) else { return };
                rest = &rest[start..];
            }
            let byte = rest[0];
            rest = &rest[1..];
            self.pending.push(byte);
            match classify(&self.pending) {
                Sequence::Open if self.pending.len() < QUESTION_BYTES_MAX => {}
                Sequence::Open | Sequence::Other => self.pending = Vec::new(),
                Sequence::Question => {
                    answer(&self.pending, answers);
                    self.pending = Vec::new();
                }
                // A new sequence cuts an old one short.
                Sequence::Again => self.pending = vec![ESCAPE],
            }
        }
    }
}

enum Sequence {
    Open,
    Question,
    Other,
    Again,
}

/// What the bytes, of which the first is an escape, are so far.
fn classify(bytes: &[u8]) -> Sequence {
    let (Some(&second), Some(&last)) = (bytes.get(1), bytes.last()) else { return Sequence::Open };
    let cut_short = bytes.len() > 1 && last == ESCAPE;
    match second {
        b'[' if bytes.len() == 2 => Sequence::Open,
        b'[' if cut_short => Sequence::Again,
        b'[' if (0x40..=0x7e).contains(&last) => Sequence::Question,
        b'[' if (0x20..=0x3f).contains(&last) => Sequence::Open,
        b']' if last == 0x07 || bytes.ends_with(b"\x1b\\") => Sequence::Question,
        // Only the two colour questions are short enough to matter; the rest is somebody's title.
        b']' if is_prefix_of_colour_question(bytes) => Sequence::Open,
        _ if cut_short => Sequence::Again,
        _ => Sequence::Other,
    }
}

fn is_prefix_of_colour_question(bytes: &[u8]) -> bool {
    [&b"\x1b]10;?\x1b\\"[..], b"\x1b]11;?\x1b\\", b"\x1b]10;?\x07", b"\x1b]11;?\x07"]
        .iter()
        .any(|question| question.starts_with(bytes))
}

fn answer(question: &[u8], out: &mut Vec<u8>) {
    match question {
        b"\x1b[c" | b"\x1b[0c" => out.extend_from_slice(b"\x1b[?62;22c"),
        b"\x1b[>c" | b"\x1b[>0c" => out.extend_from_slice(b"\x1b[>1;10;0c"),
        b"\x1b[5n" => out.extend_from_slice(b"\x1b[0n"),
        b"\x1b[6n" => out.extend_from_slice(b"\x1b[1;1R"),
        b"\x1b[?6n" => out.extend_from_slice(b"\x1b[?1;1R"),
        b"\x1b[?u" => out.extend_from_slice(b"\x1b[?0u"),
        b"\x1b[>q" | b"\x1b[>0q" => out.extend_from_slice(b"\x1bP>|perennial\x1b\\"),
        b"\x1b]10;?\x07" | b"\x1b]10;?\x1b\\" => {
            out.extend_from_slice(b"\x1b]10;rgb:cccc/cccc/cccc\x1b\\");
        }
        b"\x1b]11;?\x07" | b"\x1b]11;?\x1b\\" => {
            out.extend_from_slice(b"\x1b]11;rgb:0000/0000/0000\x1b\\");
        }
        other => answer_mode(other, out),
    }
}

/// DECRQM, `CSI ? Ps $ p`: every mode is said to be not recognised.
fn answer_mode(question: &[u8], out: &mut Vec<u8>) {
    let digits = question.strip_prefix(b"\x1b[?").and_then(|rest| rest.strip_suffix(b"$p"));
    let Some(digits) = digits.filter(|digits| digits.iter().all(u8::is_ascii_digit)) else {
        return;
    };
    out.extend_from_slice(b"\x1b[?");
    out.extend_from_slice(digits);
    out.extend_from_slice(b";0$y");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(parts: &[&[u8]]) -> Vec<u8> {
        let (mut queries, mut answers) = (Queries::default(), Vec::new());
        for part in parts {
            queries.scan(part, &mut answers);
        }
        answers
    }

    #[test]
    fn each_question_has_its_answer() {
        let table: &[(&[u8], &[u8])] = &[
            (b"\x1b[c", b"\x1b[?62;22c"),
            (b"\x1b[>c", b"\x1b[>1;10;0c"),
            (b"\x1b[5n", b"\x1b[0n"),
            (b"\x1b[6n", b"\x1b[1;1R"),
            (b"\x1b[?2026$p", b"\x1b[?2026;0$y"),
            (b"\x1b[?u", b"\x1b[?0u"),
            (b"\x1b]10;?\x07", b"\x1b]10;rgb:cccc/cccc/cccc\x1b\\"),
            (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
            (b"\x1b[>0q", b"\x1bP>|perennial\x1b\\"),
        ];
        for (question, expected) in table {
            assert_eq!(ask(&[question]), *expected);
            for cut in 0..question.len() {
                assert_eq!(ask(&[&question[..cut], &question[cut..]]), *expected, "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_no_question_gets_no_answer() {
        for text in [
            &b"plain \xff\x00 text"[..],
            b"\x1b[31mred\x1b[0m",
            b"\x1b]0;a title with [c and [6n\x07",
            b"\x1b[?2026h\x1b[?25l",
            b"\x1b]10;rgb:1/2/3\x07",
            b"\x1b[99999999999999999999999999999999$p",
        ] {
            assert_eq!(ask(&[text]), b"", "{text:?}");
        }
    }

    #[test]
    fn a_cut_short_sequence_does_not_hide_the_next() {
        assert_eq!(ask(&[b"\x1b[12\x1b[c\x1b\x1b[5n"]), b"\x1b[?62;22c\x1b[0n");
    }
}

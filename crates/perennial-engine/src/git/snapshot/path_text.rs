//! Paths as texts and back: what is not UTF-8, control characters and the backslash are written as escapes.

/// A path that people and JSON can read.
pub fn escape(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                c if c.is_control() || is_deceptive(c) => {
                    let mut buffer = [0; 4];
                    c.encode_utf8(&mut buffer).bytes().for_each(|byte| push(&mut out, byte));
                }
                c => out.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| push(&mut out, *byte));
    }
    out
}

fn push(out: &mut String, byte: u8) {
    use std::fmt::Write;
    let _ = write!(out, "\\x{byte:02x}");
}

/// Characters that change the direction or the look of what is around them.
fn is_deceptive(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// The path that was escaped; `None` if it was not.
pub fn unescape(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'\\', [b'\\', after @ ..]) => {
                out.push(b'\\');
                rest = after;
            }
            (b'\\', [b'x', high, low, after @ ..]) => {
                let digit = |byte: &u8| (*byte as char).to_digit(16);
                out.push(u8::try_from(digit(high)? << 4 | digit(low)?).ok()?);
                rest = after;
            }
            (b'\\', _) => return None,
            (byte, _) => out.push(*byte),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_comes_back() {
        for path in
            [&b"a/b"[..], b"\xff\xfe", b"tab\tnew\nline", "ü\u{202e}x".as_bytes(), b"a\\b\\x41"]
        {
            let text = escape(path);
            assert_eq!(unescape(&text).as_deref(), Some(path), "{text}");
            assert!(!text.contains(['\n', '\t', '\u{202e}']), "{text}");
        }
        assert_eq!(unescape("\\y"), None);
    }
}

//! The end of what a session printed, as plain text: no escape sequence, no control character, bounded.

use std::path::Path;

use perennial_core::text::is_hidden;

use super::Recording;

/// At most this many bytes are looked at …
const LOOKED_AT_BYTES: usize = 16 << 10;
/// … and this many of text are kept.
const KEPT_BYTES: usize = 2000;
const KEPT_LINES: usize = 20;

/// The last lines that a session printed; nothing if its recording is gone, or it printed nothing.
pub fn last_output(session_dir: &Path) -> Option<String> {
    let (_, bytes) = Recording::open(session_dir).ok()?.tail(LOOKED_AT_BYTES).ok()?;
    let text = plain(&String::from_utf8_lossy(&bytes));
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let kept = lines[lines.len().saturating_sub(KEPT_LINES)..].join("\n");
    let begin = kept.ceil_char_boundary(kept.len().saturating_sub(KEPT_BYTES));
    Some(kept[begin..].to_owned()).filter(|kept| !kept.is_empty())
}

fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                // Up to its final byte.
                Some('[') => _ = chars.find(|c| ('\u{40}'..='\u{7e}').contains(c)),
                // A title and the like, up to the bell or the string's end.
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    while let Some(c) = chars.next() {
                        if c == '\u{7}' {
                            break;
                        }
                        if c == '\u{1b}' {
                            chars.next_if_eq(&'\\');
                            break;
                        }
                    }
                }
                Some('(' | ')' | '#' | '%') => _ = chars.next(),
                Some(_) | None => {}
            },
            '\n' => plain.push('\n'),
            '\r' if chars.peek() != Some(&'\n') => plain.push('\n'),
            '\t' => plain.push(' '),
            c if c.is_control() || is_hidden(c) => {}
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_no_text() {
        let printed = "\u{1b}]0;title\u{7}\u{1b}[1;31mred\u{1b}[0m\r\na\u{202e}b\u{7}\tc\u{1b}(B";
        assert_eq!(plain(printed), "red\nab c");
        assert_eq!(plain("\u{1b}[31"), "");
        assert_eq!(plain("\u{1b}Ptext\u{1b}\\rest"), "rest");
    }

    #[test]
    fn the_last_lines_are_kept() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(last_output(dir.path()), None);
        let printed: String = (0..5000).map(|number| format!("line {number}\n")).collect();
        std::fs::write(dir.path().join("rec.0"), printed).expect("written");
        let kept = last_output(dir.path()).expect("it printed");
        assert!(kept.ends_with("line 4998\nline 4999") && kept.lines().count() == KEPT_LINES);
    }
}

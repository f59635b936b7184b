//! Text that others wrote, made harmless; its width on screen; cutting it to fit.

use std::borrow::Cow;
use std::path::Path;

use perennial_core::text::is_hidden;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::command_line::quoted;

/// What tables call the person to whom the fleet belongs; on the wire it is `person`.
pub const OPERATOR: &str = "the operator";

/// The text on one line: line ends and tabs as the signs for them, other control characters and
/// characters that hide or reorder text escaped.
pub fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => shown.push('␊'),
            '\t' => shown.push('␉'),
            '\r' => shown.push('␍'),
            c if is_acting(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    shown
}

/// How many, with the noun in the right form: `1 file`, `2 files`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A text of several lines, each of them as `plain` shows it.
pub fn several_lines(text: &str) -> String {
    text.lines().map(|line| plain(&line.replace('\t', "    ")) + "\n").collect()
}

/// What somebody else wrote, each line behind a quotation mark, so that none can pass for one of ours.
pub fn quoted_lines(text: &str) -> String {
    let quoted =
        |line: &str| format!("> {}", plain(&line.replace('\t', "    "))).trim_end().to_owned();
    text.lines().map(|line| quoted(line) + "\n").collect()
}

/// What somebody else wrote, on one line between quotation marks, which it holds none of itself.
pub fn quotation(text: &str) -> String {
    format!("“{}”", plain(text).replace(['“', '”'], "'"))
}

/// JSON for any reader, a terminal among them: what acts on a terminal is written as an escape of
/// JSON's own. In valid JSON such characters stand inside strings only, so the value stays the same.
pub fn json(text: &str) -> Cow<'_, str> {
    let acts = |c: char| is_acting(c) && !matches!(c, '\n' | '\r' | '\t');
    let Some(first) = text.find(acts) else { return Cow::Borrowed(text) };
    let mut shown = String::with_capacity(text.len() + 64);
    shown.push_str(&text[..first]);
    for c in text[first..].chars() {
        if !acts(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    }
    Cow::Owned(shown)
}

/// One JSON value on one line, whatever white space it came with: strings of JSON have no raw line
/// ends.
pub fn json_line(value: &str) -> String {
    json(&value.replace(['\n', '\r'], " ")).into_owned() + "\n"
}

/// What a terminal obeys, or a reader does not see: controls (C0, C1, DEL) and what is hidden. The selectors of text and
/// emoji style (U+FE0E, U+FE0F) pass: they change how one sign looks and hide nothing.
pub fn is_acting(c: char) -> bool {
    match c {
        ' '..='~' | '\u{fe0e}' | '\u{fe0f}' => false,
        c => c.is_control() || is_hidden(c),
    }
}

/// A number of bytes: `17 B`, `3.4 MiB`.
pub fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, "B");
    for next in units {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// At most `limit` columns: the beginning, and an ellipsis where something is missing.
pub fn clip_end(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut columns = 0;
    for c in text.chars() {
        columns += c.width().unwrap_or(0);
        if columns + 1 > limit {
            break;
        }
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    if limit > 0 {
        kept.push('…');
    }
    kept
}

/// A text behind a label, in lines that fit the screen: broken at blanks, and where a word is longer
/// than a line; every line but the first is indented by `indent` columns. The label is `label`
/// columns wide.
pub fn wrapped(text: &str, label: usize, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let rooms = std::iter::once(label).chain(std::iter::repeat(indent));
    let (mut lines, mut rest) = (Vec::new(), text);
    for used in rooms {
        let end = fitting(rest, width.saturating_sub(used).max(1));
        let blank = rest[..end].rfind(' ').filter(|blank| *blank > 0 && end < rest.len());
        let (line, left) = rest.split_at(match rest[end..].starts_with(' ') {
            true => end,
            false => blank.unwrap_or(end),
        });
        lines.push(line.trim_end());
        rest = left.trim_start();
        if rest.is_empty() {
            break;
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// The length of the longest prefix that fits into `limit` columns, but at least one character.
pub fn fitting(text: &str, limit: usize) -> usize {
    let mut columns = 0;
    let over = text.char_indices().skip_while(|(index, c)| {
        columns += c.width().unwrap_or(0);
        columns <= limit || *index == 0
    });
    over.map(|(index, _)| index).next().unwrap_or(text.len())
}

/// At most `limit` columns: the beginning and the end, for names that differ in either.
pub fn clip_middle(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let end = limit.saturating_sub(1) / 2;
    // Each part has an ellipsis of its own; one of them is enough.
    let (start, end) = (clip_end(text, limit - end), clip_start(text, end + 1));
    start + end.strip_prefix('…').unwrap_or(&end)
}

/// At most `limit` columns: the end, where a path says most.
pub fn clip_start(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mut columns = 0;
    let mut start = text.len();
    for (index, c) in text.char_indices().rev() {
        columns += c.width().unwrap_or(0);
        if columns + 1 > limit {
            break;
        }
        start = index;
    }
    if limit > 0 { format!("…{}", &text[start..]) } else { String::new() }
}

/// A project as people know it: that of a repository is kept by its git directory.
pub fn project(project: &str) -> &str {
    project.strip_suffix("/.git").filter(|tree| !tree.is_empty()).unwrap_or(project)
}

/// A path with the user's own directory as `~`.
pub fn path(path: &str, user: Option<&Path>) -> String {
    let below = user
        .filter(|user| user.parent().is_some())
        .and_then(|user| Path::new(path).strip_prefix(user).ok());
    match below {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => plain(&format!("~/{}", rest.display())),
        None => plain(path),
    }
}

/// A command as a person would type it; for reading, not for a shell.
pub fn command(argv: &[String]) -> String {
    plain(&quoted(argv))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_digit_after_the_point() {
        let sizes = [0, 1023, 1024, 1536, 5 << 20, (3 << 30) + (1 << 29)].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "5.0 MiB", "3.5 GiB"]);
    }

    #[test]
    fn nothing_that_acts_gets_through() {
        let hostile = "a\x1b[2Jb\r\nc\u{9b}31md\u{202e}e\x07\u{feff}\0";
        let shown = plain(hostile);
        assert_eq!(shown, "a\\u{1b}[2Jb␍␊c\\u{9b}31md\\u{202e}e\\u{7}\\u{feff}\\u{0}");
        assert!(!shown.chars().any(is_acting));
        assert_eq!(plain("naïve 日本 🎉"), "naïve 日本 🎉");
    }

    #[test]
    fn every_mark_that_hides_or_reorders_acts() {
        let ranges = [
            '\0'..='\u{1f}',
            '\u{7f}'..='\u{9f}',
            '\u{61c}'..='\u{61c}',
            '\u{200b}'..='\u{200f}',
            '\u{202a}'..='\u{202e}',
            '\u{2060}'..='\u{2069}',
            '\u{feff}'..='\u{feff}',
            '\u{e0000}'..='\u{e007f}',
            '\u{e0100}'..='\u{e01ef}',
        ];
        assert!(ranges.into_iter().flatten().all(is_acting));
        assert!(!"naïve 日本 שלום مرحبا e\u{301} ❤\u{fe0f} \u{fffd}".chars().any(is_acting));
    }

    #[test]
    fn json_for_a_terminal_is_the_same_json() {
        let hostile: String =
            ('\u{1}'..='\u{2100}').chain(['\u{feff}', '\u{e0041}', '日']).collect();
        let body = serde_json::to_string_pretty(&[&hostile, "plain"]).expect("JSON");
        let shown = json(&body);
        assert!(shown.chars().all(|c| c == '\n' || !is_acting(c)), "{shown}");
        let read: Vec<String> = serde_json::from_str(&shown).expect("still JSON");
        assert_eq!(read, [hostile.as_str(), "plain"]);
        assert!(matches!(json("{\"a\": \"日本\"}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn clipping_counts_columns_not_letters() {
        assert_eq!(clip_end("日本語です", 6), "日本…");
        assert_eq!(clip_start("日本語です", 6), "…です");
        assert_eq!(clip_end("abc", 3), "abc");
        assert_eq!(clip_end("abcd", 3), "ab…");
        assert_eq!(clip_start("/a/b/c", 4), "…b/c");
        assert_eq!((clip_end("ab", 0), clip_start("ab", 0)), (String::new(), String::new()));
        assert_eq!(clip_middle("builder-of-the-parser-17", 13), "builde…ser-17");
        assert_eq!((clip_middle("abc", 3), clip_middle("abc", 1)), ("abc".into(), "…".into()));
        for limit in 0..12 {
            assert!(width(&clip_middle("日本語です", limit)) <= limit);
            assert!(width(&clip_end("日本語です", limit)) <= limit);
            assert!(width(&clip_start("日本語です", limit)) <= limit);
        }
    }

    #[test]
    fn long_texts_are_wrapped_at_blanks_and_nothing_is_lost() {
        let text = "one two three averyveryverylongword four";
        assert_eq!(
            wrapped(text, 4, 2, Some(13)),
            "one two\n  three\n  averyveryve\n  rylongword\n  four"
        );
        assert_eq!(wrapped(text, 4, 2, None), text);
        assert_eq!(wrapped("", 4, 2, Some(13)), "");
        for width in 0..60 {
            let shown = wrapped(text, 0, 2, Some(width));
            assert!(shown.lines().all(|line| super::width(line) <= width.max(3)), "{shown}");
            let joined: String = shown.split_whitespace().collect();
            assert_eq!(joined, text.split_whitespace().collect::<String>());
        }
    }

    #[test]
    fn paths_below_the_user_are_short() {
        let user = Some(Path::new("/home/eve"));
        assert_eq!(path("/home/eve", user), "~");
        assert_eq!(path("/home/eve/src", user), "~/src");
        assert_eq!(path("/home/evelyn", user), "/home/evelyn");
        assert_eq!(path("/srv", Some(Path::new("/"))), "/srv");
    }
}

//! A line of a session's output for a reader: text, with colours or without, and nothing else that
//! acts.

use super::text::is_acting;

/// The line as text, without its colours.
pub fn text_of(styled: &str) -> String {
    shown(styled, false)
}

/// The line for a terminal: only text and colours are left.
pub fn coloured(styled: &str) -> String {
    shown(styled, true)
}

fn shown(styled: &str, with_colours: bool) -> String {
    let mut text = String::with_capacity(styled.len());
    let mut rest = styled;
    while let Some(escape) = rest.find('\x1b') {
        text.extend(rest[..escape].chars().filter(|c| !is_acting(*c)));
        let end = escape + colour_length(&rest[escape..]);
        if with_colours {
            text.push_str(&rest[escape..end]);
        }
        // An escape that begins no colour is dropped alone.
        rest = &rest[end.max(escape + 1)..];
    }
    text.extend(rest.chars().filter(|c| !is_acting(*c)));
    text
}

/// How long the colour is that the text begins with (select graphic rendition: digits and their
/// separators only); 0 if it is none.
fn colour_length(text: &str) -> usize {
    let Some(body) = text.strip_prefix("\x1b[") else { return 0 };
    let length =
        body.bytes().take_while(|byte| byte.is_ascii_digit() || b";:".contains(byte)).count();
    match body[length..].starts_with('m') && length <= 64 {
        true => length + 3,
        false => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_and_colours_are_left() {
        let styled = "a\x1b[1;31mré\x1b[0m\x1b]0;evil\x07\x1b[2J\u{9b}31m\u{202e}日\u{e0041}\x1b";
        assert_eq!(coloured(styled), "a\x1b[1;31mré\x1b[0m]0;evil[2J31m日");
        assert_eq!(text_of(styled), "aré]0;evil[2J31m日");
        assert_eq!(text_of("\x1b[31"), "[31");
    }
}

//! Matches a path against one glob, by git's rules for ignore patterns: `*` and `?` stay within a component, `**`
//! between slashes crosses them.
//!
//! Invariants
//! - WM1  The time is bounded by the product of both lengths, and a pattern of stars is no exception: there is one
//!   place to go back to for `*` and one for `**`, no recursion.

/// In the pattern and in the text.
type Place = (usize, usize);

/// Whether the whole of `text` matches.
pub fn matches(pattern: &[u8], text: &[u8], ignore_case: bool) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to go on if what follows a star does not match: pattern and text.
    let (mut star, mut globstar): (Option<Place>, Option<Place>) = (None, None);
    loop {
        if t == text.len() && p == pattern.len() {
            return true;
        }
        if p < pattern.len() {
            if pattern[p] == b'*' {
                let stars = pattern[p..].iter().take_while(|byte| **byte == b'*').count();
                let opens = p == 0 || pattern[p - 1] == b'/';
                let after = p + stars;
                if stars == 2 && opens && after == pattern.len() {
                    // A trailing `**` matches all that is left, if there is anything.
                    return p == 0 || t < text.len();
                }
                if stars == 2 && opens && pattern[after] == b'/' {
                    p = after + 1;
                    globstar = Some((p, t));
                    star = None;
                    continue;
                }
                p = after;
                star = Some((p, t));
                continue;
            }
            if t < text.len()
                && let Some(next) = one(pattern, p, text[t], ignore_case)
            {
                p = next;
                t += 1;
                continue;
            }
        }
        if let Some((pattern_at, text_at)) = star
            && text_at < text.len()
            && text[text_at] != b'/'
        {
            star = Some((pattern_at, text_at + 1));
            (p, t) = (pattern_at, text_at + 1);
            continue;
        }
        let Some((pattern_at, text_at)) = globstar else { return false };
        let Some(slash) = memchr::memchr(b'/', &text[text_at.min(text.len())..]) else {
            return false;
        };
        let from = text_at + slash + 1;
        globstar = Some((pattern_at, from));
        star = None;
        (p, t) = (pattern_at, from);
    }
}

/// Matches one byte; where the pattern goes on.
fn one(pattern: &[u8], at: usize, byte: u8, ignore_case: bool) -> Option<usize> {
    let same = |one: u8| one == byte || ignore_case && one.eq_ignore_ascii_case(&byte);
    match pattern[at] {
        b'?' => (byte != b'/').then_some(at + 1),
        b'[' => {
            let (is_in, next) = class(pattern, at + 1, byte, ignore_case)?;
            (is_in && byte != b'/').then_some(next)
        }
        b'\\' => same(*pattern.get(at + 1)?).then_some(at + 2),
        literal => same(literal).then_some(at + 1),
    }
}

/// Whether a byte is in the brackets that open before `at`, and where they end; `None` if they do not.
fn class(pattern: &[u8], mut at: usize, byte: u8, ignore_case: bool) -> Option<(bool, usize)> {
    let is_negated = matches!(pattern.get(at)?, b'!' | b'^');
    at += usize::from(is_negated);
    let within = |low: u8, high: u8| {
        (low..=high).contains(&byte)
            || ignore_case
                && ((low..=high).contains(&byte.to_ascii_lowercase())
                    || (low..=high).contains(&byte.to_ascii_uppercase()))
    };
    let (first, mut is_in) = (at, false);
    loop {
        let mut low = *pattern.get(at)?;
        if low == b']' && at > first {
            return Some((is_in != is_negated, at + 1));
        }
        if low == b'[' && pattern.get(at + 1) == Some(&b':') {
            let rest = &pattern[at + 2..];
            let end = memchr::memmem::find(rest, b":]")?;
            is_in |= named(&rest[..end], byte)?;
            at += end + 4;
            continue;
        }
        if low == b'\\' {
            at += 1;
            low = *pattern.get(at)?;
        }
        at += 1;
        if pattern.get(at) == Some(&b'-') && pattern.get(at + 1).is_some_and(|end| *end != b']') {
            at += 1;
            let mut high = pattern[at];
            if high == b'\\' {
                at += 1;
                high = *pattern.get(at)?;
            }
            at += 1;
            is_in |= within(low, high);
        } else {
            is_in |= within(low, low);
        }
    }
}

fn named(class: &[u8], byte: u8) -> Option<bool> {
    Some(match class {
        b"alnum" => byte.is_ascii_alphanumeric(),
        b"alpha" => byte.is_ascii_alphabetic(),
        b"blank" => matches!(byte, b' ' | b'\t'),
        b"cntrl" => byte.is_ascii_control(),
        b"digit" => byte.is_ascii_digit(),
        b"graph" => byte.is_ascii_graphic(),
        b"lower" => byte.is_ascii_lowercase(),
        b"print" => byte.is_ascii_graphic() || byte == b' ',
        b"punct" => byte.is_ascii_punctuation(),
        b"space" => byte.is_ascii_whitespace() || byte == 0x0b,
        b"upper" => byte.is_ascii_uppercase(),
        b"xdigit" => byte.is_ascii_hexdigit(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_as_in_git() {
        for (pattern, text, expected) in [
            ("foo", "foo", true),
            ("*.o", "a.o", true),
            ("*.o", "a/b.o", false),
            ("a/*/c", "a/b/c", true),
            ("a/*/c", "a/b/d/c", false),
            ("a/**/c", "a/c", true),
            ("a/**/c", "a/b/d/c", true),
            ("**/c", "c", true),
            ("**/c", "a/b/c", true),
            ("a/**", "a/b/c", true),
            ("a/**", "a", false),
            ("**", "a/b", true),
            ("a**b", "a/b", false),
            ("a**b", "axxb", true),
            ("?", "/", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]]", "]", true),
            ("[[:digit:]]", "7", true),
            ("[a", "[a", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("*a*b*c", "xaxbxc", true),
            ("*a*b*c", "xaxcxb", false),
            ("**/a/*/b", "a/x/a/y/b", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ] {
            let found = matches(pattern.as_bytes(), text.as_bytes(), false);
            assert_eq!(found, expected, "{pattern} {text}");
        }
        assert!(matches(b"*.TXT", b"a.txt", true) && !matches(b"*.TXT", b"a.txt", false));
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern = b"*a".repeat(2_000);
        let text = b"a".repeat(3_000);
        assert!(!matches(&[&pattern[..], b"b"].concat(), &text, false));
        let deep = b"**/a/".repeat(500);
        assert!(!matches(&[&deep[..], b"b"].concat(), &b"a/".repeat(2_000), false));
    }
}

//! Rust text as the rules see it: comments and literals blanked, functions and test code found.
//!
//! Not a parser. It knows just enough of the language that braces and words can be trusted.

use std::ops::Range;

use crate::repository::Text;

pub struct Source {
    pub path: String,
    pub text: String,
    /// The text with comments and literals blanked; every byte at its place.
    pub code: String,
    /// Byte ranges of `#[cfg(test)]` modules; all of it in a test file.
    tests: Vec<Range<usize>>,
}

pub struct Function {
    pub name: String,
    /// From `fn` to the closing brace.
    pub lines: usize,
    pub begin: usize,
}

impl Source {
    pub fn read(text: &Text) -> Source {
        let code = blank(&text.text);
        let whole = 0..code.len();
        let tests = if text.is_test() { Vec::from([whole]) } else { test_modules(&code) };
        Source { path: text.path.clone(), text: text.text.clone(), code, tests }
    }

    pub fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    pub fn line(&self, at: usize) -> usize {
        lines(&self.code[..at])
    }

    /// Where `word` stands as a word of its own in the code.
    pub fn words<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        words(&self.code, word)
    }

    pub fn functions(&self) -> Vec<Function> {
        self.words("fn").filter_map(|begin| self.function(begin)).collect()
    }

    /// The function that begins here, if it has a name and a body.
    fn function(&self, begin: usize) -> Option<Function> {
        let rest = &self.code[begin + 2..];
        let name: String =
            rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if name.is_empty() {
            return None;
        }
        let mut depth = 0;
        for (offset, byte) in rest.bytes().enumerate() {
            match byte {
                b'(' | b'[' => depth += 1,
                b')' | b']' => depth -= 1,
                b';' if depth == 0 => return None,
                b'{' if depth == 0 => {
                    let open = begin + 2 + offset;
                    let end = closing(&self.code, open)?;
                    return Some(Function { name, lines: lines(&self.code[begin..end]), begin });
                }
                _ => {}
            }
        }
        None
    }
}

/// How many lines a stretch of text touches.
fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count() + 1
}

fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        !code[..*at].ends_with(part) && !code[at + word.len()..].starts_with(part)
    })
}

/// The brace that closes the one at `open`.
pub fn closing(code: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, byte) in code[open..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + offset);
                }
            }
            _ => {}
        }
    }
    None
}

fn test_modules(code: &str) -> Vec<Range<usize>> {
    code.match_indices("#[cfg(test)]")
        .filter_map(|(at, attribute)| {
            let rest = &code[at + attribute.len()..];
            let open = rest.find(['{', ';'])?;
            if !rest.trim_start().starts_with("mod ") || rest[open..].starts_with(';') {
                return None;
            }
            let end = closing(code, at + attribute.len() + open)?;
            Some(at..end)
        })
        .collect()
}

/// Blanks comments, strings and characters, keeping every newline and every byte's place.
fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at).unwrap_or(at);
        if end > at {
            let end = end.min(bytes.len());
            code[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
            at = end;
        } else {
            at += 1;
        }
    }
    // Only whole characters inside comments and literals were blanked; the rest is as it was.
    String::from_utf8_lossy(&code).into_owned()
}

/// The end of the comment or literal that begins at `at`, if one does.
fn literal_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let begins_word = at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    match rest {
        [b'/', b'/', ..] => {
            Some(at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()))
        }
        [b'/', b'*', ..] => Some(at + block_comment(rest)),
        [b'"', ..] => Some(at + string(rest)),
        [b'r', b'"' | b'#', ..] if begins_word => raw_string(&rest[1..]).map(|len| at + 1 + len),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if begins_word => {
            raw_string(&rest[2..]).map(|len| at + 2 + len)
        }
        [b'\'', b'\\', ..] => {
            let close = rest[3..].iter().position(|byte| *byte == b'\'')?;
            Some(at + 3 + close + 1)
        }
        [b'\'', ..] => character(rest).map(|len| at + len),
        _ => None,
    }
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

/// From the hashes or the quote to the end, `None` for a raw identifier.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &rest[..hashes]].concat();
    let body = &rest[hashes + 1..];
    let end = body.windows(close.len()).position(|window| window == close)?;
    Some(hashes + 1 + end + close.len())
}

/// A character literal of one character; a lifetime is none.
fn character(rest: &[u8]) -> Option<usize> {
    let len = 1 + rest[1..].iter().skip(1).take_while(|byte| **byte & 0xc0 == 0x80).count() + 1;
    (rest.get(len) == Some(&b'\'')).then_some(len + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, text: &str) -> Source {
        Source::read(&Text { path: path.into(), text: text.into() })
    }

    #[test]
    fn comments_and_literals_are_blank_and_the_rest_keeps_its_place() {
        let text =
            "a(\"}\\\"\"); // }\nb('{', '\\'', '\u{e9}', 'x: {}); /* { /* */ */ r#\"}\"# + r#fn";
        let code = read("a.rs", text).code;
        assert_eq!(code.len(), text.len());
        assert_eq!(code.matches(['{', '}']).count(), 2, "{code}");
        assert!(
            code.starts_with("a(") && code.contains("'x:") && code.ends_with("+ r#fn"),
            "{code}"
        );
    }

    #[test]
    fn functions_are_measured_from_their_name_to_their_last_brace() {
        let text =
            "fn a() {\n  if x {\n  }\n}\ntrait T {\n  fn b(x: [u8; 2]);\n}\ntype F = fn(u8);\n";
        let functions = read("a.rs", text).functions();
        assert_eq!(functions.len(), 1);
        assert_eq!((functions[0].name.as_str(), functions[0].lines), ("a", 4));
    }

    #[test]
    fn test_code_is_known_as_such() {
        let source =
            read("src/a.rs", "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}");
        let tests: Vec<bool> =
            source.functions().iter().map(|function| source.is_test(function.begin)).collect();
        assert_eq!(tests, [false, true, false]);
        assert!(read("x/tests/a.rs", "fn a() {}").is_test(0));
    }
}

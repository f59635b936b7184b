//! The arguments of a tool call, as far as they are looked at: a few texts by their names.
//!
//! Arguments are JSON as it was written, and not whole where the excerpt was cut: they are read from the beginning until
//! they end.

use std::borrow::Cow;

/// The first of these members that is a text, or a list of texts, which is joined by blanks. Only members of the outermost object
/// count; a text that was cut is taken as far as it goes.
pub fn text(arguments: &str, names: &[&str]) -> Option<String> {
    if let Ok(whole) = serde_json::from_str::<serde_json::Value>(arguments) {
        return names.iter().find_map(|name| match whole.get(name)? {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Array(words) => {
                let words: Vec<&str> = words.iter().filter_map(serde_json::Value::as_str).collect();
                let words: Vec<String> = words.into_iter().map(quoted).collect();
                Some(words.join(" ")).filter(|text| !text.is_empty())
            }
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::Object(_) => None,
        });
    }
    names.iter().find_map(|name| cut_member(arguments, name))
}

/// Arguments that are one text, with or without quotes.
pub fn bare(arguments: &str) -> Cow<'_, str> {
    match arguments.starts_with('"') {
        true => Cow::Owned(string(arguments).0),
        false => Cow::Borrowed(arguments),
    }
}

/// A word of a list, so that it stays one in a line.
fn quoted(word: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || "-_./=:,+@%".contains(sign);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A member of an object that has no end.
fn cut_member(arguments: &str, name: &str) -> Option<String> {
    let mut rest = arguments;
    let (mut depth, mut key) = (0u32, None);
    while let Some(next) = rest.chars().next() {
        match next {
            '"' => {
                let (text, length) = string(rest);
                rest = &rest[length..];
                let is_key = rest.trim_start().starts_with(':');
                match (is_key && depth == 1, key == Some(true) && depth == 1) {
                    (true, _) => key = Some(text == name),
                    (false, true) => return Some(text),
                    (false, false) => {}
                }
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 1 => key = None,
            _ => {}
        }
        rest = &rest[next.len_utf8()..];
    }
    None
}

/// The JSON string that begins here, and how long it is as it is written.
fn string(from: &str) -> (String, usize) {
    let mut is_escaped = false;
    let end = from.char_indices().skip(1).find(|(_, sign)| {
        let is_end = *sign == '"' && !is_escaped;
        is_escaped = *sign == '\\' && !is_escaped;
        is_end
    });
    let length = end.map_or(from.len(), |(at, _)| at + 1);
    let written = match end {
        Some(_) => from[..length].to_owned(),
        None => format!("{}\"", from.trim_end_matches('\\')),
    };
    (serde_json::from_str(&written).unwrap_or_default(), length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_alone_is_taken_without_its_quotes() {
        assert_eq!(bare(r#""*** Begin\n+x""#), "*** Begin\n+x");
        assert_eq!(bare(r#""*** Begin\nhalf"#), "*** Begin\nhalf");
        assert_eq!(bare("*** Begin"), "*** Begin");
    }

    #[test]
    fn members_are_found_whole_or_cut() {
        let whole = r#"{"file_path":"a\"b.rs","content":"x"}"#;
        assert_eq!(text(whole, &["path", "file_path"]).as_deref(), Some("a\"b.rs"));
        let cut = r#"{"other":{"file_path":"no"},"file_path":"a.rs","content":"{\"file_path\":\"evil\"} lon"#;
        assert_eq!(text(cut, &["file_path"]).as_deref(), Some("a.rs"));
        assert_eq!(text(cut, &["content"]).as_deref(), Some("{\"file_path\":\"evil\"} lon"));
        let list = r#"{"command":["bash","-lc","cargo test"]}"#;
        assert_eq!(text(list, &["command"]).as_deref(), Some("bash -lc 'cargo test'"));
        for hostile in ["", "{", "\"", "{\"", "{\"a\":\"\\", "[[[[\"a\":\"b\"", "}}}}", "é\"\\u12"]
        {
            text(hostile, &["a"]);
        }
    }
}

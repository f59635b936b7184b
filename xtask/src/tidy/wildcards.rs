//! Every case of our own enums is answered by name: a new state must not fall into `_`.
//!
//! Textual: an arm `_ =>` one of whose sister arms names a case of an enum that is declared in this
//! tree. Tests may use wildcards.

use std::collections::HashSet;

use super::source::{Source, closing};
use super::{Finding, Tree};

pub fn over_own_enums(tree: &Tree) -> Vec<Finding> {
    let own: HashSet<&str> = tree.sources.iter().flat_map(declared).collect();
    let sources = tree.sources.iter().filter(|source| source.path.contains("/src/"));
    sources
        .flat_map(|source| {
            arms(source, &own).into_iter().map(|at| Finding {
                rule: "wildcard",
                place: source.path.clone(),
                amount: 1,
                text: format!(
                    "line {}: `_ =>` over an enum of ours; name the cases",
                    source.line(at)
                ),
            })
        })
        .collect()
}

/// The enums that a source declares.
fn declared(source: &Source) -> impl Iterator<Item = &str> {
    source.words("enum").filter_map(|at| {
        let rest = source.code[at + "enum".len()..].trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        Some(&rest[..end])
    })
}

/// Where a wildcard arm stands over one of these enums, tests aside.
fn arms(source: &Source, own: &HashSet<&str>) -> Vec<usize> {
    source
        .words("_")
        .filter(|at| source.code[at + 1..].trim_start().starts_with("=>"))
        .filter(|at| !source.is_test(*at) && begins_arm(&source.code, *at))
        .filter(|at| names_own_cases(&source.code, *at, own))
        .collect()
}

/// An arm of its own, not the second half of `A | _` or an element of a tuple.
fn begins_arm(code: &str, at: usize) -> bool {
    code[..at].trim_end().ends_with(['{', '}', ',']) && {
        let line = code[..at].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty() || line.trim_end().ends_with(['{', '}', ','])
    }
}

/// Whether a sister arm's pattern names a case of an enum of ours.
fn names_own_cases(code: &str, at: usize, own: &HashSet<&str>) -> bool {
    let Some(open) = enclosing(code, at) else {
        return false;
    };
    let body = &code[open + 1..closing(code, open).unwrap_or(code.len())];
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    patterns(body).iter().any(|pattern| {
        pattern.match_indices("::").any(|(end, _)| {
            let name = pattern[..end].rsplit(|c| !is_name(c)).next().unwrap_or_default();
            // The standard library's namesake of one of ours.
            let is_foreign = pattern[..end - name.len()].ends_with("io::");
            !is_foreign && (name == "Self" || own.contains(name))
        })
    })
}

/// The brace that is open at `at`.
fn enclosing(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0;
    for (offset, byte) in code[..at].bytes().enumerate().rev() {
        match byte {
            b'}' => depth += 1,
            b'{' if depth == 0 => return Some(offset),
            b'{' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// What stands before each `=>` of a match's own arms.
fn patterns(body: &str) -> Vec<&str> {
    let mut patterns = Vec::new();
    let (mut depth, mut from, mut at) = (0, 0, 0);
    while let Some(byte) = body.as_bytes().get(at) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            b'=' if depth == 0 && body[at..].starts_with("=>") => {
                patterns.push(&body[from..at]);
                at += "=>".len();
                at += body[at..].len() - body[at..].trim_start().len();
                // An arm with a block needs no comma after it.
                if body[at..].starts_with('{') {
                    at = closing(body, at).map_or(body.len(), |end| end + 1);
                    from = at;
                }
                continue;
            }
            b',' if depth == 0 => from = at + 1,
            _ => {}
        }
        at += 1;
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Text;

    fn count(body: &str) -> usize {
        let text = format!("enum State {{ Dead }} fn a() {{ match x {{\n{body}\n}} }}");
        let source = Source::read(&Text { path: "a.rs".into(), text });
        let own = declared(&source).collect();
        arms(&source, &own).len()
    }

    #[test]
    fn only_wildcards_over_enums_of_ours_are_found() {
        assert_eq!(count("State::Dead => 1,\n_ => 2,"), 1);
        assert_eq!(count("crate::State::Dead | Other => { 1 }\n_ => 2,"), 1);
        assert_eq!(count("Some(State::Dead) => 1,\n_ => 2,"), 1);
        assert_eq!(count("Self::Dead => 1,\n_ => 2,"), 1);
        assert_eq!(count("Some(x) => State::Dead,\n_ => 2,"), 0);
        assert_eq!(count("ErrorKind::NotFound => 1,\n_ => 2,"), 0);
        assert_eq!(count("io::State::Dead => 1,\n_ => 2,"), 0);
        assert_eq!(count("\"a\" => { State::Dead }\n\"b\" if x => 1,\n_ => 2,"), 0);
        assert_eq!(count("A { x } if y => { 1 }\nState::Dead => 1,\n_ => 2,"), 1);
        assert_eq!(count("'a' => 1,\n_ => 2,"), 0);
        assert_eq!(count("(State::Dead, _) => 1,\n(_, _) => 2,"), 0);
    }
}

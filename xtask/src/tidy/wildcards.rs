//! The core answers every case of its own enums by name: a new state must not fall into `_`.
//!
//! Textual: an arm `_ =>` whose sister arms name capitalised patterns other than those of
//! `Option` and `Result`.

use super::source::{Source, closing};
use super::{Finding, Tree};

const CORE: &str = "crates/perennial-core/src/";

pub fn over_own_enums(tree: &Tree) -> Vec<Finding> {
    let core = tree.sources.iter().filter(|source| source.path.starts_with(CORE));
    core.flat_map(|source| {
        arms(source).into_iter().map(|at| Finding {
            rule: "wildcard",
            place: source.path.clone(),
            amount: 1,
            text: format!("line {}: `_ =>` over an enum of ours; name the cases", source.line(at)),
        })
    })
    .collect()
}

/// Where a wildcard arm stands over an enum of ours, tests aside.
fn arms(source: &Source) -> Vec<usize> {
    source
        .words("_")
        .filter(|at| source.code[at + 1..].trim_start().starts_with("=>"))
        .filter(|at| !source.is_test(*at) && begins_arm(&source.code, *at))
        .filter(|at| names_own_cases(&source.code, *at))
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
fn names_own_cases(code: &str, at: usize) -> bool {
    let Some(open) = enclosing(code, at) else {
        return false;
    };
    let body = &code[open + 1..closing(code, open).unwrap_or(code.len())];
    patterns(body).iter().any(|pattern| {
        pattern.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| {
            word.starts_with(|c: char| c.is_uppercase())
                && !["Some", "None", "Ok", "Err"].contains(&word)
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
fn patterns(body: &str) -> Vec<String> {
    let mut patterns = Vec::new();
    let (mut depth, mut pattern) = (0, String::new());
    let mut rest = body.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth -= 1,
            '=' if depth == 0 && rest.peek() == Some(&'>') => {
                patterns.push(std::mem::take(&mut pattern));
                continue;
            }
            ',' if depth == 0 => pattern.clear(),
            _ => {}
        }
        pattern.push(c);
        // An arm with a block needs no comma after it.
        if c == '}'
            && depth == 0
            && !rest.clone().find(|c| !c.is_whitespace()).is_some_and(|c| "=|i".contains(c))
        {
            pattern.clear();
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Text;

    fn count(body: &str) -> usize {
        let text = format!("fn a() {{ match x {{\n{body}\n}} }}");
        arms(&Source::read(&Text { path: "a.rs".into(), text })).len()
    }

    #[test]
    fn only_wildcards_over_enums_of_ours_are_found() {
        assert_eq!(count("State::Dead => 1,\n_ => 2,"), 1);
        assert_eq!(count("Dead | Expired => { 1 }\n_ => 2,"), 1);
        assert_eq!(count("Some(x) => State::Dead,\n_ => 2,"), 0);
        assert_eq!(count("'a' => 1,\n_ => 2,"), 0);
        assert_eq!(count("(State::Dead, _) => 1,\n(_, _) => 2,"), 0);
    }
}

//! Licences of what we are built from: all of them on a list that was read by a person.

use super::{Finding, Tree};

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

pub fn not_allowed(tree: &Tree) -> Vec<Finding> {
    let packages = tree.metadata.packages.values();
    packages
        .filter(|package| !package.licence.as_deref().is_some_and(allowed))
        .map(|package| Finding {
            rule: "licence",
            place: package.name.clone(),
            amount: 1,
            text: match &package.licence {
                Some(licence) => format!("{} has the licence {licence}", package.version),
                None => format!("{} states no licence", package.version),
            },
        })
        .collect()
}

/// Whether an SPDX expression can be met from the list: every part of an AND, one part of an OR.
fn allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ");
    let expression = expression.trim();
    if let Some(parts) = split(expression, " AND ") {
        return parts.iter().all(|part| allowed(part));
    }
    if let Some(parts) = split(expression, " OR ") {
        return parts.iter().any(|part| allowed(part));
    }
    match expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => allowed(inner),
        None => ALLOWED.contains(&expression),
    }
}

/// The parts between a word outside of brackets, if it is there.
fn split<'a>(expression: &'a str, word: &str) -> Option<Vec<&'a str>> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ' ' if depth == 0 && at >= begin && expression[at..].starts_with(word) => {
                parts.push(&expression[begin..at]);
                begin = at + word.len();
            }
            _ => {}
        }
    }
    if parts.is_empty() {
        return None;
    }
    parts.push(&expression[begin..]);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn expressions_are_met_from_the_list() {
        assert!(allowed("MIT OR Apache-2.0"));
        assert!(allowed("MIT/GPL-3.0"));
        assert!(allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(allowed("Apache-2.0 WITH LLVM-exception OR GPL-2.0"));
        assert!(!allowed("GPL-3.0"));
        assert!(!allowed("MIT AND GPL-3.0"));
        assert!(!allowed("(MIT OR Apache-2.0) AND GPL-3.0"));
    }
}

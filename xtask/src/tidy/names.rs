//! Names that say nothing are not used for files: what is in them has a better one.

use super::{Finding, Tree};

const EMPTY_NAMES: &[&str] =
    &["common", "helper", "helpers", "imp", "manager", "misc", "util", "utilities", "utils"];

pub fn unclear(tree: &Tree) -> Vec<Finding> {
    let parts = |path: &str| -> Vec<String> {
        path.trim_end_matches(".rs").split(['/', '_', '-']).map(str::to_owned).collect()
    };
    tree.texts
        .iter()
        .filter(|text| text.is_rust())
        .filter_map(|text| {
            let part = parts(&text.path).into_iter().find(|part| EMPTY_NAMES.contains(&&**part))?;
            Some(Finding {
                rule: "name",
                place: text.path.clone(),
                amount: 1,
                text: format!("`{part}` says nothing; the glossary has the words"),
            })
        })
        .collect()
}

//! Every Rust file begins with what it is.

use super::{Finding, Tree};

pub fn missing(tree: &Tree) -> Vec<Finding> {
    tree.sources
        .iter()
        .filter(|source| !has_header(&source.text))
        .map(|source| Finding {
            rule: "header",
            place: source.path.clone(),
            amount: 1,
            text: "begins without a `//!` header that says what it is".into(),
        })
        .collect()
}

fn has_header(text: &str) -> bool {
    text.lines().next().is_some_and(|line| {
        line.strip_prefix("//!").is_some_and(|said| said.split_whitespace().count() >= 3)
    })
}

#[cfg(test)]
mod tests {
    use super::has_header;

    #[test]
    fn a_header_is_the_first_line_and_says_something() {
        assert!(has_header("//! What it is.\nfn a() {}"));
        assert!(!has_header("use a;\n//! What it is."));
        assert!(!has_header("//!\n//! What it is."));
        assert!(!has_header(""));
    }
}

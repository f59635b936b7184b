//! `cargo xtask tidy`: the rules of the repository, one rule one file. Also a test.
//!
//! Textual and quick: no rule compiles anything. A rule that a compiler or clippy can check is
//! left to them.

mod banned;
mod calls;
mod coverage;
mod dependencies;
mod exceptions;
mod headers;
mod hosts;
mod layers;
mod licences;
mod links;
mod metadata;
mod names;
mod size;
mod source;
mod wildcards;

pub use coverage::{COVERAGE, coverage_column};

use crate::docs;
use crate::failure::Failure;
use crate::repository::{self, Text};
use metadata::Metadata;
use source::Source;

/// One broken rule at one place.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    /// A path, or a path and a function: what an exception names.
    pub place: String,
    /// How much of it: lines of a function, calls in a file.
    pub amount: usize,
    pub text: String,
}

/// Everything that the rules look at.
struct Tree {
    texts: Vec<Text>,
    sources: Vec<Source>,
    metadata: Metadata,
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    size::files,
    size::functions,
    headers::missing,
    names::unclear,
    layers::crossed,
    calls::away_from_home,
    wildcards::over_own_enums,
    hosts::named,
    links::broken,
    coverage::uncovered,
    dependencies::unexplained,
    licences::not_allowed,
    banned::crates,
];

pub fn run() -> Result<(), Failure> {
    let findings = findings()?;
    for finding in &findings {
        println!("{}: {} [{}]", finding.place, finding.text, finding.rule);
    }
    match findings.len() {
        0 => Ok(()),
        findings => Err(Failure::Untidy { findings }),
    }
}

fn findings() -> Result<Vec<Finding>, Failure> {
    let texts = repository::texts()?;
    let sources = texts.iter().filter(|text| text.is_rust()).map(Source::read).collect();
    let tree = Tree { texts, sources, metadata: Metadata::read()? };
    let found = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    let mut findings = exceptions::apply(found);
    findings.extend(docs::stale()?.into_iter().map(|path| Finding {
        rule: "docs",
        place: path.into(),
        amount: 1,
        text: "is not what the code says; run `cargo xtask docs`".into(),
    }));
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let findings = findings().expect("the repository can be read");
        assert!(findings.is_empty(), "{findings:#?}");
    }
}

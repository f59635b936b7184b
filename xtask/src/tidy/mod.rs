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
mod promises;
mod size;
mod source;
mod vendors;
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
    promises::without_test,
    vendors::away_from_home,
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
    use super::metadata::Package;
    use super::*;

    /// A tree of made-up files and crates; each crate is built from the ones named after it.
    fn tree(files: &[(&str, &str)], packages: &[(&str, &str, &[&str])]) -> Tree {
        let text =
            |(path, text): &(&str, &str)| Text { path: (*path).into(), text: (*text).into() };
        let texts: Vec<Text> = files.iter().map(text).collect();
        let package = |(name, licence, dependencies): &(&str, &str, &[&str])| {
            let package = Package {
                name: (*name).into(),
                version: "1.0.0".into(),
                licence: (!licence.is_empty()).then(|| (*licence).into()),
                own: name.starts_with("perennial"),
                dependencies: dependencies.iter().map(|name| (*name).into()).collect(),
            };
            ((*name).to_owned(), package)
        };
        let sources = texts.iter().filter(|text| text.is_rust()).map(Source::read).collect();
        Tree {
            texts,
            sources,
            metadata: Metadata { packages: packages.iter().map(package).collect() },
        }
    }

    fn found(rule: Rule, tree: &Tree) -> Vec<String> {
        rule(tree).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn the_repository_is_tidy() {
        let findings = findings().expect("the repository can be read");
        assert!(findings.is_empty(), "{findings:#?}");
    }

    #[test]
    fn long_files_and_functions_are_found() {
        let long = "//! A long file.\n".to_owned() + &"\n".repeat(500);
        let body = format!("//! A long function.\nfn f() {{{}}}\n", "\n".repeat(70));
        let tree =
            tree(&[("a/src/a.rs", &long), ("a/src/b.rs", &body), ("a/tests/c.rs", &long)], &[]);
        assert_eq!(found(size::files, &tree), ["a/src/a.rs"]);
        assert_eq!(found(size::functions, &tree), ["a/src/b.rs::f"]);
    }

    #[test]
    fn files_that_say_nothing_are_found() {
        let tree = tree(&[("a/src/util.rs", "fn f() {}"), ("a/src/a.rs", "//! What it is.")], &[]);
        assert_eq!(found(names::unclear, &tree), ["a/src/util.rs"]);
        assert_eq!(found(headers::missing, &tree), ["a/src/util.rs"]);
    }

    #[test]
    fn crossed_layers_are_found_at_any_depth() {
        let tree = tree(
            &[],
            &[
                ("perennial-core", "MIT", &["serde", "rand"]),
                ("perennial-api", "MIT", &["perennial-core"]),
                ("perennial-engine", "MIT", &["perennial-core", "between"]),
                ("perennial-new", "MIT", &[]),
                ("perennial", "MIT", &["tokio", "perennial-core"]),
                ("serde", "MIT", &[]),
                ("rand", "MIT", &[]),
                ("between", "MIT", &["tokio"]),
                ("tokio", "MIT", &[]),
            ],
        );
        let places = ["perennial-api", "perennial-core", "perennial-engine", "perennial-new"];
        assert_eq!(found(layers::crossed, &tree), places);
    }

    #[test]
    fn licences_and_banned_crates_are_found() {
        let tree = tree(
            &[],
            &[
                ("perennial", "MIT", &["between", "free"]),
                ("between", "MIT OR GPL-3.0", &["openssl-sys"]),
                ("openssl-sys", "MIT", &[]),
                ("free", "", &[]),
                ("strict", "GPL-3.0", &[]),
            ],
        );
        assert_eq!(found(licences::not_allowed, &tree), ["free", "strict"]);
        assert_eq!(found(banned::crates, &tree), ["openssl-sys"]);
    }

    #[test]
    fn dependencies_without_use_or_reason_are_found() {
        let tree = tree(
            &[
                ("Cargo.toml", "[workspace.dependencies]\na = \"1\"\nb = \"1\"\nc = \"1\"\n"),
                ("crates/x/Cargo.toml", "[dependencies]\na.workspace = true\nb.workspace = true\n"),
                ("docs/design/dependencies.md", "| `a` | needed |\n| `d` | gone |\n"),
            ],
            &[],
        );
        let texts: Vec<String> =
            dependencies::unexplained(&tree).into_iter().map(|finding| finding.text).collect();
        assert_eq!(texts, ["says nothing of b", "c is used by no crate", "d is no dependency"]);
    }

    #[test]
    fn rows_without_a_test_and_links_to_nowhere_are_found() {
        let rows = "| J-01 | One | F | |\n| J-04 | Two | F | |\n| J-05 | Three | C | |\n";
        let test = "//! A test file.\n// covers: J-01\nfn a() {}\n// covers: Z-99\nfn b() {}\n";
        let files = [
            ("docs/seed-coverage.md", rows),
            ("crates/perennial/tests/a.rs", test),
            ("README.md", "[here](docs/seed-coverage.md) and [nowhere](docs/gone.md)"),
        ];
        let tree = tree(&files, &[]);
        assert_eq!(found(coverage::uncovered, &tree), [COVERAGE, "crates/perennial/tests/a.rs"]);
        assert_eq!(found(links::broken, &tree), ["README.md"]);
    }
}

//! Rows of `docs/seed-coverage.md`: each id that should be done has a test that shows it.
//!
//! A test says so in a comment before it: `// covers:` and ids. Only a test that goes through the
//! product's outside closes a row; others are listed beside it.

use super::source::Source;
use super::{Finding, Tree};
use crate::repository::Text;

pub const COVERAGE: &str = "docs/seed-coverage.md";
/// Where tests drive the built binary.
const OUTSIDE: &str = "crates/perennial/tests/";
/// The steps of the road whose rows must be closed.
const CLOSED: &[&str] = &["F"];

const MARK: &str = "// covers:";

/// A test and the id of a row that it shows.
struct Cover {
    id: String,
    path: String,
    test: String,
}

/// A row of the table: `| id | requirement | step | tests |`.
struct Row<'a> {
    id: &'a str,
    requirement: &'a str,
    step: &'a str,
}

pub fn uncovered(tree: &Tree) -> Vec<Finding> {
    let finding =
        |place: &str, text| Finding { rule: "coverage", place: place.into(), amount: 1, text };
    let Some(document) = tree.texts.iter().find(|text| text.path == COVERAGE) else {
        return vec![finding(COVERAGE, "is missing".into())];
    };
    let rows: Vec<Row<'_>> = document.text.lines().filter_map(row).collect();
    let covers = covers(&tree.sources);
    let mut findings = Vec::new();
    for row in &rows {
        let shown =
            covers.iter().any(|cover| cover.id == row.id && cover.path.starts_with(OUTSIDE));
        if row.step.split(", ").all(|step| CLOSED.contains(&step)) && !shown {
            let text = format!("{} ({}) has no test under {OUTSIDE}", row.id, row.requirement);
            findings.push(finding(COVERAGE, text));
        }
    }
    for cover in &covers {
        if !rows.iter().any(|row| row.id == cover.id) {
            findings.push(finding(&cover.path, format!("{} is no row of {COVERAGE}", cover.id)));
        }
    }
    findings
}

/// The document with its last column as the tests say it.
pub fn coverage_column(document: &str, texts: &[Text]) -> String {
    let sources: Vec<Source> =
        texts.iter().filter(|text| text.is_rust()).map(Source::read).collect();
    let covers = covers(&sources);
    let line = |line: &str| match row(line) {
        Some(row) => {
            let Row { id, requirement, step } = row;
            let tests = tests_of(id, &covers);
            format!("| {id} | {requirement} | {step} | {tests} |").replace("|  |", "| |")
        }
        None => line.to_owned(),
    };
    document.lines().map(|text| line(text) + "\n").collect()
}

fn tests_of(id: &str, covers: &[Cover]) -> String {
    let mut tests: Vec<(bool, String)> = covers
        .iter()
        .filter(|cover| cover.id == id)
        .map(|cover| {
            let path = cover.path.trim_start_matches("crates/");
            (!cover.path.starts_with(OUTSIDE), format!("`{path}` {}", cover.test))
        })
        .collect();
    tests.sort();
    tests.dedup();
    tests.into_iter().map(|(_, test)| test).collect::<Vec<_>>().join("; ")
}

fn row(line: &str) -> Option<Row<'_>> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').collect();
    let [id, requirement, step, _tests] = cells.as_slice() else {
        return None;
    };
    let (letter, number) = id.trim().split_once('-')?;
    let is_id = letter.len() == 1 && number.len() == 2 && number.parse::<u8>().is_ok();
    is_id.then_some(Row { id: id.trim(), requirement: requirement.trim(), step: step.trim() })
}

fn covers(sources: &[Source]) -> Vec<Cover> {
    let crates = sources.iter().filter(|source| source.path.starts_with("crates/"));
    crates.flat_map(covers_of).collect()
}

fn covers_of(source: &Source) -> Vec<Cover> {
    let functions = source.functions();
    let marks = source.text.match_indices(MARK);
    marks
        .flat_map(|(at, _)| {
            let test = functions.iter().find(|function| function.begin > at);
            let test = test.map_or("", |function| &function.name);
            let line = source.text[at + MARK.len()..].lines().next().unwrap_or_default();
            let ids = line.split([',', ' ']).map(str::trim).filter(|id| !id.is_empty());
            ids.map(|id| Cover { id: id.into(), path: source.path.clone(), test: test.into() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_names_the_tests_outside_first() {
        let read = |path: &str, test: &str| {
            let text = format!("{MARK} J-01, X-02\n#[test]\nfn {test}() {{}}");
            Text { path: path.into(), text }
        };
        let texts =
            [read("crates/a/src/a.rs", "inner"), read("crates/perennial/tests/b.rs", "outer")];
        let document =
            "# T\n| id | r | s | t |\n| J-01 | One | F | old |\n| J-02 | Two | C | old |\n";
        assert_eq!(
            coverage_column(document, &texts),
            "# T\n| id | r | s | t |\n\
            | J-01 | One | F | `perennial/tests/b.rs` outer; `a/src/a.rs` inner |\n| J-02 | Two | C | |\n"
        );
    }
}

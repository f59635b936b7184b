//! `cargo xtask docs`: the documents that are made from code, so that they cannot be wrong.
//!
//! `docs/messages.md` and `docs/harnesses.md` need the product's own code, so tests of the product write and
//! check them.

mod diagram;
mod states;
mod vocabularies;
mod words;

use perennial_api::openapi;
use serde_json::Value;

use crate::failure::Failure;
use crate::program;
use crate::repository;
use crate::tidy;

struct Document {
    path: &'static str,
    make: fn() -> Result<String, Failure>,
}

const DOCUMENTS: &[Document] = &[
    Document { path: "docs/states.md", make: || Ok(states::document()) },
    Document { path: tidy::COVERAGE, make: coverage },
    Document { path: "docs/openapi.json", make: || Ok(json(&openapi::document())) },
    Document { path: "docs/mcp-tools.json", make: || Ok(json(&openapi::tools())) },
    Document { path: "docs/vocabularies.md", make: || Ok(vocabularies::document()) },
];

pub fn write() -> Result<(), Failure> {
    for document in DOCUMENTS {
        let text = (document.make)()?;
        if repository::read(document.path).ok().as_deref() != Some(&text) {
            repository::write(document.path, &text)?;
            println!("wrote {}", document.path);
        }
    }
    for test in [MESSAGES_TEST, HARNESSES_TEST] {
        program::run(&[&["env", "PERENNIAL_WRITE_DOCS=1"], test].concat())?;
    }
    Ok(())
}

pub fn check() -> Result<(), Failure> {
    let paths = stale()?;
    if !paths.is_empty() {
        return Err(Failure::Stale { paths });
    }
    program::run(MESSAGES_TEST)?;
    program::run(HARNESSES_TEST)
}

/// Compares `docs/messages.md` with the code; writes it, if the variable asks for that.
const MESSAGES_TEST: &[&str] = &[
    "cargo",
    "test",
    "--quiet",
    "--package",
    "perennial",
    "--bin",
    "perennial",
    "docs_messages_is_what_the_code_says",
];

/// The same for `docs/harnesses.md`, which is made of presets and of what runs of them have shown.
const HARNESSES_TEST: &[&str] = &[
    "cargo",
    "test",
    "--quiet",
    "--package",
    "perennial",
    "--test",
    "cli",
    "docs_harnesses_is_what_the_runs_have_shown",
];

/// The documents of `DOCUMENTS` that are missing or out of date.
pub fn stale() -> Result<Vec<&'static str>, Failure> {
    let mut paths = Vec::new();
    for document in DOCUMENTS {
        let text = (document.make)()?;
        if repository::read(document.path).ok().as_deref() != Some(&text) {
            paths.push(document.path);
        }
    }
    Ok(paths)
}

/// Rows are written by people; only the column of tests is made here.
fn coverage() -> Result<String, Failure> {
    let document = repository::read(tidy::COVERAGE)?;
    Ok(tidy::coverage_column(&document, &repository::texts()?))
}

fn json(document: &Value) -> String {
    format!("{document:#}\n")
}

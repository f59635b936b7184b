//! `cargo xtask docs`: the documents that are made from code, so that they cannot be wrong.

mod diagram;
mod states;
mod words;

use perennial_api::openapi;
use serde_json::Value;

use crate::failure::Failure;
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
];

pub fn write() -> Result<(), Failure> {
    for document in DOCUMENTS {
        let text = (document.make)()?;
        if repository::read(document.path).ok().as_deref() != Some(&text) {
            repository::write(document.path, &text)?;
            println!("wrote {}", document.path);
        }
    }
    Ok(())
}

pub fn check() -> Result<(), Failure> {
    let paths = stale()?;
    if paths.is_empty() { Ok(()) } else { Err(Failure::Stale { paths }) }
}

/// The documents that are missing or not what the code says.
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

//! The repository: where it is, and the files that belong to it.
//!
//! A file belongs to it if git has it or would take it; what git ignores is nobody's business here.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::program;

/// The directory of the workspace.
pub fn root() -> &'static Path {
    // This crate lies directly under the root.
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// One text file of the repository; the path is relative to its root, with `/`.
#[derive(Debug, Clone)]
pub struct Text {
    pub path: String,
    pub text: String,
}

impl Text {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the whole file is code of tests, or of a program beside them that measures.
    pub fn is_test(&self) -> bool {
        self.path.split('/').any(|part| ["tests", "tests.rs", "examples"].contains(&part))
    }
}

/// All text files, in the order of their paths. Files that are not UTF-8 are left out.
pub fn texts() -> Result<Vec<Text>, Failure> {
    let list = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let listed = program::output(&list)?;
    let mut paths: Vec<String> = listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect();
    paths.sort();
    paths.dedup();
    let mut texts = Vec::with_capacity(paths.len());
    for path in paths {
        // Deleted but not yet committed, a link to nowhere, or not text: nothing to read.
        if let Ok(bytes) = std::fs::read(root().join(&path))
            && let Ok(text) = String::from_utf8(bytes)
        {
            texts.push(Text { path, text });
        }
    }
    Ok(texts)
}

pub fn read(path: &str) -> Result<String, Failure> {
    let path = root().join(path);
    std::fs::read_to_string(&path).map_err(|source| Failure::File { path, source })
}

pub fn write(path: &str, text: &str) -> Result<(), Failure> {
    let path: PathBuf = root().join(path);
    std::fs::write(&path, text).map_err(|source| Failure::File { path, source })
}

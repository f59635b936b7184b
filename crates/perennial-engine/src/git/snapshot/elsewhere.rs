//! Whether a directory is elsewhere: neither in a work tree nor in what git keeps of a repository.

use std::path::{Path, PathBuf};

use crate::git::error::{At, GitError};
use crate::git::repository;

/// Changes nothing. What of the path does not exist yet is judged by what is above it.
pub fn check(directory: &Path, work_tree: &Path) -> Result<(), GitError> {
    let path = resolved(directory)?;
    let work_tree = std::fs::canonicalize(work_tree).unwrap_or_else(|_| work_tree.to_owned());
    // The repository of a linked work tree is somewhere else.
    let git = repository::open(&work_tree).map(|it| [it.git_dir, it.common_dir]);
    let kept = std::iter::once(work_tree).chain(git.into_iter().flatten());
    let is_kept = kept.into_iter().any(|kept| path.starts_with(kept));
    match is_kept || path.components().any(|part| part.as_os_str() == ".git") {
        true => Err(GitError::NotElsewhere(directory.to_owned())),
        false => Ok(()),
    }
}

/// The path without links, as it will be once it exists.
fn resolved(directory: &Path) -> Result<PathBuf, GitError> {
    for above in directory.ancestors() {
        match std::fs::canonicalize(above) {
            Ok(there) if !there.is_dir() => return Err(GitError::NotADirectory(above.to_owned())),
            Ok(there) => {
                let rest = directory.strip_prefix(above).unwrap_or(Path::new(""));
                return Ok(if rest.as_os_str().is_empty() { there } else { there.join(rest) });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {}
            Err(error) => return Err(error).at(above),
        }
    }
    Ok(directory.to_owned())
}

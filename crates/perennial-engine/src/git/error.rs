//! What can go wrong while a repository is read or a snapshot is written.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("{} is not in a git work tree", .0.display())]
    NotARepository(PathBuf),
    #[error("not supported: {0}")]
    Unsupported(Unsupported),
    #[error("{} is damaged: {part}", .path.display())]
    Damaged { path: PathBuf, part: &'static str },
    #[error("{}", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("object {0} is missing")]
    Missing(super::object::ObjectId),
    #[error("the work tree has more than {0} files")]
    TooManyFiles(usize),
    #[error("more than {0} ignore patterns hold in one directory")]
    TooManyPatterns(usize),
    #[error("the changed files have more than {0} bytes together")]
    TooManyBytes(u64),
    #[error("{} is locked by another program", .0.display())]
    Locked(PathBuf),
    /// Content that no snapshot holds is where a file belongs.
    #[error("files that no snapshot holds are in the way")]
    InTheWay(Vec<String>),
    /// A link or another directory is in its place.
    #[error("{} is not the work tree that it was", .0.display())]
    Replaced(PathBuf),
    /// It lacks the commit that the snapshot builds on.
    #[error("{} is the work tree of another repository", .0.display())]
    AnotherRepository(PathBuf),
    #[error("{} is not empty", .0.display())]
    NotEmpty(PathBuf),
    /// Files are to be written elsewhere, and this is within the work tree or a repository.
    #[error("{} is in the work tree or in a repository of git", .0.display())]
    NotElsewhere(PathBuf),
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("{} is gone", .0.display())]
    Gone(PathBuf),
    /// The caller said that it takes too long.
    #[error("it was not finished in time")]
    Interrupted,
    #[error("snapshot {0} has no index")]
    NoIndex(super::object::ObjectId),
}

/// What we decline to snapshot, each a repository that git itself would accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    #[error("a repository with SHA-256 objects")]
    Sha256,
    #[error("a repository with reftable refs")]
    Reftable,
    #[error("a repository format or extension that is newer than this program")]
    Format,
    #[error("a bare repository, which has no work tree")]
    Bare,
    #[error("a `.git` file or link whose repository does not name this work tree")]
    NoBackLink,
    #[error("a repository whose core.worktree is another directory")]
    WorktreeElsewhere,
    #[error("an index of a version or with an extension that is newer than this program")]
    Index,
}

impl From<Unsupported> for GitError {
    fn from(what: Unsupported) -> GitError {
        GitError::Unsupported(what)
    }
}

impl GitError {
    pub fn damaged(path: &Path, part: &'static str) -> GitError {
        GitError::Damaged { path: path.to_owned(), part }
    }
}

/// Names the path of an I/O error.
pub trait At<T> {
    fn at(self, path: &Path) -> Result<T, GitError>;
}

impl<T, E: Into<io::Error>> At<T> for Result<T, E> {
    fn at(self, path: &Path) -> Result<T, GitError> {
        self.map_err(|error| GitError::Io { path: path.to_owned(), source: error.into() })
    }
}

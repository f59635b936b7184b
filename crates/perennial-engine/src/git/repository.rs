//! Finds the repository of a work tree, and reads HEAD and refs. Writes nothing.
//!
//! Invariants
//! - RE1  A `.git` file is believed only if the repository that it names also names this work tree; otherwise anyone
//!   who can write to a work tree could have us write to a foreign repository.
//!   A directory of git's own that names another one for its refs and objects is one of that other's `worktrees`.
//! - RE2  What changes how a repository has to be read (`extensions`) is known or refused.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::configuration::Configuration;
use super::error::{At, GitError, Unsupported};
use super::object::ObjectId;
use crate::regular_file::{self, Links};

const MOST_CONFIG: u64 = 4 << 20;
/// Of `packed-refs`.
pub const MOST_REFS: u64 = 256 << 20;
/// Of symbolic refs that name each other.
const MOST_HOPS: usize = 5;
/// Extensions that change nothing for a reader.
const HARMLESS_EXTENSIONS: &[&str] = &[
    "noop",
    "partialclone",
    "preciousobjects",
    "worktreeconfig",
    "relativeworktrees",
    "objectformat",
    "refstorage",
    "compatobjectformat",
];
/// What git leaves in its directory while an operation is not done, and what it is called.
const OPERATIONS: &[(&str, &str)] = &[
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

#[derive(Debug)]
pub struct Repository {
    pub work_tree: PathBuf,
    /// HEAD and the index are here.
    pub git_dir: PathBuf,
    /// Refs and objects are here; the same unless the work tree is a linked one.
    pub common_dir: PathBuf,
    pub config: Configuration,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// As in the file: a commit, or `ref: ` and a branch.
    pub text: String,
    /// `None` for a branch without commits.
    pub commit: Option<ObjectId>,
}

/// The work tree that a directory is in.
pub fn find(directory: &Path) -> Result<Repository, GitError> {
    let directory = std::fs::canonicalize(directory).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => GitError::Gone(directory.to_owned()),
        _ => GitError::Io { path: directory.to_owned(), source: error },
    })?;
    for above in directory.ancestors() {
        if std::fs::symlink_metadata(above.join(".git")).is_ok() {
            return open(above);
        }
    }
    Err(GitError::NotARepository(directory))
}

/// The repository of a work tree's top directory. A path with a link in it is another work tree's.
pub fn open(work_tree: &Path) -> Result<Repository, GitError> {
    if std::fs::canonicalize(work_tree).at(work_tree)? != work_tree {
        return Err(GitError::NotARepository(work_tree.to_owned()));
    }
    let dot_git = work_tree.join(".git");
    let kind = std::fs::symlink_metadata(&dot_git).at(&dot_git)?.file_type();
    let git_dir = if kind.is_dir() {
        dot_git
    } else if kind.is_file() {
        let text = regular_file::read(&dot_git, Links::Refuse, 8192).at(&dot_git)?;
        let target = text
            .strip_prefix(b"gitdir:")
            .ok_or_else(|| GitError::damaged(&dot_git, "it does not begin with `gitdir:`"))?;
        let target = Path::new(std::ffi::OsStr::from_bytes(target.trim_ascii()));
        let target = work_tree.join(target);
        std::fs::canonicalize(&target).at(&target)?
    } else {
        return Err(Unsupported::NoBackLink.into());
    };
    let common_dir = match read_line(&git_dir.join("commondir"))? {
        None => git_dir.clone(),
        Some(path) => {
            let path = git_dir.join(Path::new(std::ffi::OsStr::from_bytes(&path)));
            std::fs::canonicalize(&path).at(&path)?
        }
    };
    if !common_dir.join("objects").is_dir() || !git_dir.join("HEAD").exists() {
        return Err(GitError::NotARepository(work_tree.to_owned()));
    }
    let config = configuration(&git_dir, &common_dir)?;
    let repository = Repository { work_tree: work_tree.to_owned(), git_dir, common_dir, config };
    repository.check_format()?;
    repository.check_back_link(kind.is_file())?;
    Ok(repository)
}

fn configuration(git_dir: &Path, common_dir: &Path) -> Result<Configuration, GitError> {
    let mut bytes = read_optional(&common_dir.join("config"), MOST_CONFIG)?.unwrap_or_default();
    if Configuration::parse(&bytes).is_true("extensions.worktreeconfig") {
        bytes.push(b'\n');
        bytes.extend(
            read_optional(&git_dir.join("config.worktree"), MOST_CONFIG)?.unwrap_or_default(),
        );
    }
    Ok(Configuration::parse(&bytes))
}

impl Repository {
    fn check_format(&self) -> Result<(), GitError> {
        let get = |key: &str| self.config.get(key).unwrap_or_default();
        if !matches!(get("core.repositoryformatversion"), "" | "0" | "1") {
            return Err(Unsupported::Format.into());
        }
        if get("extensions.objectformat").eq_ignore_ascii_case("sha256") {
            return Err(Unsupported::Sha256.into());
        }
        if get("extensions.refstorage").starts_with("reftable") {
            return Err(Unsupported::Reftable.into());
        }
        if self.config.keys("extensions").any(|key| !HARMLESS_EXTENSIONS.contains(&key)) {
            return Err(Unsupported::Format.into());
        }
        if self.config.is_true("core.bare") && !self.is_linked() {
            return Err(Unsupported::Bare.into());
        }
        Ok(())
    }

    fn is_linked(&self) -> bool {
        self.git_dir != self.common_dir
    }

    /// RE1.
    fn check_back_link(&self, is_file: bool) -> Result<(), GitError> {
        let is_this =
            |path: &Path| std::fs::canonicalize(path).is_ok_and(|path| path == self.work_tree);
        if self.is_linked() {
            let back = read_line(&self.git_dir.join("gitdir"))?.unwrap_or_default();
            let back = self.git_dir.join(Path::new(std::ffi::OsStr::from_bytes(&back)));
            let is_of_common = self.git_dir.parent() == Some(&*self.common_dir.join("worktrees"));
            let names_us = is_of_common
                && back.file_name().is_some_and(|name| name == ".git")
                && back.parent().is_some_and(is_this);
            return if names_us { Ok(()) } else { Err(Unsupported::NoBackLink.into()) };
        }
        match self.config.get("core.worktree") {
            Some(path) if is_this(&self.git_dir.join(path)) => Ok(()),
            Some(_) if is_file => Err(Unsupported::NoBackLink.into()),
            Some(_) => Err(Unsupported::WorktreeElsewhere.into()),
            None if is_file => Err(Unsupported::NoBackLink.into()),
            None => Ok(()),
        }
    }

    pub fn index_path(&self) -> PathBuf {
        self.git_dir.join("index")
    }

    pub fn objects_dir(&self) -> PathBuf {
        self.common_dir.join("objects")
    }

    pub fn head(&self) -> Result<Head, GitError> {
        let path = self.git_dir.join("HEAD");
        let line = read_line(&path)?.ok_or_else(|| GitError::damaged(&path, "it is missing"))?;
        let text = String::from_utf8(line)
            .map_err(|_| GitError::damaged(&path, "it is not a ref or a commit"))?;
        let commit = match text.strip_prefix("ref:") {
            None => {
                let id = ObjectId::parse(&text);
                Some(id.ok_or_else(|| GitError::damaged(&path, "it is not a ref or a commit"))?)
            }
            Some(name) => self.resolve(name.trim())?,
        };
        Ok(Head { text, commit })
    }

    /// The commit of a ref, if there is one.
    pub fn resolve(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let mut name = name.to_owned();
        for _ in 0..MOST_HOPS {
            let parts_are_names =
                name.split('/').all(|part| super::object::is_component(part.as_bytes()));
            if !name.starts_with("refs/") || !parts_are_names {
                return Err(GitError::damaged(&self.git_dir.join("HEAD"), "it names no ref"));
            }
            let is_own = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"]
                .iter()
                .any(|own| name.starts_with(own));
            let path = if is_own { &self.git_dir } else { &self.common_dir }.join(&name);
            let line = match read_line(&path) {
                // A branch `a/b` makes a directory of `a`.
                Err(GitError::Io { .. }) if path.is_dir() => None,
                line => line?,
            };
            let Some(line) = line else { return self.packed(&name) };
            let text = String::from_utf8_lossy(&line).into_owned();
            match text.strip_prefix("ref:") {
                Some(next) => name = next.trim().to_owned(),
                None => {
                    let id = ObjectId::parse(&text);
                    return id.map(Some).ok_or_else(|| GitError::damaged(&path, "it is no commit"));
                }
            }
        }
        Err(GitError::damaged(&self.git_dir.join("HEAD"), "its refs name each other"))
    }

    fn packed(&self, name: &str) -> Result<Option<ObjectId>, GitError> {
        let bytes = read_optional(&self.common_dir.join("packed-refs"), MOST_REFS)?;
        let bytes = bytes.unwrap_or_default();
        let found = bytes.split(|byte| *byte == b'\n').find_map(|line| {
            let (id, rest) = line.split_at_checked(40)?;
            (rest.strip_prefix(b" ")?.trim_ascii_end() == name.as_bytes())
                .then(|| ObjectId::parse(std::str::from_utf8(id).ok()?))?
        });
        Ok(found)
    }

    /// The operation that is not done, as git calls it.
    pub fn operation(&self) -> Option<&'static str> {
        let found = OPERATIONS.iter().find(|(file, _)| self.git_dir.join(file).exists());
        found.map(|(_, operation)| *operation)
    }
}

/// The first line of a small file, without spaces around it; `None` if there is no file.
pub fn read_line(path: &Path) -> Result<Option<Vec<u8>>, GitError> {
    let bytes = read_optional(path, 8192)?;
    Ok(bytes.map(|bytes| {
        bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii().to_owned()
    }))
}

/// A whole file; `None` if there is none.
pub fn read_optional(path: &Path, most: u64) -> Result<Option<Vec<u8>>, GitError> {
    match regular_file::read(path, Links::Follow, most) {
        Err(error) if is_absent(&error) => Ok(None),
        read => read.map(Some).at(path),
    }
}

pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

//! Which project a directory belongs to: its git common directory, else itself.
//!
//! Reads the few files that say so; runs no git, and believes no file over a few kilobytes.

use perennial_engine::regular_file::{self, Links};
use std::io::Read;
use std::path::{Path, PathBuf};

const LONGEST: u64 = 4096;

pub fn of(dir: &Path) -> PathBuf {
    dir.ancestors().find_map(common_dir).unwrap_or_else(|| dir.to_owned())
}

/// The git common directory of a work tree's top, if `dir` is one.
fn common_dir(dir: &Path) -> Option<PathBuf> {
    let dot_git = dir.join(".git");
    let git_dir = if dot_git.is_dir() {
        dot_git
    } else {
        // A linked work tree or submodule: `gitdir: PATH`.
        let line = first_line(&dot_git)?;
        dir.join(line.strip_prefix("gitdir: ")?)
    };
    let common = match first_line(&git_dir.join("commondir")) {
        Some(relative) => git_dir.join(relative),
        None => git_dir,
    };
    common.join("HEAD").is_file().then(|| common.canonicalize().ok())?
}

fn first_line(path: &Path) -> Option<String> {
    let mut text = String::new();
    regular_file::open(path, Links::Follow).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    text.lines().next().map(|line| line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn git(dir: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t.invalid",
            "-c",
            "init.defaultBranch=main",
        ]);
        assert!(git.args(args).current_dir(dir).output().unwrap().status.success(), "git {args:?}");
    }

    #[test]
    fn a_repository_its_subdirectories_and_its_linked_work_trees_are_one_project() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let repo = root.join("repo");
        std::fs::create_dir_all(repo.join("src/deep")).unwrap();
        git(&repo, &["init", "-q"]);
        git(&repo, &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&repo, &["worktree", "add", "-q", "../linked"]);
        for dir in ["repo", "repo/src/deep", "linked"] {
            assert_eq!(of(&root.join(dir)), repo.join(".git"), "{dir}");
        }
        assert_eq!(of(&root), root);
    }

    #[test]
    fn a_file_that_only_looks_like_a_git_directory_is_none() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join(".git"), vec![b'x'; 100_000]).unwrap();
        assert_eq!(of(temp.path()), temp.path());
    }
}

//! A git work tree with work in it that is not committed, and a reading of it that is held against a later one.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Every file with its mode and bytes, the index among them, and what HEAD names.
pub type Tree = BTreeMap<String, (u32, Vec<u8>)>;

pub fn tree(dir: &Path) -> Tree {
    let mut found = Tree::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(here) = open.pop() {
        for entry in std::fs::read_dir(&here).expect("a directory").map(|it| it.expect("an entry"))
        {
            let (path, meta) = (entry.path(), entry.metadata().expect("its metadata"));
            let name = path.strip_prefix(dir).expect("below").display().to_string();
            // Of the repository: what a handoff must not touch.
            let is_git = name.starts_with(".git");
            let is_judged = [".git/index", ".git/HEAD"].contains(&name.as_str());
            if meta.is_dir() {
                // The refs that keep what snapshots build on are ours.
                if name != ".git/objects" && name != ".git/refs/perennial" {
                    open.push(path);
                }
            } else if meta.is_file() && (!is_git || is_judged || name.starts_with(".git/refs")) {
                found
                    .insert(name, (meta.permissions().mode(), std::fs::read(&path).expect("read")));
            }
        }
    }
    found
}

/// A repository with a commit, a staged change, another one beside it, and a file that git does not know.
pub fn unfinished_work(dir: &Path) {
    let git = |arguments: &[&str]| {
        let names = ["-c", "user.name=ada", "-c", "user.email=ada@localhost"];
        let mut with = Command::new("git");
        with.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").args(names).args(arguments);
        let ran = with.output().expect("git");
        assert!(ran.status.success(), "{arguments:?}: {ran:?}");
    };
    let write = |name: &str, text: &str| std::fs::write(dir.join(name), text).expect("written");
    git(&["init", "-q", "-b", "main"]);
    write("lexer.rs", "one\n");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    write("lexer.rs", "one\ntwo\n");
    git(&["add", "lexer.rs"]);
    write("lexer.rs", "one\ntwo\nthree\n");
    write("run.sh", "#!/bin/sh\n");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.join("run.sh"), mode).expect("a mode");
}

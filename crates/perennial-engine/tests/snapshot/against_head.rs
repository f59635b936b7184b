//! What a snapshot shows against HEAD, held against `git status`.

use std::collections::BTreeSet;

use perennial_core::work::{ChangeKind, GitFindings, PATHS_MAX};
use perennial_engine::git::snapshot::{SnapshotStore, against_head};

use crate::fixture::Fixture;

fn found(f: &Fixture) -> GitFindings {
    let taken = f.take();
    against_head(&SnapshotStore::at(taken.store.clone()), taken.commit).expect("readable")
}

/// By git's own word; renames are two changes.
fn by_git(f: &Fixture) -> BTreeSet<String> {
    f.git("add -A -N");
    let out = f.git("diff HEAD --name-only --no-renames");
    out.lines().map(str::to_owned).collect()
}

fn listed(findings: &GitFindings) -> BTreeSet<String> {
    findings.changed.iter().map(|change| change.path.clone()).collect()
}

#[test]
fn the_files_that_differ_are_those_of_git() {
    let f = Fixture::new();
    f.write("ignored.log", "x");
    f.write(".gitignore", "*.log\n");
    f.git("add .gitignore");
    f.git("commit -qm ignore");
    f.write("a.txt", "changed\n");
    f.write("new/deep/untracked.txt", "new\n");
    f.write("staged.txt", "staged\n");
    f.git("add staged.txt");
    f.mode("b.txt", 0o755);
    std::fs::remove_dir_all(f.path("dir/deep")).unwrap();
    // A file becomes a directory.
    std::fs::remove_file(f.path("run.sh")).unwrap();
    f.write("run.sh/inside", "x\n");
    let findings = found(&f);
    assert_eq!(listed(&findings), by_git(&f));
    assert_eq!(findings.changed_count, findings.changed.len() as u64);
    assert_eq!(findings.branch.as_deref(), Some("main"));
    assert_eq!(findings.head.as_deref(), Some(f.git("rev-parse HEAD").trim()));
    let how = |path: &str| findings.changed.iter().find(|one| one.path == path).map(|one| one.how);
    assert_eq!(how("a.txt"), Some(ChangeKind::Modified));
    assert_eq!(how("staged.txt"), Some(ChangeKind::Added));
    assert_eq!(how("dir/deep/d.txt"), Some(ChangeKind::Deleted));
}

#[test]
fn a_clean_an_unborn_and_a_detached_tree() {
    let f = Fixture::new();
    assert_eq!(found(&f).changed_count, 0);
    f.git("checkout -q --detach");
    let detached = found(&f);
    assert_eq!((detached.branch, detached.changed_count), (None, 0));
    let f = Fixture::unborn();
    f.write("first.txt", "x\n");
    let unborn = found(&f);
    assert_eq!(listed(&unborn), BTreeSet::from(["first.txt".to_owned()]));
    assert_eq!((unborn.branch.as_deref(), unborn.head), (Some("main"), None));
}

#[test]
fn what_is_not_expected_in_the_tree_is_no_change() {
    let f = Fixture::new();
    f.git("sparse-checkout set --no-cone a.txt b.txt");
    f.write("a.txt", "changed\n");
    let findings = found(&f);
    assert_eq!(listed(&findings), BTreeSet::from(["a.txt".to_owned()]), "{findings:?}");
    f.git("sparse-checkout set --cone --sparse-index dir/deep");
    let findings = found(&f);
    assert_eq!(listed(&findings), BTreeSet::from(["a.txt".to_owned()]), "{findings:?}");
}

#[test]
fn many_changes_are_counted_and_the_first_are_listed() {
    let f = Fixture::new();
    for number in 0..250 {
        f.write(&format!("many/{number:03}"), "x");
    }
    let findings = found(&f);
    assert_eq!((findings.changed.len(), findings.changed_count), (PATHS_MAX, 250));
    // A name that acts on a terminal is escaped.
    let f = Fixture::new();
    f.write("a\u{1b}[2J\n", "x");
    assert_eq!(listed(&found(&f)), BTreeSet::from(["a\\x1b[2J\\x0a".to_owned()]));
}

//! Restores: what stays, what is refused, and repositories within repositories.

use perennial_engine::git::snapshot::{
    ChangeKind, PatchLimits, WithIndex, compare, patch, restore, restore_to,
};
use perennial_engine::git::{GitError, repository};

use crate::fixture::{Fixture, assert_same, stored};

#[test]
fn ignored_files_stay_by_the_restored_rules() {
    let f = Fixture::new();
    f.write(".gitignore", "build/\n");
    f.write("build/output", "precious");
    let taken = f.take();
    let before = f.files();
    // Without its rule the file is in the way of nobody, and in the snapshot of the present.
    std::fs::remove_file(f.path(".gitignore")).unwrap();
    f.write("extra", "extra");
    f.restore(&taken, WithIndex::No).unwrap();
    assert_same("ignored files", &before, &f.files());
}

#[test]
fn ignored_content_in_the_way_is_refused_and_listed() {
    let f = Fixture::new();
    f.write("thing", "a file");
    let taken = f.take();
    std::fs::remove_file(f.path("thing")).unwrap();
    f.write("thing/ignored.o", "precious");
    f.write(".gitignore", "*.o\nb.txt2\n");
    let before = f.files();
    match f.restore(&taken, WithIndex::No).map_err(|stopped| (stopped.has_begun, stopped.error)) {
        Err((false, GitError::InTheWay(paths))) => assert_eq!(paths, ["thing/ignored.o"]),
        other => panic!("{other:?}"),
    }
    assert_same("a refused restore", &before, &f.files());
    // An untracked file that became a secret by its name is not overwritten either.
    std::fs::remove_dir_all(f.path("thing")).unwrap();
    f.write("thing", "another file");
    f.write(".gitignore", "thing\n");
    let refused = f.restore(&taken, WithIndex::No).unwrap_err();
    assert!(matches!(refused.error, GitError::InTheWay(_)), "{refused:?}");
}

/// Found by `prove snapshots`: an empty directory beside a file that is removed kept the one above it.
#[test]
fn directories_that_were_not_there_go_with_what_was_in_them() {
    let f = Fixture::new();
    std::fs::create_dir_all(f.path("wanted/empty")).unwrap();
    let (taken, before) = (f.take(), f.files());
    f.write("new/file", "extra");
    f.write("wanted/empty/file", "extra");
    std::fs::create_dir_all(f.path("new/empty/deep")).unwrap();
    std::fs::create_dir_all(f.path("wanted/empty/other")).unwrap();
    f.restore(&taken, WithIndex::No).unwrap();
    assert_same("directories", &before, &f.files());
}

/// What was and what was not restored is said to the file.
#[test]
fn a_restore_that_fails_midway_says_what_is_left() {
    let f = Fixture::new();
    f.write("z.txt", "z\n");
    let taken = f.take();
    for path in ["a.txt", "dir/c.txt", "z.txt", "extra.txt"] {
        f.write(path, "changed");
    }
    let (present, snapshots) = (f.take(), f.snapshots());
    // Nothing can take the place of the index: the restore gets as far as that.
    std::fs::remove_file(f.path(".git/index")).unwrap();
    std::fs::create_dir_all(f.path(".git/index/there")).unwrap();
    let order = f.order(&f.work, &snapshots);
    let (target, present) = (f.contents(&taken), f.contents(&present));
    let stopped = restore(&order, &target, &present, WithIndex::Yes).unwrap_err();
    assert!(stopped.has_begun, "{stopped:?}");
    assert_eq!(
        (stopped.restored.written, stopped.restored.removed, stopped.restored.indexes),
        (3, 0, 0)
    );
    assert_eq!(stopped.left, ["extra.txt"]);
    let text = |path: &str| std::fs::read_to_string(f.path(path)).unwrap();
    assert_eq!((&*text("a.txt"), &*text("extra.txt")), ("one\ntwo\n", "changed"));
    assert!(!f.path(".git/index.lock").exists() && !f.path(".git/perennial-index.lock").exists());
}

/// What can't be read may be there all the same: the restore stops, and says what it has not come to.
#[test]
fn an_object_that_is_damaged_is_not_taken_for_a_lost_one() {
    let f = Fixture::new();
    f.write("z.txt", "z\n");
    let taken = f.take();
    for path in ["a.txt", "z.txt"] {
        f.write(path, "changed");
    }
    let blob = f.git("hash-object b.txt");
    f.write("b.txt", "changed");
    let path = f.path(&format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim()));
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "no object of git's").unwrap();
    let stopped = f.restore(&taken, WithIndex::No).unwrap_err();
    assert!(stopped.has_begun, "{stopped:?}");
    assert_eq!((stopped.restored.written, &stopped.restored.missing[..]), (1, &[][..]));
    assert_eq!(stopped.left, ["b.txt", "z.txt"]);
}

/// RS5: an edit between the snapshot of the present and the restore's end.
#[test]
fn what_somebody_changes_meanwhile_stays_and_is_listed() {
    let f = Fixture::new();
    f.write("new.txt", "then\n");
    f.write("again.txt", "then\n");
    let taken = f.take();
    for path in ["a.txt", "b.txt", "new.txt", "extra.txt", "extra too.txt", "run.sh"] {
        f.write(path, "in the present\n");
    }
    std::fs::remove_file(f.path("again.txt")).unwrap();
    let present = f.take();
    // Nobody may have seen these.
    for path in ["a.txt", "extra.txt"] {
        f.write(path, "an edit\n");
    }
    f.write("again.txt", "then\n");
    std::fs::remove_file(f.path("b.txt")).unwrap();
    f.mode("run.sh", 0o700);
    let snapshots = f.snapshots();
    let order = f.order(&f.work, &snapshots);
    let (target, present) = (f.contents(&taken), f.contents(&present));
    let mut restored = restore(&order, &target, &present, WithIndex::No).unwrap();
    restored.changed.sort();
    assert_eq!(restored.changed, ["a.txt", "extra.txt", "run.sh"]);
    assert_eq!((restored.written, restored.removed), (3, 1));
    let text = |path: &str| std::fs::read_to_string(f.path(path)).unwrap();
    for path in ["a.txt", "extra.txt"] {
        assert_eq!(text(path), "an edit\n");
    }
    for (path, expected) in [("b.txt", "b\n"), ("new.txt", "then\n"), ("again.txt", "then\n")] {
        assert_eq!(text(path), expected, "{path}");
    }
    let names: Vec<_> =
        std::fs::read_dir(&f.work).unwrap().flatten().map(|it| it.file_name()).collect();
    assert!(
        !names.iter().any(|name| name.to_string_lossy().contains("perennial-restore")),
        "{names:?}"
    );
}

#[test]
fn another_directory_gets_all_files_and_must_be_empty() {
    let f = Fixture::new();
    f.write("new.txt", "new");
    std::os::unix::fs::symlink("a.txt", f.path("link")).unwrap();
    f.mode("b.txt", 0o600);
    let taken = f.take();
    let to = f.beside("elsewhere");
    restore_to(&to, &f.work, &f.contents(&taken)).unwrap();
    let other = Fixture { work: to.clone(), dir: tempfile::tempdir().unwrap() };
    assert_same("elsewhere", &f.files(), &other.files());
    assert!(matches!(restore_to(&to, &f.work, &f.contents(&taken)), Err(GitError::NotEmpty(_))));
}

#[test]
fn another_directory_is_outside_of_the_work_tree_and_of_repositories() {
    let f = Fixture::new();
    let taken = f.take();
    let before = f.files();
    std::os::unix::fs::symlink(&f.work, f.beside("link")).unwrap();
    let refused = |to: &std::path::Path| restore_to(to, &f.work, &f.contents(&taken)).unwrap_err();
    for to in [f.path("sub/then"), f.path(".git/then"), f.beside("link/then"), f.beside("x/.git/y")]
    {
        assert!(matches!(refused(&to), GitError::NotElsewhere(_)), "{}", to.display());
    }
    for to in [f.path("a.txt"), f.path("a.txt/then")] {
        assert!(matches!(refused(&to), GitError::NotADirectory(_)), "{}", to.display());
    }
    assert_same("nothing is written", &before, &f.files());
    std::fs::remove_dir_all(&f.work).unwrap();
    assert!(matches!(repository::find(&f.work), Err(GitError::Gone(_))));
}

#[test]
fn submodules_and_nested_repositories_are_snapshots_of_their_own() {
    let f = Fixture::new();
    let library = Fixture::new();
    f.git(&format!("submodule --quiet add {} lib", library.work.display()));
    f.git("commit -qm submodule");
    f.write("lib/a.txt", "changed in the submodule");
    f.write("lib/new.txt", "new in the submodule");
    f.write("lib/staged.txt", "staged in the submodule");
    f.git_in("lib", "add staged.txt");
    for name in ["nested", "nested-unborn"] {
        std::fs::create_dir(f.path(name)).unwrap();
        f.git_in(name, "init -q .");
        f.write(&format!("{name}/x.txt"), "x");
        f.git_in(name, "add x.txt");
    }
    f.git_in("nested", "commit -qm nested");
    f.write("nested/.gitignore", "*.o\n");
    f.write("nested/y.txt", "y");
    f.write("nested/z.o", "ignored");
    let (status, inner) = (f.status(), f.git_in("lib", "status --porcelain=v2"));
    let (files, git_files) = (f.files(), f.git_files());
    let taken = f.take();
    assert_same("git directories", &git_files, &f.git_files());
    assert_eq!((f.status(), taken.nested), (status.clone(), 3));
    let all = stored(&f.contents(&taken));
    for path in ["lib/new.txt", "lib/a.txt", "nested/y.txt", "nested-unborn/x.txt"] {
        assert!(all.contains_key(path.as_bytes()), "{path}");
    }
    assert!(!all.contains_key(&b"nested/z.o"[..]));
    f.write("lib/a.txt", "again");
    std::fs::remove_file(f.path("nested/y.txt")).unwrap();
    f.write("nested/extra.txt", "extra");
    f.git_in("lib", "reset -q");
    f.restore(&taken, WithIndex::Yes).unwrap();
    assert_same("nested repositories", &files, &f.files());
    assert_eq!((f.status(), f.git_in("lib", "status --porcelain=v2")), (status, inner));
}

#[test]
fn a_linked_work_tree_has_its_own_snapshots_in_the_same_store() {
    let f = Fixture::new();
    f.git(&format!("worktree add -q -b linked {}", f.beside("linked").display()));
    let linked = Fixture {
        work: f.beside("linked"),
        dir: tempfile::tempdir_in(f.work.parent().unwrap()).unwrap(),
    };
    linked.write("a.txt", "changed in the linked work tree");
    linked.write("staged", "staged");
    linked.git("add staged");
    let (status, files) = (linked.status(), linked.files());
    let (taken, main) = (linked.take(), f.take());
    assert_eq!((&taken.store, linked.status()), (&main.store, status.clone()));
    linked.write("a.txt", "again");
    linked.git("rm -q --cached staged");
    linked.restore(&taken, WithIndex::Yes).unwrap();
    assert_same("the linked work tree", &files, &linked.files());
    assert_eq!(linked.status(), status);
    assert_eq!(std::fs::read_to_string(f.path("a.txt")).unwrap(), "one\ntwo\n");
    // A subdirectory stands for its work tree.
    let sub = f.path("dir");
    let snapshots = f.snapshots();
    let order = f.order(&sub, &snapshots);
    assert_eq!(perennial_engine::git::snapshot::take(&order).unwrap().commit, main.commit);
}

#[test]
fn sparse_paths_are_left_alone() {
    for cone in ["--cone", "--no-cone", "--cone --sparse-index"] {
        let f = Fixture::new();
        f.write("other/e.txt", "e\n");
        f.write("other/.gitignore", "*.o\n");
        f.git("add -A");
        f.git("commit -qm more");
        f.git(&format!("sparse-checkout set {cone} dir"));
        f.write("dir/c.txt", "changed\n");
        let (status, files) = (f.status(), f.files());
        let taken = f.take();
        assert!(!stored(&f.contents(&taken)).contains_key(&b"other/e.txt"[..]), "{cone}");
        f.write("dir/c.txt", "again\n");
        f.restore(&taken, WithIndex::Yes).unwrap();
        assert_same(cone, &files, &f.files());
        assert_eq!(f.status(), status, "{cone}");
        // Sparse no more: its files are not what the snapshot deleted.
        f.git("sparse-checkout disable");
        f.restore(&taken, WithIndex::No).unwrap();
        let is_there = f.path("other/e.txt").exists();
        assert!(is_there || cone.contains("sparse-index"), "{cone}");
    }
}

#[test]
fn differences_are_named_and_shown() {
    let f = Fixture::new();
    let taken = f.take();
    f.write("a.txt", "one\nTWO\n");
    std::fs::remove_file(f.path("b.txt")).unwrap();
    f.write("new.txt", "new\n");
    f.mode("run.sh", 0o700);
    f.write("dir/c.txt", [0, 1, 2]);
    let (then, now) = (f.contents(&taken), f.look());
    let changes = compare(&then.files(), &now.files());
    let named: Vec<_> = changes
        .iter()
        .map(|change| (String::from_utf8_lossy(&change.path).into_owned(), change.kind))
        .collect();
    assert_eq!(
        named,
        [
            ("a.txt", ChangeKind::Modified),
            ("b.txt", ChangeKind::Deleted),
            ("dir/c.txt", ChangeKind::Modified),
            ("new.txt", ChangeKind::Added),
            ("run.sh", ChangeKind::Mode)
        ]
        .map(|(path, kind)| (path.to_owned(), kind))
    );
    let (text, is_cut) = patch((&then, &now), &changes, PatchLimits::default()).unwrap();
    assert!(
        !is_cut && text.contains("-two\n+TWO\n") && text.contains("binary files differ"),
        "{text}"
    );
    assert!(text.contains("old mode 100755\nnew mode 100700"), "{text}");
    // A look leaves nothing behind.
    assert_eq!(f.take().objects, 8);
}

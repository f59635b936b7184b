//! What the owner's repository has lost: a snapshot gives back what was copied, and lists what was borrowed and is gone.

use perennial_engine::git::GitError;
use perennial_engine::git::snapshot::{WithIndex, restore_to};

use crate::fixture::{Fixture, stored};

/// A commit with more files, some of them changed since, staged or untracked.
fn dirty() -> Fixture {
    let f = Fixture::new();
    f.write("a.txt", "changed\n");
    f.write("dir/new.txt", "untracked\n");
    f.write("b.txt", "staged\n");
    f.git("add b.txt");
    f
}

#[test]
fn without_the_repository_what_was_copied_is_restored_and_the_rest_is_listed() {
    let f = dirty();
    let taken = f.take();
    std::fs::remove_dir_all(f.path(".git")).unwrap();
    let contents = f.contents(&taken);
    assert_eq!(contents.missing(), ["dir/c.txt", "dir/deep/", "run.sh"]);
    let files = stored(&contents);
    assert_eq!(files[&b"a.txt"[..]], b"changed\n");
    assert_eq!(files[&b"dir/new.txt"[..]], b"untracked\n");
    assert_eq!(files.len(), 3);
    let to = f.beside("elsewhere");
    let restored = restore_to(&to, &f.work, &contents).unwrap();
    assert_eq!((restored.written, restored.missing), (3, contents.missing()));
    assert_eq!(std::fs::read(to.join("b.txt")).unwrap(), b"staged\n");
}

/// A new repository in the same place: what the snapshot has lost is not touched, and nothing below it is removed.
#[test]
fn a_restore_leaves_what_the_snapshot_has_lost_as_it_is() {
    let f = dirty();
    let taken = f.take();
    std::fs::remove_dir_all(f.path(".git")).unwrap();
    f.git("init -q -b main .");
    f.git("add -A");
    f.git("write-tree");
    f.write("a.txt", "something else\n");
    f.write("dir/c.txt", "changed since\n");
    f.write("dir/deep/later.txt", "made since\n");
    f.write("extra.txt", "made since\n");
    f.git("rm -q --cached run.sh");
    let restored = f.restore(&taken, WithIndex::No).unwrap();
    // The new repository has some of the objects again: whatever is there is put back.
    let read = |name: &str| std::fs::read_to_string(f.path(name)).unwrap();
    assert_eq!(read("a.txt"), "changed\n");
    assert_eq!(read("dir/new.txt"), "untracked\n");
    assert_eq!(read("dir/c.txt"), "c\n");
    assert!(!f.path("extra.txt").exists());
    assert_eq!((restored.missing.len(), f.path("dir/deep/later.txt").exists()), (0, false));
    // And without them.
    std::fs::remove_dir_all(f.path(".git")).unwrap();
    std::fs::remove_dir_all(f.path("dir/deep")).unwrap();
    f.git("init -q -b main .");
    f.write("a.txt", "something else\n");
    f.write("dir/c.txt", "changed since\n");
    f.write("dir/deep/later.txt", "made since\n");
    f.write("extra.txt", "made since\n");
    let restored = f.restore(&taken, WithIndex::No).unwrap();
    // The snapshot of the present has `run.sh` and what was staged then, and so has the store.
    assert_eq!(restored.missing, ["dir/deep/"]);
    assert_eq!(read("a.txt"), "changed\n");
    assert_eq!(read("dir/c.txt"), "c\n");
    assert_eq!(read("dir/deep/later.txt"), "made since\n");
    assert!(f.path("run.sh").exists() && !f.path("extra.txt").exists());
}

/// Nothing had changed, so everything was borrowed: there is nothing to put back, and nothing is removed for that.
#[test]
fn a_snapshot_that_lost_everything_removes_nothing() {
    let f = Fixture::new();
    let taken = f.take();
    std::fs::remove_dir_all(f.path(".git")).unwrap();
    f.git("init -q -b main .");
    f.write("a.txt", "something else\n");
    let before = f.files();
    let restored = f.restore(&taken, WithIndex::Yes).unwrap();
    assert!(restored.missing.contains(&"/".to_owned()), "{restored:?}");
    assert_eq!((restored.written, restored.removed), (0, 0));
    crate::fixture::assert_same("the work tree", &before, &f.files());
}

/// Somebody has put another repository in the place of the one that the snapshot is of: its files are none of ours.
#[test]
fn another_repository_in_its_place_is_left_alone() {
    let f = dirty();
    let taken = f.take();
    std::fs::rename(f.path(".git"), f.beside("git")).unwrap();
    f.git("init -q -b main .");
    f.git("commit -q --allow-empty -m theirs");
    f.write("theirs.txt", "theirs\n");
    f.write("a.txt", "theirs\n");
    let before = f.files();
    for with_index in [WithIndex::No, WithIndex::Yes] {
        let stopped = f.restore(&taken, with_index).unwrap_err();
        assert!(!stopped.has_begun, "{stopped:?}");
        assert!(matches!(stopped.error, GitError::AnotherRepository(_)), "{stopped:?}");
    }
    crate::fixture::assert_same("the work tree", &before, &f.files());
    // The one that it is of, with other commits on top and without the old ones in its branch, is the same still.
    std::fs::remove_dir_all(f.path(".git")).unwrap();
    std::fs::rename(f.beside("git"), f.path(".git")).unwrap();
    f.git("checkout -q --orphan other");
    f.git("commit -qm other");
    f.git("branch -qD main");
    f.restore(&taken, WithIndex::No).unwrap();
    assert_eq!(std::fs::read_to_string(f.path("a.txt")).unwrap(), "changed\n");
    assert!(!f.path("theirs.txt").exists());
}

/// The same of a repository in the work tree.
#[test]
fn another_nested_repository_is_left_alone() {
    let f = Fixture::new();
    f.write("inner/x.txt", "x\n");
    f.git_in("inner", "init -q -b main .");
    f.git_in("inner", "add -A");
    f.git_in("inner", "commit -qm inner");
    let taken = f.take();
    std::fs::remove_dir_all(f.path("inner/.git")).unwrap();
    f.git_in("inner", "init -q -b main .");
    f.git_in("inner", "commit -q --allow-empty -m theirs");
    f.write("inner/theirs.txt", "theirs\n");
    let stopped = f.restore(&taken, WithIndex::No).unwrap_err();
    match stopped.error {
        GitError::AnotherRepository(path) => assert_eq!(path, f.path("inner")),
        other => panic!("{other:?}"),
    }
    assert!(f.path("inner/theirs.txt").exists());
}

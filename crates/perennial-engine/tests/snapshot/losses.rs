//! What the owner's repository has lost: a snapshot gives back what was copied, and lists what was borrowed and is gone.

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
    let restored = restore_to(&to, &contents).unwrap();
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
    f.git("commit -qm again");
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
    // The snapshot of the present has `run.sh`, and so has the store.
    assert_eq!(restored.missing, ["dir/c.txt", "dir/deep/"]);
    assert_eq!(read("a.txt"), "changed\n");
    assert_eq!(read("dir/c.txt"), "changed since\n");
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

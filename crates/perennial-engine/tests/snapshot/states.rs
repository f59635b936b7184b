//! Each state of a repository: a snapshot leaves no trace in it; after edits a restore brings back every byte, the
//! index, and what `git status` says.

use std::os::unix::fs::symlink;

use perennial_engine::git::snapshot::WithIndex;

use crate::fixture::{Fixture, assert_same, stored};

/// Dirt of every kind on top of `Fixture::new`.
fn dirty(f: &Fixture) {
    f.write("a.txt", "one\nTWO\n");
    f.write("staged.txt", "staged\n");
    f.git("add staged.txt");
    f.write("staged.txt", "staged and changed\n");
    f.write("gone.txt", "only in the index\n");
    f.git("add gone.txt");
    std::fs::remove_file(f.path("gone.txt")).unwrap();
    f.write("new/untracked.txt", "new\n");
    f.write("empty", "");
}

/// What an agent does between a snapshot and a restore.
fn edit(f: &Fixture) {
    for entry in std::fs::read_dir(&f.work).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() && entry.file_name() != ".git" {
            let _ = std::fs::write(entry.path(), "overwritten\n");
        }
    }
    let _ = std::fs::remove_dir_all(f.path("dir"));
    f.write("extra/deep/file.txt", "extra\n");
    let _ = std::fs::remove_file(f.path("a.txt"));
    std::fs::create_dir_all(f.path("a.txt")).unwrap();
    f.write("a.txt/inside", "a file became a directory\n");
    let _ = f.try_git(&f.work, "add extra");
}

fn check(f: &Fixture) {
    f.clear_canary();
    // Git first: `status` touches the shared part of a split index.
    let status = f.status();
    let (files, git_files) = (f.files(), f.git_files());
    f.clear_canary();
    let first = f.take();
    assert!(!f.is_canary_awake(), "something of the repository ran");
    assert_same("the work tree after a snapshot", &files, &f.files());
    assert_same("the git directory after a snapshot", &git_files, &f.git_files());
    assert_eq!(f.status(), status);
    f.clear_canary();

    // Nothing changed: nothing is written, and no second ref.
    let again = f.take();
    assert!(again.is_same && again.commit == first.commit, "{again:?}");
    let fsck = f.store_git(&first, "fsck --full --no-dangling");
    assert!(!fsck.contains("missing") && !fsck.contains("error"), "{fsck}");

    edit(f);
    f.clear_canary();
    let second = f.take();
    assert_ne!(second.commit, first.commit);
    f.restore(&first, WithIndex::Yes).unwrap();
    assert!(!f.is_canary_awake(), "something of the repository ran");
    assert_same("the work tree after a restore", &files, &f.files());
    let index = |evidence: &crate::fixture::Evidence| evidence.get(&b".git/index"[..]).cloned();
    assert_eq!(index(&f.git_files()), index(&git_files), "the index and its time");
    assert_eq!(f.status(), status);
    f.clear_canary();
    // The other direction: what was restored over is not lost.
    f.restore(&second, WithIndex::No).unwrap();
    let (now, then) = (stored(&f.look()), stored(&f.contents(&second)));
    assert_eq!(now.keys().collect::<Vec<_>>(), then.keys().collect::<Vec<_>>());
    assert!(now == then, "the second snapshot came back otherwise");
}

macro_rules! states {
    ($($name:ident => $make:expr;)*) => {
        $(#[test]
        fn $name() {
            let make: fn() -> Fixture = $make;
            check(&make());
        })*
    };
}

fn conflict(words: &str) -> Fixture {
    let f = Fixture::new();
    f.git("checkout -qb other");
    f.write("a.txt", "theirs\n");
    f.git("commit -qam theirs");
    f.git("checkout -q main");
    f.write("a.txt", "ours\n");
    f.git("commit -qam ours");
    let (is_ok, out) = f.try_git(&f.work, words);
    assert!(!is_ok, "{out}");
    f.write("new/untracked.txt", "new\n");
    f
}

fn with_config(key: &str, value: &str) -> Fixture {
    let f = Fixture::new();
    f.git(&format!("config {key} {value}"));
    f
}

states! {
    clean => Fixture::new;
    mixed_dirt => || { let f = Fixture::new(); dirty(&f); f };
    merge => || conflict("merge other");
    rebase => || conflict("rebase other");
    cherry_pick => || conflict("cherry-pick other");
    revert => || {
        let f = Fixture::new();
        f.write("a.txt", "second\n");
        f.git("commit -qam second");
        f.write("a.txt", "third\n");
        f.git("commit -qam third");
        assert!(!f.try_git(&f.work, "revert HEAD~1").0);
        f
    };
    bisect => || {
        let f = Fixture::new();
        for n in 0..4 {
            f.write("a.txt", format!("{n}\n"));
            f.git("commit -qam next");
        }
        f.git("bisect start HEAD HEAD~4");
        dirty(&f);
        f
    };
    detached => || { let f = Fixture::new(); f.git("checkout -q --detach"); dirty(&f); f };
    unborn => || {
        let f = Fixture::unborn();
        f.write("a.txt", "first\n");
        f.write("b.txt", "second\n");
        f.git("add a.txt");
        f
    };
    no_index => || { let f = Fixture::unborn(); f.write("x/y.txt", "y\n"); f.git("add -N x"); f };
    stash => || {
        let f = Fixture::new();
        f.write("a.txt", "stashed\n");
        f.git("stash");
        dirty(&f);
        f
    };
    packed => || {
        let f = Fixture::new();
        let mut text = String::new();
        for n in 0..40 {
            text.push_str(&format!("line {n} of a text that is long enough for a delta\n"));
            f.write("dir/c.txt", &text);
            f.write(&format!("many/{n}.txt"), &text);
            f.git("add -A");
            f.git("commit -qm more");
        }
        f.git("gc -q --aggressive --prune=now");
        f.git("pack-refs --all");
        dirty(&f);
        f
    };
    shallow => || {
        let f = Fixture::new();
        f.git("commit -q --allow-empty -m second");
        let from = f.beside("origin");
        std::fs::rename(&f.work, &from).unwrap();
        let above = f.work.parent().unwrap();
        assert!(f.try_git(above, &format!("clone -q --depth=1 file://{} work", from.display())).0);
        dirty(&f);
        f
    };
    alternates => || {
        let f = Fixture::new();
        let from = f.beside("origin");
        std::fs::rename(&f.work, &from).unwrap();
        assert!(f.try_git(f.work.parent().unwrap(), "clone -q --shared origin work").0);
        dirty(&f);
        f
    };
    partial => || {
        let f = Fixture::new();
        f.git("config uploadpack.allowFilter true");
        let from = f.beside("origin");
        std::fs::rename(&f.work, &from).unwrap();
        let words = format!("clone -q --filter=blob:none file://{} work", from.display());
        assert!(f.try_git(f.work.parent().unwrap(), &words).0);
        dirty(&f);
        f
    };
    split_index => || {
        let f = Fixture::new();
        f.git("update-index --split-index");
        f.write("b.txt", "changed and staged\n");
        f.git("add b.txt");
        f.git("rm -q --cached dir/c.txt");
        dirty(&f);
        f
    };
    index_version_4 => || {
        let f = with_config("index.version", "4");
        f.git("update-index --index-version 4");
        dirty(&f);
        f
    };
    skip_hash => || { let f = with_config("index.skipHash", "true"); dirty(&f); f };
    untracked_cache => || {
        let f = with_config("core.untrackedCache", "true");
        f.git("update-index --untracked-cache");
        dirty(&f);
        f
    };
    intent_to_add => || { let f = Fixture::new(); f.write("n.txt", "n\n"); f.git("add -N n.txt"); f };
    assume_unchanged => || {
        let f = Fixture::new();
        f.git("update-index --assume-unchanged b.txt");
        f.write("b.txt", "changed in secret\n");
        f
    };
    ignored_but_tracked => || {
        let f = Fixture::new();
        f.write(".gitignore", "*.log\nout/\n!keep.log\n");
        f.write("out/tracked.txt", "t\n");
        f.write("x.log", "x\n");
        f.git("add .gitignore");
        f.git("add -f out/tracked.txt x.log");
        f.git("commit -qm ignored");
        f.write("out/tracked.txt", "changed\n");
        f.write("keep.log", "kept\n");
        f.write("sub/.gitignore", "/only-here\n");
        f.write("sub/other", "taken\n");
        std::fs::write(f.path(".git/info/exclude"), "never.txt\n").unwrap();
        f
    };
    conversions => || {
        let f = with_config("core.autocrlf", "true");
        f.git("config core.safecrlf true");
        f.write(".gitattributes", "*.id ident\n*.u16 working-tree-encoding=UTF-16\n*.eol eol=crlf\n");
        f.write("x.id", "$Id$\r\n");
        f.write("x.eol", "one\ntwo\r\n");
        f.write("x.u16", [0xff, 0xfe, b'a', 0]);
        f.write("b.txt", "b\r\n");
        f
    };
    filters => || {
        let f = Fixture::new();
        let canary = f.canary();
        f.git(&format!("config filter.canary.clean {canary}"));
        f.git(&format!("config filter.canary.smudge {canary}"));
        f.git("config filter.canary.required true");
        f.write(".gitattributes", "*.txt filter=canary\n");
        dirty(&f);
        f
    };
    hooks_and_fsmonitor => || {
        let f = Fixture::new();
        let canary = f.canary();
        for hook in ["post-index-change", "reference-transaction", "pre-commit", "post-checkout"] {
            std::fs::create_dir_all(f.path(".git/hooks")).unwrap();
            symlink(&canary, f.path(".git/hooks").join(hook)).unwrap();
        }
        dirty(&f);
        f.git(&format!("config core.fsmonitor {canary}"));
        f
    };
    modes_and_links => || {
        let f = Fixture::new();
        f.mode("b.txt", 0o600);
        f.write("private/x", "x\n");
        f.mode("private/x", 0o440);
        f.mode("private", 0o700);
        symlink("a.txt", f.path("link")).unwrap();
        symlink("/etc/passwd", f.path("out")).unwrap();
        symlink("nowhere", f.path("dangling")).unwrap();
        symlink("dir", f.path("to-directory")).unwrap();
        std::fs::create_dir_all(f.path("empty-one/empty-two")).unwrap();
        f
    };
    file_and_directory_swapped => || {
        let f = Fixture::new();
        std::fs::remove_dir_all(f.path("dir")).unwrap();
        f.write("dir", "a directory became a file\n");
        std::fs::remove_file(f.path("b.txt")).unwrap();
        f.write("b.txt/x", "a file became a directory\n");
        f
    };
    left_locks => || {
        let f = Fixture::new();
        dirty(&f);
        std::fs::write(f.path(".git/HEAD.lock"), "").unwrap();
        std::fs::write(f.path(".git/packed-refs.lock"), "").unwrap();
        f
    };
    odd_settings => || {
        let f = with_config("core.fileMode", "false");
        for pair in ["core.symlinks false", "core.precomposeUnicode true", "core.logAllRefUpdates always",
            "commit.gpgSign true", "status.showUntrackedFiles no", "core.checkStat minimal"] {
            f.git(&format!("config {pair}"));
        }
        dirty(&f);
        f
    };
    mode_775 => || {
        let f = Fixture::new();
        for path in ["a.txt", "b.txt", "dir/c.txt"] {
            f.mode(path, 0o664);
        }
        f.mode("dir", 0o775);
        f
    };
}

//! Git files that somebody replaced or filled: nobody waits for a pipe, what can't be read is listed, and one repository's
//! damage is not another's.

use std::path::Path;

use perennial_engine::git::GitError;
use perennial_engine::git::object::ObjectId;
use perennial_engine::git::snapshot::{SnapshotStore, Taken, Why, WithIndex, drop_snapshots};

use crate::fixture::{Fixture, stored};

fn pipe(path: &Path) {
    let _ = std::fs::remove_file(path);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

fn unreadable(taken: &Taken) -> Vec<&str> {
    let left = taken.left_out.iter().filter(|left| left.why == Why::Unreadable);
    left.map(|left| &*left.path).collect()
}

/// A nested repository with one commit, one staged and one untracked file.
fn nested(f: &Fixture) {
    f.write("sub/tracked", "tracked\n");
    f.git_in("sub", "init -q");
    f.git_in("sub", "add -A");
    f.git_in("sub", "commit -qm nested");
    f.git_in("sub", "pack-refs --all");
    f.write("sub/untracked", "untracked\n");
}

#[test]
fn a_pipe_in_the_place_of_a_nested_git_file_is_listed_and_ends_nothing() {
    for file in ["packed-refs", "HEAD", "index", "config", "objects/info/alternates", "shallow"] {
        let f = Fixture::new();
        nested(&f);
        pipe(&f.path(&format!("sub/.git/{file}")));
        f.write("a.txt", "changed\n");
        let taken = f.try_take().unwrap_or_else(|error| panic!("{file}: {error:?}"));
        let files = stored(&f.contents(&taken));
        for (path, text) in
            [("a.txt", "changed\n"), ("sub/tracked", "tracked\n"), ("sub/untracked", "untracked\n")]
        {
            assert_eq!(files[path.as_bytes()], text.as_bytes(), "{file}: {path}");
        }
        let expected: &[&str] = match file {
            "packed-refs" | "HEAD" => &["sub/.git/HEAD"],
            "index" | "config" => &["sub/.git"],
            _ => &[],
        };
        assert_eq!(unreadable(&taken), expected, "{file}");
        // Nothing keeps a commit that nothing builds on.
        if file == "index" {
            assert!(!f.path("sub/.git/refs/perennial").exists());
        }
        f.write("a.txt", "changed again\n");
        f.write("sub/untracked", "changed\n");
        f.restore(&taken, WithIndex::No).unwrap();
        assert_eq!(std::fs::read(f.path("sub/untracked")).unwrap(), b"untracked\n", "{file}");
    }
}

#[test]
fn at_the_top_refs_that_cannot_be_read_are_listed_and_everything_is_copied() {
    let f = Fixture::new();
    f.git("pack-refs --all");
    pipe(&f.path(".git/packed-refs"));
    let taken = f.take();
    assert_eq!((taken.base, unreadable(&taken)), (None, vec![".git/HEAD"]));
    std::fs::remove_dir_all(f.path(".git/objects")).unwrap();
    assert_eq!(stored(&f.contents(&taken))[&b"dir/c.txt"[..]], b"c\n");
    // Without its index it is not known which ignored files are tracked.
    let f = Fixture::new();
    pipe(&f.path(".git/index"));
    let refused = f.try_take();
    assert!(matches!(refused, Err(GitError::Io { .. })), "{refused:?}");
}

/// The bound of 1 MiB that each of the store's lists has.
#[test]
fn lists_that_an_agent_fills_do_not_end_snapshots() {
    let f = Fixture::new();
    let line = |n: usize| format!("{n:040}\n");
    let most = (1 << 20) / 41;
    for round in 0..3 {
        let shallow: String = (round * most..(round + 1) * most).map(line).collect();
        f.write(".git/shallow", shallow);
        f.write("a.txt", format!("round {round}\n"));
        let taken = f.take();
        assert!(std::fs::metadata(taken.store.join("shallow")).unwrap().len() <= 1 << 20);
    }
    f.write(".git/shallow", "x".repeat(2 << 20));
    f.write("a.txt", "too long a list\n");
    let taken = f.take();
    assert!(taken.base.is_some());
    // What is in the store's own list already, from earlier times.
    let full: String =
        (0..20_000).map(|n| format!("/nowhere/at/all/number/{n:060}/objects\n")).collect();
    std::fs::write(taken.store.join("objects/info/alternates"), full).unwrap();
    f.write("a.txt", "a list that is too long\n");
    let taken = f.take();
    assert_eq!(stored(&f.contents(&taken))[&b"dir/c.txt"[..]], b"c\n");
}

#[test]
fn repositories_that_come_and_go_leave_room_in_the_list() {
    let f = Fixture::new();
    let mut all: Vec<ObjectId> = Vec::new();
    let listed = |taken: &Taken| {
        let text = std::fs::read_to_string(taken.store.join("objects/info/alternates")).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    for round in 0..3 {
        for n in 0..30 {
            let sub = format!("sub{round}-{n}");
            f.write(&format!("{sub}/file"), &sub);
            f.git_in(&sub, "init -q");
            f.git_in(&sub, "add -A");
            f.git_in(&sub, "commit -qm nested");
        }
        let taken = f.take();
        all.push(taken.commit);
        let top = f.path(".git/objects").display().to_string();
        assert!(listed(&taken).len() <= 61 && listed(&taken).contains(&top), "{round}");
        let files = stored(&f.contents(&taken));
        assert_eq!(
            files[format!("sub{round}-7/file").as_bytes()],
            format!("sub{round}-7").as_bytes()
        );
        for n in 0..30 {
            std::fs::remove_dir_all(f.path(&format!("sub{round}-{n}"))).unwrap();
        }
    }
    let last = f.take();
    let store = SnapshotStore::at(&last.store);
    drop_snapshots(&store, None, &all).unwrap();
    assert_eq!(listed(&last), [f.path(".git/objects").display().to_string()]);
    assert_eq!(stored(&f.contents(&last))[&b"dir/c.txt"[..]], b"c\n");
}

//! Work trees that somebody prepared: nothing of theirs runs, nothing outside is read or written, and what can't be
//! taken is refused or listed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use perennial_engine::git::snapshot::{Why, WithIndex, restore};
use perennial_engine::git::{GitError, Unsupported};

use crate::fixture::{Fixture, stored};

fn refusal(f: &Fixture) -> Unsupported {
    match f.try_take() {
        Err(GitError::Unsupported(what)) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_of_any_bytes_come_back() {
    let f = Fixture::new();
    for name in [
        &b"\xff\xfe"[..],
        b"new\nline",
        b"tab\t",
        b" space ",
        b"-flag",
        b"quote\"'",
        b"back\\slash",
        b".GIT",
    ] {
        std::fs::write(f.work.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let before = f.files();
    let taken = f.take();
    for name in [&b"\xff\xfe"[..], b".GIT", b"new\nline"] {
        assert_eq!(stored(&f.contents(&taken))[name], name);
        std::fs::remove_file(f.work.join(OsStr::from_bytes(name))).unwrap();
    }
    f.restore(&taken, WithIndex::No).unwrap();
    crate::fixture::assert_same("names", &before, &f.files());
}

#[test]
fn links_out_of_the_tree_are_links_and_nothing_behind_them_is_read() {
    let f = Fixture::new();
    std::fs::create_dir(f.beside("outside")).unwrap();
    std::fs::write(f.beside("outside/secret"), "secret").unwrap();
    symlink(f.beside("outside"), f.path("out")).unwrap();
    // A tracked directory that became a link: git has `dir/c.txt` in its index.
    std::fs::remove_dir_all(f.path("dir")).unwrap();
    symlink(f.beside("outside"), f.path("dir")).unwrap();
    std::fs::write(f.beside("outside/c.txt"), "not ours").unwrap();
    let taken = f.take();
    let files = stored(&f.contents(&taken));
    assert!(files.keys().all(|path| !path.starts_with(b"out/") && !path.starts_with(b"dir/")));
    assert_eq!(files[&b"out"[..]], f.beside("outside").as_os_str().as_bytes());
    // And the other way round: a restore does not write through the link.
    std::fs::remove_file(f.path("dir")).unwrap();
    f.write("dir/c.txt", "ours");
    let with_directory = f.take();
    std::fs::remove_dir_all(f.path("dir")).unwrap();
    symlink(f.beside("outside"), f.path("dir")).unwrap();
    f.restore(&with_directory, WithIndex::No).unwrap();
    assert_eq!(std::fs::read_to_string(f.path("dir/c.txt")).unwrap(), "ours");
    assert_eq!(std::fs::read_to_string(f.beside("outside/c.txt")).unwrap(), "not ours");
}

#[test]
fn special_large_and_secret_files_are_listed_as_left_out() {
    let f = Fixture::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, f.path("pipe"), rustix::fs::FileType::Fifo, mode, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(f.path("socket")).unwrap();
    std::fs::File::create(f.path("huge")).unwrap().set_len((64 << 20) + 1).unwrap();
    f.write(".env", "TOKEN=1");
    f.write("keys/server.pem", "key");
    f.write("tracked.env", "committed on purpose");
    f.git("add -f tracked.env");
    let before = f.files();
    let taken = f.take();
    let listed: Vec<_> = taken.left_out.iter().map(|left| (&*left.path, left.why)).collect();
    assert_eq!(
        listed,
        [
            (".env", Why::Secret),
            ("huge", Why::TooLarge),
            ("keys/server.pem", Why::Secret),
            ("pipe", Why::Special),
            ("socket", Why::Special)
        ]
    );
    let files = stored(&f.contents(&taken));
    assert_eq!(files[&b"tracked.env"[..]], b"committed on purpose");
    assert!(!files.contains_key(&b".env"[..]));
    // They survive a restore.
    f.write("a.txt", "changed");
    f.write("extra", "extra");
    f.restore(&taken, WithIndex::No).unwrap();
    assert_eq!(before.len(), f.files().len());
    assert_eq!(std::fs::read_to_string(f.path(".env")).unwrap(), "TOKEN=1");
}

#[test]
fn a_git_file_that_names_a_foreign_repository_is_refused_at_the_top_and_plain_files_below() {
    let foreign = Fixture::new();
    let before = foreign.git_files();
    let f = Fixture::new();
    let names_foreign = format!("gitdir: {}\n", foreign.path(".git").display());
    f.write("nested/.git", &names_foreign);
    f.write("nested/work.txt", "work\n");
    let taken = f.take();
    assert_eq!(stored(&f.contents(&taken))[&b"nested/work.txt"[..]], b"work\n");
    std::fs::remove_dir_all(f.path(".git")).unwrap();
    std::fs::write(f.path(".git"), names_foreign).unwrap();
    assert_eq!(refusal(&f), Unsupported::NoBackLink);
    crate::fixture::assert_same("the foreign repository", &before, &foreign.git_files());
    assert_eq!(foreign.base_refs(), [""; 0]);
}

#[test]
fn refs_are_not_written_through_links() {
    let f = Fixture::new();
    std::fs::create_dir(f.beside("outside")).unwrap();
    symlink(f.beside("outside"), f.path(".git/refs/perennial")).unwrap();
    let taken = f.take();
    assert_eq!(std::fs::read_dir(f.beside("outside")).unwrap().count(), 0);
    // Nothing relies on the commit then: everything was copied.
    assert_eq!(taken.base, None);
    std::fs::remove_dir_all(f.path(".git/objects")).unwrap();
    assert_eq!(stored(&f.contents(&taken))[&b"dir/c.txt"[..]], b"c\n");
}

#[test]
fn repositories_that_need_another_reader_are_refused_by_name() {
    let f = Fixture::new();
    f.git("config core.repositoryformatversion 1");
    f.git("config extensions.refstorage reftable");
    assert_eq!(refusal(&f), Unsupported::Reftable);
    std::fs::write(
        f.path(".git/config"),
        "[core]\nrepositoryformatversion=1\n[extensions]\nobjectformat=sha256\n",
    )
    .unwrap();
    assert_eq!(refusal(&f), Unsupported::Sha256);
    std::fs::write(
        f.path(".git/config"),
        "[core]\nrepositoryformatversion=1\n[extensions]\nnewthing=1\n",
    )
    .unwrap();
    assert_eq!(refusal(&f), Unsupported::Format);
    std::fs::write(f.path(".git/config"), "[core]\nworktree=/\n").unwrap();
    assert_eq!(refusal(&f), Unsupported::WorktreeElsewhere);
    std::fs::write(f.path(".git/config"), "").unwrap();
    std::fs::write(f.path(".git/index"), "DIRC garbage that is no index at all").unwrap();
    assert!(matches!(f.try_take(), Err(GitError::Damaged { .. })));
    std::fs::remove_dir_all(f.path(".git")).unwrap();
    assert!(matches!(f.try_take(), Err(GitError::NotARepository(_))));
}

/// Bytes of an index and of a pack, each cut and flipped: an error or an answer, never a panic.
#[test]
fn damaged_files_are_errors() {
    let f = Fixture::new();
    for n in 0..5 {
        f.write("a.txt", "line\n".repeat(100 + n));
        f.git("commit -qam more");
    }
    f.git("update-index --index-version 4 --split-index");
    f.write("b.txt", "staged");
    f.git("add b.txt");
    f.git("gc -q");
    let packs =
        std::fs::read_dir(f.path(".git/objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let shared = std::fs::read_dir(f.path(".git")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = packs
        .chain(shared.filter(|path| path.to_string_lossy().contains("index")))
        .chain([f.path(".git/index"), f.path(".git/HEAD"), f.path(".git/packed-refs")])
        .collect();
    let mut tried = 0;
    for path in files.iter().filter(|path| path.is_file()) {
        let good = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        for n in 0..12 {
            let mut bad = good.clone();
            let at = good.len() * n / 12;
            match n % 2 {
                0 => bad.truncate(at),
                _ => bad[at] ^= 0x41,
            }
            std::fs::write(path, bad).unwrap();
            let _ = std::fs::remove_dir_all(f.snapshots());
            let _ = f.try_take();
            tried += 1;
        }
        std::fs::write(path, good).unwrap();
    }
    assert!(tried >= 60, "{tried}");
    f.take();
}

#[test]
fn a_lock_that_was_left_stops_the_restore_of_an_index_and_nothing_else() {
    let f = Fixture::new();
    let taken = f.take();
    f.write("a.txt", "changed");
    std::fs::write(f.path(".git/index.lock"), "").unwrap();
    let refused = f.restore(&taken, WithIndex::Yes);
    let refused = refused.unwrap_err();
    assert!(matches!(refused.error, GitError::Locked(_)), "{refused:?}");
    assert_eq!(std::fs::read_to_string(f.path("a.txt")).unwrap(), "changed");
    assert!(f.path(".git/index.lock").exists());
    f.restore(&taken, WithIndex::No).unwrap();
    assert_eq!(std::fs::read_to_string(f.path("a.txt")).unwrap(), "one\ntwo\n");
    // One of ours, left by a daemon that was killed, is taken over.
    std::fs::rename(f.path(".git/index.lock"), f.path(".git/perennial-index.lock")).unwrap();
    std::fs::hard_link(f.path(".git/perennial-index.lock"), f.path(".git/index.lock")).unwrap();
    f.restore(&taken, WithIndex::Yes).unwrap();
    assert!(!f.path(".git/index.lock").exists() && !f.path(".git/perennial-index.lock").exists());
}

#[test]
fn deep_directories_and_odd_submodules_do_not_stop_a_snapshot() {
    let f = Fixture::new();
    let deep = "d/".repeat(230);
    f.write(&format!("{deep}file"), "deep");
    f.write("broken/.git", "gitdir: /nowhere/at/all\n");
    f.write("broken/x", "x");
    f.write("garbage/.git", "no git file");
    f.write("garbage/y", "y");
    std::fs::create_dir_all(f.path("half/.git/objects")).unwrap();
    f.write("half/z", "z");
    symlink(f.path(".git"), f.path("dir/.git")).unwrap();
    let taken = f.take();
    assert!(taken.left_out.iter().any(|left| left.why == Why::TooDeep), "{:?}", taken.left_out);
    let files = stored(&f.contents(&taken));
    for (path, text) in
        [("broken/x", "x"), ("garbage/y", "y"), ("half/z", "z"), ("dir/c.txt", "c\n")]
    {
        assert_eq!(files[path.as_bytes()], text.as_bytes(), "{path}");
    }
}

/// What an agent puts in the place of a nested repository, or of the work tree itself, leads a restore nowhere else.
#[test]
fn a_restore_follows_no_link_to_a_foreign_repository() {
    let f = Fixture::new();
    let foreign = Fixture::new();
    std::fs::create_dir(f.path("sub")).unwrap();
    f.git_in("sub", "init -q");
    std::fs::write(f.path("sub/evil"), "evil").unwrap();
    f.git_in("sub", "add evil");
    std::fs::remove_file(f.path("sub/evil")).unwrap();
    let taken = f.take();
    std::fs::remove_dir_all(f.path("sub")).unwrap();
    symlink(&foreign.work, f.path("sub")).unwrap();
    let index = std::fs::read(foreign.path(".git/index")).unwrap();
    let before = foreign.files();
    f.restore(&taken, WithIndex::Yes).unwrap();
    assert_eq!(std::fs::read(foreign.path(".git/index")).unwrap(), index);
    crate::fixture::assert_same("a nested one", &before, &foreign.files());
    // The work tree itself, after the snapshot of the present was taken.
    let (present, aside) = (f.take(), f.beside("aside"));
    std::fs::rename(&f.work, &aside).unwrap();
    symlink(&foreign.work, &f.work).unwrap();
    let snapshots = f.snapshots();
    let order = f.order(&f.work, &snapshots);
    let refused =
        restore(&order, &f.contents(&taken), &f.contents(&present), WithIndex::Yes).unwrap_err();
    assert!(matches!(refused.error, GitError::Replaced(_)), "{refused:?}");
    crate::fixture::assert_same("the tree", &before, &foreign.files());
}

/// A directory of git's own that says of itself whose it is.
#[test]
fn a_git_directory_that_names_a_foreign_one_for_its_objects_is_refused() {
    let f = Fixture::new();
    let foreign = Fixture::new();
    let head = foreign.git_in(".", "rev-parse HEAD");
    std::fs::write(f.path(".git/HEAD"), head.trim()).unwrap();
    let common = foreign.path(".git");
    std::fs::write(f.path(".git/commondir"), common.as_os_str().as_bytes()).unwrap();
    let own = f.path(".git");
    std::fs::write(f.path(".git/gitdir"), own.as_os_str().as_bytes()).unwrap();
    assert_eq!(refusal(&f), Unsupported::NoBackLink);
    assert!(!foreign.path(".git/refs/perennial").exists());
}

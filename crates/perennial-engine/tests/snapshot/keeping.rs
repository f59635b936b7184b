//! What keeps a snapshot: refs on base commits, copies of everything else, and nothing of it in the owner's way.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::time::{SystemTime, UNIX_EPOCH};

use perennial_engine::git::GitError;
use perennial_engine::git::snapshot::{
    Contents, SnapshotStore, TakeOrder, Taken, WithIndex, drop_snapshots, drop_unrecorded,
    fill_cache, take,
};

use crate::fixture::{Fixture, id, stored};

#[test]
fn only_a_ref_on_the_base_is_in_the_repository_and_it_goes_with_the_last_snapshot() {
    let f = Fixture::new();
    let head = id(&f.git("rev-parse HEAD"));
    f.write("a.txt", "changed once");
    let first = f.take();
    let refs = f.base_refs();
    assert_eq!((first.base, refs.len()), (Some(head), 1));
    assert!(refs[0].ends_with(&format!("/{head}")), "{refs:?}");
    f.write("a.txt", "changed twice");
    let second = f.take();
    f.git("pack-refs --all");
    let store = SnapshotStore::at(&first.store);
    drop_snapshots(&store, None, &[first.commit]).unwrap();
    assert_eq!(f.base_refs().len(), 1);
    assert_eq!(stored(&f.contents(&second))[&b"a.txt"[..]], b"changed twice");
    drop_snapshots(&store, None, &[second.commit]).unwrap();
    assert_eq!(f.base_refs(), [""; 0]);
    assert!(!f.path(".git/refs/perennial").exists());
    assert_eq!(std::fs::read_dir(store.packs()).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(store.path().join("stat-cache")).unwrap().count(), 0);
    f.git("fsck --full");
}

fn packs(taken: &Taken) -> usize {
    let all = std::fs::read_dir(SnapshotStore::at(&taken.store).packs()).unwrap().flatten();
    all.filter(|entry| entry.path().extension().is_some_and(|it| it == "pack")).count()
}

/// DR2: two agents in one work tree have the same snapshot.
#[test]
fn a_snapshot_that_two_hold_goes_with_the_second() {
    let f = Fixture::new();
    f.write("a.txt", "changed");
    let (work, snapshots) = (f.work.clone(), f.snapshots());
    let held = |holder| take(&TakeOrder { holder: Some(holder), ..f.order(&work, &snapshots) });
    let (bob, eve) = (held("bob").unwrap(), held("eve").unwrap());
    assert!(eve.is_same && eve.commit == bob.commit);
    let store = SnapshotStore::at(&bob.store);
    drop_snapshots(&store, Some("bob"), &[bob.commit]).unwrap();
    assert_eq!(stored(&f.contents(&eve))[&b"a.txt"[..]], b"changed");
    assert_eq!(f.base_refs().len(), 1);
    drop_snapshots(&store, Some("eve"), &[eve.commit]).unwrap();
    assert_eq!((packs(&bob), f.base_refs()), (0, Vec::new()));
}

/// DR3: hundreds of snapshots do not leave hundreds of packs, and what is kept is whole.
#[test]
fn packs_are_folded_and_do_not_grow_without_bound() {
    let f = Fixture::new();
    let mut all = Vec::new();
    for n in 0..70 {
        // One file stays from then on, so that no pack is without need; the other is replaced each time.
        f.write(&format!("stays/{n}"), format!("{n}"));
        f.write("changes", format!("{n}").repeat(5000));
        all.push(f.take());
    }
    assert_eq!(packs(&all[0]), 70);
    let gone: Vec<_> = all.iter().take(60).map(|taken| taken.commit).collect();
    let store = SnapshotStore::at(&all[0].store);
    assert!(drop_snapshots(&store, None, &gone).unwrap() > 0);
    assert!(packs(&all[0]) <= 2, "{} packs", packs(&all[0]));
    for (n, taken) in all.iter().enumerate().skip(60) {
        let files = stored(&f.contents(taken));
        assert_eq!(files[&b"stays/0"[..]], b"0");
        assert_eq!(files[&b"changes"[..]], format!("{n}").repeat(5000).into_bytes());
    }
    f.store_git(&all[69], "fsck --full");
    // The owner's repository is gone, and the snapshots can still be dropped.
    std::fs::remove_dir_all(f.path(".git")).unwrap();
    let rest: Vec<_> = all.iter().skip(60).map(|taken| taken.commit).collect();
    drop_snapshots(&store, None, &rest).unwrap();
    assert_eq!(packs(&all[0]), 0);
}

/// At the start of a session the tree is read, and its first snapshot need not read it.
#[test]
fn a_cache_that_was_filled_ahead_serves_the_first_snapshot() {
    let f = Fixture::new();
    for n in 0..600 {
        f.write(&format!("many/{n}"), format!("{n}"));
    }
    f.git("add -A");
    f.git("commit -qm many");
    // Files of the present tick are never trusted.
    let later = std::time::Duration::from_millis(40);
    let now = std::time::Instant::now();
    while now.elapsed() < later {
        std::thread::yield_now();
    }
    let (git_files, snapshots) = (f.git_files(), f.snapshots());
    let order = f.order(&f.work, &snapshots);
    let ended =
        fill_cache(&TakeOrder { go_on: &|files| files < 300, ..f.order(&f.work, &snapshots) });
    assert!(matches!(ended, Err(GitError::Interrupted)), "{ended:?}");
    fill_cache(&order).unwrap();
    crate::fixture::assert_same("the git directory", &git_files, &f.git_files());
    assert_eq!(f.base_refs(), [""; 0], "no ref is left where no snapshot needs one");
    let taken = f.take();
    assert_eq!((taken.files, taken.read, taken.is_same), (605, 0, false));
}

/// The history is rewritten and pruned, and staged blobs are lost: the snapshot still has everything.
#[test]
fn a_snapshot_survives_rewritten_history_and_gc() {
    let f = Fixture::new();
    f.git("commit -q --allow-empty -m second");
    f.write("staged.txt", "only staged");
    f.git("add staged.txt");
    f.write("staged.txt", "then changed");
    // In the object store already, but reachable from nothing: it has to be copied.
    f.write("loose.txt", "written by hash-object");
    f.git("hash-object -w loose.txt");
    let taken = f.take();
    let before = f.files();
    f.git("checkout -q --orphan fresh");
    f.git("rm -rfq --cached .");
    f.git("commit -q --allow-empty -m fresh");
    f.git("branch -D main");
    f.git("reflog expire --expire=now --all");
    f.git("gc -q --prune=now");
    let contents = f.contents(&taken);
    assert_eq!(stored(&contents)[&b"dir/c.txt"[..]], b"c\n");
    assert_eq!(stored(&contents)[&b"loose.txt"[..]], b"written by hash-object");
    for path in ["a.txt", "loose.txt", "dir/c.txt"] {
        std::fs::remove_file(f.path(path)).unwrap();
    }
    f.restore(&taken, WithIndex::Yes).unwrap();
    crate::fixture::assert_same("after gc", &before, &f.files());
    assert_eq!(f.git("show :staged.txt"), "only staged");
}

#[test]
fn nothing_of_a_snapshot_is_pushed_or_shown() {
    let f = Fixture::new();
    f.write("private.txt", "not to be pushed");
    let blob = f.git("hash-object private.txt");
    let objects = f.git("count-objects");
    f.take();
    assert_eq!(f.git("count-objects"), objects);
    assert!(f.try_git(f.work.parent().unwrap(), "init -q --bare other.git").0);
    f.git(&format!("push -q --mirror {}", f.beside("other.git").display()));
    assert!(!f.try_git(&f.beside("other.git"), &format!("cat-file -e {}", blob.trim())).0);
    assert!(!f.git("log --all --oneline").contains("snapshot"));
}

/// A change that keeps size and time has another ctime; one in the same tick as the snapshot is read again.
#[test]
fn the_cache_is_not_fooled() {
    let f = Fixture::new();
    for n in 0..20 {
        let text = format!("{n:04}");
        f.write("same-size", &text);
        let file = std::fs::File::options().write(true).open(f.path("same-size")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
        let taken = f.take();
        assert_eq!(stored(&f.contents(&taken))[&b"same-size"[..]], text.as_bytes());
    }
}

/// A child that takes snapshots without end is killed at six moments. What is listed is whole.
#[test]
fn a_kill_in_the_middle_leaves_no_half_snapshot() {
    if std::env::var_os("SNAPSHOT_VICTIM").is_some() {
        return victim();
    }
    let f = Fixture::new();
    for n in 0..60 {
        f.write(&format!("many/{n}"), format!("{n}").repeat(2000));
    }
    for round in 0..6 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "keeping::a_kill_in_the_middle_leaves_no_half_snapshot",
                "--nocapture",
            ])
            .env("SNAPSHOT_VICTIM", &f.work)
            .stdout(std::process::Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        // It says when it begins; how far it gets is left to chance, a little more each round.
        let mut seen = vec![0; 400 + round * 150];
        let _ = child.stdout.as_mut().unwrap().read_exact(&mut seen);
        child.kill().unwrap();
        child.wait().unwrap();
        let store = std::fs::read_dir(f.snapshots()).into_iter().flatten().flatten().next();
        let Some(store) = store else { continue };
        let store = SnapshotStore::at(store.path());
        for commit in store.commits().unwrap() {
            let contents = Contents::open(&store, commit).unwrap();
            let files = contents.files();
            assert_eq!(files.len(), 65);
            assert!(files.values().all(|file| contents.read(file.id).is_ok()));
        }
    }
    let taken = f.take();
    let leftovers =
        std::fs::read_dir(taken.store.join("objects/pack")).unwrap().map(Result::unwrap);
    assert!(
        leftovers
            .map(|entry| entry.file_name())
            .all(|name| !name.to_string_lossy().starts_with("tmp"))
    );
    f.store_git(&taken, "fsck --full");
}

fn victim() {
    let work = std::path::PathBuf::from(std::env::var_os("SNAPSHOT_VICTIM").unwrap());
    let snapshots = work.parent().unwrap().join("state/snapshots");
    for n in 0..1000_i64 {
        println!("round {n} begins, and this line is long enough to be waited for");
        std::fs::write(work.join(format!("many/{}", n % 60)), format!("changed {n}").repeat(3000))
            .unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let now = i64::try_from(now.as_nanos()).unwrap();
        let order = TakeOrder::new(&work, &snapshots, now);
        take(&order).unwrap();
    }
}

#[test]
fn ten_thousand_files() {
    let f = Fixture::new();
    for n in 0..10_000 {
        let path = f.path(&format!("m{}/f{n}", n % 100));
        if n < 100 {
            std::fs::create_dir(path.parent().unwrap()).unwrap();
        }
        std::fs::write(path, format!("file {n}\n")).unwrap();
    }
    f.git("add -A");
    f.git("commit -qm many");
    let first = f.take();
    assert_eq!((first.files, first.read), (10_005, 10_005));
    f.write("m1/f1", "changed\n");
    let second = f.take();
    // Those that were written in the tick of the first snapshot are read again.
    assert!(second.files == 10_005 && second.objects < 10, "{second:?}");
    f.write("m1/f1", "changed again\n");
    let third = f.take();
    assert!(third.read < 100, "{third:?}");
    // A caller who has no time left ends it, and nothing is listed.
    let snapshots = f.snapshots();
    let order = f.order(&f.work, &snapshots);
    let ended = take(&TakeOrder { go_on: &|files| files < 1000, ..order });
    assert!(matches!(ended, Err(GitError::Interrupted)), "{ended:?}");
    assert_eq!(SnapshotStore::at(&third.store).commits().unwrap().len(), 3);
    // TK2: also on a commit that no snapshot was built on yet, and before the first file is read.
    f.git("commit -qam another");
    let refs = f.git("for-each-ref refs/perennial");
    let ended = take(&TakeOrder { go_on: &|_| false, ..f.order(&f.work, &snapshots) });
    assert!(matches!(ended, Err(GitError::Interrupted)), "{ended:?}");
    assert_eq!(f.git("for-each-ref refs/perennial"), refs);
}

/// What a daemon took and could not record any more goes, and nothing that somebody may be about to record.
#[test]
fn what_nobody_recorded_goes_once_it_is_old_enough() {
    let f = Fixture::new();
    let snapshots = f.snapshots();
    let take_it = |text: &str| {
        f.write("a.txt", text);
        take(&TakeOrder { holder: Some("ada"), ..f.order(&f.work, &snapshots) }).unwrap()
    };
    let (recorded, unrecorded) = (take_it("recorded\n"), take_it("unrecorded\n"));
    let store = SnapshotStore::at(&recorded.store);
    let known = std::collections::HashSet::from([recorded.commit]);
    let moment = |seconds: i64| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        i64::try_from(now.as_nanos()).unwrap() + seconds * 1_000_000_000
    };
    assert_eq!(drop_unrecorded(&store, Some("ada"), &known, (0, moment(-60))).unwrap(), 0);
    assert_eq!(drop_unrecorded(&store, Some("bob"), &known, (0, moment(60))).unwrap(), 0);
    // It is the present again: whoever had that found out is about to record it.
    let path = recorded.store.join(format!("refs/snapshots/ada/{}", unrecorded.commit));
    let old = SystemTime::now() - std::time::Duration::from_secs(3600);
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
    assert!(take_it("unrecorded\n").is_same);
    assert_eq!(drop_unrecorded(&store, Some("ada"), &known, (0, moment(-60))).unwrap(), 0);
    // Nor what is older: it may be what records that were lost told of.
    let later = (moment(60), moment(120));
    assert_eq!(drop_unrecorded(&store, Some("ada"), &known, later).unwrap(), 0);
    assert_eq!(drop_unrecorded(&store, Some("ada"), &known, (0, moment(60))).unwrap(), 1);
    assert!(store.has(recorded.commit) && !store.has(unrecorded.commit));
    assert_eq!(stored(&f.contents(&recorded))[&b"a.txt"[..]], b"recorded\n");
}

/// Two homes on one machine have snapshots of one repository.
#[test]
fn what_one_home_drops_the_other_keeps() {
    let f = Fixture::new();
    f.write("b.txt", "changed");
    let (ours, other) = (f.take(), f.beside("other/snapshots"));
    let theirs = take(&f.order(&f.work, &other)).unwrap();
    drop_snapshots(&SnapshotStore::at(&ours.store), None, &[ours.commit]).unwrap();
    assert_eq!(f.base_refs().len(), 1);
    f.git("commit -q --amend -m another -a");
    f.git("reflog expire --expire=all --all");
    f.git("gc -q --prune=now");
    assert_eq!(stored(&f.contents(&theirs))[&b"a.txt"[..]], b"one\ntwo\n");
    drop_snapshots(&SnapshotStore::at(&theirs.store), None, &[theirs.commit]).unwrap();
    assert_eq!(f.base_refs(), [""; 0]);
}

/// A home was copied with its snapshots; and before that it was opened by a version whose refs named no home.
#[test]
fn a_copied_home_and_one_of_an_earlier_version_have_refs_of_their_own() {
    let f = Fixture::new();
    f.write("b.txt", "changed");
    let taken = f.take();
    let head = taken.base.unwrap();
    let store = SnapshotStore::at(&taken.store);
    f.git(&format!("update-ref -d {}", f.base_refs()[0]));
    f.git(&format!("update-ref refs/perennial/base/{head} {head}"));
    std::fs::remove_file(store.path().join("base-owner")).unwrap();
    drop(store.lock(&|| true).unwrap());
    assert_eq!(f.base_refs().len(), 2, "its own, and the earlier one until nothing needs it");
    let copy = f.beside("copy");
    let mut copied = std::process::Command::new("cp");
    copied.arg("-r").arg(f.beside("state")).arg(&copy);
    assert!(copied.status().unwrap().success());
    let name = taken.store.file_name().unwrap();
    let copy = SnapshotStore::at(copy.join("snapshots").join(name));
    drop(copy.lock(&|| true).unwrap());
    assert_eq!(f.base_refs().len(), 3);
    drop(copy.lock(&|| true).unwrap());
    assert_eq!(f.base_refs().len(), 3, "it knows its own");
    f.git("pack-refs --all");
    drop_snapshots(&store, None, &[taken.commit]).unwrap();
    let left = f.base_refs();
    assert!(left.len() == 1 && left[0] != format!("refs/perennial/base/{head}"), "{left:?}");
    f.git("commit -q --amend -m another -a");
    f.git("reflog expire --expire=all --all");
    f.git("gc -q --prune=now");
    let contents = Contents::open(&copy, taken.commit).unwrap();
    assert_eq!(stored(&contents)[&b"a.txt"[..]], b"one\ntwo\n");
    drop_snapshots(&copy, None, &[taken.commit]).unwrap();
    assert_eq!(f.base_refs(), [""; 0]);
}

/// TK2: also when the tree was read, and what came of it can't be written.
#[test]
fn a_snapshot_that_can_not_be_written_leaves_no_ref_behind() {
    let f = Fixture::new();
    let snapshots = f.snapshots();
    let repository = perennial_engine::git::repository::find(&f.work).unwrap();
    let store = SnapshotStore::of(&snapshots, &repository);
    std::fs::create_dir_all(store.path().join("refs/snapshots")).unwrap();
    std::fs::write(store.path().join("refs/snapshots/ada"), "in the way").unwrap();
    let taken = take(&TakeOrder { holder: Some("ada"), ..f.order(&f.work, &snapshots) });
    assert!(matches!(taken, Err(GitError::Io { .. })), "{taken:?}");
    assert_eq!(f.base_refs(), [""; 0]);
}

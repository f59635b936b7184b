//! No verb of ours loses uncommitted work: whatever ends or begins a session, or the daemon itself, the work tree, the
//! index, HEAD, branches and stashes are what they were.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use perennial_api::snapshot::Snapshot;

use crate::own_harness::{heard, own_harness};
use crate::sealed::{Sealed, finish, pid};
use crate::snapshot::{Project, git};
use crate::up::another_build;
use crate::watch::Watch;

/// Every file of the work tree by content and mode, the index, and what git says.
type Work = (BTreeMap<PathBuf, (u32, Vec<u8>)>, Vec<u8>, String);

fn work(project: &Project) -> Work {
    let (mut files, mut open) = (BTreeMap::new(), vec![project.dir.clone()]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).expect("listed").flatten() {
            let (path, metadata) = (entry.path(), entry.metadata().expect("there"));
            if entry.file_name() == ".git" {
                continue;
            }
            match metadata.is_dir() {
                true => open.push(path),
                false => {
                    let bytes = std::fs::read(&path).expect("read");
                    files.insert(path, (metadata.mode(), bytes));
                }
            }
        }
    }
    let words = ["status --porcelain=v2 --branch", "stash list", "branch -v", "rev-parse HEAD"];
    let told = words.map(|words| git(&project.dir, words)).join("\n");
    (files, std::fs::read(project.dir.join(".git/index")).expect("an index"), told)
}

/// Point 10 of continuity.
// covers: S-06
#[test]
fn no_verb_changes_or_loses_what_is_not_committed() {
    let project = Project::new();
    let sealed = &project.sealed;
    project.write("b.txt", "stashed\n");
    git(&project.dir, "stash -q");
    project.write("src/a.txt", "uncommitted\n");
    project.write("untracked.txt", "untracked\n");
    project.write("staged.txt", "staged\n");
    git(&project.dir, "add staged.txt");
    project.write("staged.txt", "staged, then changed\n");
    own_harness(sealed, "exec sleep 600", str::to_owned);
    let before = work(&project);
    let mut watch = sealed.watch();
    let dir = project.dir.to_str().expect("text");
    sealed.ok(["spawn", "bob", "--harness", "claude", "--dir", dir]);
    heard(&mut watch, "bob");
    let unharmed = |what: &str| assert!(work(&project) == before, "{what} changed the work tree");
    unharmed("spawn");
    for (verb, session) in [("restart", 2), ("stop", 2), ("wake", 3)] {
        sealed.ok([verb, "bob"]);
        watch.running("bob", session);
        unharmed(verb);
    }
    // The daemon is another build's, and is really exchanged under the session.
    sealed.ok(["down"]);
    unharmed("down");
    let mut up = Command::new(another_build(sealed));
    up.arg("up").env_clear().env("PERENNIAL_HOME", &sealed.root).env("HOME", &sealed.dir);
    assert_eq!(finish(up).code, 0);
    let (pid_before, build) = (pid(&sealed.show("bob")), sealed.health().build);
    let upgraded = sealed.ok(["up", "--upgrade"]);
    assert!(upgraded.starts_with("the daemon was upgraded"), "{upgraded}");
    assert_ne!(sealed.health().build, build);
    assert_eq!(pid(&sealed.show("bob")), pid_before, "its session goes on");
    unharmed("up --upgrade");
    sealed.ok(["prune", "--older-than", "0d"]);
    unharmed("prune");
    sealed.ok(["down"]);
    sealed.start_daemon();
    unharmed("up");
    sealed.ok(["bury", "bob"]);
    unharmed("bury");
    // And it is in a snapshot, besides.
    let listed: Vec<Snapshot> = sealed.json(&["snapshot", "ls", "bob"]);
    assert!(!listed.is_empty());
    let to = sealed.dir.join("then");
    sealed.ok(["snapshot", "restore", "bob", "--to", to.to_str().expect("text")]);
    let restored = std::fs::read_to_string(to.join("staged.txt")).expect("restored");
    assert_eq!(restored, "staged, then changed\n");
}

fn keep(sealed: &Sealed, text: &str) {
    std::fs::create_dir_all(&sealed.home.config).expect("made");
    std::fs::write(sealed.home.config.join("config.toml"), text).expect("written");
    sealed.kill_daemon();
    sealed.start_daemon();
}

/// Dropped by policy, told, and gone from the disk; the ref on a base goes with the last snapshot that needs it.
#[test]
fn old_snapshots_are_dropped_and_the_list_says_so() {
    let project = Project::new();
    let sealed = &project.sealed;
    keep(sealed, "keep_asked_snapshots = 3\n");
    let dir = project.dir.to_str().expect("text");
    sealed.ok(["spawn", "bob", "--dir", dir, "--", "/bin/sh", "-c", "read x"]);
    let mut watch = sealed.watch();
    let take = |n: u32| {
        project.write("new.txt", &format!("{n}\n").repeat(2000));
        sealed.ok(["snapshot", "take", "bob"]);
    };
    (1..=2).for_each(take);
    let first_base = git(&project.dir, "rev-parse HEAD");
    git(&project.dir, "commit -qm second");
    (3..=5).for_each(take);
    let mut removed = 0;
    watch.wait("two are removed", |seen| {
        removed += u32::from(seen.event.kind == "snapshots-removed");
        (removed == 2).then_some(())
    });
    let listed: Vec<Snapshot> = sealed.json(&["snapshot", "ls", "bob"]);
    let told: Vec<(u32, Option<&str>)> =
        listed.iter().map(|one| (one.number, one.dropped.as_deref())).collect();
    assert_eq!(told, [(5, None), (4, None), (3, None), (2, Some("number")), (1, Some("number"))]);
    let shown = sealed.ok(["snapshot", "ls", "bob"]);
    assert!(shown.contains("2 snapshots between 1 and 2 were dropped"), "{shown}");
    let problem = sealed.refused(4, &["snapshot", "show", "bob", "1"]);
    assert!(problem.title.contains("no snapshot 1 any more"), "{problem:?}");
    let refs = git(&project.dir, "for-each-ref --format=%(refname) refs/perennial");
    assert!(refs.lines().count() == 1 && !refs.contains(first_base.trim()), "{refs}");
    let packs = std::path::Path::new(&listed[0].repository).join("objects/pack");
    let packs = std::fs::read_dir(packs).expect("listed").flatten();
    let count = packs.filter(|it| it.path().extension().is_some_and(|it| it == "pack")).count();
    // One of the two dropped ones has an object in its pack that the others need.
    assert!((3..=4).contains(&count), "{count} packs");
}

/// The daemon is killed as a restore begins, and a session is wanted in that tree: after `up` the restore is whole, and
/// then the session starts. How far the restore had come is left to chance.
#[test]
fn a_restore_goes_on_after_a_kill_and_sessions_start_behind_it() {
    let project = Project::new();
    let sealed = &project.sealed;
    for n in 0..1500 {
        project.write(&format!("f{n}"), &format!("{n}\n"));
    }
    let dir = project.dir.to_str().expect("text");
    let then = work(&project);
    sealed.ok(["spawn", "bob", "--dir", dir, "--", "/bin/sh", "-c", "read x"]);
    sealed.ok(["snapshot", "take", "bob"]);
    sealed.ok(["stop", "bob"]);
    for n in 0..1500 {
        project.write(&format!("f{n}"), "lost?\n");
    }
    let mut watch = sealed.watch();
    let restoring = sealed.command(["snapshot", "restore", "bob", "1", "--index"]).spawn();
    let mut restoring = restoring.expect("it runs");
    watch.wait("the restore begins", |seen| (seen.event.kind == "restore-begun").then_some(()));
    let born =
        sealed.command(["spawn", "eve", "--dir", dir, "--", "/bin/sh", "-c", "read x"]).spawn();
    sealed.kill_daemon();
    let _ = (restoring.wait(), born.expect("it runs").wait());
    sealed.start_daemon();
    let mut watch = Watch::since(sealed, 0);
    watch.wait("the restore has ended", |seen| (seen.event.kind == "restore-ended").then_some(()));
    assert!(work(&project) == then, "the restore is not whole");
    let _ = sealed.run(["spawn", "eve", "--dir", dir, "--", "/bin/sh", "-c", "read x"]);
    watch.running("eve", 1);
    let story = sealed.ok(["events", "--agent", "bob"]);
    let ended = story.matches("files of snapshot 1 restored").count();
    let begun = story.matches("restoring files and index of snapshot 1").count();
    assert_eq!((begun, ended), (1, 1), "{story}");
}

/// The daemon is killed as a restore begins, and a person edits a file before the next one goes on with it. The edit is
/// overwritten, as everything is; it is in a snapshot that is listed, and the end of the restore names it.
#[test]
fn an_edit_before_a_restore_goes_on_is_in_the_snapshot_that_its_end_names() {
    let project = Project::new();
    let sealed = &project.sealed;
    for n in 0..1500 {
        project.write(&format!("f{n}"), &format!("{n}\n"));
    }
    let dir = project.dir.to_str().expect("text");
    sealed.ok(["spawn", "bob", "--dir", dir, "--", "/bin/sh", "-c", "read x"]);
    sealed.ok(["snapshot", "take", "bob"]);
    sealed.ok(["stop", "bob"]);
    for n in 0..1500 {
        project.write(&format!("f{n}"), "lost?\n");
    }
    let mut watch = sealed.watch();
    let mut restoring =
        sealed.command(["snapshot", "restore", "bob", "1"]).spawn().expect("it runs");
    watch.wait("the restore begins", |seen| (seen.event.kind == "restore-begun").then_some(()));
    sealed.kill_daemon();
    let _ = restoring.wait();
    project.write("f7", "an edit\n");
    sealed.start_daemon();
    let mut watch = Watch::since(sealed, 0);
    watch.wait("the restore has ended", |seen| (seen.event.kind == "restore-ended").then_some(()));
    assert_eq!(project.read("f7"), "7\n");
    let listed: Vec<Snapshot> = sealed.json(&["snapshot", "ls", "bob"]);
    let newest = listed.first().expect("one");
    assert_eq!((newest.number, &*newest.why), (3, "before-restore"));
    let story = sealed.ok(["events", "--agent", "bob"]);
    assert!(story.contains("what was there before is snapshot 3"), "{story}");
    let to = sealed.dir.join("then");
    sealed.ok(["snapshot", "restore", "bob", "3", "--to", to.to_str().expect("text")]);
    assert_eq!(std::fs::read_to_string(to.join("f7")).expect("restored"), "an edit\n");
}

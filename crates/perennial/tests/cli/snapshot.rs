//! `snapshot`: an agent's uncommitted work is kept, compared and put back, from outside.

use std::path::{Path, PathBuf};
use std::process::Command;

use perennial_api::snapshot::{
    Snapshot, SnapshotCard, SnapshotDiff, SnapshotRestored, SnapshotTaken,
};

use crate::authority::Fleet;
use crate::callers::Who;
use crate::sealed::{Sealed, finish};

/// A repository with one commit and some dirt, and an agent in it whose session waits.
pub struct Project {
    pub sealed: Sealed,
    pub dir: PathBuf,
}

pub fn git(dir: &Path, words: &str) -> String {
    let output = Command::new("git")
        .args(words.split(' '))
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .envs([("GIT_AUTHOR_NAME", "t"), ("GIT_AUTHOR_EMAIL", "t@t")])
        .envs([("GIT_COMMITTER_NAME", "t"), ("GIT_COMMITTER_EMAIL", "t@t")])
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {words}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

impl Project {
    pub fn new() -> Project {
        let sealed = Sealed::up();
        let dir = std::fs::canonicalize(&sealed.dir).expect("a directory").join("web");
        std::fs::create_dir_all(dir.join("src")).expect("made");
        git(&dir, "init -q -b main .");
        std::fs::write(dir.join("src/a.txt"), "one\n").expect("written");
        std::fs::write(dir.join("b.txt"), "b\n").expect("written");
        git(&dir, "add -A");
        git(&dir, "commit -qm first");
        std::fs::write(dir.join("src/a.txt"), "one\ntwo\n").expect("written");
        std::fs::write(dir.join("new.txt"), "new\n").expect("written");
        std::fs::write(dir.join(".env"), "TOKEN=1\n").expect("written");
        git(&dir, "add src/a.txt");
        Project { sealed, dir }
    }

    fn with_agent() -> Project {
        let project = Project::new();
        project.spawn("bob");
        project
    }

    fn spawn(&self, name: &str) {
        let dir = self.dir.to_str().expect("text");
        self.sealed.ok(["spawn", name, "--dir", dir, "--", "/bin/sh", "-c", "read x"]);
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.join(name), text).expect("written");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.join(name)).unwrap_or_default()
    }

    pub fn snapshots(&self) -> Vec<Snapshot> {
        self.sealed.json(&["snapshot", "ls", "bob"])
    }
}

#[test]
fn uncommitted_work_is_taken_listed_compared_and_restored_and_outlives_the_daemon() {
    let project = Project::with_agent();
    let sealed = &project.sealed;
    let status = git(&project.dir, "status --porcelain=v2 --branch");
    let taken: SnapshotTaken = sealed.json(&["snapshot", "take", "bob"]);
    assert_eq!((taken.snapshot.number, taken.snapshot.files, taken.is_same), (1, 3, false));
    assert_eq!(taken.left_out[0].path, ".env");
    assert_eq!(git(&project.dir, "status --porcelain=v2 --branch"), status);
    let again = sealed.ok(["snapshot", "take", "bob"]);
    assert!(again.starts_with("nothing changed since snapshot 1"), "{again}");
    assert_eq!(project.snapshots().len(), 1);

    project.write("src/a.txt", "lost?\n");
    std::fs::remove_file(project.dir.join("new.txt")).expect("removed");
    project.write("extra.txt", "extra\n");
    git(&project.dir, "reset -q");
    let diff: SnapshotDiff = sealed.json(&["snapshot", "diff", "bob", "--names"]);
    let changes: Vec<_> = diff.changes.iter().map(|one| (&*one.path, &*one.change)).collect();
    assert_eq!(
        changes,
        [("extra.txt", "added"), ("new.txt", "deleted"), ("src/a.txt", "modified")]
    );
    let shown = sealed.ok(["snapshot", "diff", "bob"]);
    assert!(shown.contains("-one\n-two\n+lost?\n"), "{shown}");

    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.ok(["stop", "bob"]);
    let restored: SnapshotRestored = sealed.json(&["snapshot", "restore", "bob", "1", "--index"]);
    assert_eq!((restored.number, restored.present), (1, Some(2)));
    assert_eq!(
        (project.read("src/a.txt"), project.read("new.txt")),
        ("one\ntwo\n".into(), "new\n".into())
    );
    assert_eq!(project.read("extra.txt"), "");
    assert_eq!(git(&project.dir, "status --porcelain=v2 --branch"), status);
    assert_eq!(project.read(".env"), "TOKEN=1\n");

    // What was replaced comes back, too.
    sealed.ok(["snapshot", "restore", "bob", "2"]);
    assert_eq!(
        (project.read("src/a.txt"), project.read("extra.txt")),
        ("lost?\n".into(), "extra\n".into())
    );
    let numbers: Vec<u32> = project.snapshots().iter().map(|one| one.number).collect();
    assert_eq!(numbers, [3, 2, 1]);
    let story = sealed.ok(["events", "--agent", "bob"]);
    assert!(story.contains("snapshot 1 taken: 3 files, 1 left out"), "{story}");
    assert!(story.contains("restoring files and index of snapshot 1"), "{story}");
}

#[test]
fn a_card_tells_the_branch_the_operation_and_what_was_left_out() {
    let project = Project::with_agent();
    project.sealed.ok(["snapshot", "take", "bob"]);
    let card: SnapshotCard = project.sealed.json(&["snapshot", "show", "bob"]);
    assert_eq!(card.work_trees[0].head.as_deref(), Some("ref: refs/heads/main"));
    assert!(Path::new(&card.snapshot.repository).is_dir());
    let shown = project.sealed.ok(["snapshot", "show", "bob", "1"]);
    assert!(shown.contains("main") && shown.contains(".env (may hold a secret)"), "{shown}");
    let listed = project.sealed.ok(["snapshot", "ls", "bob"]);
    assert!(listed.starts_with("N  TAKEN"), "{listed}");
    // Git itself can read it.
    let files = git(
        Path::new(&card.snapshot.repository),
        &format!("ls-tree -r --name-only {}", card.snapshot.commit),
    );
    assert!(files.contains("work/new.txt") && !files.contains(".env"), "{files}");
}

#[test]
fn a_restore_waits_for_sessions_in_the_tree_and_writes_elsewhere_meanwhile() {
    let project = Project::with_agent();
    let sealed = &project.sealed;
    sealed.ok(["snapshot", "take", "bob"]);
    project.write("src/a.txt", "changed\n");
    let refused = sealed.refused(3, &["snapshot", "restore", "bob"]);
    assert_eq!(refused.kind, "session-in-tree");
    assert_eq!(project.read("src/a.txt"), "changed\n");
    // Another agent in the same tree counts as well.
    sealed.ok(["stop", "bob"]);
    project.spawn("eve");
    assert_eq!(sealed.refused(3, &["snapshot", "restore", "bob"]).kind, "session-in-tree");
    // Also if its next session is to be elsewhere: this one runs here.
    let elsewhere = sealed.dir.join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("a directory");
    sealed.ok(["set", "eve", "--dir", elsewhere.to_str().expect("text")]);
    assert_eq!(sealed.refused(3, &["snapshot", "restore", "bob"]).kind, "session-in-tree");
    let to = sealed.dir.join("then");
    sealed.ok(["snapshot", "restore", "bob", "1", "--to", to.to_str().expect("text")]);
    assert_eq!(std::fs::read_to_string(to.join("src/a.txt")).expect("there"), "one\ntwo\n");
    assert_eq!(
        sealed.refused(3, &["snapshot", "restore", "bob", "--to", to.to_str().expect("text")]).kind,
        "not-empty"
    );
    sealed.ok(["stop", "eve"]);
    sealed.ok(["snapshot", "restore", "bob", "1"]);
    assert_eq!(project.read("src/a.txt"), "one\ntwo\n");
}

#[test]
fn what_is_in_the_way_missing_or_not_supported_is_said() {
    let project = Project::with_agent();
    let sealed = &project.sealed;
    assert_eq!(sealed.refused(4, &["snapshot", "show", "bob"]).kind, "no-snapshot");
    sealed.ok(["snapshot", "take", "bob"]);
    assert_eq!(sealed.refused(4, &["snapshot", "diff", "bob", "9"]).kind, "no-snapshot");
    sealed.ok(["stop", "bob"]);
    std::fs::remove_file(project.dir.join("new.txt")).expect("removed");
    std::fs::create_dir(project.dir.join("new.txt")).expect("made");
    project.write("new.txt/precious.o", "precious");
    project.write(".gitignore", "*.o\n");
    let refused = sealed.refused(3, &["snapshot", "restore", "bob"]);
    assert!(
        refused.kind == "in-the-way" && refused.detail.contains("new.txt/precious.o"),
        "{refused:?}"
    );
    assert_eq!(project.read("new.txt/precious.o"), "precious");
    let plain = sealed.dir.join("plain");
    std::fs::create_dir(&plain).expect("made");
    let dir = plain.to_str().expect("text");
    sealed.ok(["spawn", "joe", "--dir", dir, "--", "/bin/sh", "-c", "read x"]);
    assert_eq!(sealed.refused(3, &["snapshot", "take", "joe"]).kind, "no-work-tree");
    git(&plain, "init -q --object-format=sha256 .");
    let refused = sealed.refused(3, &["snapshot", "take", "joe"]);
    assert!(
        refused.title.contains("not supported: a repository with SHA-256 objects"),
        "{refused:?}"
    );
    // The dead keep their snapshots, and get no others.
    sealed.ok(["bury", "bob"]);
    assert_eq!(sealed.refused(3, &["snapshot", "take", "bob"]).kind, "wrong-state");
    assert_eq!(project.snapshots().len(), 2);
    let to = sealed.dir.join("then");
    sealed.ok(["snapshot", "restore", "bob", "1", "--to", to.to_str().expect("text")]);
    assert_eq!(std::fs::read_to_string(to.join("new.txt")).expect("there"), "new\n");
}

#[test]
fn only_a_person_takes_reads_and_restores_snapshots() {
    let fleet = Fleet::new();
    for words in
        [["snapshot", "ls"], ["snapshot", "take"], ["snapshot", "show"], ["snapshot", "restore"]]
    {
        let ran = fleet.call(&[], &[words[0], words[1], "other"]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains("an agent may not use `snapshot`"), "{ran:?}");
    }
    let ran = finish(Who::Viewer.runs(fleet.sealed.command(["snapshot", "take", "other"])));
    assert_eq!(ran.code, 3, "{ran:?}");
}

/// What was copied comes back although the repository is gone; what was borrowed from it is named.
#[test]
fn without_its_repository_a_snapshot_gives_back_what_it_has() {
    let project = Project::with_agent();
    let sealed = &project.sealed;
    sealed.ok(["snapshot", "take", "bob"]);
    sealed.ok(["stop", "bob"]);
    std::fs::remove_dir_all(project.dir.join(".git")).expect("removed");
    let card = sealed.ok(["snapshot", "show", "bob", "1"]);
    assert!(card.contains("lost         b.txt"), "{card}");
    let to = project.dir.with_file_name("elsewhere");
    let words = ["snapshot", "restore", "bob", "1", "--to", to.to_str().expect("text")];
    let told = sealed.run(words);
    assert!(told.code == 1 && told.stdout.contains("has lost them:\n  b.txt\n"), "{told:?}");
    assert_eq!(std::fs::read_to_string(to.join("src/a.txt")).expect("there"), "one\ntwo\n");
    assert_eq!(std::fs::read_to_string(to.join("new.txt")).expect("there"), "new\n");
    // In its place, in a new repository: what is lost stays as it is.
    git(&project.dir, "init -q -b main .");
    project.write("src/a.txt", "lost?\n");
    project.write("b.txt", "of today\n");
    let ran = sealed.run(["--json", "snapshot", "restore", "bob", "1"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let restored: SnapshotRestored = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((restored.missing_count, &*restored.missing), (1, &["b.txt".to_owned()][..]));
    assert_eq!(
        (project.read("src/a.txt"), project.read("b.txt")),
        ("one\ntwo\n".into(), "of today\n".into())
    );
    let story = sealed.ok(["events", "--agent", "bob"]);
    assert!(
        story.contains("1 left as they were, because the project's repository has lost them"),
        "{story}"
    );
}

/// Whoever asks for what was taken a moment ago without being asked has it kept as long as any other that was asked for.
#[test]
fn what_is_asked_for_again_is_told_as_asked_for() {
    let project = Project::new();
    let sealed = &project.sealed;
    project.spawn("bob");
    sealed.ok(["stop", "bob"]);
    let before = project.snapshots();
    assert_eq!((before.len(), &*before[0].why), (1, "planned-end"));
    let taken: SnapshotTaken = sealed.json(&["snapshot", "take", "bob"]);
    assert!(taken.is_same && taken.snapshot.number == 1, "{taken:?}");
    let story = sealed.ok(["events", "--agent", "bob"]);
    assert!(story.contains("snapshot 1 is kept as asked: nothing has changed since"), "{story}");
}

/// What a daemon took and was killed before it could record it.
#[test]
fn the_next_daemon_removes_snapshots_that_nobody_recorded() {
    let project = Project::with_agent();
    let sealed = &project.sealed;
    let taken: SnapshotTaken = sealed.json(&["snapshot", "take", "bob"]);
    let agent = sealed.show("bob").id;
    sealed.kill_daemon();
    project.write("new.txt", "never recorded\n");
    let store = std::path::PathBuf::from(&taken.snapshot.repository);
    let snapshots = store.parent().expect("a directory");
    let order = perennial_engine::git::snapshot::TakeOrder {
        holder: Some(&agent),
        ..perennial_engine::git::snapshot::TakeOrder::new(&project.dir, snapshots, 0)
    };
    let lost = perennial_engine::git::snapshot::take(&order).expect("taken");
    let refs = || git(&store, "for-each-ref --format=%(objectname)");
    assert!(refs().contains(&lost.commit.to_string()), "{}", refs());
    sealed.start_daemon();
    sealed.until("it is gone", || refs().trim() == taken.snapshot.commit);
    assert_eq!(project.snapshots().len(), 1);
    sealed.ok(["snapshot", "show", "bob", "1"]);
}

/// Whoever runs as the same user can put a pipe in the place of a file of ours. That is refused at once, and holds nobody else.
#[test]
fn a_pipe_in_the_place_of_a_file_of_ours_holds_nobody() {
    let project = Project::new();
    let sealed = &project.sealed;
    let dir = project.dir.to_str().expect("text");
    sealed.ok(["spawn", "bob", "--dir", dir, "--", "/bin/sh", "-c", "echo hello; read x"]);
    sealed.ok(["snapshot", "take", "bob"]);
    sealed.until("it has printed", || sealed.ok(["logs", "bob"]).contains("hello"));
    sealed.ok(["graph", "query"]);
    let pipe = |path: &Path| {
        let _ = std::fs::remove_file(path);
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).expect("a pipe");
    };
    let mut stores = std::fs::read_dir(sealed.home.state.join("snapshots")).expect("stores");
    let store = stores.next().expect("one").expect("read").path();
    pipe(&store.join("writing.lock"));
    project.write("src/a.txt", "changed\n");
    assert_ne!(sealed.run(["snapshot", "take", "bob"]).code, 0);
    std::fs::remove_file(store.join("writing.lock")).expect("removed");
    sealed.ok(["snapshot", "take", "bob"]);
    pipe(&sealed.home.state.join("graph.db"));
    assert_ne!(sealed.run(["graph", "query"]).code, 0);
    let id = sealed.show("bob").id;
    pipe(&sealed.home.state.join("holders").join(id).join("s1/rec.0.marks"));
    let _refused_or_without_times = sealed.run(["logs", "bob"]);
    sealed.ok(["ls"]);
    sealed.ok(["down"]);
}

/// The agent's directory is another repository's work tree now: nothing of that one is written or removed.
#[test]
fn a_restore_into_another_repository_is_refused() {
    let project = Project::with_agent();
    let sealed = &project.sealed;
    sealed.ok(["snapshot", "take", "bob"]);
    sealed.ok(["stop", "bob"]);
    std::fs::rename(&project.dir, project.dir.with_file_name("moved")).expect("moved");
    std::fs::create_dir(&project.dir).expect("made");
    git(&project.dir, "init -q -b main .");
    project.write("theirs.txt", "theirs\n");
    git(&project.dir, "add -A");
    git(&project.dir, "commit -qm theirs");
    project.write("more.txt", "not committed\n");
    for words in
        [&["snapshot", "restore", "bob", "1"][..], &["snapshot", "restore", "bob", "1", "--index"]]
    {
        let refused = sealed.refused(3, words);
        assert_eq!(refused.kind, "another-repository", "{refused:?}");
        assert!(refused.next.contains("`--to`"), "{refused:?}");
    }
    assert_eq!(git(&project.dir, "status --porcelain"), "?? more.txt\n");
    assert_eq!(project.read("theirs.txt"), "theirs\n");
    // Nor does a work tree count as a directory to write to.
    let dir = project.dir.to_str().expect("text");
    let refused = sealed.refused(3, &["snapshot", "restore", "bob", "1", "--to", dir]);
    assert_eq!(refused.kind, "not-elsewhere");
    assert_eq!(git(&project.dir, "status --porcelain"), "?? more.txt\n");
}

/// HEAD, branches, unfinished operations and repositories inside stay as they are, and that is said.
#[test]
fn a_restore_says_what_it_did_not_touch() {
    let project = Project::with_agent();
    let sealed = &project.sealed;
    let inner = project.dir.join("inner");
    std::fs::create_dir(&inner).expect("made");
    git(&inner, "init -q -b main .");
    git(&inner, "commit -q --allow-empty -m inner");
    project.write("inner/x.txt", "x\n");
    git(&project.dir, "checkout -q -b topic");
    sealed.ok(["snapshot", "take", "bob"]);
    sealed.ok(["stop", "bob"]);
    let then = git(&project.dir, "rev-parse HEAD");
    git(&project.dir, "commit -qm topic");
    git(&project.dir, "checkout -q main");
    project.write("src/a.txt", "of main\n");
    git(&project.dir, "commit -qam main");
    let merge = Command::new("git").args(["merge", "topic"]).current_dir(&project.dir).output();
    assert!(!merge.expect("git runs").status.success(), "it conflicts");
    let now = git(&project.dir, "rev-parse HEAD");
    let told = sealed.ok(["snapshot", "restore", "bob", "1"]);
    let head = format!(
        "HEAD is at {} (main) now; at the snapshot it was at {} (topic): branches were not touched\n",
        &now[..10],
        &then[..10]
    );
    assert!(told.contains(&head), "{told}");
    assert!(told.contains("\na merge is unfinished: it was not touched\n"), "{told}");
    assert!(told.contains("\ninner: a repository of its own"), "{told}");
    // The other way round, for programs: the present's snapshot has the merge in it.
    git(&project.dir, "reset -q --hard");
    std::fs::remove_dir_all(inner.join(".git")).expect("removed");
    let back: SnapshotRestored = sealed.json(&["snapshot", "restore", "bob", "2"]);
    let [top, inner] = &back.work_trees[..] else { panic!("{back:?}") };
    let operations = |one: &perennial_api::snapshot::RestoredWorkTree| {
        let of = |state: &Option<perennial_api::snapshot::RepositoryState>| {
            state.as_ref().and_then(|it| it.operation.clone())
        };
        (of(&one.then), of(&one.now))
    };
    assert_eq!(operations(top), (Some("merge".to_owned()), None));
    assert_eq!(inner.path, "inner");
    assert!(inner.then.is_some() && inner.now.is_none(), "{inner:?}");
}

/// A repository that is not read has no snapshots; the empty list says why.
#[test]
fn a_list_without_snapshots_says_why_there_can_be_none() {
    let sealed = Sealed::up();
    for (name, option, words) in [
        ("ada", "--object-format=sha256", "SHA-256 objects"),
        ("bob", "--ref-format=reftable", "reftable refs"),
    ] {
        let dir = sealed.dir.join(name);
        std::fs::create_dir(&dir).expect("made");
        let made = Command::new("git").args(["init", "-q", option, "."]).current_dir(&dir).output();
        if !made.expect("git runs").status.success() {
            // A git of before 2.45 has no reftables.
            assert_eq!(name, "bob");
            continue;
        }
        let place = dir.to_str().expect("text");
        sealed.ok(["spawn", name, "--dir", place, "--", "/bin/sh", "-c", "read x"]);
        let listed = sealed.ok(["snapshot", "ls", name]);
        assert!(listed.starts_with("no snapshots: not supported: "), "{listed}");
        assert!(listed.contains(words), "{listed}");
        assert_eq!(sealed.refused(3, &["snapshot", "take", name]).kind, "not-supported");
    }
}

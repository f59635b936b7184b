//! `init`: the mirror in a project's own work tree, from outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::sealed::{PROGRAM, Sealed};

fn git(dir: &Path, arguments: &[&str]) -> String {
    let mut git = std::process::Command::new("git");
    git.args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t.invalid",
        "-c",
        "init.defaultBranch=main",
    ]);
    let ran = git.args(arguments).current_dir(dir).output().expect("git");
    assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

// covers: S-01
#[test]
fn the_mirror_moves_into_the_work_tree_and_back() {
    let sealed = Sealed::up();
    let tree = sealed.dir.join("site");
    fs::create_dir_all(tree.join("src")).expect("made");
    git(&tree, &["init", "-q"]);
    let path = |path: &Path| path.to_str().expect("a path").to_owned();
    let (root, inner) = (path(&tree), path(&tree.join("src")));
    sealed.ok(["spawn", "ada", "--dir", &inner, "--", "sleep", "1000000"]);
    let own = tree.join(".perennial");
    assert!(sealed.ok(["init", &inner]).contains("the mirror is here now"));
    assert!(sealed.ok(["init", &root]).contains("already"));
    // What was there came along; what happens from here on is written here.
    assert!(own.join("identities/agent-ada.json").is_file());
    assert!(own.join("work/ada.json").is_file());
    sealed.ok(["spawn", "bob", "--dir", &root, "--", "sleep", "1000000"]);
    sealed.until("bob is here", || own.join("identities/agent-bob.json").is_file());
    sealed.until("the roster is here", || {
        fs::read_to_string(own.join("roster.jsonl")).is_ok_and(|text| text.lines().count() == 2)
    });
    assert!(fs::read_dir(own.join("signals")).expect("signals").count() >= 1);
    // Git sees nothing of it.
    assert_eq!(git(&tree, &["status", "--porcelain", "--untracked-files=all"]), "");
    // The next daemon finds it.
    sealed.kill_daemon();
    sealed.start_daemon();
    sealed.ok(["rename", "bob", "eve"]);
    sealed.until("eve is here", || own.join("identities/agent-eve.json").is_file());
    // Back, but for what is not ours.
    fs::write(own.join("notes.txt"), "mine").expect("written");
    assert!(sealed.ok(["init", &root, "--undo"]).contains("moved back"));
    assert_eq!(fs::read_to_string(own.join("notes.txt")).ok().as_deref(), Some("mine"));
    for part in ["roster.jsonl", "identities", "work", "signals"] {
        assert!(!own.join(part).exists(), "{part}");
    }
    sealed.ok(["stop", "eve"]);
    let mirrored = || {
        let projects = fs::read_dir(sealed.home.mirror()).expect("a mirror").flatten();
        projects.map(|one| one.path().join("identities/agent-eve.json")).any(|file| file.is_file())
    };
    sealed.until("the mirror is where it was", mirrored);
    assert!(sealed.ok(["init", &root, "--undo"]).contains("not here"));
    // It is known again, whatever else is in it.
    assert!(sealed.ok(["init", &root]).contains("the mirror is here now"));
    fs::remove_file(own.join("notes.txt")).expect("removed");
    sealed.ok(["init", &root, "--undo"]);
    assert!(!own.exists());
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let sealed = Sealed::up();
    let elsewhere = sealed.dir.join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("made");
    let tree = |name: &str| {
        let tree = sealed.dir.join(name);
        fs::create_dir_all(&tree).expect("made");
        tree
    };
    let (link, file, foreign) = (tree("link"), tree("file"), tree("foreign"));
    symlink(&elsewhere, link.join(".perennial")).expect("linked");
    fs::write(file.join(".perennial"), "mine").expect("written");
    fs::create_dir(foreign.join(".perennial")).expect("made");
    for tree in [&link, &file, &foreign] {
        let words = ["init", tree.to_str().expect("a path")];
        let problem = sealed.refused(3, &words);
        assert_eq!(problem.kind, "init-refused");
    }
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);
    let bare = tree("bare.git");
    git(&bare, &["init", "-q", "--bare"]);
    sealed.refused(2, &["init", bare.to_str().expect("a path")]);
    sealed.refused(4, &["init", "/nowhere/at/all"]);
    // A link that comes later is not followed either.
    let plain = tree("plain");
    sealed.ok(["init", plain.to_str().expect("a path")]);
    symlink(&elsewhere, plain.join(".perennial/identities")).expect("linked");
    sealed.ok(["spawn", "ada", "--dir", plain.to_str().expect("a path"), "--", "sleep", "1000000"]);
    sealed.until("its roster is there", || plain.join(".perennial/roster.jsonl").is_file());
    sealed.ok(["down"]);
    assert_eq!(fs::read_dir(&elsewhere).expect("a directory").count(), 0);
}

/// It was once an agent's to move, and with it what others' signals say.
#[test]
fn no_agent_moves_a_projects_mirror() {
    let sealed = Sealed::up();
    sealed.ok(["init"]);
    let tries = format!(
        "for undo in '' --undo; do {PROGRAM} init $undo >> said 2>&1; echo code $? >> said; done; mv said told; read x"
    );
    sealed.ok(["spawn", "bob", "--", "sh", "-c", &tries]);
    sealed.until("it has tried", || sealed.dir.join("told").exists());
    let told = fs::read_to_string(sealed.dir.join("told")).expect("its words");
    assert_eq!(told.matches("code 3").count(), 2, "{told}");
    assert!(sealed.dir.join(".perennial").exists());
}

/// A link in place of a directory was once listed, and what it led to was taken for old signals and temporary files.
#[test]
fn what_links_below_the_mirror_lead_to_is_left_alone() {
    let sealed = Sealed::up();
    let (tree, data) = (sealed.dir.join("plain"), sealed.dir.join("data"));
    fs::create_dir_all(&tree).expect("made");
    fs::create_dir_all(&data).expect("made");
    let path = tree.to_str().expect("a path");
    sealed.ok(["init", path]);
    let own = tree.join(".perennial");
    for number in 0..600 {
        fs::write(data.join(format!("{number}.json")), "mine").expect("written");
    }
    fs::write(data.join("mine.tmp"), "mine").expect("written");
    for part in ["signals", "work"] {
        symlink(&data, own.join(part)).expect("linked");
    }
    sealed.ok(["spawn", "ada", "--dir", path, "--", "sleep", "1000000"]);
    sealed.until("its roster is there", || own.join("roster.jsonl").is_file());
    sealed.ok(["down"]);
    assert_eq!(fs::read_dir(&data).expect("a directory").count(), 601);
    // Nor does the next daemon clean up there, also if all of the mirror is a link now.
    fs::rename(&own, tree.join("before")).expect("renamed");
    symlink(&data, &own).expect("linked");
    sealed.start_daemon();
    sealed.ok(["spawn", "bob", "--dir", path, "--", "sleep", "1000000"]);
    sealed.ok(["down"]);
    assert_eq!(fs::read_dir(&data).expect("a directory").count(), 601);
}

/// A limit on the size of files ends it when it writes the first one.
#[test]
fn one_that_was_killed_midway_is_followed_by_another() {
    let sealed = Sealed::up();
    let tree = sealed.dir.join("plain");
    fs::create_dir_all(&tree).expect("made");
    let killed = sealed.command(["init", tree.to_str().expect("a path")]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -c 0; ulimit -f 0; exec \"$0\" \"$@\""]).arg(PROGRAM);
    limited.args(killed.get_args());
    limited.envs(killed.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ran = limited.output().expect("a shell");
    assert!(!ran.status.success(), "{ran:?}");
    sealed.ok(["init", tree.to_str().expect("a path")]);
    assert_eq!(fs::read_dir(&tree).expect("a directory").count(), 1);
}

//! Random work trees in random states of git: a snapshot leaves no trace, and after random edits a restore brings back
//! every byte, the index, and what git says. A seed is a tree: the same one each time.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use perennial_engine::git::snapshot::{LeftOut, WithIndex};

use crate::fixture::{Evidence, Fixture, assert_same};

pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % most
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

const STATES: &[&str] = &[
    "plain",
    "merge",
    "rebase",
    "cherry-pick",
    "revert",
    "bisect",
    "detached",
    "unborn",
    "no-identity",
    "linked",
    "submodule",
    "nested",
    "sparse",
    "sparse-cone",
    "split-index",
    "index-v4",
    "stash",
    "packed",
    "shallow",
    "alternates",
    "partial",
    "untracked-cache",
    "filters",
    "hooks",
    "autocrlf",
    "assume-unchanged",
];

/// One tree; it panics where a promise is broken.
pub fn trial(seed: u64) -> &'static str {
    let mut chance = Chance::new(seed);
    let state = STATES[usize::try_from(seed).unwrap() % STATES.len()];
    let f = repository(state, &mut chance);
    for _ in 0..chance.below(30) {
        change(&f, &mut chance);
    }
    if chance.below(2) == 0 {
        let _ = f.try_git(&f.work, "add d0 d1");
        change(&f, &mut chance);
    }
    check(&f, &mut chance);
    state
}

fn check(f: &Fixture, chance: &mut Chance) {
    let status = f.status();
    let (files, git_files) = (f.files(), f.git_files());
    f.clear_canary();
    let taken = f.take();
    assert!(!f.is_canary_awake(), "something of the repository ran");
    assert_same("the work tree after a snapshot", &files, &f.files());
    assert_same("the git directory after a snapshot", &git_files, &f.git_files());
    assert_eq!(f.status(), status, "git's word after a snapshot");
    let named = |path: &str| path.ends_with(".env") || path.ends_with("pipe");
    assert!(taken.left_out.iter().all(|LeftOut { path, .. }| named(path)), "{:?}", taken.left_out);
    for _ in 0..chance.below(25) {
        change(f, chance);
    }
    if chance.below(2) == 0 {
        let _ = f.try_git(&f.work, "add d1 d2");
    }
    f.clear_canary();
    f.restore(&taken, WithIndex::Yes).unwrap();
    assert!(!f.is_canary_awake(), "something of the repository ran");
    assert_same("the work tree after a restore", &files, &f.files());
    let index = |evidence: &Evidence| {
        let is_index = |path: &[u8]| path == b"index" || path == b".git/index";
        evidence.iter().find(|(path, _)| is_index(path)).map(|(_, it)| it.clone())
    };
    assert_eq!(index(&f.git_files()), index(&git_files), "the index and its time");
    assert_eq!(f.status(), status, "git's word after a restore");
}

fn bytes(chance: &mut Chance) -> Vec<u8> {
    match chance.below(8) {
        0 => Vec::new(),
        1 => (0..chance.below(100_000)).map(|_| chance.below(256) as u8).collect(),
        2 => b"one\r\ntwo\r\nthree\n".to_vec(),
        3 => "line\n".repeat(chance.below(2000) as usize).into_bytes(),
        _ => format!("{}\n", chance.below(1_000_000)).into_bytes(),
    }
}

fn name(chance: &mut Chance) -> Vec<u8> {
    let directory = chance.of(&["d0", "d1", "d2", "d0/in", "d2/in/deep", "inside", "inside/x", ""]);
    let odd: &[&[u8]] = &[
        b"a b",
        "\u{fc}\u{1f600}".as_bytes(),
        b"\xff\xfe",
        b"new\nline",
        b"-dash",
        b"q\"uote",
        b"back\\s",
    ];
    let file = match chance.below(5) {
        0 => chance.of(odd).to_vec(),
        _ => format!("f{}.txt", chance.below(12)).into_bytes(),
    };
    match directory {
        "" => file,
        directory => [directory.as_bytes(), b"/", &file].concat(),
    }
}

/// Writes, removes or changes one file. Ignored and left-out ones stay alone: a snapshot does not have them.
fn change(f: &Fixture, chance: &mut Chance) {
    let name = name(chance);
    let path: PathBuf = f.work.join(std::path::Path::new(std::ffi::OsStr::from_bytes(&name)));
    let parent = path.parent().unwrap().to_owned();
    // A file of an earlier change may be where a directory has to be.
    for above in parent.ancestors().take_while(|above| *above != f.work) {
        if above.symlink_metadata().is_ok_and(|it| !it.is_dir()) {
            std::fs::remove_file(above).unwrap();
        }
    }
    std::fs::create_dir_all(&parent).unwrap();
    let is_directory = path.symlink_metadata().is_ok_and(|it| it.is_dir());
    if is_directory && !path.join(".git").exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    let _ = std::fs::remove_file(&path);
    match chance.below(10) {
        0 | 1 => {}
        2 => symlink(chance.of(&["f1.txt", "/etc/passwd", "nowhere", "../.."]), &path).unwrap(),
        3 => {
            std::fs::create_dir_all(path.join("was-a-file")).unwrap();
            std::fs::write(path.join("was-a-file/x"), bytes(chance)).unwrap();
        }
        kind => {
            std::fs::write(&path, bytes(chance)).unwrap();
            let mode = chance.of(&[0o644, 0o644, 0o755, 0o600, 0o664, 0o444]);
            if kind > 6 {
                std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode))
                    .unwrap();
            }
        }
    }
}

fn repository(state: &str, chance: &mut Chance) -> Fixture {
    let f = Fixture::unborn();
    f.write(".gitignore", "*.ign\nign/\n");
    f.write("x.ign", "ignored");
    f.write("ign/y", "ignored");
    f.write(".env", "left out");
    for _ in 0..chance.below(20) {
        change(&f, chance);
    }
    for n in 0..3 {
        f.write(&format!("d{n}/keep"), format!("{n}\n").repeat(50));
    }
    rustix::fs::mkfifoat(rustix::fs::CWD, f.path("pipe"), 0o600.into()).unwrap();
    if state == "unborn" {
        f.git("add d0");
        return f;
    }
    f.git("add d0 d1 d2 .gitignore");
    f.git("commit -qm first");
    commit(&f, "second");
    enter(&f, state);
    f
}

fn commit(f: &Fixture, text: &str) {
    f.write("shared.txt", format!("{text}\n"));
    f.git("add shared.txt");
    f.git(&format!("commit -qm {text}"));
}

fn two_branches(f: &Fixture, words: &str) {
    f.git("checkout -qb other");
    commit(f, "theirs");
    f.git("checkout -q main");
    commit(f, "ours");
    assert!(!f.try_git(&f.work, words).0);
}

fn enter(f: &Fixture, state: &str) {
    match state {
        "merge" => two_branches(f, "merge other"),
        "rebase" => two_branches(f, "rebase --autostash other"),
        "cherry-pick" => two_branches(f, "cherry-pick other"),
        "revert" => {
            commit(f, "third");
            assert!(!f.try_git(&f.work, "revert HEAD~1").0);
        }
        "bisect" => {
            (0..4).for_each(|n| commit(f, &format!("c{n}")));
            f.git("bisect start HEAD HEAD~4");
        }
        "detached" => drop(f.git("checkout -q --detach")),
        "no-identity" => drop(f.git("config user.useConfigOnly true")),
        "linked" | "shallow" | "alternates" | "partial" => from_another(f, state),
        "submodule" | "nested" => inside(f, state),
        "sparse" => drop(f.git("sparse-checkout set --no-cone /d0/ /*.txt")),
        "sparse-cone" => drop(f.git("sparse-checkout set --cone d0")),
        "split-index" => {
            f.git("update-index --split-index");
            commit(f, "split");
        }
        "index-v4" => drop(f.git("update-index --index-version 4")),
        "stash" => {
            f.write("shared.txt", "stashed\n");
            f.git("stash");
        }
        "packed" => drop((f.git("gc -q --prune=now"), f.git("pack-refs --all"))),
        "untracked-cache" => drop(f.git("update-index --force-untracked-cache")),
        "filters" => {
            let canary = f.canary();
            f.git(&format!("config filter.canary.clean {canary}"));
            f.git("config filter.canary.required true");
            f.write(".gitattributes", "*.txt filter=canary\n");
        }
        "hooks" => {
            let canary = f.canary();
            std::fs::create_dir_all(f.path(".git/hooks")).unwrap();
            for hook in ["post-index-change", "reference-transaction", "post-checkout"] {
                symlink(&canary, f.path(".git/hooks").join(hook)).unwrap();
            }
            f.git(&format!("config core.fsmonitor {canary}"));
        }
        "autocrlf" => drop(f.git("config core.autocrlf true")),
        "assume-unchanged" => drop(f.git("update-index --assume-unchanged shared.txt")),
        _ => {}
    }
}

/// The work tree is made from the repository by another way.
fn from_another(f: &Fixture, state: &str) {
    let from = f.beside("origin");
    f.git("config uploadpack.allowFilter true");
    std::fs::rename(&f.work, &from).unwrap();
    let (above, shown) = (f.work.parent().unwrap(), from.display());
    let words = match state {
        "linked" => "-C origin worktree add -q -b linked ../work".to_owned(),
        "shallow" => format!("clone -q --depth=1 file://{shown} work"),
        "partial" => format!("clone -q --filter=blob:none file://{shown} work"),
        _ => "clone -q --shared origin work".to_owned(),
    };
    let (is_ok, out) = f.try_git(above, &words);
    assert!(is_ok, "{words}: {out}");
}

/// A repository in the tree, as a submodule or not, at `inside`.
fn inside(f: &Fixture, state: &str) {
    let _ = std::fs::remove_dir_all(f.path("inside"));
    let at = f.beside("library");
    std::fs::create_dir(&at).unwrap();
    std::fs::write(at.join("lib.txt"), "library\n").unwrap();
    for words in ["init -q -b main .", "add -A", "commit -qm library"] {
        assert!(f.try_git(&at, words).0);
    }
    if state == "submodule" {
        f.git(&format!("submodule add -q {} inside", at.display()));
        f.git("commit -qm submodule");
    } else {
        std::fs::rename(&at, f.path("inside")).unwrap();
    }
}

/// One of every fifteen that `cargo xtask prove snapshots` makes.
#[test]
fn twenty_random_trees_come_back_byte_by_byte() {
    for seed in 0..20 {
        trial(seed * 7);
    }
}

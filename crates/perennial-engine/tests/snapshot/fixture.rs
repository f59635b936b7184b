//! A repository in a temporary directory, the evidence of what it is, and canaries that nothing may wake.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use perennial_engine::git::GitError;
use perennial_engine::git::object::ObjectId;
use perennial_engine::git::snapshot::{
    Contents, Restored, SnapshotStore, Stopped, TakeOrder, Taken, WithIndex, look, restore, take,
};

pub struct Fixture {
    /// Removes everything with the fixture.
    #[expect(dead_code, reason = "held for its drop")]
    pub dir: tempfile::TempDir,
    pub work: PathBuf,
}

/// Of each file: its mode, its time and its bytes.
pub type Evidence = BTreeMap<Vec<u8>, (u32, i128, Vec<u8>)>;

impl Fixture {
    /// A repository with a commit of a few files.
    pub fn new() -> Fixture {
        let f = Fixture::unborn();
        f.write("a.txt", "one\ntwo\n");
        f.write("b.txt", "b\n");
        f.write("dir/c.txt", "c\n");
        f.write("dir/deep/d.txt", "d\n");
        f.write("run.sh", "#!/bin/sh\n");
        f.mode("run.sh", 0o755);
        f.git("add -A");
        f.git("commit -qm first");
        f
    }

    pub fn unborn() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let path = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir(path.join("home")).unwrap();
        let f = Fixture { work: path.join("work"), dir };
        std::fs::create_dir(&f.work).unwrap();
        f.git("init -q -b main .");
        f
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    pub fn beside(&self, name: &str) -> PathBuf {
        self.work.parent().unwrap().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    /// An executable that leaves a mark when it runs, for hooks and filters.
    pub fn canary(&self) -> String {
        let (script, mark) = (self.beside("canary.sh"), self.beside("canary"));
        std::fs::write(&script, format!("#!/bin/sh\necho \"$0\" >> {}\ncat\n", mark.display()))
            .unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        script.display().to_string()
    }

    pub fn clear_canary(&self) {
        let _ = std::fs::remove_file(self.beside("canary"));
    }

    pub fn is_canary_awake(&self) -> bool {
        self.beside("canary").exists()
    }

    /// Runs git with these words; it has to succeed.
    pub fn git(&self, words: &str) -> String {
        let (is_ok, out) = self.try_git(&self.work, words);
        assert!(is_ok, "git {words}: {out}");
        out
    }

    pub fn git_in(&self, directory: &str, words: &str) -> String {
        let (is_ok, out) = self.try_git(&self.path(directory), words);
        assert!(is_ok, "git {words}: {out}");
        out
    }

    pub fn try_git(&self, directory: &Path, words: &str) -> (bool, String) {
        let home = self.beside("home");
        let output = Command::new("git")
            .args(words.split(' '))
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .envs([("GIT_AUTHOR_NAME", "t"), ("GIT_AUTHOR_EMAIL", "t@t")])
            .envs([("GIT_COMMITTER_NAME", "t"), ("GIT_COMMITTER_EMAIL", "t@t")])
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "protocol.file.allow")
            .env("GIT_CONFIG_VALUE_0", "always")
            .env("GIT_EDITOR", "true")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text)
    }

    pub fn snapshots(&self) -> PathBuf {
        self.beside("state/snapshots")
    }

    pub fn take(&self) -> Taken {
        self.try_take().unwrap()
    }

    pub fn try_take(&self) -> Result<Taken, GitError> {
        take(&self.order(&self.work.clone(), &self.snapshots()))
    }

    pub fn order<'a>(&self, work: &'a Path, snapshots: &'a Path) -> TakeOrder<'a> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        TakeOrder::new(work, snapshots, i64::try_from(now.as_nanos()).unwrap())
    }

    pub fn contents(&self, taken: &Taken) -> Contents {
        Contents::open(&SnapshotStore::at(&taken.store), taken.commit).unwrap()
    }

    pub fn look(&self) -> Contents {
        look(&self.order(&self.work, &self.snapshots())).unwrap()
    }

    /// A snapshot of the present, then the older one.
    pub fn restore(&self, taken: &Taken, with_index: WithIndex) -> Result<Restored, Box<Stopped>> {
        let present = self.try_take()?;
        let order_snapshots = self.snapshots();
        let order = self.order(&self.work, &order_snapshots);
        restore(&order, &self.contents(taken), &self.contents(&present), with_index)
    }

    /// All files of the work tree, without `.git` directories.
    pub fn files(&self) -> Evidence {
        evidence(
            &self.work,
            &|path| path.split(|byte| *byte == b'/').any(|part| part == b".git"),
            true,
        )
    }

    /// All files of the git directories, without the refs that we may write.
    pub fn git_files(&self) -> Evidence {
        let mut all = evidence(&self.work, &|path| is_ours(path), false);
        all.retain(|path, _| path.split(|byte| *byte == b'/').any(|part| part == b".git"));
        if let Ok(listed) = std::fs::read_to_string(self.path(".git"))
            && let Some(git_dir) = listed.trim().strip_prefix("gitdir: ")
        {
            all.extend(evidence(Path::new(git_dir), &is_ours, false));
        }
        all
    }

    pub fn status(&self) -> String {
        let head = self.try_git(&self.work, "rev-parse HEAD").1;
        let branches = self.git("for-each-ref --exclude=refs/perennial");
        let stashes = self.git("stash list");
        let status = self
            .git("status --porcelain=v2 --branch --untracked-files=all --ignore-submodules=none");
        format!("{head}\n{branches}\n{stashes}\n{status}")
    }

    pub fn store_git(&self, taken: &Taken, words: &str) -> String {
        let (is_ok, out) = self.try_git(&taken.store, words);
        assert!(is_ok, "git {words}: {out}");
        out
    }

    pub fn base_refs(&self) -> Vec<String> {
        let listed = self.git("for-each-ref --format=%(refname) refs/perennial");
        listed.lines().map(str::to_owned).collect()
    }
}

fn is_ours(path: &[u8]) -> bool {
    let ours: &[&[u8]] = &[b"refs/perennial"];
    ours.iter().any(|part| path.windows(part.len()).any(|window| window == *part))
}

/// Directories count with their modes; times only of files, and only if the content has to be untouched.
fn evidence(root: &Path, skip: &dyn Fn(&[u8]) -> bool, is_content_only: bool) -> Evidence {
    let (mut found, mut open) = (Evidence::new(), vec![root.to_owned()]);
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec();
            if skip(&name) {
                continue;
            }
            let metadata = entry.metadata().unwrap();
            let bytes = if metadata.is_dir() {
                open.push(path);
                b"directory".to_vec()
            } else if metadata.is_symlink() {
                std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
            } else if metadata.is_file() {
                std::fs::read(&path).unwrap()
            } else {
                b"special".to_vec()
            };
            let time = if is_content_only || metadata.is_dir() {
                0
            } else {
                i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec())
            };
            // Git's own directory gets a directory of ours in `refs`.
            let key = if metadata.is_dir() { [&*name, b"/"].concat() } else { name };
            found.insert(key, (metadata.mode(), time, bytes));
        }
    }
    found
}

/// Says which paths differ, not how: trees are long.
pub fn assert_same(what: &str, before: &Evidence, after: &Evidence) {
    let show = |path: &[u8], side: &Evidence| match side.get(path) {
        Some((mode, time, bytes)) => {
            format!("{mode:o} {time} {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)]))
        }
        None => "nothing".to_owned(),
    };
    let paths =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    let different: Vec<String> = paths
        .map(|path| {
            let name = String::from_utf8_lossy(path);
            format!("{name}: {} -> {}", show(path, before), show(path, after))
        })
        .collect();
    assert!(different.is_empty(), "{what}:\n{}", different.join("\n"));
}

/// The snapshot's own view of the work tree, held against the disk: every file that is not ignored or left out.
pub fn stored(contents: &Contents) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let files = contents.files();
    files.into_iter().map(|(path, file)| (path, contents.read(file.id).unwrap())).collect()
}

pub fn id(text: &str) -> ObjectId {
    ObjectId::parse(text.trim()).unwrap()
}

//! Takes one work tree of a snapshot: the top one, or a repository in it.
//!
//! Invariants
//! - UN1  The ref on the base commit is written before anything relies on it. Where it can't be written, nothing
//!   relies on that commit, and everything is copied.
//! - UN2  A nested repository that can't be read as one is taken as plain files, and its `.git` is listed as left out.
//! - UN3  Refs that can't be read mean that nothing is borrowed, and they are listed as left out. An index that can't be
//!   read means no snapshot of the top: which ignored files are tracked is not known then.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::path_text::escape;
use super::read_file::{self, FileRead};
use super::state_file::StateFile;
use super::take::Taking;
use super::walk::{self, WalkOrder, Walked, WalkedFile};
use super::{LeftOut, Why, base, borrowing, modes};
use crate::git::base_ref;
use crate::git::error::{At, GitError};
use crate::git::ignore::{Patterns, Rules};
use crate::git::index::Index;
use crate::git::object::{EntryMode, ObjectId, ObjectKind, TreeEntry, decode_tree, encode_tree};
use crate::git::object_store::ObjectStore;
use crate::git::repository::{self, Repository, read_optional};

const MOST_INDEX: u64 = 500 << 20;
/// Of repositories in repositories.
const MOST_NESTED_DEPTH: usize = 8;
const MOST_NESTED: usize = 1000;

pub struct UnitTaken {
    pub tree: ObjectId,
    pub base: Option<ObjectId>,
}

/// The git side of a work tree, read before its files are.
#[derive(Default)]
struct GitSide {
    objects: Option<ObjectStore>,
    base: Option<ObjectId>,
    /// What the base reaches.
    reachable: HashSet<ObjectId>,
    index: Index,
    index_bytes: Option<Vec<u8>>,
    shared_bytes: Option<Vec<u8>>,
    /// Files of git's own that can't be read.
    left_out: Vec<LeftOut>,
    state: StateFile,
}

impl GitSide {
    /// Of a nested repository that can't be read as one (UN2).
    fn plain(because: &GitError) -> GitSide {
        let plain_because = Some(escape(because.to_string().as_bytes()));
        GitSide {
            left_out: vec![LeftOut { path: ".git".to_owned(), why: Why::Unreadable }],
            state: StateFile { plain_because, ..StateFile::default() },
            ..GitSide::default()
        }
    }
}

impl Taking<'_> {
    /// `prefix` is the path in the top work tree, with a `/` at its end unless it is empty.
    pub fn unit(
        &mut self,
        root: &Path,
        prefix: &[u8],
        repository: Result<&Repository, &GitError>,
        depth: usize,
    ) -> Result<UnitTaken, GitError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(root, flags, Mode::empty()).at(root)?;
        let mut git = match repository {
            Ok(repository) => self.git_side_or_none(repository, depth)?,
            Err(because) => GitSide::plain(because),
        };
        let walked = self.walked(&fd, repository.ok(), &git)?;
        let mut entries = self.files(&fd, prefix, &walked, &mut git)?;
        modes::describe(&mut git.state, &walked);
        let nested = self.nested(root, prefix, &walked, &mut git, &mut entries, depth)?;

        let mut tree = Vec::new();
        let work = self.write_trees(&mut entries, &git.reachable)?;
        tree.push(directory("work", work));
        let in_work: HashSet<ObjectId> = entries.iter().map(|(_, _, id)| *id).collect();
        let staged = self.staged(&mut git, &in_work)?;
        if !staged.is_empty() {
            let id = self.put(ObjectKind::Tree, &encode_tree(staged), &git.reachable)?;
            tree.push(directory("staged", id));
        }
        for (name, bytes) in [("index", &git.index_bytes), ("sharedindex", &git.shared_bytes)] {
            if let Some(bytes) = bytes {
                let id = self.put(ObjectKind::Blob, bytes, &git.reachable)?;
                tree.push(file(name, id));
            }
        }
        if !nested.is_empty() {
            let id = self.put(ObjectKind::Tree, &encode_tree(nested), &git.reachable)?;
            tree.push(directory("nested", id));
        }
        git.state.form = 1;
        git.state.path = escape(prefix.strip_suffix(b"/").unwrap_or(prefix));
        let state = serde_json::to_vec(&git.state).map_err(std::io::Error::other).at(root)?;
        tree.push(file("state", self.put(ObjectKind::Blob, &state, &git.reachable)?));
        let tree = self.put(ObjectKind::Tree, &encode_tree(tree), &git.reachable)?;
        Ok(UnitTaken { tree, base: git.base })
    }

    /// UN2
    fn git_side_or_none(
        &mut self,
        repository: &Repository,
        depth: usize,
    ) -> Result<GitSide, GitError> {
        let refs = self.new_refs.len();
        match self.git_side(repository) {
            Err(error) if depth > 0 && self.is_theirs(&error) => {
                // Nothing builds on what was kept for it.
                for (common_dir, commit) in self.new_refs.split_off(refs) {
                    base_ref::release(&common_dir, &self.owner, commit)?;
                }
                Ok(GitSide::plain(&error))
            }
            read => read,
        }
    }

    /// Whether it is a fault of the work tree, and not of our store or of the time.
    fn is_theirs(&self, error: &GitError) -> bool {
        match error {
            GitError::Damaged { path, .. } | GitError::Io { path, .. } => {
                !path.starts_with(self.store.path())
            }
            GitError::NotARepository(_) | GitError::Unsupported(_) | GitError::Missing(_) => true,
            GitError::TooManyFiles(_)
            | GitError::TooManyPatterns(_)
            | GitError::TooManyBytes(_)
            | GitError::Locked(_)
            | GitError::InTheWay(_)
            | GitError::Replaced(_)
            | GitError::NotEmpty(_)
            | GitError::Interrupted
            | GitError::NoIndex(_) => false,
        }
    }

    fn git_side(&mut self, repository: &Repository) -> Result<GitSide, GitError> {
        // UN3
        let (head, mut left_out) = (repository.head(), Vec::new());
        if head.is_err() {
            left_out.push(LeftOut { path: ".git/HEAD".to_owned(), why: Why::Unreadable });
        }
        let head = head.unwrap_or_default();
        let objects = ObjectStore::open(&repository.objects_dir())?;
        let (mut base, mut reachable) = (None, HashSet::new());
        if let Some(commit) = head.commit {
            // UN1. A look leaves nothing behind, and nothing relies on what it saw.
            let kept = match self.pack.is_look() {
                true => Ok(base_ref::Kept::Before),
                false => base_ref::keep(repository, &self.owner, commit),
            };
            match kept {
                Ok(kept) => {
                    let cache = self.store.base(commit);
                    if kept == base_ref::Kept::Now {
                        self.new_refs.push((repository.common_dir.clone(), commit));
                    }
                    let go_on = || (self.order.go_on)(self.files);
                    let found = base::reachable(&objects, commit, (kept, &cache), &go_on)?;
                    let is_borrowed = self.pack.is_look()
                        || borrowing::borrow(self.store, repository, &mut self.borrowed)?;
                    if let Some(ids) = found.filter(|_| is_borrowed) {
                        (base, reachable) = (Some(commit), ids);
                    } else if kept == base_ref::Kept::Now {
                        base_ref::release(&repository.common_dir, &self.owner, commit)?;
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "a ref can't be written; everything is copied");
                }
            }
        }
        let path = repository.index_path();
        let index_bytes = read_optional(&path, MOST_INDEX)?;
        let mut shared_bytes = None;
        let index = match &index_bytes {
            None => Index::default(),
            Some(bytes) => Index::parse(&path, bytes, |name| {
                let shared = repository.git_dir.join(name);
                let bytes = read_optional(&shared, MOST_INDEX)?
                    .ok_or_else(|| GitError::damaged(&path, "its shared part is missing"))?;
                shared_bytes = Some(bytes.clone());
                Ok(bytes)
            })?,
        };
        let modified = index_bytes.as_ref().and_then(|_| rustix::fs::stat(&path).ok());
        let state = StateFile {
            repository: Some(escape(repository.common_dir.as_os_str().as_bytes())),
            head: Some(escape(head.text.as_bytes())).filter(|text| !text.is_empty()),
            head_commit: head.commit.map(|id| id.to_string()),
            base: base.map(|id| id.to_string()),
            operation: repository.operation().map(str::to_owned),
            index_modified_ns: modified.map(|stat| walk::FileStat::from(stat).modified_ns),
            shared_index: index.shared.clone(),
            ..StateFile::default()
        };
        let objects = Some(objects);
        Ok(GitSide { objects, base, reachable, index, index_bytes, shared_bytes, left_out, state })
    }

    fn walked(
        &self,
        root: &OwnedFd,
        repository: Option<&Repository>,
        git: &GitSide,
    ) -> Result<Walked, GitError> {
        let ignore_case =
            repository.is_some_and(|repository| repository.config.is_true("core.ignorecase"));
        let named = repository.and_then(|repository| repository.config.get("core.excludesfile"));
        let owners =
            named.map(std::path::PathBuf::from).or_else(|| self.order.owners_ignore_file.clone());
        let exclude = repository.map(|repository| repository.common_dir.join("info/exclude"));
        let lists = [owners, exclude]
            .into_iter()
            .flatten()
            .filter_map(|path| Patterns::read(&path, b"", ignore_case));
        let sparse_blob = |id: ObjectId| git.objects.as_ref()?.read_kind(id, ObjectKind::Blob).ok();
        let order = WalkOrder {
            index: &git.index,
            rules: Rules::new(lists),
            ignore_case,
            most_file_bytes: self.order.most_file_bytes,
            sparse_blob: &sparse_blob,
            go_on: &|| (self.order.go_on)(self.files),
        };
        walk::walk(root, &order)
    }

    /// Stores the files; paths, modes and ids.
    fn files(
        &mut self,
        root: &OwnedFd,
        prefix: &[u8],
        walked: &Walked,
        git: &mut GitSide,
    ) -> Result<Vec<(Vec<u8>, EntryMode, ObjectId)>, GitError> {
        let mut entries = Vec::with_capacity(walked.files.len());
        let mut left_out = walked.left_out.clone();
        left_out.append(&mut git.left_out);
        for file in &walked.files {
            self.see_file()?;
            let full = [prefix, &file.path].concat();
            let known = self
                .cached
                .get(&*full)
                .filter(|(stat, id)| *stat == file.stat && self.needs_no_copy(*id, &git.reachable));
            let (stat, id) = match known {
                Some((stat, id)) => (*stat, *id),
                None => match self.read(root, file, git)? {
                    Ok(read) => read,
                    Err(Some(why)) => {
                        left_out.push(LeftOut { path: escape(&file.path), why });
                        continue;
                    }
                    Err(None) => continue,
                },
            };
            self.cache.add(&full, &stat, id);
            entries.push((file.path.clone(), mode_of(file), id));
        }
        left_out.sort();
        let full = |left: &LeftOut| LeftOut { path: escape(prefix) + &left.path, why: left.why };
        self.left_out.extend(left_out.iter().map(full));
        git.state.left_out = left_out;
        Ok(entries)
    }

    /// Reads and stores one file; the error is why it is left out, or `None` if it is gone.
    fn read(
        &mut self,
        root: &OwnedFd,
        file: &WalkedFile,
        git: &mut GitSide,
    ) -> Result<Result<(walk::FileStat, ObjectId), Option<Why>>, GitError> {
        self.read += 1;
        self.go_on()?;
        let (bytes, stat) = match read_file::read(root, file, self.order.most_file_bytes) {
            FileRead::Whole(bytes, stat) => (bytes, stat),
            FileRead::Torn(bytes, stat) => {
                git.state.torn.push(escape(&file.path));
                self.torn.push(escape(&file.path));
                // A time that no file has: it is read again next time.
                (bytes, walk::FileStat { changed_ns: i64::MAX, ..stat })
            }
            FileRead::Gone => return Ok(Err(None)),
            FileRead::Unreadable => return Ok(Err(Some(Why::Unreadable))),
            FileRead::TooLarge => return Ok(Err(Some(Why::TooLarge))),
        };
        Ok(Ok((stat, self.put(ObjectKind::Blob, &bytes, &git.reachable)?)))
    }

    /// Takes the repositories in this one, each with a tree of its own.
    fn nested(
        &mut self,
        root: &Path,
        prefix: &[u8],
        walked: &Walked,
        git: &mut GitSide,
        entries: &mut Vec<(Vec<u8>, EntryMode, ObjectId)>,
        depth: usize,
    ) -> Result<Vec<TreeEntry>, GitError> {
        let mut trees = Vec::new();
        for path in &walked.nested {
            let mut leave_out = |taking: &mut Self, why| {
                let left = LeftOut { path: escape(path), why };
                taking.left_out.push(LeftOut { path: escape(prefix) + &left.path, why });
                git.state.left_out.push(left);
            };
            if depth >= MOST_NESTED_DEPTH || self.nested >= MOST_NESTED {
                leave_out(self, Why::TooDeep);
                continue;
            }
            self.nested += 1;
            let at = root.join(Path::new(std::ffi::OsStr::from_bytes(path)));
            // A link on the way would lead out of the tree.
            if std::fs::canonicalize(&at).ok().as_deref() != Some(&*at) {
                continue;
            }
            let below = [prefix, path, b"/"].concat();
            let opened = repository::open(&at);
            let taken = match self.unit(&at, &below, opened.as_ref(), depth + 1) {
                Err(error) if self.is_theirs(&error) => {
                    leave_out(self, Why::Unreadable);
                    continue;
                }
                taken => taken?,
            };
            let name = format!("{:04}", trees.len());
            git.state.nested.insert(escape(path), name.clone());
            trees.push(directory(&name, taken.tree));
            let commit = opened.ok().and_then(|repository| repository.head().ok()?.commit);
            if let Some(commit) = commit {
                entries.push((path.clone(), EntryMode::Repository, commit));
            }
        }
        Ok(trees)
    }

    /// Writes the trees of `work/`.
    fn write_trees(
        &mut self,
        entries: &mut [(Vec<u8>, EntryMode, ObjectId)],
        base: &HashSet<ObjectId>,
    ) -> Result<ObjectId, GitError> {
        // The deepest directory first, so that each tree is complete when it is written.
        let mut trees: HashMap<&[u8], Vec<TreeEntry>> = HashMap::from([(&b""[..], Vec::new())]);
        for (path, mode, id) in entries.iter() {
            let (directory, name) = split(path);
            let entry = TreeEntry { mode: *mode, name: name.to_owned(), id: *id };
            trees.entry(directory).or_default().push(entry);
            let mut above = directory;
            while !above.is_empty() {
                above = split(above).0;
                trees.entry(above).or_default();
            }
        }
        let mut paths: Vec<&[u8]> = trees.keys().copied().collect();
        paths.sort_by_key(|path| {
            let depth =
                path.iter().filter(|byte| **byte == b'/').count() + usize::from(!path.is_empty());
            std::cmp::Reverse((depth, *path))
        });
        let mut top = None;
        for path in paths {
            let bytes = encode_tree(trees.remove(path).unwrap_or_default());
            let id = self.put(ObjectKind::Tree, &bytes, base)?;
            if path.is_empty() {
                top = Some(id);
            } else {
                let (above, name) = split(path);
                let entry = TreeEntry { mode: EntryMode::Directory, name: name.to_owned(), id };
                trees.entry(above).or_default().push(entry);
            }
        }
        Ok(top.expect("the top directory is always among the trees"))
    }

    /// Copies staged objects that the base does not reach; those that are not in `work/` are listed.
    fn staged(
        &mut self,
        git: &mut GitSide,
        in_work: &HashSet<ObjectId>,
    ) -> Result<Vec<TreeEntry>, GitError> {
        let mut listed: BTreeMap<ObjectId, EntryMode> = BTreeMap::new();
        let mut missing = Vec::new();
        for entry in &git.index.entries {
            let is_known = git.reachable.contains(&entry.id) || in_work.contains(&entry.id);
            if is_known || entry.mode == EntryMode::Repository || entry.intent_to_add {
                continue;
            }
            let Some(objects) = &git.objects else { continue };
            let mode = match entry.mode {
                EntryMode::Directory => EntryMode::Directory,
                EntryMode::File
                | EntryMode::Executable
                | EntryMode::Symlink
                | EntryMode::Repository => EntryMode::File,
            };
            if self.copy(objects, entry.id, &git.reachable, 0)? {
                listed.insert(entry.id, mode);
            } else {
                missing.push(entry.id.to_string());
            }
        }
        git.state.staged_missing = missing;
        let named = listed.into_iter();
        Ok(named
            .map(|(id, mode)| TreeEntry { mode, name: id.to_string().into_bytes(), id })
            .collect())
    }

    /// Copies an object and what it reaches; `false` if the repository lacks it.
    fn copy(
        &mut self,
        objects: &ObjectStore,
        id: ObjectId,
        base: &HashSet<ObjectId>,
        depth: usize,
    ) -> Result<bool, GitError> {
        if self.needs_no_copy(id, base) {
            return Ok(true);
        }
        self.go_on()?;
        let Ok((kind, bytes)) = objects.read(id) else { return Ok(false) };
        if kind == ObjectKind::Tree && depth < 200 {
            for entry in decode_tree(&bytes).unwrap_or_default() {
                if entry.mode != EntryMode::Repository
                    && !self.copy(objects, entry.id, base, depth + 1)?
                {
                    return Ok(false);
                }
            }
        }
        self.pack.add(kind, &bytes)?;
        Ok(true)
    }
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

fn mode_of(file: &WalkedFile) -> EntryMode {
    match (file.is_link, file.stat.mode & 0o100) {
        (true, _) => EntryMode::Symlink,
        (false, 0) => EntryMode::File,
        (false, _) => EntryMode::Executable,
    }
}

fn directory(name: &str, id: ObjectId) -> TreeEntry {
    TreeEntry { mode: EntryMode::Directory, name: name.into(), id }
}

fn file(name: &str, id: ObjectId) -> TreeEntry {
    TreeEntry { mode: EntryMode::File, name: name.into(), id }
}

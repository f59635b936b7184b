//! Takes one work tree of a snapshot: the top one, or a repository in it.
//!
//! Invariants
//! - UN1  The ref on the base commit is written before anything relies on it. Where it can't be written, nothing
//!   relies on that commit, and everything is copied.
//! - UN2  A nested repository that can't be read as one is taken as plain files, and its `.git` is listed as left out.
//! - UN3  Refs that can't be read mean that nothing is borrowed, and they are listed as left out. An index that can't be
//!   read means no snapshot of the top: which ignored files are tracked is not known then.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::path_text::escape;
use super::read_file::{self, FileRead};
use super::stat_cache::Known;
use super::state_file::StateFile;
use super::take::Taking;
use super::walk::{self, FileStat, WalkOrder, Walked, WalkedFile};
use super::{LeftOut, Why, base, borrowing, modes};
use crate::git::base_ref;
use crate::git::error::{At, GitError};
use crate::git::id_set::IdSet;
use crate::git::ignore::{Patterns, Rules};
use crate::git::index::{Checksum, Index};
use crate::git::object::{EntryMode, NamedEntry, ObjectId, ObjectKind, TreeEntry, encode_tree};
use crate::git::object_store::ObjectStore;
use crate::git::repository::{self, Repository, read_optional};

const MOST_INDEX: u64 = 500 << 20;
/// Of repositories in repositories.
const MOST_NESTED_DEPTH: usize = 8;
const MOST_NESTED: usize = 1000;

/// Where the cache has the indexes of work trees: a directory that no file is in.
const INDEXES: &[u8] = b"\0";
const INDEX: &[u8] = b"index";

pub struct UnitTaken {
    pub tree: ObjectId,
    pub base: Option<ObjectId>,
}

/// The git side of a work tree, read before its files are.
#[derive(Default)]
pub struct GitSide {
    pub objects: Option<ObjectStore>,
    base: Option<ObjectId>,
    /// What the base reaches.
    pub reachable: IdSet,
    /// It is the base of the snapshot before, and nothing has let its objects go since.
    is_base_as_it_was: bool,
    pub index: Index,
    index_bytes: Option<Vec<u8>>,
    /// The id of these bytes, if it is known, and what the index's file was.
    index_id: Option<ObjectId>,
    index_stat: Option<FileStat>,
    shared_bytes: Option<Vec<u8>>,
    /// Files of git's own that can't be read.
    left_out: Vec<LeftOut>,
    pub state: StateFile,
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
            Ok(repository) => self.git_side_or_none(repository, prefix, depth)?,
            Err(because) => GitSide::plain(because),
        };
        if prefix.is_empty() {
            self.cache.borrows_of(git.base);
        }
        let mut walked = self.walked(&fd, (repository.ok(), prefix), &git)?;
        let index = match &git.index_bytes {
            Some(bytes) => Some(self.index(bytes, prefix, &git)?),
            None => None,
        };
        self.files(&fd, prefix, &mut walked, &mut git)?;
        modes::describe(&mut git.state, &walked);
        let (nested, links) = self.nested(root, prefix, &walked, &mut git, depth)?;

        let mut tree = Vec::new();
        let work = self.write_trees(&walked.files, &links, &git.reachable)?;
        tree.push(directory("work", work));
        let staged = self.staged(&mut git, &walked)?;
        if !staged.is_empty() {
            let id = self.put(ObjectKind::Tree, &encode_tree(&staged), &git.reachable)?;
            tree.push(directory("staged", id));
        }
        if let Some(id) = index {
            tree.push(file("index", id));
        }
        if let Some(bytes) = &git.shared_bytes {
            let id = self.put(ObjectKind::Blob, bytes, &git.reachable)?;
            tree.push(file("sharedindex", id));
        }
        if !nested.is_empty() {
            let id = self.put(ObjectKind::Tree, &encode_tree(&nested), &git.reachable)?;
            tree.push(directory("nested", id));
        }
        git.state.form = 1;
        git.state.path = escape(prefix.strip_suffix(b"/").unwrap_or(prefix));
        let state = serde_json::to_vec(&git.state).map_err(std::io::Error::other).at(root)?;
        tree.push(file("state", self.put(ObjectKind::Blob, &state, &git.reachable)?));
        let tree = self.put(ObjectKind::Tree, &encode_tree(&tree), &git.reachable)?;
        Ok(UnitTaken { tree, base: git.base })
    }

    /// Stores the bytes of an index, unless they are known to be stored.
    fn index(&mut self, bytes: &[u8], prefix: &[u8], git: &GitSide) -> Result<ObjectId, GitError> {
        let id = match git.index_id {
            Some(id) => id,
            None => {
                self.has_new_index = true;
                self.put(ObjectKind::Blob, bytes, &git.reachable)?
            }
        };
        if let Some(stat) = &git.index_stat {
            self.cache.add((INDEXES, prefix), INDEX, stat, Known { id, is_borrowed: false });
        }
        Ok(id)
    }

    /// UN2
    fn git_side_or_none(
        &mut self,
        repository: &Repository,
        prefix: &[u8],
        depth: usize,
    ) -> Result<GitSide, GitError> {
        let refs = self.new_refs.len();
        match self.git_side(repository, prefix) {
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
            GitError::NotARepository(_)
            | GitError::Gone(_)
            | GitError::Unsupported(_)
            | GitError::Missing(_) => true,
            GitError::TooManyFiles(_)
            | GitError::TooManyPatterns(_)
            | GitError::TooManyBytes(_)
            | GitError::Locked(_)
            | GitError::InTheWay(_)
            | GitError::Replaced(_)
            | GitError::AnotherRepository(_)
            | GitError::NotEmpty(_)
            | GitError::NotElsewhere(_)
            | GitError::NotADirectory(_)
            | GitError::Interrupted
            | GitError::NoIndex(_) => false,
        }
    }

    fn git_side(&mut self, repository: &Repository, prefix: &[u8]) -> Result<GitSide, GitError> {
        // UN3
        let (head, mut left_out) = (repository.head(), Vec::new());
        if head.is_err() {
            left_out.push(LeftOut { path: ".git/HEAD".to_owned(), why: Why::Unreadable });
        }
        let head = head.unwrap_or_default();
        let objects = ObjectStore::open(&repository.objects_dir())?;
        let found = match head.commit {
            Some(commit) => self.borrow(repository, &objects, commit)?,
            None => None,
        };
        let base = found.as_ref().and(head.commit);
        let (reachable, was_known) = found.unwrap_or_default();
        let is_base_as_it_was = was_known && self.cached.borrowed_of() == base;
        let path = repository.index_path();
        let stat = || rustix::fs::stat(&path).ok().map(FileStat::from);
        let before = stat();
        let index_bytes = read_optional(&path, MOST_INDEX)?;
        let index_stat = index_bytes.as_ref().and_then(|_| stat());
        let known = self.cached.directory(&[INDEXES, prefix].concat());
        let known = index_stat.filter(|_| index_stat == before).and_then(|it| {
            let found = { known }.find(INDEX, &it).map(|known| known.id);
            found.filter(|id| self.needs_no_copy(*id, &reachable))
        });
        let checksum = if known.is_some() { Checksum::Known } else { Checksum::Verify };
        let mut shared_bytes = None;
        let index = match &index_bytes {
            None => Index::default(),
            Some(bytes) => Index::parse_as(&path, bytes, checksum, |name| {
                let shared = repository.git_dir.join(name);
                let bytes = read_optional(&shared, MOST_INDEX)?
                    .ok_or_else(|| GitError::damaged(&path, "its shared part is missing"))?;
                shared_bytes = Some(bytes.clone());
                Ok(bytes)
            })?,
        };
        let state = StateFile {
            repository: Some(escape(repository.common_dir.as_os_str().as_bytes())),
            head: Some(escape(head.text.as_bytes())).filter(|text| !text.is_empty()),
            head_commit: head.commit.map(|id| id.to_string()),
            base: base.map(|id| id.to_string()),
            operation: repository.operation().map(str::to_owned),
            index_modified_ns: index_stat.map(|stat| stat.modified_ns),
            shared_index: index.shared.clone(),
            ..StateFile::default()
        };
        let objects = Some(objects);
        Ok(GitSide {
            objects,
            base,
            reachable,
            is_base_as_it_was,
            index,
            index_bytes,
            index_id: known,
            index_stat: index_stat.filter(|_| index_stat == before),
            shared_bytes,
            left_out,
            state,
        })
    }

    /// What a commit reaches, so that it needs no copy, and whether that was known; nothing where it can't be relied on (UN1).
    fn borrow(
        &mut self,
        repository: &Repository,
        objects: &ObjectStore,
        commit: ObjectId,
    ) -> Result<Option<(IdSet, bool)>, GitError> {
        // A look leaves nothing behind, and nothing relies on what it saw.
        let is_look = self.pack.is_look();
        let kept = match is_look {
            true => Ok(base_ref::Kept::Before),
            false => base_ref::keep(repository, &self.owner, commit),
        };
        let kept = match kept {
            Ok(kept) => kept,
            Err(error) => {
                tracing::debug!(%error, "a ref can't be written; everything is copied");
                return Ok(None);
            }
        };
        if kept == base_ref::Kept::Now {
            self.new_refs.push((repository.common_dir.clone(), commit));
        }
        let (cache, go_on) = (self.store.base(commit), || (self.order.go_on)(self.files));
        let found = base::reachable(objects, commit, (kept, &cache), &go_on)?;
        let is_borrowed = is_look || borrowing::borrow(self.store, repository, &mut self.borrowed)?;
        let found = found.filter(|_| is_borrowed);
        if found.is_none() && kept == base_ref::Kept::Now {
            base_ref::release(&repository.common_dir, &self.owner, commit)?;
        }
        Ok(found)
    }

    fn walked(
        &self,
        root: &OwnedFd,
        (repository, prefix): (Option<&Repository>, &[u8]),
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
            cached: (&self.cached, prefix),
            is_base_as_it_was: git.is_base_as_it_was && prefix.is_empty(),
            is_kept: &|id| self.needs_no_copy(id, &git.reachable),
            sparse_blob: &sparse_blob,
            go_on: &|| (self.order.go_on)(self.files),
        };
        walk::walk(root, &order)
    }

    /// Stores the files; afterwards all that are listed are known.
    fn files(
        &mut self,
        root: &OwnedFd,
        prefix: &[u8],
        walked: &mut Walked,
        git: &mut GitSide,
    ) -> Result<(), GitError> {
        let mut left_out = walked.left_out.clone();
        left_out.append(&mut git.left_out);
        let is_as_cached = self.is_as_cached(prefix, walked, git);
        for file in &mut walked.files {
            self.see_file()?;
            let known = match file.known {
                Some(_) if is_as_cached => continue,
                Some(known) => known,
                None => match self.read(root, file, git)? {
                    Ok((stat, id)) => {
                        file.stat = stat;
                        Known { id, is_borrowed: git.reachable.contains(&id) }
                    }
                    Err(Some(why)) => {
                        left_out.push(LeftOut { path: escape(&file.path), why });
                        continue;
                    }
                    Err(None) => continue,
                },
            };
            file.known = Some(known);
            let (directory, name) = file.path.split_at(directory_length(&file.path));
            // What the cache tells to be borrowed is so of the top's base, and of no other one.
            let is_borrowed = match git.is_base_as_it_was {
                true => known.is_borrowed,
                false => git.reachable.contains(&known.id),
            };
            let known = Known { is_borrowed: is_borrowed && prefix.is_empty(), ..known };
            self.cache.add((prefix, directory), name, &file.stat, known);
        }
        walked.files.retain(|file| file.known.is_some());
        left_out.sort();
        let full = |left: &LeftOut| LeftOut { path: escape(prefix) + &left.path, why: left.why };
        self.left_out.extend(left_out.iter().map(full));
        git.state.left_out = left_out;
        Ok(())
    }

    /// Whether the new cache is to have the entries that the old one has, which is then taken as it is.
    fn is_as_cached(&mut self, prefix: &[u8], walked: &Walked, git: &GitSide) -> bool {
        let indexes = usize::from(git.index_id.is_some());
        let count = walked.files.len() + indexes;
        let is_as_cached = prefix.is_empty()
            && walked.nested.is_empty()
            && git.is_base_as_it_was
            && !self.has_new_index
            && count == self.cached.len()
            && walked.files.iter().all(|file| file.known.is_some());
        if is_as_cached {
            self.cache.keep(self.old_cache, count);
        }
        is_as_cached
    }

    /// Reads and stores one file; the error is why it is left out, or `None` if it is gone.
    fn read(
        &mut self,
        root: &OwnedFd,
        file: &WalkedFile,
        git: &mut GitSide,
    ) -> Result<Result<(FileStat, ObjectId), Option<Why>>, GitError> {
        self.read += 1;
        self.go_on()?;
        let (bytes, stat) = match read_file::read(root, file, self.order.most_file_bytes) {
            FileRead::Whole(bytes, stat) => (bytes, stat),
            FileRead::Torn(bytes, stat) => {
                git.state.torn.push(escape(&file.path));
                self.torn.push(escape(&file.path));
                // A time that no file has: it is read again next time.
                (bytes, FileStat { changed_ns: i64::MAX, ..stat })
            }
            FileRead::Gone => return Ok(Err(None)),
            FileRead::Unreadable => return Ok(Err(Some(Why::Unreadable))),
            FileRead::TooLarge => return Ok(Err(Some(Why::TooLarge))),
        };
        Ok(Ok((stat, self.put(ObjectKind::Blob, &bytes, &git.reachable)?)))
    }

    /// Takes the repositories in this one, each with a tree of its own.
    fn nested<'w>(
        &mut self,
        root: &Path,
        prefix: &[u8],
        walked: &'w Walked,
        git: &mut GitSide,
        depth: usize,
    ) -> Result<(Vec<TreeEntry>, Vec<NamedEntry<'w>>), GitError> {
        let (mut trees, mut links) = (Vec::new(), Vec::new());
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
                links.push((&**path, EntryMode::Repository, commit));
            }
        }
        Ok((trees, links))
    }
}

/// Of the directory of a path, with the `/` at its end.
fn directory_length(path: &[u8]) -> usize {
    memchr::memrchr(b'/', path).map_or(0, |at| at + 1)
}

fn directory(name: &str, id: ObjectId) -> TreeEntry {
    TreeEntry { mode: EntryMode::Directory, name: name.into(), id }
}

fn file(name: &str, id: ObjectId) -> TreeEntry {
    TreeEntry { mode: EntryMode::File, name: name.into(), id }
}

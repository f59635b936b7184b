//! A snapshot as it is stored: its work trees, their files and what is known about them.
//!
//! Invariants
//! - CN1  The bytes of an object have been held against its id.
//! - CN2  What the owner's repository has lost is listed as missing, and is not among the files. The rest is there.

use std::collections::BTreeMap;

use super::pack_writer::Overlay;
use super::path_text::unescape;
use super::state_file::StateFile;
use super::store::SnapshotStore;
use crate::git::error::GitError;
use crate::git::object::{EntryMode, ObjectId, ObjectKind, TreeEntry, decode_tree, tree_of_commit};
use crate::git::object_store::ObjectStore;

const MOST_DEPTH: usize = 250;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredFile {
    pub mode: EntryMode,
    pub id: ObjectId,
    /// Of the file, as in `chmod`; nothing for a link.
    pub permissions: u32,
}

/// One work tree of a snapshot.
#[derive(Debug)]
pub struct Unit {
    /// In the top work tree, with a `/` at its end unless it is the top.
    pub prefix: Vec<u8>,
    /// By path in this work tree. Other repositories are units of their own.
    pub files: BTreeMap<Vec<u8>, StoredFile>,
    pub state: StateFile,
    /// Paths in this work tree whose content is lost; a directory ends in `/`, and the whole work tree is `/`.
    pub missing: Vec<Vec<u8>>,
    pub index: Option<ObjectId>,
    pub shared_index: Option<ObjectId>,
}

#[derive(Debug)]
pub struct Contents {
    pub tree: ObjectId,
    /// The top first.
    pub units: Vec<Unit>,
    stores: Vec<ObjectStore>,
    overlay: Overlay,
}

impl Contents {
    pub fn open(store: &SnapshotStore, commit: ObjectId) -> Result<Contents, GitError> {
        if !store.has(commit) {
            return Err(GitError::Missing(commit));
        }
        let objects = store.objects()?;
        let bytes = objects.read_kind(commit, ObjectKind::Commit)?;
        let tree = tree_of_commit(&bytes)
            .ok_or_else(|| GitError::damaged(store.path(), "a snapshot has no tree"))?;
        let mut contents = Contents::of_tree(vec![objects], Overlay::new(), tree)?;
        contents.set_missing_aside();
        Ok(contents)
    }

    /// CN2. Where a base is there, so is what was borrowed.
    fn set_missing_aside(&mut self) {
        let stores = &self.stores;
        let has = |id: ObjectId| stores.iter().any(|store| store.has(id).unwrap_or(false));
        for unit in &mut self.units {
            let base = unit.state.base.as_deref().and_then(ObjectId::parse);
            if base.is_some_and(|base| !has(base)) {
                let lost = unit.files.extract_if(.., |_, file| !has(file.id));
                unit.missing.extend(lost.map(|(path, _)| path));
                unit.missing.sort();
            }
        }
    }

    /// What is lost, by its path below the top, escaped.
    pub fn missing(&self) -> Vec<String> {
        let of_unit = |unit: &Unit| -> Vec<String> {
            let full = unit.missing.iter().map(|path| [&*unit.prefix, path].concat());
            full.map(|path| super::escape(&path)).collect()
        };
        self.units.iter().flat_map(of_unit).collect()
    }

    pub(super) fn of_tree(
        stores: Vec<ObjectStore>,
        overlay: Overlay,
        tree: ObjectId,
    ) -> Result<Contents, GitError> {
        let mut contents = Contents { tree, units: Vec::new(), stores, overlay };
        contents.read_unit(tree, b"", 0)?;
        Ok(contents)
    }

    /// An object's bytes.
    pub fn read(&self, id: ObjectId) -> Result<Vec<u8>, GitError> {
        if let Some((_, bytes)) = self.overlay.get(&id) {
            return Ok(bytes.clone());
        }
        let mut missing = GitError::Missing(id);
        for store in &self.stores {
            match store.read(id) {
                Ok((_, bytes)) => return Ok(bytes),
                Err(error) => missing = error,
            }
        }
        Err(missing)
    }

    /// The files of all work trees, by their path below the top.
    pub fn files(&self) -> BTreeMap<Vec<u8>, StoredFile> {
        let units = self.units.iter();
        units
            .flat_map(|unit| {
                unit.files.iter().map(|(path, file)| ([&*unit.prefix, path].concat(), *file))
            })
            .collect()
    }

    fn entries(&self, tree: ObjectId) -> Result<Vec<TreeEntry>, GitError> {
        decode_tree(&self.read(tree)?).ok_or(GitError::Missing(tree))
    }

    fn read_unit(&mut self, tree: ObjectId, prefix: &[u8], depth: usize) -> Result<(), GitError> {
        if depth > MOST_DEPTH {
            return Err(GitError::Missing(tree));
        }
        let entries = self.entries(tree)?;
        let find = |name: &str| {
            entries.iter().find(|entry| entry.name == name.as_bytes()).map(|entry| entry.id)
        };
        let state = self.read(find("state").ok_or(GitError::Missing(tree))?)?;
        let state: StateFile =
            serde_json::from_slice(&state).map_err(|_| GitError::Missing(tree))?;
        let (mut files, mut missing) = (BTreeMap::new(), Vec::new());
        if let Some(work) = find("work") {
            let found = (&mut files, &mut missing);
            self.read_files(work, &mut Vec::new(), &state, found, 0)?;
        }
        let nested: Vec<(Vec<u8>, String)> = state
            .nested
            .iter()
            .filter_map(|(path, name)| Some((unescape(path)?, name.clone())))
            .collect();
        let trees = find("nested").map(|id| self.entries(id)).transpose()?.unwrap_or_default();
        let (index, shared_index) = (find("index"), find("sharedindex"));
        let prefix_of_unit = prefix.to_owned();
        self.units.push(Unit {
            prefix: prefix_of_unit,
            files,
            state,
            missing,
            index,
            shared_index,
        });
        for (path, name) in nested {
            let inner = trees.iter().find(|entry| entry.name == name.as_bytes());
            let inner = inner.ok_or(GitError::Missing(tree))?.id;
            self.read_unit(inner, &[prefix, &path, b"/"].concat(), depth + 1)?;
        }
        Ok(())
    }

    fn read_files(
        &self,
        tree: ObjectId,
        path: &mut Vec<u8>,
        state: &StateFile,
        (files, missing): (&mut BTreeMap<Vec<u8>, StoredFile>, &mut Vec<Vec<u8>>),
        depth: usize,
    ) -> Result<(), GitError> {
        if depth > MOST_DEPTH {
            return Err(GitError::Missing(tree));
        }
        let length = path.len();
        let Ok(entries) = self.entries(tree) else {
            missing.push(if path.is_empty() { b"/".to_vec() } else { path.clone() });
            return Ok(());
        };
        for entry in entries {
            path.extend_from_slice(&entry.name);
            match entry.mode {
                EntryMode::Directory => {
                    path.push(b'/');
                    self.read_files(entry.id, path, state, (files, missing), depth + 1)?;
                }
                // A unit of its own.
                EntryMode::Repository => {}
                EntryMode::File | EntryMode::Executable | EntryMode::Symlink => {
                    let permissions = permissions(state, path, entry.mode);
                    let file = StoredFile { mode: entry.mode, id: entry.id, permissions };
                    files.insert(path.clone(), file);
                }
            }
            path.truncate(length);
        }
        Ok(())
    }
}

/// What `chmod` would be told.
pub fn permissions(state: &StateFile, path: &[u8], mode: EntryMode) -> u32 {
    let (usual, default) = match mode {
        EntryMode::Symlink => return 0,
        EntryMode::File => (&state.file_mode, 0o644),
        EntryMode::Executable => (&state.executable_mode, 0o755),
        EntryMode::Directory | EntryMode::Repository => (&state.directory_mode, 0o755),
    };
    // Most trees have no other modes at all.
    let own = if state.modes.is_empty() { None } else { state.modes.get(&super::escape(path)) };
    u32::from_str_radix(own.unwrap_or(usual), 8).map_or(default, |mode| mode & 0o7777)
}

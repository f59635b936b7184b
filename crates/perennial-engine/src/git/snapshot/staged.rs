//! Copies what is staged and nowhere else.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use super::take::Taking;
use super::unit::GitSide;
use super::walk::Walked;
use crate::git::error::GitError;
use crate::git::id_set::{self, IdSet};
use crate::git::object::{EntryMode, ObjectId, ObjectKind, TreeEntry, decode_tree};
use crate::git::object_store::ObjectStore;

impl Taking<'_> {
    /// Copies staged objects that the base does not reach; those that are not in `work/` are listed.
    pub fn staged(
        &mut self,
        git: &mut GitSide,
        walked: &Walked,
    ) -> Result<Vec<TreeEntry>, GitError> {
        // All that is staged is in `work/`.
        if walked.as_staged == git.index.entries.len() {
            return Ok(Vec::new());
        }
        let in_work = OnceCell::new();
        let is_in_work = |id: &ObjectId| {
            let all = in_work.get_or_init(|| {
                let mut all = id_set::with_capacity(walked.files.len());
                all.extend(walked.files.iter().filter_map(|file| Some(file.known?.id)));
                all
            });
            all.contains(id)
        };
        let mut listed: BTreeMap<ObjectId, EntryMode> = BTreeMap::new();
        let mut missing = Vec::new();
        for entry in &git.index.entries {
            let is_known = git.reachable.contains(&entry.id) || is_in_work(&entry.id);
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
        base: &IdSet,
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

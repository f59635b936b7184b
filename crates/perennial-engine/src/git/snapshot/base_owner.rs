//! Under which name a store keeps base commits in owners' repositories: two homes have snapshots of one repository, and
//! what one drops the other still needs.
//!
//! The name and where the store is are in a file of it. A store that lies elsewhere now was copied, or its home was moved; one
//! without the file is of an earlier version, whose refs named no home. Such a store first writes refs of its own for
//! everything that it needs, before it relies on them.
//!
//! Invariants
//! - BW1  No two stores have one name: a copy takes another before it writes anything.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::drop::bases;
use super::store::{SnapshotStore, short, write_durably};
use crate::git::base_ref::{self, RefOwner};
use crate::git::error::{At, GitError};
use crate::git::object::ObjectId;
use crate::git::object_store::ObjectStore;
use crate::git::repository::read_optional;

const FILE: &str = "base-owner";
const MOST_BYTES: u64 = 8192;

/// The name, to be asked for by whoever holds the store's lock.
pub fn of(store: &SnapshotStore) -> Result<RefOwner, GitError> {
    let place = std::fs::canonicalize(store.path()).at(store.path())?;
    let path = store.path().join(FILE);
    let known = read_optional(&path, MOST_BYTES)?.and_then(|bytes| parse(&bytes));
    if let Some((owner, _)) = known.as_ref().filter(|(_, known)| *known == place) {
        return Ok(owner.clone());
    }
    let commits = store.commits()?;
    let has_earlier = match &known {
        Some((before, _)) => before.has_earlier,
        None => !commits.is_empty(),
    };
    let owner = RefOwner { name: name(&place)?, has_earlier };
    keep_again(store, &commits, &owner)?;
    let earlier = if has_earlier { "earlier\n" } else { "own\n" };
    let text = [owner.name.as_bytes(), b"\n", earlier.as_bytes(), place.as_os_str().as_bytes()];
    write_durably(&path, &text.concat())?;
    Ok(owner)
}

fn parse(bytes: &[u8]) -> Option<(RefOwner, PathBuf)> {
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let name = std::str::from_utf8(lines.next()?).ok()?.to_owned();
    let has_earlier = lines.next()? == b"earlier";
    let place = PathBuf::from(std::ffi::OsStr::from_bytes(lines.next()?));
    let is_name = name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then_some((RefOwner { name, has_earlier }, place))
}

/// Of the place, and of the directory itself: another may lie in its place one day.
fn name(place: &Path) -> Result<String, GitError> {
    let found = std::fs::metadata(place).at(place)?;
    let parts = [found.dev(), found.ino(), found.ctime().unsigned_abs(), found.ctime_nsec() as u64];
    let mut bytes = place.as_os_str().as_bytes().to_vec();
    parts.iter().for_each(|part| bytes.extend_from_slice(&part.to_le_bytes()));
    Ok(short(&bytes))
}

/// A repository that is gone or that can't be written keeps nothing: that is no reason to take no snapshots any more.
fn keep_again(
    store: &SnapshotStore,
    commits: &[ObjectId],
    owner: &RefOwner,
) -> Result<(), GitError> {
    let (objects, mut needed) = (store.objects()?, HashSet::new());
    for commit in commits {
        // One that is damaged must not cost the others theirs.
        if let Err(error) = bases(&objects, *commit, &mut needed) {
            tracing::warn!(%error, %commit, "the base of a snapshot is not known");
        }
    }
    for (common_dir, base) in needed {
        // What was reached from it may have gone while no ref kept it.
        let _ = std::fs::remove_file(store.base(base));
        let has = ObjectStore::open(&common_dir.join("objects")).and_then(|them| them.has(base));
        if !has.unwrap_or(false) {
            continue;
        }
        if let Err(error) = base_ref::keep_in(&common_dir, owner, base) {
            tracing::warn!(%error, "a ref that keeps the base of snapshots can't be written");
        }
    }
    Ok(())
}

//! What differs between two snapshots, or between one and the present.

use std::collections::BTreeMap;

use super::contents::{Contents, StoredFile};
use super::line_diff;
use super::path_text::escape;
use crate::git::error::GitError;
use crate::git::object::EntryMode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    Added,
    Deleted,
    Modified,
    /// The same content with another mode.
    Mode,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: Vec<u8>,
    pub kind: ChangeKind,
    old: Option<StoredFile>,
    new: Option<StoredFile>,
}

/// The paths that differ, in order.
pub fn compare(
    old: &BTreeMap<Vec<u8>, StoredFile>,
    new: &BTreeMap<Vec<u8>, StoredFile>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, before) in old {
        let kind = match new.get(path) {
            None => ChangeKind::Deleted,
            Some(after) if after == before => continue,
            Some(after) if after.id == before.id && is_link(*after) == is_link(*before) => {
                ChangeKind::Mode
            }
            Some(_) => ChangeKind::Modified,
        };
        let (old, new) = (Some(*before), new.get(path).copied());
        changes.push(Change { path: path.clone(), kind, old, new });
    }
    for (path, after) in new {
        if !old.contains_key(path) {
            let (kind, new) = (ChangeKind::Added, Some(*after));
            changes.push(Change { path: path.clone(), kind, old: None, new });
        }
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    changes
}

fn is_link(file: StoredFile) -> bool {
    file.mode == EntryMode::Symlink
}

/// How much of a patch is made.
#[derive(Debug, Clone, Copy)]
pub struct PatchLimits {
    /// A file that is larger is only named.
    pub file_bytes: usize,
    pub patch_bytes: usize,
}

impl Default for PatchLimits {
    fn default() -> PatchLimits {
        PatchLimits { file_bytes: 1 << 20, patch_bytes: 4 << 20 }
    }
}

/// A unified diff of the changes; the second half tells whether it was cut short.
pub fn patch(
    (old, new): (&Contents, &Contents),
    changes: &[Change],
    limits: PatchLimits,
) -> Result<(String, bool), GitError> {
    let mut out = String::new();
    for change in changes {
        if out.len() > limits.patch_bytes {
            return Ok((out, true));
        }
        let path = escape(&change.path);
        let content = |contents: &Contents, file: Option<StoredFile>| match file {
            None => Some(Vec::new()),
            Some(file) => {
                contents.read(file.id).ok().filter(|read| read.len() <= limits.file_bytes)
            }
        };
        out.push_str(&format!("diff a/{path} b/{path}\n"));
        describe_mode(&mut out, change);
        if change.kind == ChangeKind::Mode {
            continue;
        }
        let (before, after) = (content(old, change.old), content(new, change.new));
        match (before, after) {
            (Some(before), Some(after)) if is_text(&before) && is_text(&after) => {
                let name = |side: &str, file: Option<StoredFile>| match file {
                    Some(_) => format!("{side}/{path}"),
                    None => "/dev/null".to_owned(),
                };
                out.push_str(&format!("--- {}\n", name("a", change.old)));
                out.push_str(&format!("+++ {}\n", name("b", change.new)));
                line_diff::write(&mut out, &before, &after);
            }
            (Some(_), Some(_)) => out.push_str("binary files differ\n"),
            _ => out.push_str("files differ and are too large to show\n"),
        }
    }
    Ok((out, false))
}

fn describe_mode(out: &mut String, change: &Change) {
    let octal = |file: StoredFile| match file.mode {
        EntryMode::Symlink => "120000".to_owned(),
        EntryMode::File | EntryMode::Executable | EntryMode::Directory | EntryMode::Repository => {
            format!("100{:o}", file.permissions)
        }
    };
    match (change.old, change.new) {
        (Some(old), Some(new)) if octal(old) != octal(new) => {
            out.push_str(&format!("old mode {}\nnew mode {}\n", octal(old), octal(new)));
        }
        (None, Some(new)) => out.push_str(&format!("new file mode {}\n", octal(new))),
        (Some(old), None) => out.push_str(&format!("deleted file mode {}\n", octal(old))),
        (Some(_), Some(_)) | (None, None) => {}
    }
}

/// As git guesses it: no zero byte at the beginning.
fn is_text(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(8000)]).is_none()
}

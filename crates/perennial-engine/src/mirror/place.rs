//! Where a project's part of the mirror is: below the mirror's root, or in the project's own work tree, if its owner
//! said so (`perennial init`).
//!
//! Opens nothing there: whoever works in a tree could lead it anywhere by a link (`directory.rs`).

use std::fs;
use std::path::{Path, PathBuf};

use crate::regular_file::{self, Links};

/// The directory in a work tree.
pub const IN_PROJECT: &str = ".perennial";

/// A path is not longer.
const POINTER_BYTES_MAX: u64 = 4096;

/// Of one project's part: those that have a file for each agent or signal.
pub const SUBDIRECTORIES: [&str; 3] = ["identities", "work", "signals"];

/// A project's path as one directory name: readable, and unlike any other path's.
pub fn directory_name(project: &str) -> String {
    let tree = project.strip_suffix("/.git").unwrap_or(project);
    let last = tree.rsplit('/').next().unwrap_or_default();
    let readable: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(40)
        .collect();
    let readable = readable.trim_start_matches('.');
    // FNV-1a: enough to keep two projects of one name apart, and stable for ever.
    let hash = project.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{readable}-{:08x}", hash >> 32)
}

/// The file that says where a project's part is, if it is elsewhere.
pub fn pointer(root: &Path, project: &str) -> PathBuf {
    root.join(format!("{}.place", directory_name(project)))
}

/// The directory of a project.
pub(super) fn directory(root: &Path, project: &str) -> PathBuf {
    match regular_file::read_text(&pointer(root, project), Links::Refuse, POINTER_BYTES_MAX) {
        Ok(path) if Path::new(path.trim_end()).is_absolute() => PathBuf::from(path.trim_end()),
        Ok(_) | Err(_) => root.join(directory_name(project)),
    }
}

/// Where a file of a project's part is, from the directory of an agent.
pub fn path_from(root: &Path, project: &str, dir: &str, file: &str) -> String {
    let place = directory(root, project);
    let way = match Path::new(dir) {
        dir if place.starts_with(dir) => relative(dir, &place),
        // The way up from a link is that from where it leads to.
        dir => relative(&fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned()), &place),
    };
    way.join(file).to_string_lossy().into_owned()
}

/// The way from one absolute directory to another, up as far as needed.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(one, other)| one == other);
    let shared = shared.count();
    let up = from.components().skip(shared).map(|_| Path::new(".."));
    let down = to.components().skip(shared).map(|part| Path::new(part.as_os_str()));
    up.chain(down).map(Path::to_owned).collect()
}

/// All directories that there are.
pub(super) fn all(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let directory = |entry: fs::DirEntry| {
        let path = entry.path();
        match path.extension().is_some_and(|end| end == "place") {
            true => {
                let to = regular_file::read_text(&path, Links::Refuse, POINTER_BYTES_MAX).ok()?;
                Some(PathBuf::from(to.trim_end()))
            }
            false => Some(path),
        }
    };
    entries.filter_map(directory).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_from_one_directory_to_another() {
        for (from, to, way) in [
            ("/proj", "/proj/.perennial", ".perennial"),
            ("/proj/sub/deep", "/proj/.perennial", "../../.perennial"),
            ("/proj", "/home/me/mirror/proj-1", "../home/me/mirror/proj-1"),
            ("/", "/proj", "proj"),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), Path::new(way), "{from}");
        }
    }
}

//! What a snapshot's state tells of the modes of files and directories, and of empty directories.

use std::collections::BTreeMap;

use super::path_text::escape;
use super::state_file::StateFile;
use super::walk::Walked;

/// The modes that most have, and the others by path; a tree's entry only knows whether a file can be executed.
pub fn describe(state: &mut StateFile, walked: &Walked) {
    let of_files = |is_executable: bool| {
        let files = walked
            .files
            .iter()
            .filter(move |file| !file.is_link && (file.stat.mode & 0o100 != 0) == is_executable);
        files.map(|file| (&*file.path, file.stat.mode & 0o7777))
    };
    let directories = walked.directories.iter().map(|found| (&*found.path, found.mode & 0o7777));
    let StateFile { file_mode, executable_mode, directory_mode, modes, .. } = state;
    *file_mode = usual(of_files(false), 0o644, modes);
    *executable_mode = usual(of_files(true), 0o755, modes);
    *directory_mode = usual(directories, 0o755, modes);
    let bare = walked.directories.iter().filter(|found| found.is_bare);
    state.empty_directories = bare.map(|found| escape(&found.path)).collect();
    state.empty_directories.sort();
}

/// The mode that most have; the others are added by path.
fn usual<'a>(
    list: impl Iterator<Item = (&'a [u8], u32)> + Clone,
    default: u32,
    others: &mut BTreeMap<String, String>,
) -> String {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for (_, mode) in list.clone() {
        *counts.entry(mode).or_default() += 1;
    }
    let most = counts.iter().max_by_key(|(_, count)| **count).map_or(default, |(mode, _)| *mode);
    if counts.len() > 1 {
        let list = list.filter(|(_, mode)| *mode != most);
        others.extend(list.map(|(path, mode)| (escape(path), format!("{mode:o}"))));
    }
    format!("{most:o}")
}

//! What a snapshot's state tells of the modes of files and directories, and of empty directories.

use std::collections::BTreeMap;

use super::path_text::escape;
use super::state_file::StateFile;
use super::walk::Walked;

/// The modes that most have, and the others by path; a tree's entry only knows whether a file can be executed.
pub fn describe(state: &mut StateFile, walked: &Walked) {
    let files = walked.files.iter().filter(|file| !file.is_link);
    let (mut plain, mut executable) = (Vec::new(), Vec::new());
    for file in files {
        let list = if file.stat.mode & 0o100 == 0 { &mut plain } else { &mut executable };
        list.push((&*file.path, file.stat.mode & 0o7777));
    }
    let directories: Vec<_> =
        walked.directories.iter().map(|found| (&*found.path, found.mode & 0o7777)).collect();
    for (list, usual, into) in [
        (&plain, 0o644, &mut state.file_mode),
        (&executable, 0o755, &mut state.executable_mode),
        (&directories, 0o755, &mut state.directory_mode),
    ] {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for (_, mode) in list {
            *counts.entry(*mode).or_default() += 1;
        }
        let most =
            counts.into_iter().max_by_key(|(_, count)| *count).map_or(usual, |(mode, _)| mode);
        *into = format!("{most:o}");
        for (path, mode) in list.iter().filter(|(_, mode)| *mode != most) {
            state.modes.insert(escape(path), format!("{mode:o}"));
        }
    }
    let bare = walked.directories.iter().filter(|found| found.is_bare);
    state.empty_directories = bare.map(|found| escape(&found.path)).collect();
    state.empty_directories.sort();
}

//! Our copies of conversations, as files: how much room one takes, and its removal.
//!
//! Any program of the same user can write where copies lie. So no link is followed, names are only made as we make
//! them, and nothing is reached but by the directory that was opened. The vendors' own files are never touched.
//! Decides nothing: which copies go is the core's to say.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use perennial_core::conversation::ConversationId;
use perennial_core::name::Name;
use perennial_core::time::Time;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, statat, unlinkat};

use super::conversation::EARLIER_MAX;

/// How much there is of a conversation, and when it was last written, by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopySize {
    pub bytes: u64,
    pub written_at: Time,
    /// How many copies there are of before it began anew.
    pub earlier: u32,
}

/// What we have of a conversation; nothing if there is no file of it.
pub fn find(
    copies: &Path,
    harness: &str,
    conversation: &ConversationId,
) -> io::Result<Option<CopySize>> {
    let Some(directory) = opened(copies, harness)? else { return Ok(None) };
    let mut found: Option<CopySize> = None;
    let earlier = earlier_count(&directory, conversation)?;
    for name in names(conversation, earlier) {
        let seen = match statat(&directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(seen) => seen,
            Err(rustix::io::Errno::NOENT) => continue,
            Err(error) => return Err(error.into()),
        };
        if FileType::from_raw_mode(seen.st_mode) != FileType::RegularFile {
            continue;
        }
        let seconds = u64::try_from(seen.st_mtime).unwrap_or(0);
        let written_at = Time(seconds.saturating_mul(1_000_000));
        let bytes = u64::try_from(seen.st_size).unwrap_or(0);
        let known = found.unwrap_or(CopySize { bytes: 0, written_at, earlier });
        found = Some(CopySize {
            bytes: known.bytes + bytes,
            written_at: known.written_at.max(written_at),
            earlier,
        });
    }
    Ok(found)
}

/// Removes what we have of a conversation. What is gone already counts as removed; of several errors, the first is
/// told and the rest is removed all the same.
pub fn remove(copies: &Path, harness: &str, conversation: &ConversationId) -> io::Result<()> {
    let Some(directory) = opened(copies, harness)? else { return Ok(()) };
    let mut outcome = Ok(());
    let earlier = earlier_count(&directory, conversation)?;
    for name in names(conversation, earlier) {
        match unlinkat(&directory, name.as_str(), AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => outcome = outcome.and(Err(error.into())),
        }
    }
    outcome
}

/// The conversations that the files of this one could be taken for: an id may end like the name of an earlier copy.
pub fn namesakes(conversation: &ConversationId, earlier: u32) -> Vec<ConversationId> {
    let id = |number: u32| format!("{conversation}.earlier-{number}").parse().ok();
    (1..=earlier).filter_map(id).collect()
}

/// How many earlier copies there are: their numbers have no gaps.
fn earlier_count(directory: &OwnedFd, conversation: &ConversationId) -> io::Result<u32> {
    for number in 1..=EARLIER_MAX {
        let name = format!("{conversation}.earlier-{number}.jsonl");
        match statat(directory, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => {}
            Err(rustix::io::Errno::NOENT) => return Ok(number - 1),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(EARLIER_MAX)
}

/// The files of a conversation: those of before it began anew, the last first, so that one who is stopped leaves no gap;
/// the copy, what was put aside, and where the vendor had it.
fn names(conversation: &ConversationId, earlier: u32) -> Vec<String> {
    let earlier =
        (1..=earlier).rev().map(|number| format!("{conversation}.earlier-{number}.jsonl"));
    let others = [".jsonl", ".jsonl.nothing-said", ".place"];
    let others = others.map(|end| format!("{conversation}{end}"));
    earlier.chain(others).collect()
}

/// The directory of a harness's copies, unless it is not there or is something else.
fn opened(copies: &Path, harness: &str) -> io::Result<Option<OwnedFd>> {
    if harness.parse::<Name>().is_err() {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // The home is its owner's own: whoever keeps it elsewhere has a link to it.
    let Some(all) = directory(CWD, copies, flags)? else { return Ok(None) };
    directory(&all, Path::new(harness), flags | OFlags::NOFOLLOW)
}

fn directory(at: impl AsFd, path: &Path, flags: OFlags) -> io::Result<Option<OwnedFd>> {
    match openat(at, path, flags, Mode::empty()) {
        Ok(directory) => Ok(Some(directory)),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_conversation_goes_with_all_its_files_and_no_others() {
        let root = tempfile::tempdir().expect("a directory");
        let copies = root.path().join("conversations");
        let claude = copies.join("claude");
        fs::create_dir_all(&claude).expect("made");
        let own = ["a.jsonl", "a.earlier-1.jsonl", "a.place", "a.jsonl.nothing-said"];
        let others = ["ab.jsonl", "b.jsonl", "a.jsonl.bak", "a.earlier-4.jsonl"];
        for name in own.iter().chain(&others) {
            fs::write(claude.join(name), "12345").expect("written");
        }
        let outside = root.path().join("outside");
        fs::write(&outside, "kept").expect("written");
        std::os::unix::fs::symlink(&outside, claude.join("a.earlier-2.jsonl")).expect("linked");
        let id: ConversationId = "a".parse().expect("an id");
        let found = find(&copies, "claude", &id).expect("read").expect("there");
        assert_eq!(found.bytes, 20);
        assert_eq!(find(&copies, "codex", &id).expect("read"), None);
        assert_eq!(find(&copies, "../conversations/claude", &id).expect("read"), None);
        remove(&copies, "claude", &id).expect("removed");
        remove(&copies, "claude", &id).expect("again");
        assert_eq!(find(&copies, "claude", &id).expect("read"), None);
        let left: Vec<_> = others.iter().filter(|name| claude.join(name).exists()).collect();
        assert_eq!(left.len(), others.len());
        assert!(outside.exists(), "a link is removed, not what it leads to");
        assert!(namesakes(&id, 1).contains(&"a.earlier-1".parse().expect("an id")));
    }

    #[test]
    fn a_linked_directory_is_not_entered() {
        let root = tempfile::tempdir().expect("a directory");
        let copies = root.path().join("conversations");
        let elsewhere = root.path().join("elsewhere");
        fs::create_dir_all(&copies).expect("made");
        fs::create_dir_all(&elsewhere).expect("made");
        fs::write(elsewhere.join("a.jsonl"), "kept").expect("written");
        std::os::unix::fs::symlink(&elsewhere, copies.join("claude")).expect("linked");
        let id: ConversationId = "a".parse().expect("an id");
        assert_eq!(find(&copies, "claude", &id).expect("read"), None);
        remove(&copies, "claude", &id).expect("nothing to do");
        assert!(elsewhere.join("a.jsonl").exists());
    }
}

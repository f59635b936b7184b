//! A copy of a conversation under an id of its own, which goes on by itself; and what such a copy of the
//! vendor's needs of its original.
//!
//! Decides nothing. Reads the original only, and never writes over a file.
//!
//! Invariants
//! - FK1  The original stays as it is, whoever has it open meanwhile.
//! - FK2  The copy is whole lines, and is there under its name only when all of them are.
//! - FK3  A conversation whose vendor refers to an original is kept, and put back, together with it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use memchr::memmem;
use perennial_core::conversation::ConversationId;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::conversation;
use super::preset::Preset;
use crate::regular_file::{self, Links};

/// A chain of forks is followed for so long; longer ones are a circle, or nobody's.
const PARENTS_MAX: usize = 64;

/// A conversation can't be copied.
#[derive(Debug, thiserror::Error)]
pub enum Unforked {
    #[error("its preset does not say how a conversation is copied")]
    NotWithHarness,
    #[error("there is no transcript of it")]
    Gone,
    #[error("its transcript does not name the conversation where the preset says")]
    Unnamed,
    #[error("its transcript can't be copied")]
    Unwritten(#[from] io::Error),
}

/// Where conversations lie: the vendor's, and our copies.
#[derive(Debug, Clone, Copy)]
pub struct Shelf<'a> {
    pub preset: &'a Preset,
    pub vendor_home: &'a Path,
    pub copies: &'a Path,
}

/// Copies a conversation to where the vendor looks for one of this id and directory; returns the new file.
pub fn fork(
    shelf: Shelf<'_>,
    dir: &str,
    original: &ConversationId,
    new: &ConversationId,
) -> Result<PathBuf, Unforked> {
    let Shelf { preset, vendor_home, copies } = shelf;
    let keys = preset.conversation.fork_keys.as_ref().ok_or(Unforked::NotWithHarness)?;
    let theirs = conversation::find(preset, vendor_home, original);
    let ours = Some(conversation::copy(&preset.name, copies, original)).filter(|p| p.is_file());
    let remembered = || conversation::remembered_place(preset, vendor_home, copies, original);
    let placed = preset.conversation.transcript.place(vendor_home, dir, new);
    let beside = || {
        let named = theirs.clone().or_else(remembered)?;
        renamed(preset, vendor_home, &named, new)
    };
    let target = placed.or_else(beside).ok_or(Unforked::Gone)?;
    let source = theirs.as_ref().or(ours.as_ref()).ok_or(Unforked::Gone)?;
    if let Some(parent) = target.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    let unfinished = target.with_extension("perennial-fork");
    let _leftover = fs::remove_file(&unfinished);
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    let copied = copy_lines(regular_file::open(source, Links::Follow)?, &mut copy, |line| {
        replaced(line, keys, original, new)
    });
    match copied {
        Ok(count) if count > 0 || keys.is_empty() => named(&unfinished, &target)?,
        copied => {
            let _nothing_else = fs::remove_file(&unfinished);
            return Err(copied.map_or_else(Unforked::Unwritten, |_| Unforked::Unnamed));
        }
    }
    Ok(target)
}

/// Gives a whole copy its name, durably, unless there is a file of that name: then nothing of the copy stays.
fn named(unfinished: &Path, target: &Path) -> io::Result<()> {
    let renamed = renameat_with(CWD, unfinished, CWD, target, RenameFlags::NOREPLACE);
    let renamed = match renamed.map_err(io::Error::from) {
        // Not every file system can; a second name never replaces a file either.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            fs::hard_link(unfinished, target).and_then(|()| fs::remove_file(unfinished))
        }
        renamed => renamed,
    };
    if renamed.is_err() {
        let _nothing_else = fs::remove_file(unfinished);
    }
    renamed?;
    let synced = target.parent().map_or(Ok(()), |dir| File::open(dir)?.sync_all());
    synced.inspect_err(|_| {
        let _nothing_else = fs::remove_file(target);
    })
}

/// The conversations that this one refers to, the nearest first.
pub fn parents(shelf: Shelf<'_>, id: &ConversationId) -> Vec<ConversationId> {
    let Shelf { preset, vendor_home, copies } = shelf;
    let mut found: Vec<ConversationId> = Vec::new();
    let mut of = id.clone();
    while found.len() < PARENTS_MAX {
        let theirs = conversation::find(preset, vendor_home, &of);
        let file = theirs.unwrap_or_else(|| conversation::copy(&preset.name, copies, &of));
        match preset.dialect.parent_of(&file) {
            Some(parent) if parent != *id && !found.contains(&parent) => {
                found.push(parent.clone());
                of = parent;
            }
            Some(_) | None => break,
        }
    }
    found
}

/// Copies what a conversation refers to beside our copy of it (FK3). `copy` brings one file up to date.
pub fn keep_parents(
    shelf: Shelf<'_>,
    id: &ConversationId,
    copy: impl Fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let Shelf { preset, vendor_home, copies } = shelf;
    for parent in parents(shelf, id) {
        if let Some(theirs) = conversation::find(preset, vendor_home, &parent) {
            copy(&theirs, &conversation::copy(&preset.name, copies, &parent))?;
            conversation::remember_place(preset, vendor_home, copies, &parent, &theirs)?;
        }
    }
    Ok(())
}

/// Puts back what a conversation refers to and the vendor has lost (FK3).
pub fn restore_parents(shelf: Shelf<'_>, dir: &str, id: &ConversationId) -> io::Result<()> {
    let Shelf { preset, vendor_home, copies } = shelf;
    for parent in parents(shelf, id) {
        if conversation::find(preset, vendor_home, &parent).is_none() {
            conversation::restore(preset, vendor_home, copies, dir, &parent)?;
        }
    }
    Ok(())
}

/// The same file name, for another conversation.
fn renamed(
    preset: &Preset,
    vendor_home: &Path,
    path: &Path,
    new: &ConversationId,
) -> Option<PathBuf> {
    // Names that have only part of an id have the same part of the other one.
    let named = preset.conversation.transcript.conversation_of(vendor_home, path)?;
    let part = new.as_str().get(..named.len()).unwrap_or(new.as_str());
    let (before, after) = path.file_name()?.to_str()?.rsplit_once(&named)?;
    Some(path.with_file_name(format!("{before}{part}{after}")))
}

/// Copies whole lines, each as `change` makes it; returns how many were changed.
fn copy_lines(
    from: File,
    to: &mut File,
    change: impl Fn(&[u8]) -> Option<Vec<u8>>,
) -> io::Result<u64> {
    let (mut from, mut to) = (BufReader::new(from), BufWriter::new(to));
    let (mut line, mut changed) = (Vec::new(), 0);
    loop {
        line.clear();
        from.read_until(b'\n', &mut line)?;
        // FK2: the last line may be in the middle of being written.
        if line.last() != Some(&b'\n') {
            break;
        }
        match change(&line) {
            Some(other) => {
                changed += 1;
                to.write_all(&other)?;
            }
            None => to.write_all(&line)?,
        }
    }
    to.flush()?;
    to.get_ref().sync_all()?;
    Ok(changed)
}

/// The line with the new id where a key has the old one. Inside of a text the quotes would be escaped.
fn replaced(
    line: &[u8],
    keys: &[String],
    original: &ConversationId,
    new: &ConversationId,
) -> Option<Vec<u8>> {
    memmem::find(line, original.as_str().as_bytes())?;
    let mut text = String::from_utf8(line.to_vec()).ok()?;
    for key in keys {
        for colon in [":", ": "] {
            let named = |id: &ConversationId| format!("\"{key}\"{colon}\"{id}\"");
            text = text.replace(&named(original), &named(new));
        }
    }
    (text.as_bytes() != line).then(|| text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ConversationId {
        text.parse().expect("an id")
    }

    /// A home of the vendor with these files, and a place for our copies.
    fn home(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("below the root")).expect("made");
            fs::write(path, text).expect("written");
        }
        root
    }

    fn forked(harness: &str, root: &Path, from: &str, to: &str) -> Result<String, Unforked> {
        let preset = Preset::load(Path::new("/proc/none"), harness).expect("built in");
        let copies = root.join("copies");
        let shelf = Shelf { preset: &preset, vendor_home: root, copies: &copies };
        let path = fork(shelf, "/w", &id(from), &id(to))?;
        let below = path.strip_prefix(root).expect("below").display().to_string();
        Ok(format!("{below}: {}", fs::read_to_string(path).expect("there")))
    }

    #[test]
    fn a_copy_has_its_own_id_and_name_and_the_original_stays() {
        let line = r#"{"sessionId":"old","text":"\"sessionId\":\"old\""}"#;
        let text = format!("{line}\n{{\"a\":1}}\n{{\"torn");
        let root = home(&[("projects/-elsewhere/old.jsonl", &text)]);
        let expected = r#"{"sessionId":"new","text":"\"sessionId\":\"old\""}"#;
        assert_eq!(
            forked("claude", root.path(), "old", "new").expect("forked"),
            format!("projects/-w/new.jsonl: {expected}\n{{\"a\":1}}\n")
        );
        let original = root.path().join("projects/-elsewhere/old.jsonl");
        assert_eq!(fs::read_to_string(original).expect("there"), text);
        let again = forked("claude", root.path(), "old", "new");
        assert!(matches!(again, Err(Unforked::Unwritten(_))), "nothing is written over");
        let files = fs::read_dir(root.path().join("projects/-w")).expect("there").count();
        assert_eq!(files, 1, "and nothing is left");
        let gone = forked("claude", root.path(), "never", "new-2");
        assert!(matches!(gone, Err(Unforked::Gone)), "{gone:?}");
    }

    #[test]
    fn names_that_have_part_of_an_id_have_part_of_the_new_one() {
        let (from, to) =
            ("11111111-2222-4333-8444-555555555555", "aaaaaaaa-2222-4333-8444-555555555555");
        let path = ".gemini/tmp/w/chats/session-2026-11-17T07-47-11111111.jsonl";
        let root = home(&[(path, &format!("{{\"sessionId\":\"{from}\"}}\n"))]);
        assert_eq!(
            forked("gemini", root.path(), from, to).expect("forked"),
            format!("{}: {{\"sessionId\":\"{to}\"}}\n", path.replace("11111111", "aaaaaaaa"))
        );
    }

    /// Whoever makes the file while the copy is written keeps it.
    #[test]
    fn a_file_that_came_meanwhile_is_not_written_over() {
        let root = home(&[("copy.perennial-fork", "ours"), ("copy.jsonl", "theirs")]);
        let path = |name: &str| root.path().join(name);
        let refused = named(&path("copy.perennial-fork"), &path("copy.jsonl"));
        assert_eq!(refused.expect_err("refused").kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(path("copy.jsonl")).expect("there"), "theirs");
        assert!(!path("copy.perennial-fork").exists());
    }

    /// A vendor that writes its ids elsewhere one day would mix the two up.
    #[test]
    fn a_transcript_that_does_not_name_itself_is_not_copied() {
        let root = home(&[("projects/-w/old.jsonl", "{\"session\":\"old\"}\n")]);
        let refused = forked("claude", root.path(), "old", "new");
        assert!(matches!(refused, Err(Unforked::Unnamed)), "{refused:?}");
        assert_eq!(fs::read_dir(root.path().join("projects/-w")).expect("there").count(), 1);
    }

    #[test]
    fn what_a_fork_refers_to_is_kept_and_put_back_with_it() {
        let day = "sessions/2026/11/17/rollout-2026-11-17T07-46-20";
        let meta = |id: &str, from: &str| {
            format!(
                "{{\"ordinal\":0,\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"forked_from_id\":{from}}}}}\n"
            )
        };
        let files = [("c", "\"b\""), ("b", "\"a\""), ("a", "null")];
        let files = files.map(|(id, from)| (format!("{day}-{id}.jsonl"), meta(id, from)));
        let named: Vec<(&str, &str)> =
            files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        let root = home(&named);
        let preset = Preset::load(Path::new("/proc/none"), "codex").expect("built in");
        let copies = root.path().join("copies");
        fs::create_dir_all(copies.join("codex")).expect("made");
        let shelf = Shelf { preset: &preset, vendor_home: root.path(), copies: &copies };
        let copy = |from: &Path, to: &Path| fs::copy(from, to).map(|_| ());
        keep_parents(shelf, &id("c"), copy).expect("kept");
        for (path, _) in &files[1..] {
            fs::remove_file(root.path().join(path)).expect("lost");
        }
        restore_parents(shelf, "/w", &id("c")).expect("restored");
        for (path, text) in &files {
            assert_eq!(fs::read_to_string(root.path().join(path)).expect("there"), *text);
        }
    }
}

//! Where a vendor's record of a conversation is, and how one that the vendor lost is put back.
//!
//! Paths are the preset's rules. Our copies lie in `<copies>/<harness>/<id>.jsonl`. A file of the
//! vendor's that exists is never written; one that holds nothing is put aside.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_core::conversation::{ConversationId, Whereabouts};

use super::preset::{ConversationFiles, Preset};

/// A transcript that is larger holds a conversation.
const UNBEGUN_BYTES_MAX: u64 = 256 << 10;

/// The vendor's directory, for an agent with this home and these variables.
pub fn home<'a>(
    files: &ConversationFiles,
    home: &Path,
    variable: impl Fn(&str) -> Option<&'a OsStr>,
) -> PathBuf {
    let moved = files.home_variable.as_deref().and_then(variable).filter(|dir| !dir.is_empty());
    moved.map_or_else(|| home.join(&files.home), PathBuf::from)
}

/// The directories that a conversation is, or will be, written to.
pub fn directories(
    preset: &Preset,
    vendor_home: &Path,
    dir: &str,
    conversation: &ConversationId,
) -> Vec<PathBuf> {
    let rule = &preset.conversation.transcript;
    let place = rule.find(vendor_home, conversation);
    let Some(transcript) = place.or_else(|| rule.place(vendor_home, dir, conversation)) else {
        return vec![rule.base(vendor_home)];
    };
    let own = transcript.parent().map(Path::to_owned);
    own.into_iter().chain(preset.dialect.subagent_directories(&transcript)).collect()
}

/// One file of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFile {
    pub path: PathBuf,
    /// The vendor's id.
    pub conversation: String,
}

/// All files of all conversations that the vendor has, those of subagents included, conversations in
/// the order in which they were begun: a fork comes after its original. What can't be listed is left
/// out.
pub fn all(preset: &Preset, vendor_home: &Path) -> Vec<TranscriptFile> {
    let begun = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        found.created().or_else(|_| found.modified()).ok()
    };
    let found = preset.conversation.transcript.all(vendor_home).into_iter();
    let mut found: Vec<_> = found.map(|(path, id)| (begun(&path), path, id)).collect();
    found.sort();
    let mut files = Vec::new();
    for (_, path, conversation) in found {
        let subagents = preset.dialect.subagents(&path);
        let file = |path| TranscriptFile { path, conversation: conversation.clone() };
        files.extend([path].into_iter().chain(subagents).map(file));
    }
    files
}

/// Where a conversation lies, for an agent that works in `dir` and has the conversations `own`.
pub fn whereabouts(
    preset: &Preset,
    vendor_home: &Path,
    dir: &str,
    own: &[ConversationId],
    conversation: &ConversationId,
) -> Whereabouts {
    let rule = &preset.conversation.transcript;
    let Some(found) = rule.find(vendor_home, conversation) else { return Whereabouts::Nowhere };
    // Vendors name the directory as the kernel does, without links.
    let physical = fs::canonicalize(dir).ok();
    let dirs = [Some(dir), physical.as_deref().and_then(Path::to_str)];
    let is_placed = dirs.into_iter().flatten().any(|dir| {
        // A rule without directories tells configurations apart, and no more.
        rule.place(vendor_home, dir, conversation).is_none_or(|place| place.is_file())
    });
    // The vendor may shorten a long name.
    let is_beside = |own: &ConversationId| {
        rule.find(vendor_home, own).is_some_and(|own| own.parent() == found.parent())
    };
    if is_placed || own.iter().any(is_beside) {
        Whereabouts::AmongOwn
    } else {
        Whereabouts::Elsewhere
    }
}

/// Whether anything was said in a conversation that has this transcript. In doubt it was.
pub fn is_begun(preset: &Preset, transcript: &Path) -> bool {
    if fs::metadata(transcript).map_or(true, |file| file.len() > UNBEGUN_BYTES_MAX) {
        return true;
    }
    fs::read(transcript).map_or(true, |bytes| preset.dialect.is_begun(&bytes))
}

/// Takes a transcript out of the vendor's sight: its id can be begun again.
pub fn put_aside(transcript: &Path) -> io::Result<()> {
    fs::rename(transcript, transcript.with_extension("jsonl.nothing-said"))
}

/// Where our copy of a conversation is, if there is one.
pub fn copy(harness: &str, copies: &Path, conversation: &ConversationId) -> PathBuf {
    copies.join(harness).join(format!("{conversation}.jsonl"))
}

/// Keeps beside our copy where the vendor had the conversation, where its rule does not say that.
pub fn remember_place(
    preset: &Preset,
    vendor_home: &Path,
    copies: &Path,
    conversation: &ConversationId,
    theirs: &Path,
) -> io::Result<()> {
    let rule = &preset.conversation.transcript;
    let note = place_note(&preset.name, copies, conversation);
    let is_known = rule.place(vendor_home, "", conversation).is_some() || note.is_file();
    match theirs.strip_prefix(vendor_home).ok().and_then(Path::to_str).filter(|_| !is_known) {
        Some(place) => fs::write(note, place),
        None => Ok(()),
    }
}

fn place_note(harness: &str, copies: &Path, conversation: &ConversationId) -> PathBuf {
    copies.join(harness).join(format!("{conversation}.place"))
}

/// What was kept counts only if the vendor's rule means that path.
fn remembered_place(
    preset: &Preset,
    vendor_home: &Path,
    copies: &Path,
    conversation: &ConversationId,
) -> Option<PathBuf> {
    let note = fs::read_to_string(place_note(&preset.name, copies, conversation)).ok()?;
    let theirs = vendor_home.join(note);
    let of = preset.conversation.transcript.conversation_of(vendor_home, &theirs)?;
    (of == conversation.as_str()).then_some(theirs)
}

/// Puts our copy where the vendor looks for it; `false` if we have none, or if only the vendor could
/// say where that is.
pub fn restore(
    preset: &Preset,
    vendor_home: &Path,
    copies: &Path,
    dir: &str,
    conversation: &ConversationId,
) -> io::Result<bool> {
    let ours = copy(&preset.name, copies, conversation);
    if !ours.is_file() {
        return Ok(false);
    }
    let rule = &preset.conversation.transcript;
    let placed = rule.place(vendor_home, dir, conversation);
    let remembered = || remembered_place(preset, vendor_home, copies, conversation);
    let Some(theirs) = placed.or_else(remembered) else { return Ok(false) };
    if let Some(parent) = theirs.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    // By rename: a transcript that exists is whole.
    let unfinished = theirs.with_extension("perennial-copy");
    let _leftover = fs::remove_file(&unfinished);
    copy_file(&ours, &unfinished)?;
    fs::rename(unfinished, theirs)?;
    Ok(true)
}

/// Never over another file.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_of_another_directory_lies_elsewhere() {
        let root = tempfile::tempdir().expect("a directory");
        let preset = Preset::load(root.path(), "claude").expect("built in");
        let id = |text: &str| text.parse::<ConversationId>().expect("an id");
        for file in [
            "-here/same.jsonl",
            "-there/theirs.jsonl",
            "-shortened/own.jsonl",
            "-shortened/beside.jsonl",
        ] {
            let file = root.path().join("projects").join(file);
            fs::create_dir_all(file.parent().expect("below the root")).expect("made");
            fs::write(file, "").expect("written");
        }
        let lies =
            |named: &str| whereabouts(&preset, root.path(), "/here", &[id("own")], &id(named));
        assert_eq!(lies("new"), Whereabouts::Nowhere);
        assert_eq!(lies("same"), Whereabouts::AmongOwn);
        assert_eq!(lies("beside"), Whereabouts::AmongOwn);
        assert_eq!(lies("theirs"), Whereabouts::Elsewhere);
    }
}

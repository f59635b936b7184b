//! Where a vendor's record of a conversation is, and how one that the vendor lost is put back.
//!
//! Paths are the preset's rules. Our copies lie in `<copies>/<harness>/<id>.jsonl`. A file of the
//! vendor's that exists is never written; one that holds nothing is put aside.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_core::conversation::{ConversationId, Whereabouts};

use super::preset::{ConversationFiles, Preset};
use crate::regular_file::{self, Links};

/// A transcript that is larger holds a conversation.
const UNBEGUN_BYTES_MAX: u64 = 8 << 20;
/// As often as a conversation that begins anew leaves a copy of its own; a further one replaces the last.
pub(super) const EARLIER_MAX: u32 = 1000;
/// A longer one is not looked through for a start that was cut off.
const MENDED_BYTES_MAX: u64 = 256 << 20;

/// The vendor's directory, for an agent with this home and these variables.
pub fn home<'a>(
    files: &ConversationFiles,
    home: &Path,
    variable: impl Fn(&str) -> Option<&'a OsStr>,
) -> PathBuf {
    let moved = files.home_variable.as_deref().and_then(variable).filter(|dir| !dir.is_empty());
    moved.map_or_else(|| home.join(&files.home), PathBuf::from)
}

/// The vendor's file of a conversation, whichever directory it was begun in. Where names hold part
/// of the id only, the files themselves say whose they are; of several, the first one is what grows.
pub fn find(preset: &Preset, vendor_home: &Path, conversation: &ConversationId) -> Option<PathBuf> {
    let rule = &preset.conversation.transcript;
    if !rule.is_abbreviated() {
        return rule.find(vendor_home, conversation);
    }
    let is_its_own =
        |path: &PathBuf| preset.dialect.conversation_of(path).as_ref() == Some(conversation);
    rule.fitting(vendor_home, conversation).into_iter().rev().find(is_its_own)
}

/// The directories that a conversation is, or will be, written to.
pub fn directories(
    preset: &Preset,
    vendor_home: &Path,
    dir: &str,
    conversation: &ConversationId,
) -> Vec<PathBuf> {
    let rule = &preset.conversation.transcript;
    let place = find(preset, vendor_home, conversation);
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
    let named = |path: &Path, name: String| {
        let id = preset.dialect.conversation_of(path);
        id.map_or(name, |id| id.to_string())
    };
    let found = found.map(|(path, name)| (begun(&path), named(&path, name), path));
    let mut found: Vec<_> = found.map(|(begun, id, path)| (begun, path, id)).collect();
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
    let Some(found) = find(preset, vendor_home, conversation) else {
        return Whereabouts::Nowhere;
    };
    // Vendors name the directory as the kernel does, without links.
    let physical = fs::canonicalize(dir).ok();
    let dirs = [Some(dir), physical.as_deref().and_then(Path::to_str)];
    let is_placed = dirs.into_iter().flatten().any(|dir| {
        // A rule without directories tells configurations apart, and no more.
        rule.place(vendor_home, dir, conversation).is_none_or(|place| place.is_file())
    });
    // The vendor may shorten a long name.
    let is_beside = |own: &ConversationId| {
        find(preset, vendor_home, own).is_some_and(|own| own.parent() == found.parent())
    };
    if is_placed || own.iter().any(is_beside) {
        Whereabouts::AmongOwn
    } else {
        Whereabouts::Elsewhere
    }
}

/// Whether a conversation that has this transcript holds anything that its vendor resumes. In doubt it does.
pub fn is_begun(preset: &Preset, transcript: &Path) -> bool {
    let bytes = regular_file::read(transcript, Links::Follow, UNBEGUN_BYTES_MAX);
    bytes.map_or(true, |bytes| preset.dialect.is_begun(&bytes))
}

/// Takes a transcript out of the vendor's sight: its id can be begun again. Nothing that was put aside before is lost.
pub fn put_aside(transcript: &Path) -> io::Result<()> {
    let aside = |number| transcript.with_extension(format!("jsonl.aside-{number}"));
    let free = (1..EARLIER_MAX).map(aside).find(|path| !path.exists());
    fs::rename(transcript, free.unwrap_or_else(|| aside(EARLIER_MAX)))
}

/// Puts our copy of a conversation that begins anew aside: what was said is still shown. Copies grow from
/// their own length on, so a copy must not begin with another file.
pub fn put_copy_aside(
    harness: &str,
    copies: &Path,
    conversation: &ConversationId,
) -> io::Result<()> {
    let ours = copy(harness, copies, conversation);
    if !ours.is_file() {
        return Ok(());
    }
    let earlier = |number| earlier_copy(harness, copies, conversation, number);
    // The oldest ones stay, whatever comes.
    let free = (1..EARLIER_MAX).map(earlier).find(|path| !path.exists());
    fs::rename(&ours, free.unwrap_or_else(|| earlier(EARLIER_MAX)))
}

/// Our copies of what was said before the conversation began anew, oldest first.
pub fn earlier_copies(harness: &str, copies: &Path, conversation: &ConversationId) -> Vec<PathBuf> {
    let earlier = |number| earlier_copy(harness, copies, conversation, number);
    (1..=EARLIER_MAX).map(earlier).take_while(|path| path.is_file()).collect()
}

fn earlier_copy(harness: &str, copies: &Path, of: &ConversationId, number: u32) -> PathBuf {
    copies.join(harness).join(format!("{of}.earlier-{number}.jsonl"))
}

/// Takes back a start of the vendor's that was cut off and left it without the conversation. The file as it
/// was is put aside. Not while a session may be in that very start.
pub fn take_back_cut_off_start(
    preset: &Preset,
    copies: &Path,
    conversation: &ConversationId,
    theirs: &Path,
) -> io::Result<()> {
    // Most vendors need no look: a transcript may be long, and everybody's next session waits meanwhile.
    if !preset.dialect.has_cut_off_starts() {
        return Ok(());
    }
    let bytes = regular_file::read(theirs, Links::Follow, MENDED_BYTES_MAX);
    let Ok(bytes) = bytes else { return Ok(()) };
    let Some(end) = preset.dialect.cut_off_at(&bytes) else { return Ok(()) };
    let unfinished = theirs.with_extension("perennial-copy");
    let _leftover = fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(&bytes[..end])?;
    file.sync_all()?;
    put_aside(theirs)?;
    fs::rename(&unfinished, theirs)?;
    // Our copy is brought up to the vendor's file from its own length on.
    let ours = copy(&preset.name, copies, conversation);
    match fs::metadata(&ours) {
        Ok(file) if file.len() > end as u64 => put_aside(&ours),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Puts files of a conversation aside that hold nothing, besides the one that grows. A vendor whose clean-up
/// takes such a file for a broken one deletes all files of the conversation with it.
pub fn put_doubles_aside(
    preset: &Preset,
    vendor_home: &Path,
    conversation: &ConversationId,
) -> io::Result<()> {
    if !preset.conversation.transcript.is_abbreviated() {
        return Ok(());
    }
    let Some(own) = find(preset, vendor_home, conversation) else { return Ok(()) };
    for path in preset.conversation.transcript.fitting(vendor_home, conversation) {
        let is_its_own = preset.dialect.conversation_of(&path).as_ref() == Some(conversation);
        if path != own && is_its_own && !is_begun(preset, &path) {
            put_aside(&path)?;
        }
    }
    Ok(())
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
    if rule.place(vendor_home, "", conversation).is_some() {
        return Ok(());
    }
    // A session that begins the conversation anew may do so in another place.
    let is_noted = |place: &&str| fs::read_to_string(&note).is_ok_and(|noted| noted == **place);
    let place = theirs.strip_prefix(vendor_home).ok().and_then(Path::to_str);
    match place.filter(|place| !is_noted(place)) {
        Some(place) => fs::write(note, place),
        None => Ok(()),
    }
}

fn place_note(harness: &str, copies: &Path, conversation: &ConversationId) -> PathBuf {
    copies.join(harness).join(format!("{conversation}.place"))
}

/// What was kept counts only if the vendor's rule means that path.
pub(super) fn remembered_place(
    preset: &Preset,
    vendor_home: &Path,
    copies: &Path,
    conversation: &ConversationId,
) -> Option<PathBuf> {
    let note = fs::read_to_string(place_note(&preset.name, copies, conversation)).ok()?;
    let theirs = vendor_home.join(note);
    let of = preset.conversation.transcript.conversation_of(vendor_home, &theirs)?;
    let is_its_own = match preset.conversation.transcript.is_abbreviated() {
        true => conversation.as_str().starts_with(&of),
        false => of == conversation.as_str(),
    };
    is_its_own.then_some(theirs)
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
    // What lies there is none of this conversation: it would have been found.
    if theirs.exists() {
        put_aside(&theirs)?;
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
    io::copy(&mut regular_file::open(from, Links::Refuse)?, &mut target)?;
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

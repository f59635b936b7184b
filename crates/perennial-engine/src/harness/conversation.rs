//! Where a vendor's record of a conversation is, and how one that the vendor lost is put back.
//!
//! Our copies lie in `<copies>/<harness>/<id>.jsonl`, and beside it `<id>/`, as the vendor has them.
//! A file of the vendor's that exists is never written; one that holds nothing is put aside.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_core::conversation::ConversationId;

use super::preset::{ConversationFiles, Dialect, Preset};
use crate::transcript;

/// A transcript that is larger holds a conversation.
const UNBEGUN_BYTES_MAX: u64 = 256 << 10;

/// Directories are copied this deep: what the vendor nests is one level.
const DEPTH: u32 = 4;

/// The vendor's directory, for an agent with this home and these variables.
pub fn home<'a>(
    files: &ConversationFiles,
    home: &Path,
    variable: impl Fn(&str) -> Option<&'a OsStr>,
) -> PathBuf {
    let moved = files.home_variable.as_deref().and_then(variable).filter(|dir| !dir.is_empty());
    moved.map_or_else(|| home.join(&files.home), PathBuf::from)
}

/// Where the vendor would put the transcript of a conversation in this directory.
pub fn transcript(
    preset: &Preset,
    vendor_home: &Path,
    dir: &str,
    conversation: &ConversationId,
) -> PathBuf {
    let named = preset.conversation.transcript.replace("{conversation}", conversation.as_str());
    vendor_home.join(named.replace("{dir}", &directory_name(dir)))
}

/// The transcript of a conversation, whichever directory it was begun in.
pub fn find(preset: &Preset, vendor_home: &Path, conversation: &ConversationId) -> Option<PathBuf> {
    let named = preset.conversation.transcript.replace("{conversation}", conversation.as_str());
    let Some((before, after)) = named.split_once("{dir}") else {
        let path = vendor_home.join(named);
        return path.is_file().then_some(path);
    };
    // `{dir}` is one component, alone: `projects/{dir}/x.jsonl`.
    let after = after.trim_start_matches('/');
    let all = fs::read_dir(vendor_home.join(before)).ok()?;
    all.flatten().map(|entry| entry.path().join(after)).find(|path| path.is_file())
}

/// Whether anything was said in a conversation that has this transcript. In doubt it was.
pub fn is_begun(preset: &Preset, transcript: &Path) -> bool {
    if fs::metadata(transcript).map_or(true, |file| file.len() > UNBEGUN_BYTES_MAX) {
        return true;
    }
    let Ok(bytes) = fs::read(transcript) else { return true };
    match preset.dialect {
        Dialect::Claude => transcript::claude::is_begun(&bytes),
    }
}

/// Takes a transcript out of the vendor's sight: its id can be begun again.
pub fn put_aside(transcript: &Path) -> io::Result<()> {
    fs::rename(transcript, transcript.with_extension("jsonl.nothing-said"))
}

/// Where our copy of a conversation is, if there is one.
pub fn copy(preset: &Preset, copies: &Path, conversation: &ConversationId) -> PathBuf {
    copies.join(&preset.name).join(format!("{conversation}.jsonl"))
}

/// Puts our copy where the vendor looks for it; `false` if we have none.
pub fn restore(
    preset: &Preset,
    vendor_home: &Path,
    copies: &Path,
    dir: &str,
    conversation: &ConversationId,
) -> io::Result<bool> {
    let ours = copy(preset, copies, conversation);
    if !ours.is_file() {
        return Ok(false);
    }
    let theirs = transcript(preset, vendor_home, dir, conversation);
    if let Some(parent) = theirs.parent() {
        private_directory(parent)?;
    }
    let beside = (ours.with_extension(""), theirs.with_extension(""));
    if beside.0.is_dir() {
        copy_directory(&beside.0, &beside.1, DEPTH)?;
    }
    // Last, and by rename: a transcript that exists is whole.
    let unfinished = theirs.with_extension("perennial-copy");
    let _leftover = fs::remove_file(&unfinished);
    copy_file(&ours, &unfinished)?;
    fs::rename(unfinished, theirs)?;
    Ok(true)
}

/// A directory as the vendor names it, character by character as JavaScript counts them.
fn directory_name(dir: &str) -> String {
    let plain = |unit: u16| u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_alphanumeric());
    dir.encode_utf16().map(|unit| if plain(unit) { unit as u8 as char } else { '-' }).collect()
}

fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn copy_directory(from: &Path, to: &Path, depth: u32) -> io::Result<()> {
    private_directory(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() && depth > 0 {
            copy_directory(&entry.path(), &target, depth - 1)?;
        } else if kind.is_file() && !target.exists() {
            copy_file(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Never over another file.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    io::copy(&mut fs::File::open(from)?, &mut target)?;
    Ok(())
}

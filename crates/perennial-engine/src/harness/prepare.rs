//! Makes of a launch and an opening what a session is started with: argv, environment, files.
//!
//! The files are the session's own. The owner's settings stay in force; ours are added by argument.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use perennial_core::conversation::{ConversationId, FirstPrompt, Opening};
use perennial_core::launch::Launch;

use super::conversation;
use super::fork::{self, Shelf};
use super::preset::Preset;
use super::template::{Slot, Unfilled};

/// The kernel's limit for one argument, its last zero byte aside.
const ARGUMENT_BYTES: usize = 128 * 1024 - 1;

/// Where a session is prepared.
#[derive(Debug, Clone, Copy)]
pub struct SessionFiles<'a> {
    /// For the session's own files; made if absent. Not the directory whose creation claims the
    /// session's number.
    pub session_dir: &'a Path,
    /// The home directory that the session will see.
    pub home: &'a Path,
    /// The agent's environment.
    pub variables: &'a [(OsString, OsString)],
    /// This program, for hooks.
    pub exe: &'a Path,
    /// Where our copies of conversations are, by harness.
    pub copies: &'a Path,
}

impl<'a> SessionFiles<'a> {
    pub fn variable(&self, name: &str) -> Option<&'a OsStr> {
        // The last one counts, as it does for the kernel's caller who sets it twice.
        let same = |pair: &&(OsString, OsString)| pair.0 == name;
        self.variables.iter().rev().find(same).map(|(_, value)| value.as_os_str())
    }
}

/// What a session is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    pub argv: Vec<String>,
    /// Set after the others are removed.
    pub env_set: BTreeMap<String, String>,
    pub env_remove: Vec<String>,
    pub continuity: Continuity,
}

/// What a session is told first, in words; they are made when they are needed.
#[derive(Clone, Copy)]
pub struct FirstWords<'a> {
    /// An earlier session of the agent got something done.
    pub has_worked: bool,
    /// Where the work stood in a few lines, before what this closes them with.
    pub note: &'a dyn Fn(&str) -> String,
    /// All that is known of the work.
    pub briefing: &'a dyn Fn() -> String,
}

impl fmt::Debug for FirstWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstWords").field("has_worked", &self.has_worked).finish_non_exhaustive()
    }
}

impl FirstWords<'_> {
    /// For a session that no other one came before.
    pub const NONE: FirstWords<'static> =
        FirstWords { has_worked: false, note: &str::to_owned, briefing: &String::new };
}

/// What became of the conversation that the session was to take up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Continuity {
    /// It begins with this session.
    Begun,
    /// The vendor has it.
    Kept,
    /// The vendor had lost it; our copy is in its place.
    Restored,
    /// Nobody has it, or it was never written: it begins anew under the same id.
    Gone,
}

/// A session can't be started as it is wanted.
#[derive(Debug, thiserror::Error)]
pub enum Unprepared {
    #[error("a bare command needs no preparation")]
    Bare,
    #[error("no permission mode `{word}`; known modes: {}", known.join(", "))]
    NoSuchMode { word: String, known: Vec<String> },
    #[error("the argument {0} is reserved for Perennial")]
    Reserved(String),
    #[error("the prompt has {0} bytes; the limit is {ARGUMENT_BYTES}")]
    PromptTooLong(usize),
    #[error("the prompt contains a NUL byte")]
    PromptWithZero,
    #[error(transparent)]
    Unfilled(#[from] Unfilled),
    #[error("the user's settings set `{0}`, so the session could not be followed")]
    HooksDisabled(&'static str),
    #[error("{} can't be written into a settings file: it is not UTF-8", .0.display())]
    NotText(PathBuf),
    #[error("can't write {}", path.display())]
    Unwritten { path: PathBuf, source: io::Error },
    #[error("can't restore the transcript of conversation {conversation}")]
    Unrestored { conversation: ConversationId, source: io::Error },
}

/// The real argv, environment and files of a session. Asked again, it gives the same.
pub fn prepare(
    preset: &Preset,
    launch: &Launch,
    opening: &Opening,
    place: &SessionFiles<'_>,
    words: &FirstWords<'_>,
) -> Result<Prepared, Unprepared> {
    let (conversation, is_resumed) = match opening {
        Opening::Bare => return Err(Unprepared::Bare),
        Opening::Fresh(conversation) | Opening::Anew { conversation, .. } => (conversation, false),
        Opening::Resume { conversation, .. } => (conversation, true),
    };
    let extra = launch.argv.get(1..).unwrap_or_default();
    if let Some(argument) = preset.reserved_among(extra) {
        return Err(Unprepared::Reserved(argument.to_owned()));
    }
    let vendor_home =
        conversation::home(&preset.conversation, place.home, |name| place.variable(name));
    let continuity = match is_resumed {
        false => Continuity::Begun,
        true => continuity(preset, &vendor_home, place, &launch.dir, conversation)?,
    };
    let is_lost = continuity == Continuity::Gone;
    let prompt = match opening.first_prompt(is_lost, words.has_worked) {
        FirstPrompt::Nothing => None,
        FirstPrompt::OfLaunch => launch.options.prompt.clone(),
        FirstPrompt::GoOn => Some((words.note)(&preset.resume_prompt)),
        FirstPrompt::Briefing => Some((words.briefing)()),
    };
    let wiring = preset.dialect.wire(preset, launch, place, &vendor_home)?;
    let mut values = wiring.values;
    values.insert(Slot::Extra, extra.to_vec());
    values.insert(Slot::Conversation, vec![conversation.to_string()]);
    values.insert(Slot::Permission, permission(preset, launch, wiring.owner_has_mode)?);
    values.extend(launch.options.model.clone().map(|model| (Slot::Model, vec![model])));
    values.extend(checked(prompt)?.map(|prompt| (Slot::Prompt, vec![prompt])));
    let template = match continuity {
        Continuity::Begun | Continuity::Gone => &preset.argv.start,
        Continuity::Kept | Continuity::Restored => &preset.argv.resume,
    };
    let mut argv = vec![launch.argv.first().unwrap_or(&preset.program).clone()];
    argv.extend(template.fill(&values)?);
    let mut env_set = preset.environment.set.clone();
    env_set.extend(wiring.environment);
    if launch.options.trust {
        env_set.extend(preset.environment.trust.clone());
    }
    Ok(Prepared { argv, env_set, env_remove: preset.environment.scrub.clone(), continuity })
}

fn continuity(
    preset: &Preset,
    vendor_home: &Path,
    place: &SessionFiles<'_>,
    dir: &str,
    id: &ConversationId,
) -> Result<Continuity, Unprepared> {
    let unrestored = |source| Unprepared::Unrestored { conversation: id.clone(), source };
    let shelf = Shelf { preset, vendor_home, copies: place.copies };
    let with_parents = || fork::restore_parents(shelf, dir, id).map_err(unrestored);
    if let Some(transcript) = conversation::find(preset, vendor_home, id) {
        if conversation::is_begun(preset, &transcript) {
            // Prepared before: what lies there may be written by this very session.
            if !place.session_dir.exists() {
                conversation::take_back_cut_off_start(preset, place.copies, id, &transcript)
                    .map_err(unrestored)?;
            }
            with_parents()?;
            return Ok(Continuity::Kept);
        }
        if place.session_dir.exists() {
            return Ok(Continuity::Gone);
        }
        conversation::put_aside(&transcript).map_err(unrestored)?;
    }
    let ours = conversation::copy(&preset.name, place.copies, id);
    let has_copy = ours.is_file() && conversation::is_begun(preset, &ours);
    let restored = has_copy
        && conversation::restore(preset, vendor_home, place.copies, dir, id).map_err(unrestored)?;
    if restored {
        return with_parents().map(|()| Continuity::Restored);
    }
    // Asked again, the session may have begun to write: its copy stays.
    if !place.session_dir.exists() {
        conversation::put_copy_aside(&preset.name, place.copies, id).map_err(unrestored)?;
    }
    Ok(Continuity::Gone)
}

fn permission(
    preset: &Preset,
    launch: &Launch,
    owner_has_mode: bool,
) -> Result<Vec<String>, Unprepared> {
    let asked = launch.options.permission_mode.as_ref();
    let default = preset.permission.default.as_ref().filter(|_| !owner_has_mode);
    let Some(word) = asked.or(default) else { return Ok(Vec::new()) };
    preset.mode(word).map(|mode| mode.args.clone()).ok_or_else(|| Unprepared::NoSuchMode {
        word: word.clone(),
        known: preset.permission.modes.iter().map(|mode| mode.word.clone()).collect(),
    })
}

/// A prompt that fits into an argument.
fn checked(prompt: Option<String>) -> Result<Option<String>, Unprepared> {
    match &prompt {
        Some(text) if text.len() > ARGUMENT_BYTES => Err(Unprepared::PromptTooLong(text.len())),
        Some(text) if text.contains('\0') => Err(Unprepared::PromptWithZero),
        Some(_) | None => Ok(prompt),
    }
}

/// Writes a file of the session's, for its owner only, and gives its path.
pub(super) fn write(dir: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, Unprepared> {
    let path = dir.join(name);
    let unfinished = dir.join(format!("{name}.new"));
    let written = || -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        // A leftover may have another mode; ours is set at creation only.
        let _absent = std::fs::remove_file(&unfinished);
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(bytes)?;
        std::fs::rename(&unfinished, &path)
    };
    match written() {
        Ok(()) => Ok(path),
        Err(source) => Err(Unprepared::Unwritten { path, source }),
    }
}

//! `hook` (hidden): an agent CLI calls it at its own events. One round trip; it never blocks the CLI.
//!
//! Fails open: without a daemon it prints nothing and ends with 0. What the agent CLI said is kept beside its
//! session for the next daemon, the beginning of it and as long as there is room; what can't be kept is counted.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use perennial_api::home::HOOKS_MISSED_BYTES_MAX;
use perennial_api::query::HARNESS_INPUT_BYTES_MAX;
use perennial_api::{Client, ClientError, ExitCode, Home, Response, client};
use perennial_core::id::SessionId;
use perennial_engine::host::directory::HolderDirectory;
use perennial_engine::host::monotonic::{self, Moment};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

use crate::cli::context::Context;
use crate::cli::failure::VerbResult;
use crate::unheard_hook::{UNHEARD_HOOKS_BYTES_MAX, UnheardHook};

/// An agent CLI waits for its hooks, so this is bounded. Longer than the daemon has a compaction wait for a checkpoint.
const PATIENCE: Duration = Duration::from_secs(3);
/// What is left of it for the daemon, however long the input took.
const LEAST: Duration = Duration::from_millis(100);
const LARGEST_PIECE: usize = 64 << 10;

/// Tell the daemon what an agent CLI does
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The harness's own name of the event
    event: String,
    /// A file with the command, as a JSON list, that the harness would have called instead
    #[arg(long, value_name = "FILE")]
    then: Option<PathBuf>,
    /// What the harness says; read from stdin if absent
    input: Option<String>,
}

impl Args {
    /// The words as every harness writes them, read without the whole tree of verbs, which would
    /// take a fifth of a call's time. Anything else is for the tree to read.
    pub fn plain(words: impl Iterator<Item = OsString>) -> Option<Args> {
        let mut words = words.skip(1);
        if words.next()? != "hook" {
            return None;
        }
        let event = words.next()?.into_string().ok()?;
        let is_name = !event.is_empty() && event.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (is_name && words.next().is_none()).then_some(Args { event, then: None, input: None })
    }
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let (at, until) = (called_at(), monotonic::now() + PATIENCE);
    if let Some(then) = &args.then {
        call_instead(then, args.input.as_deref());
    }
    let read = match &args.input {
        Some(given) => Ok(given.clone().into_bytes()),
        None => input(until),
    };
    let session = session();
    let query = [
        ("event", Some(args.event.as_str())),
        ("session", session.as_deref()),
        ("at", Some(at.as_str())),
    ];
    let path = client::path(&["hook"], &query);
    let left = until.saturating_sub(monotonic::now());
    let client = context.client.clone().patience(left.max(LEAST));
    match read.map(|input| (told(&client, &path, &input), input)) {
        Ok((Ok(answer), _)) => {
            let mut output = io::stdout().lock();
            let _ = output.write_all(&answer.body).and_then(|()| output.flush());
        }
        Ok((Err(_), input)) => {
            let call = UnheardHook::new(&args.event, &at, &input);
            let session = session.as_deref().and_then(|mark| mark.parse().ok());
            let is_kept = session.is_some_and(|session| keep(&context.home, session, &call));
            if !is_kept {
                note(&context.home, &args.event);
            }
        }
        Err(_) => note(&context.home, &args.event),
    }
    Ok(ExitCode::Done)
}

/// Calls what our own call stands in the place of, with the same last argument. Nobody waits for it, as
/// nobody would have waited.
fn call_instead(file: &Path, input: Option<&str>) {
    let words = std::fs::read(file).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let words: Vec<String> = words.unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else { return };
    let mut command = Command::new(program);
    command.args(arguments).args(input).stdin(Stdio::null()).stdout(Stdio::null());
    // One that can't be run is its owner's to mend; the harness would not have said so either.
    let _ = command.stderr(Stdio::null()).spawn();
}

/// A daemon that is being replaced may have heard it and not answered. A fact that is heard twice counts
/// once, so it is told again.
fn told(client: &Client, path: &str, input: &[u8]) -> Result<Response, ClientError> {
    match client.post_bytes(path, input) {
        Err(ClientError::Broken(_)) => client.post_bytes(path, input),
        answer => answer,
    }
}

/// What the harness says, if it says all of it in time.
fn input(until: Moment) -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let mut input = Vec::new();
    let mut piece = vec![0; LARGEST_PIECE];
    while input.len() < HARNESS_INPUT_BYTES_MAX {
        let left = until.saturating_sub(monotonic::now());
        let limit =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let mut awaited = [PollFd::new(&stdin, PollFlags::IN)];
        if retry_on_intr(|| poll(&mut awaited, Some(&limit)))? == 0 {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match retry_on_intr(|| rustix::io::read(&stdin, &mut piece[..]))? {
            0 => break,
            count => input.extend_from_slice(&piece[..count]),
        }
    }
    input.truncate(HARNESS_INPUT_BYTES_MAX);
    Ok(input)
}

/// When the harness called: before its input is read, which it may give late. In microseconds.
pub fn called_at() -> String {
    Timestamp::now().as_microsecond().to_string()
}

/// The mark of the session that calls.
pub fn session() -> Option<String> {
    std::env::var("PERENNIAL_SESSION").ok()
}

/// Keeps what was not heard beside its session, for the next daemon to hear; whether there was room.
fn keep(home: &Home, session: SessionId, call: &UnheardHook) -> bool {
    let holder = HolderDirectory::new(&home.holders(), session.agent);
    let path = holder.unheard_hooks(session.number);
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    let Ok(mut file) = file else { return false };
    let has_room = file.metadata().is_ok_and(|meta| meta.len() < UNHEARD_HOOKS_BYTES_MAX);
    // In one write: hooks of a session may be called at the same time.
    has_room && file.write_all(call.line().as_bytes()).is_ok()
}

/// Keeps that an event was not heard; the daemon tells of it when it comes back.
fn note(home: &Home, event: &str) {
    let session = session().unwrap_or_default();
    let line = serde_json::json!({ "event": event, "session": session });
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(home.hooks_missed());
    if let Ok(mut file) = file
        && file.metadata().is_ok_and(|meta| meta.len() < HOOKS_MISSED_BYTES_MAX)
    {
        let _ = writeln!(file, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_of_a_harness_are_read_without_the_tree() {
        let plain = |words: &[&str]| {
            let words = ["perennial"].iter().chain(words).map(OsString::from);
            Args::plain(words).map(|args| args.event)
        };
        assert_eq!(plain(&["hook", "Stop"]).as_deref(), Some("Stop"));
        for words in [
            &["hook"][..],
            &["hook", "--help"],
            &["hook", ""],
            &["hook", "Stop", "x"],
            &["ls"],
            &[],
        ] {
            assert_eq!(plain(words), None, "{words:?}");
        }
    }
}

//! What a session printed: read from its recording, and from its holder as it comes.
//!
//! Only fetches: what becomes of the bytes is for an `OutputReader` to say.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use perennial_api::answer::Recording;
use perennial_api::request::Mode;
use perennial_api::{ClientError, ExitCode, client};
use perennial_engine::host::attach::{Attachment, News};
use rustix::event::{PollFd, PollFlags, poll};

use super::super::attach;
use super::Args;
use super::lines::LinePrinter;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::next_session::{Then, next_session};
use crate::cli::problems;
use crate::cli::render::text::plain;
use crate::cli::terminal::visit::ended;

const PAGE: &str = "1048576";

/// Who makes something of the bytes.
pub trait OutputReader {
    /// The bytes of a session follow.
    fn begin(&mut self, recording: &Recording) -> Result<(), Failure>;
    /// Bytes from `offset` on; without it they were printed just now.
    fn take(&mut self, offset: Option<u64>, bytes: &[u8]) -> Result<(), Failure>;
    /// What has come so far is all for now: whoever follows wants to see it.
    fn settle(&mut self) -> Result<(), Failure>;
    /// No more of this session comes.
    fn end(&mut self) -> Result<(), Failure>;
}

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let mut reader: Box<dyn OutputReader + '_> = match args.raw {
        true => Box::new(Bytes),
        false => Box::new(LinePrinter::new(args, context)),
    };
    let read = recorded(args, reader.as_mut(), context)?;
    if args.follow {
        reader.settle()?;
        follow(&args.target, read, reader.as_mut(), context)?;
    } else {
        reader.end()?;
    }
    Ok(ExitCode::Done)
}

/// What was kept of a session's output; of the newest unless one is named.
pub fn recording(
    target: &str,
    session: Option<u64>,
    context: &Context,
) -> Result<Recording, ClientError> {
    let session = session.map(|number| number.to_string());
    let query = [("session", session.as_deref())];
    context.client.get(&client::path(&["agents", target, "recording"], &query))?.read()
}

/// How far a recording was read.
#[derive(Debug, Clone, Copy)]
struct Progress {
    session: u64,
    offset: u64,
}

fn recorded(
    args: &Args,
    reader: &mut dyn OutputReader,
    context: &Context,
) -> Result<Progress, Failure> {
    let recording = recording(&args.target, args.session, context)?;
    if recording.start > 0 {
        eprintln!("note: {} bytes that were printed before this are gone", recording.start);
    }
    reader.begin(&recording)?;
    // The session stays the same, whatever happens meanwhile.
    let session = recording.session.to_string();
    let mut offset = recording.start;
    loop {
        let from = offset.to_string();
        let query = [
            ("session", Some(session.as_str())),
            ("from", Some(from.as_str())),
            ("max", Some(PAGE)),
        ];
        let answer =
            context.client.get(&client::path(&["agents", &args.target, "logs"], &query))?;
        let number = |name| answer.header(name).and_then(|text| text.parse::<u64>().ok());
        let first = number("x-offset").unwrap_or(offset);
        reader.take(Some(first), &answer.body)?;
        let end = number("x-end").unwrap_or(offset);
        if answer.body.is_empty() || end <= offset {
            return Ok(Progress { session: recording.session, offset: offset.max(end) });
        }
        offset = end;
    }
}

fn follow(
    target: &str,
    mut read: Progress,
    reader: &mut dyn OutputReader,
    context: &Context,
) -> Result<(), Failure> {
    loop {
        let ticket = attach::ticket(target, Mode::Watch, context)?;
        // A session that began meanwhile is shown from its beginning.
        let from = if ticket.session == read.session { read.offset } else { 0 };
        if ticket.session != read.session {
            reader.end()?;
            reader.begin(&recording(target, Some(ticket.session), context)?)?;
        }
        let socket = Path::new(&ticket.socket);
        let mut attachment = Attachment::watch(socket, &ticket.ticket, Some(from))
            .map_err(|error| problems::holder_unreachable(target, &error))?;
        let end = watch(target, &mut attachment, reader)?;
        let session = attachment.session();
        eprintln!("note: session {session} of {} ended: {end}", plain(target));
        let id = &ticket.agent.id;
        match next_session(id, session, Duration::MAX, context, |_| ()) {
            Then::Running => read = Progress { session: u64::from(session), offset: 0 },
            Then::Over(_) => return reader.end(),
        }
    }
}

/// Reads what comes until the holder goes; how the session ended.
fn watch(
    target: &str,
    attachment: &mut Attachment,
    reader: &mut dyn OutputReader,
) -> Result<String, Failure> {
    loop {
        // A kill signal ends this process by its default: nothing is to be restored.
        if poll(&mut [PollFd::new(&*attachment, PollFlags::IN)], None)
            == Err(rustix::io::Errno::INTR)
        {
            continue;
        }
        let news =
            attachment.read().map_err(|error| problems::holder_unreachable(target, &error))?;
        for one in news {
            match one {
                News::Output(bytes) => reader.take(None, &bytes)?,
                News::Session(number) => {
                    eprintln!("note: session {number} of {} started", plain(target));
                }
                News::Ended(end) => return Ok(ended(end)),
                News::TooSlow => {
                    return Err(problems::too_slow(target).into());
                }
            }
        }
        reader.settle()?;
    }
}

/// The bytes as they were recorded.
struct Bytes;

impl OutputReader for Bytes {
    fn begin(&mut self, _: &Recording) -> Result<(), Failure> {
        Ok(())
    }

    fn take(&mut self, _: Option<u64>, bytes: &[u8]) -> Result<(), Failure> {
        Ok(io::stdout().lock().write_all(bytes)?)
    }

    fn settle(&mut self) -> Result<(), Failure> {
        Ok(io::stdout().lock().flush()?)
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.settle()
    }
}

//! The bytes that a session printed, and what comes.
//!
//! In a terminal only text and colours are shown; elsewhere the bytes go through as they were
//! recorded.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::Duration;

use perennial_api::request::Mode;
use perennial_api::{ExitCode, client};
use perennial_engine::host::attach::{Attachment, News};
use rustix::event::{PollFd, PollFlags, poll};

use super::super::attach;
use super::Args;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::next_session::{Then, next_session};
use crate::cli::problems;
use crate::cli::render::recording::RecordingText;
use crate::cli::terminal::visit::ended;

const PAGE: &str = "1048576";

pub fn run(args: &Args, context: &Context) -> VerbResult {
    let mut printer = RecordingPrinter {
        context,
        reader: io::stdout().is_terminal().then(RecordingText::default),
    };
    let read = recorded(args, &mut printer)?;
    if args.follow {
        follow(&args.target, read, &mut printer)?;
    }
    printer.finish()?;
    Ok(ExitCode::Done)
}

/// How far a recording was printed.
#[derive(Debug, Clone, Copy)]
struct Printed {
    session: u64,
    offset: u64,
}

fn recorded(args: &Args, printer: &mut RecordingPrinter<'_>) -> Result<Printed, Failure> {
    let mut place = Printed { session: args.session.unwrap_or(0), offset: 0 };
    loop {
        // Once known the session stays the same, whatever happens meanwhile.
        let session = (place.session > 0).then(|| place.session.to_string());
        let from = place.offset.to_string();
        let query =
            [("session", session.as_deref()), ("from", Some(from.as_str())), ("max", Some(PAGE))];
        let path = client::path(&["agents", &args.target, "logs"], &query);
        let answer = printer.context.client.get(&path)?;
        let number = |name| answer.header(name).and_then(|text| text.parse::<u64>().ok());
        place.session = number("x-session").unwrap_or(place.session);
        printer.print(&answer.body)?;
        let end = number("x-end").unwrap_or(place.offset);
        if answer.body.is_empty() || end <= place.offset {
            place.offset = place.offset.max(end);
            return Ok(place);
        }
        place.offset = end;
    }
}

fn follow(
    target: &str,
    mut read: Printed,
    printer: &mut RecordingPrinter<'_>,
) -> Result<(), Failure> {
    loop {
        let ticket = attach::ticket(target, Mode::Watch, printer.context)?;
        // A session that began meanwhile is shown from its beginning.
        let from = if ticket.session == read.session { read.offset } else { 0 };
        let socket = Path::new(&ticket.socket);
        let mut attachment = Attachment::watch(socket, &ticket.ticket, Some(from))
            .map_err(|error| problems::holder_unreachable(target, &error))?;
        let end = watch(target, &mut attachment, printer)?;
        let session = attachment.session();
        eprintln!("note: session {session} of {target} ended: {end}");
        let id = &ticket.agent.id;
        match next_session(id, session, Duration::MAX, printer.context, |_| ()) {
            Then::Running => read = Printed { session: u64::from(session), offset: 0 },
            Then::Over(_) => return Ok(()),
        }
    }
}

/// Prints what comes until the holder goes; how the session ended.
fn watch(
    target: &str,
    attachment: &mut Attachment,
    printer: &mut RecordingPrinter<'_>,
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
                News::Output(bytes) => printer.print(&bytes)?,
                News::Session(number) => eprintln!("note: session {number} of {target} started"),
                News::Ended(end) => return Ok(ended(end)),
                News::TooSlow => {
                    return Err(problems::too_slow(target).into());
                }
            }
        }
    }
}

struct RecordingPrinter<'a> {
    context: &'a Context,
    /// Present when a terminal shows it.
    reader: Option<RecordingText>,
}

impl RecordingPrinter<'_> {
    fn print(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match &mut self.reader {
            Some(reader) => self.context.print(&reader.feed(bytes)),
            None => self.context.print_bytes(bytes),
        }
    }

    fn finish(&self) -> Result<(), Failure> {
        if self.reader.is_some() {
            self.context.print("\x1b[0m")?;
        }
        Ok(())
    }
}

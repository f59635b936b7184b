//! `ls --watch`: the listing, drawn again whenever the feed tells of a change.
//!
//! Nothing is polled: a thread reads the feed and rings, and the listing is asked for then; for a screen at
//! most ten times a second. Between changes only the ages are drawn again. A daemon that goes away is waited for.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use perennial_api::{Agent, Client, ClientError, ExitCode, Problem, client};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use serde_json::value::RawValue;

use super::{Args, Listing};
use crate::cli::arrival::Arrival;
use crate::cli::context::Context;
use crate::cli::failure::{Failure, VerbResult};
use crate::cli::problems;
use crate::cli::render::paint::Ink;
use crate::cli::terminal::caught::{Caught, Signalled};
use crate::cli::terminal::{self, Raw, USUAL_SIZE};

/// A daemon whose arrival was not noticed is found after this.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// However much happens, the listing is asked for no more often.
const REST: Duration = Duration::from_millis(100);
/// Ages are counted in seconds.
const AGING: Duration = Duration::from_secs(1);

pub fn run(args: &Args, context: &Context) -> VerbResult {
    if context.json {
        return print_changes(args, context);
    }
    if !terminal::is_interactive() {
        return Err(problems::no_terminal_to_watch().into());
    }
    let first = args.listing(context)?;
    let unusable = |error: io::Error| problems::terminal_unusable(&error);
    // Before the feed's thread begins, which must not get these kill signals instead.
    let signals = Caught::begin().map_err(unusable)?;
    let feed = ListeningFeed::begin(context).map_err(unusable)?;
    let mut board = Board { args, context, listing: first, note: String::new() };
    let screen = Screen::enter().map_err(unusable)?;
    let told = board.stay(&feed, &signals);
    drop(screen);
    told
}

/// What is on the screen.
struct Board<'a> {
    args: &'a Args,
    context: &'a Context,
    listing: Listing,
    note: String,
}

/// What a wait ended with.
enum Woken {
    /// A second has passed, or the window has another size.
    Draw,
    /// The feed has something to tell.
    News,
    Leave(ExitCode),
}

impl Board<'_> {
    fn stay(&mut self, feed: &ListeningFeed, signals: &Caught) -> VerbResult {
        loop {
            self.draw()?;
            match wait(signals, Some(feed.bell.as_fd()), AGING) {
                Woken::Draw => {}
                Woken::Leave(code) => return Ok(code),
                Woken::News => {
                    self.take_news(feed.take())?;
                    self.draw()?;
                    if let Woken::Leave(code) = wait(signals, None, REST) {
                        return Ok(code);
                    }
                }
            }
        }
    }

    fn take_news(&mut self, connection: Connection) -> Result<(), Failure> {
        match connection {
            Connection::Refused(problem) => return Err((*problem).into()),
            Connection::Gone => {
                self.note = "the daemon is gone; waiting for it to come back".to_owned();
                return Ok(());
            }
            Connection::Open { is_again } => {
                self.note = if is_again { "reconnected" } else { "" }.to_owned();
            }
        }
        match self.args.listing(self.context) {
            Ok(listing) => self.listing = listing,
            // The feed notices a daemon that has gone.
            Err(Failure::Problem(problem)) if problem.status >= 500 => {}
            Err(failure) => return Err(failure),
        }
        Ok(())
    }

    /// One write, so that nothing flickers.
    fn draw(&self) -> Result<(), Failure> {
        let size = terminal::size(rustix::stdio::stdout()).unwrap_or(USUAL_SIZE);
        let rows = usize::from(size.rows);
        let table = self.args.drawn(&self.listing, self.context);
        let leave = ["q quits", &self.note].join(if self.note.is_empty() { "" } else { "; " });
        let last = self.context.paint.ink(Ink::Faint, &leave);
        let mut out = io::stdout().lock();
        out.write_all(frame(&table, &last, rows).as_bytes())?;
        Ok(out.flush()?)
    }
}

/// The lines that fit, each over what was there before, and `last` at the end.
fn frame(table: &str, last: &str, rows: usize) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let room = rows.saturating_sub(1);
    let more = format!("… {} more lines", (lines.len() + 1).saturating_sub(room));
    let shown = match lines.len() > room {
        false => lines,
        true => lines[..room.saturating_sub(1)].iter().copied().chain([more.as_str()]).collect(),
    };
    let shown: String = shown.iter().map(|line| format!("{line}\x1b[K\r\n")).collect();
    // A terminal that knows mode 2026 shows it all at once.
    format!("\x1b[?2026h\x1b[H{shown}{last}\x1b[K\x1b[J\x1b[?2026l")
}

/// Waits for a key, a kill signal, the bell or the time.
fn wait(signals: &Caught, bell: Option<BorrowedFd<'_>>, limit: Duration) -> Woken {
    let watched = [Some(rustix::stdio::stdin()), Some(signals.as_fd()), bell];
    let mut fds: Vec<PollFd<'_>> = watched
        .into_iter()
        .flatten()
        .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
        .collect();
    let limit =
        Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    match poll(&mut fds, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(_) => return Woken::Leave(ExitCode::Failed),
    }
    let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
    if is_ready(1) && matches!(signals.read(), Signalled::Told(_)) {
        return Woken::Leave(ExitCode::Failed);
    }
    if is_ready(0) {
        const CONTROL_C: u8 = 0x03;
        let mut keys = [0; 64];
        let count = rustix::io::read(rustix::stdio::stdin(), &mut keys).unwrap_or(0);
        if count == 0 || keys[..count].iter().any(|key| [b'q', b'Q', CONTROL_C].contains(key)) {
            return Woken::Leave(ExitCode::Done);
        }
    }
    if is_ready(2) { Woken::News } else { Woken::Draw }
}

/// The alternate screen without a cursor and without broken lines, until dropped.
struct Screen {
    _raw: Raw,
}

impl Screen {
    fn enter() -> io::Result<Screen> {
        let screen = Screen { _raw: Raw::enter()? };
        let mut out = io::stdout().lock();
        out.write_all(b"\x1b[?1049h\x1b[?25l\x1b[?7l")?;
        out.flush()?;
        Ok(screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(b"\x1b[?7h\x1b[?25h\x1b[?1049l");
        let _ = out.flush();
    }
}

/// A line for each agent that has changed, as it is then; one that leaves the list is told once more.
fn print_changes(args: &Args, context: &Context) -> VerbResult {
    let unusable = |error: io::Error| ClientError::Unreachable(error);
    let mut known = BTreeMap::new();
    print_new(&mut known, args, context)?;
    let feed = ListeningFeed::begin(context).map_err(unusable)?;
    let mut is_gone = false;
    loop {
        let mut bell = [PollFd::new(&feed.bell, PollFlags::IN)];
        if poll(&mut bell, None) == Err(rustix::io::Errno::INTR) {
            continue;
        }
        match feed.take() {
            Connection::Refused(problem) => return Err((*problem).into()),
            Connection::Gone => {
                if !std::mem::replace(&mut is_gone, true) {
                    eprintln!("note: the daemon is gone; waiting for it to come back");
                }
            }
            Connection::Open { .. } => {
                if std::mem::take(&mut is_gone) {
                    eprintln!("note: the daemon is back");
                }
                match print_new(&mut known, args, context) {
                    Err(Failure::Problem(problem)) if problem.status >= 500 => {}
                    printed => printed?,
                }
            }
        }
    }
}

fn print_new(
    known: &mut BTreeMap<String, Agent>,
    args: &Args,
    context: &Context,
) -> Result<(), Failure> {
    let answer = context.client.get(&args.path())?;
    let listed: Vec<Box<RawValue>> = answer.read()?;
    let mut seen = BTreeMap::new();
    for raw in listed {
        let agent: Agent = serde_json::from_str(raw.get()).map_err(ClientError::Unexpected)?;
        // That it was seen again a moment later is no change.
        let agent = Agent { last_seen: None, ..agent };
        if known.remove(&agent.id).as_ref() != Some(&agent) {
            context.print_json(raw.get().replace(['\n', '\r'], " ").as_bytes())?;
        }
        seen.insert(agent.id.clone(), agent);
    }
    // One whose last word can't be had now, stays known and is told the next time.
    let left = std::mem::replace(known, seen);
    let mut told = Ok(());
    for (id, agent) in left {
        match context.client.get(&client::path(&["agents", &id], &[])) {
            Ok(answer) => context.print_json(&answer.body)?,
            Err(error) => {
                known.insert(id, agent);
                told = Err(error);
            }
        }
    }
    Ok(told?)
}

/// How it stands with the daemon.
#[derive(Debug, Clone)]
enum Connection {
    /// `is_again`: after it was gone.
    Open {
        is_again: bool,
    },
    Gone,
    /// For good: the daemon does not let this caller read the feed.
    Refused(Box<Problem>),
}

/// The feed, read by a thread of its own that ends with the process.
struct ListeningFeed {
    /// Can be read when something has changed.
    bell: Arc<std::os::fd::OwnedFd>,
    connection: Arc<Mutex<Connection>>,
}

impl ListeningFeed {
    fn begin(context: &Context) -> io::Result<ListeningFeed> {
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let connection = Arc::new(Mutex::new(Connection::Open { is_again: false }));
        let arrival = Arrival::watch(&context.home)?;
        let (client, told) = (context.client.clone(), Arc::clone(&connection));
        let rung = Arc::clone(&bell);
        std::thread::spawn(move || {
            listen(&client, &arrival, |now| {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = now;
                let _ = rustix::io::write(&*rung, &1_u64.to_ne_bytes());
            });
        });
        Ok(ListeningFeed { bell, connection })
    }

    /// How it stands now; silences the bell.
    fn take(&self) -> Connection {
        let _ = rustix::io::read(&*self.bell, &mut [0; 8]);
        self.connection.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads the feed for ever, over the ends of daemons.
fn listen(client: &Client, arrival: &Arrival, tell: impl Fn(Connection)) {
    let mut is_again = false;
    loop {
        match client.follow(&client::path(&["feed"], &[]), None) {
            Ok(mut feed) => {
                tell(Connection::Open { is_again });
                while let Ok(Some(_)) = feed.next_message() {
                    tell(Connection::Open { is_again });
                }
            }
            // Refused for good; one that is just ending or starting answers with 5xx.
            Err(ClientError::Problem(problem)) if problem.status < 500 && problem.status != 429 => {
                return tell(Connection::Refused(problem));
            }
            Err(_) => {}
        }
        is_again = true;
        tell(Connection::Gone);
        arrival.wait(LOOK_AGAIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fits_its_rows_and_says_what_is_missing() {
        let lines = |rows: usize| {
            let frame = frame("NAME\na\nb\nc\n1 living\n", "q quits", rows);
            let frame = frame.replace("\x1b[K", "");
            let (_, rest) = frame.split_once("\x1b[H").expect("a start");
            let (shown, _) = rest.split_once("\x1b[J").expect("an end");
            shown.split("\r\n").map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(lines(6), ["NAME", "a", "b", "c", "1 living", "q quits"]);
        assert_eq!(lines(5), ["NAME", "a", "b", "… 2 more lines", "q quits"]);
        for rows in 1..8 {
            assert!(lines(rows).len() <= rows.max(2), "{rows}");
        }
    }
}

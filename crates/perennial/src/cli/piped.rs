//! A program's output for a caller without a terminal, and its input from a pipe or a file.
//!
//! What the program prints goes to standard output, with plain line ends; what we say goes to standard
//! error. Input is typed line by line: control characters in it are quoted, so that they are text.

use std::io::{self, IsTerminal};
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use perennial_api::request::{Attach, Mode};
use perennial_api::{Agent, Client};
use perennial_engine::host::attach::{Attachment, News, SessionExit};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;

use super::context::Context;
use super::failure::Failure;
use super::next_session::{self, Then};
use super::problems;
use super::render::roster::{name, reason};
use super::render::time::LocalTime;
use super::stay::{self, Over, Stay};
use super::terminal::USUAL_SIZE;
use super::terminal::aside::Aside;
use super::terminal::caught::{Caught, Signalled};
use super::terminal::visit::{ended, write_out};

const RETRY_PATIENCE: Duration = Duration::from_secs(30);
/// Ctrl-V: the terminal takes the next character as it is.
const QUOTE: u8 = 0x16;
/// Ctrl-D: the end of the input, at the beginning of a line or behind another one.
const END_OF_INPUT: u8 = 0x04;

/// The most that is typed of a line at once: a terminal that collects lines keeps 4,095 bytes and drops the
/// rest without a word.
const LINE_BYTES_MAX: usize = 4000;

/// Where the caller's standard input goes.
pub fn input() -> Attach {
    match passes_input() {
        true => Attach::Pipe,
        false => Attach::Terminal,
    }
}

/// Whether what comes on standard input is typed for the program. A terminal that another job has is not
/// read from: that would stop us.
pub fn passes_input() -> bool {
    let stdin = rustix::stdio::stdin();
    if io::stdin().is_terminal() {
        // Only a terminal of our own kernel session says whose turn it is, and stops others.
        let foreground = rustix::termios::tcgetpgrp(stdin).ok();
        return foreground.is_none_or(|group| group == rustix::process::getpgrp());
    }
    rustix::fs::fstat(stdin).is_ok_and(|stat| match FileType::from_raw_mode(stat.st_mode) {
        // Such as /dev/null, which ends at once.
        FileType::CharacterDevice => true,
        FileType::Fifo | FileType::Socket | FileType::RegularFile => true,
        FileType::Directory | FileType::Symlink | FileType::BlockDevice | FileType::Unknown => {
            false
        }
    })
}

/// Passes output and input until the program ends for good, or somebody ends us; whether a session of it was visited.
pub fn pass(agent: &Agent, context: &Context) -> Result<(Stay, bool), Failure> {
    let caught = Caught::begin().map_err(|error| problems::terminal_unusable(&error))?;
    let mut input = passes_input().then(Input::default);
    let (mut seen, mut exit) = (0, None);
    loop {
        let mut was_attached = false;
        let (whom, is_typing, client) = (agent.clone(), input.is_some(), context.client.clone());
        let entered = match during(&caught, move || attach(&whom, is_typing, &client))? {
            Ok(entered) => entered?,
            Err(stay) => return Ok((stay, seen > 0)),
        };
        if let Some(attachment) = entered {
            let session = attachment.session();
            if seen > 0 {
                print_missed(agent, seen + 1..session, context)?;
            }
            let (is_taken, is_after_return) = (true, false);
            let mut pipes = Pipes { attachment, caught: &caught, input, is_taken, is_after_return };
            exit = match pipes.run()? {
                Passed::Ended(exit) => exit,
                Passed::Told(signal) => return Ok((told(signal), true)),
                Passed::Lost(why) => return Ok((Stay::Cut(why), true)),
            };
            (seen, input, was_attached) = (pipes.attachment.session(), pipes.input, true);
        }
        let ended = was_attached.then(|| ended(exit.clone()));
        let (whom, client) = (agent.id.clone(), context.client.clone());
        let look = move || {
            next_session::look(&whom, seen, RETRY_PATIENCE, &client, |agent| {
                if let Some(ended) = &ended {
                    eprintln!("[session {seen} ended: {ended}]");
                }
                if agent.in_line.is_some() {
                    eprintln!("[{} {}]", name(agent), reason(agent, &LocalTime::system()));
                }
            })
        };
        let then = match during(&caught, look)? {
            Ok(then) => then,
            Err(stay) => return Ok((stay, seen > 0)),
        };
        if let Then::Over(now) = then {
            let newest = now.as_ref().map_or(seen, |now| stay::newest(now));
            print_missed(agent, seen + 1..newest + 1, context)?;
            let exit = now.as_ref().and_then(|now| stay::exit_after(now, seen)).or(exit);
            return Ok((Stay::Over(Over { exit, agent: now }), seen > 0));
        }
    }
}

/// Does something while a kill signal may end us.
fn during<T: Send + 'static>(
    caught: &Caught,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Result<T, Stay>, Failure> {
    let failed = |error: io::Error| problems::terminal_unusable(&error);
    let work = Aside::begin(work).map_err(failed)?;
    loop {
        let watched = [caught.as_fd(), work.as_fd()];
        let mut fds = watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let _again = poll(&mut fds, None);
        let [signalled, done] = fds.each_ref().map(PollFd::revents);
        if !done.is_empty() {
            return Ok(Ok(work.finish().map_err(failed)?));
        }
        if !signalled.is_empty()
            && let Signalled::Told(signal) = caught.read()
        {
            return Ok(Err(told(signal.cast_signed())));
        }
    }
}

fn told(signal: i32) -> Stay {
    Stay::Cut(format!("detached by {}", crate::kill_signal::name(signal)))
}

fn print_missed(agent: &Agent, sessions: Range<u32>, context: &Context) -> Result<(), Failure> {
    for (session, output) in stay::missed(&agent.id, sessions, &context.client) {
        eprintln!("[session {session}, which has ended]");
        let text = plain_line_ends(&output, &mut false);
        write_out(&text).map_err(|error| problems::terminal_unusable(&error))?;
    }
    Ok(())
}

/// `None` if the agent has no session at this moment.
fn attach(agent: &Agent, is_typing: bool, client: &Client) -> Result<Option<Attachment>, Failure> {
    let mode = if is_typing { Mode::Attach } else { Mode::Watch };
    let ticket = match stay::ticket(&agent.id, mode, client) {
        Ok(ticket) => ticket,
        Err(error) if stay::is_without_session(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (socket, token) = (Path::new(&ticket.socket), &ticket.ticket);
    let attachment = match mode {
        Mode::Attach => {
            Attachment::attach(socket, token, (USUAL_SIZE.rows, USUAL_SIZE.cols), Some(0))
        }
        Mode::Watch => Attachment::watch(socket, token, Some(0)),
    };
    let unreachable = |error| problems::holder_unreachable(&agent.name, &error).into();
    attachment.map(Some).map_err(unreachable)
}

enum Passed {
    Ended(Option<SessionExit>),
    Told(i32),
    Lost(String),
}

struct Pipes<'a> {
    attachment: Attachment,
    caught: &'a Caught,
    /// Until it has ended.
    input: Option<Input>,
    /// The session still takes input: one that has ended only has output left.
    is_taken: bool,
    /// The last byte was a carriage return, which is held back.
    is_after_return: bool,
}

impl Pipes<'_> {
    fn run(&mut self) -> Result<Passed, Failure> {
        loop {
            let has_unsent = self.is_taken && self.attachment.has_unsent();
            let is_reading = self.is_taken && !has_unsent && self.has_input();
            let mut session = PollFlags::IN;
            session.set(PollFlags::OUT, has_unsent);
            let caught = PollFd::from_borrowed_fd(self.caught.as_fd(), PollFlags::IN);
            let attachment = PollFd::from_borrowed_fd(self.attachment.as_fd(), session);
            let stdin = PollFd::from_borrowed_fd(rustix::stdio::stdin(), PollFlags::IN);
            let mut fds = [caught, attachment, stdin];
            let watched = if is_reading { 3 } else { 2 };
            let _again = poll(&mut fds[..watched], None);
            let [signalled, session, typed] = fds.each_ref().map(PollFd::revents);
            if has_unsent && session.contains(PollFlags::OUT) {
                self.is_taken = self.attachment.flush().is_ok();
            }
            if session.intersects(!PollFlags::OUT)
                && let Some(passed) = self.on_news()?
            {
                return Ok(passed);
            }
            if !signalled.is_empty()
                && let Signalled::Told(signal) = self.caught.read()
            {
                return Ok(Passed::Told(signal.cast_signed()));
            }
            if is_reading && !typed.is_empty() {
                self.on_input();
            }
        }
    }

    fn has_input(&self) -> bool {
        self.input.as_ref().is_some_and(|input| !input.is_over)
    }

    fn on_news(&mut self) -> Result<Option<Passed>, Failure> {
        let news = match self.attachment.read() {
            Ok(news) => news,
            Err(error) => return Ok(Some(Passed::Lost(format!("lost the connection ({error})")))),
        };
        for one in news {
            match one {
                News::Output(bytes) => {
                    let text = plain_line_ends(&bytes, &mut self.is_after_return);
                    if let Err(error) = write_out(&text) {
                        return Ok(Some(Passed::Lost(format!("can't write the output ({error})"))));
                    }
                }
                News::Session(number) => eprintln!("[session {number} started]"),
                News::Ended(exit) => return Ok(Some(Passed::Ended(exit))),
                News::TooSlow => {
                    let why = "the output was not read fast enough".to_owned();
                    return Ok(Some(Passed::Lost(why)));
                }
            }
        }
        Ok(None)
    }

    /// What the session does not take any more is its end's business: that is told by the session.
    fn on_input(&mut self) {
        let Some(input) = &mut self.input else { return };
        let mut buffer = [0; 4096];
        let keys = match rustix::io::read(rustix::stdio::stdin(), &mut buffer) {
            Ok(count) => input.keys(&buffer[..count]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return,
            Err(_) => input.keys(&[]),
        };
        self.is_taken = self.attachment.queue(&keys).is_ok();
    }
}

/// A terminal ends lines with two characters, a file with one.
fn plain_line_ends(bytes: &[u8], is_after_return: &mut bool) -> Vec<u8> {
    if io::stdout().is_terminal() {
        return bytes.to_vec();
    }
    let mut text = Vec::with_capacity(bytes.len() + 1);
    for byte in bytes {
        if std::mem::take(is_after_return) && *byte != b'\n' {
            text.push(b'\r');
        }
        match byte {
            b'\r' => *is_after_return = true,
            other => text.push(*other),
        }
    }
    text
}

/// Input that is typed for a program.
#[derive(Debug, Default)]
struct Input {
    /// Bytes of the line that the terminal has not handed over yet.
    in_line: usize,
    is_over: bool,
}

impl Input {
    /// What is typed for these bytes; none of them means the end.
    fn keys(&mut self, bytes: &[u8]) -> Vec<u8> {
        if bytes.is_empty() {
            self.is_over = true;
            // The first one would only hand over the unfinished line.
            return vec![END_OF_INPUT; if self.in_line > 0 { 2 } else { 1 }];
        }
        let mut keys = Vec::with_capacity(bytes.len());
        for byte in bytes {
            if self.in_line == LINE_BYTES_MAX {
                // Inside a line it is no end: the program reads what there is of the line.
                keys.push(END_OF_INPUT);
                self.in_line = 0;
            }
            if byte.is_ascii_control() && !matches!(byte, b'\n' | b'\t') {
                keys.push(QUOTE);
            }
            keys.push(*byte);
            self.in_line = if *byte == b'\n' { 0 } else { self.in_line + 1 };
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_quoted_and_the_end_is_told_once() {
        let mut input = Input::default();
        assert_eq!(input.keys(b"a\tb\n\x03c\x7f"), b"a\tb\n\x16\x03c\x16\x7f");
        assert_eq!(input.keys(b""), [END_OF_INPUT; 2]);
        assert!(input.is_over);
        let mut input = Input::default();
        assert_eq!(input.keys(b"line\n"), b"line\n");
        assert_eq!(input.keys(b""), [END_OF_INPUT]);
    }

    #[test]
    fn a_long_line_is_handed_over_in_pieces() {
        let mut input = Input::default();
        let most = [b'a'; LINE_BYTES_MAX];
        assert_eq!(input.keys(&most), most);
        assert_eq!(input.keys(b"b\nc\n"), b"\x04b\nc\n");
        assert_eq!(input.keys(&most), most);
        assert_eq!(input.keys(b"\n"), b"\x04\n");
    }
}

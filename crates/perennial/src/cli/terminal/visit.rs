//! A person attached to an agent's terminal: passes keys and output until either side leaves.
//!
//! While the hint about the detach keys is shown, output waits in the agent's recording.
//! Invariant: TE1.

use std::io::{self, Write};
use std::os::fd::AsFd;

use perennial_engine::host::attach::{Attachment, News, SessionExit};

use super::escapes::{Scanner, Token, is_query};
use super::hint::Hint;
use super::modes::Modes;
use super::seat::{Happened, Seat};
use super::{Size, USUAL_SIZE, size};
use crate::kill_signal;

/// Why a visit ended.
#[derive(Debug)]
pub enum Leaving {
    Detached,
    Ended(Option<SessionExit>),
    TooSlow,
    Lost(String),
    /// A kill signal, or the terminal went away.
    Told,
}

#[derive(Debug)]
pub struct Visit<'a> {
    seat: &'a mut Seat,
    attachment: Attachment,
    /// Output before this place in the recording is history.
    replayed_to: u64,
    scanner: Scanner,
    /// The last text ended inside a character.
    is_in_character: bool,
    hint: Option<Hint>,
    screen: Screen,
}

/// The terminal as the program has made it; leaving it undoes that.
#[derive(Debug, Default)]
struct Screen {
    modes: Modes,
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = write_out(self.modes.undo().as_bytes());
    }
}

impl<'a> Visit<'a> {
    pub fn begin(seat: &'a mut Seat, attachment: Attachment, replayed_to: u64) -> Visit<'a> {
        Visit {
            seat,
            attachment,
            replayed_to,
            scanner: Scanner::default(),
            is_in_character: false,
            hint: None,
            screen: Screen::default(),
        }
    }

    /// Until someone goes; why, and in which session that was.
    pub fn stay(mut self) -> (Leaving, u32) {
        let leaving = loop {
            if let Some(leaving) = self.turn() {
                break leaving;
            }
        };
        // Nothing more can be said to a holder or a terminal that is gone.
        let _ = self.remove_hint();
        (leaving, self.attachment.session())
    }

    fn turn(&mut self) -> Option<Leaving> {
        let output = self.hint.is_none().then(|| self.attachment.as_fd());
        let leaving = match self.seat.wait(output) {
            Ok(Happened::Other) => self.on_news(),
            Ok(Happened::Typed(keys)) => self.send(&keys),
            Ok(Happened::Detached(keys)) => self.send(&keys).or(Some(Leaving::Detached)),
            Ok(Happened::Resized) => self.on_resize(),
            Ok(Happened::Told) => Some(Leaving::Told),
            Err(error) => Some(Leaving::Lost(error.to_string())),
        };
        leaving.or_else(|| self.update_hint())
    }

    fn send(&mut self, bytes: &[u8]) -> Option<Leaving> {
        if bytes.is_empty() {
            return None;
        }
        lost(self.attachment.send(bytes))
    }

    fn resize(&mut self, size: Size) -> Option<Leaving> {
        lost(self.attachment.resize(size.rows, size.cols))
    }

    fn on_resize(&mut self) -> Option<Leaving> {
        let size = size(rustix::stdio::stdin())?;
        // A terminal that was resized has moved its rows: the hint is drawn again where it belongs.
        self.remove_hint().or_else(|| self.resize(size))
    }

    fn update_hint(&mut self) -> Option<Leaving> {
        match (self.hint, self.seat.wants_hint()) {
            (None, true) if self.scanner.is_between() && !self.is_in_character => {
                let (hint, size) = (Hint::place(self.screen.modes.is_alternate()), own_size());
                self.hint = Some(hint);
                let text = hint.show(&self.seat.keys().hint(), size);
                if write_out(text.as_bytes()).is_err() {
                    return Some(Leaving::Told);
                }
                if hint.leaves(size) == size { None } else { self.resize(hint.leaves(size)) }
            }
            (Some(_), false) => self.remove_hint(),
            (None, _) | (Some(_), true) => None,
        }
    }

    fn remove_hint(&mut self) -> Option<Leaving> {
        let (hint, size) = (self.hint.take()?, own_size());
        if write_out(hint.remove(size).as_bytes()).is_err() {
            return Some(Leaving::Told);
        }
        if hint.leaves(size) == size { None } else { self.resize(size) }
    }

    fn on_news(&mut self) -> Option<Leaving> {
        let mut place = self.attachment.offset();
        let news = match self.attachment.read() {
            Ok(news) => news,
            Err(error) => return Some(Leaving::Lost(error.to_string())),
        };
        for one in news {
            match one {
                News::Output(bytes) => {
                    if self.show(&bytes, place).is_err() {
                        return Some(Leaving::Told);
                    }
                    place += bytes.len() as u64;
                }
                News::Session(number) => {
                    (place, self.replayed_to) = (0, 0);
                    (self.scanner, self.is_in_character) = (Scanner::default(), false);
                    let undo = self.screen.modes.undo();
                    self.screen.modes = Modes::default();
                    let note = format!("{undo}\r\n[session {number} started]\r\n");
                    if write_out(note.as_bytes()).is_err() {
                        return Some(Leaving::Told);
                    }
                }
                News::Ended(exit) => return Some(Leaving::Ended(exit)),
                News::TooSlow => return Some(Leaving::TooSlow),
            }
        }
        None
    }

    /// Shows output that begins at `place`. In history, questions to the terminal are left out: it
    /// would type its answers again, to a program that did not ask.
    fn show(&mut self, bytes: &[u8], place: u64) -> io::Result<()> {
        let is_history = place < self.replayed_to;
        let modes = &mut self.screen.modes;
        let mut shown = Vec::with_capacity(bytes.len());
        self.scanner.feed(bytes, |token| match token {
            Token::Sequence(sequence) if is_history && is_query(sequence) => {}
            Token::Sequence(sequence) => {
                modes.note(sequence);
                shown.extend_from_slice(sequence);
            }
            Token::Text(text) | Token::Fragment(text) => shown.extend_from_slice(text),
        });
        self.is_in_character = match shown.utf8_chunks().last() {
            Some(last) => !last.invalid().is_empty() && last.invalid().len() < 4,
            None => self.is_in_character,
        };
        write_out(&shown)
    }
}

/// The size of the person's terminal.
fn own_size() -> Size {
    size(rustix::stdio::stdin()).unwrap_or(USUAL_SIZE)
}

fn lost<T, E: std::error::Error>(result: Result<T, E>) -> Option<Leaving> {
    result.err().map(|error| Leaving::Lost(error.to_string()))
}

pub fn write_out(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// How a session ended, as far as its holder told.
pub fn ended(end: Option<SessionExit>) -> String {
    match end {
        Some(SessionExit::Code(code)) => format!("exit code {code}"),
        Some(SessionExit::KillSignal(signal)) => {
            format!("killed by {}", kill_signal::name(signal))
        }
        Some(SessionExit::NotStarted(why)) => format!("not started: {why}"),
        None => "its holder is gone".to_owned(),
    }
}

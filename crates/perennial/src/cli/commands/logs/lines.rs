//! The lines that a session printed, each once: filtered, and printed as text or as JSON.

use std::collections::VecDeque;
use std::io::{self, BufWriter, Write};

use jiff::Timestamp;
use perennial_api::answer::{Recording, RecordingMark};
use perennial_core::time::Time;
use perennial_engine::timestamp::rfc3339;
use serde::Serialize;

use super::Args;
use super::terminal::OutputReader;
use crate::cli::context::Context;
use crate::cli::failure::Failure;
use crate::cli::render::lines::{Line, PrintedLines};
use crate::cli::render::recording::{coloured, text_of};
use crate::cli::render::text::{json_line, plain};

/// A line as JSON.
#[derive(Debug, Serialize)]
struct LineRecord<'a> {
    session: u64,
    /// Null where no time was recorded.
    at: Option<String>,
    text: &'a str,
    /// In the first line of a recording that was cut: how many bytes before it are gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    cut_bytes: Option<u64>,
}

pub struct LinePrinter<'a> {
    args: &'a Args,
    context: &'a Context,
    reader: PrintedLines,
    session: u64,
    /// Those that the bytes have not come to yet.
    marks: VecDeque<RecordingMark>,
    cut_bytes: Option<u64>,
    /// The newest lines, where only a number of them is wanted; none once they are printed.
    newest: Option<VecDeque<Line>>,
    is_full_screen: bool,
    /// It was told that lines have no times.
    is_timeless: bool,
}

impl<'a> LinePrinter<'a> {
    pub fn new(args: &'a Args, context: &'a Context) -> LinePrinter<'a> {
        LinePrinter {
            args,
            context,
            reader: PrintedLines::new(None),
            session: 0,
            marks: VecDeque::new(),
            cut_bytes: None,
            newest: args.tail.map(|_| VecDeque::new()),
            is_full_screen: false,
            is_timeless: false,
        }
    }

    /// Prints lines that are done, or keeps them while only the newest are wanted.
    fn told(&mut self, lines: Vec<Line>) -> Result<(), Failure> {
        let since = self.args.since;
        let is_wanted =
            |line: &Line| since.is_none_or(|since| line.at.is_none_or(|at| at >= since));
        if since.is_some() && lines.iter().any(|line| line.at.is_none()) && !self.is_timeless {
            self.is_timeless = true;
            eprintln!("note: the times of some lines are not known; all of those are printed");
        }
        let lines = lines.into_iter().filter(is_wanted);
        match (&mut self.newest, self.args.tail) {
            (Some(newest), Some(count)) => {
                newest.extend(lines);
                newest.drain(..newest.len().saturating_sub(count));
                Ok(())
            }
            (None, _) | (_, None) => self.print(lines.collect()),
        }
    }

    fn print(&mut self, lines: Vec<Line>) -> Result<(), Failure> {
        let mut out = BufWriter::new(io::stdout().lock());
        for line in lines {
            let shown = match (self.context.json, self.context.paint.is_on()) {
                (true, _) => self.record(&line),
                (false, true) => coloured(&line.styled) + "\n",
                (false, false) => text_of(&line.styled) + "\n",
            };
            out.write_all(shown.as_bytes())?;
        }
        Ok(out.flush()?)
    }

    fn record(&mut self, line: &Line) -> String {
        let micros = |at: Timestamp| Time(u64::try_from(at.as_microsecond()).unwrap_or(0));
        let record = LineRecord {
            session: self.session,
            at: line.at.map(|at| rfc3339(micros(at))),
            text: &text_of(&line.styled),
            cut_bytes: self.cut_bytes.take(),
        };
        json_line(&serde_json::to_string(&record).unwrap_or_default())
    }

    /// What was kept back so far is all of the past.
    fn release(&mut self) -> Result<(), Failure> {
        let newest = self.newest.take().unwrap_or_default();
        self.print(newest.into())
    }
}

impl OutputReader for LinePrinter<'_> {
    fn begin(&mut self, recording: &Recording) -> Result<(), Failure> {
        self.session = recording.session;
        self.cut_bytes = Some(recording.start).filter(|start| *start > 0);
        self.marks = recording.marks.clone().into();
        self.reader = PrintedLines::new(self.marks.front().and_then(size));
        Ok(())
    }

    fn take(&mut self, offset: Option<u64>, bytes: &[u8]) -> Result<(), Failure> {
        let mut rest = bytes;
        match offset {
            None => self.reader.mark(Some(Timestamp::now()), None),
            Some(mut offset) => {
                while let Some(mark) = self.marks.front() {
                    let before = usize::try_from(mark.offset.saturating_sub(offset));
                    let before = before.unwrap_or(usize::MAX);
                    if before > rest.len() {
                        break;
                    }
                    let lines = self.reader.feed(&rest[..before]);
                    self.reader.mark(mark.at.parse().ok(), size(mark));
                    (rest, offset) = (&rest[before..], offset + before as u64);
                    self.marks.pop_front();
                    self.told(lines)?;
                }
            }
        }
        let lines = self.reader.feed(rest);
        self.told(lines)
    }

    fn settle(&mut self) -> Result<(), Failure> {
        let lines = self.reader.settled();
        self.told(lines)?;
        self.release()?;
        let is_full_screen = self.reader.is_full_screen();
        if is_full_screen && !std::mem::replace(&mut self.is_full_screen, is_full_screen) {
            let name = plain(&self.args.target);
            eprintln!("note: {name} uses the full screen; `perennial screen {name}` shows it");
        }
        self.is_full_screen = is_full_screen;
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        let lines = self.reader.finish();
        self.told(lines)?;
        self.release()
    }
}

fn size(mark: &RecordingMark) -> Option<(u16, u16)> {
    Some((mark.rows?, mark.columns?))
}

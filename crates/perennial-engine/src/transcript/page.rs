//! Part of what was said, from a place on: the files of one agent's conversations, merged by time.
//!
//! Keeps nothing between two pages: a place says how far each file was read. It knows a file by its
//! name and by what stands before that offset, not by its inode, so that a copy of a file goes on
//! where the file itself stopped.
//!
//! Invariants
//! - P1  Whoever goes on from a page's place is told every line once, and each file's in its order.
//!   Only a file with another text in its place is told from its beginning.
//! - P2  One page reads a bounded part of the files and holds a bounded part of that, whatever is in
//!   them. A line over [`PAGE_LINE_BYTES_MAX`] is left out.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::str::FromStr;

use perennial_core::time::Time;

use super::line_reader::LineReader;
use super::step::{Content, Step, StepId};
use super::tail::{fnv, mark};
use crate::harness::Dialect;

/// Shorter than [`tail::LINE_BYTES_MAX`](super::tail::LINE_BYTES_MAX): pages are read for many clients at
/// once, each with a line in memory, and only show a step's beginning. The tail has one reader, and what
/// it leaves out is missing from the tokens.
pub const PAGE_LINE_BYTES_MAX: usize = 16 << 20;
/// As much as one page reads.
const READ_BYTES_MAX: u64 = 64 << 20;
const CHUNK_BYTES: usize = 32 << 10;
/// How much text and how many steps one page holds, about.
const TEXT_BYTES: usize = 1 << 20;
const STEPS: usize = 500;

/// One file to read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub path: PathBuf,
    /// What it is called in places: the same for the vendor's file and for our copy of it.
    pub name: String,
    /// Everything in it is a subagent's work.
    pub is_subagent: bool,
}

/// How far each file was read; as text it is what clients hand back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place(BTreeMap<u64, Stop>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stop {
    offset: u64,
    /// Of what stands before the offset.
    mark: u64,
}

/// The text can't be a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a place in a conversation")]
pub struct NotAPlace;

#[derive(Debug, Default)]
pub struct Page {
    /// With the number of the source that it is from.
    pub steps: Vec<(usize, Step)>,
    /// Where the next page begins.
    pub place: Place,
    /// Nothing more is there for now.
    pub is_last: bool,
    /// Files that are there and can't be read.
    pub unread: Vec<(PathBuf, io::Error)>,
}

/// Reads the next page: of the steps that `keep` wants, the earliest first.
pub fn read(
    dialect: &dyn Dialect,
    sources: &[Source],
    place: &Place,
    keep: impl Fn(&Step) -> bool,
) -> Page {
    let mut page = Page { place: place.clone(), ..Page::default() };
    let mut budget = READ_BYTES_MAX;
    let mut open = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        match Sheet::open(dialect, index, source, place.0.get(&source.key())) {
            Ok(Some(mut sheet)) => match sheet.advance(&mut budget, &keep) {
                Ok(()) => open.push(sheet),
                Err(error) => page.unread.push((source.path.clone(), error)),
            },
            Ok(None) => {}
            Err(error) => page.unread.push((source.path.clone(), error)),
        }
    }
    merge(&mut open, &mut page, sources, &mut budget, &keep);
    page.is_last = open.iter().all(|sheet| matches!(sheet.head, Head::End));
    for sheet in &open {
        let source = &sources[sheet.index];
        match mark(&sheet.file, sheet.told) {
            Ok(mark) => {
                page.place.0.insert(source.key(), Stop { offset: sheet.told, mark });
            }
            Err(error) => page.unread.push((source.path.clone(), error)),
        }
    }
    page
}

/// Takes the earliest line again and again, until the page is full or a file has to be read on.
fn merge(
    open: &mut [Sheet],
    page: &mut Page,
    sources: &[Source],
    budget: &mut u64,
    keep: &impl Fn(&Step) -> bool,
) {
    // A fork repeats the lines of its original: of two at the same time one is told.
    let mut told: HashSet<StepId> = HashSet::new();
    let mut text_bytes = 0;
    loop {
        // A file that there was no room to begin with waits for the next page.
        let earliest = open.iter_mut().filter(|sheet| matches!(sheet.head, Head::Steps { .. }));
        let Some(sheet) = earliest.min_by_key(|sheet| (sheet.time, sheet.index)) else { return };
        let Head::Steps { steps, id } = &mut sheet.head else { return };
        if id.is_none_or(|id| told.insert(id)) {
            if page.steps.len() >= STEPS || text_bytes >= TEXT_BYTES {
                return;
            }
            text_bytes += steps.iter().map(text_of).sum::<usize>();
            page.steps.extend(steps.drain(..).map(|step| (sheet.index, step)));
        }
        sheet.told = sheet.read;
        if let Err(error) = sheet.advance(budget, keep) {
            sheet.head = Head::End;
            page.unread.push((sources[sheet.index].path.clone(), error));
        }
        // What was not read of a file that goes on may be earlier than what the others have.
        if matches!(sheet.head, Head::Unknown) {
            return;
        }
    }
}

/// One file, and the next line of it that says something.
#[derive(Debug)]
struct Sheet {
    index: usize,
    is_subagent: bool,
    file: File,
    /// The file's length when the page began.
    end: u64,
    reader: Box<dyn LineReader>,
    /// What was read and not looked at; it begins at `read`.
    buffer: Vec<u8>,
    used: usize,
    /// The end of the last line that was looked at.
    read: u64,
    /// Everything before was told, or says nothing.
    told: u64,
    /// Of the head, or of the last one before it that had a time.
    time: Option<Time>,
    head: Head,
}

#[derive(Debug)]
enum Head {
    Steps {
        steps: Vec<Step>,
        id: Option<StepId>,
    },
    /// The page may read no more.
    Unknown,
    /// No whole line is left.
    End,
}

impl Sheet {
    /// Nothing if the file is not there, or has nothing new.
    fn open(
        dialect: &dyn Dialect,
        index: usize,
        source: &Source,
        stop: Option<&Stop>,
    ) -> io::Result<Option<Sheet>> {
        // Nonblocking, so that a pipe in the file's place can't hold us.
        let opened =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&source.path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let found = file.metadata()?;
        // A shorter one is a copy that is behind.
        let from = stop.map_or(0, |stop| stop.offset);
        if !found.is_file() || found.len() <= from {
            return Ok(None);
        }
        let is_known = match stop {
            Some(stop) => mark(&file, stop.offset)? == stop.mark,
            None => true,
        };
        let told = if is_known { from } else { 0 };
        Ok(Some(Sheet {
            index,
            is_subagent: source.is_subagent,
            file,
            end: found.len(),
            reader: dialect.line_reader(),
            buffer: Vec::new(),
            used: 0,
            read: told,
            told,
            time: None,
            head: Head::Unknown,
        }))
    }

    /// Goes on to the next line that says something.
    fn advance(&mut self, budget: &mut u64, keep: &impl Fn(&Step) -> bool) -> io::Result<()> {
        loop {
            let rest = &self.buffer[self.used..];
            let Some(length) = memchr::memchr(b'\n', rest) else {
                if rest.len() > PAGE_LINE_BYTES_MAX {
                    // What is left of the line will be no line of the vendor's.
                    self.read += rest.len() as u64;
                    self.told = self.read;
                    self.used = self.buffer.len();
                }
                if *budget == 0 {
                    self.head = Head::Unknown;
                    return Ok(());
                }
                if !self.fill(budget)? {
                    self.head = Head::End;
                    return Ok(());
                }
                continue;
            };
            let mut steps = Vec::new();
            self.reader.read(&rest[..length], &mut |step| steps.push(step));
            self.used += length + 1;
            self.read += length as u64 + 1;
            if self.is_subagent {
                steps.iter_mut().for_each(|step| step.is_subagent = true);
            }
            self.time = steps.iter().find_map(|step| step.time).or(self.time);
            steps.retain(keep);
            if let Some(first) = steps.first() {
                self.head = Head::Steps { id: first.id, steps };
                return Ok(());
            }
            self.told = self.read;
        }
    }

    /// Reads on; whether there was more.
    fn fill(&mut self, budget: &mut u64) -> io::Result<bool> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let held = self.buffer.len();
        let at = self.read + held as u64;
        // The longer the line, the larger the pieces.
        let wanted = (held.max(CHUNK_BYTES) as u64).min(self.end.saturating_sub(at)).min(*budget);
        if wanted == 0 {
            return Ok(false);
        }
        self.buffer.resize(held + wanted as usize, 0);
        let count = loop {
            match self.file.read_at(&mut self.buffer[held..], at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(held + *count.as_ref().unwrap_or(&0));
        *budget = budget.saturating_sub(self.buffer.len() as u64 - held as u64);
        Ok(count? > 0)
    }
}

fn text_of(step: &Step) -> usize {
    match &step.content {
        Content::Prompt(text)
        | Content::Text(text)
        | Content::Added(text)
        | Content::ToolResult { text, .. }
        | Content::ToolCall { arguments: text, .. }
        | Content::Error { text, .. }
        | Content::RateLimit { text, .. }
        | Content::LimitReached { text, .. } => text.text.len(),
        Content::PromptBlocked { prompt, words } => prompt.text.len() + words.text.len(),
        Content::Thinking
        | Content::Usage(_)
        | Content::Compaction(_)
        | Content::Interrupted
        | Content::ConversationChanged { .. } => 0,
    }
}

impl Source {
    fn key(&self) -> u64 {
        fnv(self.name.as_bytes())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (key, Stop { offset, mark })) in self.0.iter().enumerate() {
            let gap = if position == 0 { "" } else { "." };
            write!(f, "{gap}{key:x}-{offset:x}-{mark:x}")?;
        }
        Ok(())
    }
}

impl FromStr for Place {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Place, NotAPlace> {
        let number = |text: Option<&str>| u64::from_str_radix(text?, 16).ok();
        let stop = |text: &str| {
            let mut parts = text.split('-');
            let key = number(parts.next())?;
            let stop = Stop { offset: number(parts.next())?, mark: number(parts.next())? };
            parts.next().is_none().then_some((key, stop))
        };
        let stops = text.split('.').filter(|text| !text.is_empty());
        stops.map(stop).collect::<Option<_>>().map(Place).ok_or(NotAPlace)
    }
}

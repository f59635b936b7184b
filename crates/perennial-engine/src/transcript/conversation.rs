//! One live conversation, followed step by step, with its subagents and its figures.
//!
//! Opened anew it reads from the beginning, which takes two milliseconds per megabyte: no state of
//! ours can be older than the file. Who wants only what comes later lets the first update pass.

use std::path::{Path, PathBuf};

use super::account::{Account, ConversationNumber};
use super::line_reader::{ContextUse, LineReader, Notes};
use super::step::{Content, Step};
use super::tail::{self, Buffer, News, Presence, Tail, TailError};
use crate::harness::Dialect;

#[derive(Debug)]
pub struct Conversation {
    dialect: &'static dyn Dialect,
    own: Stream,
    subagents: Vec<Stream>,
    /// Its place in the account.
    number: ConversationNumber,
    account: Account,
}

/// One file and what was read of it.
#[derive(Debug)]
struct Stream {
    tail: Tail,
    reader: Box<dyn LineReader>,
}

impl Conversation {
    /// Counted in an account that goes on with it, together with others or alone.
    pub fn new(
        dialect: &'static dyn Dialect,
        path: PathBuf,
        account: Account,
        number: ConversationNumber,
    ) -> Conversation {
        let own = Stream::new(dialect, path);
        Conversation { dialect, own, subagents: Vec::new(), number, account }
    }

    pub fn into_account(self) -> Account {
        self.account
    }

    /// Counts in another account from here on; the one so far is left in its place.
    pub fn exchange_account(&mut self, other: &mut Account) {
        std::mem::swap(&mut self.account, other);
    }

    pub fn account_mut(&mut self) -> &mut Account {
        &mut self.account
    }

    pub fn path(&self) -> &Path {
        self.own.tail.path()
    }

    /// How many bytes of its own file were read.
    pub fn bytes_read(&self) -> u64 {
        self.own.tail.cursor().map_or(0, |cursor| cursor.offset)
    }

    /// Reads what is new. Steps of the conversation come in their order, then those of its
    /// subagents, which are marked as such. What can't be read stops nothing else.
    pub fn update(
        &mut self,
        buffer: &mut Buffer,
        mut each: impl FnMut(&Step),
    ) -> Result<Presence, TailError> {
        let (account, number) = (&mut self.account, self.number);
        let mut told = |step: Step| {
            if let Content::Usage(usage) = &step.content {
                account.count(number, usage, step.time);
            }
            each(&step);
        };
        let presence = self.own.update(buffer, &mut told);
        for path in self.dialect.subagents(self.own.tail.path()) {
            if !self.subagents.iter().any(|stream| stream.tail.path() == path) {
                self.subagents.push(Stream::new(self.dialect, path));
            }
        }
        let mut failure = None;
        for stream in &mut self.subagents {
            let mut aside = |step: Step| told(Step { is_subagent: true, ..step });
            failure = failure.or(stream.update(buffer, &mut aside).err());
        }
        let damaged = self.streams().map(|stream| stream.reader.notes().damaged).sum();
        self.account.damaged(number, damaged);
        presence.and_then(|presence| failure.map_or(Ok(presence), Err))
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    pub fn context(&self) -> ContextUse {
        self.own.reader.context()
    }

    /// How much its window holds, where the transcript says so.
    pub fn window(&self) -> Option<u64> {
        self.own.reader.window()
    }

    /// What was read, subagents included.
    pub fn notes(&self) -> Notes {
        self.streams().fold(Notes::default(), |sum, stream| {
            let Notes { lines, unknown, damaged } = stream.reader.notes();
            Notes {
                lines: sum.lines + lines,
                unknown: sum.unknown + unknown,
                damaged: sum.damaged + damaged,
            }
        })
    }

    fn streams(&self) -> impl Iterator<Item = &Stream> {
        std::iter::once(&self.own).chain(&self.subagents)
    }
}

impl Stream {
    fn new(dialect: &dyn Dialect, path: PathBuf) -> Stream {
        Stream { tail: Tail::new(path), reader: dialect.line_reader() }
    }

    fn update(
        &mut self,
        buffer: &mut Buffer,
        each: &mut dyn FnMut(Step),
    ) -> Result<Presence, TailError> {
        let reader = &mut self.reader;
        self.tail.read(buffer, |news| match news {
            News::Restarted(_) => reader.restart(),
            News::Oversized => reader.oversized(),
            News::Lines(whole) => tail::lines(whole).for_each(|line| reader.read(line, each)),
        })
    }
}

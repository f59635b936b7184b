//! The figures of very many files at once, and quickly again when some of them have grown.
//!
//! Usage only: no steps, no context. A few threads share the files within a call.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use perennial_core::time::Time;

use super::account::{Account, ConversationNumber};
use super::prices::Prices;
use super::step::Usage;
use super::tail::{Buffer, News, Tail, TailError};
use crate::harness::Dialect;

/// More of them wait for memory, not for the processor.
const THREADS_MAX: usize = 4;

#[derive(Debug)]
pub struct Survey {
    sheets: Vec<Sheet>,
    paths: HashSet<PathBuf>,
    conversations: HashMap<String, ConversationNumber>,
    account: Account,
}

/// One file and how far it was read.
#[derive(Debug)]
struct Sheet {
    dialect: &'static dyn Dialect,
    conversation: ConversationNumber,
    tail: Tail,
    damaged_lines: u64,
    /// Of the last usage: one that names no model is of the same.
    model: String,
}

/// What a look at one file brought.
#[derive(Debug, Default)]
struct Harvest {
    usages: Vec<(Usage, Option<Time>)>,
    error: Option<TailError>,
}

impl Survey {
    pub fn new(prices: Prices) -> Survey {
        Survey {
            sheets: Vec::new(),
            paths: HashSet::new(),
            conversations: HashMap::new(),
            account: Account::new(prices),
        }
    }

    /// Takes up a file of a conversation. The order is that in which messages find their owner:
    /// what a fork repeats belongs to the conversation that came first.
    pub fn add(&mut self, dialect: &'static dyn Dialect, path: PathBuf, conversation: &str) {
        if !self.paths.insert(path.clone()) {
            return;
        }
        let next = self.conversations.len() as ConversationNumber;
        let conversation = *self.conversations.entry(conversation.to_owned()).or_insert(next);
        let tail = Tail::new(path);
        self.sheets.push(Sheet {
            dialect,
            conversation,
            tail,
            damaged_lines: 0,
            model: String::new(),
        });
    }

    pub fn account(&self) -> &Account {
        &self.account
    }

    pub fn conversation(&self, id: &str) -> Option<ConversationNumber> {
        self.conversations.get(id).copied()
    }

    /// Reads what is new in all files. A file that can't be read stops none of the others.
    pub fn update(&mut self) -> Vec<TailError> {
        let mut changed: Vec<&mut Sheet> =
            self.sheets.iter_mut().filter(|sheet| sheet.tail.changed()).collect();
        let account = &mut self.account;
        let mut errors = Vec::new();
        let mut count = |conversation, harvest: Harvest| {
            for (usage, time) in &harvest.usages {
                account.count(conversation, usage, *time);
            }
            errors.extend(harvest.error);
        };
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = threads.min(THREADS_MAX).min(changed.len());
        if threads <= 1 {
            let mut buffer = Buffer::default();
            for sheet in changed {
                let harvest = sheet.read(&mut buffer);
                count(sheet.conversation, harvest);
            }
        } else {
            share(&mut changed, threads, count);
        }
        self.tell_damage();
        errors
    }

    fn tell_damage(&mut self) {
        let mut damaged: BTreeMap<ConversationNumber, u64> = BTreeMap::new();
        for sheet in &self.sheets {
            *damaged.entry(sheet.conversation).or_default() += sheet.damaged_lines;
        }
        for (conversation, lines) in damaged {
            self.account.damaged(conversation, lines);
        }
    }
}

impl Sheet {
    fn read(&mut self, buffer: &mut Buffer) -> Harvest {
        let mut harvest = Harvest::default();
        let Harvest { usages, error } = &mut harvest;
        let (dialect, damaged, model) = (self.dialect, &mut self.damaged_lines, &mut self.model);
        let mut keep = |mut usage: Usage, time| {
            match usage.model.is_empty() {
                true => usage.model.clone_from(model),
                false => model.clone_from(&usage.model),
            }
            usages.push((usage, time));
        };
        let read = self.tail.read(buffer, |news| match news {
            News::Restarted(_) => *damaged = 0,
            News::Oversized => *damaged += 1,
            News::Lines(whole) => {
                *damaged += dialect.usages(whole, &mut keep);
            }
        });
        *error = read.err();
        harvest
    }
}

/// Threads take the next file each; what they found is counted in the order of the files, so that
/// the outcome does not depend on who was quicker.
fn share(
    sheets: &mut [&mut Sheet],
    threads: usize,
    mut count: impl FnMut(ConversationNumber, Harvest),
) {
    let next = AtomicUsize::new(0);
    let sheets: Vec<Mutex<&mut Sheet>> =
        sheets.iter_mut().map(|sheet| Mutex::new(&mut **sheet)).collect();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let sender = sender.clone();
            let (next, sheets) = (&next, &sheets);
            scope.spawn(move || {
                let mut buffer = Buffer::default();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(sheet) = sheets.get(at) else {
                        return;
                    };
                    let mut sheet = sheet.lock().expect("each is taken once");
                    let harvest = sheet.read(&mut buffer);
                    if sender.send((at, sheet.conversation, harvest)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut due, mut early) = (0, BTreeMap::new());
        for (at, conversation, harvest) in receiver {
            early.insert(at, (conversation, harvest));
            while let Some((conversation, harvest)) = early.remove(&due) {
                count(conversation, harvest);
                due += 1;
            }
        }
    });
}

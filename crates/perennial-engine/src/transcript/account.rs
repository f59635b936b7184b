//! How many tokens, and what they cost: sums that stay right while transcripts grow.
//!
//! Reads no file and knows no vendor: it is told of usages and of damage.
//!
//! Invariants
//! - A1  A message counts once, however many lines and files repeat it.
//! - A2  To hear of a usage again changes nothing, so that any file may be read again.
//! - A3  The sums of all conversations are the sum of the whole.
//! - A4  Nothing is taken back: what a deleted transcript held was spent all the same.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Add, Sub};

use perennial_core::time::Time;

use super::prices::{Cost, Prices};
use super::step::{Tokens, Usage};

/// A conversation within one account: the caller's own count. A message that is in several belongs
/// to the lowest, so that forks are numbered after what they were forked from.
pub type ConversationNumber = u32;

#[derive(Debug)]
pub struct Account {
    prices: Prices,
    models: Vec<Box<str>>,
    messages: HashMap<Box<str>, Message>,
    sums: BTreeMap<(ConversationNumber, ModelNumber), Sum>,
    damaged: BTreeMap<ConversationNumber, u64>,
    /// The key of the message at hand, kept for its room.
    key: String,
}

type ModelNumber = u16;

/// More than any real transcript has; what comes after is counted as one more model.
const MODELS_MAX: usize = 1_000;
const MODELS_BEYOND: &str = "(others)";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Message {
    conversation: ConversationNumber,
    model: ModelNumber,
    sum: Sum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    tokens: Tokens,
    web_searches: u64,
    messages: u64,
    cost: Cost,
    unpriced_messages: u64,
}

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    pub tokens: Tokens,
    pub web_searches: u64,
    pub messages: u64,
    pub cost: Cost,
    /// Messages of models that the table of prices does not have.
    pub unpriced_messages: u64,
    /// Lines that could not be read and may have held usage.
    pub damaged_lines: u64,
}

impl Figures {
    /// Whether the tokens may be too few.
    pub fn is_partial(&self) -> bool {
        self.damaged_lines > 0
    }

    /// Whether the cost may be too low.
    pub fn is_cost_partial(&self) -> bool {
        self.is_partial() || self.unpriced_messages > 0
    }
}

impl Account {
    pub fn new(prices: Prices) -> Account {
        Account {
            prices,
            models: Vec::new(),
            messages: HashMap::new(),
            sums: BTreeMap::new(),
            damaged: BTreeMap::new(),
            key: String::new(),
        }
    }

    /// Takes note of a usage. Of several lines for one message the last holds, since the first are
    /// written while the model still speaks. A copy in another conversation, which may have been
    /// taken at any moment, holds only if it says more.
    pub fn count(&mut self, conversation: ConversationNumber, usage: &Usage, time: Option<Time>) {
        self.key.clear();
        self.key.extend([&usage.message, "\n", &usage.request]);
        let known = self.messages.get(self.key.as_str()).copied();
        let mut message = match known {
            Some(known) if self.is_no_news(&known, conversation, usage) => known,
            Some(_) | None => self.message(conversation, usage, time),
        };
        if let Some(known) = known {
            message.conversation = conversation.min(known.conversation);
            if message == known {
                return;
            }
            let place = self.sums.entry((known.conversation, known.model)).or_default();
            *place = *place - known.sum;
        }
        let place = self.sums.entry((message.conversation, message.model)).or_default();
        *place = *place + message.sum;
        match self.messages.get_mut(self.key.as_str()) {
            Some(place) => *place = message,
            None => drop(self.messages.insert(self.key.as_str().into(), message)),
        }
    }

    fn is_no_news(&self, known: &Message, conversation: ConversationNumber, usage: &Usage) -> bool {
        if known.conversation != conversation {
            return usage.tokens.output <= known.sum.tokens.output;
        }
        known.sum.tokens == usage.tokens
            && known.sum.web_searches == usage.web_searches
            && *self.models[usize::from(known.model)] == *usage.model
    }

    fn message(
        &mut self,
        conversation: ConversationNumber,
        usage: &Usage,
        time: Option<Time>,
    ) -> Message {
        let cost = self.prices.cost(usage, time);
        let sum = Sum {
            tokens: usage.tokens,
            web_searches: usage.web_searches,
            messages: 1,
            cost: cost.unwrap_or_default(),
            unpriced_messages: u64::from(cost.is_none()),
        };
        Message { conversation, model: self.model(&usage.model), sum }
    }

    /// How many lines of a conversation could not be read, all told.
    pub fn damaged(&mut self, conversation: ConversationNumber, lines: u64) {
        self.damaged.insert(conversation, lines);
    }

    pub fn total(&self) -> Figures {
        self.figures(|_, _| true, self.damaged.values().sum())
    }

    pub fn of_conversation(&self, conversation: ConversationNumber) -> Figures {
        let damaged = self.damaged.get(&conversation).copied().unwrap_or(0);
        self.figures(|of, _| of == conversation, damaged)
    }

    /// Per model, in the order of their names. Damage is nobody's: it is in the total.
    pub fn by_model(&self) -> Vec<(&str, Figures)> {
        let numbers = 0..self.models.len() as ModelNumber;
        let mut models: Vec<(&str, Figures)> = numbers
            .map(|number| {
                let figures = self.figures(|_, model| model == number, 0);
                (&*self.models[usize::from(number)], figures)
            })
            .filter(|(_, figures)| figures.messages > 0)
            .collect();
        models.sort_by_key(|(name, _)| *name);
        models
    }

    fn figures(
        &self,
        belongs: impl Fn(ConversationNumber, ModelNumber) -> bool,
        damaged_lines: u64,
    ) -> Figures {
        let places = self.sums.iter().filter(|((of, model), _)| belongs(*of, *model));
        let sum = places.fold(Sum::default(), |sum, (_, place)| sum + *place);
        let Sum { tokens, web_searches, messages, cost, unpriced_messages } = sum;
        Figures { tokens, web_searches, messages, cost, unpriced_messages, damaged_lines }
    }

    fn model(&mut self, name: &str) -> ModelNumber {
        let position = |name: &str| self.models.iter().position(|model| **model == *name);
        let is_beyond = self.models.len() >= MODELS_MAX && position(name).is_none();
        let name = if is_beyond { MODELS_BEYOND } else { name };
        let at = position(name).unwrap_or_else(|| {
            self.models.push(name.into());
            self.models.len() - 1
        });
        at as ModelNumber
    }
}

impl Add for Sum {
    type Output = Sum;

    fn add(self, other: Sum) -> Sum {
        self.with(other, u64::add, Cost::add)
    }
}

impl Sub for Sum {
    type Output = Sum;

    fn sub(self, other: Sum) -> Sum {
        self.with(other, u64::sub, Cost::sub)
    }
}

impl Sum {
    fn with(self, other: Sum, n: fn(u64, u64) -> u64, cost: fn(Cost, Cost) -> Cost) -> Sum {
        let (a, b) = (self.tokens, other.tokens);
        Sum {
            tokens: Tokens {
                input: n(a.input, b.input),
                output: n(a.output, b.output),
                cache_read: n(a.cache_read, b.cache_read),
                cache_write_short: n(a.cache_write_short, b.cache_write_short),
                cache_write_long: n(a.cache_write_long, b.cache_write_long),
            },
            web_searches: n(self.web_searches, other.web_searches),
            messages: n(self.messages, other.messages),
            cost: cost(self.cost, other.cost),
            unpriced_messages: n(self.unpriced_messages, other.unpriced_messages),
        }
    }
}

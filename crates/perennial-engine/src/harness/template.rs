//! An argv with places to fill: a list of words and of groups that are only there when their value
//! is. What is put in is never looked at for placeholders again.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};

/// What a placeholder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// The owner's own arguments; any number.
    Extra,
    Conversation,
    Settings,
    Mcp,
    /// The arguments by which a session calls us; any number.
    Wiring,
    Model,
    /// The arguments of the permission mode; any number.
    Permission,
    Prompt,
}

impl Slot {
    const ALL: [Slot; 8] = [
        Slot::Extra,
        Slot::Conversation,
        Slot::Settings,
        Slot::Mcp,
        Slot::Wiring,
        Slot::Model,
        Slot::Permission,
        Slot::Prompt,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Slot::Extra => "extra",
            Slot::Conversation => "conversation",
            Slot::Settings => "settings",
            Slot::Mcp => "mcp",
            Slot::Wiring => "wiring",
            Slot::Model => "model",
            Slot::Permission => "permission",
            Slot::Prompt => "prompt",
        }
    }

    fn is_list(self) -> bool {
        match self {
            Slot::Extra | Slot::Wiring | Slot::Permission => true,
            Slot::Conversation | Slot::Settings | Slot::Mcp | Slot::Model | Slot::Prompt => false,
        }
    }
}

/// What the placeholders stand for this time; an absent one has no value.
pub type Values = BTreeMap<Slot, Vec<String>>;

/// Arguments after the program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Template(Vec<Piece>);

/// A placeholder outside any group has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing to put in the place of {{{}}}", .0.word())]
pub struct Unfilled(pub Slot);

impl Template {
    pub fn fill(&self, values: &Values) -> Result<Vec<String>, Unfilled> {
        let mut argv = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Word(word) => word.fill(values, &mut argv)?,
                Piece::Group(group) if !values.contains_key(&group.when) => {}
                Piece::Group(group) => {
                    group.args.iter().try_for_each(|word| word.fill(values, &mut argv))?;
                }
            }
        }
        Ok(argv)
    }

    pub fn names(&self, slot: Slot) -> bool {
        self.0.iter().any(|piece| match piece {
            Piece::Word(word) => word.names(slot),
            Piece::Group(group) => group.args.iter().any(|word| word.names(slot)),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Word(Word),
    Group(Group),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    when: Slot,
    args: Vec<Word>,
}

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Word(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Slot(Slot),
}

/// An argument's placeholders can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum BadWord {
    #[error("no placeholder {{{0}}}; there are {all}", all = known())]
    NoSuchSlot(String),
    #[error("{{{0}}} stands for any number of arguments and must be one by itself")]
    ListInside(&'static str),
    #[error("a `{{` without its `}}`")]
    Open,
}

fn known() -> String {
    Slot::ALL.map(|slot| format!("{{{}}}", slot.word())).join(" ")
}

impl TryFrom<String> for Word {
    type Error = BadWord;

    fn try_from(text: String) -> Result<Word, BadWord> {
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or(BadWord::Open)?;
            let slot = Slot::ALL.into_iter().find(|slot| slot.word() == name);
            let slot = slot.ok_or_else(|| BadWord::NoSuchSlot(name.to_owned()))?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Slot(slot));
            rest = after;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        match parts.iter().find_map(Part::list).filter(|_| parts.len() > 1) {
            Some(slot) => Err(BadWord::ListInside(slot.word())),
            None => Ok(Word(parts)),
        }
    }
}

impl Part {
    fn list(&self) -> Option<Slot> {
        match self {
            Part::Slot(slot) if slot.is_list() => Some(*slot),
            Part::Slot(_) | Part::Text(_) => None,
        }
    }
}

impl Word {
    fn names(&self, slot: Slot) -> bool {
        self.0.contains(&Part::Slot(slot))
    }

    fn fill(&self, values: &Values, argv: &mut Vec<String>) -> Result<(), Unfilled> {
        if let Some(list) = self.0.first().and_then(Part::list) {
            argv.extend(values.get(&list).into_iter().flatten().cloned());
            return Ok(());
        }
        let mut word = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => word.push_str(text),
                Part::Slot(slot) => {
                    let value = values.get(slot).and_then(|values| values.first());
                    word.push_str(value.ok_or(Unfilled(*slot))?);
                }
            }
        }
        argv.push(word);
        Ok(())
    }
}

// By hand, since an untagged enum would lose what is wrong and where.
impl<'de> Deserialize<'de> for Piece {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Piece, D::Error> {
        struct Pieces;

        impl<'de> Visitor<'de> for Pieces {
            type Value = Piece;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an argument, or a group { when = \"…\", args = […] }")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Piece, E> {
                Word::try_from(text.to_owned()).map(Piece::Word).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Piece, A::Error> {
                Group::deserialize(MapAccessDeserializer::new(map)).map(Piece::Group)
            }
        }

        deserializer.deserialize_any(Pieces)
    }
}

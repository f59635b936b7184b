//! The fields of a hook's input that are of use: a JSON object, read as far as it goes.
//!
//! What stands before a break is kept, and that there was one is told. Of an input, and of each text in it, no
//! more is kept than is of use: others can be as long as a file that was written.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::dialect::{NotUnderstood, bounded};
use crate::transcript::step::EXCERPT_BYTES;

/// The one text that is kept whole: a prompt is recognised by all of it.
const WHOLE: &str = "prompt";

/// Texts by their name.
#[derive(Debug, Default)]
pub struct HookFields(Vec<(String, String)>);

/// Fields of a vendor's hooks that are no plain texts.
pub trait Structured {
    /// Reads the value of a field, if it is one of these; `false`: the value has not been touched.
    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        name: &str,
        map: &mut A,
        texts: &mut HookFields,
    ) -> Result<bool, A::Error>;
}

/// A vendor whose hooks have texts only.
impl Structured for () {
    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        _: &str,
        _: &mut A,
        _: &mut HookFields,
    ) -> Result<bool, A::Error> {
        Ok(false)
    }
}

impl HookFields {
    /// What can be read of these texts and of what has a structure, and whether that is all of it.
    pub fn read(
        input: &[u8],
        texts: &[&str],
        structured: &mut impl Structured,
    ) -> Result<(HookFields, bool), NotUnderstood> {
        let kept = bounded(input);
        let starts = kept.iter().find(|byte| !byte.is_ascii_whitespace());
        if starts != Some(&b'{') {
            return Err(NotUnderstood::NotAnObject);
        }
        let mut fields = HookFields::default();
        let mut reader = serde_json::Deserializer::from_slice(kept);
        let collect = Collect { fields: &mut fields, texts, structured };
        let read = collect.deserialize(&mut reader).and_then(|()| reader.end());
        Ok((fields, read.is_ok() && kept.len() == input.len()))
    }

    pub fn keep(&mut self, name: String, mut text: String) {
        if name != WHOLE {
            text.truncate(text.floor_char_boundary(EXCERPT_BYTES));
        }
        self.0.push((name, text));
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        let named = |pair: &&(String, String)| pair.0 == name;
        self.0.iter().find(named).map(|(_, text)| text.as_str())
    }
}

/// Fills the fields as they come.
struct Collect<'f, S> {
    fields: &'f mut HookFields,
    texts: &'f [&'f str],
    structured: &'f mut S,
}

impl<'de, S: Structured> DeserializeSeed<'de> for Collect<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: Structured> Visitor<'de> for Collect<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if self.texts.contains(&name.as_str()) {
                if let Value::String(text) = map.next_value()? {
                    self.fields.keep(name, text);
                }
            } else if !self.structured.read(&name, &mut map, self.fields)? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

//! Fields of a line as agent CLIs write them: names, prose and times, borrowed where that is possible.

use std::borrow::Cow;
use std::fmt;

use perennial_core::time::Time;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::step::{Excerpt, ID_BYTES};

/// A word or an id: short, and valid text.
#[derive(Debug)]
pub struct Name<'a>(Cow<'a, str>);

impl Name<'_> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Short;

        impl<'de> Visitor<'de> for Short {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a text of up to {ID_BYTES} bytes")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                let is_short = text.len() <= ID_BYTES;
                is_short
                    .then_some(Name(Cow::Borrowed(text)))
                    .ok_or_else(|| E::invalid_length(text.len(), &self))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                let is_short = text.len() <= ID_BYTES;
                is_short
                    .then(|| Name(Cow::Owned(text.to_owned())))
                    .ok_or_else(|| E::invalid_length(text.len(), &self))
            }
        }

        deserializer.deserialize_str(Short)
    }
}

/// Text of any length, in which half a character is no error: as bytes it may hold lone
/// surrogates.
#[derive(Debug)]
pub struct Prose<'a>(Cow<'a, [u8]>);

impl Prose<'_> {
    pub fn excerpt(&self) -> Excerpt {
        Excerpt::of(&self.text())
    }

    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Prose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl<'de> Visitor<'de> for Bytes {
            type Value = Prose<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Prose<'de>, E> {
                Ok(Prose(Cow::Borrowed(bytes)))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Prose<'de>, E> {
                Ok(Prose(Cow::Owned(bytes.to_owned())))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

/// A time as the CLI writes it; `None` for what is none.
pub fn time(timestamp: Option<&Name<'_>>) -> Option<Time> {
    let timestamp: jiff::Timestamp = timestamp?.as_str().parse().ok()?;
    u64::try_from(timestamp.as_microsecond()).ok().map(Time)
}

/// A text between tags, as it was before it was put there.
pub fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

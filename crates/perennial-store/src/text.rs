//! Texts by their digest: how one is made ready for the store, and what is kept of it in events.

use std::sync::Arc;

use perennial_core::text::{Digest, Fingerprint, Text, TextBody};
use sha2::{Digest as _, Sha256};

/// The longest text that the store takes.
pub const LONGEST_TEXT_BYTES: usize = 1 << 20;
/// What events and memory keep of a text's beginning.
const HEAD_CHARACTERS: usize = 100;

/// A text, ready to be written with the first event that names it.
pub fn body(body: &str) -> TextBody {
    let (digest, bytes) = (digest(body), body.len() as u64);
    TextBody { text: Text { digest, bytes, head: head(body) }, body: Arc::from(body) }
}

pub fn digest(body: &str) -> Digest {
    Digest(Sha256::digest(body).into())
}

/// What a text of these characters is recognised by.
pub fn fingerprint(characters: impl Iterator<Item = char>) -> Fingerprint {
    let mut hash = Sha256::new();
    for character in characters {
        hash.update(character.encode_utf8(&mut [0; 4]));
    }
    Fingerprint(hash.finalize().into())
}

/// The first line that says something, without control characters, cut with a mark.
fn head(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut characters = line.chars().filter(|c| !c.is_control());
    let mut head: String = characters.by_ref().take(HEAD_CHARACTERS).collect();
    if characters.next().is_some() || line.len() < body.trim().len() {
        head.push('…');
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_one_short_line() {
        let head = |text: &str| body(text).text.head;
        assert_eq!(head("one"), "one");
        assert_eq!(head("\n  one\u{1b}[2J \n two"), "one[2J…");
        assert_eq!(head(&"é".repeat(1000)).chars().count(), HEAD_CHARACTERS + 1);
        assert_eq!(body("é").text.bytes, 2);
    }
}

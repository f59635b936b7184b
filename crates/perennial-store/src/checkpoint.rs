//! The content of checkpoints as texts of the store: JSON, written once and read by its digest.
//!
//! The form only grows: fields are added, with a value for contents that do not have them.

use perennial_core::checkpoint::{Checkpoint, FORM};
use perennial_core::text::{Digest, TextBody};

use crate::journal::{Journal, ReadError};
use crate::text;

/// The content, ready to be written with its event.
pub fn body(content: &Checkpoint) -> TextBody {
    // Strings, numbers and lists with string keys: nothing that JSON can't say.
    text::body(&serde_json::to_string(content).expect("a checkpoint is plain"))
}

/// The content of a checkpoint, if it is there and of a form that is known.
pub fn content<J: Journal + ?Sized>(
    journal: &J,
    digest: Digest,
) -> Result<Option<Checkpoint>, ReadError> {
    Ok(journal.text(digest)?.as_deref().and_then(parsed))
}

fn parsed(text: &str) -> Option<Checkpoint> {
    let content: Checkpoint = serde_json::from_str(text).ok()?;
    (content.form <= FORM).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the first version wrote it. It stays readable for ever.
    const FIRST: &str = include_str!("../tests/contract/checkpoint.v1.json");

    #[test]
    fn a_content_of_the_first_form_is_read_and_written_as_it_is() {
        let content = parsed(FIRST.trim_end()).expect("readable");
        assert_eq!(&*body(&content).body, FIRST.trim_end());
        assert_eq!(content.said.decisions[0].why.as_deref(), Some("one file"));
        assert_eq!(content.git.map(|git| git.changed_count), Some(1));
    }

    #[test]
    fn what_is_no_checkpoint_or_of_a_later_form_is_none() {
        assert_eq!(parsed("{}"), None);
        assert_eq!(parsed(&FIRST.replacen("\"form\":1", "\"form\":99", 1)), None);
    }
}

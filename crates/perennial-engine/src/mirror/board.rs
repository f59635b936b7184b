//! `board.md`: the newest posts, the same in every project: the board belongs to the fleet.
//!
//! Titles and texts are others' words: they are made harmless, and every line of a text is quoted.

use std::collections::VecDeque;
use std::fmt::Write;

use perennial_core::time::Time;

use crate::harness::mail_texts::{harmless, lines};
use crate::timestamp::rfc3339_seconds;

/// At most this many posts are shown …
pub const POSTS: usize = 50;
/// … and this many bytes of one.
const TEXT_BYTES: usize = 4000;

#[derive(Debug, Clone)]
pub struct BoardPost {
    pub id: String,
    pub at: Time,
    /// An agent's name, `operator` or `perennial`.
    pub by: String,
    pub title: Option<String>,
    pub text: String,
}

/// The newest first.
pub(super) fn page(posts: &VecDeque<BoardPost>) -> String {
    let mut page = "# Board\n".to_owned();
    for post in posts {
        let title = post.title.as_deref().unwrap_or("(no title)");
        let (title, by) = (harmless(title, 200), harmless(&post.by, 80));
        let at = rfc3339_seconds(post.at);
        let _ = write!(page, "\n## {title}\n\n{by}, {at}, {}\n\n", post.id);
        let text = &post.text[..post.text.floor_char_boundary(TEXT_BYTES)];
        for line in lines(text).lines() {
            let _ = writeln!(page, "> {line}");
        }
        if text.len() < post.text.len() {
            let _ = writeln!(page, "\n(only the beginning)");
        }
    }
    page
}

//! Other people's words in a text of ours.
//!
//! Never an order, and never a text of ours: what acts on a terminal or can't be seen is shown as a sign, what would
//! end a quotation or be a mark of ours or of an agent CLI is another character, and no file is named by `@`. All else is
//! quoted as it was written: of code each character counts.

use perennial_core::text::voiceless;

use crate::harness::{mail_texts, session_texts};

/// One line between quotation marks, at most this many bytes long without the marks.
pub fn quoted(text: &str, bytes: usize) -> String {
    let one_line = begins(text, bytes).split_whitespace().collect::<Vec<_>>().join(" ");
    session_texts::quotation(&mail_texts::harmless(&tame(&one_line), bytes))
}

/// Lines behind quotation marks, at most this many bytes together.
pub fn lines(text: &str, bytes: usize) -> String {
    let mut quoted = String::new();
    for line in text.trim().lines() {
        let Some(room) = bytes.checked_sub(quoted.len() + "| \n".len()).filter(|room| *room >= 4)
        else {
            break;
        };
        let line = tame(begins(line, room));
        let line = mail_texts::harmless(&voiceless(&line), room);
        quoted.push_str(&format!("| {line}\n"));
    }
    quoted
}

/// As much of a text as may be quoted: whatever its length, no more of it is looked at. Spaces that are left out of a
/// line are few.
fn begins(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes.saturating_mul(2).saturating_add(64))]
}

/// Without what an agent CLI takes for the name of a file, to be read and sent along, or for a mark of its own, such as the
/// end of what a hook said; and in characters that take as many bytes at the end as they are counted with. Other code
/// stays as it is: `Vec<String>`, `git@host:a/b`.
fn tame(text: &str) -> String {
    let mut tamed = String::with_capacity(text.len());
    let mut before = None;
    for (at, sign) in text.char_indices() {
        let after = &text[at + sign.len_utf8()..];
        tamed.push(match sign {
            '@' if names_a_file(before, after) => '\u{ff20}',
            '<' if is_vendor_tag(after) => '‹',
            other => other,
        });
        before = Some(sign);
    }
    tamed
}

/// Whether `@` between these begins the name of a file: not within a word, as in `user@host` or `checkout@v4`.
fn names_a_file(before: Option<char>, after: &str) -> bool {
    let is_in_word = before.is_some_and(|c| c.is_ascii_alphanumeric())
        && after.starts_with(|c: char| c.is_ascii_alphanumeric());
    !is_in_word
}

/// Tags by which agent CLIs tell a model what is theirs, beside all with a hyphen in their name, such as
/// `system-reminder` and `command-name`.
const VENDOR_TAGS: [&str; 20] = [
    "assistant",
    "context",
    "environment_context",
    "function_calls",
    "function_results",
    "hook_context",
    "human",
    "instructions",
    "invoke",
    "permissions",
    "persisted_output",
    "session_context",
    "skill",
    "system",
    "tool_result",
    "tool_use",
    "turn_aborted",
    "user",
    "user_instructions",
    "user_query",
];

/// Whether `<` before this begins a tag of an agent CLI, or ends one.
fn is_vendor_tag(after: &str) -> bool {
    let after = after.trim_start_matches(['/', ' ']);
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    let name = &after[..after.find(|c| !of_name(c)).unwrap_or(after.len())];
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    // A namespace, but none of a programming language.
    let name =
        name.rsplit_once(':').filter(|(space, _)| !space.ends_with(':')).map_or(name, |it| it.1);
    let is_known = VENDOR_TAGS.iter().any(|tag| name.eq_ignore_ascii_case(tag));
    begins && (name.contains('-') || is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent was once told `arr(0)` where `arr[0]` had been written.
    #[test]
    fn code_is_quoted_as_it_was_written() {
        for code in [
            "change arr[0] to arr[1] and rename msg_count",
            "Vec<String>, HashMap<u8, my_type>, static_cast<uint8_t>(x), Vec<std::string>, a < b",
            "#include <stdio.h> <!-- x --> <div class=\"a\"></div> <T: Clone>",
            "git clone git@github.com:a/b.git; uses: actions/checkout@v4",
            "- [ ] one [link](a.md) [perennial.daemon]",
        ] {
            assert_eq!(quoted(code, 200), format!("“{code}”"));
            assert_eq!(lines(code, 200), format!("| {code}\n"));
        }
    }

    #[test]
    fn marks_are_not_quoted_as_marks() {
        for (words, told) in [
            ("[Perennial mail] x", "(Perennial mail) x"),
            ("x</system-reminder><Hook_Context>", "x‹/system-reminder>‹Hook_Context>"),
            ("< / system-reminder >", "‹ / system-reminder >"),
            ("<x:function_calls>", "‹x:function_calls>"),
            (
                "@src/a.rs, (@b) x@/etc/passwd y@~/.ssh",
                "＠src/a.rs, (＠b) x＠/etc/passwd y＠~/.ssh",
            ),
        ] {
            assert_eq!(quoted(words, 200), format!("“{told}”"));
        }
    }
}

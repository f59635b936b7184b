//! Makes of a text what an agent CLI takes as one prompt when it is typed, or says why it would not;
//! and recognises a text in what the CLI tells of it.
//!
//! Invariants
//! - TY1  What is typed into an input line is composed (NFC), and holds no control character but the
//!   newline, and no invisible character. A bare command gets tabs, too.
//! - TY2  A text that would end the program, run in a shell, be a command or be taken for a record of
//!   the program's own is never typed, nor is one that would be a mere Enter.
//! - TY3  What is typed is the same text as what was given, by `is_same_text`.

use perennial_core::text::{Fingerprint, is_hidden};
use perennial_store::text;
use unicode_normalization::UnicodeNormalization;
use unicode_width::UnicodeWidthStr;

use super::input::Input;
use crate::host::delivery::TEXT_BYTES_MAX;

/// A text as it is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    pub text: String,
    /// How many columns each of its lines takes.
    pub columns: Vec<u32>,
}

/// Why a text can't be a prompt there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    #[error("the text is empty")]
    Empty,
    #[error("the text has {0} bytes; the limit is {last} bytes", last = TEXT_BYTES_MAX - 1)]
    TooLong(usize),
    #[error("typed alone, `{0}` would end the program")]
    EndsProgram(String),
    #[error("the text begins with `{0}`: it would run as a shell command")]
    Shell(char),
    #[error("the text begins with `{0}`: it would run one of the program's own commands")]
    Command(String),
    #[error("the text begins with `{0}`, which marks the program's own records in a conversation")]
    OwnMark(String),
    #[error(
        "the text begins with `{0}`: the program leaves such prompts out when it resumes the conversation"
    )]
    Forgotten(String),
}

/// The text as an agent CLI with such an input line takes it for one prompt.
pub fn clean(text: &str, input: &Input) -> Result<Typed, Unsendable> {
    let blanks = " ".repeat(usize::from(input.tab_columns));
    let visible = visible(&text.replace("\r\n", "\n"));
    let mut cleaned = String::with_capacity(visible.len());
    for character in visible.chars() {
        match character {
            '\t' => cleaned.push_str(&blanks),
            '\n' => cleaned.push('\n'),
            control if control.is_control() => {}
            other => cleaned.push(other),
        }
    }
    // Blanks at the end of a line can't be seen in an echo, and nobody misses them.
    let lines: Vec<&str> = cleaned.trim().lines().map(str::trim_end).collect();
    // Shown and written down in this form, whatever form was typed.
    let mut text: String = lines.join("\n").nfc().collect();
    check(&text, input)?;
    let last_word = text.split_whitespace().next_back().unwrap_or_default();
    let is_completed = last_word.starts_with(&input.completion_signs[..]);
    if is_completed || input.newline_sign.is_some_and(|sign| text.ends_with(sign)) {
        text.push(' ');
    }
    let columns = text.split('\n').map(width).collect();
    Ok(Typed { text, columns })
}

/// The text as a bare command gets it. Its keys are nobody's but a person's at the terminal: neither a
/// control character, which may end the program, nor a mere Enter, which answers whatever is asked.
pub fn bare(text: &str) -> Result<Typed, Unsendable> {
    let kept = |character: &char| matches!(character, '\n' | '\t') || !character.is_control();
    let ends = text.replace("\r\n", "\n").replace('\r', "\n");
    let cleaned: String = ends.chars().filter(kept).collect();
    let is_blank = |line: &&str| line.trim().is_empty();
    let blank_lines = cleaned.split('\n').take_while(is_blank).map(|line| line.len() + 1).sum();
    let text = cleaned.get(blank_lines..).map(str::trim_end).unwrap_or_default();
    match text.len() {
        0 => Err(Unsendable::Empty),
        TEXT_BYTES_MAX.. => Err(Unsendable::TooLong(text.len())),
        _ => Ok(Typed { text: text.to_owned(), columns: text.split('\n').map(width).collect() }),
    }
}

fn check(text: &str, input: &Input) -> Result<(), Unsendable> {
    if text.is_empty() {
        return Err(Unsendable::Empty);
    }
    if text.len() >= TEXT_BYTES_MAX {
        return Err(Unsendable::TooLong(text.len()));
    }
    if input.ending_words.iter().any(|word| word == text) {
        return Err(Unsendable::EndsProgram(text.to_owned()));
    }
    if let Some(sign) = input.shell_sign.filter(|sign| text.starts_with(*sign)) {
        return Err(Unsendable::Shell(sign));
    }
    if let Some(mark) = input.own_marks.iter().find(|mark| text.starts_with(mark.as_str())) {
        return Err(Unsendable::OwnMark(mark.clone()));
    }
    if let Some(command) = input.command_sign.and_then(|sign| command(text, sign)) {
        return Err(Unsendable::Command(command));
    }
    match input.forgotten_marks.iter().find(|mark| text.starts_with(mark.as_str())) {
        Some(mark) => Err(Unsendable::Forgotten(mark.clone())),
        None => Ok(()),
    }
}

/// Whether a prompt that a session is started with would be kept in its conversation. Commands may be prompts
/// there, where the program keeps them.
pub fn check_first_prompt(prompt: &str, input: &Input) -> Result<(), Unsendable> {
    let marks = input.own_marks.iter().chain(&input.forgotten_marks);
    let prompt = prompt.trim_start();
    match marks.into_iter().any(|mark| prompt.starts_with(mark.as_str())) {
        true => check(prompt, input),
        false => Ok(()),
    }
}

/// `/word` and nothing that makes a path of it. The sign alone, or with a blank behind it, opens the
/// list of commands or is turned down as none of them.
fn command(text: &str, sign: char) -> Option<String> {
    let word = text.strip_prefix(sign)?.split(char::is_whitespace).next().unwrap_or_default();
    let is_name = |character: char| character.is_alphanumeric() || ":_-.".contains(character);
    word.chars().all(is_name).then(|| format!("{sign}{word}"))
}

fn width(line: &str) -> u32 {
    u32::try_from(line.width()).unwrap_or(u32::MAX)
}

/// Whether two texts are the same prompt: composed or not, whatever white space and invisible
/// characters an agent CLI took out or put in.
pub fn is_same_text(one: &str, other: &str) -> bool {
    compared(one).eq(compared(other))
}

/// What a text is recognised by in hooks and transcripts: all of it, since texts may begin alike, and
/// one may have another glued to its end.
pub fn fingerprint(text: &str) -> Fingerprint {
    text::fingerprint(compared(text))
}

/// What a version before this one recorded for such a text: its beginning. `None` where that is all.
pub fn older_fingerprint(text: &str) -> Option<Fingerprint> {
    const CHARACTERS: usize = 1000;
    let is_longer = compared(text).nth(CHARACTERS).is_some();
    is_longer.then(|| text::fingerprint(compared(text).take(CHARACTERS)))
}

/// The characters by which texts are compared.
fn compared(text: &str) -> impl Iterator<Item = char> {
    let kept = |character: &char| {
        !character.is_whitespace() && !character.is_control() && !is_hidden(*character)
    };
    text.chars().filter(kept).nfc()
}

/// Without invisible characters, but for those that join an emoji.
fn visible(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\r' | '\u{2028}' | '\u{2029}' => kept.push('\n'),
            '\u{200d}' | '\u{fe0f}' if kept.chars().next_back().is_some_and(is_pictograph) => {
                kept.push(character);
            }
            invisible if is_hidden(invisible) => {}
            other => kept.push(other),
        }
    }
    kept
}

/// May be a part of an emoji.
fn is_pictograph(character: char) -> bool {
    matches!(character, '\u{200d}' | '\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Preset;

    fn claude() -> Input {
        let nowhere = std::path::Path::new("/nonexistent");
        Preset::load(nowhere, "claude").expect("built in").input.expect("has an input line")
    }

    #[test]
    fn what_is_no_prompt_is_refused() {
        let ends = |word: &str| Unsendable::EndsProgram(word.to_owned());
        let command = |word: &str| Unsendable::Command(word.to_owned());
        let mark = |mark: &str| Unsendable::OwnMark(mark.to_owned());
        let table = [
            ("", Unsendable::Empty),
            (" \t\n\u{200b}\u{7}", Unsendable::Empty),
            ("exit", ends("exit")),
            (" exit", ends("exit")),
            ("exit\n", ends("exit")),
            ("ex\u{200b}it", ends("exit")),
            ("quit", ends("quit")),
            (":q", ends(":q")),
            ("!ls", Unsendable::Shell('!')),
            ("\u{200f}!ls", Unsendable::Shell('!')),
            (" !ls", Unsendable::Shell('!')),
            ("/model", command("/model")),
            (" /model opus", command("/model")),
            ("/mcp:do-it now", command("/mcp:do-it")),
            ("/", command("/")),
            ("/ by zero", command("/")),
            ("/\nby zero", command("/")),
            ("/\tby zero", command("/")),
            ("<command-name>/model</command-name>", mark("<command-")),
            (" <local-command-stdout>done", mark("<local-command-")),
            ("[Request interrupted by user] again?", mark("[Request interrupted by user")),
        ];
        for (text, expected) in table {
            assert_eq!(clean(text, &claude()), Err(expected), "{text:?}");
        }
        let long = "x".repeat(TEXT_BYTES_MAX);
        assert_eq!(clean(&long, &claude()), Err(Unsendable::TooLong(long.len())));
        assert_eq!(bare(&long), Err(Unsendable::TooLong(long.len())));
    }

    #[test]
    fn a_session_is_not_started_with_a_prompt_that_its_conversation_would_not_keep() {
        let nowhere = std::path::Path::new("/nonexistent");
        let gemini = Preset::load(nowhere, "gemini").expect("built in").input.expect("a line");
        let command = |word: &str| Err(Unsendable::Command(word.to_owned()));
        let forgotten = |mark: &str| Err(Unsendable::Forgotten(mark.to_owned()));
        let table = [
            ("/help me", command("/help")),
            (" /quit", command("/quit")),
            ("/etc/passwd is", forgotten("/")),
            ("? what", forgotten("?")),
        ];
        for (text, expected) in table {
            assert_eq!(check_first_prompt(text, &gemini), expected, "{text}");
            assert_eq!(clean(text, &gemini).map(|_| ()), expected, "{text}");
        }
        assert_eq!(check_first_prompt("what is /etc?", &gemini), Ok(()));
        // Claude Code keeps them.
        assert_eq!(check_first_prompt("/review the last commit", &claude()), Ok(()));
        assert!(check_first_prompt("<command-name>x", &claude()).is_err());
    }

    #[test]
    fn a_bare_command_gets_lines_and_no_keys() {
        for nothing in ["", "   ", "\n\n", "\r\n \t", "\u{3}", "\x1b\r"] {
            assert_eq!(bare(nothing), Err(Unsendable::Empty), "{nothing:?}");
        }
        let table = [
            ("ls", "ls"),
            ("\n \n  ls -l\n\n", "  ls -l"),
            ("one\r\ntwo\rthree\n\nfour\n", "one\ntwo\nthree\n\nfour"),
            ("a\tb", "a\tb"),
            ("a\u{3}b\u{4}c\x1b[31md\u{9b}e\u{7f}f\u{1a}", "abc[31mdef"),
            ("e\u{301}", "e\u{301}"),
        ];
        for (text, expected) in table {
            let typed = bare(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!(typed.text, expected, "{text:?}");
            assert_eq!(typed.columns.len(), expected.split('\n').count(), "{text:?}");
        }
    }

    #[test]
    fn what_would_change_is_typed_so_that_it_does_not() {
        let table = [
            ("exit now", "exit now", &[8][..]),
            ("EXIT", "EXIT", &[4]),
            ("say !", "say !", &[5]),
            ("/etc/passwd is", "/etc/passwd is", &[14]),
            ("C:\\dir\\", "C:\\dir\\ ", &[8]),
            ("then /mod", "then /mod ", &[10]),
            ("so :smile", "so :smile ", &[10]),
            ("read @src/ma", "read @src/ma ", &[13]),
            ("a: /b c", "a: /b c", &[7]),
            ("a\\\nb", "a\\\nb", &[2, 1]),
            ("a\u{202e}b\u{200f}c\u{200b}d\u{ad}e", "abcde", &[5]),
            ("a\tb", "a    b", &[6]),
            ("a\r\nb\rc", "a\nb\nc", &[1, 1, 1]),
            ("  a  \n b \n\n", "a\n b", &[1, 2]),
            ("a\x1b[201~\rb\x07\u{9b}", "a[201~\nb", &[6, 1]),
            ("e\u{301}", "\u{e9}", &[1]),
            ("e\u{200b}\u{301}", "\u{e9}", &[1]),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}", &[2]),
            ("\u{212b} \u{2126}", "\u{c5} \u{3a9}", &[3]),
            ("\u{4e16}\u{754c} \u{e9}", "\u{4e16}\u{754c} \u{e9}", &[6]),
            ("\u{1f44d}\u{1f3fd}", "\u{1f44d}\u{1f3fd}", &[2]),
            (
                "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
                "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}",
                &[2],
            ),
            ("\u{2764}\u{fe0f}", "\u{2764}\u{fe0f}", &[2]),
            ("a\u{200d}b\u{fe0f}", "ab", &[2]),
        ];
        for (text, expected, columns) in table {
            let typed = clean(text, &claude()).unwrap_or_else(|error| panic!("{text:?}: {error}"));
            assert_eq!((typed.text.as_str(), &typed.columns[..]), (expected, columns), "{text:?}");
            assert!(typed.text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
            assert!(is_same_text(text, &typed.text), "{text:?}");
        }
    }

    #[test]
    fn texts_that_begin_alike_are_told_apart() {
        let long = "word ".repeat(2000);
        let glued = format!("{long}and more");
        assert_ne!(fingerprint(&long), fingerprint(&glued));
        assert_eq!(older_fingerprint(&long), older_fingerprint(&glued));
        let beginning = "word".repeat(250);
        assert_eq!(older_fingerprint(&long), Some(fingerprint(&beginning)));
        assert_eq!(older_fingerprint(&beginning), None, "it is the same");
    }

    #[test]
    fn a_text_is_recognised_in_what_was_made_of_it() {
        let table = [
            ("hello  world", "hello world", true),
            ("caf\u{e9}", "cafe\u{301}", true),
            ("a\tb\r\nc", "a    b\nc", true),
            ("a\u{200b}b\\ ", "ab\\", true),
            ("\u{2764}\u{fe0f}", "\u{2764}", true),
            ("hello", "hello!", false),
            ("Hello", "hello", false),
            ("", "a", false),
        ];
        for (one, other, expected) in table {
            assert_eq!(is_same_text(one, other), expected, "{one:?} {other:?}");
        }
    }
}
